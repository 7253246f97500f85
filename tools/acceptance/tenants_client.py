"""The shared parts of tenants.py: a tenant as something to connect to, and a stranger.

A stranger has a key of one tenant and asks for everything of the others, also by ids that exist
there. Each response must be the same as for a tenant that does not exist.
"""

import contextlib
import json
import random
import subprocess
import sys
import threading
import time
import uuid

from service import Closed, Connection

SCOPES = [
    "users:read", "users:write", "users:purge", "users:restore-ids", "events:read", "keys:admin",
    "schema:write", "webhooks:admin", "scim",
]  # fmt: skip
NDJSON = {"Content-Type": "application/x-ndjson"}
NOBODY = "no-such-tenant"
TOLD = "tenant-not-found"
# What differs between any two responses, and what a service adds that is about to end.
OF_ITSELF = ("date", "x-request-id", "connection")


class Fault(Exception):
    """A check failed."""


def expect(holds, text):
    if not holds:
        raise Fault(text)


class Below(Connection):
    """A connection whose requests go below a base path, with a key."""

    def __init__(self, address, timeout, tls, base, key):
        super().__init__(address, timeout, tls)
        self.base, self.key = base, key

    def send(self, method, path, body=None, headers=None):
        headers = {"Authorization": f"Bearer {self.key}", **(headers or {})}
        super().send(method, self.base + path, body, headers)


class Tenant:
    """A tenant of a service, which one connects to like a service; "" is the default tenant."""

    def __init__(self, service, name, key):
        self.service, self.name, self.key = service, name, key
        self.base = f"/tenants/{name}" if name else ""

    def connection(self, timeout=30.0):
        return Below(self.service.address, timeout, self.service.tls, self.base, self.key)

    def connect(self, timeout=30.0):
        return self.connection(timeout).open()

    def made(self, path, body, status=201):
        """The JSON of a response to a POST that must succeed."""
        connection = self.connect()
        answer = connection.request("POST", path, body)
        connection.close()
        expect(answer.status == status, f"POST {self.base}{path} was answered {answer}")
        return answer.json()

    def tenant(self, name):
        """Creates a tenant and a key of it. Only the operator can."""
        self.made("/tenants", {"name": name})
        body = {"name": f"key of {name}", "scopes": SCOPES}
        return Tenant(self.service, name, self.made(f"/tenants/{name}/keys", body)["key"])


def conclude(name, command):
    """Runs a command, says which check of it failed, and exits."""
    faults, began = 0, time.monotonic()
    try:
        command()
    except Fault as fault:
        faults = 1
        print(f"{name}: {fault}"[:8000], flush=True)
    print(f"{name}: {faults} faults; {time.monotonic() - began:.0f} s")
    sys.exit(faults)


def operator(service):
    """The operator of an open service: creates the first key, which closes the service."""
    connection = service.connect()
    scopes = [*SCOPES, "tenants:admin"]
    body = {"name": "operator", "scopes": scopes, "tenants": "all"}
    answer = connection.request("POST", "/keys", body)
    connection.close()
    expect(answer.status == 201, f"the first key was answered {answer}")
    return Tenant(service, "", answer.json()["key"])


@contextlib.contextmanager
def running(store, options, data):
    """A service on a new directory or database, which is stopped at the end."""
    service = store.service(options.binary, data)
    service.ready = "/readyz"
    service.start()
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()
        store.discard(service)


def check(options, service):
    """`roster check` must find nothing. It also works while the service runs."""
    place = ["--database", service.database] if service.database else ["--data", service.data]
    command = [str(word) for word in [options.binary, "check", *place]]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    expect(result.returncode == 0, f"roster check: {result.stdout} {result.stderr}")


def import_users(connection, base, users):
    """Imports users who must all be created. Returns their ids, in order."""
    lines = b"\n".join(json.dumps(user, separators=(",", ":")).encode() for user in users)
    answer = connection.request("POST", f"{base}/bulk/users", lines, NDJSON)
    expect(answer.status == 200, f"an import into {base} was answered {answer}")
    *results, last = [json.loads(line) for line in answer.body.splitlines()]
    expect(last.get("created") == len(users), f"an import into {base} ended with {last}")
    return [result["id"] for result in results]


def filled(chief, size, user, batch=20_000):
    """Creates the users of the default tenant that `user` makes of numbers. Returns their ids."""
    connection, ids = chief.connect(600.0), []
    for start in range(0, size, batch):
        numbers = range(start, min(start + batch, size))
        ids += import_users(connection, "", [user(number) for number in numbers])
    connection.close()
    return ids


def everybody(connection, base=""):
    """All users, by their ids."""
    users, cursor = {}, ""
    while cursor is not None:
        answer = connection.request("GET", f"{base}/users?limit=1000{cursor}")
        expect(answer.status == 200, f"a list of {base} was answered {answer}")
        page = answer.json()
        users |= {user["id"]: user for user in page["items"]}
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    return users


class Beside(threading.Thread):
    """Does its `work` beside a test, until its `with` ends. A fault of it is one of the test."""

    def __init__(self, seed):
        super().__init__()
        self.random, self.done, self.fault = random.Random(seed), threading.Event(), None
        self.due = time.monotonic()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        self.done.set()
        self.join()
        if kind is None:
            expect(self.fault is None, f"{type(self).__name__}: {self.fault}")

    def run(self):
        try:
            self.work()
        except Exception as error:  # noqa: BLE001
            self.fault = repr(error)

    def pause(self, per_second):
        """Waits until the next request is due at this rate."""
        self.due = max(self.due + 1 / per_second, time.monotonic() - 1)
        self.done.wait(max(0.0, self.due - time.monotonic()))


class Stranger(Beside):
    """Asks for everything of `others` with the key of `tenant`, until its `with` ends."""

    REQUESTS = (
        ("GET", "/users"), ("GET", "/users?q=a&count=true"), ("GET", "/users/ID"),
        ("GET", "/users?id=ID"), ("POST", "/users"), ("PUT", "/users/ID"), ("PATCH", "/users/ID"),
        ("DELETE", "/users/ID"), ("GET", "/users/ID/events"), ("GET", "/users/ID/groups"),
        ("GET", "/deleted-users"), ("POST", "/deleted-users/ID/restore"), ("GET", "/groups"),
        ("POST", "/groups"), ("GET", "/groups/ID/members"), ("GET", "/events"),
        ("GET", "/bulk/users"), ("POST", "/bulk/users"), ("DELETE", "/bulk/users"),
        ("GET", "/bulk/groups"), ("GET", "/schema"), ("PUT", "/schema"), ("GET", "/caller"),
        ("GET", "/keys"), ("POST", "/keys"), ("GET", "/"),
        ("GET", "/scim/v2/Users?count=5"), ("GET", "/scim/v2/Users/ID"), ("POST", "/scim/v2/Users"),
        ("PUT", "/scim/v2/Users/ID"), ("PATCH", "/scim/v2/Users/ID"), ("GET", "/scim/v2/Groups"),
        ("DELETE", "/scim/v2/Users/ID"), ("POST", "/scim/v2/Bulk"), ("GET", "/scim/v2/Schemas"),
    )  # fmt: skip

    def __init__(self, operator, tenant, others, seed):
        super().__init__(f"stranger {seed}")
        self.operator, self.others = operator, others
        self.own = Tenant(tenant.service, "", tenant.key)
        self.asked, self.by_known_id, self.expected = 0, 0, {}

    def __exit__(self, kind, error, trace):
        super().__exit__(kind, error, trace)
        if kind is None:
            expect(self.asked > 0, "a stranger asked nothing")

    def said(self):
        return f"a stranger asked {self.asked:,} times, {self.by_known_id:,} for ids there"

    def work(self):
        while not self.done.is_set():
            try:
                self.ask_a_tenant()
            except (Closed, OSError):
                time.sleep(0.02)  # between a kill and the next start

    def ask_a_tenant(self):
        """Twenty requests to one tenant, with ids of its users."""
        connection, operator = self.own.connect(), self.operator.connect()
        try:
            if not self.expected:
                for path in ("/users", "/scim/v2/Users"):
                    self.ask(connection, NOBODY, "GET", path, "")
            other = self.random.choice(self.others)
            page = operator.request("GET", f"/tenants/{other}/users?limit=50&fields=id")
            ids = [user["id"] for user in page.json().get("items", ())]
            for method, path in self.random.sample(self.REQUESTS, 20):
                self.by_known_id += bool(ids) and "ID" in path
                user = self.random.choice(ids) if ids else str(uuid.uuid4())
                self.ask(connection, other, method, path, user)
                if self.done.wait(0.002):
                    break
        finally:
            connection.close()
            operator.close()

    def ask(self, connection, other, method, path, user):
        headers, body = {}, None
        if method in ("POST", "PUT", "PATCH"):
            body = {"username": "stranger", "display_name": "Strangers", "id": user}
        if path.startswith("/bulk") and method != "GET":
            headers, body = NDJSON, json.dumps({"id": user}).encode()
        place = f"/tenants/{other}{path.replace('ID', user)}"
        answer = connection.request(method, place, body, headers)
        request = answer.headers["x-request-id"].encode()
        headers = [item for item in answer.headers.items() if item[0] not in OF_ITSELF]
        seen = (answer.status, headers, answer.body.replace(request, b"REQUEST"))
        kind = "scim" if path.startswith("/scim") else "rest"
        # An error of SCIM has no code.
        if answer.status != 404 or answer.json().get("code", TOLD) != TOLD:
            raise Fault(f"{method} {place} was answered {answer}")
        if self.expected.setdefault(kind, seen) != seen:
            raise Fault(f"{method} {place} was answered {seen}, others {self.expected[kind]}")
        self.asked += 1
