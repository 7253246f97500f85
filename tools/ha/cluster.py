"""Three etcd and three nodes on loopback, and what can be asked of them together."""

import secrets
import shutil
import time
from pathlib import Path

import psycopg
import psycopg.sql

from ground import Fault, free_ports, until
from node import DEPLOY, LOOP_WAIT, TTL, Node

HERE = Path(__file__).resolve().parent


class Shared:
    """What every node is told alike."""

    def __init__(self, ground, python, bin_dir, etcd_ports):
        self.python, self.bin_dir = python, Path(bin_dir)
        self.password = secrets.token_hex(12)
        self.etcd_hosts = [f"127.0.0.1:{port}" for port in etcd_ports]
        # A copy: the cluster's user may not be able to read the checkout.
        self.program = ground.path / "stoppable_patroni.py"
        shutil.copy(HERE / "stoppable_patroni.py", self.program)
        self.program.chmod(0o644)


class Cluster:
    """Started by `start`; ended with the ground on which it stands."""

    def __init__(self, ground, python, bin_dir):
        ports = free_ports(12)
        self.ground = ground
        self.etcd_ports = list(zip(ports[0:3], ports[3:6], strict=True))
        self.shared = Shared(ground, python, bin_dir, ports[0:3])
        numbered = enumerate(zip(ports[6:9], ports[9:12], strict=True), 1)
        self.nodes = [Node(ground, number, pair, self.shared) for number, pair in numbered]

    def start(self):
        """Everything up, one standby synchronous, and an empty database for the service."""
        self.start_etcd()
        for node in self.nodes:
            node.start()
        self.wait_whole(120)
        with self.primary().connect() as connection:
            password = psycopg.sql.Literal(self.shared.password)
            role = psycopg.sql.SQL("CREATE ROLE roster LOGIN PASSWORD {}").format(password)
            connection.execute(role)
            connection.execute("CREATE DATABASE roster OWNER roster")
            connection.execute("CREATE DATABASE probe")

    def start_etcd(self):
        peers = [f"etcd{n}=http://127.0.0.1:{port}" for n, (_, port) in self.numbered_etcd()]
        for number, (client, peer) in self.numbered_etcd():
            folder = self.ground.folder(f"etcd{number}")
            options = {
                "name": f"etcd{number}",
                "data-dir": folder / "data",
                "listen-client-urls": f"http://127.0.0.1:{client}",
                "advertise-client-urls": f"http://127.0.0.1:{client}",
                "listen-peer-urls": f"http://127.0.0.1:{peer}",
                "initial-advertise-peer-urls": f"http://127.0.0.1:{peer}",
                "initial-cluster": ",".join(peers),
                "initial-cluster-state": "new",
            }
            argv = ["etcd"] + [f"--{name}={value}" for name, value in options.items()]
            self.ground.spawn(argv, folder, **etcd_timers())

    def numbered_etcd(self):
        return enumerate(self.etcd_ports, 1)

    def url(self):
        """As an operator writes it: every host, in no particular order."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgres://roster:{self.shared.password}@{hosts}/roster?sslmode=disable"

    def primary(self):
        """The one node whose PostgreSQL takes writes and whose Patroni holds the key."""
        leading = [node for node in self.nodes if node.api("/primary")[0] == 200]
        if len(leading) != 1:
            raise Fault(f"{len(leading)} primaries")
        return leading[0]

    def synchronous_standby(self):
        chosen = [node for node in self.nodes if node.api("/synchronous")[0] == 200]
        if not chosen:
            raise Fault("no synchronous standby")
        return chosen[0]

    def wait_whole(self, within):
        """Until three nodes work together, seen twice a second apart."""
        until(self.is_whole_twice, within, "three nodes work together", every=0.5)

    def is_whole_twice(self):
        if self.what_is_missing():
            return False
        time.sleep(1)
        return not self.what_is_missing()

    def settle(self):
        """Every node rejoined, and long enough after it for a late surprise to show itself."""
        self.wait_whole(150)
        time.sleep(TTL + LOOP_WAIT)
        if missing := self.what_is_missing():
            raise Fault(f"{TTL + LOOP_WAIT} s after every node had rejoined: {missing}")

    def what_is_missing(self):
        """Why the cluster is not whole, or nothing: roles by Patroni, streams by PostgreSQL."""
        try:
            primary = self.primary()
            self.synchronous_standby()
            with primary.connect() as connection:
                timeline, head = connection.execute(
                    "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int,"
                    " pg_current_wal_lsn()::text"
                ).fetchone()
            for node in self.nodes:
                if node is not primary and (reason := lagging(node, timeline, head)):
                    return reason
        except Fault as fault:
            return str(fault)
        except psycopg.Error as error:
            return f"{type(error).__name__}: {error}".strip()
        return None


def etcd_timers():
    """The timers of the example that operators are given, as etcd reads them."""
    lines = (DEPLOY / "etcd.env").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    names = ("ETCD_HEARTBEAT_INTERVAL", "ETCD_ELECTION_TIMEOUT")
    return {name: value for name, value in pairs if name in names}


def lagging(node, timeline, head):
    """Why a standby does not follow the primary's timeline up to `head`, if it does not."""
    if node.api("/replica")[0] != 200:
        return f"{node.name} is no replica by its Patroni"
    with node.connect() as connection:
        found = connection.execute(
            "SELECT status, received_tli,"
            " pg_last_wal_replay_lsn() >= %s::pg_lsn - 1048576 FROM pg_stat_wal_receiver",
            (head,),
        ).fetchone()
    if found is None or found[0] != "streaming":
        return f"{node.name} receives no stream"
    if found[1] != timeline:
        return f"{node.name} follows timeline {found[1]}, not {timeline}"
    return None if found[2] else f"{node.name} has not replayed up to {head}"
