"""A writer without a service, for holding the suite itself against a cluster.

It does what engines must: each host under a deadline of its own, the first writable one is used,
every statement is bounded, and a connection that failed in any way is thrown away. `--client sql`.
"""

import select
import time
import uuid

import psycopg
from psycopg.pq import ExecStatus

from load import Done, Later

STATEMENT_SECONDS = 3


class SqlClients:
    """One "process" only: there is nothing in front of the database."""

    processes = 1

    def __init__(self, cluster):
        self.cluster = cluster

    def start(self):
        with self.cluster.primary().connect("roster") as connection:
            connection.execute("CREATE TABLE users (id uuid PRIMARY KEY, name text UNIQUE)")

    def connect(self, _process):
        return SqlClient(self.cluster)

    def check_alive(self):
        """There is no process that could have ended."""

    def followers(self):
        return []

    def look_up(self, _process, ids):
        """By the database alone, which is asked anyway."""
        return set(ids)

    def doubled(self, load):
        rows = self.cluster.primary().psql(
            "roster", "SELECT name FROM users GROUP BY name HAVING count(*) > 1"
        )
        return len(rows), [f"{name} is there more than once" for name in rows]


class SqlClient:
    def __init__(self, cluster):
        self.cluster, self.connection = cluster, None

    def create(self, item):
        user_id = str(uuid.uuid5(uuid.NAMESPACE_OID, item.key))
        try:
            if self.connection is None:
                self.connection = self.find_primary()
            statement = b"INSERT INTO users VALUES ($1, $2) ON CONFLICT DO NOTHING"
            bounded(self.connection, statement, [user_id.encode(), item.name.encode()])
            return Done(user_id)
        except psycopg.Error as error:
            self.close()
            return Later(type(error).__name__, 0.3)

    def find_primary(self):
        for node in self.cluster.nodes:
            try:
                connection = node.connect("roster", timeout=2)
                if bounded(connection, b"SHOW transaction_read_only", []) == b"off":
                    return connection
                connection.close()
            except psycopg.Error:
                continue
        raise psycopg.OperationalError("no host is writable")

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def bounded(connection, statement, parameters):
    """The first value of a statement's answer, or an error when none comes in time.

    Nothing is cancelled: a cancelled wait for the standby would count as a commit. The caller
    throws the connection away."""
    wire, end = connection.pgconn, time.monotonic() + STATEMENT_SECONDS
    wire.send_query_params(statement, parameters)
    while wire.flush() or wire.is_busy():
        left = end - time.monotonic()
        if left <= 0 or not select.select([wire.socket], [], [], left)[0]:
            raise psycopg.OperationalError("no answer in time")
        wire.consume_input()
    answer = wire.get_result()
    while wire.get_result() is not None:
        pass
    if answer.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        raise psycopg.OperationalError(answer.error_message.decode("utf-8", "replace"))
    return answer.get_value(0, 0) if answer.ntuples else None
