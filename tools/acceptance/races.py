"""Two writers who read the same version: exactly one wins.

Each race sends two PUTs of one user on two connections before it reads either answer. The version
that both read stands in If-Match, in the body's `version`, or in one of each. Exactly one must be
answered 200 and the other 412, and what is stored afterwards is what the winner wrote.
"""

import sys
import time

from engines import engine
from service import Workplace, arguments

USERS = 16
# How the first and the second writer say which version they read.
GUARDS = (("header", "header"), ("body", "body"), ("header", "body"), ("body", "header"))


def put(connection, user, guard, mark):
    """Sends a PUT of `user` changed by `mark`; the answer is read later."""
    body = {"username": user["username"], "email": user["email"], "nickname": mark}
    headers = {}
    if guard == "header":
        headers["If-Match"] = f'"{user["version"]}"'
    else:
        body["version"] = user["version"]
    connection.send("PUT", f"/users/{user['id']}", body, headers)


def race(number, pair, reader, user):
    """One race; returns what is wrong with it (or None) and the user as it stands after."""
    # Each of the two goes first in half of the races.
    first, second = pair if number // len(GUARDS) % 2 else reversed(pair)
    guards = GUARDS[number % len(GUARDS)]
    marks = (f"race {number} first", f"race {number} second")
    put(first, user, guards[0], marks[0])
    put(second, user, guards[1], marks[1])
    answers = (first.receive(), second.receive())
    stored = reader.request("GET", f"/users/{user['id']}").json()
    statuses = [answer.status for answer in answers]
    if sorted(statuses) != [200, 412]:
        return f"race {number} {guards}: {[str(answer) for answer in answers]}", stored
    winner = statuses.index(200)
    loser = answers[1 - winner].json()
    if loser.get("code") != "version-mismatch":
        return f"race {number}: the loser was told {loser}", stored
    if stored != answers[winner].json():
        return f"race {number}: {stored} is stored, not {answers[winner].json()}", stored
    if stored["nickname"] != marks[winner] or stored["version"] != user["version"] + 1:
        return f"race {number}: the winner wrote {marks[winner]}, stored is {stored}", stored
    return None, stored


def main():
    options = arguments(__doc__, engines=True, races=(10_000, 300, "races"))
    faults, run, first_won = [], 0, 0
    with Workplace("races") as place, engine(options) as store:
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            pair, reader = (service.connect(), service.connect()), service.connect()
            users = []
            for number in range(USERS):
                answer = reader.request("POST", "/users", {"email": f"racer{number}@example.com"})
                if answer.status != 201:
                    raise SystemExit(f"a racer was not created: {answer}")
                users.append(answer.json())
            began = time.monotonic()
            for number in range(options.races):
                fault, stored = race(number, pair, reader, users[number % USERS])
                users[number % USERS] = stored
                run += 1
                first_won += str(stored.get("nickname", "")).endswith("first")
                if fault:
                    faults.append(fault)
                    if len(faults) >= 5:
                        break
            seconds = time.monotonic() - began
        finally:
            service.stop()
        for fault in faults:
            print(fault)
        print(
            f"races ({options.engine}): {run:,} run, {len(faults)} wrong, the first to send "
            f"won {first_won}, {run / seconds:,.0f} races/s"
        )
        sys.exit(1 if faults or run != options.races else 0)


if __name__ == "__main__":
    main()
