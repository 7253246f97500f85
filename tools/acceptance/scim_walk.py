"""Walks through the users by SCIM during deletions return every user that exists throughout.

One walk uses `startIndex` like clients: it advances by the number of users on a page, until it is
beyond the total of the last page. One uses cursors. Others are sorted or filtered. Meanwhile other
connections delete users all over the collection. Every user that exists at the end must have been
returned.

With `--processes 3 --engine postgres` three processes serve one database. Each page of a walk comes
from the next process, and so does each deletion.
"""

import random
import sys
import threading
import time
import urllib.parse

import engines
from service import Service, Workplace, arguments

BASE = "/scim/v2"
# Orders and conditions of further walks. Many users match each condition.
ORDERS = (
    {"sortBy": "userName", "sortOrder": "descending"},
    {"filter": "active eq true", "sortBy": "meta.lastModified"},
    {"filter": 'userName co "1"'},
    {"filter": 'userName sw "user" and not (userName ew "7")', "sortBy": "userName"},
)


def fill(service, count):
    """Imports this number of users. Returns their names in order of creation."""
    names = [f"user{number:06d}" for number in range(count)]
    lines = "".join(f'{{"username":"{name}"}}\n' for name in names).encode()
    connection = service.connect(600.0)
    headers = {"Content-Type": "application/x-ndjson"}
    answer = connection.request("POST", "/bulk/users", lines, headers)
    verdicts = answer.body.decode().splitlines()
    if answer.status != 200 or f'"created":{count},' not in verdicts[-1]:
        raise SystemExit(f"the import was answered {answer.status} {verdicts[-1:]}")
    connection.close()
    return names


class InTurn:
    """A connection to each process. The next request uses the next one."""

    def __init__(self, services, first=0):
        self.connections = [service.connect() for service in services]
        self.next = first

    def request(self, *arguments):
        connection = self.connections[self.next % len(self.connections)]
        self.next += 1
        return connection.request(*arguments)


def page(connection, query):
    answer = connection.request("GET", f"{BASE}/Users?{query}&attributes=userName")
    if answer.status != 200:
        raise SystemExit(f"{query} was answered {answer}")
    return answer.json()


def by_index(connection, count, on_page, condition=""):
    seen, index, total = [], 1, 1
    while index <= total:
        found = page(connection, f"startIndex={index}&count={count}{condition}")
        total = found["totalResults"]
        seen += [(user["id"], user["userName"]) for user in found["Resources"]]
        if not found["Resources"]:
            break
        index += found["itemsPerPage"]
        on_page(len(seen))
    return seen


def by_cursor(connection, count, on_page, condition=""):
    seen, cursor = [], ""
    while cursor is not None:
        found = page(connection, f"cursor={cursor}&count={count}{condition}")
        seen += [(user["id"], user["userName"]) for user in found["Resources"]]
        cursor = found.get("nextCursor")
        on_page(len(seen))
    return seen


class Leavers(threading.Thread):
    """Deletes users during the walk: half of them behind it, half of them ahead."""

    def __init__(self, services, users, chance):
        super().__init__(daemon=True)
        self.connection, self.users, self.chance = InTurn(services, 1), list(users), chance
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


def walk(services, kind, count, order, leaving, chance):
    """One walk with deletions. Returns its errors."""
    service = services[0]
    condition = "&" + urllib.parse.urlencode(order) if order else ""

    def everybody():
        found = by_cursor(service.connect(), 1000, lambda _: None, condition)
        return [user for user, _ in found]

    ids = everybody()
    gone = chance.sample(ids, leaving)
    gone.sort(key=ids.index)
    leavers = Leavers(services, gone, chance)
    leavers.start()
    steps = max(1, len(ids) // count)
    owed = 0.0

    def on_page(_):
        nonlocal owed
        owed += leaving * 1.5 / steps
        while owed >= 1.0:
            leavers.pages.release()
            owed -= 1.0

    began = time.monotonic()
    seen = kind(InTurn(services), count, on_page, condition)
    took = time.monotonic() - began
    for _ in gone:
        leavers.pages.release()
    leavers.join(60)
    living = set(everybody())
    shown = {user for user, _ in seen}
    lost = living - shown
    doubles = len(seen) - len(shown)
    print(
        f"scim_walk: {kind.__name__} {order or ''}, {len(services)} processes, {len(ids):,} users by {count} in "
        f"{took:.1f} s, {len(leavers.left)} left meanwhile: {len(lost)} lost, {doubles} seen twice"
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
        processes=(1, 1, "processes that serve the pages in turn; several need --engine postgres"),
    )
    if options.processes > 1 and options.engine != "postgres":
        raise SystemExit("several processes need --engine postgres")
    chance = random.Random(options.seed)
    faults = []
    with engines.engine(options) as engine, Workplace("scim-walk") as place:
        services = [engine.service(options.binary, place / "data")]
        services += [
            Service(options.binary, place / f"data{number}", None, services[0].database)
            for number in range(1, options.processes)
        ]
        for service in services:
            service.start()
        try:
            fill(services[0], options.users)
            # Other servers lose users because the later pages are smaller: the last total is then
            # below the index of the remaining users.
            for kind, count in ((by_index, 100), (by_cursor, 100), (by_index, 10)):
                faults += walk(services, kind, count, {}, options.leaving, chance)
            for order in ORDERS:
                for kind in (by_index, by_cursor):
                    faults += walk(services, kind, 100, order, options.leaving, chance)
        finally:
            for service in services:
                service.stop()
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
