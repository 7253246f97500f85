"""Holds the positions that a follower of a log was given against 1, 2, 3 ... N, each once.

The same for the readers of `/events` and for the planted follower of a sequence, which must be
found out by it.
"""

MISSED_MAX = 100_000


class Positions:
    """What one follower saw, position by position."""

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
        """Nothing more comes; the log's last position is `last`."""
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
