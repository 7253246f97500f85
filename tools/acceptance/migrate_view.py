"""Records everything that can be read from a store over HTTP, and compares it with another store.

The collection, the deleted users and the whole change log are stored in files, line by line. Pages
of each order, also far from the start, are recorded with the cursor that led to them and the tags
of lists and users. Cursors and tags of the first store are sent to the other one.
"""

import json
import random

from audit import Fault
from bulk_roundtrip import export

SORTS = ("id", "-updated_at", "username", "-email", "family_name", "-name")
SHOWN = 3


def pages(connection, path):
    """Every page of a list with cursors."""
    cursor = ""
    while cursor is not None:
        answer = connection.request("GET", path + (f"&cursor={cursor}" if cursor else ""))
        if answer.status != 200:
            raise Fault(f"{path} was answered {answer}")
        page = answer.json()
        yield page
        cursor = page["next_cursor"]


def lines(service, kind):
    """Every record of a kind, one per line."""
    if kind == "users":
        yield from export(service)
        return
    path = {"deleted": "/deleted-users?limit=1000", "events": "/events?limit=1000"}[kind]
    for page in pages(service.connect(120.0), path):
        for item in page["items"]:
            yield json.dumps(item, ensure_ascii=False).encode()


class View:
    """The recorded responses of the first store."""

    def __init__(self, service, place, options):
        self.place, self.counts, self.samples, self.tags = place, {}, [], []
        for kind in ("users", "deleted", "events"):
            self.counts[kind] = 0
            with open(place / kind, "wb") as out:
                for line in lines(service, kind):
                    out.write(line + b"\n")
                    self.counts[kind] += 1
        connection, chance = service.connect(120.0), random.Random(options.seed)
        for sort in SORTS:
            self.walk(connection, f"/users?limit=997&count=true&sort={sort}", options.pages)
        self.walk(connection, "/users?limit=50&q=ada", options.pages)
        self.walk(connection, "/users?limit=50&filter=department%20eq%20%22Sales%22", options.pages)
        with open(place / "users", "rb") as users:
            wanted = set(chance.sample(range(self.counts["users"]), options.tags))
            ids = [json.loads(line)["id"] for at, line in enumerate(users) if at in wanted]
        for user in ids:
            answer = connection.request("GET", f"/users/{user}")
            self.tags.append((f"/users/{user}", answer.headers["etag"], answer.body))
        self.position = connection.request("GET", "/users?limit=1").headers["roster-position"]

    def walk(self, connection, path, count):
        """Consecutive pages, each with its path."""
        at = path
        for _ in range(count):
            answer = connection.request("GET", at)
            if answer.status != 200:
                raise Fault(f"{at} was answered {answer}")
            self.samples.append((at, answer))
            cursor = answer.json()["next_cursor"]
            if cursor is None:
                return
            at = f"{path}&cursor={cursor}"

    def hold(self, service):
        """Compares another store with it. Returns the differences, and the number of comparisons.
        """
        faults = []
        for kind in self.counts:
            faults += self.hold_lines(service, kind)
        connection = service.connect(120.0)
        for path, before in self.samples:
            answer = connection.request("GET", path)
            if fault := differs(path, before, answer):
                faults.append(fault)
            tag = {"If-None-Match": before.headers["etag"]}
            if connection.request("GET", path, None, tag).status != 304:
                faults.append(f"{path}: its old tag is of no use")
        for path, tag, body in self.tags:
            answer = connection.request("GET", path)
            again = connection.request("GET", path, None, {"If-None-Match": tag})
            if (answer.body, answer.headers["etag"], again.status) != (body, tag, 304):
                faults.append(f"{path}: {tag} before, now {answer}, {again.status}")
        return faults

    def hold_lines(self, service, kind):
        count, faults = 0, []
        with open(self.place / kind, "rb") as before:
            for line in lines(service, kind):
                count += 1
                if before.readline() != line + b"\n" and len(faults) < SHOWN:
                    faults.append(f"{kind}, line {count}, is now {line[:600]}")
        if count != self.counts[kind]:
            faults.append(f"{kind}: {count:,} now, {self.counts[kind]:,} before")
        return faults


def differs(path, before, after):
    """The difference of two responses, except for the cursor, whose encryption differs each time.
    """
    if after.status != 200:
        return f"{path} is now answered {after}"
    for name in ("etag", "roster-position"):
        if before.headers.get(name) != after.headers.get(name):
            return f"{path}: {name} is {after.headers.get(name)}, was {before.headers.get(name)}"
    one, other = before.json(), after.json()
    cursors = [bool(page.pop("next_cursor")) for page in (one, other)]
    if one != other or cursors[0] != cursors[1]:
        return f"{path}: another page"
    return None
