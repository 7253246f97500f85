"""The writers of kill9.py, and the log of their acknowledgements.

Each writer has its own users, so the possible states after a crash are exactly known: the last
acknowledged record of a user, or the result of the one request that was in progress.
"""

import random
import threading

from service import SERVER_MADE, Closed, encode


class Entry:
    """The state of one user: the acknowledged record (None: deleted) and the request in progress.
    """

    __slots__ = ("record", "pending")

    def __init__(self, record):
        self.record, self.pending = record, None


class Pending:
    """A request without a response yet: the version and the members that it would result in."""

    __slots__ = ("kind", "members", "version")

    def __init__(self, kind, members, version):
        self.kind, self.members, self.version = kind, members, version

    def explains(self, record):
        """Whether `record` (None: deleted) is the result of this request."""
        if self.kind == "delete":
            return record is None
        if record is None or record["version"] != self.version:
            return False
        shown = {name: value for name, value in record.items() if name not in SERVER_MADE}
        return shown == self.members


class Writer(threading.Thread):
    """One connection that writes until the service ends; `entries` survive the rounds."""

    def __init__(self, service, number, seed):
        super().__init__()
        self.service, self.number = service, number
        self.random = random.Random(f"{seed}/{number}")
        self.entries, self.alive, self.touched = {}, [], set()
        self.creating, self.made, self.acknowledged, self.fault = None, 0, 0, None
        self.count = {"create": 0, "replace": 0, "patch": 0, "delete": 0}

    def next_round(self):
        """The same log with a new thread, because a thread runs only once."""
        fresh = Writer(self.service, self.number, 0)
        for name in ("random", "entries", "alive", "made", "count"):
            setattr(fresh, name, getattr(self, name))
        return fresh

    def run(self):
        try:
            connection = self.service.connect(5.0)
            while self.fault is None:
                self.step(connection)
        except (Closed, OSError):
            pass  # killed, as it was meant to be
        except Exception as error:  # noqa: BLE001
            self.fault = f"writer {self.number}: {error!r}"

    def step(self, connection):
        chance = self.random.random()
        if len(self.alive) < 20 or chance < 0.35:
            self.create(connection)
        elif chance < 0.60:
            self.change(connection, "replace")
        elif chance < 0.80:
            self.change(connection, "patch")
        else:
            self.delete(connection)

    def create(self, connection):
        self.made += 1
        username = f"writer{self.number}-{self.made}"
        body = self.body(username)
        self.creating = (username, Pending("create", shown(body), 1))
        answer = connection.request("POST", "/users", body)
        if self.refused(answer, 201):
            return
        record = answer.json()
        if not self.creating[1].explains(record):
            self.fault = f"a create was answered {record}"
        self.creating = None
        self.acknowledge(record["id"], record, "create")
        self.alive.append(record["id"])

    def change(self, connection, kind):
        user = self.random.choice(self.alive)
        entry = self.entries[user]
        version = entry.record["version"] + 1
        if kind == "replace":
            body, method = self.body(entry.record["username"]), "PUT"
            members = shown(body)
        else:
            body, method = {"nickname": f"v{version} {self.random.random()}"}, "PATCH"
            members = {name: v for name, v in entry.record.items() if name not in SERVER_MADE}
            members |= body
        entry.pending = Pending(kind, members, version)
        self.touched.add(user)
        headers = {"If-Match": f'"{version - 1}"'} if self.random.random() < 0.5 else {}
        answer = connection.request(method, f"/users/{user}", body, headers)
        if self.refused(answer, 200):
            return
        if not entry.pending.explains(answer.json()):
            self.fault = f"a {kind} was answered {answer}"
        self.acknowledge(user, answer.json(), kind)

    def delete(self, connection):
        user = self.alive.pop(self.random.randrange(len(self.alive)))
        self.entries[user].pending = Pending("delete", None, None)
        self.touched.add(user)
        answer = connection.request("DELETE", f"/users/{user}")
        if not self.refused(answer, 204):
            self.acknowledge(user, None, "delete")

    def body(self, username):
        text = "x" * self.random.randrange(600)
        return {
            "username": username,
            "email": f"{username}@example.com",
            "name": f"Writer {self.number}",
            "attributes": {"text": text, "number": self.random.randrange(10**9)},
        }

    def acknowledge(self, user, record, kind):
        entry = self.entries.setdefault(user, Entry(record))
        entry.record, entry.pending = record, None
        self.touched.add(user)
        self.acknowledged += 1
        self.count[kind] += 1

    def refused(self, answer, wanted):
        if answer.status != wanted:
            self.fault = f"writer {self.number} was answered {answer}"
        return answer.status != wanted

    def verify(self, connection):
        """Compares the service with the log. A request in progress is resolved by the result."""
        for user in self.touched:
            entry = self.entries[user]
            answer = connection.request("GET", f"/users/{user}")
            if answer.status not in (200, 404):
                return f"GET was answered {answer}"
            record = answer.json() if answer.status == 200 else None
            if record != entry.record:
                if entry.pending is None or not entry.pending.explains(record):
                    told = encode(entry.record).decode()
                    return f"{user}: acknowledged was {told}, found {answer}"
                entry.record = record
            entry.pending = None
        self.touched.clear()
        return self.settle_create(connection)

    def settle_create(self, connection):
        if self.creating is not None:
            username, pending = self.creating
            items = connection.request("GET", f"/users?username={username}").json()["items"]
            if len(items) > 1 or (items and not pending.explains(items[0])):
                return f"an unacknowledged create of {username} left {items}"
            for record in items:
                self.entries[record["id"]] = Entry(record)
            self.creating = None
        self.alive[:] = [user for user, entry in self.entries.items() if entry.record]
        return None


def shown(body):
    """The members of the record that a create or a replace with `body` results in."""
    emails = [{"value": body["email"], "primary": True}]
    return {**body, "emails": emails, "status": "active"}
