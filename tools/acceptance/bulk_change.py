"""PATCH and DELETE of many users, by lines and by a filter, each killed in the middle.

Faker's users are imported, and others that no change may affect. The users are patched by lines and
by a filter, then deleted by lines, imported again, and deleted by a filter. Each change is
interrupted by kill -9 once 40 % of the results arrived. After a restart the client sends the lines
without a result again, or counts again and confirms. Each user must be changed exactly once, and no
other user. The rest of each change must run at 0.8 times the rate of the import or faster, and the
service must use less than 150 MiB of anonymous memory.
"""

import json
import socket
import sys
import threading
import time
from contextlib import closing
from urllib.parse import quote

import faker_users
from engines import engine
from service import Workplace, arguments, encode

MEMORY_MAX_MIB = 150
RATE_MIN = 0.8
KILL_AFTER = 0.4
BYSTANDERS = 0.2
SHOWN = 5
TITLES = ("the first title", "the second title", "the third title")
NDJSON = "application/x-ndjson"


class Memory(threading.Thread):
    """The maximum anonymous memory of a service, sampled ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.service, self.most, self.done = None, 0.0, threading.Event()

    def run(self):
        while not self.done.wait(0.1):
            if self.service:
                self.most = max(self.most, self.service.memory())


def request(service, method, target, body, media_type):
    """The lines of the response as they arrive, up to the end of the connection."""
    connection = socket.create_connection(service.address, 600)
    host = f"{service.address[0]}:{service.address[1]}"
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept: {NDJSON}\r\n"
        f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )

    def send():
        try:
            connection.sendall(head.encode() + body)
        except OSError:
            pass  # The service was killed; the reader sees it too.

    threading.Thread(target=send, daemon=True).start()
    with closing(connection), connection.makefile("rb", 1 << 20) as answer:
        status = answer.readline()
        headers = b"".join(iter(answer.readline, b"\r\n"))
        if b" 200 " not in status or b"chunked" not in headers.lower():
            raise SystemExit(f"{method} {target} was answered {status} {answer.read(600)}")
        rest = b""
        try:
            while size := int(answer.readline() or b"0", 16):
                lines = (rest + answer.read(size)).split(b"\n")
                answer.readline()
                rest = lines.pop()
                yield from map(json.loads, lines)
        except OSError:
            return


class Run:
    """One service, its users, and the errors."""

    def __init__(self, options, store, place, memory):
        self.options, self.faults, self.memory = options, [], memory
        self.service = memory.service = store.service(options.binary, place / "data")
        self.store = store
        self.service.start()
        self.import_rate = None

    def restart(self):
        under_way = self.store.under_way(self.service)
        self.service.kill()
        self.store.settle(self.service, under_way)
        self.service.start()

    def fault(self, text):
        self.faults.append(text)
        print(text, flush=True)

    def expect(self, name, found, wanted):
        if found != wanted:
            self.fault(f"{name}: {found}, not {wanted}")

    def create(self, users):
        """Imports users. Returns the id of each by its index, and the rate."""
        body = b"".join(encode(user) + b"\n" for user in users)
        began = time.monotonic()
        results = list(request(self.service, "POST", "/bulk/users", body, NDJSON))
        rate = len(users) / (time.monotonic() - began)
        done = results.pop()
        self.expect("import", done, {**done, "done": True, "created": len(users), "failed": 0})
        return [result["id"] for result in results], rate

    def count(self, query):
        answer = self.service.connect().request("GET", f"/users?limit=1&count=true{query}")
        return answer.json()["total"]

    def by_lines(self, name, method, lines, status):
        """Sends lines, kills the service in the middle, and sends those without a result again.

        A line that was executed without a result is rejected when it is sent again, because the
        user has another version or is deleted.
        """
        settled = 0
        body = b"".join(lines)
        for result in request(self.service, method, "/bulk/users", body, NDJSON):
            if "done" in result:
                self.fault(f"{name}: it ended before it was killed")
                break
            self.expect(name, (result["line"], result["status"]), (settled + 1, status))
            settled += 1
            if settled >= KILL_AFTER * len(lines):
                break
        self.restart()
        rest = lines[settled:]
        began = time.monotonic()
        results = list(request(self.service, method, "/bulk/users", b"".join(rest), NDJSON))
        rate = len(rest) / (time.monotonic() - began)
        done, again = results.pop(), 0
        self.expect(name, (done.get("done"), len(results)), (True, len(rest)))
        for result in results:
            again += result["status"] in (404, 412)
            if result["status"] not in (status, 404, 412):
                self.fault(f"{name}: {result}")
        self.report(name, settled, again, len(rest), rate)

    def by_filter(self, name, method, text, patch, users):
        """Changes the users that match, kills the service in the middle, and changes the rest."""
        target = f"/bulk/users?filter={quote(text)}"
        settled = 0
        self.expect(f"{name}: dry run", self.dry_run(method, target, patch), users)
        for result in self.changed(method, target, patch, users):
            settled += 1
            if settled >= KILL_AFTER * users:
                break
        self.restart()
        rest = self.dry_run(method, target, patch)
        if not 0 < rest <= users - settled:
            self.fault(f"{name}: {rest} users are left of {users}, and {settled} had a result")
        began = time.monotonic()
        results = list(self.changed(method, target, patch, rest))
        rate = rest / (time.monotonic() - began)
        done = results.pop()
        self.expect(name, (done.get("lines"), done.get("failed")), (rest, 0))
        self.report(name, settled, users - settled - rest, rest, rate)

    def dry_run(self, method, target, patch):
        answer = self.service.connect().request(method, f"{target}&dry_run=true", patch)
        if answer.status != 200:
            raise SystemExit(f"the dry run was answered {answer}")
        return answer.json()["count"]

    def changed(self, method, target, patch, confirm):
        body = encode(patch) if patch else b""
        target = f"{target}&confirm={confirm}"
        return request(self.service, method, target, body, "application/json")

    def report(self, name, settled, again, rest, rate):
        share = rate / self.import_rate
        print(
            f"{name}: killed after {settled:,} results; {again:,} more were executed; the rest of "
            f"{rest:,} ran at {rate:,.0f}/s, {share:.2f} x the import",
            flush=True,
        )
        if share < RATE_MIN and not self.options.slice:
            self.fault(f"{name}: {share:.2f} x the rate of the import")

    def check(self, name, wanted, bystanders):
        """Compares all users with their expected versions and titles, by their ids."""
        found = {}
        for user in request(self.service, "GET", "/bulk/users", b"", "application/json"):
            title = user.get("title")
            found[user["id"]] = (user["version"], title if title in TITLES else None)
        wanted = {**wanted, **dict.fromkeys(bystanders, (1, None))}
        wrong = [one for one in {*found, *wanted} if found.get(one) != wanted.get(one)]
        for one in wrong[:SHOWN]:
            self.fault(f"{name}: {one} is {found.get(one)}, not {wanted.get(one)}")
        if len(wrong) > SHOWN:
            self.fault(f"{name}: {len(wrong):,} users are wrong")


def make(place, count, seed):
    """Faker's users."""
    users = []
    for file in faker_users.make(place, count, seed):
        with open(file, encoding="utf-8") as lines:
            users += map(json.loads, lines)
    return users


def change(run, count, users):
    bystanders, _ = run.create(users[: int(BYSTANDERS * count)])
    ids, run.import_rate = run.create(users[-count:])
    print(f"imported at {run.import_rate:,.0f}/s", flush=True)
    first, second, third = TITLES
    lines = [encode({"id": one, "version": 1, "title": first}) + b"\n" for one in ids]
    run.by_lines("PATCH by lines", "PATCH", lines, 200)
    run.check("PATCH by lines", dict.fromkeys(ids, (2, first)), bystanders)
    run.by_filter("PATCH by filter", "PATCH", f'title eq "{first}"', {"title": second}, count)
    run.check("PATCH by filter", dict.fromkeys(ids, (3, second)), bystanders)
    lines = [encode({"id": one, "version": 3}) + b"\n" for one in ids]
    run.by_lines("DELETE by lines", "DELETE", lines, 204)
    run.check("DELETE by lines", {}, bystanders)
    run.create([{**user, "title": third} for user in users[-count:]])
    run.by_filter("DELETE by filter", "DELETE", f'title eq "{third}"', None, count)
    run.check("DELETE by filter", {}, bystanders)


def main():
    options = arguments(__doc__, engines=True, users=(100_000, 2_000, "users to change"))
    memory = Memory()
    with Workplace("bulk_change") as place, engine(options) as store:
        run = Run(options, store, place, memory)
        memory.start()
        try:
            users = make(place, int((1 + BYSTANDERS) * options.users), options.seed)
            change(run, options.users, users)
        finally:
            memory.done.set()
            run.service.stop()
        if memory.most >= MEMORY_MAX_MIB:
            run.fault(f"the service held {memory.most:.0f} MiB of its own")
        print(
            f"bulk change ({options.engine}): own memory at most {memory.most:.0f} MiB; "
            f"{len(run.faults)} faults"
        )
        sys.exit(1 if run.faults else 0)


if __name__ == "__main__":
    main()
