"""A backup that is made under full write load restores to a prefix of the log.

16 writers make mixed changes. Meanwhile `roster backup` runs several times on the data directory of
the running service. Each backup is restored into a new directory and checked (`roster check`). Its
change log must equal the beginning of the service's final log, event for event, except for records
that a later purge removed. Its users must be those that follow from these events. (A test of
roster-sqlite checks that a damaged backup is rejected.)
"""

import shutil
import sqlite3
import subprocess
import sys
import time

import mixed_writers
from audit import Fault, audit
from engines import Sqlite
from service import Service, Workplace, arguments, percentile

WRITERS = 16
LOG = "SELECT position, kind, at, actor, subject_id, version, changed, record FROM events"


def roster(options, *words):
    """Runs a command of the binary. Returns its result."""
    command = [str(options.binary), *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def expect_success(result):
    if result.returncode != 0:
        raise Fault(f"{result.args[1:3]} exited {result.returncode}: {result.stderr.strip()}")


def log_of(data):
    connection = sqlite3.connect(data / "roster.db")
    try:
        return connection.execute(f"{LOG} ORDER BY position").fetchall()
    finally:
        connection.close()


def hold(backup, truth, purged):
    """Compares the backup's log with the final log of the service. Returns the number of its
    events.
    """
    *events, forked = log_of(backup)
    if forked[1] != "log.forked":
        raise Fault(f"the log of the restored backup ends with {forked}")
    for before, after in zip(events, truth):
        same = before[:-1] == after[:-1] and before[-1] == after[-1]
        emptied = before[:-1] == after[:-1] and after[-1] == "" and after[4] in purged
        if not same and not emptied:
            raise Fault(f"event {before[0]} of the backup is {before}, in truth {after}")
    if len(events) > len(truth):
        raise Fault(f"the backup holds {len(events)} events, the truth {len(truth)}")
    return len(events)


def main():
    options = arguments(
        __doc__,
        backups=(10, 2, "backups to take"),
        seconds=(60, 4, "seconds of writing"),
    )
    took, positions, faults = [], [], []
    with Workplace("backup") as place:
        service = Service(options.binary, place / "data")
        service.start()
        writers = [mixed_writers.MixedWriter(service, n, options.seed) for n in range(WRITERS)]
        try:
            for writer in writers:
                writer.start()
            for number in range(options.backups):
                time.sleep(options.seconds / (options.backups + 1))
                began = time.monotonic()
                backup = place / f"backup{number}"
                expect_success(roster(options, "backup", "--data", service.data, backup))
                took.append(time.monotonic() - began)
            time.sleep(options.seconds / (options.backups + 1))
            for writer in writers:
                writer.done.set()
            for writer in writers:
                writer.join()
            faults += [writer.fault for writer in writers if writer.fault]
            service.stop()
            audit(Sqlite(), service)
            expect_success(roster(options, "check", "--data", service.data))
            truth = log_of(service.data)
            purged = {event[4] for event in truth if event[1] == "user.purged"}
            for number in range(options.backups):
                restored = place / f"restored{number}"
                backup = place / f"backup{number}"
                expect_success(roster(options, "restore", backup, "--data", restored))
                expect_success(roster(options, "check", "--data", restored))
                audit(Sqlite(), Service("", restored))
                positions.append(hold(restored, truth, purged))
                shutil.rmtree(restored)
            if positions != sorted(set(positions)):
                raise Fault(f"later backups hold no more than earlier ones: {positions}")
        except Fault as fault:
            faults.append(str(fault))
        finally:
            for writer in writers:
                writer.done.set()
            service.process.poll() is None and service.stop()
        for fault in faults[:5]:
            print(fault)
        print(
            f"backup: {len(positions)} backups under {mixed_writers.counts(writers)}, each a "
            f"prefix of {len(truth) if positions else 0:,} events (at {positions}), p50 "
            f"{percentile(took, 0.5):.2f} s; {len(faults)} faults"
        )
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
