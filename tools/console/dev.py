"""Serve the console from the web folder on disk, and pass all other requests to a Roster.

    python3 tools/console/dev.py --port 7900 --roster http://127.0.0.1:8080

Open http://127.0.0.1:7900/console. A reload shows a change of a file at once.
"""

import argparse
import http.client
import http.server
import mimetypes
import pathlib
import urllib.parse

WEB = pathlib.Path(__file__).resolve().parents[2] / "crates/roster-console/web"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types lit-html"
)
# Headers of one connection, and those by which Roster would reject a request of another origin.
DROPPED = {
    "host", "origin", "referer", "connection", "keep-alive", "transfer-encoding", "upgrade",
    "proxy-connection", "te", "trailer", "sec-fetch-mode", "sec-fetch-dest",
}


class Handler(http.server.BaseHTTPRequestHandler):
    """One request of the browser."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        path = urllib.parse.urlsplit(self.path).path
        if path.rstrip("/").endswith("/console"):
            base = path.rstrip("/").removesuffix("/console")
            page = (WEB / "index.html").read_text()
            page = page.replace("{{base}}", base).replace("{{files}}", "/console/dev")
            self.send(page.encode(), "text/html; charset=utf-8")
        elif path.startswith("/console/dev/"):
            self.send_file(path.removeprefix("/console/dev/"))
        else:
            self.proxy()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def send(self, body, kind, status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", CSP)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_file(self, name):
        file = (WEB / name).resolve()
        if WEB not in file.parents or not file.is_file():
            self.send(b"no such file\n", "text/plain", 404)
            return
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        self.send(file.read_bytes(), "text/javascript" if file.suffix == ".js" else kind)

    def body(self):
        """The body of the request; chunks are put together."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def proxy(self):
        up = self.server.roster
        body = self.body()
        headers = {k: v for k, v in self.headers.items() if k.lower() not in DROPPED}
        headers["Host"] = up.netloc
        link = http.client.HTTPConnection(up.hostname, up.port or 80, timeout=3700)
        try:
            link.request(self.command, self.path, body=body or None, headers=headers)
            self.relay(link.getresponse())
        except ConnectionError as error:
            if not self.wfile.closed:
                self.close_connection = True
                print(f"{self.command} {self.path}: {error}")
        finally:
            link.close()

    def relay(self, response):
        """Pass each part on as it arrives: streams never end."""
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in {"connection", "transfer-encoding", "date", "server"}:
                self.send_header(name, value)
        streams = response.getheader("Content-Length") is None
        if streams:
            self.send_header("Connection", "close")
        self.end_headers()
        while self.command != "HEAD" and (part := response.read1(65536)):
            self.wfile.write(part)
            self.wfile.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=7900)
    parser.add_argument("--roster", default="http://127.0.0.1:8080")
    args = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    server.roster = urllib.parse.urlsplit(args.roster)
    print(f"http://127.0.0.1:{args.port}/console")
    server.serve_forever()


if __name__ == "__main__":
    main()
