"""Slow connections are closed, and other clients are not affected.

1,000 connections send a head byte by byte, then 1,000 send a body byte by byte, then 1,000 do not
read the long responses that they requested. The service must close each within 15 s of its opening.
Meanwhile a separate process reads one user over 4 connections at a moderate fixed rate; its p99
must stay below 50 ms.
"""

import json
import multiprocessing
import selectors
import socket
import sys
import time

from service import Closed, Connection, Service, Workplace, arguments, encode, percentile
from service import raise_open_files

CLOSED_WITHIN_S = 15.0
PROBE_P99_MS = 50.0
GIVE_UP_S = 25.0
OPENED_PER_S = 400
PROBES_PER_S = 50
# A realistic segment size. With loopback's default the kernel buffers megabytes.
SEGMENT_BYTES = 1400
ESTABLISHED = "01"
# Users on a page that is not read: about 200 KB, more than the buffers of the two sockets.
PAGE = 200


class Slow:
    """One slow connection: the bytes that it still has to send, and the times of its opening and
    end.
    """

    def __init__(self, address, kind, number):
        self.kind, self.opened, self.closed, self.got = kind, time.monotonic(), None, b""
        self.socket = socket.socket()
        if kind == "read":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
        self.socket.connect(address)
        self.port = self.socket.getsockname()[1]
        self.socket.setblocking(False)
        host = f"Host: {address[0]}:{address[1]}\r\n"
        if kind == "head":
            self.socket.send(b"GET /users?limit=1 HTTP/1.1\r\n")
            self.rest = host.encode() + b"X-Slow: " + b"s" * 400
        elif kind == "body":
            body = encode({"email": f"slow{number}@example.com", "name": "s" * 200})
            head = f"POST /users HTTP/1.1\r\n{host}Content-Type: application/json\r\n"
            self.socket.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
            self.rest = body
        else:
            self.rest = b""
            self.socket.send(f"GET /users?limit={PAGE} HTTP/1.1\r\n{host}\r\n".encode() * 8)
        # Every second connection that does not read responses reads a few bytes from time to time.
        self.sips = kind == "read" and number % 2 == 0

    def drip(self):
        """Sends one byte, or reads a few bytes. An error is the end of the connection."""
        try:
            if self.rest:
                self.socket.send(self.rest[:1])
                self.rest = self.rest[1:]
            elif self.sips:
                self.socket.recv(32)
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def hear(self):
        try:
            data = self.socket.recv(4096)
            self.got += data
            if not data:
                self.close()
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def close(self):
        self.closed = self.closed or time.monotonic()


def run(address, kind, count):
    """Opens `count` connections and sends slowly until the service has closed all. Returns them."""
    selector, slow, next_drip = selectors.DefaultSelector(), [], time.monotonic()
    began = time.monotonic()
    while True:
        now = time.monotonic()
        while len(slow) < min(count, (now - began) * OPENED_PER_S):
            one = Slow(address, kind, len(slow))
            slow.append(one)
            if kind != "read":
                selector.register(one.socket, selectors.EVENT_READ, one)
        # On some systems a selector without entries returns at once.
        for key, _ in selector.select(0.05) if selector.get_map() else [time.sleep(0.05)][:0]:
            key.data.hear()
        if now >= next_drip:
            next_drip = now + 1.0
            held = established(address[1]) if kind == "read" else None
            for one in slow:
                if one.closed is None:
                    one.drip()
                    # A client that does not read cannot see the end, so the service's sockets are
                    # checked.
                    if held is not None and one.port not in held and now - one.opened > 1.0:
                        one.close()
        for one in slow:
            if one.closed and one.socket.fileno() >= 0:
                if kind != "read":
                    selector.unregister(one.socket)
                one.socket.close()
        open_ones = [one for one in slow if one.closed is None]
        if len(slow) == count and (not open_ones or now - slow[-1].opened > GIVE_UP_S):
            for one in open_ones:
                one.socket.close()
            return slow


def established(port):
    """The client ports whose connection the service still has open."""
    held = set()
    with open("/proc/net/tcp", encoding="ascii") as table:
        next(table)
        for line in table:
            local, remote, state = line.split()[1:4]
            if state == ESTABLISHED and int(local.split(":")[1], 16) == port:
                held.add(int(remote.split(":")[1], 16))
    return held


def probe(address, path, stop, results):
    """GETs at a fixed rate over 4 connections in turn. A late request counts from its due time."""
    connections = [Connection(address, 30.0).open() for _ in range(4)]
    taken, wrong, due = [], 0, time.monotonic()
    while not stop.is_set():
        due += 1 / PROBES_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            answer = connections[len(taken) % 4].request("GET", path)
            wrong += answer.status != 200
        except (Closed, OSError):
            wrong += 1
        taken.append((time.monotonic() - due) * 1000)
    results.put((taken, wrong))


class Prober:
    """The process that probes, so that the loop of this process does not disturb it."""

    def __init__(self, address, path):
        self.stop, self.results = multiprocessing.Event(), multiprocessing.Queue()
        work = (address, path, self.stop, self.results)
        self.process = multiprocessing.Process(target=probe, args=work, daemon=True)
        self.process.start()

    def finish(self):
        self.stop.set()
        taken, wrong = self.results.get(timeout=60)
        self.process.join()
        return taken, wrong


def seed(service):
    """Creates enough users for long responses. Returns the path of one of them."""
    connection, path = service.connect(), None
    for number in range(PAGE + 1):
        body = {"email": f"user{number}@example.com", "attributes": {"text": "t" * 800}}
        answer = connection.request("POST", "/users", body)
        if answer.status != 201:
            raise SystemExit(f"seeding: {answer}")
        path = answer.headers["location"]
    connection.close()
    return path


def resident_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) / 1024


def judge(kind, slow, taken, wrong):
    """Prints the results of one kind of connections. Returns the errors."""
    lasted = [(one.closed or float("inf")) - one.opened for one in slow]
    statuses = {}
    for one in slow:
        status = one.got[9:12].decode("latin-1") or "none"
        statuses[status] = statuses.get(status, 0) + 1
    p99, slowest = percentile(taken, 0.99), max(taken)
    print(
        f"slow {kind}: {len(slow)} connections, closed after {percentile(lasted, 0.5):.1f} s "
        f"(median), {max(lasted):.1f} s (last), answered {json.dumps(statuses)}; "
        f"{len(taken)} probes, p50 {percentile(taken, 0.5):.2f} ms, p99 {p99:.2f} ms, "
        f"slowest {slowest:.1f} ms",
        flush=True,
    )
    faults = []
    if late := [seconds for seconds in lasted if seconds > CLOSED_WITHIN_S]:
        faults.append(f"slow {kind}: {len(late)} connections lasted over {CLOSED_WITHIN_S:.0f} s")
    if answered := [status for status in statuses if status.startswith("2")]:
        faults.append(f"slow {kind}: some were answered {answered}")
    if wrong or p99 >= PROBE_P99_MS:
        faults.append(f"slow {kind}: the probe's p99 was {p99:.1f} ms, {wrong} probes failed")
    return faults


def main():
    options = arguments(__doc__, connections=(1000, 100, "connections of each kind"))
    files = raise_open_files()
    if files < options.connections + 200:
        raise SystemExit(f"at most {files} open files are allowed here")
    faults = []
    with Workplace("slow") as place:
        service = Service(options.binary, place / "data")
        service.start()
        try:
            path = seed(service)
            for kind in ("head", "body", "read"):
                prober = Prober(service.address, path)
                slow = run(service.address, kind, options.connections)
                faults += judge(kind, slow, *prober.finish())
            print(f"resident memory afterwards: {resident_mib(service.process.pid):.0f} MiB")
        finally:
            service.stop()
        for fault in faults:
            print(fault)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
