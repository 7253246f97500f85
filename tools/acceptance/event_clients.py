"""Public clients of server-sent events follow `/events` without code for Roster: curl, the
EventSource of Chromium on a page of the service, the npm package eventsource, and the PyPI package
sseclient.

Each gets the events that are there, and then those of writes. The service is stopped, as for an
update, and started again. The clients that reconnect must have every event exactly once and in order;
curl ends with the stream.
"""

import os
import signal
import subprocess
import sys
import threading
import time

from playwright.sync_api import sync_playwright

from browser import Browser
from clients import SOURCES, Fault
from service import Service, Workplace, arguments

COUNT = 20
# The function around it keeps Playwright from calling the handler.
RECEIVED = """() => {
    window.received = [];
    new EventSource("/events").onmessage =
        (message) => received.push(`${message.lastEventId} ${JSON.parse(message.data).type}`);
}"""


class Program:
    """A client that prints what it receives."""

    def __init__(self, name, *command):
        self.name, self.reconnects = name, name != "curl"
        # A group of its own, because the program may start another one.
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, process_group=0
        )
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def received(self):
        # sseclient also prints why it reconnects.
        return [line.strip() for line in list(self.lines) if len(line.split()) == 2]

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(10)


class Curl(Program):
    def received(self):
        frames = "".join(self.lines).split("\n\n")
        pairs = [frame.split("\n") for frame in frames if "\ndata: " in frame]
        kind = '"type":"user.created"'
        return [
            identifier.removeprefix("id: ") + (" user.created" if kind in data else " ?")
            for identifier, data in pairs
        ]


class Page:
    """The EventSource of a page of the service itself."""

    def __init__(self, page, url):
        self.name, self.reconnects, self.page = "EventSource", True, page
        # The Content-Security-Policy of the pages of the service lets no script connect.
        page.goto(f"{url}/users")
        page.evaluate(RECEIVED)

    def received(self):
        return self.page.evaluate("received")

    def end(self):
        self.page.close()


def write(service, numbers):
    connection = service.connect()
    for number in numbers:
        answer = connection.request("POST", "/users", {"username": f"u{number}"})
        if answer.status != 201:
            raise Fault(f"a create was answered {answer}")
    connection.close()


def expect(service, clients):
    """Waits until each client has the events of the log."""
    answer = service.connect().request("GET", "/events?limit=1000")
    events = [f"{event['id']} {event['type']}" for event in answer.json()["items"]]
    end = time.monotonic() + 30
    for client in clients:
        while len(client.received()) < len(events) and time.monotonic() < end:
            time.sleep(0.05)
    # What comes twice would come now.
    time.sleep(0.5)
    for client in clients:
        if (received := client.received()) != events:
            raise Fault(f"{client.name} has {received}, the log {events}")


def follow(options, place, page):
    service = Service(options.binary, place / "data")
    service.start()
    url = f"http://127.0.0.1:{service.address[1]}"
    python = subprocess.run([SOURCES / "packages.sh"], stdout=subprocess.PIPE, text=True, check=True)
    python = python.stdout.strip()
    packages = python.rpartition("/bin/")[0]
    script = place / "follow.mjs"
    script.write_text((SOURCES / "follow.mjs").read_text())
    (place / "node_modules").symlink_to(f"{packages}/node_modules")
    stream = f"{url}/events"
    write(service, range(3))
    clients = []
    try:
        accept = "Accept: text/event-stream"
        clients.append(Curl("curl", "curl", "-sSN", "-H", accept, stream))
        clients.append(Program("eventsource", f"{packages}/bin/node", str(script), stream))
        clients.append(Program("sseclient", python, str(SOURCES / "follow.py"), stream))
        clients.append(Page(page, url))
        expect(service, clients)
        write(service, range(3, COUNT))
        expect(service, clients)
        service.stop()
        service.start()
        write(service, range(COUNT, 2 * COUNT))
        expect(service, [client for client in clients if client.reconnects])
        if clients[0].process.wait(10) != 0:
            raise Fault("curl did not end with the stream")
    finally:
        for client in clients:
            client.end()
        service.stop()
    return ", ".join(client.name for client in clients)


def main():
    options = arguments(__doc__)
    with Workplace("event-clients") as place, sync_playwright() as playwright:
        with Browser(playwright) as browser:
            names = follow(options, place, browser.new_page())
    print(f"{names}: {2 * COUNT} events each, across a restart, none lost and none twice")


if __name__ == "__main__":
    sys.exit(main())
