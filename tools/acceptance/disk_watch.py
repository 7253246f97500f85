"""Measures how long PostgreSQL itself stalls, by repeated commits of one row directly in the
database.

On a machine whose disk is shared, a commit may take seconds. The measured times of the service
cannot be better than that, so this time is subtracted from them.
"""

import threading
import time

from postgres import connect

STALL_SECONDS_MIN = 0.2


class DiskWatch(threading.Thread):
    """Commits ten times a second until stopped."""

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
        """The seconds between two times in which a commit of this thread was in progress."""
        began, stalls = self.began, list(self.stalls)
        if began is not None and until - began > STALL_SECONDS_MIN:
            stalls.append((began, until))
        return sum(max(0.0, min(end, until) - max(start, since)) for start, end in stalls)

    def worst(self):
        return max((end - start for start, end in self.stalls), default=0.0)
