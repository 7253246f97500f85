"""A primary that dies in four ways, under a service that must lose nothing.

For each scenario: three etcd and three PostgreSQL with Patroni on loopback, processes of the
service in front, writers that record every acknowledged user. When every node has rejoined and a
further ttl + loop_wait has passed, each acknowledged user is looked up through each process and in
each node's database. Exit status 1 on a lost or doubled write, or when a process took more than
5 s to write after there was a writable primary. With `--expect-loss`, for a Patroni that is known
to lose: exit status 1 unless the freeze lost something, or the suite could not see a loss.
"""

import argparse
import signal
import sys
import time
import traceback
from importlib.metadata import version

from cluster import Cluster
from ground import ENDING, Fault, Ground
from roster import Roster
from scenarios import SCENARIOS, Figures, Run
from sql_client import SqlClients

RECOVERY_SECONDS_MAX = 5.0
SCENARIO_SECONDS_MAX = 600


def main():
    options = arguments()
    for number in ENDING:
        signal.signal(number, ended)
    signal.signal(signal.SIGALRM, too_long)
    rows, failed = [], False
    for name in options.scenario or SCENARIOS:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        figures = measured(name, options)
        bad = verdict(name, figures, options)
        failed |= bool(bad)
        for fault in bad:
            print(f"   {fault}")
        rows.append(row(name, figures, bad, time.monotonic() - began))
    print(f"\nPatroni {version('patroni')}, {described(options)}")
    for line in (TITLES, *rows):
        print("".join(f"{cell:>{width}}" for cell, width in zip(line, WIDTHS, strict=True)))
    sys.exit(1 if failed else 0)


def measured(name, options):
    """The figures of one scenario; what keeps it from its end is a fault among them."""
    try:
        with Ground(name, options.keep) as ground:
            signal.alarm(SCENARIO_SECONDS_MAX)
            try:
                figures = carried_out(name, options, ground)
            finally:
                signal.alarm(0)
            ground.keep |= bool(verdict(name, figures, options))
            return figures
    except Exception as error:  # noqa: BLE001
        if not isinstance(error, Fault):
            traceback.print_exc()
        return Figures.of_broken(error)


def carried_out(name, options, ground):
    cluster = Cluster(ground, sys.executable, options.bin_dir)
    cluster.start()
    if options.client == "sql":
        service = SqlClients(cluster)
    else:
        service = Roster(cluster, options.binary, options.processes)
    service.start()
    return Run(cluster, service).carry_out(name)


def verdict(name, figures, options):
    """Why the scenario failed, if it did."""
    if figures.broken:
        return figures.faults
    if options.expect_loss:
        shown = name != "frozen" or figures.lost > 0
        return [] if shown else ["nothing was lost: this suite would not see a loss"]
    bad = list(figures.faults)
    if figures.recovery > RECOVERY_SECONDS_MAX:
        bad.append(
            f"{figures.recovery:.1f} s passed with a writable primary before a process used it"
        )
    return bad


TITLES = (
    *("scenario", "write gap s", "acknowledged", "lost", "doubled", "recovery s"),
    *("503", "broken", "repeated", "took s", "verdict"),
)
WIDTHS = (18, 13, 14, 7, 9, 12, 7, 8, 10, 8, 9)


def row(name, figures, bad, seconds):
    if figures.broken:
        return (name, *("-",) * 8, f"{seconds:.0f}", "FAILED")
    broken = sum(count for kind, count in figures.counts.items() if kind != "503")
    return (
        *(name, f"{figures.gap:.1f}", f"{figures.acknowledged:,}", f"{figures.lost:,}"),
        *(f"{figures.doubled:,}", f"{figures.recovery:.1f}", f"{figures.counts.get('503', 0):,}"),
        *(f"{broken:,}", f"{figures.repeated:,}", f"{seconds:.0f}", "FAILED" if bad else "ok"),
    )


def described(options):
    if options.client == "sql":
        return "a client of SQL alone"
    return f"{options.processes} processes of {options.binary}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", help="the service, built")
    parser.add_argument("--bin-dir", required=True, help="where PostgreSQL's programs are")
    parser.add_argument("--processes", type=int, default=2, help="of the service (default 2)")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only this one")
    parser.add_argument("--expect-loss", action="store_true", help="the freeze must lose writes")
    parser.add_argument("--keep", action="store_true", help="leave the folders for a look")
    parser.add_argument(
        "--client", choices=("roster", "sql"), default="roster", help="who writes"
    )
    given = parser.parse_args()
    if given.client == "roster" and not given.binary:
        parser.error("--binary is needed")
    return given


def ended(number, _frame):
    raise SystemExit(128 + number)


def too_long(_number, _frame):
    raise Fault(f"the scenario did not end within {SCENARIO_SECONDS_MAX} s")


if __name__ == "__main__":
    main()
