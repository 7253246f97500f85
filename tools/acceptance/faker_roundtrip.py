"""Users that Faker made in many locales are created with `POST /users` and read back equal.

16 connections create the users. Each response is 201 with Location and ETag. Each user is read with
GET and compared, member by member, with the record that the contract requires (NFC, short forms,
defaults). Then a client pages through the whole collection by `next_cursor` while another
connection creates and deletes users: each of the users is returned exactly once.
"""

import json
import sys
import threading
import time
import unicodedata

import faker_users
from engines import engine
from service import SERVER_MADE, Workplace, arguments, percentile

CONNECTIONS = 16
# short form -> its list
SHORT_FORMS = {"email": "emails", "phone_number": "phone_numbers", "picture": "photos"}
SHOWN = 5


def nfc(value):
    """`value` with every text in NFC, the one change that the service makes to values."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [nfc(entry) for entry in value]
    if isinstance(value, dict):
        return {name: nfc(entry) for name, entry in value.items()}
    return value


def without_null(value):
    """Removes members without a value from `attributes`, at every depth; nothing else."""
    if isinstance(value, dict):
        return {name: without_null(v) for name, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_null(entry) for entry in value]
    return value


def expected(body):
    """The record that a create of `body` must result in, without the members that the server sets.
    """
    record = {}
    for member, value in body.items():
        if value is None or value == []:
            continue
        record[member] = without_null(value) if member == "attributes" else nfc(value)
    for short, entries in SHORT_FORMS.items():
        if short in record and entries not in record:
            record[entries] = [{"value": record[short], "primary": True}]
        elif entries in record:
            flagged = [entry for entry in record[entries] if entry.get("primary")]
            record[short] = (flagged or record[entries])[0]["value"]
    if "username" not in record:
        record |= {"username": record.get("email"), "username_from_email": True}
    record.setdefault("status", "active")
    return record


def difference(body, record):
    """The first difference between `record` and `body`; None if all is equal."""
    shown = {name: value for name, value in record.items() if name not in SERVER_MADE}
    wanted = expected(body)
    # A flag with the value false has no meaning, so this command does not check whether it is
    # stored.
    for flag in ("email_verified", "phone_number_verified"):
        if not wanted.get(flag) and not shown.get(flag):
            wanted.pop(flag, None)
            shown.pop(flag, None)
    if apart := first_difference(wanted, shown, ""):
        return apart
    if any(name not in record for name in SERVER_MADE) or record["version"] != 1:
        return f"server-made members: {({name: record.get(name) for name in SERVER_MADE})}"
    return None


def first_difference(wanted, read, pointer):
    """The first location at which two JSON values differ, as a JSON pointer; None if they are
    equal.

    True and 1 are equal in Python and not in JSON; 1 and 1.0 are the same number in both.
    """
    if isinstance(wanted, dict) and isinstance(read, dict):
        pairs = [(name, wanted.get(name), read.get(name)) for name in {**wanted, **read}]
    elif isinstance(wanted, list) and isinstance(read, list) and len(wanted) == len(read):
        pairs = zip(range(len(wanted)), wanted, read)
    elif wanted == read and isinstance(wanted, bool) == isinstance(read, bool):
        return None
    else:
        return f"{pointer}: expected {wanted!r}, read {read!r}"
    found = (first_difference(a, b, f"{pointer}/{name}") for name, a, b in pairs)
    return next((difference for difference in found if difference), None)


class Creation:
    """The work of the 16 connections, and their results."""

    def __init__(self, service, files):
        self.service, self.files = service, list(reversed(files))
        self.lock = threading.Lock()
        self.ids, self.faults, self.members = set(), [], set()
        self.sent, self.post_ms, self.get_ms = 0, [], []

    def run(self):
        threads = [threading.Thread(target=self.guarded) for _ in range(CONNECTIONS)]
        self.lines = self.feed()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def feed(self):
        while self.files:
            with open(self.files.pop(), encoding="utf-8") as lines:
                yield from lines

    def next_line(self):
        with self.lock:
            return None if len(self.faults) >= 50 else next(self.lines, None)

    def guarded(self):
        """Records an exception, so that a thread that dies does not look like one without errors.
        """
        try:
            self.work()
        except Exception as error:  # noqa: BLE001
            self.fault(f"a connection ended: {error!r}")

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def work(self):
        connection = self.service.connect()
        while (line := self.next_line()) is not None:
            body = json.loads(line)
            began = time.perf_counter()
            created = connection.request("POST", "/users", line.strip().encode())
            middle = time.perf_counter()
            if created.status != 201:
                self.fault(f"POST answered {created}\n    for {line.strip()[:1500]}")
                continue
            record = created.json()
            read = connection.request("GET", f"/users/{record['id']}")
            ended = time.perf_counter()
            if read.status != 200 or read.body != created.body:
                self.fault(f"GET {read}\n    differs from POST {created}")
            location = created.headers.get("location", "")
            if location != f"/users/{record['id']}" or created.headers.get("etag") != '"1"':
                self.fault(f"headers of the create: {created.headers}")
            if found := difference(body, json.loads(read.body)):
                self.fault(f"{found}\n    sent {line.strip()[:300]}")
            with self.lock:
                self.sent += 1
                self.ids.add(record["id"])
                self.members.update(body)
                self.post_ms.append((middle - began) * 1000)
                self.get_ms.append((ended - middle) * 1000)


class Churn(threading.Thread):
    """Creates and deletes other users until stopped."""

    def __init__(self, service):
        super().__init__()
        self.service, self.done, self.count, self.fault = service, threading.Event(), 0, None

    def run(self):
        try:
            connection, alive = self.service.connect(), []
            while not self.done.is_set():
                self.count += 1
                body = {"email": f"churn{self.count}@churn.example"}
                alive.append(connection.request("POST", "/users", body).json()["id"])
                if len(alive) > 50:
                    # Not only the newest ones, so that gaps appear everywhere behind the walk.
                    victim = alive.pop(self.count * 7 % len(alive))
                    answer = connection.request("DELETE", f"/users/{victim}")
                    if answer.status != 204:
                        self.fault = f"DELETE answered {answer}"
                        return
        except Exception as error:  # noqa: BLE001
            self.fault = f"the churn ended: {error!r}"


def walk(service, limit=1000):
    """How often each id was returned by one walk over the collection, and the number of pages."""
    connection, met, cursor, pages = service.connect(), {}, None, 0
    while True:
        path = f"/users?limit={limit}" + (f"&cursor={cursor}" if cursor else "")
        answer = connection.request("GET", path)
        if answer.status != 200:
            raise SystemExit(f"page {pages} answered {answer}")
        page, pages = answer.json(), pages + 1
        for record in page["items"]:
            met[record["id"]] = met.get(record["id"], 0) + 1
        cursor = page["next_cursor"]
        if cursor is None:
            return met, pages


def checked_walk(service, ids, faults):
    churn = Churn(service)
    churn.start()
    began = time.monotonic()
    try:
        met, pages = walk(service)
    finally:
        churn.done.set()
        churn.join()
    seconds = time.monotonic() - began
    missed = [user for user in ids if user not in met]
    twice = [user for user, count in met.items() if count > 1]
    if missed or twice:
        faults.append(f"the walk missed {len(missed)} {missed[:3]}, met twice {twice[:3]}")
    if churn.fault:
        faults.append(churn.fault)
    print(
        f"walk: {pages} pages, {len(met):,} users in {seconds:.1f} s ({len(met) / seconds:,.0f}"
        f" users/s) while {churn.count:,} others were created and deleted"
    )


def main():
    options = arguments(__doc__, engines=True, users=(200_000, 3_000, "users to make"))
    with Workplace("faker") as place, engine(options) as store:
        began = time.monotonic()
        files = faker_users.make(place, options.users, options.seed)
        print(
            f"made {options.users:,} users in {len(faker_users.LOCALES)} locales, "
            f"{time.monotonic() - began:.0f} s"
        )
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            creation = Creation(service, files)
            began = time.monotonic()
            creation.run()
            seconds = time.monotonic() - began
            faults = creation.faults
            if not faults and (creation.sent, len(creation.ids)) != (options.users,) * 2:
                faults.append(f"{creation.sent} created, {len(creation.ids)} ids")
            print(
                f"created and read back {creation.sent:,} users on {CONNECTIONS} connections in "
                f"{seconds:.0f} s: {creation.sent / seconds:,.0f} pairs/s, POST p50 "
                f"{percentile(creation.post_ms, 0.5):.2f} ms p99 "
                f"{percentile(creation.post_ms, 0.99):.2f} ms, GET p50 "
                f"{percentile(creation.get_ms, 0.5):.2f} ms; "
                f"{len(creation.members)} members seen"
            )
            if not faults:
                checked_walk(service, creation.ids, faults)
        finally:
            service.stop()
        for fault in faults[:SHOWN]:
            print(fault)
        print(f"faker round trip ({options.engine}): {len(faults)} differences")
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
