"""The sites beside the service: the attacker's, and an unprotected service.

Every attack must succeed against the unprotected service. This proves that the attacks work.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = b"<!doctype html><meta charset=utf-8><title>a page elsewhere</title><body>"
WORKER = b"""
onmessage = async (m) => {
    let text = '';
    try { text += await (await fetch(m.data + '/users')).text(); } catch (e) {}
    try {
        await fetch(m.data + '/users', {method: 'POST', mode: 'no-cors', body: '{"username":"m"}'});
    } catch (e) {}
    m.ports[0].postMessage(text);
};
"""


class Server:
    """A server on one loopback port, with threads. Stopping it closes all connections."""

    def __init__(self, handler, port=0):
        self.connections, self.lock = set(), threading.Lock()
        outer = self

        class Handler(handler):
            server_of = outer

            def setup(self):
                with outer.lock:
                    outer.connections.add(self.request)
                super().setup()

            def log_message(self, *_):
                pass

        ThreadingHTTPServer.allow_reuse_address = True
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            for connection in self.connections:
                try:
                    # A connection that the browser opened in advance must not be used any more.
                    connection.shutdown(2)
                except OSError:
                    pass


class Site(Server):
    """The attacker's pages."""

    class Pages(BaseHTTPRequestHandler):
        def answer(self):
            parts = urlsplit(self.path)
            self.rfile.read(int(self.headers.get("content-length", "0")))
            if parts.path == "/redirect":
                self.send_response(307)
                self.send_header("Location", parse_qs(parts.query)["to"][0])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            script = parts.path.endswith(".js")
            body = WORKER if script else PAGE
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if script else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

    def __init__(self, port=0):
        super().__init__(self.Pages, port)


class Careless(Server):
    """A service without guards, which returns `secret` to everybody and executes every request."""

    class Everything(BaseHTTPRequestHandler):
        def answer(self):
            outer = self.server_of
            self.rfile.read(int(self.headers.get("content-length", "0")))
            with outer.lock:
                # A preflight does not count as a request of the attack.
                if self.command != "OPTIONS":
                    outer.requests.append((self.command, 200))
            events = "text/event-stream" in self.headers.get("accept", "")
            body = (f"data: {outer.secret}\n\n" if events else f'["{outer.secret}"]').encode()
            self.send_response(200)
            asked = self.headers.get("access-control-request-headers", "*")
            for name, value in [
                ("Access-Control-Allow-Origin", self.headers.get("origin", "*")),
                ("Access-Control-Allow-Credentials", "true"),
                ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"),
                ("Access-Control-Allow-Headers", asked),
                ("Content-Type", "text/event-stream" if events else "application/json"),
                ("Content-Length", str(len(body))),
            ]:
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def __init__(self, port, secret):
        self.requests, self.secret = [], secret
        super().__init__(self.Everything, port)

    def seen(self):
        """Method and status of each request since the last call."""
        with self.lock:
            requests, self.requests = self.requests, []
        return requests
