"""The writers of three_processes.py: each write goes through one process, and its result is looked
up at once through another.

A writer has its own users, whose record it knows exactly, and shares a few with all others. Of
these it knows the minimum version that a read may return.
"""

import random
import threading
import time
import urllib.parse

KINDS = ("create", "replace", "patch", "delete", "shared")


class Stale(Exception):
    """A read returned less than was acknowledged before, or a response was wrong."""


class RoamingWriter(threading.Thread):
    """One writer with a connection to each process. Stops after its share or at an error."""

    def __init__(self, services, number, seed, share, shared):
        super().__init__(daemon=True)
        self.services, self.number, self.share, self.shared = services, number, share, shared
        self.random = random.Random(f"{seed}/{number}")
        self.live, self.deleted, self.made, self.written = {}, [], 0, 0
        self.count, self.fault = dict.fromkeys(KINDS, 0), None
        self.checks = {"record": 0, "304": 0, "list": 0, "list 304": 0, "gone": 0}
        self.unavailable, self.slowest, self.tags = 0, 0.0, {}

    def run(self):
        try:
            self.connections = [service.connect(60.0) for service in self.services]
            while self.written < self.share:
                self.step()
        except Exception as error:  # noqa: BLE001
            self.fault = f"writer {self.number}: {error!r}"

    def step(self):
        chance = self.random.random()
        if len(self.live) < 10 or chance < 0.30:
            kind = "create"
        elif chance < 0.55:
            kind = "replace"
        elif chance < 0.78:
            kind = "patch"
        elif chance < 0.92:
            kind = "delete"
        else:
            kind = "shared"
        there, here = self.random.sample(range(len(self.services)), 2)
        getattr(self, f"do_{kind}")(there, here)
        self.written += 1
        self.count[kind] += 1

    def do_create(self, there, here):
        self.made += 1
        answer = self.write(there, "POST", "/users", self.body(f"w{self.number}n{self.made}"), 201)
        self.look(here, answer, None)

    def do_replace(self, there, here):
        before = self.random.choice(list(self.live.values()))
        body = self.body(before["username"])
        headers = self.random.choice(({}, {"If-Match": f'"{before["version"]}"'}))
        answer = self.write(there, "PUT", f"/users/{before['id']}", body, 200, headers)
        self.look(here, answer, before)

    def do_patch(self, there, here):
        before = self.random.choice(list(self.live.values()))
        body = {"nickname": f"v{before['version'] + 1}"}
        answer = self.write(there, "PATCH", f"/users/{before['id']}", body, 200)
        self.look(here, answer, before)

    def do_delete(self, there, here):
        user = self.random.choice(list(self.live))
        name = self.live[user]["username"]
        answer = self.write(there, "DELETE", f"/users/{user}", None, 204)
        del self.live[user]
        self.deleted.append(user)
        self.checks["gone"] += 1
        read = self.read(here, f"/users/{user}")
        if read.status != 404:
            raise Stale(f"deleted as {position(answer)}, then {read}")
        if self.random.random() < 0.2 and self.listed(here, name, answer):
            raise Stale(f"{name} was deleted and is listed")

    def do_shared(self, there, here):
        """A user that all writers patch: another writer's version may be newer, none may be older.
        """
        user = self.random.choice(self.shared)
        body = {"nickname": f"{self.number} {self.written}"}
        answer = self.write(there, "PATCH", f"/users/{user}", body, 200)
        version = answer.json()["version"]
        self.checks["record"] += 1
        read = self.read(here, f"/users/{user}")
        if read.status != 200 or read.json()["version"] < version:
            raise Stale(f"version {version} was acknowledged, then {read}")

    def write(self, there, method, path, body, wanted, headers=None):
        headers = dict(headers or {})
        # With a key it may be sent again. Without one, a 503 is an error.
        keyed = self.random.random() < 0.5
        if keyed:
            headers["Idempotency-Key"] = f'"{self.number}-{self.written}"'
        began = time.monotonic()
        answer = self.connections[there].request(method, path, body, headers)
        while answer.status == 503 and keyed and time.monotonic() - began < 60:
            self.unavailable += 1
            time.sleep(0.1)
            answer = self.connections[there].request(method, path, body, headers)
        self.slowest = max(self.slowest, time.monotonic() - began)
        if answer.status != wanted:
            raise Stale(f"{method} {path} was answered {answer}")
        return answer

    def read(self, here, path, headers=None):
        return self.connections[here].request("GET", path, None, headers)

    def look(self, here, answer, before):
        """Reads an acknowledged record through another process."""
        record = answer.json()
        self.live[record["id"]] = record
        headers = {}
        if before and self.random.random() < 0.3:
            self.checks["304"] += 1
            headers["If-None-Match"] = f'"{before["version"]}"'
        self.checks["record"] += 1
        read = self.read(here, f"/users/{record['id']}", headers)
        if read.status != 200 or read.json() != record:
            raise Stale(f"acknowledged {answer}, then {read}")
        if self.random.random() < 0.1 and self.listed(here, record["username"], answer) != [record]:
            raise Stale(f"{record} was acknowledged and is not listed so")

    def listed(self, here, username, answer):
        """Finds the user with this name by a list that must reflect `answer` and be no earlier
        page.
        """
        path = "/users?username=" + urllib.parse.quote(username)
        self.checks["list"] += 1
        read = self.read(here, path)
        if read.status != 200 or position(read) < position(answer):
            raise Stale(f"written as {position(answer)}, then listed {read} at {position(read)}")
        # Every change changes the list, so the tag from before this write does not match any more.
        page = "/users?limit=1"
        if tag := self.tags.get(here):
            self.checks["list 304"] += 1
            again = self.read(here, page, {"If-None-Match": tag})
            if again.status != 200:
                raise Stale(f"after a write a list was answered {again.status}")
        self.tags[here] = self.read(here, page).headers["etag"]
        return read.json()["items"]

    def body(self, username):
        return {
            "username": username,
            "email": f"{username}@example.com",
            "family_name": self.random.choice(("Lovelace", "Hopper", "Noether", "Curie")),
            "attributes": {
                "text": "x" * self.random.randrange(300),
                "number": self.random.randrange(10**9),
            },
        }


def position(answer):
    return int(answer.headers["roster-position"].rsplit("-", 1)[1])
