"""One node: Patroni, and the PostgreSQL that it starts and stops.

What is done to a node here is what happens to machines: it dies, its PostgreSQL dies, or it stands
still and goes on later as if no time had passed.
"""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import psycopg
import yaml

from ground import Fault, processes_in, send, stopped, until

# What an operator is given is what is tested: all that concerns the cluster as a whole is read from
# the example, only names, addresses and folders are made for the run.
DEPLOY = Path(__file__).resolve().parents[2] / "deploy" / "patroni"
EXAMPLE = yaml.safe_load((DEPLOY / "patroni.yml").read_text())
TTL = EXAMPLE["bootstrap"]["dcs"]["ttl"]
LOOP_WAIT = EXAMPLE["bootstrap"]["dcs"]["loop_wait"]


class Node:
    """One of the three; `number` counts from 1."""

    def __init__(self, ground, number, ports, shared):
        self.ground, self.number, self.name = ground, number, f"node{number}"
        self.port, self.api_port = ports
        self.shared = shared
        self.folder = ground.folder(self.name)
        self.data = self.folder / "data"
        self.patroni = None

    def start(self):
        """Starts Patroni; it makes, joins or repairs the PostgreSQL below it by itself."""
        settings = self.ground.path / f"{self.name}.json"
        settings.write_text(json.dumps(self.settings(), indent=1))
        settings.chmod(0o644)
        program = self.shared.program
        self.patroni = self.ground.spawn([self.shared.python, program, settings], self.folder)

    def settings(self):
        """Patroni's configuration: YAML, of which JSON is a part."""
        shared = self.shared
        address, api = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.api_port}"
        return {
            "scope": "roster-ha",
            "name": self.name,
            "restapi": {"listen": api, "connect_address": api},
            "etcd3": {"hosts": shared.etcd_hosts},
            "watchdog": {"mode": "off"},
            "bootstrap": EXAMPLE["bootstrap"],
            "postgresql": {
                "listen": address,
                "connect_address": address,
                "data_dir": str(self.data),
                "bin_dir": str(shared.bin_dir),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {
                    "superuser": {"username": "postgres", "password": shared.password},
                    "replication": {"username": "replicator", "password": shared.password},
                    "rewind": {"username": "rewinder", "password": shared.password},
                },
                "parameters": {"unix_socket_directories": "", "logging_collector": "off"},
                "pg_hba": [
                    line.replace("10.0.0.0/24", "127.0.0.1/32")
                    for line in EXAMPLE["postgresql"]["pg_hba"]
                ],
            },
        }

    def connect(self, database="postgres", timeout=2):
        """An own connection as superuser; `timeout` bounds only the connecting."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            password=self.shared.password,
            dbname=database,
            connect_timeout=timeout,
            autocommit=True,
        )

    def psql(self, database, statement):
        """The rows of a statement as lines, by PostgreSQL's own client."""
        command = [str(self.shared.bin_dir / "psql"), "-X", "-A", "-t", "-q", "-h", "127.0.0.1"]
        command += ["-p", str(self.port), "-U", "postgres", "-d", database, "-c", statement]
        environment = {"PGPASSWORD": self.shared.password, "PGCONNECT_TIMEOUT": "5"}
        environment["PGOPTIONS"] = "-c search_path=roster,public"
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Fault(f"psql on {self.name}: {done.stderr.strip()}")
        return done.stdout.splitlines()

    def api(self, path, body=None, within=3.0):
        """Patroni's REST interface: (status, text), or (0, reason) where there is none."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.api_port}{path}", data)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=within) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")
        except OSError as error:
            return 0, str(error)

    def postmaster(self):
        """The process id of PostgreSQL's first process, if it runs."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        return pid if pid in processes_in(self.data) else None

    def kill(self):
        """The machine is gone: Patroni and all of PostgreSQL, at once, with no time to finish."""
        for pid in self.all_processes():
            send(pid, signal.SIGKILL)
        self.patroni.wait(10)
        until(lambda: not processes_in(self.folder), 10, f"{self.name} has no process left")

    def kill_postmaster(self):
        """As the kernel does when memory is short; Patroni lives."""
        send(self.needed_postmaster(), signal.SIGKILL)

    def freeze(self):
        """Stands still: Patroni at the start of `_update_leader`, then PostgreSQL."""
        self.needed_postmaster()
        (self.folder / "stop-now").touch()
        reached = f"Patroni of {self.name} stopped in _update_leader"
        until(lambda: stopped(self.patroni.pid), 4 * LOOP_WAIT, reached, every=0.002)
        # Twice: a process that began meanwhile is stopped too.
        for _ in range(2):
            for pid in self.all_processes():
                send(pid, signal.SIGSTOP)

    def resume(self):
        """Goes on, everything at once, as a virtual machine does."""
        for pid in self.all_processes():
            send(pid, signal.SIGCONT)

    def all_processes(self):
        """Patroni first, then the postmaster, so that neither sees the others stop."""
        first = [self.patroni.pid, self.postmaster()]
        rest = [pid for pid in processes_in(self.folder) if pid not in first]
        return [pid for pid in first if pid] + rest

    def needed_postmaster(self):
        if pid := self.postmaster():
            return pid
        raise Fault(f"{self.name} has no running PostgreSQL")
