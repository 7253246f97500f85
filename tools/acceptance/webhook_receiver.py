"""A receiver of webhooks that fails, for webhook_mirror.py: PORT FILE SEED FAILING.

It verifies each request and stores its events in a SQLite file before it answers. FAILING is the
share of requests that fail: a third gets 503, a third is cut before the events are stored, and a
third afterwards, before the answer. `arrivals` has each event of each request, with what became of it.
"""

import base64
import hashlib
import hmac
import http.server
import json
import random
import sqlite3
import sys
import threading
import time
from pathlib import Path

REFUSED, CUT, UNANSWERED, ANSWERED = range(4)
TABLE = """CREATE TABLE IF NOT EXISTS arrivals (
    webhook TEXT, request TEXT, event TEXT, content TEXT, at REAL, fate INTEGER)"""


def signature(secret, headers, body):
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        webhook = self.path.removeprefix("/")
        secrets = json.loads(self.server.file.with_suffix(".json").read_text())
        if self.headers["webhook-signature"] != signature(secrets[webhook], self.headers, body):
            return self.answer(401)
        with self.server.lock, self.server.database as database:
            is_failing = self.server.random.random() < self.server.failing
            failures = (REFUSED, CUT, UNANSWERED)
            fate = self.server.random.choice(failures) if is_failing else ANSWERED
            events = json.loads(body)
            rows = [
                (webhook, self.headers["webhook-id"], event["id"], json.dumps(event), time.time(), fate)
                for event in (events if isinstance(events, list) else [events])
            ]
            database.executemany("INSERT INTO arrivals VALUES (?, ?, ?, ?, ?, ?)", rows)
        if fate in (CUT, UNANSWERED):
            self.close_connection = True
            return None
        return self.answer(204 if fate == ANSWERED else 503)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    port, file, seed, failing = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.file, server.random, server.lock = Path(file), random.Random(seed), threading.Lock()
    server.failing = float(failing)
    server.database = sqlite3.connect(file, check_same_thread=False)
    # It is killed, but its machine stays.
    server.database.execute("PRAGMA journal_mode = WAL")
    server.database.execute("PRAGMA synchronous = OFF")
    server.database.execute(TABLE)
    server.serve_forever()


if __name__ == "__main__":
    main()
