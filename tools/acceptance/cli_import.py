"""`roster import` brings a million users into a service, through interruptions, at the rate of curl.

The file is CSV with one faulty row in a hundred, of ten kinds. The same file is sent by curl to a
second service, which returns the results as a table. Then the command imports it through a proxy and
is interrupted: by SIGINT, by a cut connection, by kill -9 of the service, by kill -9 of the command,
and by SIGTERM; in full also by a service that stays away until the command gives up. Each time it
goes on, by itself or with `--resume`. At the end both services must return the same users, each
created once, and the faults file must have the rows that the second service refused. Last, the
command and curl import the same file into new services in turn: the command must reach 0.9 times the
rate of curl, with at most 50 MiB of resident memory.
"""

import csv
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import faker_users
from csv_import import File
from engines import engine
from service import SERVER_MADE, Closed, Workplace, arguments, free_port

MEMORY_MAX_MIB = 50
RATE_MIN = 0.9
ROUNDS = 2
MAP = "Mail:email"
# Lines a second of the small run, whose file is too short to be interrupted otherwise.
SLICE_RATE = 800


class Proxy(threading.Thread):
    """Forwards connections to the service, and cuts them on demand."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.pairs = target, {}
        self.listener = socket.create_server(("127.0.0.1", free_port()))
        self.address = self.listener.getsockname()
        self.lock = threading.Lock()
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            try:
                service = socket.create_connection(self.target, 10)
            except OSError:
                client.close()
                continue
            service.settimeout(None)
            with self.lock:
                self.pairs[client] = service
            for pair in ((client, service), (service, client)):
                threading.Thread(target=self.forward, args=pair, daemon=True).start()

    @staticmethod
    def forward(source, sink):
        try:
            while data := source.recv(1 << 17):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for one in (source, sink):
                one.close()

    def cut(self):
        """Closes all connections. Returns their number."""
        with self.lock:
            pairs, self.pairs = self.pairs, {}
        for pair in pairs.items():
            for one in pair:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        return len(pairs)


def is_same(mine, its, status):
    """Whether a row of the faults file is that of the service. It has more: the detail of a row
    whose cells may be in wrong columns has the whole row, and a formula is escaped in its cell.
    """
    cells = slice(status if its[status + 1] == "formula" else 0, -1)
    return mine[cells] == its[cells] and mine[-1].startswith(its[-1])


class Command:
    """A running `roster import`. Its memory is watched."""

    def __init__(self, run, address, home, *flags):
        words = [Path(run.options.binary).resolve(), "import", run.file.csv, "--map", MAP, *flags]
        environment = {"HOME": str(home), "ROSTER_URL": f"http://{address[0]}:{address[1]}"}
        self.home, self.began, self.most, self.lines = home, time.monotonic(), 0.0, []
        self.process = subprocess.Popen(
            [str(word) for word in words], cwd=home, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )

    def offset(self):
        """The bytes of the file that are done, as the command has written down."""
        for state in (self.home / ".local/state/roster/imports").glob("*.json"):
            try:
                return json.loads(state.read_text())["offset"]
            except (OSError, ValueError):
                pass
        return 0

    def reach(self, offset):
        """Waits until so much of the file is done."""
        while self.offset() < offset:
            if self.process.poll() is not None:
                raise SystemExit(f"it ended before {offset:,}: {self.process.stderr.read()}")
            self.look()
            time.sleep(0.02)

    def look(self):
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return
        found = re.search(r"^VmHWM:\s+(\d+)", status, re.M)
        self.most = max(self.most, int(found[1]) / 1024 if found else 0.0)

    def end(self):
        """Waits for the end. Returns the exit status."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stderr, selectors.EVENT_READ)
            while True:
                self.look()
                if selector.select(0.05):
                    line = self.process.stderr.readline()
                    if not line:
                        break
                    self.lines.append(line.rstrip())
        return self.process.wait()


class Run:
    def __init__(self, options, store, place, file):
        self.options, self.store, self.place, self.file = options, store, place, file
        self.size = file.csv.stat().st_size
        self.faults, self.most = [], 0.0

    def fault(self, text):
        self.faults.append(text)
        print(text, flush=True)

    def service(self, name, rate=0):
        service = self.store.service(self.options.binary, self.place / name)
        if rate:
            service.flags = ["--rate-limit-per-s", rate, "--rate-limit-burst", 20]
        service.start()
        return service

    def curl(self, service, accept, out):
        """Sends the file by curl. Returns the seconds."""
        url = f"http://{service.address[0]}:{service.address[1]}/bulk/users?map={MAP}"
        words = ["curl", "-sS", "-f", "-X", "POST", "-T", self.file.csv, "-o", out]
        words += ["-H", "Content-Type: text/csv", "-H", f"Accept: {accept}", url]
        began = time.monotonic()
        subprocess.run([str(word) for word in words], check=True)
        return time.monotonic() - began

    def ended(self, command, status, *words):
        """Checks how a command ended."""
        got = command.end()
        self.most = max(self.most, command.most)
        said = "\n".join(command.lines)
        if got != status or not all(word in said for word in words):
            self.fault(f"exit status {got}, not {status} with {words}: {said[-2000:]}")

    def home(self, name):
        home = self.place / f"home-{name}"
        home.mkdir()
        return home

    def interrupted(self):
        """Imports the file through all interruptions. Returns the service and the faults file."""
        service = self.service("interrupted", SLICE_RATE if self.options.slice else 0)
        proxy, home = Proxy(service.address), self.home("interrupted")
        points = iter(int(self.size * share / 7) for share in range(1, 7))
        resume = "next: roster import"

        def begin(*flags):
            return Command(self, proxy.address, home, *flags)

        command = begin()
        command.reach(next(points))
        command.process.send_signal(signal.SIGINT)
        self.ended(command, 130, resume, "--resume")
        command = begin("--resume")
        command.reach(next(points))
        if not proxy.cut():
            self.fault("there was no connection to cut")
        command.reach(next(points))
        self.restart(service, lambda: time.sleep(1))
        command.reach(next(points))
        command.process.kill()
        command.process.wait()
        if "trying again" not in (said := command.process.stderr.read()):
            self.fault(f"it did not say that it tried again: {said}")
        command = begin("--resume")
        command.reach(next(points))
        command.process.send_signal(signal.SIGTERM)
        self.ended(command, 130, resume, "--resume")
        command = begin("--resume")
        if not self.options.slice:
            command.reach(next(points))
            self.restart(service, lambda: self.ended(command, 8, resume, "--resume"))
            command = begin("--resume")
        bad = len(self.file.rows) - self.file.good
        self.ended(command, 7, f"{self.file.good} created, 0 replaced, 0 skipped, {bad} failed")
        left = list((home / ".local/state/roster/imports").iterdir())
        if left:
            self.fault(f"{left} are left")
        return service, home / f"{self.file.csv.stem}.faults.csv"

    def restart(self, service, meanwhile):
        under_way = self.store.under_way(service)
        service.kill()
        meanwhile()
        self.store.settle(service, under_way)
        service.start()

    def compare_users(self, service, other):
        """Compares what two services export, in the order of creation."""
        count, exports = 0, [Export(one) for one in (service, other)]
        for mine, its in zip(*exports, strict=False):
            count += 1
            if mine["version"] != 1:
                self.fault(f"{mine['id']} has version {mine['version']}")
            for one in (mine, its):
                for member in SERVER_MADE:
                    one.pop(member, None)
            if mine != its:
                self.fault(f"user {count} is {mine}, not {its}")
                break
        totals = [export.count for export in exports]
        if totals != [self.file.good] * 2:
            self.fault(f"there are {totals} users, not {self.file.good:,}")
        # Each user has one event, and the position has their number.
        events = exports[0].position.rpartition("-")[2]
        if self.options.engine == "sqlite" and int(events, 16) != self.file.good:
            if int(events) != self.file.good:
                self.fault(f"the log is at {exports[0].position}")

    def compare_faults(self, path, table):
        """Compares the faults file with the rows that the other service refused."""
        csv.field_size_limit(1 << 20)
        with open(path, newline="", encoding="utf-8-sig") as mine, \
                open(table, newline="", encoding="utf-8") as its:
            ours, theirs = csv.reader(mine), csv.reader(its)
            header = next(theirs)
            status = header.index("code") - 1
            if next(ours) != header:
                self.fault("the faults file has other columns")
            refused = (row for row in theirs if int(row[status]) >= 400)
            count = 0
            for count, row in enumerate(refused, 1):
                got = next(ours, None)
                if not got or not is_same(got, row, status):
                    self.fault(f"fault {count} is {got}, not {row}")
                    break
            if next(ours, None) is not None or count != len(self.file.rows) - self.file.good:
                self.fault(f"the faults file has another number of rows than {count}")

    def rates(self):
        """Imports by curl and by the command in turn. Returns the better rate of each."""
        best = {"curl": 0.0, "roster": 0.0}
        for number in range(2 * ROUNDS):
            who = ("curl", "roster")[number % 2]
            service = self.service(f"rate{number}")
            if who == "curl":
                took = self.curl(service, "application/x-ndjson", self.place / "results")
            else:
                home = self.home(f"rate{number}")
                command = Command(self, service.address, home)
                self.ended(command, 7, f"{self.file.good} created")
                took = time.monotonic() - command.began
                said = [line for line in command.lines if re.search(r"MiB \(\d+%\).*/s, .* left", line)]
                if took > 12 and not said:
                    self.fault(f"it does not say how far it is: {command.lines[:5]}")
                shutil.rmtree(home)
            best[who] = max(best[who], len(self.file.rows) / took)
            print(f"{who}: {len(self.file.rows) / took:,.0f} rows/s", flush=True)
            service.stop()
            self.store.discard(service)
            shutil.rmtree(service.data, ignore_errors=True)
        return best["curl"], best["roster"]


class Export:
    """The users of a service, one after the other."""

    def __init__(self, service):
        self.count = 0
        url = f"http://{service.address[0]}:{service.address[1]}/bulk/users"
        connection = service.connection(60)
        self.position = connection.request("HEAD", "/bulk/users").headers["roster-position"]
        connection.close()
        self.process = subprocess.Popen(["curl", "-sS", "-f", url], stdout=subprocess.PIPE)

    def __iter__(self):
        for line in self.process.stdout:
            self.count += 1
            yield json.loads(line)
        if self.process.wait():
            raise Closed("the export broke off")


def main():
    options = arguments(
        __doc__, engines=True, users=(1_000_000, 8_000, "users to import")
    )
    if not shutil.which("curl"):
        raise SystemExit("curl is needed")
    os.environ.pop("ROSTER_URL", None)
    with Workplace("cli_import") as place, engine(options) as store:
        sources = faker_users.make(place, options.users, options.seed)
        file = File(place, sources, options.seed)
        file.ndjson.unlink()
        bad = len(file.rows) - file.good
        print(f"made {len(file.rows):,} rows, {bad:,} bad", flush=True)
        run = Run(options, store, place, file)
        other, table = run.service("other"), place / "table.csv"
        run.curl(other, "text/csv", table)
        service, faults = run.interrupted()
        run.compare_users(service, other)
        run.compare_faults(faults, table)
        for one in (service, other):
            one.stop()
            store.discard(one)
        curl, roster = run.rates()
        if run.most > MEMORY_MAX_MIB:
            run.fault(f"the command had {run.most:.0f} MiB of resident memory")
        if not options.slice and roster < RATE_MIN * curl:
            run.fault(f"the command has {roster / curl:.2f} times the rate of curl")
        print(
            f"roster import ({options.engine}): {len(file.rows):,} rows, {bad:,} bad, "
            f"{roster:,.0f} rows/s, {roster / curl:.2f} x curl ({curl:,.0f}/s), "
            f"{run.most:.0f} MiB resident; {len(run.faults)} faults"
        )
        sys.exit(1 if run.faults else 0)


if __name__ == "__main__":
    main()
