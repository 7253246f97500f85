"""The four ways in which a primary goes away, and what is measured around each.

All run alike: the load runs for a while, the primary is lost, the service recovers, what was lost
is brought back, every node rejoins while the load goes on, and only after a further ttl and
loop_wait is anything counted. A count before that proves nothing: it is the old primary, coming
back, that destroys what the new one acknowledged.
"""

import time

from ground import Fault, until
from load import Load
from node import LOOP_WAIT
from probe import Probe, gaps, recovery

WARM_SECONDS, AFTER_SECONDS, REJOINED_SECONDS = 12, 8, 5
# A process acknowledges steadily when it did so this often in the last two seconds.
STEADY_COUNT, STEADY_SECONDS = 20, 2.0
OUTAGE_SECONDS_MAX = 100


def node_killed(run, primary):
    run.mark()
    primary.kill()
    run.wait_recovered(primary)
    primary.start()


def postmaster_killed(run, primary):
    run.mark()
    primary.kill_postmaster()
    run.wait_recovered(None)


def switchover(run, primary):
    chosen = run.cluster.synchronous_standby()
    body = {"leader": primary.name, "candidate": chosen.name}
    run.mark()
    status, told = primary.api("/switchover", body, within=60)
    if status not in (200, 202):
        raise Fault(f"the switchover was answered {status} {told}")
    run.wait_recovered(primary)


def frozen(run, primary):
    primary.freeze()
    run.mark()
    run.wait_recovered(primary)
    primary.resume()
    # Time for both to notice each other, before it is asked whether all is well.
    time.sleep(2 * LOOP_WAIT)


SCENARIOS = {
    "node-killed": node_killed,
    "postmaster-killed": postmaster_killed,
    "switchover": switchover,
    "frozen": frozen,
}


class Figures:
    """What is told of a scenario; `faults` are sentences, empty when all is well."""

    def __init__(self):
        self.gap, self.recovery, self.acknowledged, self.lost, self.doubled = 0.0, 0.0, 0, 0, 0
        self.repeated, self.counts, self.faults, self.broken = 0, {}, [], False

    @classmethod
    def of_broken(cls, error):
        """Of a scenario that did not come to its end."""
        figures = cls()
        figures.faults.append(f"{type(error).__name__}: {error}")
        figures.broken = True
        return figures


class Run:
    """One scenario on a cluster of its own, and what came of it."""

    def __init__(self, cluster, service):
        self.cluster, self.service, self.event = cluster, service, None
        self.probe = Probe(cluster).start()
        self.load = Load(service.connect, service.processes)
        self.followers = service.followers()

    def carry_out(self, scenario):
        """Ends with every node rejoined and the time after that waited for."""
        self.load.start()
        for follower in self.followers:
            follower.start()
        time.sleep(WARM_SECONDS)
        if not self.is_steady():
            raise Fault(f"the load does not run: {self.load.counts} {self.load.faults[:3]}")
        SCENARIOS[scenario](self, self.cluster.primary())
        self.cluster.wait_whole(150)
        time.sleep(REJOINED_SECONDS)
        end = time.monotonic()
        self.load.stop()
        self.probe.stop()
        self.cluster.settle()
        self.service.check_alive()
        return self.figures(end)

    def mark(self):
        """The moment from which is measured."""
        self.event = time.monotonic()

    def wait_recovered(self, lost):
        """Until another than the lost node leads, every process acknowledges writes again, and
        some seconds of load went on."""
        time.sleep(STEADY_SECONDS)
        what = "every process acknowledges writes again"
        until(lambda: self.is_steady() and self.is_led_by_another(lost), OUTAGE_SECONDS_MAX, what)
        time.sleep(AFTER_SECONDS)

    def is_steady(self):
        self.service.check_alive()
        since = time.monotonic() - STEADY_SECONDS
        recent = (moments[-STEADY_COUNT:] for moments in self.load.moments)
        return all(len(last) == STEADY_COUNT and last[0] > since for last in recent)

    def is_led_by_another(self, lost):
        return lost is None or any(
            node.api("/primary")[0] == 200 for node in self.cluster.nodes if node is not lost
        )

    def figures(self, end):
        load, told = self.load, Figures()
        begin = self.event
        pauses = gaps(load.all_moments(), begin, end, longer_than=0)
        told.gap = max(b - a for a, b in pauses)
        answers = list(self.probe.answers)
        told.recovery = max(recovery(moments, answers, begin, end) for moments in load.moments)
        told.acknowledged, told.repeated = len(load.acknowledged), len(load.repeated)
        told.counts = load.counts
        told.faults += load.faults[:10]
        if load.given_up:
            told.faults.append(f"{len(load.given_up)} writes were never acknowledged")
        told.lost, missing = self.missing()
        told.doubled, problems = self.service.doubled(load)
        told.faults += missing + problems[:10]
        for follower in self.followers:
            told.faults += follower.end()
        return told

    def missing(self):
        """How many acknowledged users are missing anywhere, and where how many."""
        ids = list(self.load.acknowledged.values())
        known, lost, told = set(ids), set(), []
        places = [
            (f"process {process + 1}", self.service.look_up(process, ids))
            for process in range(self.service.processes)
        ]
        places += [
            (node.name, set(node.psql("roster", "SELECT id FROM users")))
            for node in self.cluster.nodes
        ]
        for place, found in places:
            if absent := known - found:
                told.append(f"{len(absent):,} acknowledged users are missing in {place}")
                lost |= absent
        return len(lost), told
