"""A proxy between the service and PostgreSQL that can break the connection at any message of a
write.

It is a TCP proxy that understands as much of PostgreSQL's protocol (version 3) as it needs: the
packets of the start, then a type and a length for each message, and the SQL of a message, so that
it knows where a transaction begins and where it commits. It changes nothing. It counts messages,
and executes the armed cut when it is due. It runs in a separate thread.
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
    """Where and how the connection is cut once.

    Places: `front k` after the k-th message of a batch was sent to PostgreSQL (0: before the
    first); `back k` when the k-th message of its responses has arrived at the proxy; `before
    commit`, `after commit`, and `commit held` when PostgreSQL's response to the commit has arrived
    at the proxy; `opening k` when the k-th message, of either side, of a connection has arrived
    that was opened after arming. Ways: `reset` (all connections are reset), `dark` (reset, and
    nothing is forwarded for `seconds`), `freeze` (nothing is forwarded for `seconds`, then
    everything continues), `freeze and reset`, `orphan` (this one connection is silent permanently,
    from the next end of a request on, because in the middle of one only a TCP timeout would reveal
    it), and `late` (this one connection is reset for the service, and the held message still
    reaches PostgreSQL `seconds` later).
    """

    def __init__(self, place, number, way, seconds=0.0):
        self.place, self.number, self.way, self.seconds = place, number, way, seconds
        self.link = None

    def __str__(self):
        numbered = self.place in ("front", "back", "opening")
        place = f"{self.place} {self.number}" if numbered else self.place
        return f"{place}, {self.way}"


class Batch:
    """What was forwarded on one connection since its transaction began."""

    def __init__(self):
        self.statements, self.portals = {}, {}
        self.open, self.began, self.committing = False, False, False
        self.front, self.back, self.shape = 0, 0, []

    def sql(self, kind, payload):
        """The SQL that a message from the service executes; None for any other message."""
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
            # A simple query that contains the whole transaction is also a commit.
            self.committing |= b"COMMIT" in sql
        return self.open and b"COMMIT" in sql

    def from_server(self, kind, payload):
        """Whether the message reports the commit."""
        if self.open:
            self.back += 1
            self.shape.append("B" + kind.decode())
        return self.open and kind == b"C" and payload.startswith(b"COMMIT")

    def passed_back(self, kind, payload):
        """After a message of PostgreSQL was forwarded: the end of the transaction ends the batch.
        """
        if self.open and kind == b"Z":
            self.began |= payload != b"I"
            self.open = payload != b"I" or not (self.began or self.committing)


class Link:
    """One connection of the service, and the corresponding one to PostgreSQL."""

    def __init__(self, wire, service, server):
        self.wire, self.service, self.server = wire, service, server
        self.batch, self.messages = Batch(), 0
        self.silent, self.ready, self.late, self.held = False, False, False, b""
        self.kind = b""

    async def pass_on(self, side, raw, kind, payload):
        """Handles one message: counts it, possibly cuts, and forwards it."""
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
            # While the connection is frozen, neither side learns that the other is gone.
            await self.flowing()
        finally:
            for task in tasks:
                task.cancel()
            # The cause of the end is known: one side closed.
            await asyncio.wait(tasks, timeout=1.0)
            for task in tasks:
                task.done() and not task.cancelled() and task.exception()
            self.wire.links.discard(self)
            self.service[1].close()
            if not self.late:
                self.server[1].close()

    def deliver(self):
        """Forwards the held message after the service was disconnected. Its response is discarded.
        """
        self.server[1].write(self.held)
        self.wire.loop.call_later(1.0, self.server[1].close)

    def reset(self):
        for _, writer in (self.service, self.server):
            reset(writer)


def reset(writer):
    """Resets a connection."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Wire:
    """The proxy; `url` is the database URL for the service."""

    def __init__(self, database):
        parts = urlsplit(database)
        self.upstream, self.links, self.cut = (parts.hostname, parts.port), set(), None
        self.dark, self.cancels, self.made, self.last = False, 0, 0, None
        # The maximum number of messages that a connection needed until PostgreSQL was first ready.
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
        # The end of the proxy itself is no error.
        with contextlib.suppress(asyncio.CancelledError):
            await link.run()

    def arm(self, cut):
        """Arms the next cut, and forgets the result of the last one."""
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
        """Executes the armed cut when this message is at its place."""
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
    """Whether the cut is due at this message of `side`, before or after it was forwarded."""
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
