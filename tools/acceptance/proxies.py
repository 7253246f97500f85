"""Roster behind nginx, HAProxy and Caddy, configured as docs/operations.md says.

The configurations are extracted from that page; only ports and files are replaced. Clients have
different loopback addresses, so that proxy and client differ. With a key: only the proxy determines
the client's address, whatever the client claims; failed attempts lock that client alone; an import
gets results while it is sent; in the full run, the longest wait for an event ends with a response.
Without a key: a service with proxy settings refuses to start, and an open service rejects requests
that came through a proxy.
"""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

from service import ROOT, Closed, Connection, Workplace, arguments, free_port

NAME = "directory.example.com"
CLAIMS = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
PROGRAMS = ("nginx", "haproxy", "caddy")
# Debian's directory of servers, which the PATH of a user often lacks.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
FAILURES = 5


class Fault(Exception):
    """A condition does not hold."""


def expect(what, found, wanted):
    if found != wanted:
        raise Fault(f"{what}: {found}, not {wanted}")


class Caller(Connection):
    """A connection from a loopback address, with TLS if a context is given."""

    def __init__(self, source, port, tls=None, host=NAME):
        super().__init__(("127.0.0.1", port), 10.0, tls)
        self.source, self.host = source, host

    def open(self):
        self.close()
        self.socket = socket.create_connection(self.address, self.timeout, (self.source, 0))
        if self.tls:
            self.socket = self.tls.wrap_socket(self.socket, server_hostname=NAME)
        return self

    def send(self, method, path, body=None, headers=None):
        if self.socket is None:
            self.open()
        lines = {"Host": self.host, **(headers or {})}
        head = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in lines.items())]
        self.socket.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
        self.method = method


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def status(source, port, path="/users", headers=None, tls=None, host=NAME):
    caller = Caller(source, port, tls, host)
    try:
        return caller.request("GET", path, headers=headers).status
    finally:
        caller.close()


class Roster:
    """The service, with a log of each request's client."""

    def __init__(self, options, place, *flags):
        self.port, self.log = free_port(), place / f"roster-{time.monotonic_ns()}.log"
        command = [options.binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--log", "debug"]
        command += ["--log-format", "json", *flags]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_for(self)

    def clients(self, request_id):
        """The clients of the requests with this id."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        lines = [json.loads(line) for line in lines]
        return [line["client"] for line in lines if line.get("request_id") == request_id]


class Proxy:
    """A proxy that runs one of the configurations."""

    def __init__(self, name, place, text):
        self.name, self.port, self.log = name, free_port(), place / f"{name}.log"
        home = place / f"{name}-{self.port}"
        home.mkdir()
        file = home / "configuration"
        file.write_text(text.replace("PORT", str(self.port)))
        command = {
            "nginx": ["nginx", "-p", home, "-c", file, "-e", self.log, "-g", "daemon off;"],
            "haproxy": ["haproxy", "-db", "-f", file],
            "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", file],
        }[name]
        environment = {**os.environ, "PATH": PATH, "HOME": str(home), "XDG_DATA_HOME": str(home)}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            )
        wait_for(self)


def wait_for(child):
    """Waits until a child process listens."""
    for _ in range(400):
        if child.process.poll() is not None:
            raise Fault(f"{child.process.args[0]} ended; see {child.log}")
        try:
            return socket.create_connection(("127.0.0.1", child.port), 5.0).close()
        except OSError:
            time.sleep(0.05)
    raise Fault(f"{child.process.args[0]} does not listen; see {child.log}")


def stop(child):
    if child.process.poll() is None:
        child.process.send_signal(signal.SIGTERM)
        try:
            child.process.wait(10)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()


def documented(name, place, upstream):
    """The configuration of a proxy from the documentation, with these ports and files."""
    page = (ROOT / "docs" / "operations.md").read_text()
    text = re.search(rf"```{name}\n(.*?)```", page, re.S).group(1)
    for old, new in [
        ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
        ("/etc/ssl", str(place)),
        ("listen 443", "listen 127.0.0.1:PORT"),
        ("bind :443", "bind 127.0.0.1:PORT"),
        (f"{NAME} {{", f"{NAME}:PORT {{"),
    ]:
        text = text.replace(old, new)
    return wrapped(name, text)


def bare(name, upstream):
    """The shortest configuration, which forwards unencrypted requests."""
    return wrapped(name, {
        "nginx": f"server {{ listen 127.0.0.1:PORT; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }}",
        "caddy": f"http://:PORT {{\n reverse_proxy 127.0.0.1:{upstream}\n}}",
    }[name])


def wrapped(name, text):
    """A configuration with the changes that a proxy needs to run without being installed."""
    if name == "nginx":
        user = "user root;\n" if os.geteuid() == 0 else ""
        paths = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{path}_temp_path {path};\n" for path in paths)
        return f"{user}pid nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}{text}}}\n"
    if name == "caddy":
        options = "admin off\nauto_https disable_redirects\nskip_install_trust\n"
        return f"{{\n{options}default_bind 127.0.0.1\n}}\n{text}"
    return text


def certificate(place):
    """A certificate for the name, in the files of the documentation. Returns the context of
    clients.
    """
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    command += ["-keyout", place / "directory.key", "-out", place / "directory.crt"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    pair = [(place / f"directory.{kind}").read_text() for kind in ("crt", "key")]
    (place / "directory.pem").write_text("".join(pair))
    context = ssl.create_default_context(cafile=place / "directory.crt")
    context.set_alpn_protocols(["http/1.1"])
    return context


def streams(proxy, tls, key):
    """An import through the proxy: each result arrives before the next line is sent."""
    caller = Caller("127.0.0.2", proxy.port, tls)
    fields = {"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}
    caller.send("POST", "/bulk/users", headers={**bearer(key), **fields})
    seen = b""
    for number in range(3):
        line = json.dumps({"username": f"{proxy.name}-{number}"}).encode() + b"\n"
        caller.socket.sendall(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        while seen.count(b'"status":201') <= number:
            data = caller.socket.recv(65536)
            if not data:
                raise Fault(f"the import broke off after {seen!r}")
            seen += data
    caller.socket.sendall(b"0\r\n\r\n")
    while not seen.endswith(b"0\r\n\r\n"):
        data = caller.socket.recv(65536)
        if not data:
            raise Fault(f"the import broke off after {seen!r}")
        seen += data
    caller.close()


def whole_import(proxy, tls, key, count=20_000):
    """An import that is sent completely before anything of its response is read."""
    caller = Caller("127.0.0.2", proxy.port, tls)
    names = (f'{{"username":"{proxy.name}-whole-{number}"}}\n' for number in range(count))
    body = "".join(names).encode()
    fields = {"Content-Type": "application/x-ndjson", "Content-Length": len(body)}
    caller.timeout = 60.0
    caller.send("POST", "/bulk/users", headers={**bearer(key), **fields})
    caller.socket.sendall(body)
    answer = caller.receive()
    if (answer.status, answer.body.count(b'"status":201')) != (200, count):
        raise Fault(f"a whole import: {answer}")
    caller.close()


def waits(proxy, tls, key):
    """The longest wait for an event: a proxy does not end it."""
    caller = Caller("127.0.0.2", proxy.port, tls)
    caller.timeout = 70.0
    caller.send("GET", "/events?after=latest&wait=60", headers=bearer(key))
    expect("a wait for an event", caller.receive().status, 200)
    caller.close()


def import_by_http2(proxy, place, key, count=20_000):
    """An import with HTTP/2, by curl."""
    names = (f'{{"username":"{proxy.name}-http2-{number}"}}\n' for number in range(count))
    command = ["curl", "--silent", "--http2", "--cacert", place / "directory.crt"]
    command += ["--resolve", f"{NAME}:{proxy.port}:127.0.0.1", "--max-time", "60"]
    command += ["--header", f"Authorization: Bearer {key}"]
    command += ["--header", "Content-Type: application/x-ndjson"]
    command += ["--data-binary", "@-", f"https://{NAME}:{proxy.port}/bulk/users"]
    command = [str(word) for word in command]
    done = subprocess.run(command, input="".join(names).encode(), capture_output=True)
    created = done.stdout.count(b'"status":201')
    expect("an import by HTTP/2", (done.returncode, created), (0, count))


def with_a_key(name, options, place, tls):
    """All conditions behind a proxy once there is a key."""
    data = place / f"{name}-data"
    command = [options.binary, "keys", "create", "admin", "--scope", "all", "--data", data]
    made = subprocess.run([str(word) for word in command], check=True, capture_output=True)
    key = made.stdout.decode().strip()
    flags = ("--base-url", f"https://{NAME}", "--trusted-proxies", "127.0.0.1")
    roster = Roster(options, place, "--data", data, *flags, "--failed-auth-per-minute", FAILURES)
    proxy = Proxy(name, place, documented(name, place, roster.port))
    try:
        clients_are_told(name, roster, proxy, tls, key)
        attempts_lock_their_client(proxy, tls, key)
        expect("a malformed header", status("127.0.0.1", roster.port, headers={
            **bearer(key), "X-Forwarded-For": "garbage"}), 400)
        expect("health", status("127.0.0.1", roster.port, "/readyz", {
            "X-Forwarded-For": "garbage"}), 200)
        # Caddy 2.6 returns the response to an HTTP/1.1 request only once the request is complete.
        if name != "caddy":
            whole_import(proxy, tls, key)
            streams(proxy, tls, key)
        import_by_http2(proxy, place, key)
        if not options.slice:
            waits(proxy, tls, key)
    finally:
        stop(proxy)
        stop(roster)


def clients_are_told(name, roster, proxy, tls, key):
    for source in ("127.0.0.2", "127.0.0.3"):
        for claims in ({}, CLAIMS):
            request_id = f"{name}-{source}-{len(claims)}"
            headers = {**bearer(key), **claims, "X-Request-Id": request_id}
            expect(f"{source} through {name}", status(source, proxy.port, headers=headers, tls=tls), 200)
            expect(f"the client {source}", roster.clients(request_id), [source])
    headers = {**bearer(key), **CLAIMS, "X-Request-Id": f"{name}-direct"}
    expect("a direct caller", status("127.0.0.4", roster.port, headers=headers), 200)
    expect("the direct client", roster.clients(f"{name}-direct"), ["127.0.0.4"])


def attempts_lock_their_client(proxy, tls, key):
    guess = {"Authorization": "Bearer guess"}
    for _ in range(FAILURES):
        expect("a guess", status("127.0.0.5", proxy.port, headers=guess, tls=tls), 401)
    for claims in ({}, CLAIMS):
        found = status("127.0.0.5", proxy.port, headers={**guess, **claims}, tls=tls)
        expect("a guess from a locked client", found, 429)
    expect("a guess of another", status("127.0.0.6", proxy.port, headers=guess, tls=tls), 401)
    expect("a key from a locked client", status("127.0.0.5", proxy.port, headers=bearer(key), tls=tls), 200)


def without_a_key(name, options, place, tls):
    """Nothing is served through a proxy before the first key."""
    data = place / f"{name}-open"
    for flags in (("--base-url", f"https://{NAME}"), ("--trusted-proxies", "127.0.0.1")):
        command = [options.binary, "serve", "--listen", "127.0.0.1:0", "--data", data, *flags]
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=30)
        expect(f"a start with {flags[0]}", done.returncode, 78)
    roster = Roster(options, place, "--data", data)
    ways = [bare(name, roster.port)] if name != "haproxy" else []
    # Caddy itself rejects a Host that is not the site's.
    ways += [documented(name, place, roster.port)] if name != "caddy" else []
    try:
        expect("a direct caller", status("127.0.0.1", roster.port, host="127.0.0.1"), 200)
        for text in ways:
            proxy = Proxy(name, place, text)
            secured = tls if "ssl" in text else None
            try:
                found = status("127.0.0.1", proxy.port, host="127.0.0.1", tls=secured)
                expect(f"the open service behind {name}", found, 403)
            finally:
                stop(proxy)
    finally:
        stop(roster)


def main():
    options = arguments(__doc__)
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=PATH)]:
        raise SystemExit(f"{', '.join(missing)} missing; install nginx-light, haproxy and caddy")
    faults = []
    with Workplace("proxies") as place:
        tls = certificate(place)
        for name in PROGRAMS:
            for check in (with_a_key, without_a_key):
                try:
                    check(name, options, place, tls)
                    print(f"{name}: {check.__name__} holds")
                except (Fault, Closed, OSError) as fault:
                    faults.append(f"{name}: {check.__name__}: {fault}")
                    print(faults[-1])
        if faults:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
