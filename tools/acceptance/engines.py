"""Where a command's services keep their users: in SQLite, or in a private PostgreSQL cluster.

A command asks the engine for its services, and for rows where it looks behind the HTTP interface;
the tables have the same names and columns in both.
"""

import contextlib
import sqlite3

import postgres
from service import Service


class Sqlite:
    """A file in each data directory."""

    def service(self, binary, data, log=None):
        return Service(binary, data, log)

    def rows(self, service, query):
        """The rows of a stopped service's database."""
        with contextlib.closing(sqlite3.connect(service.data / "roster.db")) as connection:
            yield from connection.execute(query)

    def faults(self, service):
        """What the engine itself finds wrong with the database of a stopped service."""
        verdict = [row[0] for row in self.rows(service, "PRAGMA integrity_check")]
        broken = list(self.rows(service, "PRAGMA foreign_key_check"))
        return [] if verdict == ["ok"] and not broken else [*verdict[:5], *broken[:5]]

    def under_way(self, service):
        """What may still be settling after a kill; the file's locks went with the process."""
        return None

    def settle(self, service, under_way):
        pass

    def discard(self, service):
        pass


class Postgres:
    """A database of its own for each data directory, in one cluster."""

    def __init__(self, cluster):
        self.cluster = cluster

    def service(self, binary, data, log=None):
        return Service(binary, data, log, self.cluster.database())

    def rows(self, service, query):
        with postgres.connect(service.database) as connection, connection.cursor() as cursor:
            yield from cursor.stream(query)

    def faults(self, service):
        # PostgreSQL has no such statement for an ordinary role; the comparison of log and
        # collection is what counts.
        return []

    def under_way(self, service):
        """The backends that may still commit what a killed process had sent."""
        return postgres.backends(service.database)

    def settle(self, service, under_way):
        postgres.wait_until_gone(service.database, under_way)

    def discard(self, service):
        """Removes the database of a service that is done with."""
        self.cluster.drop(service.database)


@contextlib.contextmanager
def engine(options):
    """The engine that `--engine` names, for the time of the command."""
    if options.engine == "postgres":
        with postgres.cluster() as cluster:
            yield Postgres(cluster)
    else:
        yield Sqlite()
