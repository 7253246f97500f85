"""Runs the programs of docs/events-recipes.md against the service: each follows its events while users
are created, changed, suspended, deleted, restored and purged, is killed and started again, and the
service is restarted.

The mirror must equal the collection, the index must find who is there and nobody else, and the
sessions of exactly the suspended and deleted users must have been ended. The receivers of webhooks must
have verified and stored each event, in order, before, during and after a rotation of their secrets.
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
from follow_events import everything, log_again
from service import ROOT, Workplace, arguments, free_port
from tenants_client import Tenant

PAGE = ROOT / "docs" / "events-recipes.md"
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USERS = 40
SCOPES = ["users:read", "users:write", "users:purge", "events:read", "keys:admin", "webhooks:admin"]
# Where the receivers of webhooks are.
FLAGS = ("--webhook-networks", "127.0.0.1/32")


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


class Receiver(Recipe):
    """A program that receives a webhook. It is started again with the secret after a rotation."""

    def __init__(self, chief, folder, file, batch_max, *command):
        super().__init__(folder, *command)
        self.chief, self.file, self.port = chief, folder / file, free_port()
        body = {"name": file, "url": f"http://127.0.0.1:{self.port}/", "batch_max": batch_max}
        made = chief.made("/webhooks", body)
        self.path, self.secret = f"/webhooks/{made['id']}", made["secret"]

    def start(self):
        command = [*self.command, str(self.port), self.secret, self.file]
        with open(f"{self.file}.log", "ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stderr=log, process_group=0)

    def rotate(self):
        """Requests are signed with both secrets from now on."""
        self.secret = self.chief.made(f"{self.path}/rotate?overlap_s=3600", None, 200)["secret"]

    def received(self):
        return [json.loads(row[0]) for row in rows(self.file, "SELECT event FROM events ORDER BY rowid")]


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


def log(chief):
    connection = chief.connect()
    events = log_again(connection)
    connection.close()
    return events


def rows(file, sql, words=()):
    try:
        with sqlite3.connect(file) as database:
            return database.execute(sql, words).fetchall()
    except sqlite3.OperationalError:
        return []


def check(chief, story, place, receivers):
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

    def is_received(receiver):
        found = [(event["id"], event["type"]) for event in receiver.received()]
        return found == [(event["id"], event["type"]) for event in log(chief)]

    for receiver in receivers:
        # The pauses after failures grow while a receiver is away.
        until(f"{receiver.file.name} has all events", lambda: is_received(receiver), 60.0)
    until("the mirror is equal", mirror_is_equal)
    until("the index is equal", index_is_equal)
    until("the sessions are ended", sessions_are_ended)


def run(service, place, deliveries):
    for name, text in BLOCK.findall(PAGE.read_text()):
        (place / name).write_text(text)
    node = subprocess.run([SOURCES / "packages.sh"], stdout=subprocess.PIPE, text=True, check=True)
    packages = node.stdout.strip().rpartition("/bin/")[0]
    (place / "node_modules").symlink_to(f"{packages}/node_modules")
    connection = service.connect()
    answer = connection.request("POST", "/keys", {"name": "recipes", "scopes": SCOPES})
    connection.close()
    key, url = answer.json()["key"], f"http://127.0.0.1:{service.address[1]}"
    chief = Tenant(service, "", key)
    story = Story(chief)
    python = (sys.executable, "-B")
    recipes = [
        Recipe(place, *python, "mirror.py", url, key, "mirror.db"),
        Recipe(place, *python, "search.py", url, key, "search.db"),
        Recipe(place, f"{packages}/bin/node", "suspensions.mjs", url, key, "position"),
    ]
    in_python = (f"{packages}/bin/python", "-B", "receive.py")
    in_node = (f"{packages}/bin/node", "receive.mjs")
    receivers = [
        Receiver(chief, place, "python.db", 1, *in_python),
        Receiver(chief, place, "node.db", 1, *in_node),
        Receiver(chief, place, "python-batches.db", 100, *in_python),
        Receiver(chief, place, "node-batches.db", 100, *in_node),
    ]
    recipes += receivers
    story.create(USERS // 2)
    try:
        for recipe in recipes:
            recipe.start()
        check(chief, story, place, receivers)
        # The stream begins at the end of the log, so it must have begun.
        time.sleep(2)
        story.change(0)
        check(chief, story, place, receivers)
        for recipe in recipes:
            recipe.kill()
        story.create(USERS // 2)
        story.change(5)
        for receiver in receivers:
            receiver.rotate()
        for recipe in recipes:
            recipe.start()
        check(chief, story, place, receivers)
        service.stop()
        service.start()
        story.change(10)
        story.change(20)
        check(chief, story, place, receivers)
        # Some requests are on their way while the secrets change, and are signed with both.
        story.create(deliveries // 2)
        for receiver in receivers:
            receiver.rotate()
        story.create(deliveries // 2)
        for receiver in receivers:
            receiver.kill()
            receiver.start()
        check(chief, story, place, receivers)
        found = subprocess.run(
            [*python, "search.py", "search.db", "Renamed20"], cwd=place, text=True,
            stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        if found.stdout.split() != [story.ids[21], "Renamed20", "Jones"]:
            raise Fault(f"the index finds {found.stdout}")
    finally:
        for recipe in recipes:
            recipe.kill()
    return len(recipes), len(receivers[0].received())


def main():
    options = arguments(
        __doc__, engines=True, deliveries=(1000, 100, "deliveries to each receiver across a rotation")
    )
    with Workplace("recipes") as place, engine(options) as store:
        service = store.service(options.binary, place / "data")
        service.ready, service.flags = "/readyz", FLAGS
        service.start()
        try:
            count, events = run(service, place, options.deliveries)
        finally:
            service.stop()
    print(
        f"recipes ({options.engine}): {count} programs are exact after restarts of both sides, "
        f"{events} events verified by each receiver across two rotations"
    )


if __name__ == "__main__":
    sys.exit(main())
