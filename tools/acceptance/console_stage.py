"""The shared parts of console.py: the service and its people, pages that are watched, and a hand
that counts its clicks and keys.
"""

import contextlib
import json
import shutil
from urllib.parse import urlsplit

from playwright.sync_api import Error
from service import Connection, Service
from tenants_client import SCOPES, expect

LISTEN = """() => {
    addEventListener('securitypolicyviolation', (event) => console.error('POLICY '
        + event.violatedDirective + ' ' + event.blockedURI + ' ' + (event.sample ?? '')), true);
    addEventListener('error', (event) => event.target !== window
        && console.error('POLICY not loaded ' + (event.target.src ?? event.target.href)), true);
}"""
CHROMIUM = ("chromium", "chromium-headless-shell")
# A disk that other commands keep busy may make one write take seconds.
WAIT_MS = 20_000
# What a page says when a step of it failed.
SAID = "[role=alert], .toast, .savebar, dialog[open]"


class Stage:
    """A service with a key for everything, and requests to its API."""

    def __init__(self, binary, data, operator=True, flags=(), **options):
        flags = ("--webhook-networks", "127.0.0.1/32", *flags)
        self.service = Service(binary, data, flags=flags, **options)
        self.service.ready, self.key = "/readyz", None
        self.service.start()
        if operator:
            self.key = self.made_key("operator", [*SCOPES, "tenants:admin", "audit:read"],
                                     tenants="all")
        self.url = "http://{}:{}".format(*self.service.address)

    def call(self, method, path, body=None, headers=(), key=None):
        """The response to a request with a key, by default that of the operator."""
        headers = dict(headers)
        if key or self.key:
            headers["Authorization"] = f"Bearer {key or self.key}"
        connection = Connection(self.service.address)
        answer = connection.request(method, path, body, headers)
        connection.close()
        return answer

    def ask(self, method, path, body=None, headers=()):
        """The JSON of a response, which must be a success."""
        answer = self.call(method, path, body, headers)
        expect(answer.status < 300, f"{method} {path} was answered {answer}")
        return answer.json() if answer.body else None

    def change(self, path, body):
        return self.ask("PATCH", path, body, {"Content-Type": "application/merge-patch+json"})

    def made_key(self, name, scopes, base="", **members):
        return self.ask("POST", f"{base}/keys", {"name": name, "scopes": scopes, **members})["key"]

    def lines(self, path, records, **headers):
        body = b"\n".join(json.dumps(record).encode() for record in records)
        return self.call("POST", path, body, {"Content-Type": "application/x-ndjson", **headers})

    def user(self, username):
        """A user by the username, or None."""
        found = self.ask("GET", f"/users?username={username}")["items"]
        return found[0] if found else None

    def count(self, filter_):
        return self.ask("GET", f"/users?filter={filter_.replace(' ', '+')}&count=true")["total"]

    def stop(self):
        self.service.stop()


class Theatre:
    """A browser whose pages may not ask elsewhere, violate the policy or fail."""

    def __init__(self, playwright):
        path = next(filter(None, map(shutil.which, CHROMIUM)), None)
        expect(path, "there is no chromium: apt-get install chromium")
        self.browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        self.faults, self.requests, self.pages = [], 0, 0

    def context(self, stage, state=None, size=(1280, 800), **options):
        """A context of pages that are watched from their first moment."""
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, storage_state=state,
            accept_downloads=True, permissions=["clipboard-read", "clipboard-write"], **options)
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(f"({LISTEN})()")
        own = urlsplit(stage.url).netloc

        def requested(request):
            parts = urlsplit(request.url)
            self.requests += 1
            if parts.scheme not in ("data", "blob") and parts.netloc != own:
                self.faults.append(f"a request left for {request.url}")

        def told(message):
            if message.type == "error" and "Failed to load resource" not in message.text:
                self.faults.append(f"at {message.page.url[-60:]}: {message.text[:300]}")

        context.on("request", requested)
        context.on("console", told)
        context.on("weberror", lambda error: self.faults.append(
            f"uncaught in {error.page.url[-60:]}: {error.error}"[:400]))
        context.on("page", lambda _: setattr(self, "pages", self.pages + 1))
        return context

    def check(self):
        """No page may have done what it may not."""
        faults, self.faults = list(dict.fromkeys(self.faults)), []
        expect(not faults, "; ".join(faults[:12]))

    def leave(self):
        """Closes the pages that a fault left open. Returns what they say."""
        said = []
        for context in self.browser.contexts:
            for page in context.pages:
                shown = [one.inner_text() for one in page.locator(SAID).all() if one.is_visible()]
                said += [" ".join(f"{page.url[-60:]} says: {text}".split()) for text in shown]
            context.close()
        return said

    def close(self):
        self.browser.close()


def sign_in(page, stage, key, fragment="#/users"):
    """Opens the page and signs in."""
    page.goto(f"{stage.url}/console{fragment}")
    page.locator("#credential").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".who").wait_for(state="attached")


class Hand:
    """Clicks with a mouse or a finger, or uses the keyboard alone, and counts. Typing is free."""

    def __init__(self, page, way="mouse"):
        self.page, self.way, self.count = page, way, 0

    def key(self, name):
        self.page.keyboard.press(name)
        self.count += 1

    def press(self, target, key="Enter"):
        """Presses a button or a link, or ticks a box with the key Space."""
        target = target.first
        target.wait_for()
        if self.way == "keys":
            self.reach(target)
            self.key(key)
        else:
            target.click() if self.way == "mouse" else target.tap()
            self.count += 1

    def reach(self, target, key="Tab", most=150):
        """Moves the focus to an element."""
        for _ in range(most):
            if target.evaluate("(element) => element === document.activeElement"):
                return
            self.key(key)
        raise Error(f"{target} cannot be reached with the keyboard")

    def tick(self, target):
        self.press(target, "Space")

    def choose(self, name):
        """An item of the open menu."""
        item = self.page.get_by_role("menuitem", name=name)
        item.first.wait_for()
        if self.way == "keys":
            self.reach(item, "ArrowDown")
            self.key("Enter")
        else:
            self.press(item)

    def pick(self, radio):
        """One of some radio buttons, of which none may be chosen yet."""
        if self.way != "keys":
            self.press(radio)
            return
        group = radio.get_attribute("name")
        for _ in range(150):
            at = self.page.evaluate("() => document.activeElement.name ?? ''")
            if at == group:
                break
            self.key("Tab")
        self.reach(radio, "ArrowDown")
        if not radio.is_checked():
            self.key("Space")

    def write(self, target, text):
        """Replaces the text of a field, which gets the focus first. A field that has it is free."""
        target.wait_for()
        if not target.evaluate("(element) => element === document.activeElement"):
            if self.way == "keys":
                self.reach(target)
            else:
                target.click() if self.way == "mouse" else target.tap()
                self.count += 1
        if self.way == "touch":
            # The click that a tap makes comes later, and would end the selection.
            self.page.wait_for_timeout(500)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def save(self):
        if self.way == "keys":
            self.key("Control+Enter")
        else:
            self.press(self.page.locator(".savebar").get_by_role("button", name="Save"))

    def submit(self, target):
        """The main button of a dialog."""
        if self.way == "keys":
            target.wait_for()
            self.page.wait_for_function("(button) => !button.disabled",
                                        arg=target.element_handle())
            self.key("Control+Enter")
        else:
            self.press(target)

    def command(self, words, name=None):
        """Finds by words in the command palette, and chooses. A phone has a button for it."""
        if self.way == "keys":
            self.key("Control+k")
        else:
            self.press(self.page.get_by_role("button", name="Find or do"))
        box = self.page.locator(".palette input")
        box.wait_for()
        self.page.keyboard.type(words)
        option = self.page.get_by_role("option").filter(has_text=name or words)
        if self.way == "keys":
            chosen = self.page.locator("[role=option][aria-selected=true]")
            chosen.filter(has_text=name or words).wait_for()
            self.key("Enter")
        else:
            self.press(option)
        box.wait_for(state="detached")

    def row(self, text):
        """Searches in the list of users and opens the first row."""
        self.page.keyboard.type(text)
        self.page.locator("#row-0").filter(has_text=text.split()[-1]).wait_for()
        self.page.locator("#row-1").wait_for(state="detached")
        if self.way == "keys":
            self.key("Enter")
        else:
            self.press(self.page.locator("#row-0 .c-nm"))

    def go(self, name):
        """A screen of the navigation, which is behind a button on a phone. The keys jump to it."""
        if self.way == "keys":
            self.key("Control+k")
            self.page.locator(".palette input").wait_for()
            self.page.keyboard.type(name)
            self.page.get_by_role("option", name=name).first.wait_for()
            self.key("Enter")
            self.page.locator("dialog").wait_for(state="detached")
            return
        menu = self.page.get_by_role("button", name="Menu", exact=True)
        if menu.is_visible():
            self.press(menu)
        self.press(self.page.locator(".nav").get_by_role("link", name=name))


@contextlib.contextmanager
def held(page, path, method):
    """Requests of a method wait until the end of the block."""
    waiting = []

    def hold(route):
        if route.request.method == method:
            waiting.append(route)
        else:
            route.continue_()

    page.route(path, hold)
    yield waiting
    for route in waiting:
        route.continue_()
    page.unroute(path)
