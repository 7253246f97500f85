"""Checks that the follower of a log got the positions 1, 2, 3 ... N, each exactly once.

The same check is used for the readers of `/events` and for the deliberately wrong follower of a
sequence, in which it must find errors.
"""

MISSED_MAX = 100_000


class Positions:
    """The positions that one follower got, one by one."""

    def __init__(self, name):
        self.name, self.last, self.count = name, 0, 0
        self.missed, self.faults = set(), []

    def take(self, position):
        """The next position that the follower was given."""
        self.count += 1
        if position == self.last + 1:
            self.last = position
        elif position > self.last:
            self._fault(f"a gap: {position} came after {self.last}")
            end = min(position, self.last + 1 + MISSED_MAX)
            self.missed.update(range(self.last + 1, end))
            self.last = position
        elif position in self.missed:
            self._fault(f"out of order: {position} came after {self.last}")
            self.missed.discard(position)
        else:
            self._fault(f"a duplicate: {position} came again after {self.last}")

    def end(self, last):
        """Ends the check; the log's last position is `last`."""
        if self.last < last:
            self.missed.update(range(self.last + 1, min(last + 1, self.last + 1 + MISSED_MAX)))
        if self.last != last:
            self._fault(f"the end: {self.last} is not {last}")
        if self.missed:
            self._fault(f"{len(self.missed)} never seen, first {min(self.missed)}")
        if self.count != last:
            self._fault(f"{self.count} were seen, {last} there are")

    def _fault(self, text):
        self.faults.append(f"{self.name}: {text}")
