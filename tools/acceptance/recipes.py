"""Runs the programs of docs/events-recipes.md against the service: each follows its events while users
are created, changed, suspended, deleted, restored and purged, is killed and started again, and the
service is restarted.

The mirror must equal the collection, the index must find who is there and nobody else, and the
sessions of exactly the suspended and deleted users must have been ended.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

from clients import SOURCES, Fault
from engines import engine
from follow_events import everything
from service import ROOT, Workplace, arguments
from tenants_client import Tenant

PAGE = ROOT / "docs" / "events-recipes.md"
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USERS = 40
SCOPES = ["users:read", "users:write", "users:purge", "events:read", "keys:admin"]


class Recipe:
    """A program of the page, with its arguments."""

    def __init__(self, folder, *command):
        self.folder, self.command, self.process = folder, [str(word) for word in command], None

    def start(self):
        self.process = subprocess.Popen(self.command, cwd=self.folder, process_group=0)

    def kill(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)


def until(what, condition, within=30.0):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise Fault(f"{what}: not within {within} s")
        time.sleep(0.05)


class Story:
    """What happens to the users. The sessions of `ended` must be ended."""

    def __init__(self, chief):
        self.chief, self.ids, self.ended = chief, [], []

    def ask(self, method, path, body=None):
        connection = self.chief.connect()
        answer = connection.request(method, path, body)
        connection.close()
        if answer.status not in (200, 201, 204):
            raise Fault(f"{method} {path} was answered {answer}")
        return answer.json() if answer.body else None

    def create(self, count):
        for number in range(len(self.ids), len(self.ids) + count):
            body = {"username": f"user{number}", "name": f"Name{number} Smith"}
            self.ids.append(self.ask("POST", "/users", body)["id"])

    def change(self, first):
        """Something of everything, from this user on."""
        suspended, renamed, deleted, restored, purged = self.ids[first : first + 5]
        self.ask("PATCH", f"/users/{suspended}", {"status": "suspended"})
        self.ask("PATCH", f"/users/{suspended}", {"title": "Guest"})
        self.ask("PATCH", f"/users/{renamed}", {"name": f"Renamed{first} Jones"})
        for user in (deleted, restored, purged):
            self.ask("DELETE", f"/users/{user}")
        self.ask("POST", f"/deleted-users/{restored}/restore")
        self.ask("DELETE", f"/deleted-users/{purged}")
        self.ended += [suspended, deleted, restored, purged]


def users(chief):
    connection = chief.connect()
    found = {user["id"]: user for user in everything(connection, "/users")}
    connection.close()
    return found


def rows(file, sql, words=()):
    try:
        with sqlite3.connect(file) as database:
            return database.execute(sql, words).fetchall()
    except sqlite3.OperationalError:
        return []


def check(chief, story, place):
    """Waits until each program has done its work."""
    there = users(chief)

    def mirror_is_equal():
        found = rows(place / "mirror.db", "SELECT record FROM users")
        return {user["id"]: user for user in (json.loads(row[0]) for row in found)} == there

    def index_is_equal():
        found = rows(place / "search.db", "SELECT id, name FROM words")
        return sorted(found) == sorted((user["id"], user["name"]) for user in there.values())

    def sessions_are_ended():
        file = place / "position.ended"
        found = file.read_text().split() if file.exists() else []
        # The last one before a crash may have been handled twice.
        return list(dict.fromkeys(found)) == list(dict.fromkeys(story.ended))

    until("the mirror is equal", mirror_is_equal)
    until("the index is equal", index_is_equal)
    until("the sessions are ended", sessions_are_ended)


def run(service, place):
    for name, text in BLOCK.findall(PAGE.read_text()):
        (place / name).write_text(text)
    node = subprocess.run([SOURCES / "packages.sh"], stdout=subprocess.PIPE, text=True, check=True)
    packages = node.stdout.strip().rpartition("/bin/")[0]
    (place / "node_modules").symlink_to(f"{packages}/node_modules")
    connection = service.connect()
    answer = connection.request("POST", "/keys", {"name": "recipes", "scopes": SCOPES})
    connection.close()
    key, url = answer.json()["key"], f"http://127.0.0.1:{service.address[1]}"
    story = Story(Tenant(service, "", key))
    story.create(USERS // 2)
    python = (sys.executable, "-B")
    recipes = [
        Recipe(place, *python, "mirror.py", url, key, "mirror.db"),
        Recipe(place, *python, "search.py", url, key, "search.db"),
        Recipe(place, f"{packages}/bin/node", "suspensions.mjs", url, key, "position"),
    ]
    try:
        for recipe in recipes:
            recipe.start()
        check(story.chief, story, place)
        # The stream begins at the end of the log, so it must have begun.
        time.sleep(2)
        story.change(0)
        check(story.chief, story, place)
        for recipe in recipes:
            recipe.kill()
        story.create(USERS // 2)
        story.change(5)
        for recipe in recipes:
            recipe.start()
        check(story.chief, story, place)
        service.stop()
        service.start()
        story.change(10)
        story.change(20)
        check(story.chief, story, place)
        found = subprocess.run(
            [*python, "search.py", "search.db", "Renamed20"], cwd=place, text=True,
            stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        if found.stdout.split() != [story.ids[21], "Renamed20", "Jones"]:
            raise Fault(f"the index finds {found.stdout}")
    finally:
        for recipe in recipes:
            recipe.kill()
    return len(recipes)


def main():
    options = arguments(__doc__, engines=True)
    with Workplace("recipes") as place, engine(options) as store:
        service = store.service(options.binary, place / "data")
        service.ready = "/readyz"
        service.start()
        try:
            count = run(service, place)
        finally:
            service.stop()
    print(f"recipes ({options.engine}): {count} programs are exact after restarts of both sides")


if __name__ == "__main__":
    sys.exit(main())
