"""A million Faker users are imported as CSV, also through kill -9, and exported equal.

One row in a hundred is invalid, in ten ways. Each result must have the line of its row, and for an
invalid one the column and the code. The export must return each valid user, member by member. The
same users are imported as NDJSON in turn with the CSV, and the two rates are compared. Another
service is killed five times in the middle of the import, and the whole file is sent again with
`on_conflict=skip` each time until it is complete; the same users must be stored. At last random
users with declared attributes and several addresses go from one service to a second one as CSV, and
must be equal there.
"""

import json
import random
import re
import socket
import sys
import threading
import time

import faker_users
from bulk_roundtrip import compare, watched
from csv_round_trip import round_trip
from engines import engine
from service import Workplace, arguments

MEMORY_MAX_MIB = 150
RATE_MIN = 0.8
KILLS = 5
BAD = 0.01
SHOWN = 5
ROW_BYTES_MAX = 128 * 1024
NDJSON, CSV = "application/x-ndjson", "text/csv"

MEMBERS = (
    "username email given_name family_name name middle_name display_name nickname honorific_prefix "
    "honorific_suffix status external_id emails email_verified phone_number phone_number_verified "
    "phone_numbers picture photos profile title organization user_type employee_number cost_center "
    "division department manager locale zoneinfo preferred_language addresses roles entitlements "
    "ims x509_certificates attributes"
).split()
# Some columns have the names of SCIM, and one is mapped by the request.
HEADERS = {"username": "userName", "given_name": "name.givenName", "email": "Mail"}
HEADER = [HEADERS.get(member, member) for member in MEMBERS]
IMPORT = "/bulk/users?map=Mail:email"
TELEPHONE = re.compile(r"\+[0-9 ()./-]+")

# kind -> (status, code, code of the first error, column); two kinds have two forms.
WANTED = {
    "a quotation mark inside": (400, "malformed-csv", "misquoted-cell", "nickname"),
    "a missing cell": (400, "malformed-csv", "missing-cell", HEADER[-1]),
    "a bad address": (422, "invalid-user", "invalid-email", "Mail"),
    "a taken username": (409, "username-taken", "username-taken", "userName"),
    "a long cell": (422, "invalid-user", "too-long", "nickname"),
    "Latin-1": (422, "invalid-user", "invalid-encoding", "nickname"),
    "a NUL": (422, "invalid-user", "control-character", "nickname"),
    "an extra cell": (400, "malformed-csv", "extra-cell", f"cell {len(HEADER) + 1}"),
    "a formula": (422, "invalid-user", "formula", "title"),
    "all cells empty": (422, "invalid-user", "required", "userName"),
    "an open quotation mark": (400, "malformed-csv", "misquoted-cell", "nickname"),
    "a long row": (413, "body-too-large", None, None),
}


def cell(value, number):
    """The cell of a value. An apostrophe is before what a spreadsheet would execute, except before
    half of the telephone numbers.
    """
    if value is None or value == []:
        return b""
    if not isinstance(value, str):
        # Some lists and objects have line ends in their cell.
        indent = 1 if number % 20 == 0 else None
        value = json.dumps(value, ensure_ascii=False, indent=indent)
    elif value.lstrip("'").startswith(("=", "+", "-", "@", "\t", "\r")):
        if number % 2 or not TELEPHONE.fullmatch(value):
            value = "'" + value
    if any(mark in value for mark in '",\r\n'):
        value = '"' + value.replace('"', '""') + '"'
    return value.encode()


def bad_row(kind, chance, known):
    """A row of this kind. `known` is the username of an earlier row."""
    cells = dict.fromkeys(MEMBERS, b"")
    cells["username"] = b"u%d" % chance.getrandbits(60)
    if kind == "a quotation mark inside":
        cells["nickname"] = b'"Ada "the first" L"'
    elif kind == "an open quotation mark":
        cells["nickname"] = b'"Ada'
    elif kind == "a bad address":
        cells["email"] = b"no address"
    elif kind == "a taken username":
        cells["username"] = cell(known, 0)
    elif kind == "a long cell":
        cells["nickname"] = b"x" * 300
    elif kind == "a long row":
        cells["nickname"] = b"x" * (ROW_BYTES_MAX + 1)
    elif kind == "Latin-1":
        cells["nickname"] = b"Zo\xeb"
    elif kind == "a NUL":
        cells["nickname"] = b"a\0b"
    elif kind == "a formula":
        cells["title"] = b"=cmd|' /C calc'!A0"
    elif kind == "all cells empty":
        cells["username"] = b""
    row = list(cells.values())
    if kind == "a missing cell":
        row.pop()
    elif kind == "an extra cell":
        row.append(b"")
    return b",".join(row) + b"\r\n"


class File:
    """The CSV file, and the same valid users as NDJSON."""

    def __init__(self, place, sources, seed):
        self.csv, self.ndjson = place / "users.csv", place / "users.ndjson"
        # The kind of each row, None for a valid one, and the line where it begins.
        self.rows, self.good, self.line = [], 0, 1
        chance, known = random.Random(seed), None
        with open(self.csv, "wb") as out, open(self.ndjson, "wb") as lines:
            self.write(out, None, ",".join(HEADER).encode() + b"\r\n")
            for user in self.users(sources, lines):
                if known and chance.random() < BAD:
                    kind = list(WANTED)[self.bad % len(WANTED)]
                    self.write(out, kind, bad_row(kind, chance, known))
                cells = [cell(user.get(member), self.good) for member in MEMBERS]
                self.write(out, None, b",".join(cells) + b"\r\n")
                self.good += 1
                if user.get("username") and (known is None or chance.random() < 0.01):
                    known = user["username"]
        del self.rows[0]

    def write(self, out, kind, row):
        self.rows.append((self.line, kind))
        self.line += row.count(b"\n")
        out.write(row)

    @property
    def bad(self):
        return len(self.rows) - 1 - self.good

    @staticmethod
    def users(sources, lines):
        for source in sources:
            with open(source, "rb") as users:
                for line in users:
                    lines.write(line)
                    yield json.loads(line)


class Import(threading.Thread):
    """An import. One thread sends the file; the caller reads results into another file.

    `held` is the share of the file that is not sent, so that the import cannot end.
    """

    def __init__(self, service, path, target, media, held=0.0):
        super().__init__(daemon=True)
        self.path, self.size = path, path.stat().st_size
        self.sent = int(self.size * (1 - held))
        self.connection = socket.create_connection(service.address, 600)
        host = f"{service.address[0]}:{service.address[1]}"
        self.head = (
            f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {media}\r\n"
            f"Content-Length: {self.size}\r\nConnection: close\r\n\r\n"
        )
        self.start()

    def run(self):
        try:
            self.connection.sendall(self.head.encode())
            with open(self.path, "rb") as body:
                self.connection.sendfile(body, 0, self.sent)
        except OSError:
            pass  # The service was killed; the reader sees it too.

    def read(self, out, until=None):
        """Writes results to `out`. Returns their number, at the end or once it reaches `until`."""
        count = 0
        with self.connection.makefile("rb", 1 << 20) as answer:
            status = answer.readline()
            headers = b"".join(iter(answer.readline, b"\r\n")).lower()
            if b" 200 " not in status or b"transfer-encoding: chunked" not in headers:
                raise SystemExit(f"the import was answered {status} {headers} {answer.read(600)}")
            while size := int(answer.readline() or b"0", 16):
                chunk = answer.read(size)
                answer.readline()
                out.write(chunk)
                count += chunk.count(b"\n")
                if until and count >= until:
                    break
        return count


class Run:
    def __init__(self, options, store, place, file):
        self.options, self.store, self.place, self.file = options, store, place, file
        self.results = place / "results.ndjson"
        self.faults, self.memory = [], 0.0

    def fault(self, text):
        self.faults.append(text)
        if len(self.faults) <= SHOWN:
            print(text, flush=True)

    def timed(self, service, path, target, media):
        """Imports a file. Returns the rate of its valid users."""
        began = time.monotonic()
        with open(self.results, "wb") as out:
            Import(service, path, target, media).read(out)
        return self.file.good / (time.monotonic() - began)

    def check(self, skips):
        """Compares the results with the rows. Returns the ids of the valid ones, in order."""
        rows, ids, done = iter(self.file.rows), [], None
        with open(self.results, "rb") as results:
            for text in results:
                result = json.loads(text)
                if done or "done" in result:
                    done = result
                    continue
                line, kind = next(rows, (None, None))
                if skips and kind == "a taken username":
                    good, kind = result.get("skipped") is True, None
                elif kind is None:
                    good = result["status"] == 201 or (skips and result.get("skipped"))
                    ids.append(result.get("id"))
                else:
                    good = self.is_wanted(result, *WANTED[kind])
                if result["line"] != line or not good:
                    self.fault(f"line {line}, {kind or 'a valid one'}, was answered {result}")
        taken = sum(kind == "a taken username" for _, kind in self.file.rows) if skips else 0
        wanted = {"done": True, "lines": len(self.file.rows), "failed": self.bad() - taken}
        if done is None or any(done.get(name) != value for name, value in wanted.items()):
            self.fault(f"the end is {done}, not {wanted}")
        if done and done["created"] + done["skipped"] - taken != self.file.good:
            self.fault(f"the end is {done}; there are {self.file.good:,} valid rows")
        return ids

    def bad(self):
        return len(self.file.rows) - self.file.good

    @staticmethod
    def is_wanted(result, status, code, first, column):
        problem = result.get("problem", {})
        told = (result["status"], problem.get("status"), problem.get("code"))
        error = (problem.get("errors") or [{}])[0]
        return (told, error.get("code"), error.get("column")) == (
            (status, status, code),
            first,
            column,
        )

    def rates(self):
        """Imports CSV and NDJSON in turn. Returns the better rate of each."""
        best = {CSV: 0.0, NDJSON: 0.0}
        # The caches of the machine are warm from the second import on.
        for number, media in enumerate((NDJSON, CSV, NDJSON, CSV)):
            data = self.place / f"rate{number}"
            with watched(self.store, self.options.binary, data) as (service, watch):
                path, target = self.file.ndjson, "/bulk/users"
                if media == CSV:
                    path, target = self.file.csv, IMPORT
                best[media] = max(best[media], self.timed(service, path, target, media))
                if media == CSV:
                    # Pages of the binary and of mapped files count too.
                    self.memory = max(self.memory, service.memory("VmHWM"))
                    print(f"CSV: own memory at most {watch.most:.0f} MiB", flush=True)
                if number == 1:
                    self.same_users(service, self.check(skips=False))
            self.store.discard(service)
        return best[CSV], best[NDJSON]

    def same_users(self, service, ids):
        faults = []
        compare(service, self.file.ndjson, {}, ids, faults)
        for fault in faults:
            self.fault(fault)

    def kills(self, chance):
        """Kills the service in the middle of the import, five times, and completes it."""
        service = self.store.service(self.options.binary, self.place / "killed")
        service.start()
        target = f"{IMPORT}&on_conflict=skip"
        for number in range(KILLS):
            share = (number + chance.random()) / KILLS
            until = max(1, int(0.8 * share * len(self.file.rows)))
            with open(self.results, "wb") as out:
                one = Import(service, self.file.csv, target, CSV, held=0.1)
                if one.read(out, until) < until:
                    self.fault(f"import {number + 1} ended before it was killed")
            under_way = self.store.under_way(service)
            service.kill()
            one.connection.close()
            self.store.settle(service, under_way)
            service.start()
        self.timed(service, self.file.csv, target, CSV)
        self.same_users(service, self.check(skips=True))
        service.stop()
        self.store.discard(service)


def main():
    options = arguments(
        __doc__,
        engines=True,
        users=(1_000_000, 3_000, "users to import"),
        round_trip=(10_000, 300, "users that go from one service to another"),
    )
    with Workplace("csv_import") as place, engine(options) as store:
        sources = faker_users.make(place, options.users, options.seed)
        file = File(place, sources, options.seed)
        print(f"made {len(file.rows):,} rows, {len(file.rows) - file.good:,} bad", flush=True)
        run = Run(options, store, place, file)
        csv, ndjson = run.rates()
        run.kills(random.Random(options.seed))
        round_trip(store, options, place, run.fault)
        if run.memory > MEMORY_MAX_MIB:
            run.fault(f"the service had {run.memory:.0f} MiB of resident memory")
        if not options.slice and csv < RATE_MIN * ndjson:
            run.fault(f"CSV is imported at {csv / ndjson:.2f} times the rate of NDJSON")
        print(
            f"CSV import ({options.engine}): {len(file.rows):,} rows, {run.bad():,} bad, "
            f"{csv:,.0f} users/s, {csv / ndjson:.2f} x NDJSON ({ndjson:,.0f}/s), "
            f"{run.memory:.0f} MiB resident, {KILLS} kills, round trip of "
            f"{options.round_trip:,}; {len(run.faults)} faults"
        )
        sys.exit(1 if run.faults else 0)


if __name__ == "__main__":
    main()
