"""Mirrors by webhooks are exact, although the service and the receiver are killed again and again.

In two tenants 4 writers make mixed changes. Each tenant has a webhook with one event a request and
one with up to 100, and there is one for all tenants. The receiver fails 30% of all requests: it
answers 503, or closes the connection before or after it has stored the events. In 10 rounds changes
are made and then the service and the receiver are killed with kill -9 while requests are on their
way, over PostgreSQL one of three processes. Over PostgreSQL the database stops in the end for longer
than a lease to send is used, twice, with events that are not delivered yet, and one process goes on.

At the end each webhook must have delivered exactly the events of its log, in order, and the users
that they lead to must be the collection. An event may arrive twice only after an attempt whose
answer was lost: the connection was cut, the receiver was killed, or a service was killed before it
stored the progress of its last seconds. A receiver that forgets everything gets it again by a replay.
"""

import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import postgres
from engines import engine
from follow_events import everything, log_again
from follow_stream import number, replay
from mixed_writers import MixedWriter
from service import Service, Workplace, arguments, free_port
from stream_readers import run
from tenants_client import Tenant, conclude, expect, import_users, operator
from webhook_receiver import ANSWERED, UNANSWERED

TENANTS = 2
WRITERS = 4
FLAGS = ("--webhook-networks", "127.0.0.1/32")
# The service stores the progress every second.
UNSAVED_SECONDS = 2.5
# How long after its arrival the receiver notes a request at most; its sender may be gone then.
TO_NOTE_SECONDS = 0.5
TO_ANSWER_SECONDS = 1.0
# A lease is used for 20 s.
STOPPED_SECONDS = 23
# So many that they are not delivered when the database stops.
IMPORTED = 600


class Receiver:
    """The receiver of all webhooks, which is killed and started again."""

    def __init__(self, place, seed):
        self.file, self.port, self.starts = place / "receiver.db", free_port(), itertools.count()
        self.seed, self.kills, self.secrets, self.process = seed, [], {}, None

    def start(self, failing=0.3):
        self.file.with_suffix(".json").write_text(json.dumps(self.secrets))
        program = Path(__file__).with_name("webhook_receiver.py")
        seed = f"{self.seed}/{next(self.starts)}"
        command = [sys.executable, str(program), str(self.port), str(self.file), seed, str(failing)]
        self.process = subprocess.Popen(command)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.kills.append(time.time())

    def rows(self, webhook):
        """The events that arrived and their times and fates, in the order of their arrival."""
        sql = "SELECT event, content, at, fate FROM arrivals WHERE webhook = ? ORDER BY rowid"
        with sqlite3.connect(self.file) as database:
            return database.execute(sql, (webhook,)).fetchall()

    def forget(self, webhook):
        with sqlite3.connect(self.file) as database:
            database.execute("DELETE FROM arrivals WHERE webhook = ?", (webhook,))


class Webhook:
    """A webhook of a tenant, and what it has delivered."""

    def __init__(self, tenant, receiver, name, **members):
        self.tenant, self.receiver, self.name = tenant, receiver, name
        url = f"http://127.0.0.1:{receiver.port}/{name}"
        made = tenant.made("/webhooks", {"name": name, "url": url, **members})
        self.path, self.start = f"/webhooks/{made['id']}", made["position"]
        receiver.secrets[name] = made["secret"]

    def now(self):
        connection = self.tenant.connection(10.0)
        now = connection.request("GET", self.path).json()
        connection.close()
        expect(now["status"] == "active", f"the webhook {self.name} is {now}")
        return now

    def delivered(self, kills):
        """Its events in the order of their first arrival, and how many arrived twice."""
        events, last, twice = {}, {}, 0
        for event, content, at, fate in self.receiver.rows(self.name):
            if fate not in (UNANSWERED, ANSWERED):
                continue
            if event in events:
                twice += 1
                before, its_fate = last[event]
                expect(
                    its_fate == UNANSWERED or was_lost(before, at, kills, self.receiver.kills),
                    f"{self.name}: {event} was received at {before}, and came again at {at}",
                )
            events.setdefault(event, json.loads(content))
            last[event] = (at, fate)
        return list(events.values()), twice


def was_lost(answered, again, kills, of_receiver):
    """Whether the service may not have stored that an event was received."""
    of_service = any(
        answered - TO_NOTE_SECONDS <= kill <= min(again, answered + UNSAVED_SECONDS)
        for kill in kills
    )
    return of_service or any(
        answered <= kill <= min(again, answered + TO_ANSWER_SECONDS) for kill in of_receiver
    )


class Writer(threading.Thread):
    """Makes some of the changes of a round, through one process."""

    def __init__(self, writer, tenant, changes):
        super().__init__(daemon=True)
        self.writer, self.tenant, self.changes, self.fault = writer, tenant, changes, None

    def run(self):
        try:
            connection = self.tenant.connect()
            for _ in range(self.changes):
                self.writer.step(connection)
                expect(not self.writer.fault, self.writer.fault)
            connection.close()
        except Exception as error:  # noqa: BLE001
            self.fault = repr(error)


def write(writers, services, changes, chance):
    """Makes changes through all processes."""
    threads = []
    for writer, tenant in writers:
        door = Tenant(chance.choice(services), tenant.name, tenant.key)
        threads.append(Writer(writer, door, changes // len(writers)))
    run(threads)


def stop_database(url):
    """Stops the server of a database for a time, with all its connections."""
    sessions = postgres.backends(url)
    server = int(Path(f"/proc/{min(sessions)}/stat").read_text().rpartition(")")[2].split()[1])
    for process in (server, *sessions):
        os.kill(process, signal.SIGSTOP)
    try:
        time.sleep(STOPPED_SECONDS)
    finally:
        for process in (server, *sessions):
            os.kill(process, signal.SIGCONT)


def wait(webhooks, within):
    end = time.monotonic() + within
    while late := [now for webhook in webhooks if (now := webhook.now())["lag"]]:
        expect(time.monotonic() < end, f"not delivered within {within} s: {late}")
        time.sleep(0.2)


def compare(webhook, log, kills):
    """Compares what a webhook has delivered with the log. Returns how many events came twice."""
    events, twice = webhook.delivered(kills)
    _, purged = replay_all(log)
    expect(
        [event["id"] for event in events] == [event["id"] for event in log],
        f"{webhook.name} has delivered {len(events)} events, the log has {len(log)}",
    )
    for event, now in zip(events, log):
        # Each process has a base URL of its own. A purge may have emptied an event.
        same = {**event, "source": now["source"]} == now or now["data"]["user_id"] in purged
        expect(same, f"{webhook.name}: {event} is {now} in the log")
    return events, twice


def replay_all(log):
    """The users of all tenants after these events, and the ids of purged ones."""
    live, purged = {}, set()
    for tenant in {event["tenant"] for event in log}:
        users, gone = replay([event for event in log if event["tenant"] == tenant])
        live, purged = live | users, purged | gone
    return live, purged


def main():
    options = arguments(
        __doc__,
        engines=True,
        changes=(1_600, 96, "changes to make"),
        rounds=(10, 2, "kills of each side"),
    )
    chance, began, kills = random.Random(options.seed), time.monotonic(), []
    with Workplace("webhook-mirror") as place, engine(options) as store:
        first = store.service(options.binary, place / "data0")
        others = [
            Service(options.binary, place / f"data{n}", None, first.database)
            for n in (1, 2)
            if first.database
        ]
        services, receiver = [first, *others], Receiver(place, options.seed)
        try:
            for service in services:
                service.ready, service.flags = "/readyz", FLAGS
                service.start()
            chief = operator(first)
            tenants = [chief.tenant(f"customer-{n}") for n in range(TENANTS)]
            single = [Webhook(t, receiver, f"single-{t.name}") for t in tenants]
            batches = [Webhook(t, receiver, f"batch-{t.name}", batch_max=100) for t in tenants]
            whole = Webhook(chief, receiver, "whole", batch_max=100, tenants="all")
            webhooks = [*single, *batches, whole]
            receiver.start()
            writers = [
                (MixedWriter(t, n, f"{options.seed}/{t.name}"), t)
                for t in tenants
                for n in range(WRITERS // TENANTS)
            ]
            # Each process has seen the keys once it has checked its keys again.
            time.sleep(1.1)
            for _ in range(options.rounds):
                write(writers, services, options.changes // options.rounds, chance)
                time.sleep(chance.uniform(0, 2))
                victim = chance.choice(services)
                victim.kill()
                kills.append(time.time())
                time.sleep(chance.uniform(0, 0.5))
                victim.start()
                time.sleep(chance.uniform(0, 2))
                receiver.kill()
                time.sleep(chance.uniform(0, 0.5))
                receiver.start()
            if others and not options.slice:
                # Another process would take the lease, and a request that failed is not repeated soon.
                for service in others:
                    service.stop()
                receiver.kill()
                receiver.start(failing=0.0)
                wait(webhooks, 60 + options.changes * 2)
                connection = tenants[0].connect(60.0)
                for stop in range(2):
                    users = [{"username": f"stop-{stop}-{n}"} for n in range(IMPORTED)]
                    import_users(connection, "", users)
                    stop_database(first.database)
                connection.close()
            written = time.monotonic() - began
            wait(webhooks, 60 + options.changes * 2)
            # An event that comes twice would come now.
            time.sleep(1.5)
            took = time.monotonic() - began
            logs, twice = [], 0
            for tenant, *its in zip(tenants, single, batches):
                connection = tenant.connect(60.0)
                logs.append(log_again(connection))
                stored = {user["id"]: user for user in everything(connection, "/users")}
                connection.close()
                for webhook in its:
                    events, again = compare(webhook, logs[-1], kills)
                    twice += again
                    live, _ = replay(events)
                    expect(live == stored, f"{webhook.name}: the collection differs")
            in_order = sorted((event for log in logs for event in log), key=number)
            twice += compare(whole, in_order, kills)[1]
            receiver.forget(batches[0].name)
            batches[0].tenant.made(f"{batches[0].path}/replay", {"after": batches[0].start}, 200)
            wait(batches[:1], 120)
            compare(batches[0], logs[0], kills)
        finally:
            if receiver.process:
                receiver.kill()
            for service in services:
                if service.process and service.process.poll() is None:
                    service.stop()
            store.discard(first)
    print(
        f"webhook mirror ({options.engine}): {len(in_order):,} changes in {written:.0f} s with"
        f" {len(kills)} kills of each side; {len(webhooks)} webhooks are exact after {took:.0f} s;"
        f" {twice} events came twice, each after an answer that was lost"
    )


if __name__ == "__main__":
    conclude("webhook_mirror", main)
