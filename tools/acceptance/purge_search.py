"""After a purge no file of the data directory holds a byte of the person.

People with names, addresses and telephone numbers that stand nowhere else are created, changed,
deleted and purged among others who stay, while other connections write. Then every file in the
data directory is searched for each of their strings, as typed and in the forms that keys take:
nothing may be found, first with the service running, then after it stopped.
"""

import random
import string
import sys
import time

import mixed_writers
from service import Service, Workplace, arguments

WITHIN_SECONDS = 30


def person(chance, number):
    """A body, and every string that must vanish."""
    mark = "".join(chance.choices(string.ascii_letters, k=12))
    digits = "".join(chance.choices(string.digits, k=11))
    body = {
        "username": f"U{mark}",
        "email": f"Mail{mark}@example.com",
        "emails": [
            {"value": f"Mail{mark}@example.com", "primary": True},
            {"value": f"Second{mark}@example.org", "type": "home"},
        ],
        "name": f"Given{mark} Family{mark}",
        "given_name": f"Given{mark}",
        "family_name": f"Family{mark}",
        "phone_number": f"+{digits}",
        "external_id": f"ext-{mark}",
        "attributes": {"note": f"Note{mark} " * chance.choice((1, 5, 60, 600))},
    }
    return body, [mark, mark.lower(), digits]


def live_through(connection, chance, body):
    """Creates, changes, deletes and purges one person."""

    def expect(status, *request):
        answer = connection.request(*request)
        if answer.status != status:
            raise SystemExit(f"{request[:2]} was answered {answer}")
        return answer

    user = expect(201, "POST", "/users", body, {"Idempotency-Key": body["username"]}).json()["id"]
    for _ in range(chance.randrange(6)):
        note = {"note": body["attributes"]["note"][: chance.randrange(6000)] or "-"}
        patch = {"attributes": note, "nickname": body["name"][: chance.randrange(1, 20)]}
        expect(200, "PATCH", f"/users/{user}", patch)
    if chance.random() < 0.3:
        expect(204, "DELETE", f"/users/{user}")
        expect(200, "POST", f"/deleted-users/{user}/restore")
    expect(204, "DELETE", f"/users/{user}")
    return user


def search(data, marks):
    """The strings that stand in a file, with the file."""
    found = []
    for path in sorted(data.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            found += [(path.name, mark) for mark in marks if mark.encode() in content]
    return found


def main():
    options = arguments(
        __doc__,
        people=(500, 40, "people to purge"),
        others=(20_000, 400, "changes of others meanwhile"),
    )
    chance = random.Random(options.seed)
    with Workplace("purge") as place:
        service = Service(options.binary, place / "data")
        service.start()
        writers = [
            mixed_writers.MixedWriter(service, number, options.seed, options.others // 4)
            for number in range(4)
        ]
        try:
            for writer in writers:
                writer.start()
            connection, users, marks = service.connect(), [], []
            for number in range(options.people):
                body, strings = person(chance, number)
                users.append(live_through(connection, chance, body))
                marks += strings
            if not search(service.data, marks):
                raise SystemExit("nothing is found before the purge: the search proves nothing")
            chance.shuffle(users)
            for user in users:
                answer = connection.request("DELETE", f"/deleted-users/{user}")
                if answer.status != 204:
                    raise SystemExit(f"the purge of {user} was answered {answer}")
            for writer in writers:
                writer.join()
            faults = [writer.fault for writer in writers if writer.fault]
            began = time.monotonic()
            while found := search(service.data, marks):
                if time.monotonic() - began > WITHIN_SECONDS:
                    break
                time.sleep(0.25)
            seconds = time.monotonic() - began
        finally:
            service.stop()
        faults += [f"{name} holds {mark} while the service runs" for name, mark in found]
        faults += [f"{name} holds {mark} at the end" for name, mark in search(service.data, marks)]
        for fault in faults[:10]:
            print(fault)
        print(
            f"purge: {len(users):,} people, {len(marks):,} strings, searched {seconds:.1f} s after "
            f"the last purge and after the stop; {len(faults)} hits"
        )
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
