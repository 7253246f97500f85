"""Random users go from one service to another as CSV, and are equal there.

The texts begin and end with what CSV and spreadsheets treat in a special way. The CSV is also read
by Python's `csv`, and each text compared with the record.
"""

import csv
import io
import json
import random
import sys
import unicodedata

from service import encode

NDJSON, CSV = "application/x-ndjson", "text/csv"
SPECIAL = ["'", "=", "+", "-", "@", '"', '""', ",", ";", "|", "(", ")", "!", "''=", "null", "[]"]
# Only attributes may have these.
INVISIBLE = ["\t", "\n", "\r", "\r\n", " ", "\u2028", "\u200f"]
TEXTS = "nickname display_name title department division name given_name family_name".split()
DECLARED = {
    "note": ("string", False),
    "tags": ("string", True),
    "level": ("integer", False),
    "levels": ("integer", True),
    "score": ("number", False),
    "on": ("boolean", False),
    "since": ("date_time", False),
}
CHANGES = ("version", "created_at", "updated_at")


def character(chance):
    while True:
        found = chr(chance.choice((chance.randrange(0x20, 0x250), chance.randrange(0x2FA20))))
        # Letters, numbers, punctuation and symbols.
        if unicodedata.category(found)[0] in "LNPS":
            return found


def text(chance, further=(), most=12):
    parts = []
    for _ in range(chance.randint(1, most)):
        special = chance.random() < 0.5
        parts.append(chance.choice(SPECIAL + list(further)) if special else character(chance))
    return "".join(parts)


def user(number, chance):
    body = {"username": f"user{number}", "attributes": attributes(chance)}
    for member in TEXTS:
        if chance.random() < 0.5:
            body[member] = text(chance)
    addresses = [f"{chance.choice('+-=_')}{number}.{n}@bücher.example" for n in range(4)]
    body["emails"] = [{"value": value} for value in addresses[: chance.randint(0, 4)]]
    for entry in body["emails"]:
        if chance.random() < 0.5:
            entry["type"] = chance.choice(("work", "home"))
        if chance.random() < 0.3:
            entry["display"] = text(chance)
    if body["emails"] and chance.random() < 0.7:
        chance.choice(body["emails"])["primary"] = True
    if chance.random() < 0.3:
        body["phone_number"] = f"+49 (30) {number}"
    if chance.random() < 0.3:
        body["addresses"] = [{"formatted": text(chance), "country": "DE"} for _ in range(2)]
    return body


def attributes(chance):
    def anything():
        return text(chance, INVISIBLE)

    makers = {
        "note": lambda: chance.choice((anything, str))(),
        "tags": lambda: [anything() for _ in range(chance.randint(0, 3))],
        "level": lambda: chance.choice((0, -1, 2**63 - 1, -(2**63))),
        "levels": lambda: [-1, 2],
        "score": lambda: chance.choice((0.5, -1.5e-300, 12, -7)),
        "on": lambda: chance.random() < 0.5,
        "since": lambda: "2026-11-26T01:02:03.004Z",
        "own": anything,
        "Own.nested": lambda: {anything(): [anything(), None, {"": ""}]},
    }
    return {name: make() for name, make in makers.items() if chance.random() < 0.6}


def declare(service):
    members = [
        {"name": name, "type": kind, "multi_valued": many}
        for name, (kind, many) in DECLARED.items()
    ]
    answer = service.connect().request("PUT", "/schema", {"attributes": members})
    if answer.status != 200:
        raise SystemExit(f"the schema was answered {answer}")


def imported(service, target, body, media, fault):
    """Imports a body that is valid in each line."""
    headers = {"Content-Type": media}
    answer = service.connect(600).request("POST", target, body, headers)
    lines = answer.body.splitlines() if answer.status == 200 else [answer.body]
    for line in lines:
        if b'"status":201' not in line and b'"done":true' not in line:
            fault(f"round trip as {media}: {line[:600].decode('utf-8', 'replace')}")


def exported(service, media, target="/bulk/users"):
    answer = service.connect(600).request("GET", target, headers={"Accept": media})
    if answer.status != 200:
        raise SystemExit(f"the export was answered {answer}")
    return answer.body


def without(record, names=CHANGES):
    return {name: value for name, value in record.items() if name not in names}


def value(cell):
    """The value of a cell, without the apostrophe before what a spreadsheet would execute."""
    rest = cell.lstrip("'")
    is_marked = rest != cell and rest.startswith(("=", "+", "-", "@", "\t", "\r"))
    return cell[1:] if is_marked else cell


def check_cells(body, records, fault):
    """Reads the rows of an export with another reader, and compares them with the records."""
    csv.field_size_limit(sys.maxsize)
    rows = csv.DictReader(io.StringIO(body.decode(), newline=""))
    for row, record in zip(rows, records, strict=True):
        declared = record.get("attributes", {})
        for name, cell in row.items():
            stored = record.get(name)
            if name.startswith("attributes."):
                stored = declared.get(name.partition(".")[2])
            if name in ("attributes", "emails", "phone_numbers") or stored == "":
                continue
            shown = value(cell)
            if stored is not None and not isinstance(stored, str):
                shown = json.loads(shown)
            elif stored is None:
                stored = ""
            if shown != stored:
                fault(f"the cell {name} of {record['id']} is {cell!r}, the value {stored!r}")
            if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
                fault(f"a spreadsheet executes the cell {name} of {record['id']}: {cell!r}")


def round_trip(store, options, place, fault):
    chance = random.Random(f"{options.seed}/round trip")
    users = [user(number, chance) for number in range(options.round_trip)]
    services = [store.service(options.binary, place / name) for name in ("first", "second")]
    first, second = services
    try:
        for service in services:
            service.start()
            declare(service)
        body = b"".join(encode(one) + b"\n" for one in users)
        imported(first, "/bulk/users", body, NDJSON, fault)
        table = exported(first, CSV)
        imported(second, "/bulk/users?keep_ids=true", table, CSV, fault)
        before, after = (
            [json.loads(line) for line in exported(service, NDJSON).splitlines()]
            for service in services
        )
        if len(before) != len(users) or len(after) != len(users):
            fault(f"round trip: {len(users):,} users, {len(before):,} and {len(after):,} stored")
        for one, other in zip(before, after):
            if without(one) != without(other):
                fault(f"round trip: {without(one)} became {without(other)}")
        check_cells(table, before, fault)
        tables = [
            [without(row) for row in csv.DictReader(io.StringIO(text.decode(), newline=""))]
            for text in (table, exported(second, CSV))
        ]
        if tables[0] != tables[1]:
            fault("round trip: the second table differs from the first one")
    finally:
        for service in services:
            service.stop()
            store.discard(service)
