#!/usr/bin/env python3
"""Builds the tests of the workspace once and runs their programs concurrently.

    tools/run_tests.py [--whole] [CARGO ARGUMENT...] [-- TEST ARGUMENT...]

`cargo test` runs one program after another. Many tests wait for a timer or a disk, so processors
are idle meanwhile. This script runs as many programs at once as there are processors, and twice as
many tests of those that mostly wait; with more programs, a PostgreSQL statement may take longer than
the engine waits for it. The output of each program is
printed when it has ended. Examples in the documentation are not run.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

# These take longest, so they start first.
LONGEST = (
    "rest", "conformance", "roster_postgres", "sequences", "webhooks", "client", "migrate", "scim",
    "housekeeping", "oracle", "front", "database", "reports",
)  # fmt: skip

# Their tests mostly wait, for a timer or for PostgreSQL, so they run more of them at once.
WAITING = (
    "client", "database", "faults", "front", "housekeeping", "migrate", "rest", "roster_postgres",
    "webhooks",
)  # fmt: skip

# The arguments of the runs of a program; one run without arguments, if it is not here.
#
# `conformance` and `sequences` prove that the engines behave alike, so over PostgreSQL a slice of the
# cases of the interfaces is enough: what writes, reads and follows in each way, and what runs at the
# same time. The cases of `conformance` whose names begin with `a`, which is half of them, run over
# PostgreSQL with ordinary settings in another step of ./test, over the newest server; the others run
# here with small buffers and limits. Over SQLite all run with ordinary settings, one half again with
# small buffers and the other in a tenant. The ledgers of `rest` and `scim` run each case over the oracle.
# `--whole` runs all.
RUNS = {
    ("roster", "rest"): [["--skip", "oracle::"]],
    ("roster", "scim"): [["--skip", "oracle::"]],
}
SLICE = {
    ("roster-postgres", "conformance"): [["postgres_cramped::", "--skip", "cramped::a"]],
    ("roster-sqlite", "conformance"): [
        ["--skip", "sqlite_tenant::", "--skip", "cramped::a"], ["sqlite_tenant::a"],
    ],
    ("roster", "rest"): [
        ["--skip", "oracle::", "--skip", "postgres::"],
        [
            "postgres::a_restore_brings", "postgres::a_revoked_key", "postgres::a_purge_leaves",
            "postgres::declared_members", "postgres::delete_users", "postgres::every_order",
            "postgres::every_way", "postgres::get_users", "postgres::groups_stand",
            "postgres::members_join", "postgres::one_of_many", "postgres::paging_returns",
            "postgres::post_users", "postgres::put_users", "postgres::readiness",
            "postgres::responses_", "postgres::users_that_match", "postgres::what_came_out",
        ],
    ],
    ("roster", "scim"): [
        ["--skip", "oracle::", "--skip", "postgres::"],
        [
            "postgres::b1", "postgres::both_interfaces", "postgres::every_attribute",
            "postgres::groups_are_found", "postgres::memberships", "postgres::paging_by",
            "postgres::patches_at_once", "postgres::random_filters", "postgres::users_come",
        ],
    ],
    ("roster", "reports"): [["--skip", "over_postgres"]],
}  # fmt: skip


def programs(words):
    """Builds the tests. Returns the name, the package folder and the path of each program."""
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", *words]
    command.append("--message-format=json-render-diagnostics")
    built = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        sys.exit(built.returncode)
    found = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"]:
            if message["profile"]["test"]:
                folder = Path(message["manifest_path"]).parent
                found.append((message["target"]["name"], folder, message["executable"]))
    return sorted(found, key=lambda one: LONGEST.index(one[0]) if one[0] in LONGEST else 99)


def run(name, folder, program, words):
    """Runs one program as cargo does. Returns whether it passed."""
    began = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder)}
    if name in WAITING:
        environment.setdefault("RUST_TEST_THREADS", str(2 * (os.cpu_count() or 1)))
    done = subprocess.run(
        [program, *words],
        cwd=folder, env=environment, text=True, errors="replace", check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    seconds = time.monotonic() - began
    passed = done.returncode == 0
    lines = done.stdout.splitlines()
    shown = [line for line in lines if line.startswith("test result:")] if passed else lines
    outcome = "ok" if passed else f"FAILED with {done.returncode}"
    head = f"{folder.name} {name}: {outcome}, {seconds:.0f} s"
    print("\n  ".join([head, *shown]), flush=True)
    return passed


def main():
    words = sys.argv[1:]
    runs = RUNS if "--whole" in words else RUNS | SLICE
    words = [word for word in words if word != "--whole"]
    end = words.index("--") if "--" in words else len(words)
    all_programs = programs(words[:end])
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        running = [
            pool.submit(run, name, folder, program, [*words[end + 1 :], *arguments])
            for name, folder, program in all_programs
            for arguments in runs.get((folder.name, name), [[]])
        ]
        failed = sum(not done.result() for done in as_completed(running))
    print(f"{len(running)} runs of {len(all_programs)} programs, {failed} failed")
    sys.exit(1 if failed or not all_programs else 0)


if __name__ == "__main__":
    main()
