"""How long PostgreSQL itself stands still: a commit of one's own row, straight in the database and
again and again.

On a machine whose disk others use too a commit may take seconds. What a command measures of the
service is no better than that, and is held against it less that time.
"""

import threading
import time

from postgres import connect

STALL_SECONDS_MIN = 0.2


class DiskWatch(threading.Thread):
    """Commits ten times a second until told to stop."""

    def __init__(self, database):
        super().__init__(daemon=True)
        self.database, self.done, self.began = database, threading.Event(), None
        self.stalls, self.fault = [], None

    def run(self):
        try:
            with connect(self.database) as connection:
                connection.execute("CREATE TABLE watched (n int)")
                connection.execute("INSERT INTO watched VALUES (0)")
                while not self.done.wait(0.1):
                    self.began = time.monotonic()
                    connection.execute("UPDATE watched SET n = n + 1")
                    ended = time.monotonic()
                    if ended - self.began > STALL_SECONDS_MIN:
                        self.stalls.append((self.began, ended))
                    self.began = None
        except Exception as error:  # noqa: BLE001
            self.fault = f"the watch of the disk ended: {error!r}"

    def stalled(self, since, until):
        """Seconds between two moments in which a commit of its own was not answered."""
        began, stalls = self.began, list(self.stalls)
        if began is not None and until - began > STALL_SECONDS_MIN:
            stalls.append((began, until))
        return sum(max(0.0, min(end, until) - max(start, since)) for start, end in stalls)

    def worst(self):
        return max((end - start for start, end in self.stalls), default=0.0)
