"""A million Faker users are imported as one NDJSON stream with a result each, and exported equal.

One line in a hundred is invalid, in ten ways. First, a client sends everything before it reads
anything: every result must be there, in order, with the right error, and the export must return
each valid user, member by member, in the order of the lines. Then a client sends everything into
another directory and never reads: the whole collection must be stored all the same. The service's
anonymous memory (without pages of mapped files) is measured throughout.
"""

import contextlib
import json
import random
import socket
import sys
import threading
import time

import faker_users
from engines import engine
from faker_roundtrip import difference
from service import Workplace, arguments, encode

MEMORY_MAX_MIB = 150
LINE_BYTES_MAX = 64 * 1024
SHOWN = 5


def taken(chance, user, member):
    return encode({"username": f"other{chance.getrandbits(60)}", member: user[member]})


# kind -> (status, code, location of the first error or None)
WANTED = {
    "no JSON": (400, "malformed-json", None),
    "a member twice": (400, "malformed-json", None),
    "no object": (422, "invalid-user", ""),
    "an unknown member": (422, "invalid-user", "/nmae"),
    "a bad address": (422, "invalid-user", "/email"),
    "a wrong type": (422, "invalid-user", "/given_name"),
    "neither name nor address": (422, "invalid-user", "/username"),
    "a taken username": (409, "username-taken", "/username"),
    "a taken address": (409, "email-taken", "/email"),
    "too long": (413, "body-too-large", None),
}


def bad_line(kind, chance, good):
    """A line of this kind. `good` is a user of an earlier line with username and email."""
    number = chance.getrandbits(60)
    if kind == "no JSON":
        return b'{"username": "broken'
    if kind == "a member twice":
        return b'{"username":"a%d","username":"b%d"}' % (number, number)
    if kind == "no object":
        return b'["ada"]'
    if kind == "an unknown member":
        return encode({"username": f"u{number}", "nmae": "Ada"})
    if kind == "a bad address":
        return encode({"username": f"u{number}", "email": "no address"})
    if kind == "a wrong type":
        return encode({"username": f"u{number}", "given_name": 7})
    if kind == "neither name nor address":
        return encode({"name": "Ada"})
    if kind == "a taken username":
        # Outside of ASCII, an upper-case form may be another name, or one that no username may
        # have.
        name = good["username"]
        return encode({"username": name.upper() if name.isascii() else name})
    if kind == "a taken address":
        return encode({"username": f"u{number}", "email": good["email"]})
    return encode({"username": f"u{number}", "attributes": {"text": "x" * LINE_BYTES_MAX}})


def write_stream(path, files, bad, seed):
    """Writes the stream. Returns the kind of each invalid line by its number, from 1."""
    chance, kinds, known, number = random.Random(seed), {}, None, 0
    names = list(WANTED)
    with open(path, "wb") as out:
        for file in files:
            with open(file, "rb") as lines:
                for line in lines:
                    if known and chance.random() < bad:
                        number += 1
                        kinds[number] = names[len(kinds) % len(names)]
                        out.write(bad_line(kinds[number], chance, known) + b"\n")
                    number += 1
                    out.write(line)
                    # Occasionally another user for conflicts.
                    if chance.random() < 0.01 or known is None:
                        user = json.loads(line)
                        if user.get("username") and user.get("email"):
                            known = user
    return kinds, number


class Watch(threading.Thread):
    """The maximum anonymous memory of the service, sampled ten times a second."""

    def __init__(self, service):
        super().__init__(daemon=True)
        self.service, self.most, self.done = service, 0.0, threading.Event()

    def run(self):
        while not self.done.wait(0.1):
            self.most = max(self.most, self.service.memory())


@contextlib.contextmanager
def watched(store, binary, place):
    """A service on a new directory, and a thread that samples its memory."""
    service = store.service(binary, place)
    service.start()
    watch = Watch(service)
    watch.start()
    try:
        yield service, watch
    finally:
        service.stop()
        watch.done.set()


class Stream:
    """One import on a bare socket: everything is sent before anything is read."""

    def __init__(self, service, path):
        self.socket = socket.create_connection(service.address, 600)
        size = path.stat().st_size
        host = f"{service.address[0]}:{service.address[1]}"
        head = (
            f"POST /bulk/users HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-ndjson\r\n"
            f"Content-Length: {size}\r\nConnection: close\r\n\r\n"
        )
        self.socket.sendall(head.encode())
        with open(path, "rb") as stream:
            self.socket.sendfile(stream)

    def verdicts(self):
        """The lines of the response, as they arrive."""
        with self.socket.makefile("rb", 1 << 20) as answer:
            status = answer.readline()
            headers = b"".join(iter(answer.readline, b"\r\n")).lower()
            if b" 200 " not in status or b"transfer-encoding: chunked" not in headers:
                raise SystemExit(f"the import was answered {status} {headers} {answer.read(600)}")
            rest = b""
            while size := int(answer.readline(), 16):
                lines = (rest + answer.read(size)).split(b"\n")
                answer.readline()
                rest = lines.pop()
                yield from lines
            if rest:
                yield rest


def check_verdicts(stream, kinds, lines, faults):
    """Compares each result with the expected one of its line. Returns the ids, in order."""
    ids, number, done = [], 0, None
    for text in stream.verdicts():
        verdict = json.loads(text)
        if done or "done" in verdict:
            done = verdict if not done else faults.append(f"after the end: {verdict}") or done
            continue
        number += 1
        if len(faults) >= SHOWN:
            continue
        if verdict["line"] != number:
            faults.append(f"line {number} was answered {verdict}")
        elif number not in kinds:
            if verdict["status"] != 201:
                faults.append(f"line {number}, a good one, was answered {verdict}")
            ids.append(verdict.get("id"))
        else:
            problem = verdict.get("problem", {})
            places = [fault["pointer"] for fault in problem.get("errors", [])]
            status, code, place = WANTED[kinds[number]]
            told = (verdict["status"], problem.get("status"), problem.get("code"))
            if told != (status, status, code) or (place is not None and place not in places):
                faults.append(f"line {number}, {kinds[number]}, was answered {verdict}")
    good = lines - len(kinds)
    wanted = {"done": True, "lines": lines, "created": good, "failed": len(kinds)}
    if done is None or any(done.get(name) != value for name, value in wanted.items()):
        faults.append(f"the end is {done}, not {wanted}")
    return ids


def export(service):
    """The records of the whole collection, as they arrive."""
    connection = socket.create_connection(service.address, 600)
    host = f"{service.address[0]}:{service.address[1]}"
    connection.sendall(
        f"GET /bulk/users HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    )
    stream = Stream.__new__(Stream)
    stream.socket = connection
    yield from stream.verdicts()


def compare(service, path, kinds, ids, faults):
    """Compares the export with the imported lines. Returns its number of users."""
    count, apart = 0, 0
    with open(path, "rb") as lines:
        good = (line for number, line in enumerate(lines, 1) if number not in kinds)
        for text in export(service):
            line = next(good, None)
            if line is None or apart >= SHOWN:
                faults.append(f"too much: {text[:200]}")
                break
            record, fault = json.loads(text), None
            if ids and record["id"] != ids[count]:
                fault = f"user {count} is {record['id']}, the verdict said {ids[count]}"
            elif other := difference(json.loads(line), record):
                fault = f"{other}\n    sent {line[:300]}"
            if fault:
                faults.append(fault)
                apart += 1
            count += 1
        if next(good, None) is not None:
            faults.append(f"the export ended after {count:,} users")
    return count


def count_users(service):
    return service.connect().request("GET", "/users?limit=1&count=true").json()["total"]


def send_all_then_read(store, options, place, path, kinds, lines, faults):
    with watched(store, options.binary, place / "read") as (service, watch):
        began = time.monotonic()
        stream = Stream(service, path)
        sent = time.monotonic()
        ids = check_verdicts(stream, kinds, lines, faults)
        ended = time.monotonic()
        count = compare(service, path, kinds, ids, faults)
        compared = time.monotonic()
        most = service.memory("VmHWM")
    print(
        f"sent {lines:,} lines in {sent - began:.0f} s before reading, verdicts complete after "
        f"{ended - began:.0f} s ({lines / (ended - began):,.0f} lines/s); {count:,} users came "
        f"back and were compared in {compared - ended:.0f} s; own memory at most {watch.most:.0f}"
        f" MiB (with mapped pages {most:.0f})"
    )
    return watch.most


def never_read(store, options, place, path, kinds, lines, faults):
    with watched(store, options.binary, place / "unread") as (service, watch):
        began = time.monotonic()
        stream = Stream(service, path)
        wanted, before = lines - len(kinds), time.monotonic()
        while (count := count_users(service)) < wanted and time.monotonic() - before < 600:
            time.sleep(0.1)
        seconds = time.monotonic() - began
        if count != wanted:
            faults.append(f"{count:,} users of a stream nobody read, not {wanted:,}")
        else:
            compare(service, path, kinds, None, faults)
        stream.socket.close()
    print(
        f"never read: {count:,} users after {seconds:.0f} s; own memory at most "
        f"{watch.most:.0f} MiB"
    )
    return watch.most


def main():
    options = arguments(__doc__, engines=True, users=(1_000_000, 3_000, "users to make"))
    faults = []
    with Workplace("bulk") as place, engine(options) as store:
        began = time.monotonic()
        files = faker_users.make(place, options.users, options.seed)
        path = place / "stream.ndjson"
        kinds, lines = write_stream(path, files, 0.01, options.seed)
        print(
            f"made {lines:,} lines ({path.stat().st_size / 1e6:,.0f} MB), {len(kinds):,} of them "
            f"bad, in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        most = [
            send_all_then_read(store, options, place, path, kinds, lines, faults),
            never_read(store, options, place, path, kinds, lines, faults),
        ]
        if max(most) >= MEMORY_MAX_MIB:
            faults.append(f"the service held {max(most):.0f} MiB of its own")
        for fault in faults[:SHOWN]:
            print(fault)
        print(f"bulk round trip ({options.engine}): {len(faults)} differences")
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
