"""The SCIM interface against scim2-tester, an independent test suite for SCIM 2.0 servers.

The real binary must pass every check of the suite, run by scim2-cli, twice: open, and with a key
that has only the scope `scim`. One error or failed check fails the command.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import engines
from service import Workplace, arguments

WITHIN_SECONDS = 300
OUTCOMES = ("SUCCESS", "ACCEPTABLE", "COMPLIANT", "SKIPPED", "DEVIATION", "ERROR", "CRITICAL")


def run_suite(service, key):
    """The result of each check, and the output."""
    url = f"http://{service.address[0]}:{service.address[1]}/scim/v2"
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    if key:
        environment["SCIM_CLI_HEADERS"] = f"Authorization: Bearer {key}"
    command = [Path(sys.executable).parent / "scim2", "--url", url, "test", "--verbose"]
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_SECONDS,
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    counts = {word: len(re.findall(rf"^{word}\b", text, re.MULTILINE)) for word in OUTCOMES}
    return done.returncode, counts, text


def make_key(service):
    """Creates a key with only the scope `scim`, which closes the service."""
    connection = service.connect()
    body = {"name": "scim2-tester", "scopes": ["scim"]}
    answer = connection.request("POST", "/keys", body)
    connection.close()
    if answer.status != 201:
        raise SystemExit(f"a key was answered {answer}")
    return answer.json()["key"]


def main():
    # The slice is the whole suite, because it takes only seconds.
    options = arguments(__doc__, engines=True)
    failed = False
    with engines.engine(options) as engine, Workplace("scim") as place:
        service = engine.service(options.binary, place / "data")
        service.start()
        try:
            for credential in ("none", "a key of scope scim"):
                key = make_key(service) if credential != "none" else None
                code, counts, text = run_suite(service, key)
                passed = sum(counts[word] for word in OUTCOMES[:3])
                wrong = sum(counts[word] for word in OUTCOMES[4:])
                told = ", ".join(f"{counts[word]} {word.lower()}" for word in OUTCOMES)
                print(f"scim: credential {credential}, {options.engine}: {told}")
                if code or wrong or not passed:
                    failed = True
                    print(text)
        finally:
            service.stop()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
