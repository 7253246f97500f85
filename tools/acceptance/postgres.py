"""A private PostgreSQL cluster for a command, and new databases in it.

`tools/postgres.sh` creates and removes the cluster. If ROSTER_TEST_POSTGRES has the URL of a
running cluster (all.sh sets it), databases are created in that cluster and it keeps running.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from service import POSTGRES_URL, ROOT

SCRIPT = ROOT / "tools" / "postgres.sh"


class Cluster:
    """A running PostgreSQL, named by the URL of a database whose role may create others."""

    def __init__(self, url):
        self.url, self.made = url, 0

    def database(self, name="acceptance"):
        """Creates an empty database. Returns its URL."""
        self.made += 1
        name = f"{name}_{os.getpid()}_{self.made}"
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def drop(self, url):
        """Removes a database that `database` created, even if connections to it are open."""
        name = urlsplit(url).path[1:]
        with self.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND usename = current_user",
                (name,),
            )
            # FORCE fails if there is a worker of autovacuum, which this role may not end. Without
            # FORCE the server ends the worker itself.
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))

    def connect(self):
        return connect(self.url)


def connect(url, **options):
    """A separate connection, beside the service. Each statement is its own transaction."""
    path = "-c search_path=roster,public"
    return psycopg.connect(url, autocommit=True, connect_timeout=10, options=path, **options)


def backends(url):
    """The process ids of all other connections to the database of `url`."""
    asked = (
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        # A worker of autovacuum commits nothing for a client.
        " AND backend_type = 'client backend'"
    )
    with connect(url) as connection:
        return {row[0] for row in connection.execute(asked)}


def wait_until_gone(url, pids, within=30.0):
    """Waits until none of the backends `pids` exists, so that their transactions have ended."""
    until = time.monotonic() + within
    while left := pids & backends(url):
        if time.monotonic() > until:
            raise SystemExit(f"PostgreSQL's backends {left} live on after {within} s")
        time.sleep(0.01)


@contextlib.contextmanager
def cluster():
    """The cluster that ROSTER_TEST_POSTGRES names, otherwise a new one for the time of the command.
    """
    if POSTGRES_URL:
        yield Cluster(POSTGRES_URL)
        return
    end_with_sigterm()
    base = tempfile.mkdtemp(prefix="roster-postgres-")
    # The cluster's owner may be another user, who must be able to enter the directory.
    os.chmod(base, 0o711)
    place = f"{base}/cluster"
    try:
        started = subprocess.run(
            [SCRIPT, "start", place], stdout=subprocess.PIPE, text=True, timeout=180, check=False
        )
        if started.returncode != 0:
            raise SystemExit("no PostgreSQL cluster could be started")
        yield Cluster(started.stdout.strip())
    finally:
        subprocess.run([SCRIPT, "stop", place], timeout=120, check=False)
        shutil.rmtree(base, ignore_errors=True)


def end_with_sigterm():
    """Makes SIGTERM raise an exception, so that the cluster does not outlive the command."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
