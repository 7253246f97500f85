"""Transactions directly in PostgreSQL, beside the service: slow ones on its users, and a naive log
that loses rows.

`Locker` locks rows of `users` for 50 to 500 ms, so that batches of the service wait, and later
batches commit earlier. `naive_log` fills a table whose cursor is a sequence, and a follower reads
it by "greater than the last one I saw", as outboxes are often read.
"""

import random
import threading
import time
import uuid

import psycopg

from postgres import connect

FILLERS = 8


class Locker(threading.Thread):
    """Locks rows of users until stopped, with pauses of up to `pause` seconds. The ids come from
    `victims()`.
    """

    def __init__(self, database, number, victims, pause):
        super().__init__(daemon=True)
        self.database, self.victims, self.pause = database, victims, pause
        self.random, self.done = random.Random(f"locker {number}"), threading.Event()
        self.held, self.waiting, self.refused, self.fault = 0, 0, 0, None

    def run(self):
        try:
            with connect(self.database) as connection:
                while not self.done.wait(self.random.uniform(0, self.pause)):
                    self.hold(connection)
        except Exception as error:  # noqa: BLE001
            self.fault = f"a slow transaction: {error!r}"

    def hold(self, connection):
        users = [uuid.UUID(user) for user in self.victims(self.random)]
        # Sometimes in the reverse of the service's order, which causes a deadlock for one of the
        # two.
        users.sort(reverse=self.random.random() < 0.03)
        try:
            with connection.transaction(force_rollback=self.random.random() < 0.5):
                for user in users:
                    connection.execute("SELECT 1 FROM users WHERE id = %s FOR UPDATE", [user])
                self.held += 1
                time.sleep(self.random.uniform(0.05, 0.5))
                self.waiting += waiting(connection)
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
            self.refused += 1


def waiting(connection):
    """The number of other transactions that wait for a lock in this database."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return connection.execute(asked).fetchone()[0]


def naive_log(database, positions, rows):
    """Fills the naive log from eight connections while a follower reads it into `positions`.
    Returns how many of its rows the follower never saw.
    """
    with connect(database) as connection:
        connection.execute("CREATE TABLE planted (id bigserial PRIMARY KEY, filler int NOT NULL)")
        threads = [threading.Thread(target=fill, args=(database, number, rows // FILLERS))
                   for number in range(FILLERS)]  # fmt: skip
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            pull(connection, positions)
            time.sleep(0.001)
        pull(connection, positions)
        written = {row[0] for row in connection.execute("SELECT id FROM planted")}
        connection.execute("DROP TABLE planted")
    # No insert is rolled back and no server restarts, so the sequence itself has no gaps.
    positions.end(max(written))
    return len(written & positions.missed)


def pull(connection, positions):
    asked = "SELECT id FROM planted WHERE id > %s ORDER BY id"
    for row in connection.execute(asked, [positions.last]).fetchall():
        positions.take(row[0])


def fill(database, number, rows):
    chance = random.Random(f"filler {number}")
    with connect(database) as connection:
        for _ in range(rows):
            with connection.transaction():
                connection.execute("INSERT INTO planted (filler) VALUES (%s)", [number])
                time.sleep(chance.uniform(0, 0.01))
