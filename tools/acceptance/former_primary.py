"""After a failover no process uses the former primary, and the log says which events are lost.

Three processes have the URL of a primary and its standby. The standby is cut off, the primary takes
more writes and is killed, and the standby is promoted: these last events are lost. Of the positions
of the former log exactly those up to the standby's last one must be valid. Then the former primary is
started again, writable, while each process is restarted many times under load: not one write may go
to it. When only the former primary is left, `/readyz` and a metric must say so. At last another
standby takes over without a loss, and every position must stay valid.

A mirror follows the log all the time by requests that wait, and starts again from an export after a
410. It must equal the collection at the end.
"""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit, urlunsplit

import psycopg

from postgres import SCRIPT, connect
from service import Closed, Service, Workplace, arguments

PROCESSES, WRITERS = 3, 6


class Host:
    """A cluster of its own."""

    def __init__(self, place, name):
        self.directory, self.url = place / name, None

    def act(self, verb, *words):
        command = [str(SCRIPT), verb, str(self.directory), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()

    def start(self, of=None):
        words = ("standby", str(of.directory)) if of else ("start",)
        self.url = self.act(*words)

    def ask(self, sql):
        with connect(self.url) as connection:
            return connection.execute(sql).fetchone()

    def as_superuser(self, *statements):
        secret = (self.directory / "superuser").read_text().strip()
        port = urlsplit(self.url).port
        where = {"host": "127.0.0.1", "port": port, "user": "postgres", "dbname": "postgres"}
        with psycopg.connect(password=secret, autocommit=True, **where) as connection:
            for statement in statements:
                connection.execute(statement)


def of_all(*hosts):
    """The URL of several hosts."""
    first = urlsplit(hosts[0].url)
    places = ",".join(f"127.0.0.1:{urlsplit(host.url).port}" for host in hosts)
    return urlunsplit(first._replace(netloc=f"{first.username}:{first.password}@{places}"))


def request(service, method, path, body=None, headers=None):
    """The answer of a process, or None if it has none."""
    connection = service.connection(15.0)
    try:
        return connection.request(method, path, body, headers)
    except (Closed, OSError):
        return None
    finally:
        connection.close()


def everybody(service):
    """The users of an export by id, and its position; None if there is no answer."""
    answer = request(service, "GET", "/bulk/users")
    if answer is None or answer.status != 200:
        return None
    users = [json.loads(line) for line in answer.body.splitlines()]
    return {user["id"]: user for user in users}, answer.headers["roster-position"]


class Writer(threading.Thread):
    """Creates users through one process, and notes which were acknowledged."""

    def __init__(self, service, number):
        super().__init__(daemon=True)
        self.service, self.number = service, number
        self.done, self.acknowledged, self.tries = threading.Event(), [], 0
        self.fault = None

    def run(self):
        connection = self.service.connection(15.0)
        while not self.done.is_set() and not self.fault:
            self.tries += 1
            name = f"w{self.number}-{self.tries}-{time.monotonic_ns()}"
            try:
                answer = connection.request("POST", "/users", {"username": name})
            except (Closed, OSError):
                connection.close()
                time.sleep(0.02)
                continue
            if answer.status == 201:
                self.acknowledged.append(answer.json()["id"])
            elif answer.status != 503:
                self.fault = f"a create was answered {answer}"
            else:
                time.sleep(0.02)


class Mirror(threading.Thread):
    """A copy of the collection that follows the log."""

    def __init__(self, services):
        super().__init__(daemon=True)
        self.services, self.users, self.position = services, {}, None
        self.done, self.exports, self.events, self.fault = threading.Event(), 0, 0, None

    def run(self):
        turn = 0
        while not self.fault:
            last, service = self.done.is_set(), self.services[turn % len(self.services)]
            if self.position is None:
                turn += not self.export(service)
                continue
            path = f"/events?after={self.position}&limit=1000&wait=1"
            answer = request(service, "GET", path)
            if answer is None or answer.status == 503:
                turn += 1
                time.sleep(0.05)
            elif answer.status == 410:
                self.position = None
            elif answer.status != 200:
                self.fault = f"{path} was answered {answer}"
            else:
                self.apply(answer.json()["items"])
                self.position = answer.headers["roster-position"]
                if last and not answer.json()["items"]:
                    return

    def export(self, service):
        if (exported := everybody(service)) is None:
            time.sleep(0.05)
            return False
        (self.users, self.position), self.exports = exported, self.exports + 1
        return True

    def apply(self, items):
        for event in items:
            user = event["data"].get("user")
            if not event["type"].startswith("user."):
                continue
            self.events += 1
            if user["id"] in self.users and event["type"] == "user.created":
                if self.users[user["id"]]["version"] < user["version"]:
                    self.fault = f"{event} came after {self.users[user['id']]}"
            self.users[user["id"]] = user


def until(what, condition, within=60.0):
    """Waits until a condition holds. Returns its value."""
    end = time.monotonic() + within
    while not (value := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {within} s")
        time.sleep(0.02)
    return value


def ready(service):
    answer = request(service, "GET", "/readyz")
    return answer is not None and answer.status == 200


def head(service):
    """The log and the number of its last position."""
    answer = request(service, "GET", "/events?after=latest")
    if answer is None or answer.status != 200:
        return None
    log, _, number = answer.headers["roster-position"].partition("-")
    return log, int(number)


def write(services, count):
    """Creates users. A process that has just found its primary may refuse one with a 503."""
    for number in range(count):
        service = services[number % len(services)]
        body = {"username": f"s{number}-{time.monotonic_ns()}"}

        def created():
            answer = request(service, "POST", "/users", body)
            if answer is not None and answer.status not in (201, 503):
                raise SystemExit(f"a create was answered {answer}")
            return answer is not None and answer.status == 201

        until("a create is accepted", created, within=15.0)


def replayed(standby, primary):
    """Whether a standby has all that its primary has written."""
    (end,) = primary.ask("SELECT pg_current_wal_flush_lsn()::text")
    return standby.ask(f"SELECT pg_last_wal_replay_lsn() >= '{end}'")[0]


def valid(service, log, numbers):
    """The positions of a log that are valid."""
    found = set()
    for number in numbers:
        answer = request(service, "GET", f"/events?after={log}-{number}&limit=1")
        if answer is None or answer.status not in (200, 410):
            raise SystemExit(f"position {log}-{number} was answered {answer}")
        if answer.status == 200:
            found.add(number)
    return found


def lose(trial, old, new, lost):
    """A failover that loses events. Returns the former log, and the new one."""
    services = trial.services
    write(services, 30)
    until("the standby follows", lambda: replayed(new, old))
    log, kept = head(services[0])
    new.as_superuser("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
    until("the standby is cut off", lambda: not new_receives(new))
    write(services, lost)
    ends = [head(service) for service in services]
    if ends != [(log, kept + lost)] * PROCESSES:
        raise SystemExit(f"the ends of the log are {ends}, not {kept + lost}")
    until("the mirror is at the end", lambda: trial.mirror.position == f"{log}-{kept + lost}")
    old.act("kill")
    new.act("promote")
    for service in services:
        until("a process is ready", lambda service=service: ready(service))
    logs = {head(service)[0] for service in services}
    if len(logs) != 1 or log in logs:
        raise SystemExit(f"after {log} the logs are {logs}")
    (forked,) = logs
    for service in services:
        numbers = range(max(kept - 20, 1), kept + lost + 1)
        if (found := valid(service, log, numbers)) != set(range(numbers[0], kept + 1)):
            raise SystemExit(f"of the positions {numbers} up to {kept} are valid, not {found}")
        answer = request(service, "GET", f"/events?after={log}-{kept}&limit=1")
        event = answer.json()["items"][0]
        told = (event["id"], event["type"], event["data"]["log"]["parent"])
        if told != (f"{forked}-{kept + 1}", "log.forked", f"{log}-{kept}"):
            raise SystemExit(f"the event after the fork is {event}")
    return log, forked


def new_receives(host):
    return host.ask("SELECT count(*) FROM pg_stat_get_wal_receiver() WHERE pid IS NOT NULL")[0]


def restart_under_load(trial, old, new, forked, restarts):
    """Restarts each process while the former primary is writable. Returns the acknowledged writes."""
    old.act("resume")
    state = "SELECT position, era, encode(log_id, 'hex') FROM log_head"
    before = old.ask(state)
    old.as_superuser("CREATE TABLE is_writable ()")
    writers = [Writer(trial.services[n % PROCESSES], n) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    for turn in range(restarts * PROCESSES):
        service = trial.services[turn % PROCESSES]
        if turn % 2:
            service.kill()
        else:
            service.stop()
        service.start()
        if (found := head(service)) is None or found[0] != forked:
            raise SystemExit(f"a process that was restarted has the log {found}, not {forked}")
    for writer in writers:
        writer.done.set()
    for writer in writers:
        writer.join(30)
    if faults := [writer.fault for writer in writers if writer.fault]:
        raise SystemExit(faults[0])
    if (now := old.ask(state)) != before:
        raise SystemExit(f"the former primary was at {before}, and is at {now}")
    acknowledged = [user for writer in writers for user in writer.acknowledged]
    with connect(new.url) as connection:
        rows = connection.execute("SELECT id::text FROM users WHERE tenant = 0").fetchall()
    if missing := set(acknowledged) - {row[0] for row in rows}:
        raise SystemExit(f"{len(missing)} acknowledged writes are not on the new primary")
    if len(acknowledged) < restarts:
        raise SystemExit(f"only {len(acknowledged)} writes were acknowledged")
    return len(acknowledged)


def told_why(service):
    """A process without its primary: `/readyz` says why soon, and a write is refused."""

    def says_so():
        answer = request(service, "GET", "/readyz")
        told = answer is not None and answer.status == 503 and answer.json().get("detail", "")
        return told and "left behind" in told

    until("/readyz says why", says_so)
    answer = request(service, "POST", "/users", {"username": "nobody"})
    if answer is None or answer.status != 503:
        raise SystemExit(f"a create without a primary was answered {answer}")


def only_the_former(trial, old, new):
    """With the former primary alone no process works, and each says why."""
    before = old.ask("SELECT position FROM log_head")
    new.act("kill")
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(told_why, trial.services))
    if old.ask("SELECT position FROM log_head") != before:
        raise SystemExit("the former primary was written to")
    new.act("resume")
    for service in trial.services:
        until("a process is ready again", lambda service=service: ready(service))
        # Credentials cannot be checked without the database, so it shows its metrics only now.
        page = request(service, "GET", "/metrics").body.decode()
        lines = [line.split() for line in page.splitlines()]
        counts = [line[1] for line in lines if line[0] == "roster_superseded_servers_total"]
        if not counts or float(counts[0]) == 0:
            raise SystemExit(f"the metric of refused servers is {counts}")


def switch_over(trial, new, third):
    """A failover without a loss: every position stays valid. Returns how many were tried."""
    third.start(new)
    trial.move(of_all(new, third))
    write(trial.services, 30)
    log, end = head(trial.services[0])
    until("the standby follows", lambda: replayed(third, new))
    new.act("kill")
    third.act("promote")
    for service in trial.services:
        until("a process is ready", lambda service=service: ready(service))
        numbers = range(max(end - 40, 1), end + 1)
        if valid(service, log, numbers) != set(numbers):
            raise SystemExit("a failover that lost nothing made positions invalid")
        if head(service)[0] == log:
            raise SystemExit(f"the log is {log} after another server was promoted")
    return PROCESSES * min(end, 41)


class Trial:
    """The processes, and their mirror."""

    def __init__(self, options, place):
        self.binary, self.place = options.binary, place
        self.services, self.mirror = [], None

    def start(self, url):
        flags = ("--base-url", "http://127.0.0.1:8080")
        self.services[:] = [
            Service(self.binary, self.place / f"data{number}", None, url, flags)
            for number in range(PROCESSES)
        ]
        for service in self.services:
            service.start()
        if self.mirror is None:
            self.mirror = Mirror(self.services)
            self.mirror.start()

    def move(self, url):
        """Restarts the processes with other hosts."""
        self.stop()
        self.start(url)

    def stop(self):
        for service in self.services:
            service.stop()

    def compare(self):
        """The mirror must equal the collection."""
        self.mirror.done.set()
        self.mirror.join(60)
        if self.mirror.fault or self.mirror.is_alive():
            raise SystemExit(f"the mirror: {self.mirror.fault or 'does not end'}")
        users, _ = everybody(self.services[0])
        if users != self.mirror.users:
            apart = users.keys() ^ self.mirror.users.keys()
            raise SystemExit(f"the mirror differs from the collection in {len(apart)} users")
        return len(users)


def main():
    options = arguments(
        __doc__,
        lost=(100, 20, "commits that the standby does not get"),
        restarts=(10, 2, "restarts of each process"),
    )
    with Workplace("former") as place:
        place.chmod(0o711)
        old, new, third = (Host(place, name) for name in ("old", "new", "third"))
        trial = Trial(options, place)
        try:
            old.start()
            new.start(old)
            trial.start(of_all(old, new))
            _, forked = lose(trial, old, new, options.lost)
            written = restart_under_load(trial, old, new, forked, options.restarts)
            only_the_former(trial, old, new)
            old.act("kill")
            tried = switch_over(trial, new, third)
            users = trial.compare()
        finally:
            trial.stop()
            for host in (old, new, third):
                host.act("stop")
        print(
            f"{options.lost} lost events had invalid positions, all others valid ones;"
            f" {options.restarts * PROCESSES} restarts with the former primary writable:"
            f" {written:,} acknowledged writes, none there; {tried} positions valid after a failover"
            f" without a loss; the mirror of {users:,} users is equal"
            f" ({trial.mirror.exports} exports, {trial.mirror.events:,} events)"
        )


if __name__ == "__main__":
    sys.exit(main())
