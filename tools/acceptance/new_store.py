"""`roster import` makes a whole store or none.

It is killed at random times and leaves no database, or a whole one. Then it imports 1,000,000 users, a thousandth of
which are refused, `roster check` finds no fault, and the service finds each user of a sample.
"""

import json
import random
import sqlite3
import subprocess
import time
from contextlib import closing

from engines import Sqlite
from service import Workplace, arguments
from tenants_client import check, conclude, expect, operator, running

PLACES = ("Sales", "Engineering", "Finance", "Legal")


def user(number):
    # Refused: the same username in other letters.
    name = f"USER{number - 1}" if number % 1000 == 999 else f"user{number}"
    return {
        "username": name, "email": f"user{number}@example.com", "external_id": f"emp{number}",
        "given_name": "Ada", "family_name": f"Lovelace {number % 4000}",
        "name": f"Ada Lovelace {number % 4000}", "department": PLACES[number % 4],
        "title": "Engineer",
    }  # fmt: skip


def importing(options, place):
    command = [options.binary, "import", "--data", place / "new", place / "users.ndjson"]
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def whole(options, place):
    began = time.monotonic()
    process = importing(options, place)
    results = process.communicate()[0].splitlines()
    took = time.monotonic() - began
    refused = options.users // 1000
    expect(process.returncode == 7, f"an import ended with {process.returncode}")
    expect(len(results) == refused, f"{len(results)} lines were refused, not {refused}")
    codes = {json.loads(result)["problem"]["code"] for result in results}
    expect(codes == {"username-taken"}, f"lines were refused with {codes}")
    rate = options.users / took
    print(f"{options.users} users in {took:.1f} s, {rate:.0f} a second", flush=True)
    return took


def killed(options, place, took):
    chance = random.Random(options.seed)
    for _ in range(options.kills):
        process = importing(options, place)
        time.sleep(chance.uniform(0, took))
        ended = process.poll() is not None
        process.kill()
        process.communicate()
        file = place / "new" / "roster.db"
        expect(file.exists() or not ended, "an import that ended has made no database")
        if file.exists():
            # It was killed between its last step and its end.
            with closing(sqlite3.connect(file)) as database:
                made = database.execute("SELECT count(*) FROM users").fetchone()[0]
            total = options.users - options.users // 1000
            expect(made == total, f"a killed import left a database of {made} users")
            for one in (place / "new").glob("roster.db*"):
                one.unlink()


def read(options, place):
    with running(Sqlite(), options, place / "new") as service:
        check(options, service)
        connection = operator(service).connect()
        answer = connection.request("GET", "/users?limit=1&count=true")
        total = options.users - options.users // 1000
        expect(answer.json()["total"] == total, f"the users were counted: {answer}")
        chance = random.Random(options.seed)
        for _ in range(options.sample):
            number = chance.randrange(options.users)
            answer = connection.request("GET", f"/users?email=user{number}@example.com")
            found = answer.json()["items"]
            expected = [] if number % 1000 == 999 else [user(number)]
            same = [{name: one[name] for name in user(number)} for one in found] == expected
            expect(same, f"user {number} was answered {answer}")


def main():
    options = arguments(
        __doc__,
        users=(1_000_000, 20_000, "lines of the file"),
        kills=(30, 5, "imports that are killed"),
        sample=(5000, 500, "users to find"),
    )

    def command():
        with (place / "users.ndjson").open("w") as file:
            file.writelines(json.dumps(user(number)) + "\n" for number in range(options.users))
        took = whole(options, place)
        (place / "new" / "roster.db").unlink()
        killed(options, place, took)
        whole(options, place)
        read(options, place)

    with Workplace("new-store") as place:
        conclude("new_store", command)


if __name__ == "__main__":
    main()
