"""The storage of a command's services: SQLite, or a private PostgreSQL cluster.

A command gets its services from the engine, and rows where it looks behind the HTTP interface. The
tables have the same names and columns in both.
"""

import contextlib
import sqlite3

import postgres
from service import Service


class Sqlite:
    """SQLite: a file in each data directory."""

    def service(self, binary, data, log=None):
        return Service(binary, data, log)

    def rows(self, service, query):
        """The rows of a stopped service's database."""
        with contextlib.closing(sqlite3.connect(service.data / "roster.db")) as connection:
            yield from connection.execute(query)

    def faults(self, service):
        """The faults that the engine itself finds in the database of a stopped service."""
        verdict = [row[0] for row in self.rows(service, "PRAGMA integrity_check")]
        broken = list(self.rows(service, "PRAGMA foreign_key_check"))
        return [] if verdict == ["ok"] and not broken else [*verdict[:5], *broken[:5]]

    def under_way(self, service):
        """Returns what may still be in progress after a kill. File locks end with the process."""
        return None

    def settle(self, service, under_way):
        pass

    def discard(self, service):
        pass


class Postgres:
    """PostgreSQL: a database for each data directory, in one cluster."""

    def __init__(self, cluster):
        self.cluster = cluster

    def service(self, binary, data, log=None):
        return Service(binary, data, log, self.cluster.database())

    def rows(self, service, query):
        with postgres.connect(service.database) as connection, connection.cursor() as cursor:
            yield from cursor.stream(query)

    def faults(self, service):
        # PostgreSQL has no such statement for an ordinary role. The comparison of log and
        # collection is the relevant check.
        return []

    def under_way(self, service):
        """The backends that may still commit statements of a killed process."""
        return postgres.backends(service.database)

    def settle(self, service, under_way):
        postgres.wait_until_gone(service.database, under_way)

    def discard(self, service):
        """Removes the database of a service that is not needed any more."""
        self.cluster.drop(service.database)


@contextlib.contextmanager
def engine(options):
    """The engine that `--engine` names, as a context manager."""
    if options.engine == "postgres":
        with postgres.cluster() as cluster:
            yield Postgres(cluster)
    else:
        yield Sqlite()
