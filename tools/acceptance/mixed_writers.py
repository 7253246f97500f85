"""Writers that make every kind of change, each on its own users, and record the results.

A writer stops after a number of changes or when it is stopped. `live` has the last returned record
of each user that it left in the collection, `kept` those that it deleted, `purged` the ids of
purged users. All writers together know the whole collection.
"""

import random
import threading

KINDS = ("create", "replace", "patch", "delete", "restore", "purge")


class MixedWriter(threading.Thread):
    """One connection; `changes` None writes until `done` is set."""

    def __init__(self, service, number, seed, changes=None):
        super().__init__()
        self.service, self.number, self.changes = service, number, changes
        self.random = random.Random(f"{seed}/{number}")
        self.live, self.kept, self.purged = {}, {}, set()
        self.done, self.made, self.written, self.fault = threading.Event(), 0, 0, None
        self.count = dict.fromkeys(KINDS, 0)

    def run(self):
        try:
            connection = self.service.connect()
            while self.fault is None and not self.done.is_set():
                if self.changes is not None and self.written >= self.changes:
                    break
                self.step(connection)
        except Exception as error:  # noqa: BLE001
            self.fault = f"writer {self.number} ended: {error!r}"

    def step(self, connection):
        chance = self.random.random()
        if len(self.live) < 20 or chance < 0.35:
            self.write(connection, "create")
        elif chance < 0.55:
            self.write(connection, "replace")
        elif chance < 0.75:
            self.write(connection, "patch")
        elif chance < 0.90 or not self.kept:
            self.write(connection, "delete")
        elif chance < 0.96:
            self.write(connection, "restore")
        else:
            self.write(connection, "purge")

    def write(self, connection, kind):
        user, request, wanted = getattr(self, kind)()
        answer = connection.request(*request)
        if answer.status != wanted:
            self.fault = f"writer {self.number}: {request[:2]} was answered {answer}"
            return
        self.written += 1
        self.count[kind] += 1
        if kind == "delete":
            self.kept[user] = self.live.pop(user)
        elif kind == "purge":
            del self.kept[user]
            self.purged.add(user)
        else:
            record = answer.json()
            self.kept.pop(record["id"], None)
            self.live[record["id"]] = record

    def create(self):
        self.made += 1
        return None, ("POST", "/users", self.body(f"mixed{self.number}-{self.made}")), 201

    def replace(self):
        user = self.random.choice(list(self.live))
        body = self.body(self.live[user]["username"])
        return user, ("PUT", f"/users/{user}", body), 200

    def patch(self):
        user = self.random.choice(list(self.live))
        # One higher than the stored version, so that each write changes something.
        body = {"nickname": f"v{self.live[user]['version'] + 1}"}
        return user, ("PATCH", f"/users/{user}", body), 200

    def delete(self):
        user = self.random.choice(list(self.live))
        return user, ("DELETE", f"/users/{user}"), 204

    def restore(self):
        user = self.random.choice(list(self.kept))
        return user, ("POST", f"/deleted-users/{user}/restore"), 200

    def purge(self):
        user = self.random.choice(list(self.kept))
        return user, ("DELETE", f"/deleted-users/{user}"), 204

    def body(self, username):
        return {
            "username": username,
            "email": f"{username}@example.com",
            "family_name": self.random.choice(("Lovelace", "Hopper", "Noether", "Curie")),
            "attributes": {
                "text": "x" * self.random.randrange(600),
                "number": self.random.randrange(10**9),
            },
        }


def run(writers):
    """Runs writers to their end. Returns the first error, or None."""
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return next((writer.fault for writer in writers if writer.fault), None)


def whole(writers):
    """The users that all writers left in the collection, by id."""
    return {user: record for writer in writers for user, record in writer.live.items()}


def counts(writers):
    """The number of changes of each kind, as a text."""
    return ", ".join(f"{sum(w.count[kind] for w in writers):,} {kind}" for kind in KINDS)
