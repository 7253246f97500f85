"""Web pages in a real Chromium attack a service on the same machine, and no attack succeeds.

The pages belong to an attacker. They are on another site, on another port of the same host, on
another name of the host, in a sandboxed frame and a data: URL (both with the origin null), and on a
name that the attacker has rebound to the service's address and port. Each attack of
browser_attacks.py runs from each page: first on an unprotected service, where it must succeed, then
on the real service while it is open, and from two of the pages once the service has a key. There
every request must be rejected, no user data may be read, and the collection must not change.
According to the browser's own network log, no response may have a CORS header. At the end, pages of
a listed origin must succeed with a key, and only with a key.
"""

import json
import shutil
import sys
import time
from pathlib import Path

from browser_attacks import ATTACKS
from browser_sites import Careless, Site
from playwright.sync_api import Error, sync_playwright
from service import Connection, Service, Workplace, arguments, free_port

SECRET = "ada.lovelace@victim.example"
EVIL = "evil.example"
EVERYTHING = ("windows", "navigation", "own site", "service workers")
SCOPES = ("users:read", "users:write", "users:purge", "events:read", "metrics:read", "keys:admin")


class Fault(Exception):
    """A condition does not hold."""


def hold(truth, text):
    if not truth:
        raise Fault(text)


class Watched(Service):
    """The service, with a log of every request that reached it."""

    def __init__(self, binary, data, flags=()):
        super().__init__(binary, data, flags=("--log=debug", "--log-format=json", *flags))
        self.read, self.key = 0, None

    def seen(self):
        """Method and status of each request since the last call, except this command's direct
        requests.
        """
        with open(self.log, "rb") as log:
            log.seek(self.read)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.read += len(whole)
        lines = [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]
        lines = [line for line in lines if line.get("message") == "answered"]
        # A window requests /favicon.ico by itself, which does not exist.
        lines = [l for l in lines if (l["operation"], l["status"]) != ("none", 404)]
        return [(l["method"], l["status"]) for l in lines if l["request_id"] != "direct"]

    def ask(self, method, path, body=None, status=200):
        """Sends a request directly, without the browser."""
        headers = {"X-Request-Id": "direct"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        connection = Connection(self.address)
        answer = connection.request(method, path, body, headers)
        connection.close()
        hold(answer.status == status, f"{method} {path} was answered {answer}")
        return answer

    def state(self):
        """The state that no page may change."""
        page = self.ask("GET", "/users?count=true")
        keys = [key["id"] for key in self.ask("GET", "/keys").json()["items"]]
        return page.headers["roster-position"], page.json(), keys

    def populate(self):
        """Creates a user and a deleted user. Returns their data."""
        user = self.ask("POST", "/users", {"email": SECRET, "name": "Ada"}, 201).json()["id"]
        left = self.ask("POST", "/users", {"username": "grace"}, 201).json()["id"]
        self.ask("DELETE", f"/users/{left}", status=204)
        return f"/users/{user}", f"/deleted-users/{left}"

    def close(self):
        """Creates the first key."""
        body = {"name": "ours", "scopes": list(SCOPES)}
        self.key = self.ask("POST", "/keys", body, 201).json()["key"]


class Place:
    """A page of the attacker, and the host name of the target as this page uses it."""

    def __init__(self, name, open_page, host="127.0.0.1", has=EVERYTHING, rebound=False):
        self.name, self.open_page, self.host = name, open_page, host
        self.has, self.rebound = has, rebound


def framed(markup):
    def opened(page, site):
        page.goto(f"http://{EVIL}:{site.port}/page")
        handle = page.evaluate_handle(
            "(m) => { const d = document.createElement('div'); d.innerHTML = m;"
            " document.body.append(d); return d.firstChild; }",
            markup.replace("SITE", f"http://{EVIL}:{site.port}"),
        )
        frame = handle.as_element().content_frame()
        frame.wait_for_load_state()
        hold(frame.evaluate("self.origin") == "null", "a frame of origin null has another one")
        return frame

    return opened


def at(host):
    def opened(page, site):
        page.goto(f"http://{host}:{site.port}/page")
        return page

    return opened


MAY = "allow-scripts allow-forms allow-popups allow-modals"
PLACES = [
    Place("another site", at(EVIL), has=("windows", "navigation", "own site")),
    Place("the same host, another port", at("127.0.0.1")),
    Place("another name of the host", at("localhost")),
    Place("a sandboxed frame", framed(f'<iframe sandbox="{MAY}" src="SITE/page"></iframe>'),
          has=("windows",)),
    Place("a data: URL", framed('<iframe src="data:text/html,<body>x</body>"></iframe>'),
          has=("windows",)),
    Place("a name rebound to the service", at(EVIL), host=EVIL, has=("windows",), rebound=True),
]


class Ring:
    """A target and the attacks on it."""

    def __init__(self, browser, site, target, port, paths):
        self.browser, self.site, self.target, self.port = browser, site, target, port
        self.paths, self.tried, self.requests = paths, 0, 0

    def url(self, place):
        return f"http://{place.host}:{self.port}"

    def attacks(self, place):
        own = [attack for attack in ATTACKS if not attack.needs or attack.needs in place.has]
        hold(len(own) > 25, f"{place.name} has hardly any attack")
        return own

    def run(self, place, frame, judge):
        for attack in self.attacks(place):
            words = [self.url(place), f"http://{EVIL}:{self.site.port}", *self.paths,
                     self.target.key or "rst_of_nobody"]
            if place.host != EVIL:
                words[1] = frame.evaluate("self.origin")
            self.target.seen()
            try:
                told = frame.evaluate(attack.source(), words)
            except Error as error:
                raise Fault(f"{attack.name} from {place.name}: {error}") from error
            seen = self.arrived(attack)
            for window in self.windows(frame):
                window.close()
            self.tried, self.requests = self.tried + 1, self.requests + len(seen)
            judge(place, attack, seen, told)

    def windows(self, frame):
        """The windows that an attack has opened."""
        page = getattr(frame, "page", frame)
        return [other for other in page.context.pages if other != page]

    def arrived(self, attack):
        """The requests of an attack, once the expected number has arrived."""
        seen, until = self.target.seen(), time.monotonic() + 3.0
        while len(seen) < len(attack.sends) and time.monotonic() < until:
            time.sleep(0.01)
            seen += self.target.seen()
        return seen


def succeeds(place, attack, seen, told):
    """On the unprotected service, every request must be sent and everything readable must be read.
    """
    label = f"{attack.name} from {place.name}"
    methods = [method for method, _ in seen]
    for method in set(attack.sends):
        made, meant = methods.count(method), attack.sends.count(method)
        hold(made >= meant, f"{label} sends {made} {method}, not {meant}: it proves nothing")
    readable = attack.reads == "anywhere" or (attack.reads == "own" and place.rebound)
    hold(not readable or SECRET in told, f"{label} reads nothing of a careless service")


def refused_by(service):
    before = service.state()

    def judge(place, attack, seen, told):
        label = f"{attack.name} from {place.name}"
        hold(len(seen) >= len(attack.sends), f"{label}: only {seen} arrived")
        status = 421 if place.rebound else 403
        hold(all(one == status for _, one in seen), f"{label} was answered {seen}")
        hold(SECRET not in told, f"{label} has read {told[:200]}")
        hold(service.state() == before, f"{label} has changed the collection")

    return judge


class Browser:
    """Debian's Chromium with an empty profile."""

    def __init__(self, playwright, record=None):
        path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        hold(path, "there is no chromium: apt-get install chromium")
        flags = [
            "--no-sandbox",
            # The attacker's name server, which now returns the address of this machine.
            f"--host-resolver-rules=MAP {EVIL} 127.0.0.1",
            "--disable-popup-blocking",
        ]
        if record:
            flags += [f"--log-net-log={record}", "--net-log-capture-mode=IncludeSensitive"]
        self.chromium = playwright.chromium.launch(executable_path=path, args=flags)

    def __enter__(self):
        return self.chromium

    def __exit__(self, *_):
        self.chromium.close()


def attacked(browser, site, port, start, judge_of, paths, places):
    """Runs all attacks from all pages on the service that `start` starts at this port. Returns the
    counts.
    """
    rebound = browser.new_page()
    # The name first resolves to the attacker's server, and later to the target.
    first = Site(port)
    rebound.goto(f"http://{EVIL}:{port}/page")
    first.stop()
    target = start()
    ring = Ring(browser, site, target, port, paths(target))
    judge = judge_of(target)
    for place in places:
        page = rebound if place.rebound else browser.new_page()
        page.set_default_timeout(15_000)
        ring.run(place, page if place.rebound else place.open_page(page, site), judge)
        page.close()
    return target, ring


def own_pages(browser, service, site):
    """Checks that legitimate requests still work, so that the attacks are not rejected by accident.
    """
    url = "http://{}:{}".format(*service.address)
    page = browser.new_page()
    answer = page.goto(f"{url}/docs")
    hold(answer.status == 200 and "Roster" in page.title(), "/docs is not shown")
    page.close()
    # The page forbids all scripts, so the rights of its origin are tested without them.
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(f"{url}/docs")
    get = "async () => { const r = await fetch('/users'); return [r.status, await r.text()]; }"
    status, text = page.evaluate(get)
    hold(status == 200 and SECRET in text, f"its own page reads {status}")
    before = service.state()
    post = """async () => (await fetch('/users', {method: 'POST', body: '{"username":"own"}',
        headers: {'content-type': 'application/json'}})).status"""
    hold(page.evaluate(post) == 201, "its own page cannot write")
    hold(service.state() != before, "a change of the collection is not noticed")
    for path in ("/", "/docs"):
        page.goto(f"http://{EVIL}:{site.port}/page")
        with page.expect_navigation(url=url + path) as navigation:
            page.evaluate("(u) => { const a = document.createElement('a'); a.href = u;"
                          " document.body.append(a); a.click(); }", url + path)
        status = navigation.value.status
        hold(status == 200, f"a link elsewhere to {path} is answered {status}")
    context.close()


CALL = """async ([url, method, headers, body, credentials]) => {
    try {
        const r = await fetch(url, {method, headers, body, credentials});
        return {status: r.status, text: await r.text(), etag: r.headers.get('etag'),
                position: r.headers.get('roster-position'), link: r.headers.get('link')};
    } catch (e) { return {status: 0, text: ''}; }
}"""


def listed_origins(browser, service, site):
    """Pages of a listed origin can call with a key, and not without a key or before there is one.
    """
    url = "http://{}:{}".format(*service.address)
    service.populate()
    page, other = browser.new_page(), browser.new_page()
    page.goto(f"http://localhost:{site.port}/page")
    other.goto(f"http://{EVIL}:{site.port}/page")

    def call(method, path, headers=(), body=None, credentials="same-origin", origin=page):
        sent = {"content-type": "application/json"} if body else {}
        return origin.evaluate(CALL, [url + path, method, sent | dict(headers), body, credentials])

    hold(call("GET", "/users")["status"] == 0, "a listed origin reads an open service")
    hold(call("POST", "/users", body="{}")["status"] == 0, "a listed origin writes to an open one")
    service.close()
    key = {"authorization": f"Bearer {service.key}"}
    nobody = call("GET", "/users")
    hold(nobody["status"] == 401 and SECRET not in nobody["text"], f"without a key: {nobody}")
    page_of_users = call("GET", "/users?limit=1&sort=name", key)
    hold(page_of_users["status"] == 200 and SECRET in page_of_users["text"], "a list is not read")
    hold(page_of_users["position"], "the position of a list is not read")
    created = call("POST", "/users", key, '{"username":"linus"}')
    hold(created["status"] == 201 and created["etag"] == '"1"', f"a create is {created}")
    path = f"/users/{json.loads(created['text'])['id']}"
    changed = call("PATCH", path, key | {"if-match": '"1"'}, '{"name":"Linus"}')
    hold(changed["status"] == 200 and changed["etag"] == '"2"', f"a patch is {changed}")
    stale = call("DELETE", path, key | {"if-match": '"1"'})
    hold(stale["status"] == 412 and "problems" in stale["text"], f"a stale delete is {stale}")
    hold(call("DELETE", path, key)["status"] == 204, "a delete fails")
    before = service.state()
    hold(call("GET", "/users", key, credentials="include")["status"] == 0, "cookies are welcome")
    for method, body in (("GET", None), ("POST", '{"username":"mallory"}')):
        answer = call(method, "/users", key, body, origin=other)
        hold(answer["status"] == 0, f"{method} of an origin that is not listed: {answer}")
    hold(service.state() == before, "what was refused has changed the collection")


def recorded(record, port):
    """The heads of all responses from a port, as the browser's network stack recorded them."""
    log = json.loads(record.read_text())
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    urls, heads = {}, []
    for event in log["events"]:
        kind, source = names[event["type"]], event["source"]["id"]
        params = event.get("params", {})
        if "url" in params:
            urls[source] = params["url"]
        if kind.endswith("READ_RESPONSE_HEADERS") and f":{port}/" in urls.get(source, ""):
            heads.append([line.lower() for line in params["headers"]])
    return heads


def careless(playwright, site):
    port = free_port()
    with Browser(playwright) as browser:
        def start():
            server = Careless(port, SECRET)
            server.key = None
            return server

        target, ring = attacked(browser, site, port, start, lambda _: succeeds,
                                lambda _: ("/users/1", "/deleted-users/1"), PLACES)
        target.stop()
    return ring.tried


def guarded(playwright, site, options, place, is_closed):
    """Attacks the real service. Returns the counts of attacks, and of responses in the browser's
    log.
    """
    mode, places = ("closed", [PLACES[0], PLACES[-1]]) if is_closed else ("open", PLACES)
    service, record = Watched(options.binary, place / mode), place / f"{mode}.netlog"
    paths = []

    def start():
        service.start()
        paths.extend(service.populate())
        if is_closed:
            service.close()
        return service

    try:
        with Browser(playwright, record) as browser:
            _, ring = attacked(browser, site, service.address[1], start, refused_by,
                               lambda _: paths, places)
            if not is_closed:
                own_pages(browser, service, site)
        heads = recorded(record, service.address[1])
    finally:
        service.stop()
    # The log does not contain the WebSocket of each page as a response.
    noted = len(heads) + len(places)
    hold(noted >= ring.requests, f"{ring.requests} requests, {noted} answers noted")
    for head in heads:
        cors = [line for line in head if line.startswith("access-control-")]
        hold(not cors, f"an answer carries {cors}")
    return ring.tried, len(heads)


def main():
    options = arguments(__doc__)
    began = time.monotonic()
    try:
        with Workplace("browser") as place, sync_playwright() as playwright:
            site = Site()
            proved = careless(playwright, site)
            tried, answers = guarded(playwright, site, options, place, False)
            closed, more = guarded(playwright, site, options, place, True)
            hold(tried == proved, f"{proved} attacks succeeded, {tried} were refused")
            flags = ["--cors-origins", f"http://localhost:{site.port}"]
            service = Watched(options.binary, place / "listed", flags)
            service.start()
            try:
                with Browser(playwright) as browser:
                    listed_origins(browser, service, site)
            finally:
                service.stop()
            site.stop()
    except Fault as fault:
        print(f"browser: {fault}")
        sys.exit(1)
    print(
        f"browser: {tried} attacks from {len(PLACES)} places, each proved upon a careless service, "
        f"refused by the open one, {closed} of them by one with a key; {answers + more} answers "
        f"without a header of CORS; a listed origin reads and writes with a key; "
        f"{time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
