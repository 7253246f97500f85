"""Several processes over one PostgreSQL write the same users and names at the same time.

Imports: two processes import the same new users with `on_conflict=skip`, in the same order, with
blocks in another order, and in reverse. Nothing is refused, and another order takes at most 1.5
times as long as the same one. Hot users: 24 clients over three processes write 20 users, by PATCH
alone, and half of them by upserts with the username. The rate of the mix is at least half of that
of PATCH alone, with a p99 of at most 50 ms. Groups: members are added to a group of a new database
within 0.6 s. PostgreSQL has its default `deadlock_timeout`. With --slice only effects count.
"""

import random
import sys
import threading
import time

from postgres import cluster
from service import Service, Workplace, arguments, encode, percentile

CLIENTS, HOT, BLOCK = 24, 20, 500
NDJSON = {"Content-Type": "application/x-ndjson"}
FAULTS = ("roster_write_lock_timeouts_total", "roster_commits_in_doubt_total")


def together(jobs):
    """Runs functions in threads. Returns their results."""
    results = [None] * len(jobs)

    def run(number, job):
        results[number] = job()

    threads = [threading.Thread(target=run, args=it) for it in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def users(run, count, order):
    """The lines of an import in an order."""
    names = [f"run{run}-{number}" for number in range(count)]
    if order == "reversed":
        names.reverse()
    if order == "blocks":
        blocks = [names[at : at + BLOCK] for at in range(0, count, BLOCK)]
        random.Random(run).shuffle(blocks)
        names = [name for block in blocks for name in block]
    lines = [encode({"username": name, "email": f"{name}@example.com"}) for name in names]
    return b"\n".join(lines) + b"\n"


def imported(service, body):
    """Imports lines. Returns the number of lines that were refused."""
    path = "/bulk/users?on_conflict=skip"
    answer = service.connect(120.0).request("POST", path, body, NDJSON)
    lines = answer.body.decode().splitlines()
    return sum('"status":4' in line or '"status":5' in line for line in lines)


def imports(services, options, faults):
    """The median seconds of two equal imports at once, for each order of the second one."""
    seconds, run = {}, 0
    for order in ("same", "blocks", "reversed"):
        seconds[order] = []
        for _ in range(options.runs):
            run += 1
            bodies = (users(run, options.users, "same"), users(run, options.users, order))
            began = time.monotonic()
            jobs = [lambda s=s, b=b: imported(s, b) for s, b in zip(services, bodies)]
            refused = sum(together(jobs))
            seconds[order].append(time.monotonic() - began)
            if refused:
                faults.append(f"{refused} lines refused, order {order}")
    return {order: sorted(times)[len(times) // 2] for order, times in seconds.items()}


def hot(services, ids, share, options, faults):
    """24 clients write hot users. Returns the rate and the p99 in ms."""
    until = time.monotonic() + options.seconds
    times, lock = [], threading.Lock()

    def client(number):
        chance, mine = random.Random(number), []
        connection = services[number % len(services)].connect()
        while time.monotonic() < until:
            which, title = chance.randrange(HOT), str(chance.random())
            began = time.monotonic()
            if chance.random() < share:
                body = {"username": f"hot{which}", "title": title}
                answer = connection.request("POST", "/users?on_conflict=merge", body)
            else:
                answer = connection.request("PATCH", f"/users/{ids[which]}", {"title": title})
            mine.append(time.monotonic() - began)
            if answer.status != 200:
                faults.append(f"a write of a hot user was answered {answer}")
                break
        with lock:
            times.extend(mine)

    together([lambda n=n: client(n) for n in range(CLIENTS)])
    return len(times) / options.seconds, 1000 * percentile(times, 0.99)


def members(service, count):
    """The seconds to add members to a group of a new database."""
    connection = service.connect(120.0)
    body = users(0, count, "same")
    results = connection.request("POST", "/bulk/users", body, NDJSON).body.decode().splitlines()
    ids = [line.split('"id":"')[1][:36] for line in results if '"id":"' in line]
    path = "/scim/v2/Groups"
    group = connection.request("POST", path, {"displayName": "all"}).json()["id"]
    values = [{"value": one} for one in ids]
    operation = {"op": "add", "path": "members", "value": values}
    urn = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
    began = time.monotonic()
    change = {"schemas": [urn], "Operations": [operation]}
    answer = connection.request("PATCH", f"{path}/{group}?attributes=id", change)
    if answer.status not in (200, 204):
        raise SystemExit(f"the members were answered {answer}")
    return time.monotonic() - began


def started(options, place, database, name, count):
    services = [
        Service(options.binary, place / f"{name}{number}", None, database)
        for number in range(count)
    ]
    for service in services:
        service.start()
    return services


def failed_transactions(services, faults):
    for service in services:
        page = service.connect().request("GET", "/metrics").body.decode()
        for line in page.splitlines():
            if line.startswith(FAULTS) and not line.endswith(" 0"):
                faults.append(line)


def main():
    options = arguments(
        __doc__,
        users=(10_000, 1_000, "users of an import"),
        runs=(9, 1, "imports in each order"),
        seconds=(15, 2, "seconds of each load of hot users"),
        members=(20_000, 2_000, "members of a group"),
        databases=(10, 1, "new databases for a group"),
    )
    faults, is_slice = [], options.runs == 1
    with Workplace("hot") as place, cluster() as server:
        services = started(options, place, server.database(), "data", 3)
        seconds = imports(services[:2], options, faults)
        connection = services[0].connect()
        made = [connection.request("POST", "/users", {"username": f"hot{n}"}) for n in range(HOT)]
        ids = [answer.json()["id"] for answer in made]
        alone = hot(services, ids, 0.0, options, faults)
        mix = hot(services, ids, 0.5, options, faults)
        failed_transactions(services, faults)
        for service in services:
            service.stop()
        added = []
        for number in range(options.databases):
            (service,) = started(options, place, server.database(), f"group{number}", 1)
            added.append(members(service, options.members))
            service.stop()
        slowest = max(seconds["blocks"], seconds["reversed"])
        if not is_slice and slowest > 1.5 * seconds["same"]:
            faults.append("imports in another order take more than 1.5 times as long")
        if not is_slice and (mix[0] < 0.5 * alone[0] or mix[1] > 50):
            faults.append("upserts slow down the writes of hot users")
        if not is_slice and max(added) > 0.6:
            faults.append("a group of a new database takes its members slowly")
        for fault in faults[:5]:
            print(fault)
        print("imports: " + ", ".join(f"{order} {it:.2f} s" for order, it in seconds.items()))
        print(f"PATCH alone {alone[0]:,.0f}/s, p99 {alone[1]:.0f} ms")
        print(f"half upserts {mix[0]:,.0f}/s, p99 {mix[1]:.0f} ms")
        print("members: " + ", ".join(f"{it:.2f} s" for it in sorted(added)))
        print(f"hot users: {len(faults)} faults")
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
