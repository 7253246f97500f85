"""A reader that polls `/events` while 16 writers make 100,000 mixed changes gets exactly the
collection.

The reader follows the log from its start by `Roster-Position` and replays each event. Positions
must be dense from 1, a user's versions must increase by one, and a position must have the same
event when the log is read again at the end. The replay must equal the data of the writers and the
responses to `GET /users` and `GET /deleted-users`, and each user's history must be the log's events
of that user.
"""

import random
import sys
import threading
import time

import mixed_writers
from engines import engine
from service import Workplace, arguments

WRITERS = 16


class Follower(threading.Thread):
    """Polls the log and replays it."""

    def __init__(self, service, limit):
        super().__init__()
        self.service, self.limit = service, limit
        self.head, self.done, self.fault = None, threading.Event(), None
        self.seen, self.live, self.kept, self.purged = [], {}, {}, set()
        self.pulls = 0

    def run(self):
        try:
            self.follow()
        except Exception as error:  # noqa: BLE001
            self.fault = f"the reader ended: {error!r}"

    def follow(self):
        connection, after = self.service.connect(), None
        while self.fault is None:
            last = self.done.is_set()
            path = f"/events?limit={self.limit}" + (f"&after={after}" if after else "")
            answer = connection.request("GET", path)
            if answer.status != 200:
                self.fault = f"{path} was answered {answer}"
                return
            page, self.pulls = answer.json(), self.pulls + 1
            for event in page["items"]:
                if fault := self.take(event):
                    self.fault = fault
                    return
            after = answer.headers["roster-position"]
            # A poll that began after `done` was set includes everything that was written before.
            if last and page["next_cursor"] is None:
                return
            if not page["items"]:
                time.sleep(0.002)

    def take(self, event):
        number = int(event["id"].rsplit("-", 1)[1])
        if number != len(self.seen) + 1:
            return f"position {number} came after {len(self.seen)}"
        self.seen.append(event)
        data = event["data"]
        user, version, kind = data["user_id"], data["version"], event["type"]
        before = self.live.get(user) or self.kept.get(user)
        if version != (before["version"] if before else 0) + 1:
            return f"position {number}: version {version} follows {before}"
        record = data.get("user")
        if kind == "user.purged":
            if user not in self.kept or record is not None:
                return f"position {number}: {event} of a user that is not deleted"
            del self.kept[user]
            self.purged.add(user)
            return None
        if kind == "user.deleted":
            self.live.pop(user, None)
            # A purge may have emptied the event before it was read.
            self.kept[user] = record or {"version": version}
        else:
            self.kept.pop(user, None)
            self.live[user] = record or {"version": version}
        return None


def everything(connection, path):
    items, cursor = [], None
    while True:
        page = f"{path}?limit=1000" + (f"&cursor={cursor}" if cursor else "")
        answer = connection.request("GET", page)
        if answer.status != 200:
            raise SystemExit(f"{page} was answered {answer}")
        answer = answer.json()
        items += answer["items"]
        cursor = answer["next_cursor"]
        if cursor is None:
            return items


def log_again(connection, path="/events"):
    items, after = [], None
    while True:
        page = f"{path}?limit=1000" + (f"&after={after}" if after else "")
        answer = connection.request("GET", page)
        if answer.status != 200:
            raise SystemExit(f"{page} was answered {answer}")
        page = answer.json()
        items += page["items"]
        after = answer.headers["roster-position"]
        if page["next_cursor"] is None:
            return items


def compare(service, writers, follower, histories, chance):
    """Yields the differences."""
    connection = service.connect()
    known = mixed_writers.whole(writers)
    stored = {record["id"]: record for record in everything(connection, "/users")}
    if follower.live != known:
        yield f"the reader's collection differs: {apart(follower.live, known)}"
    if stored != known:
        yield f"the collection differs from what was answered: {apart(stored, known)}"
    kept = {record["id"]: record["version"] for record in everything(connection, "/deleted-users")}
    if kept != {user: record["version"] for user, record in follower.kept.items()}:
        yield "the deleted users differ from the reader's"
    again = log_again(connection)
    if [event["id"] for event in again] != [event["id"] for event in follower.seen]:
        yield f"{len(follower.seen)} events were pulled, the log has {len(again)}"
    by_user = {}
    for before, now in zip(follower.seen, again):
        user = now["data"]["user_id"]
        by_user.setdefault(user, []).append(now)
        purged = user in follower.purged
        if purged and "user" in now["data"]:
            yield f"{now['id']} still tells a record of a purged user"
        if not purged and before != now:
            yield f"{now['id']} reads differently the second time"
    users = list(by_user)
    for user in chance.sample(users, min(histories, len(users))):
        if log_again(connection, f"/users/{user}/events") != by_user[user]:
            yield f"the history of {user} is not the log's"


def apart(one, other):
    users = [user for user in one.keys() | other.keys() if one.get(user) != other.get(user)]
    return f"{len(users)} users, first {users[0]}: {one.get(users[0])} and {other.get(users[0])}"


def main():
    options = arguments(
        __doc__,
        engines=True,
        changes=(100_000, 3_000, "changes to make"),
        histories=(5_000, 300, "users whose history is held against the log"),
    )
    with Workplace("events") as place, engine(options) as store:
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            follower = Follower(service, 500)
            follower.start()
            share = options.changes // WRITERS
            writers = [
                mixed_writers.MixedWriter(service, number, options.seed, share)
                for number in range(WRITERS)
            ]
            began = time.monotonic()
            fault = mixed_writers.run(writers)
            seconds = time.monotonic() - began
            follower.done.set()
            follower.join(60)
            faults = [fault] if fault else []
            faults += [follower.fault] if follower.fault else []
            if not faults:
                chance = random.Random(options.seed)
                faults += list(compare(service, writers, follower, options.histories, chance))
        finally:
            service.stop()
        for fault in faults[:5]:
            print(fault)
        print(
            f"events ({options.engine}): {len(follower.seen):,} in {follower.pulls:,} pulls while "
            f"{WRITERS} writers made {mixed_writers.counts(writers)} in {seconds:.0f} s; "
            f"{len(faults)} differences"
        )
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
