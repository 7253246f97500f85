"""A wire between the service and PostgreSQL that can be cut at any message of a write.

A TCP proxy that understands just enough of PostgreSQL's protocol (version 3): the packets of the
start, then a type and a length for each message, and which SQL a message has run, so that it knows
where a transaction begins and where it commits. It changes nothing that passes; it counts, and
when the armed cut is due it does what the cut says. It runs in a thread of its own.
"""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from urllib.parse import urlsplit, urlunsplit

CANCEL, TLS, GSS = 80877102, 80877103, 80877104


class Cut:
    """Where the wire is cut, once, and how.

    Places: `front k` after the k-th message of a batch went to PostgreSQL (0: before the first);
    `back k` with the k-th message of its answers in hand; `before commit`, `after commit`, and
    `commit held` with PostgreSQL's word of the commit in hand; `opening k` with the k-th message,
    of either side, of a connection that was opened after arming. Ways: `reset` (all connections,
    hard), `dark` (reset, and nothing gets through for `seconds`), `freeze` (silence for `seconds`,
    then all goes on), `freeze and reset`, `orphan` (this one connection is silent for good, from
    the next end of a request on: in the middle of one only the death of TCP would tell), and
    `late` (this one connection is reset for the service, and the message in hand reaches
    PostgreSQL `seconds` later all the same).
    """

    def __init__(self, place, number, way, seconds=0.0):
        self.place, self.number, self.way, self.seconds = place, number, way, seconds
        self.link = None

    def __str__(self):
        numbered = self.place in ("front", "back", "opening")
        place = f"{self.place} {self.number}" if numbered else self.place
        return f"{place}, {self.way}"


class Batch:
    """What passed on one connection since its transaction began."""

    def __init__(self):
        self.statements, self.portals = {}, {}
        self.open, self.began, self.committing = False, False, False
        self.front, self.back, self.shape = 0, 0, []

    def sql(self, kind, payload):
        """The SQL that a message from the service has run; None for any other message."""
        if kind == b"Q":
            return payload.rstrip(b"\0")
        if kind == b"P":
            name, text = payload.split(b"\0", 2)[:2]
            self.statements[name] = text
        elif kind == b"B":
            portal, name = payload.split(b"\0", 2)[:2]
            self.portals[portal] = self.statements.get(name, b"")
        elif kind == b"E":
            return self.portals.get(payload.split(b"\0", 1)[0], b"")
        return None

    def to_server(self, kind, payload):
        sql = (self.sql(kind, payload) or b"").lstrip().upper()
        if not self.open and sql.startswith((b"BEGIN", b"START TRANSACTION")):
            if b"READ ONLY" not in sql:
                self.open, self.began, self.committing = True, False, False
                self.front, self.back, self.shape = 0, 0, []
        if self.open:
            self.front += 1
            self.shape.append("F" + kind.decode())
            # All in one simple query is a commit as well.
            self.committing |= b"COMMIT" in sql
        return self.open and b"COMMIT" in sql

    def from_server(self, kind, payload):
        """Whether the message tells of the commit."""
        if self.open:
            self.back += 1
            self.shape.append("B" + kind.decode())
        return self.open and kind == b"C" and payload.startswith(b"COMMIT")

    def passed_back(self, kind, payload):
        """After a message of PostgreSQL went on: the end of the transaction ends the batch."""
        if self.open and kind == b"Z":
            self.began |= payload != b"I"
            self.open = payload != b"I" or not (self.began or self.committing)


class Link:
    """One connection of the service, and its other half to PostgreSQL."""

    def __init__(self, wire, service, server):
        self.wire, self.service, self.server = wire, service, server
        self.batch, self.messages = Batch(), 0
        self.silent, self.ready, self.late, self.held = False, False, False, b""
        self.kind = b""

    async def pass_on(self, side, raw, kind, payload):
        """One message: counted, perhaps cut, sent on."""
        self.messages += 1
        self.kind = kind
        tells = self.batch.to_server if side == "front" else self.batch.from_server
        commit = tells(kind, payload)
        await self.flowing()
        if side == "front":
            self.held = raw
        await self.wire.look(self, side, commit, sent=False)
        writer = (self.server if side == "front" else self.service)[1]
        if writer.is_closing():
            raise ConnectionResetError
        writer.write(raw)
        if side == "back":
            self.batch.passed_back(kind, payload)
            self.opened(kind)
        else:
            await self.wire.look(self, side, commit, sent=True)

    def opened(self, kind):
        if kind == b"Z" and not self.ready:
            self.ready = True
            self.wire.opening = max(self.wire.opening, self.messages)

    async def flowing(self):
        while self.silent or not self.wire.flow.is_set():
            await (asyncio.sleep(0.05) if self.silent else self.wire.flow.wait())

    async def front(self):
        reader = self.service[0]
        while True:
            raw = await reader.readexactly(4)
            raw += await reader.readexactly(struct.unpack("!i", raw)[0] - 4)
            code = struct.unpack("!i", raw[4:8])[0]
            if code == CANCEL:
                self.wire.cancels += 1
            if code not in (TLS, GSS):
                break
            self.service[1].write(b"N")
        await self.pass_on("front", raw, b"", b"")
        while True:
            await self.message("front", reader)

    async def back(self):
        while True:
            await self.message("back", self.server[0])

    async def message(self, side, reader):
        head = await reader.readexactly(5)
        payload = await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
        await self.pass_on(side, head + payload, head[:1], payload)

    async def run(self):
        tasks = [asyncio.ensure_future(self.front()), asyncio.ensure_future(self.back())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            # A frozen wire tells nobody that one side is gone.
            await self.flowing()
        finally:
            for task in tasks:
                task.cancel()
            # What ended them is known: a side went away.
            await asyncio.wait(tasks, timeout=1.0)
            for task in tasks:
                task.done() and not task.cancelled() and task.exception()
            self.wire.links.discard(self)
            self.service[1].close()
            if not self.late:
                self.server[1].close()

    def deliver(self):
        """What was in hand when the service was cut off arrives now; its answer is for nobody."""
        self.server[1].write(self.held)
        self.wire.loop.call_later(1.0, self.server[1].close)

    def reset(self):
        for _, writer in (self.service, self.server):
            reset(writer)


def reset(writer):
    """Closes hard: the other side is told that the connection never ended well."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Wire:
    """The proxy; `url` is what the service is given."""

    def __init__(self, database):
        parts = urlsplit(database)
        self.upstream, self.links, self.cut = (parts.hostname, parts.port), set(), None
        self.dark, self.cancels, self.made, self.last = False, 0, 0, None
        # The most messages that any connection needed until PostgreSQL was first ready.
        self.opening = 0
        self.fired, self.whole, self.whole_at = threading.Event(), threading.Event(), 0.0
        self.whole.set()
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)
        user = parts.netloc.rsplit("@", 1)[0]
        place = f"{user}@127.0.0.1:{self.port}"
        self.url = urlunsplit(parts._replace(netloc=place, query="sslmode=disable"))

    def _run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.flow = asyncio.Event()
        self.flow.set()
        serving = asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.serving = self.loop.run_until_complete(serving)
        self.port = self.serving.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()

    async def _accept(self, reader, writer):
        await self.flow.wait()
        if self.dark:
            reset(writer)
            return
        try:
            server = await asyncio.open_connection(*self.upstream)
        except OSError:
            reset(writer)
            return
        link = Link(self, (reader, writer), server)
        self.links.add(link)
        if self.cut and self.cut.place == "opening" and self.cut.link is None:
            self.cut.link = link
        # The proxy's own end is no error.
        with contextlib.suppress(asyncio.CancelledError):
            await link.run()

    def arm(self, cut):
        """The next cut; what came of the last one is forgotten."""
        self.fired.clear()
        self.whole.set()
        self.cut = cut

    def disarm(self):
        self.cut = None

    def reset_all(self):
        """Cuts everything now, from any thread; for the start of an `opening` cut."""
        self.loop.call_soon_threadsafe(self._reset_links)

    def _reset_links(self):
        for link in list(self.links):
            link.reset()

    async def look(self, link, side, commit, sent):
        """Fires the armed cut when this message is where it is due."""
        cut, batch = self.cut, link.batch
        if cut is None or not due(cut, link, side, commit, sent):
            return
        self.cut, self.last = None, (cut, "".join(batch.shape[-1:]))
        self.made += 1
        self.whole.clear()
        self.fired.set()
        if cut.way == "orphan":
            link.silent = True
            self._be_whole()
        elif cut.way == "reset":
            self._reset_links()
            self._be_whole()
        elif cut.way == "late":
            link.late = True
            reset(link.service[1])
            self.loop.call_later(cut.seconds, self._deliver, link)
        elif cut.way == "dark":
            self.dark = True
            self._reset_links()
            self.loop.call_later(cut.seconds, self._be_whole)
        else:
            self.flow.clear()
            self.loop.call_later(cut.seconds, self._thaw, cut.way == "freeze and reset")
        if cut.way in ("reset", "dark", "late"):
            raise ConnectionResetError
        await link.flowing()

    def _deliver(self, link):
        link.deliver()
        self._be_whole()

    def _thaw(self, resetting):
        if resetting:
            self._reset_links()
        self.flow.set()
        self._be_whole()

    def _be_whole(self):
        self.dark, self.whole_at = False, time.monotonic()
        self.whole.set()

    def close(self):
        """Ends the proxy and every connection."""
        self.loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._end()))
        self.thread.join(5)

    async def _end(self):
        self.serving.close()
        self._reset_links()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.loop.stop()


def due(cut, link, side, commit, sent):
    """Whether the cut is due at this message of `side`, before or after it was sent on."""
    batch = link.batch
    if cut.place == "opening":
        return cut.link is link and not sent and link.messages >= cut.number
    if not batch.open:
        return False
    if cut.place == "front":
        # Before the first message, or after the k-th.
        first = cut.number == 0 and batch.front == 1 and not sent
        if cut.way == "orphan" and not first:
            ended = link.kind in (b"Q", b"S")
            return side == "front" and sent and ended and batch.front >= cut.number > 0
        return side == "front" and (first or (sent and batch.front == cut.number))
    if cut.place == "back":
        return side == "back" and batch.back == cut.number
    if cut.place == "commit held":
        return side == "back" and commit
    return side == "front" and commit and sent == (cut.place == "after commit")
