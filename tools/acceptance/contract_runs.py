"""schemathesis against the running binary: all checks and phases, one run for each seed. A slice
leaves out the phase `coverage`, which takes six times as long as all others.

Each seed gets a service with an empty collection and a key with every scope, because the first key
that the run itself creates would end its own access. SCIM requests are parsed tolerantly with odd
seeds, strictly with even ones. schemathesis.toml lists the deviations from the defaults of
schemathesis, with reasons. In addition to the result of each run, the number of cases must reach
the requested number.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from engines import engine
from service import Workplace, arguments

HERE = Path(__file__).resolve().parent
# All scopes but webhooks:admin, because webhooks would call whatever hosts the run makes up, and
# audit:read.
SCOPES = [
    "users:read", "users:write", "users:purge", "events:read", "metrics:read", "keys:admin",
    "schema:write", "scim", "tenants:admin",
]  # fmt: skip


def make_key(service, seed):
    """Creates the key that the run uses, and closes the service."""
    scopes = SCOPES if seed % 2 else [*SCOPES, "scim:strict"]
    connection = service.connect()
    body = {"name": "schemathesis", "scopes": scopes, "tenants": "all"}
    answer = connection.request("POST", "/keys", body)
    connection.close()
    if answer.status != 201:
        raise SystemExit(f"a key was answered {answer}")
    return answer.json()


def run(service, place, seed, options):
    """One run. Returns its report as JSON and its exit code."""
    key = make_key(service, seed)
    report = place / f"report-{seed}.json"
    url = f"http://{service.address[0]}:{service.address[1]}/openapi.json"
    phases = "examples,fuzzing,stateful" + ("" if options.slice else ",coverage")
    command = [
        Path(sys.executable).parent / "schemathesis",
        f"--config-file={HERE / 'schemathesis.toml'}",
        "run", url, f"--seed={seed}", f"--max-examples={options.max_examples}",
        "--header", f"Authorization: Bearer {key['key']}",
        "--checks=all", f"--phases={phases}", "--continue-on-failure",
        "--report=json", f"--report-json-path={report}", "--no-color",
    ]  # fmt: skip
    output = place / f"output-{seed}.txt"
    with open(output, "wb") as out:
        code = subprocess.run(
            [str(part) for part in command],
            cwd=place, stdout=out, stderr=out, env=environment(key["id"]), check=False,
        ).returncode  # fmt: skip
    if code != 0 or not report.exists():
        print(output.read_text(encoding="utf-8", errors="replace")[-12000:])
    return (json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}), code


def environment(own_key_id):
    """The environment: no proxy between the tool and a loopback address, and our hooks."""
    ours = os.environ.items()
    kept = {name: value for name, value in ours if not name.lower().endswith("_proxy")}
    hooks = {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE)}
    return {**kept, **hooks, "NO_PROXY": "127.0.0.1", "OWN_KEY_ID": own_key_id}


def main():
    options = arguments(
        __doc__,
        engines=True,
        seeds=(3, 1, "seeds to run, counted up from --seed"),
        max_examples=(1000, 5, "examples of each operation and phase"),
        cases=(50_000, 500, "cases there must be in all"),
    )
    total, faults = 0, []
    with Workplace("schemathesis") as place, engine(options) as store:
        for seed in range(options.seed, options.seed + options.seeds):
            service = store.service(options.binary, place / f"data-{seed}")
            service.start()
            try:
                report, code = run(service, place, seed, options)
                alive = service.process.poll() is None
            finally:
                service.stop()
            cases = report.get("test_cases", {})
            total += cases.get("generated", 0)
            phases = {name: phase["status"] for name, phase in report.get("phases", {}).items()}
            print(
                f"seed {seed}: {cases.get('generated', 0):,} cases, "
                f"{cases.get('unique_failures', '?')} failures, {len(report.get('errors', []))} "
                f"errors, {report.get('operations', {}).get('tested')} operations, {phases}, "
                f"{report.get('running_time', 0):.0f} s",
                flush=True,
            )
            if code != 0:
                faults.append(f"seed {seed}: schemathesis exited {code}")
            if not alive:
                faults.append(f"seed {seed}: the service ended during the run")
        print(f"schemathesis ({options.engine}): {total:,} cases in all")
        if total < options.cases:
            faults.append(f"{options.cases:,} cases were asked for")
        for fault in faults:
            print(fault)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
