"""When was there a writable primary? Asked of each node every 100 ms, past the service.

Each node has a thread and a connection of its own, and writes a row into a database of the probe's
own, with the cluster's `remote_apply`: so an answer means that the primary could really commit,
its synchronous standby included. A write that waits for a standby is answered at the moment that
there is one; a node that stands still keeps its thread waiting, and nobody else.
"""

import threading
import time

import psycopg

INTERVAL = 0.1


class Probe:
    """`answers` has the moment of every committed write, by the monotonic clock."""

    def __init__(self, cluster):
        self.cluster, self.answers, self.ended = cluster, [], threading.Event()
        with cluster.primary().connect("probe") as connection:
            connection.execute("CREATE TABLE probe (node int, moment double precision)")

    def start(self):
        for node in self.cluster.nodes:
            threading.Thread(target=self.watch, args=(node,), daemon=True).start()
        return self

    def stop(self):
        self.ended.set()

    def watch(self, node):
        connection = None
        while not self.ended.wait(INTERVAL):
            try:
                if connection is None:
                    connection = node.connect("probe")
                connection.execute(
                    "INSERT INTO probe VALUES (%s, %s)", (node.number, time.monotonic())
                )
                self.answers.append(time.monotonic())
            except psycopg.errors.ReadOnlySqlTransaction:
                continue
            except psycopg.Error:
                if connection is not None:
                    connection.close()
                connection = None


def gaps(moments, begin, end, longer_than=1.0):
    """The pauses in `moments` that reach into [begin, end], as (from, to)."""
    known = sorted(moments)
    before = [moment for moment in known if moment < begin][-1:]
    inside = [moment for moment in known if begin <= moment <= end]
    edges = (before or [begin]) + inside + [end]
    pairs = zip(edges, edges[1:], strict=False)
    return [(a, b) for a, b in pairs if b - a > longer_than]


def recovery(service, probe, begin, end):
    """The longest, in seconds, that a service left a writable primary unused.

    For every pause of the service: from the end of the last pause of the primary that overlaps it
    (none: from its own beginning) to its own end."""
    outages, slowest = gaps(probe, begin, end), 0.0
    for start, stop in gaps(service, begin, end):
        writable = [b for a, b in outages if a < stop and b > start] + [start]
        slowest = max(slowest, stop - max(writable))
    return slowest
