"""A store to migrate, with many users and every kind of change.

One user in fifty is Faker's, with every member of the record; the others are typical for a
directory. They are imported as one stream. Creates, replaces, patches, deletes, restores and purges
follow, and requests with an Idempotency-Key, some of which change nothing.
"""

import json
import random

import faker_users
import mixed_writers
from audit import Fault
from bulk_roundtrip import Stream

FAKER_SHARE = 50
WRITERS = 8
FIRST = "Ada Grace Alan Edsger Barbara Donald Frances John Jean Kathleen Margaret Radia".split()
SYLLABLES = "ka lo mi ra te no va do sen ber hau mann ski ez ian wood ford ley ton field".split()
DEPARTMENTS = ("Engineering", "Sales", "Support", "Finance", "Research")


def plain(number, chance):
    """A typical user of a directory."""
    given = chance.choice(FIRST)
    family = "".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))).title()
    username = f"{given}.{family}.{number}".lower()
    user = {
        "username": username,
        "email": f"{username}@example.{chance.choice(('com', 'org', 'net'))}",
        "name": f"{given} {family}",
        "given_name": given,
        "family_name": family,
        "phone_number": f"+44 20 {chance.randrange(10**7):07}",
        "locale": chance.choice(("en-GB", "de-DE", "fr-FR")),
        "zoneinfo": "Europe/London",
        "title": "Engineer",
        "department": chance.choice(DEPARTMENTS),
        "organization": "Example Ltd",
        "attributes": {"team": chance.choice(("core", "edge", "web")), "badge": number},
    }
    if number % 3 == 0:
        user["external_id"] = f"hr-{number:08}"
    if number % 20 == 0:
        emails = [{"value": user["email"], "primary": True}, {"value": f"alt{number}@example.org"}]
        user["emails"] = emails
    return user


def write_users(place, count, seed):
    """The stream of all users."""
    chance, path = random.Random(seed), place / "users.ndjson"
    faker = [open(file, encoding="utf-8") for file in faker_users.make(
        place, max(1, count // FAKER_SHARE), seed
    )]
    rare = (line for file in faker for line in file)
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            line = next(rare, None) if number % FAKER_SHARE == 0 else None
            out.write(line or json.dumps(plain(number, chance)) + "\n")
    for file in faker:
        file.close()
    return path


def fill(service, place, options):
    """Fills a running service. Returns the requests with a key, each with its response."""
    stream = Stream(service, write_users(place, options.users, options.seed))
    last = {}
    for text in stream.verdicts():
        last = json.loads(text)
        if last.get("status", 201) != 201:
            raise Fault(f"a user was refused: {last}")
    if last.get("created") != options.users:
        raise Fault(f"the users did not all go in: {last}")
    each = options.changes // WRITERS
    writers = [
        mixed_writers.MixedWriter(service, number, options.seed, each) for number in range(WRITERS)
    ]
    if fault := mixed_writers.run(writers):
        raise Fault(fault)
    print(f"filled with {options.users:,} users, then {mixed_writers.counts(writers)}", flush=True)
    return [keyed(service, number) for number in range(options.keyed)]


def keyed(service, number):
    """A repeatable request: a create, or a patch that changes nothing."""
    connection = service.connect()
    headers = {"Idempotency-Key": f'"migrated-{number}"'}
    request = ("POST", "/users", {"username": f"keyed{number}"}, headers)
    if number % 2:
        users = connection.request("GET", "/users?limit=1000").json()["items"]
        request = ("PATCH", f"/users/{users[number % len(users)]['id']}", {}, headers)
    answer = connection.request(*request)
    connection.close()
    if answer.status not in (200, 201):
        raise Fault(f"{request} was answered {answer}")
    return request, answer
