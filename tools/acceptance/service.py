"""The shared parts of all acceptance commands: the binary as a child process, and an HTTP client.

The service always runs on a loopback port and its own data directory. The connection is a bare
socket with a minimum of HTTP/1.1, so that the client costs little compared with the measured
server, and so that a command can send a request and read its response later.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The cluster of all.sh. Removed from the environment, because the binary rejects settings that it
# does not know.
POSTGRES_URL = os.environ.pop("ROSTER_TEST_POSTGRES", None)
SERVER_MADE = ("id", "version", "created_at", "updated_at")


class Closed(Exception):
    """The other side closed the connection before a response was complete."""


class Answer:
    """One HTTP response: status, headers by lower-case name, body."""

    __slots__ = ("status", "headers", "body")

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status} {self.body[:600].decode('utf-8', 'replace')}"


class Connection:
    """A keep-alive connection. `request` sends a request and receives the response; `send` and
    `receive` do so separately.

    With `tls`, an SSL context, it uses TLS.
    """

    def __init__(self, address, timeout=30.0, tls=None):
        self.address, self.timeout, self.tls = address, timeout, tls
        self.socket, self.buffer = None, b""

    def open(self):
        self.close()
        self.socket = socket.create_connection(self.address, self.timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            self.socket = self.tls.wrap_socket(self.socket, server_hostname="localhost")
        return self

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket, self.buffer = None, b""

    def send(self, method, path, body=None, headers=None):
        if self.socket is None:
            self.open()
        host = f"{self.address[0]}:{self.address[1]}"
        head = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
        payload = b""
        if body is not None:
            payload = body if isinstance(body, bytes) else encode(body)
            headers = {"Content-Type": "application/json", **(headers or {})}
            head.append(f"Content-Length: {len(payload)}")
        head += [f"{name}: {value}" for name, value in (headers or {}).items()]
        try:
            self.socket.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + payload)
        except OSError as error:
            self.close()
            raise Closed(str(error)) from error
        self.method = method

    def receive(self):
        while True:
            answer = self._receive_one()
            if answer.status >= 200:
                return answer

    def request(self, method, path, body=None, headers=None):
        self.send(method, path, body, headers)
        return self.receive()

    def _fill(self):
        try:
            data = self.socket.recv(1 << 18)
        except OSError as error:
            self.close()
            raise Closed(str(error)) from error
        if not data:
            self.close()
            raise Closed("end of stream")
        self.buffer += data

    def _until(self, mark):
        while (end := self.buffer.find(mark)) < 0:
            self._fill()
        part, self.buffer = self.buffer[:end], self.buffer[end + len(mark) :]
        return part

    def _take(self, count):
        while len(self.buffer) < count:
            self._fill()
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def _receive_one(self):
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = b""
        if status < 200 or status in (204, 304) or self.method == "HEAD":
            pass
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                body += self._take(size)
                self._take(2)
            self._until(b"\r\n")
        else:
            body = self._take(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, headers, body)


class Service:
    """The binary on one data directory. The commands start it, kill it and start it again.

    With `database`, the URL of a PostgreSQL database, the users are stored there. `tls` is the SSL
    context of its clients, if its flags name a certificate.
    """

    def __init__(self, binary, data, log=None, database=None, flags=()):
        self.binary, self.data = Path(binary), Path(data)
        self.database, self.flags = database, flags
        self.address = ("127.0.0.1", free_port())
        self.log = Path(log) if log else self.data.parent / f"{self.data.name}.log"
        self.process, self.tls, self.ready = None, None, "/users?limit=1"

    def start(self, within=30.0):
        """Starts the binary and waits for the first 200 of the path `ready`. Returns the seconds until
        then.
        """
        command = [self.binary, "serve"]
        command += ["--listen", f"{self.address[0]}:{self.address[1]}", "--data", self.data]
        command += ["--allow-open", "--database", self.database] if self.database else []
        command += self.flags
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while time.monotonic() - began < within:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.binary} exited {self.process.returncode}; see {self.log}")
            connection = self.connection(5.0)
            try:
                if connection.request("GET", self.ready).status == 200:
                    return time.monotonic() - began
            except (Closed, OSError):
                pass
            finally:
                connection.close()
            time.sleep(0.005)
        raise SystemExit(f"{self.binary} was not ready within {within} s; see {self.log}")

    def kill(self):
        """Sends kill -9, so that the process cannot finish anything."""
        self.process.kill()
        self.process.wait()

    def memory(self, name="RssAnon"):
        """MiB of the process by a line of /proc/PID/status; 0 once it has ended.

        `RssAnon` is the anonymous memory; `VmHWM` is the maximum resident memory, including pages
        of mapped files.
        """
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0.0
        line = next((line for line in status.splitlines() if line.startswith(name + ":")), "")
        return int(line.split()[1]) / 1024 if line else 0.0

    def cpu(self):
        """The seconds of processor time that the process has used."""
        status = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = status.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, within=30.0):
        """Sends SIGTERM. Returns the exit code; a process that does not end is an error."""
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"SIGTERM did not end the service within {within} s") from None

    def connection(self, timeout=30.0):
        """A connection that opens with its first request."""
        return Connection(self.address, timeout, self.tls)

    def connect(self, timeout=30.0):
        return self.connection(timeout).open()


class Workplace:
    """A temporary directory below target/, removed at the end unless the command failed."""

    def __init__(self, name):
        base = ROOT / "target" / "acceptance"
        base.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))

    def __enter__(self):
        return self.path

    def __exit__(self, kind, error, trace):
        failed = kind is not None and not (kind is SystemExit and error.code in (None, 0))
        if failed:
            print(f"left for a look: {self.path}", file=sys.stderr)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def raise_open_files():
    """Raises the soft limit of open files to the hard one. Child processes inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def arguments(description, engines=False, switches=(), **counts):
    """The shared command line of all commands; `counts` maps an option to (full, slice, help).

    `engines` is for commands that can also run over PostgreSQL, `switches` are pairs of an option
    and its help.
    """
    parser = argparse.ArgumentParser(description=description)
    # Removed from the environment, because the binary rejects settings that it does not know.
    default = os.environ.pop("ROSTER_BINARY", str(ROOT / "target" / "release" / "roster"))
    parser.add_argument("--binary", default=default, help=f"the service (default {default})")
    parser.add_argument("--slice", action="store_true", help="the small run of CI")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default 1)")
    if engines:
        choice = {"choices": ("sqlite", "postgres"), "default": "sqlite"}
        parser.add_argument("--engine", **choice, help="where the users are (default sqlite)")
    for name, text in switches:
        parser.add_argument(f"--{name}", action="store_true", help=text)
    for name, (full, small, text) in counts.items():
        text = f"{text} (default {full}, with --slice {small})"
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=int, default=None, help=text)
    given = parser.parse_args()
    for name, (full, small, _) in counts.items():
        if getattr(given, name) is None:
            setattr(given, name, small if given.slice else full)
    if not Path(given.binary).is_file():
        raise SystemExit(f"{given.binary} does not exist; build it: cargo build --release")
    return given
