"""`roster events --follow` loses no event and shows none twice.

Writers change users all the time. The follower reads through a relay that is cut for some time: what
is sent disappears, and no connection is closed. The service is killed and started again; over
PostgreSQL its primary is killed too, and the standby that has all of its changes is promoted. At the
end the lines of the follower must be exactly the events of the log.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from former_primary import Host, head, of_all, ready, replayed, request, until
from service import Closed, Service, Workplace, arguments, free_port

WRITERS = 3


class Relay(threading.Thread):
    """Passes bytes between a port and an address, unless it is cut."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.port, self.is_cut = address, free_port(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", self.port))

    def run(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.pair, args=(near,), daemon=True).start()

    def pair(self, near):
        while self.is_cut.is_set():
            time.sleep(0.05)
        try:
            far = socket.create_connection(self.address, 10)
        except OSError:
            near.close()
            return
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            source.settimeout(None)
            while data := source.recv(1 << 16):
                # Neither side sees an error, and bytes in transit are lost.
                if self.is_cut.is_set():
                    return
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Writer(threading.Thread):
    """Creates users, and changes each once."""

    def __init__(self, service, number):
        super().__init__(daemon=True)
        self.service, self.number, self.done = service, number, threading.Event()

    def run(self):
        connection, count = self.service.connection(15.0), 0
        while not self.done.is_set():
            count += 1
            try:
                body = {"username": f"f{self.number}-{count}"}
                answer = connection.request("POST", "/users", body)
                if answer.status == 201:
                    path = f"/users/{answer.json()['id']}"
                    patch = {"Content-Type": "application/merge-patch+json"}
                    connection.request("PATCH", path, b'{"title":"x"}', patch)
            except (Closed, OSError):
                connection.close()
            time.sleep(0.02)


def identity(event):
    """What identifies an event: a failover gives the log another identity, and keeps its numbers."""
    return int(event["id"].partition("-")[2]), event["type"], event["subject"]


def whole_log(service):
    """All events."""
    found, after = [], ""
    while True:
        answer = request(service, "GET", f"/events?limit=1000{after}")
        items = answer.json()["items"]
        found += [identity(event) for event in items]
        if answer.json()["next_cursor"] is None:
            return found
        after = f"&after={items[-1]['id']}"


def follow(options, place, relay, log):
    """Starts the command. It begins with the first event."""
    command = [Path(options.binary).resolve(), "events", "--follow", "--after", f"{log}-0", "-o", "ndjson"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "ROSTER_URL": f":{relay.port}"}
    lines = open(place / "events.ndjson", "wb")
    return subprocess.Popen(
        [str(part) for part in command], stdout=lines, env=environment, cwd=place
    )


def fail_over(old, new, service):
    """The primary dies when its standby has all, and the standby takes over."""
    until("the standby follows", lambda: replayed(new, old))
    old.act("kill")
    new.act("promote")
    until("the service is ready", lambda: ready(service))


def disturb(options, service, relay, hosts):
    for turn in range(options.restarts):
        time.sleep(1)
        if turn % 2:
            service.stop()
        else:
            service.kill()
        service.start()
    if hosts:
        time.sleep(1)
        fail_over(*hosts, service)
    time.sleep(1)
    relay.is_cut.set()
    time.sleep(options.break_s)
    relay.is_cut.clear()
    time.sleep(1)


def compare(options, service, place, follower):
    expected = whole_log(service)
    path = place / "events.ndjson"

    def shown():
        return [identity(json.loads(line)) for line in path.read_bytes().splitlines()]

    # The request that was on its way when the network broke ends by its time limit.
    until("the follower is at the end", lambda: path.read_bytes().count(b"\n") >= len(expected), 120)
    time.sleep(1)
    follower.send_signal(2)
    if follower.wait(10) != 0:
        raise SystemExit(f"the follower exited {follower.returncode}")
    found = shown()
    if found != expected:
        lost, twice = set(expected) - set(found), len(found) - len(set(found))
        raise SystemExit(f"{len(lost)} events are lost, {twice} were shown twice")
    print(
        f"{len(found):,} events after {options.restarts} restarts"
        f"{', a failover' if options.engine == 'postgres' else ''} and a break of the network of"
        f" {options.break_s} s: none lost, none twice"
    )


def main():
    options = arguments(
        __doc__,
        engines=True,
        restarts=(6, 2, "restarts of the service"),
        break_s=(60, 3, "seconds for which the network is broken"),
    )
    with Workplace("cli-follow") as place:
        place.chmod(0o711)
        hosts = [Host(place, name) for name in ("old", "new")] if options.engine == "postgres" else []
        database = None
        try:
            if hosts:
                hosts[0].start()
                hosts[1].start(hosts[0])
                database = of_all(*hosts)
            base = ("--base-url", "http://127.0.0.1:8080")
            service = Service(options.binary, place / "data", None, database, base)
            service.start()
            relay = Relay(service.address)
            relay.start()
            log, number = head(service)
            if number:
                raise SystemExit(f"the log begins with {number} events")
            follower = follow(options, place, relay, log)
            writers = [Writer(service, number) for number in range(WRITERS)]
            for writer in writers:
                writer.start()
            try:
                disturb(options, service, relay, hosts)
                for writer in writers:
                    writer.done.set()
                for writer in writers:
                    writer.join(30)
                compare(options, service, place, follower)
            finally:
                follower.kill()
                follower.wait()
        finally:
            service.stop()
            for host in hosts:
                host.act("stop")


if __name__ == "__main__":
    sys.exit(main())
