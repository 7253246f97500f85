"""Tenants of one service behave as if each were alone, at size, under load and after kill -9.

providers: Okta, Entra and Authentik work at the same time in three tenants, for the same people;
each ends as it does alone, and a second run changes nothing.

alike: the same requests get the same responses from a tenant that is alone and from one beside a
tenant with 100,000 users of the same names.

fleet: 10,000 tenants of 20 users and a key each. The service starts as quickly as without them and needs at
most 20 MiB more, `roster check` finds nothing, and a sample of tenants have exactly their users.

deletion: a tenant of 100,000 users with history is deleted, restored with equal exports, and purged
while another works, with a kill -9 in the middle; afterwards no file has a byte of it.

kills: kill -9 during writes in 8 tenants that use the same names. Each acknowledged write is there,
in its tenant and in no other.

In all of them a stranger, who has a key of another tenant, asks for everything and gets nothing.
"""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import providers
import tenants_alike
from engines import engine
from kill9_writers import Writer
from service import Workplace, arguments, percentile
from tenants_client import (
    Fault,
    Stranger,
    Tenant,
    check,
    everybody,
    expect,
    import_users,
    operator,
    running,
)
from tenants_deletion import deletion

WRITERS = 8
# A caller may have two imports at a time, so each connection has its own key.
IMPORTERS = 4
SAMPLE = 50
START_MS_MAX = 100
MEMORY_MIB_MAX = 20


def at_once(calls):
    """Runs the calls in threads. Returns their results, or raises the first exception."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(*call) for call in calls]]


def providers_at_once(options, store, place):
    with running(store, options, place / "providers") as service:
        chief = operator(service)
        kinds = (providers.Okta, providers.Entra, providers.Authentik)
        tenants = [chief.tenant(kind.__name__.lower()) for kind in kinds]
        names = [tenant.name for tenant in tenants]
        with Stranger(chief, chief.tenant("s"), names, options.seed) as stranger:
            seed = f"{options.seed} tenants"
            calls = zip(kinds, tenants, strict=True)
            at_once([(providers.run, kind, tenant, options, seed) for kind, tenant in calls])
        expect(not everybody(chief.connect()), "the default tenant has users")
        users = [everybody(tenant.connect()) for tenant in tenants]
        used = [{user["username"] for user in those.values()} for those in users]
        shared = len(set.intersection(*used))
        expect(shared >= options.users // 2, f"only {shared} names are in all three tenants")
        check(options, service)
    counts = ", ".join(f"{len(those):,}" for those in users)
    return f"{counts} users, {shared:,} of the same names; {stranger.said()}"


def crew(tenant, size):
    """The users of one tenant: the names are the same in all."""
    return [
        {"username": f"user{number}", "email": f"user{number}@example.com", "title": tenant}
        for number in range(size)
    ]


def found(chief, names, size, number):
    """Creates every `IMPORTERS`th tenant with its users. Returns the ids by tenant."""
    scopes = ["users:read", "users:write", "keys:admin", "tenants:admin"]
    key = {"name": f"importer {number}", "scopes": scopes, "tenants": "all"}
    connection = Tenant(chief.service, "", chief.made("/keys", key)["key"]).connect(60.0)
    ids = {}
    for name in names[number::IMPORTERS]:
        answer = connection.request("POST", "/tenants", {"name": name})
        expect(answer.status == 201, f"the tenant {name} was answered {answer}")
        ids[name] = import_users(connection, f"/tenants/{name}", crew(name, size))
        key = {"name": "its own", "scopes": ["scim"]}
        answer = connection.request("POST", f"/tenants/{name}/keys", key)
        expect(answer.status == 201, f"a key of {name} was answered {answer}")
    connection.close()
    return ids


def at_rest(service, starts):
    """Starts the service some times. Returns the shortest time in ms, and the resident MiB of the
    last one at rest.
    """
    times = []
    for _ in range(starts):
        service.stop()
        times.append(service.start() * 1000)
    time.sleep(1)
    return min(times), service.memory("VmRSS")


def fleet(options, store, place):
    starts = 1 if options.slice else 3
    with running(store, options, place / "empty") as service:
        operator(service)
        empty_ms, empty_mib = at_rest(service, starts)
    chance = random.Random(options.seed)
    with running(store, options, place / "fleet") as service:
        chief = operator(service)
        names = [f"customer-{number}" for number in range(options.tenants)]
        began = time.monotonic()
        with Stranger(chief, chief.tenant("s"), names, options.seed) as stranger:
            calls = [(found, chief, names, options.each, n) for n in range(IMPORTERS)]
            ids = {name: those for part in at_once(calls) for name, those in part.items()}
        took = time.monotonic() - began
        start_ms, mib = at_rest(service, starts)
        check(options, service)
        connection = chief.connect(60.0)
        for name in chance.sample(names, min(SAMPLE, len(names))):
            users = everybody(connection, f"/tenants/{name}")
            here = [(user["username"], user["title"]) for user in users.values()]
            there = [(user["username"], user["title"]) for user in crew(name, options.each)]
            expect(here == there and list(users) == ids[name], f"{name} has the users {here}")
            counted = connection.request("GET", f"/tenants/{name}").json()["users"]
            expect(counted == options.each, f"{name} counts {counted} users")
        used_mib = service.memory("VmRSS")
    print(
        f"fleet: ready after {start_ms:.0f} ms, {empty_ms:.0f} ms without tenants; {mib:.1f} MiB "
        f"at rest, {empty_mib:.1f} MiB without, {used_mib:.1f} MiB after {SAMPLE} were read",
        flush=True,
    )
    if not options.slice:
        expect(start_ms - empty_ms <= START_MS_MAX, "the start is too slow")
        expect(mib - empty_mib <= MEMORY_MIB_MAX, "the memory at rest is too large")
    count = sum(len(those) for those in ids.values())
    return f"{len(ids):,} tenants with {count:,} users in {took:.0f} s; {stranger.said()}"


def write_until_killed(service, writers, seconds):
    for writer in writers:
        writer.start()
    time.sleep(seconds)
    early = [writer.service.name for writer in writers if not writer.is_alive()]
    service.kill()
    for writer in writers:
        writer.join()
    for writer in writers:
        expect(writer.fault is None, f"{writer.service.name}: {writer.fault}")
    expect(not early, f"the writers of {early} lost their connection before the kill")


def verify(writers):
    """Every tenant has exactly the acknowledged users, or what a request in progress explains."""
    owners = {}
    for writer in writers:
        connection = writer.service.connect()
        fault = writer.verify(connection)
        expect(fault is None, f"{writer.service.name}: {fault}")
        users = everybody(connection)
        connection.close()
        known = {user: entry.record for user, entry in writer.entries.items() if entry.record}
        apart = [user for user in users.keys() | known.keys() if users.get(user) != known.get(user)]
        expect(not apart, f"{writer.service.name}: {len(apart)} users differ, such as {apart[:3]}")
        for user in users:
            other = owners.setdefault(user, writer.service.name)
            expect(other == writer.service.name, f"{user} is in {other} and {writer.service.name}")


def kills(options, store, place):
    chance, acknowledged, restarts = random.Random(options.seed), 0, []
    with running(store, options, place / "kills") as service:
        chief = operator(service)
        tenants = [chief.tenant(f"t{number}") for number in range(WRITERS)]
        names = [tenant.name for tenant in tenants]
        # Number 0 for all: they use the same names. The seeds differ.
        writers = [Writer(tenant, 0, f"{options.seed}/{tenant.name}") for tenant in tenants]
        with Stranger(chief, chief.tenant("s"), names, options.seed) as stranger:
            for number in range(options.rounds):
                write_until_killed(service, writers, chance.uniform(0.1, 1.5))
                under_way = store.under_way(service)
                restarts.append(service.start() * 1000)
                store.settle(service, under_way)
                verify(writers)
                if number % 2:
                    expect(service.stop() == 0, "SIGTERM did not end the service with 0")
                check(options, service)
                if number % 2:
                    service.start()
                acknowledged += sum(writer.acknowledged for writer in writers)
                writers = [writer.next_round() for writer in writers]
        users = sum(len(writer.alive) for writer in writers)
        expect(acknowledged > 0, "no write was acknowledged")
    return (
        f"{options.rounds} rounds, {acknowledged:,} acknowledged writes in {WRITERS} tenants, "
        f"{users:,} users; restart p50 {percentile(restarts, 0.5):.0f} ms; {stranger.said()}"
    )


PARTS = {
    "providers": providers_at_once, "alike": tenants_alike.compare, "fleet": fleet, "kills": kills,
    "deletion": deletion,
}  # fmt: skip


def main():
    options = arguments(
        __doc__,
        engines=True,
        switches=[
            ("only-deletion", "only the part `deletion`"),
            ("only-fleet", "only the part `fleet`"),
        ],
        users=(5000, 60, "users of each provider that REST created"),
        increments=(30, 2, "rounds of changes of each provider"),
        beside=(100_000, 2000, "users of the tenant beside the one whose responses are compared"),
        tenants=(10_000, 100, "tenants of the fleet"),
        each=(20, 5, "users of each of them"),
        rounds=(30, 3, "rounds of kill -9"),
        deleted=(100_000, 3000, "users of the tenant that is deleted"),
    )
    faults = 0
    with Workplace("tenants") as place, engine(options) as store:
        for name, part in PARTS.items():
            if options.only_deletion and name != "deletion" or options.only_fleet and name != "fleet":
                continue
            began = time.monotonic()
            try:
                said = part(options, store, place)
                print(f"{name}: {said}; {time.monotonic() - began:.0f} s", flush=True)
            except (Fault, providers.Fault) as fault:
                faults += 1
                print(f"{name}: {fault}"[:8000], flush=True)
        print(f"tenants ({options.engine}): {faults} faults")
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
