"""50 restarts under load by handover: every request gets a response after at most one retry.

The command acts as the supervisor: it holds the listening socket and passes it to one process after
another, as systemd does. Every second time the successor is started first and waits until its
predecessor ends; the other times the predecessor ends before the successor is started. Meanwhile 8
writers and 8 readers keep connections, at full speed and with pauses, so that requests meet the
stop in every state. A request whose connection was closed is sent once more on a new one, a write
with the same Idempotency-Key. A new connection must always get a response, and a write that is sent
again must not have been executed before: a request that was read gets a response. At the end each
acknowledged write must be in the change log exactly once, and the records must be the acknowledged
ones.

With `--tls` everything uses TLS, so that handshakes meet the stop, too. Before each restart the
certificate is replaced, and the successor must use the new one.
"""

import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from audit import Fault, audit
from authority import Authority, ecdsa, pem, put, put_key
from engines import engine
from kill9_writers import Writer
from service import Closed, Workplace, arguments, percentile

WRITERS, READERS = 8, 8
# Passes the shell's standard input on as the first socket of a supervisor.
HAND_OVER = (
    'exec 3<&0 0</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http; exec "$@"'
)


class Certificates:
    """The service's certificate, which is replaced repeatedly."""

    def __init__(self, service, place):
        self.authority, self.service = Authority(place), service
        self.files = place / "tls.crt", place / "tls.key"
        service.flags = ("--tls-certificate", self.files[0], "--tls-key", self.files[1])
        service.tls = ssl.create_default_context(cafile=self.authority.path)
        self.replace()

    def replace(self):
        key = ecdsa()
        self.present = self.authority.certify(key)
        put(self.files[0], pem(self.present))
        put_key(self.files[1], key)

    def check(self):
        """Checks that a new connection gets the current certificate."""
        connection = self.service.connect()
        shown = connection.socket.getpeercert(True)
        connection.close()
        if pem(self.present) != ssl.DER_cert_to_PEM_cert(shown).encode():
            raise Fault("the successor shows the certificate of its predecessor")


class Supervisor:
    """Holds the socket, and the process that serves it."""

    def __init__(self, service, place):
        self.service, self.place, self.running = service, place, []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        service.address = self.socket.getsockname()
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(place / "notices"))
        self.notices.settimeout(60.0)

    def spawn(self):
        service = self.service
        command = ["sh", "-c", HAND_OVER, "sh", service.binary, "serve", "--data", service.data]
        command += ["--allow-open", "--database", service.database] if service.database else []
        command += service.flags
        environment = {**os.environ, "NOTIFY_SOCKET": str(self.place / "notices")}
        with open(service.log, "ab") as log:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=self.socket, stdout=log, stderr=log, env=environment,
            )  # fmt: skip
        self.running = [one for one in self.running if one.poll() is None] + [process]
        return process

    def end(self):
        """Ends the processes that remain after a fault."""
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()

    def wait_until(self, notice):
        while self.notices.recv(1024).decode().strip() != notice:
            pass

    def start(self):
        self.service.process = self.spawn()
        self.wait_until("READY=1")

    def restart(self, waiting):
        """One handover. Returns the seconds from the stop until the successor reports that it is
        ready.
        """
        before = self.service.process
        after = self.spawn() if waiting else None
        if waiting and self.service.database:
            # Over PostgreSQL a successor need not wait: both serve at the same time.
            self.wait_until("READY=1")
        elif waiting:
            time.sleep(0.1)
        began = time.monotonic()
        before.send_signal(signal.SIGTERM)
        try:
            code = before.wait(60.0)
        except subprocess.TimeoutExpired:
            raise Fault("SIGTERM did not end the service within 60 s") from None
        if code != 0:
            raise Fault(f"SIGTERM ended the service with {code}")
        if not waiting:
            self.held_on_disk()
        self.service.process = after or self.spawn()
        if not (waiting and self.service.database):
            self.wait_until("READY=1")
        return time.monotonic() - began

    def held_on_disk(self):
        """Between two processes the write-ahead log must be empty, with all data in the database.
        """
        log = self.service.data / "roster.db-wal"
        if self.service.database is None and log.exists() and log.stat().st_size:
            raise Fault(f"after a stop {log} holds {log.stat().st_size} bytes")


class Patient:
    """A keep-alive connection that sends a request again if it finds itself closed."""

    def __init__(self, load, name):
        self.load, self.name, self.chance = load, name, random.Random(f"{load.seed}/{name}")
        self.connection, self.number = load.service.connection(), 0
        self.answered = 0.0

    def request(self, method, path, body=None, headers=None):
        self.rest()
        self.number += 1
        if method != "GET":
            headers = {**(headers or {}), "Idempotency-Key": f'"{self.name}-{self.number}"'}
        began, kept = time.monotonic(), self.connection.socket is not None
        rested = None
        try:
            answer = self.connection.request(method, path, body, headers)
        except (Closed, OSError) as error:
            if not kept:
                raise Fault(f"{method} {path} on a new connection: {error!r}") from error
            rested = began - self.answered
            self.connection.close()
            try:
                answer = self.connection.request(method, path, body, headers)
            except (Closed, OSError) as error:
                raise Fault(f"{method} {path} again, on a new connection: {error!r}") from error
        if answer.headers.get("idempotent-replayed") == "true":
            raise Fault(f"{method} {path} had taken place, but was not answered")
        self.answered = time.monotonic()
        self.load.answered(method, self.answered - began, rested)
        return answer

    def rest(self):
        """Pauses randomly. Sometimes also closes the connection, so that the next request uses a
        new one.
        """
        chance = self.chance.random()
        if chance > 0.9:
            time.sleep(self.chance.uniform(0.05, 0.4))
        elif chance > 0.6:
            time.sleep(self.chance.uniform(0, 0.05))
        if self.chance.random() > 0.95:
            self.connection.close()


class KeyedWriter(Writer):
    """A writer whose requests have an Idempotency-Key each, until the load ends."""

    def __init__(self, load, number):
        super().__init__(load.service, number, load.seed)
        self.load = load

    def run(self):
        try:
            connection = Patient(self.load, f"writer{self.number}")
            while self.fault is None and not self.load.over.is_set():
                self.step(connection)
        except Exception as error:  # noqa: BLE001
            self.fault = f"writer {self.number}: {error!r}"


class Reader(threading.Thread):
    """Reads pages and single users until the load ends."""

    def __init__(self, load, number):
        super().__init__()
        self.load, self.number, self.fault = load, number, None

    def run(self):
        try:
            connection, paths = Patient(self.load, f"reader{self.number}"), ["/users?limit=20"]
            while not self.load.over.is_set():
                answer = connection.request("GET", paths[0])
                if answer.status not in (200, 404):
                    raise Fault(f"{paths[0]} was answered {answer}")
                if len(paths) > 1:
                    paths.pop(0)
                else:
                    paths = [f"/users/{user['id']}" for user in answer.json()["items"]] + paths
        except Exception as error:  # noqa: BLE001
            self.fault = f"reader {self.number}: {error!r}"


class Load:
    """All clients, and their results."""

    def __init__(self, service, seed):
        self.service, self.seed, self.over = service, seed, threading.Event()
        self.lock = threading.Lock()
        self.reads, self.writes, self.rests = 0, 0, []
        self.slowest_of_round = 0.0
        self.writers = [KeyedWriter(self, number) for number in range(WRITERS)]
        self.callers = self.writers + [Reader(self, number) for number in range(READERS)]

    def start(self):
        for caller in self.callers:
            caller.start()

    def answered(self, method, seconds, rested):
        """Counts a response. `rested` is how long a connection had been idle that was found closed.
        """
        with self.lock:
            self.reads += method == "GET"
            self.writes += method != "GET"
            self.rests += [] if rested is None else [rested]
            self.slowest_of_round = max(self.slowest_of_round, seconds)

    def round(self):
        """The slowest request since the last call, in milliseconds."""
        with self.lock:
            slowest, self.slowest_of_round = self.slowest_of_round, 0.0
        return slowest * 1000

    def stop(self):
        self.over.set()
        for caller in self.callers:
            caller.join()

    def check(self):
        for caller in self.callers:
            if caller.fault:
                raise Fault(caller.fault)


def held(store, load):
    """Each acknowledged write is in the log once, and the records are the acknowledged ones."""
    service = load.service
    connection = service.connect()
    for writer in load.writers:
        if fault := writer.verify(connection):
            raise Fault(fault)
    connection.close()
    if code := service.stop():
        raise Fault(f"SIGTERM ended the service with {code}")
    stored = audit(store, service)
    entries = [entry for writer in load.writers for entry in writer.entries.items()]
    if stored.keys() != {user for user, entry in entries if entry.record}:
        raise Fault("the stored users are not those that were acknowledged")
    acknowledged = sum(writer.acknowledged for writer in load.writers)
    ((events,),) = store.rows(service, "SELECT count(*) FROM events")
    if events != acknowledged:
        raise Fault(f"{acknowledged} writes were acknowledged, the log holds {events}")


def run(options, store, place):
    chance = random.Random(options.seed)
    service = store.service(options.binary, place / "data", place / "service.log")
    certificates = Certificates(service, place) if options.tls else None
    supervisor = Supervisor(service, place)
    load, pauses, handovers = Load(service, options.seed), [], []
    try:
        supervisor.start()
        load.start()
        time.sleep(1.0)
        undisturbed = load.round()
        for number in range(options.restarts):
            if certificates:
                certificates.replace()
            handovers.append(supervisor.restart(waiting=number % 2 == 0) * 1000)
            if certificates:
                certificates.check()
            time.sleep(chance.uniform(0.2, 0.7))
            pauses.append(load.round())
            load.check()
        load.stop()
        load.check()
        held(store, load)
    finally:
        load.over.set()
        supervisor.end()
    shortest = f", after {min(load.rests) * 1000:.0f} ms of rest or more" if load.rests else ""
    print(
        f"handover ({kind(options)}): {options.restarts} restarts, {load.reads:,} reads and "
        f"{load.writes:,} writes, all answered; {len(load.rests)} by one retry on a new "
        f"connection{shortest}; from stop to ready p50 "
        f"{percentile(handovers, 0.5):.0f} ms, longest {max(handovers):.0f} ms; longest request "
        f"of a restart p50 {percentile(pauses, 0.5):.0f} ms, of all {max(pauses):.0f} ms "
        f"(undisturbed {undisturbed:.0f} ms)"
    )


def kind(options):
    return f"{options.engine}, TLS" if options.tls else options.engine


def main():
    tls = ("tls", "over TLS")
    options = arguments(__doc__, engines=True, switches=[tls], restarts=(50, 6, "restarts"))
    os.umask(0o077)
    with Workplace("handover") as place, engine(options) as store:
        try:
            run(options, store, place)
        except Fault as fault:
            print(f"handover ({kind(options)}): {fault}")
            sys.exit(1)


if __name__ == "__main__":
    main()
