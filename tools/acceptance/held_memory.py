"""Clients that make the service use memory harm neither the service nor other clients.

At the same time, for a minute: 50 HTTP/2 connections with 100 requests each that read no response,
or 3 KB every 2 s; 2 HTTP/2 connections with 100 unfinished bodies of 1 MB each; 4 connections that
send bodies of 1 MiB full of unknown members and bad addresses; 2 imports of such lines that read no
result; 8 imports of blank lines at 1 KiB/s. The attackers have a key that may write.

Meanwhile the service's anonymous memory stays below 256 MiB above idle, a client with another key
gets no 503, and health requests get responses. The full run also requires that the p99 of that
client's `GET /users/{id}` is at most 5 times its value before, and each response of `/livez` takes
at most 100 ms. The service is pinned to one core, everything else to another.
"""

import json
import multiprocessing
import os
import socket
import struct
import sys
import threading
import time

from service import Closed, Connection, Service, Workplace, arguments, percentile
from service import raise_open_files

ABOVE_IDLE_MIB = 256.0
P99_RATIO = 5.0
LIVEZ_MS = 100.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_STREAM, END_HEADERS = 1, 4
FRAME_BYTES_MAX = 16_384
ADMIN = ["users:read", "keys:admin", "metrics:read"]
QUERY = "/?" + "a&" * 7_900


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value):
    """An HPACK string, with its length in a prefix of seven bits (RFC 7541 section 5.1)."""
    length, out = len(value), bytearray()
    if length < 127:
        return bytes([length]) + value.encode()
    out.append(127)
    length -= 127
    while length >= 128:
        out.append(length % 128 + 128)
        length //= 128
    out.append(length)
    return bytes(out) + value.encode()


def headers(method, path, address, *more):
    fields = [(":method", method), (":scheme", "http"), (":path", path)]
    fields += [(":authority", f"{address[0]}:{address[1]}"), *more]
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def http2(address, settings=b""):
    """An HTTP/2 connection that begins with these settings."""
    stream = socket.create_connection(address, 10.0)
    stream.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
    return stream


def again(end, work):
    """Repeats the work whenever its connection ends."""
    while time.monotonic() < end:
        try:
            work(end)
        except OSError:
            time.sleep(0.01)


def until_closed(stream, end, every=0.5, then=lambda: None):
    """Reads until the peer closes."""
    stream.settimeout(every)
    while time.monotonic() < end:
        try:
            if not stream.recv(1 << 16):
                return
        except TimeoutError:
            then()


def unread(address, number):
    """100 requests whose responses are not read."""

    def work(end):
        closed_window = struct.pack(">HI", 4, 0)
        with http2(address, closed_window) as stream:
            for request in range(100):
                path = [QUERY, "/docs", "/openapi.json"][request % 3 if number % 2 else 0]
                block = headers("GET", path, address)
                stream.sendall(frame(HEADERS, END_STREAM | END_HEADERS, 2 * request + 1, block))
            last = [0.0]

            def sip():
                if number % 2 and time.monotonic() - last[0] > 2.0:
                    last[0] = time.monotonic()
                    more = struct.pack(">I", 3_000)
                    stream.sendall(frame(WINDOW_UPDATE, 0, 0, more) + frame(WINDOW_UPDATE, 0, 1, more))

            until_closed(stream, end, then=sip)

    return work


def unfinished(address, key):
    """100 bodies of 1 MB that do not end."""
    fields = [("content-type", "application/json"), ("authorization", f"Bearer {key}")]

    def work(end):
        with http2(address) as stream:
            for request in range(100):
                block = headers("POST", "/users", address, *fields)
                stream.sendall(frame(HEADERS, END_HEADERS, 2 * request + 1, block))
            sent, part = 0, b'{"name":"' + b"x" * 8_000
            stream.settimeout(1.0)
            while time.monotonic() < end and sent < 1_000_000:
                # The flow-control windows are ignored. The service disconnects a client that
                # exceeds them.
                for request in range(100):
                    stream.sendall(frame(DATA, 0, 2 * request + 1, part[:8_000]))
                sent += 8_000
                time.sleep(0.05)
            until_closed(stream, end)

    return work


def bad_bodies():
    """Two bodies of 1 MiB with as many errors as possible."""
    members = ",".join(f'"a{number}":1' for number in range(100_000))
    return [
        f"{{{members[:1_040_000].rsplit(',', 1)[0]}}}".encode(),
        b'{"emails":[' + b",".join([b"1"] * 520_000) + b"]}",
    ]


def faults(address, key):
    """Bodies with as many errors as possible, one after another."""
    bodies = bad_bodies()

    def work(end):
        connection = Connection(address, 30.0)
        try:
            while time.monotonic() < end:
                for body in bodies:
                    connection.request("POST", "/users", body, {"Authorization": f"Bearer {key}"})
        except Closed as error:
            raise OSError from error
        finally:
            connection.close()

    return work


def import_head(address, key):
    return (
        f"POST /bulk/users HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
        f"Authorization: Bearer {key}\r\n"
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()


def chunk(content):
    return b"%x\r\n%s\r\n" % (len(content), content)


def faulty_lines(address, key):
    """An import of lines with as many errors as possible, whose results are not read."""
    line = b'{"emails":[' + b",".join([b"1"] * 30_000) + b"]}\n"

    def work(end):
        with socket.create_connection(address, 10.0) as stream:
            stream.sendall(import_head(address, key))
            for _ in range(140):
                stream.sendall(chunk(line))
            until_closed(stream, end, then=lambda: stream.sendall(chunk(line)))

    return work


def blank_lines(address, key):
    """An import of blank lines at 1 KiB/s."""

    def work(end):
        with socket.create_connection(address, 10.0) as stream:
            stream.sendall(import_head(address, key))
            stream.settimeout(5.0)
            until_closed(stream, end, 0.5, lambda: stream.sendall(chunk(b"\n" * 640)))

    return work


def attack(kind, address, key, seconds):
    """One process of attackers."""
    os.nice(10)
    end = time.monotonic() + seconds
    work = {
        "unread": [unread(address, number) for number in range(50)],
        "unfinished": [unfinished(address, key) for _ in range(2)],
        "faults": [faults(address, key) for _ in range(4)],
        "imports": [faulty_lines(address, key) for _ in range(2)]
        + [blank_lines(address, key) for _ in range(8)],
    }[kind]
    threads = [threading.Thread(target=again, args=(end, one)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def probe(address, path, key, seconds, results):
    """GETs of one user, 200 per second. Returns the milliseconds of each, and the responses other
    than 200.
    """
    before_others()
    connection, taken, wrong = Connection(address, 30.0).open(), [], {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            status = connection.request("GET", path, headers={"Authorization": f"Bearer {key}"}).status
        except Closed as error:
            status = str(error)
        taken.append((time.monotonic() - began) * 1000)
        if status != 200:
            wrong[status] = wrong.get(status, 0) + 1
        time.sleep(0.005)
    results.put((taken, wrong))


def health(address, seconds, results):
    """Requests `/livez` on a new connection ten times a second. Returns milliseconds and failures.
    """
    before_others()
    taken, wrong, end = [], {}, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            connection = Connection(address, 10.0)
            status = connection.request("GET", "/livez").status
            connection.close()
        except (Closed, OSError) as error:
            status = str(error)
        taken.append((time.monotonic() - began) * 1000)
        if status != 200:
            wrong[status] = wrong.get(status, 0) + 1
        time.sleep(0.1)
    results.put((taken, wrong))


def before_others():
    """Raises this process's priority, so that it measures the service and not the time that it
    waits for attackers on the same core. Only root may do so.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass


def start(target, *args):
    process = multiprocessing.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def measured(target, *args):
    """Starts a measuring process. Returns a function that waits for its result."""
    results = multiprocessing.Queue()
    process = start(target, *args, results)

    def found():
        result = results.get(timeout=args[-1] + 60)
        process.join()
        return result

    return found


def create_key(connection, name, scopes, key=None):
    authorization = {"Authorization": f"Bearer {key}"} if key else None
    answer = connection.request("POST", "/keys", {"name": name, "scopes": scopes}, authorization)
    if answer.status != 201:
        raise SystemExit(f"a key: {answer}")
    return answer.json()["key"]


def metric(connection, name, key):
    page = connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
    lines = page.body.decode().splitlines()
    return next((line.split()[-1] for line in lines if line.startswith(name + " ")), "none")


def main():
    options = arguments(__doc__, seconds=(60, 6, "how long the attack lasts"))
    raise_open_files()
    cores = sorted(os.sched_getaffinity(0))
    failed = []
    with Workplace("held_memory") as place:
        service = Service(options.binary, place / "data")
        os.sched_setaffinity(0, cores[:1])
        service.start()
        os.sched_setaffinity(0, cores[1:2] or cores)
        try:
            connection = service.connect()
            user = connection.request("POST", "/users", {"username": "ada", "name": "Ada Lovelace"})
            path = user.headers["location"]
            admin = create_key(connection, "admin", ADMIN)
            attacker = create_key(connection, "attacker", ["users:read", "users:write"], admin)
            address = service.address
            before, _ = measured(probe, address, path, admin, max(3, options.seconds // 6))()
            idle = service.memory()
            attackers = [
                start(attack, kind, address, attacker, options.seconds)
                for kind in ("unread", "unfinished", "faults", "imports")
            ]
            asked = measured(probe, address, path, admin, options.seconds)
            alive = measured(health, address, options.seconds)
            highest, end = 0.0, time.monotonic() + options.seconds
            while time.monotonic() < end:
                highest = max(highest, service.memory())
                time.sleep(0.02)
            (during, refused), (lived, dead) = asked(), alive()
            for process in attackers:
                process.join(30)
            names = ("memory_refusals_total", "memory_resets_total", "connections_slow_read_total")
            fresh = service.connect()
            counted = {name: metric(fresh, f"roster_{name}", admin) for name in names}
            time.sleep(1.0)
            after = service.memory()
        finally:
            service.stop()
        ratio = percentile(during, 0.99) / max(percentile(before, 0.99), 0.001)
        print(
            f"memory: idle {idle:.0f} MiB, at most {highest - idle:.0f} MiB above, "
            f"{after - idle:.0f} MiB above afterwards; {json.dumps(counted)}\n"
            f"GET /users/{{id}}: {len(during)}, p99 {percentile(before, 0.99):.2f} ms before, "
            f"{percentile(during, 0.99):.2f} ms during ({ratio:.1f} x), not 200: {refused}\n"
            f"/livez: {len(lived)}, slowest {max(lived):.1f} ms, not 200: {dead}"
        )
        if highest - idle >= ABOVE_IDLE_MIB:
            failed.append(f"memory rose by {highest - idle:.0f} MiB")
        if refused or dead or not during or not lived:
            failed.append("a caller with its own key, or health, was refused")
        if not options.slice and (ratio > P99_RATIO or max(lived) > LIVEZ_MS):
            failed.append("a caller with its own key, or health, had to wait")
    for fault in failed:
        print(fault)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
