"""Walks through the users by SCIM while others leave return everybody who lives through them.

One walk goes by `startIndex`, as clients do it: on by what a page held, until it is beyond the
total that the last page told. One goes by cursor. Meanwhile other connections delete users who
are spread over the whole collection. Everybody who is there at the end must have been seen.
"""

import random
import sys
import threading

import engines
from service import Workplace, arguments

BASE = "/scim/v2"


def fill(service, count):
    """So many users, by one stream of lines; their names in order of creation."""
    names = [f"user{number:06d}" for number in range(count)]
    lines = "".join(f'{{"username":"{name}"}}\n' for name in names).encode()
    connection = service.connect(600.0)
    headers = {"Content-Type": "application/x-ndjson"}
    answer = connection.request("POST", "/users", lines, headers)
    verdicts = answer.body.decode().splitlines()
    if answer.status != 200 or f'"created":{count},' not in verdicts[-1]:
        raise SystemExit(f"the import was answered {answer.status} {verdicts[-1:]}")
    connection.close()
    return names


def page(connection, query):
    answer = connection.request("GET", f"{BASE}/Users?{query}&attributes=userName")
    if answer.status != 200:
        raise SystemExit(f"{query} was answered {answer}")
    return answer.json()


def by_index(connection, count, on_page):
    seen, index, total = [], 1, 1
    while index <= total:
        found = page(connection, f"startIndex={index}&count={count}")
        total = found["totalResults"]
        seen += [(user["id"], user["userName"]) for user in found["Resources"]]
        if not found["Resources"]:
            break
        index += found["itemsPerPage"]
        on_page(len(seen))
    return seen


def by_cursor(connection, count, on_page):
    seen, cursor = [], ""
    while cursor is not None:
        found = page(connection, f"cursor={cursor}&count={count}")
        seen += [(user["id"], user["userName"]) for user in found["Resources"]]
        cursor = found.get("nextCursor")
        on_page(len(seen))
    return seen


class Leavers(threading.Thread):
    """Deletes users as the walk goes on: half of them behind it, half of them ahead."""

    def __init__(self, service, users, chance):
        super().__init__(daemon=True)
        self.connection, self.users, self.chance = service.connect(), list(users), chance
        self.pages, self.left, self.fault = threading.Semaphore(0), [], None

    def run(self):
        for user in self.users:
            self.pages.acquire()
            if user is None:
                return
            answer = self.connection.request("DELETE", f"{BASE}/Users/{user}")
            if answer.status != 204:
                self.fault = f"a deletion was answered {answer}"
                return
            self.left.append(user)


def walk(service, kind, count, leaving, chance):
    """One walk with deletions; the faults of it."""
    ids = [user for user, _ in by_cursor(service.connect(), 1000, lambda _: None)]
    gone = chance.sample(ids, leaving)
    gone.sort(key=ids.index)
    leavers = Leavers(service, gone, chance)
    leavers.start()
    steps = max(1, len(ids) // count)
    owed = 0.0

    def on_page(_):
        nonlocal owed
        owed += leaving * 1.5 / steps
        while owed >= 1.0:
            leavers.pages.release()
            owed -= 1.0

    seen = kind(service.connect(), count, on_page)
    for _ in gone:
        leavers.pages.release()
    leavers.join(60)
    living = {user for user, _ in by_cursor(service.connect(), 1000, lambda _: None)}
    shown = {user for user, _ in seen}
    lost = living - shown
    doubles = len(seen) - len(shown)
    print(
        f"scim_walk: {kind.__name__}, {len(ids):,} users by {count}, {len(leavers.left)} left "
        f"meanwhile: {len(lost)} lost, {doubles} seen twice"
    )
    faults = [f"{kind.__name__} lost {user}" for user in sorted(lost)[:5]]
    if leavers.fault or len(leavers.left) != leaving:
        faults.append(leavers.fault or "not all who should have left did")
    if len(living) != len(ids) - leaving:
        faults.append(f"{len(living)} are there, not {len(ids) - leaving}")
    return faults


def main():
    options = arguments(
        __doc__,
        engines=True,
        users=(20_000, 3_000, "users to walk through"),
        leaving=(50, 50, "users who leave during each walk"),
    )
    chance = random.Random(options.seed)
    faults = []
    with engines.engine(options) as engine, Workplace("scim-walk") as place:
        service = engine.service(options.binary, place / "data")
        service.start()
        try:
            fill(service, options.users)
            # The smaller pages are what loses people elsewhere: the last total is then below the
            # index of those who are still to come.
            for kind, count in ((by_index, 100), (by_cursor, 100), (by_index, 10)):
                faults += walk(service, kind, count, options.leaving, chance)
        finally:
            service.stop()
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
