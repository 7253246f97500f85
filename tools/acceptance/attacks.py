"""Requests that cost much, and floods without a request, harm no other caller.

Each attack loops from 16 connections. The service runs over SQLite on one core, everything else on
another. The attacks:

- `patches`: SCIM PATCH of 961 KB: 1,000 roles of 300 characters, and 780 operations whose value
  path has 40 tests.
- `additions`: SCIM PATCH of 185 KB: 500 operations that each add 20 values that are there.
- `lookups`: 80 ids and a filter of 64 tests, over records with 400 roles.
- `frames`, `slow-frames`: HTTP/2 frames that belong to no request (priorities, unknown types,
  windows, pings, settings), without a credential: at full speed, and at 10 MB/s.
- `frames-tls`, `slow-frames-tls`: the same over TLS (only in the full run).
- `filters`: filters of 62 terms that no index serves.
- `hang-ups`: filters of 4.7 KB over large records; the connection is closed at once.
- `groups`: SCIM groups of 19.8 MB.
- `imports`: 8 slow imports of four callers.

During each attack, health and every request of another caller must be served: a user, a list of 50,
a filter of one term and, during `imports`, an import. Its idle connections stay open. The full run
also requires: each response of `/livez` within 100 ms, a p99 of `GET /users/{id}` within 5 times its
value before, less than 256 MiB above idle, an idle processor a second after the attack, and an end
within the drain timeout of a SIGTERM during the attack.
"""

import itertools
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import quote

from held_memory import PREFACE, SETTINGS, WINDOW_UPDATE, again, before_others, chunk, create_key
from held_memory import frame, health, import_head, measured, probe, start
from service import Closed, Connection, Service, Workplace, arguments, percentile
from service import raise_open_files

CONNECTIONS = 16
LIVEZ_MS, P99_RATIO, ABOVE_IDLE_MIB, IDLE_CPU, DRAIN_S = 100.0, 5.0, 256.0, 0.1, 27.0
PRIORITY, PING, UNKNOWN = 2, 6, 0xF0
FLOODS = [
    frame(PRIORITY, 0, 3, b"\0\0\0\0\x10"),
    frame(UNKNOWN, 0, 0),
    frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
    frame(PING, 0, 0, b"12345678"),
    frame(SETTINGS, 0, 0),
]
SCIM = {"Content-Type": "application/scim+json"}
PATCH = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]


def bearer(key, more=()):
    return {"Authorization": f"Bearer {key}", **dict(more)}


def repeat(address, request):
    """Sends a request again and again, whatever the response is."""

    def work(end):
        connection = Connection(address, 30.0)
        try:
            while time.monotonic() < end:
                connection.request(*request)
        except Closed as error:
            raise OSError from error
        finally:
            connection.close()

    return work


def patches(address, facts):
    tests = " or ".join(f'value co "{number}x"' for number in range(40))
    roles = [{"value": f"{number}-".ljust(300, "r")} for number in range(1_000)]
    operations = [{"op": "add", "path": "roles", "value": roles}]
    operations += [{"op": "replace", "path": f"roles[{tests}].display", "value": "x"}] * 780
    return scim_patch(address, facts, "plain", operations)


def additions(address, facts):
    values = [[{"value": f"r{(20 * turn + n) % 400}"} for n in range(20)] for turn in range(500)]
    operations = [{"op": "add", "path": "roles", "value": value} for value in values]
    return scim_patch(address, facts, "roles", operations)


def scim_patch(address, facts, user, operations):
    body = json.dumps({"schemas": PATCH, "Operations": operations}).encode()
    path = f"/scim/v2/Users/{facts[user]}"
    return [repeat(address, ("PATCH", path, body, bearer(facts["key"], SCIM)))] * CONNECTIONS


def lookups(address, facts):
    ids = "&".join(f"id={user}" for user in facts["large"][:80])
    path = f"/users?{ids}&filter={contains('roles.value', 64)}"
    return [repeat(address, ("GET", path, None, bearer(facts["key"])))] * CONNECTIONS


def contains(member, terms, length=4):
    """A filter of so many terms that no record matches."""
    texts = (f"{number}".ljust(length, "z") for number in range(terms))
    return quote(" or ".join(f'{member} co "{text}"' for text in texts))


def filters(address, facts):
    path = f"/users?filter={contains('title', 62)}"
    return [repeat(address, ("GET", path, None, bearer(facts["key"])))] * CONNECTIONS


def hang_ups(address, facts):
    path = f"/users?filter={contains('roles.value', 60, 50)}"
    head = f"GET {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
    head += f"Authorization: Bearer {facts['key']}\r\n\r\n"

    def work(end):
        while time.monotonic() < end:
            with socket.create_connection(address, 10.0) as stream:
                stream.sendall(head.encode())
                time.sleep(0.005)

    return [work] * CONNECTIONS


def groups(address, facts):
    body = b'{"displayName":"many","x":[' + b",".join([b"1"] * 9_899_000) + b"]}"
    headers = bearer(facts["key"], SCIM)
    # A thread for each connection would need as many copies of the body.
    return [repeat(address, ("POST", "/scim/v2/Groups", body, headers))] * CONNECTIONS


def frames(address, _, bytes_per_s=None, tls=None):
    """One flood of each kind, on connections that are opened again when the service closes them."""

    def flood(one):
        part = one * (65_536 // len(one))

        def work(end):
            with socket.create_connection(address, 10.0) as plain:
                stream = tls.wrap_socket(plain, server_hostname="localhost") if tls else plain
                stream.sendall(PREFACE + frame(SETTINGS, 0, 0))
                while time.monotonic() < end:
                    stream.sendall(part)
                    if bytes_per_s:
                        time.sleep(len(part) / (bytes_per_s / CONNECTIONS))

        return work

    return [flood(one) for one in itertools.islice(itertools.cycle(FLOODS), CONNECTIONS)]


def imports(address, facts):
    """Dry runs at little more than the minimum speed."""
    line = json.dumps({"username": "a", "name": "x" * 600}).encode() + b"\n"

    def slow(key):
        def work(end):
            with socket.create_connection(address, 10.0) as stream:
                head = import_head(address, key).replace(b"/users ", b"/users?dry_run=true ")
                stream.sendall(head)
                while time.monotonic() < end:
                    stream.sendall(chunk(line))
                    time.sleep(0.5)

        return work

    return [slow(key) for key in facts["callers"] for _ in range(2)]


def attacks(tls):
    """All attacks by name."""
    found = {
        "patches": patches,
        "additions": additions,
        "lookups": lookups,
        "frames": frames,
        "slow-frames": lambda *args: frames(*args, bytes_per_s=10e6),
        "filters": filters,
        "hang-ups": hang_ups,
        "groups": groups,
        "imports": imports,
    }
    if tls:
        found["frames-tls"] = lambda *args: frames(*args, tls=tls)
        found["slow-frames-tls"] = lambda *args: frames(*args, bytes_per_s=10e6, tls=tls)
    return found


def attack(name, address, facts, seconds, tls):
    """One process of attackers."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    end = time.monotonic() + seconds
    work = attacks(tls)[name](address, facts)
    threads = [threading.Thread(target=again, args=(end, one), daemon=True) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 5)


def others(address, paths, key, seconds, results):
    """Requests of another caller, ten times a second in turn. Returns the responses but 200."""
    before_others()
    wrong, count, end = {}, 0, time.monotonic() + seconds
    for path in itertools.cycle(paths):
        if time.monotonic() >= end:
            break
        connection = Connection(address, 30.0)
        try:
            if path == "import":
                lines = b'{"username":"new"}\n'
                headers = bearer(key, {"Content-Type": "application/x-ndjson"})
                answer = connection.request("POST", "/bulk/users?dry_run=true", lines, headers)
            else:
                answer = connection.request("GET", path, headers=bearer(key))
            fault = None if answer.status == 200 else answer.status
        except (Closed, OSError) as error:
            fault = str(error)
        connection.close()
        count += 1
        if fault:
            wrong[f"{path} {fault}"] = wrong.get(f"{path} {fault}", 0) + 1
        time.sleep(0.1)
    results.put((count, wrong))


def fill(service, small):
    """Users, and the keys of the attackers and of the other caller."""
    connection = service.connect()
    lines = []
    for number in range(200 if small else 1_000):
        roles = [{"value": f"{number}-{role}".ljust(90, "r")} for role in range(400)]
        lines.append({"username": f"large{number}", "roles": roles})
    many = ({"username": f"u{number}", "title": f"title {number}"} for number in range(5_000))
    lines += [] if small else many
    lines += [{"username": "roles", "roles": [{"value": f"r{n}"} for n in range(400)]}]
    lines += [{"username": "plain"}, {"username": "ada", "name": "Ada Lovelace"}]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    answer = connection.request("POST", "/bulk/users", body, headers)
    results = [json.loads(line) for line in answer.body.splitlines()]
    if results[-1].get("failed") != 0:
        raise SystemExit(f"users: {results[-1]} {results[0]}")
    ids = {line["username"]: result["id"] for line, result in zip(lines, results)}
    admin = create_key(connection, "admin", ["users:read", "users:write", "keys:admin"])
    scopes = ["users:read", "users:write", "scim"]
    made = [create_key(connection, f"attacker {n}", scopes, admin) for n in range(4)]
    facts = {"key": made[0], "callers": made, "large": [], "plain": ids["plain"]}
    facts |= {"roles": ids["roles"]}
    facts["large"] = [user for name, user in ids.items() if name.startswith("large")]
    return facts, create_key(connection, "other", ["users:read", "users:write"], admin), ids["ada"]


def cpu_seconds(service):
    with open(f"/proc/{service.process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(name, service, filled, options, cores, tls=None):
    """Runs one attack. Returns what went wrong."""
    (facts, other, user), seconds, faults = filled, options.seconds, []
    address = service.address
    path = f"/users/{user}"
    paths = ["/users?limit=50", "/users?filter=" + quote('title eq "title 7"')]
    paths += ["import"] if name == "imports" else []
    idle_connections = [service.connect() for _ in range(5)]
    for connection in idle_connections:
        connection.request("GET", path, headers=bearer(other))
    measure = not options.slice and tls is None
    before = measured(probe, address, path, other, 3)()[0] if measure else [1.0]
    idle = service.memory()
    attackers = start(attack, name, address, facts, seconds, tls)
    waiting = []
    if tls is None:
        waiting = [measured(probe, address, path, other, seconds)]
        waiting += [measured(health, address, seconds), measured(others, address, paths, other, seconds)]
    highest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        highest = max(highest, service.memory() - idle)
        time.sleep(0.02)
    report = [f"memory at most {highest:.0f} MiB above idle"]
    if waiting:
        (taken, refused), (lived, dead), (count, wrong) = (wait() for wait in waiting)
        ratio = percentile(taken, 0.99) / max(percentile(before, 0.99), 0.001)
        report += [f"GET {len(taken)}, p99 {percentile(taken, 0.99):.1f} ms ({ratio:.1f} x)"]
        report += [f"/livez {len(lived)}, slowest {max(lived, default=0):.1f} ms; others {count}"]
        if refused or dead or wrong:
            faults.append(f"not served: {refused} {dead} {wrong}")
        if not options.slice and (max(lived) > LIVEZ_MS or ratio > P99_RATIO):
            faults.append("others had to wait")
    attackers.join(seconds + 30)
    attackers.kill()
    for connection in idle_connections:
        try:
            connection.request("GET", path, headers=bearer(other))
        except Closed as error:
            faults.append(f"an idle connection ended: {error}")
        connection.close()
    if not options.slice:
        time.sleep(1.0)
        used = cpu_seconds(service)
        time.sleep(1.0)
        used = cpu_seconds(service) - used
        report.append(f"processor afterwards {used:.2f}")
        if used > IDLE_CPU or highest > ABOVE_IDLE_MIB:
            faults.append("too much memory, or work after the attack")
        attackers, began = start(attack, name, address, facts, 60, tls), time.monotonic()
        time.sleep(2.0)
        began = time.monotonic()
        service.stop(60.0)
        took = time.monotonic() - began
        attackers.kill()
        report.append(f"SIGTERM {took:.1f} s")
        if took > DRAIN_S:
            faults.append("SIGTERM took too long")
        start_on(service, cores)
    print(f"{name}: {'; '.join(report)}", flush=True)
    return [f"{name}: {fault}" for fault in faults]


def start_on(service, cores):
    """Starts the service on the first core. Everything else runs on another."""
    os.sched_setaffinity(0, cores[:1])
    service.start(60.0)
    os.sched_setaffinity(0, cores[1:2] or cores)


def certificate(place):
    """TLS contexts for HTTP/1.1 and HTTP/2 that trust a new certificate, and the flags to use it."""
    files = [str(place / "tls.crt"), str(place / "tls.key")]
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    command = [*command.split(), "-addext", "subjectAltName=DNS:localhost"]
    command += ["-out", files[0], "-keyout", files[1]]
    subprocess.run(command, check=True, capture_output=True)
    http1, http2 = (ssl.create_default_context(cafile=files[0]) for _ in range(2))
    http2.set_alpn_protocols(["h2"])
    return http1, http2, ["--tls-certificate", files[0], "--tls-key", files[1]]


def main():
    options = arguments(__doc__, seconds=(20, 1, "how long each attack lasts"))
    raise_open_files()
    cores = sorted(os.sched_getaffinity(0))
    faults = []
    with Workplace("attacks") as place:
        # The list is public until there is a key; afterwards a start is known by health.
        service = Service(options.binary, place / "data")
        service.ready = "/livez"
        # A long attack is no reason to close an idle connection.
        service.flags = ["--idle-timeout-ms", "3600000"]
        start_on(service, cores)
        try:
            filled = fill(service, options.slice)
            for name in attacks(None):
                faults += run(name, service, filled, options, cores)
            if not options.slice:
                service.stop()
                service.tls, http2, flags = certificate(place)
                service.flags += flags
                start_on(service, cores)
                for name in ("frames-tls", "slow-frames-tls"):
                    faults += run(name, service, filled, options, cores, http2)
        finally:
            service.stop()
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
