"""The writes of wire_cut.py: each is sent with one key until it gets a result, and recorded.

A second execution of a write would be rejected: of a create by its taken name, of the others by
their version. So a final success means that the write was executed once, and the log must have it
once.
"""

import json
import random
import threading
import time

from service import SERVER_MADE, Closed

KINDS = ("create", "replace", "patch", "delete")
WANTED = {"create": 201, "taker": 201, "replace": 200, "patch": 200, "delete": 204, "refused": 409}
EVENTS = {"create": "user.created", "taker": "user.created", "delete": "user.deleted"}
PATIENCE = 60.0
PAUSE = 0.025


class Fault(Exception):
    """A response, or a collection, that is not as expected."""


class Ledger:
    """Every write that got a result, and the collection that follows from them."""

    def __init__(self, seed):
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.live, self.deleted, self.history = {}, {}, {}
        self.made, self.unavailable, self.codes, self.replays = 0, 0, {}, 0
        self.answered, self.slowest = 0, 0.0

    def take(self, kind):
        """A write of this kind, of a user that no other write uses meanwhile."""
        with self.lock:
            self.made += 1
            record = None
            if kind in ("replace", "patch", "delete"):
                record = self.live.pop(self.random.choice(list(self.live)))
            return Write(self, kind, self.made, record)

    def keep(self, write, record):
        """Records a write with its result."""
        with self.lock:
            self.answered += 1
            if write.kind == "refused":
                return
            user = record["id"] if record else write.record["id"]
            version = record["version"] if record else write.record["version"] + 1
            event = EVENTS.get(write.kind, "user.updated")
            self.history.setdefault(user, []).append((event, version, write.mark))
            if write.kind == "taker":
                return
            if record:
                self.live[user] = record
            else:
                self.deleted[user] = write.record

    def refused_for_now(self, answer):
        """Checks a 503."""
        after, kind = answer.headers.get("retry-after", ""), answer.headers.get("content-type", "")
        if not after.isdecimal() or not kind.startswith("application/problem+json"):
            raise Fault(f"a 503 with the headers {answer.headers}: {answer}")
        code = answer.json()["code"]
        with self.lock:
            self.unavailable += 1
            self.codes[code] = self.codes.get(code, 0) + 1


class Write:
    """One write, its key, and the record it starts from."""

    def __init__(self, ledger, kind, number, record):
        self.ledger, self.kind, self.record = ledger, kind, record
        self.mark, self.fault, self.tries = f"write {number}", None, 0
        self.headers = {"Idempotency-Key": f'"cut-{number}"'}
        body = {"username": f"cut{number}", "nickname": self.mark, "attributes": {"n": number}}
        self.request = ("POST", "/users", body)
        # One user takes the name that `refused` requests, and is not changed.
        if kind in ("taker", "refused"):
            body["username"] = "taken"
        elif kind != "create":
            self.headers["If-Match"] = f'"{record["version"]}"'
            method = {"replace": "PUT", "patch": "PATCH", "delete": "DELETE"}[kind]
            body = {**body, "username": record["username"]}
            self.request = (method, f"/users/{record['id']}", None if kind == "delete" else body)

    def run(self, service):
        """Sends it until it gets a result, for a separate thread."""
        try:
            connection = service.connect(PATIENCE)
            self.send(connection)
            connection.close()
        except (Fault, Closed, OSError) as error:
            self.fault = f"{self.kind}, {self.mark}: {error}"

    def send(self, connection):
        began = time.monotonic()
        while (answer := self.once(connection)).status == 503:
            self.ledger.refused_for_now(answer)
            if time.monotonic() - began > PATIENCE:
                raise Fault(f"refused for {PATIENCE} s: {answer}")
            time.sleep(PAUSE)
        if answer.status != WANTED[self.kind]:
            raise Fault(f"answered, at try {self.tries}, {answer}")
        record = None if self.kind in ("delete", "refused") else answer.json()
        if record is not None:
            self.hold(record)
        self.ledger.slowest = max(self.ledger.slowest, time.monotonic() - began)
        if self.tries > 1 and self.kind != "refused":
            self.again(connection, answer)
        self.ledger.keep(self, record)

    def once(self, connection):
        self.tries += 1
        method, path, body = self.request
        return connection.request(method, path, body, self.headers)

    def hold(self, record):
        """The response's record must be what this write makes of its initial record."""
        version = self.record["version"] + 1 if self.record else 1
        body = self.request[2]
        wanted = {**body, "status": "active"}
        shown = {name: value for name, value in record.items() if name not in SERVER_MADE}
        if record["version"] != version or shown != wanted:
            raise Fault(f"answered {record}, not version {version} of {wanted}")

    def again(self, connection, first):
        """A write that was sent more than once is sent once more, and must get a replay of the same
        response.
        """
        for _ in range(400):
            answer = self.once(connection)
            if answer.status != 503:
                break
            self.ledger.refused_for_now(answer)
            time.sleep(PAUSE)
        replayed = answer.headers.get("idempotent-replayed") == "true"
        if not replayed or (answer.status, answer.body) != (first.status, first.body):
            raise Fault(f"first {first}, sent again {answer} {answer.headers}")
        self.ledger.replays += 1


class Reader(threading.Thread):
    """Reads users all the time. Each read must return what was acknowledged before, newer data, or
    503.
    """

    def __init__(self, service, ledger):
        super().__init__(daemon=True)
        self.service, self.ledger, self.done = service, ledger, threading.Event()
        self.random, self.fault = random.Random(0), None
        self.reads, self.unavailable = 0, 0

    def run(self):
        try:
            connection = self.service.connect(PATIENCE)
            while not self.done.wait(0.01):
                self.read(connection)
        except Exception as error:  # noqa: BLE001
            self.fault = f"a reader: {error}"

    def read(self, connection):
        with self.ledger.lock:
            record = self.random.choice(list(self.ledger.live.values()))
        listed = self.random.random() < 0.2
        path = f"/users?id={record['id']}" if listed else f"/users/{record['id']}"
        answer = connection.request("GET", path)
        self.reads += 1
        if answer.status == 503:
            self.ledger.refused_for_now(answer)
            self.unavailable += 1
        elif answer.status not in (200, 404):
            raise Fault(f"{path} was answered {answer}")
        else:
            gone = answer.status == 404 or (listed and not answer.json()["items"])
            shown = None if gone else answer.json()["items"][0] if listed else answer.json()
            if shown is None:
                self.may_be_gone(record["id"], path)
            elif shown["version"] < record["version"]:
                raise Fault(f"{path} shows version {shown['version']} after {record['version']}")

    def may_be_gone(self, user, path):
        """A user that is not returned is being deleted, or was deleted."""
        with self.ledger.lock:
            if user in self.ledger.live:
                raise Fault(f"{path} shows nobody")


def events(service):
    """The whole log, page by page."""
    connection, after = service.connect(), None
    while True:
        path = "/events?limit=1000" + (f"&after={after}" if after else "")
        answer = connection.request("GET", path)
        if answer.status != 200:
            raise Fault(f"{path} was answered {answer}")
        page = answer.json()
        yield from page["items"]
        after = answer.headers["roster-position"]
        if page["next_cursor"] is None:
            return


def verify(service, ledger):
    """Checks that no write is lost or doubled: the log equals the ledger. Returns the number of
    events.
    """
    found, count = {}, 0
    for event in events(service):
        count += 1
        data = event["data"]
        if int(event["id"].rsplit("-", 1)[1]) != count:
            raise Fault(f"{event['id']} stands at {count}")
        mark = data["user"]["nickname"] if event["type"] != "user.deleted" else None
        found.setdefault(data["user_id"], []).append((event["type"], data["version"], mark))
    compare(found, ledger.history)
    prove(found, ledger.history)
    connection = service.connect()
    for user, record in ledger.live.items():
        answer = connection.request("GET", f"/users/{user}")
        if answer.status != 200 or json.loads(answer.body) != record:
            raise Fault(f"{user}: {answer}, acknowledged was {record}")
    for user in ledger.deleted:
        if (answer := connection.request("GET", f"/users/{user}")).status != 404:
            raise Fault(f"{user} was deleted: {answer}")
    return count


def compare(found, history):
    """Compares the events of each user in the log with the acknowledged writes."""
    for user in found.keys() | history.keys():
        acknowledged = history.get(user, [])
        told = [(e, v, None if e == "user.deleted" else mark) for e, v, mark in acknowledged]
        if found.get(user) != told:
            raise Fault(f"{user}: the log has {found.get(user)}, acknowledged were {told}")


def prove(found, history):
    """Checks that the comparison finds a lost write and a doubled write."""
    user = next(iter(history))
    for planted in (found[user][:-1], found[user] + found[user][-1:]):
        try:
            compare({**found, user: planted}, history)
        except Fault:
            continue
        raise Fault(f"the comparison did not see {planted} for {found[user]}")
