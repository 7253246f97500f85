"""The part `deletion` of tenants.py: a tenant with many users and their history is deleted, restored,
deleted again and purged, while another tenant works.

A restored tenant exports the same bytes as before. The service is killed during the erasure and
started again, and must finish it. Then no file has a byte of the tenant's users, the other tenant
has all of its own, and its requests are at most twice as slow meanwhile as before.
"""

import json
import time

from purge_long import MARK, execute, rewrite_and_search, search, wait
from service import percentile
from tenants_client import NDJSON, Beside, check, everybody, expect, import_users, operator, running

RATE_PER_SECOND = 150
ALONE_SECONDS = 8
SLOWER_MAX = 2.0


class Load(Beside):
    """Changes and reads users of a tenant at a steady rate, until its `with` ends."""

    def __init__(self, tenant, users, seed):
        super().__init__(seed)
        self.tenant, self.users, self.took_ms = tenant, users, []

    def work(self):
        connection = self.tenant.connect()
        while not self.done.is_set():
            user = self.random.choice(self.users)
            writes = len(self.took_ms) % 2
            body = {"nickname": f"n{len(self.took_ms)}"} if writes else None
            began = time.monotonic()
            answer = connection.request("PATCH" if writes else "GET", f"/users/{user}", body)
            self.took_ms.append((time.monotonic() - began) * 1000)
            expect(answer.status == 200, f"a request was answered {answer}")
            self.pause(RATE_PER_SECOND)


def fill(tenant, size):
    """Users with a history, some of them deleted, and a group."""
    connection = tenant.connect(600.0)
    users = [
        {"username": f"u{number}-{MARK}", "family_name": MARK, "email": f"u{number}@{MARK}.example"}
        for number in range(size)
    ]
    ids = import_users(connection, "", users)
    path = f"/bulk/users?status=active&confirm={size}"
    answer = connection.request("PATCH", path, {"title": f"Chief {MARK}"})
    expect(answer.status == 200, f"a change of all users was answered {answer}"[:500])
    for user in ids[: size // 100]:
        answer = connection.request("DELETE", f"/users/{user}")
        expect(answer.status == 204, f"a deletion was answered {answer}")
    group = {"display_name": f"Friends of {MARK}", "members": [{"id": ids[-1]}]}
    answer = connection.request("POST", "/bulk/groups", json.dumps(group).encode(), NDJSON)
    expect(b'"created":1' in answer.body, f"a group was answered {answer}")
    connection.close()


def exported(tenant):
    """Everything that the exports of a tenant have."""
    connection = tenant.connect(600.0)
    places = ("/bulk/users", "/bulk/groups", "/bulk/deleted-users")
    answers = [connection.request("GET", place) for place in places]
    connection.close()
    for answer in answers:
        expect(answer.status == 200, f"an export was answered {answer}"[:500])
    return [answer.body for answer in answers]


def ask(chief, method, path, status):
    connection = chief.connect()
    answer = connection.request(method, path)
    connection.close()
    expect(answer.status == status, f"{method} {path} was answered {answer}")


def left(service):
    """How many users of the purged tenant are left; None once everything is erased."""
    # The events about it, which are of the default tenant, are erased too.
    rows = execute(service, "SELECT tenant FROM erasures ORDER BY tenant DESC")
    if not rows:
        return None
    sql = f"SELECT count(*) FROM users WHERE tenant = {rows[0][0]}"
    return execute(service, sql)[0][0]


def deletion(options, store, place):
    size = options.deleted
    with running(store, options, place / "deletion") as service:
        chief = operator(service)
        acme, other = chief.tenant("acme"), chief.tenant("other")
        names = [{"username": f"user{number}"} for number in range(1000)]
        connection = other.connect()
        users = import_users(connection, "", names)
        connection.close()
        fill(acme, size)
        before = exported(acme)
        if service.database:
            execute(service, "VACUUM FULL")
        expect(search(service), "nothing is found before the purge: the search proves nothing")

        with Load(other, users, f"{options.seed} alone") as alone:
            time.sleep(1 if options.slice else ALONE_SECONDS)
        ask(chief, "DELETE", "/tenants/acme", 204)
        ask(acme, "GET", "/users", 404)
        ask(chief, "POST", "/deleted-tenants/acme/restore", 200)
        expect(exported(acme) == before, "the restored tenant exports something else")
        ask(chief, "DELETE", "/tenants/acme", 204)

        ask(chief, "DELETE", "/deleted-tenants/acme", 204)
        began = time.monotonic()
        wait("the first step", lambda: (left(service) or 0) < size * 98 // 100, pause=0.005)
        under_way = store.under_way(service)
        service.kill()
        store.settle(service, under_way)
        killed_at = left(service)
        # A small tenant may be erased before the first look.
        expect(options.slice or killed_at, "the service was not killed in the middle")
        service.start()
        with Load(other, users, f"{options.seed} beside") as beside:
            wait("the erasure", lambda: left(service) is None, pause=0.2)
        erased = time.monotonic() - began
        check(options, service)
        expect(len(everybody(other.connect())) == len(names), "the other tenant lost users")
        ask(chief, "POST", "/deleted-tenants/acme/restore", 404)
        chief.tenant("acme")
        if service.database:
            service.stop()
            # The statistics of the planner have samples until the next ANALYZE.
            execute(service, "ANALYZE")
            wait("a search of the files", lambda: not rewrite_and_search(service), 60, 2)
        else:
            wait("a search of the files", lambda: not search(service))
            service.stop()
        found = search(service)
        expect(not found, f"after the stop, {found} have users of the tenant")
    p99 = [percentile(load.took_ms, 0.99) for load in (alone, beside)]
    said = (
        f"{size:,} users with history: killed with {killed_at or 0:,} left, erased in {erased:.1f} s; "
        f"p99 of the other tenant {p99[0]:.1f} ms, {p99[1]:.1f} ms meanwhile; 0 hits"
    )
    print(f"deletion: {said}", flush=True)
    if not options.slice:
        expect(p99[1] <= SLOWER_MAX * p99[0] + 1, "the other tenant is too slow meanwhile")
    return "restored and erased"
