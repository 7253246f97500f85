"""How the screens of the console look, for console.py: axe, scrolling, sizes and pictures."""

import re
import time
from pathlib import Path

import axe_playwright_python
from service import ROOT
from tenants_client import expect

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
RUN = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) =>
        node.target.join(' ') + ' ' + (node.failureSummary ?? '').split('\\n')[1]).join('; '));
}"""
WIDE = """() => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    const shown = document.querySelector('dialog[open]') ?? document.body;
    const out = [...shown.querySelectorAll('*')].filter((one) => {
        const box = one.getBoundingClientRect();
        return box.width && box.right > innerWidth + 1 && !one.closest('.sr, .grid, pre, .tabs')
            && getComputedStyle(one).position !== 'fixed';
    }).slice(0, 2).map((one) => one.tagName + '.' + one.className);
    return wide > 0 ? `${wide} px too wide: ${out}` : '';
}"""
FIRST_KIB, FIRST_REQUESTS, EVERY_KIB, LINES = 60, 16, 120, 6_600


def furnish(stage):
    """What the screens show beside the people."""
    stage.ask("POST", "/tenants", {"name": "acme"})
    stage.ask("POST", "/tenants/acme/users", {"username": "wile", "name": "Wile E. Coyote"})
    stage.ask("POST", "/webhooks", {"name": "search", "url": "http://127.0.0.1:7999/x"})
    key = stage.ask("POST", "/keys", {"name": "ended", "scopes": ["users:read"]})
    stage.ask("DELETE", f"/keys/{key['id']}")
    group = stage.ask("GET", "/groups?q=everyone")["items"][0]["id"]
    inner = stage.ask("GET", "/groups?q=crew")["items"][0]["id"]
    for member in (stage.user("ada")["id"], inner):
        stage.ask("PUT", f"/groups/{group}/members/{member}")


def screens(stage):
    """Every screen: a name and its fragment."""
    ada, group = stage.user("ada")["id"], stage.ask("GET", "/groups?q=everyone")["items"][0]["id"]
    gone = stage.ask("GET", "/deleted-users?limit=1")["items"][0]["id"]
    keys = stage.ask("GET", "/keys")["items"]
    active = next(key["id"] for key in keys if key["status"] == "active")
    ended = next(key["id"] for key in keys if key["status"] != "active")
    hook = stage.ask("GET", "/webhooks")["items"][0]["id"]
    return {
        "users": "users", "users-filter": "users?f=department%20eq%20%22Sales%22",
        "users-fault": "users?f=departmnt%20eq%201", "users-none": "users?q=zzzz",
        "user": f"users/{ada}", "user-history": f"users/{ada}/history",
        "user-groups": f"users/{ada}/groups", "user-raw": f"users/{ada}/raw",
        "user-new": "users/new", "user-missing": "users/nobody",
        "groups": "groups", "group": f"groups/{group}", "group-details": f"groups/{group}/details",
        "group-history": f"groups/{group}/history", "deleted": "deleted",
        "deleted-user": f"deleted/{gone}", "import": "import", "activity": "activity",
        "keys": "keys", "keys-ended": "keys?show=ended", "key": f"keys/{active}",
        "key-ended": f"keys/{ended}", "scim": "scim", "scim-entra": "scim?p=entra",
        "webhooks": "webhooks", "webhook-new": "webhooks/new", "webhook": f"webhooks/{hook}",
        "tenants": "tenants", "tenant": "tenants/acme", "in-a-tenant": "t/acme/users",
        "unknown": "nothing",
    }  # fmt: skip


def press(name, **options):
    return lambda page: page.get_by_role("button", name=name, **options).first.click()


def menu(name, item):
    def act(page):
        press(name)(page)
        page.get_by_role("menuitem", name=item).click()

    return act


def conflict(stage):
    def act(page):
        page.locator("#f-title").fill("Conflict mine")
        ada = stage.user("ada")["id"]
        stage.change(f"/users/{ada}", {"title": f"Theirs {time.time()}", "nickname": "A."})
        page.locator(".savebar .primary").click()

    return act


def imported(page, text="username,e-mail\nnew1,new1@shop.example\nada,broken\n"):
    page.locator("#import-file").set_input_files(
        {"name": "people.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.locator(".map").first.wait_for()


def checked(page, *text):
    imported(page, *text)
    page.locator(".go .primary").click()
    page.locator(".tiles").first.wait_for()


def dialogs(stage):
    """The main dialogs and states: a screen, what opens it, and what then is there."""
    at = screens(stage)
    box = "dialog[open]"
    return {
        "palette": (at["users"], lambda page: page.keyboard.press("Control+k"), box),
        "keys-help": (at["user"], lambda page: page.keyboard.press("?"), box),
        "filter": (at["users"], lambda page: page.locator("#filter-button").click(), ".pop"),
        "menu": (at["users"], press("Export"), ".menu"),
        "selected": (at["users"], lambda page: page.locator("#row-0 input").click(), ".bulk"),
        "user-edited": (at["user"], lambda page: page.locator("#f-title").fill("x"), ".savebar"),
        "user-faults": (at["user"], lambda page: (
            page.locator("#f-email").fill("nobody"), page.keyboard.press("Control+Enter")),
            ".note.bad"),
        "conflict": (at["user"], conflict(stage), box),
        "to-a-group": (at["user-groups"], press("Add to a group"), box),
        "new-group": (at["groups"], press("New group"), box),
        "add-members": (at["group"], press("Add members"), f"{box} .gfound"),
        "paste": (at["group"], lambda page: (press("Add members")(page),
                                             press("Paste a list")(page)), "#paste-list"),
        "delete-group": (at["group"], menu("More", "Delete group"), box),
        "erase": (at["deleted-user"], menu("More", "Erase"), box),
        "import-columns": (at["import"], imported, ".map"),
        "import-checked": (at["import"], checked, ".tiles"),
        "new-key": (at["keys"], press("New key"), box),
        "rotate": (at["key"], press("Rotate"), box),
        "revoke": (at["key"], press("Revoke"), box),
        "replay": (at["webhook"], press("Replay", exact=True), box),
        "new-tenant": (at["tenants"], press("New tenant"), box),
    }


class Looks:
    """Shows the screens, and looks at each with axe."""

    def __init__(self, stage, theatre, state, pictures=None):
        self.stage, self.pictures, self.looks, self.faults = stage, pictures, 0, []
        # The policy would refuse axe. Whatever else the command does is done under the policy.
        self.context = theatre.context(stage, state, bypass_csp=True)
        self.context.add_init_script(path=AXE)
        self.page = self.context.new_page()

    def at(self, width, scheme):
        self.page.set_viewport_size({"width": width, "height": 800 if width > 600 else 780})
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.place = f"{width}-{scheme}"

    def show(self, fragment, anew=True):
        if anew:
            self.page.goto("about:blank")
        self.page.goto(f"{self.stage.url}/console#/{fragment}")
        self.settle()

    def settle(self):
        page = self.page
        page.wait_for_timeout(60)
        page.locator("h1, dialog h2").first.wait_for(state="attached")
        page.locator(".skeleton").wait_for(state="detached")
        page.wait_for_timeout(120)

    def look(self, name):
        page = self.page
        found = page.evaluate(RUN)
        wide = page.evaluate(WIDE)
        self.faults += [f"{name} {self.place}: {one}"[:500] for one in [*found, wide] if one]
        self.looks += 1
        if self.pictures:
            page.screenshot(path=f"{self.pictures}/{name}-{self.place}.png")

    def screens(self, names=None):
        for name, fragment in screens(self.stage).items():
            if names is None or name in names:
                # A dialog of before must not lie over the screens.
                self.show(fragment, anew=self.page.locator("dialog").count() > 0)
                self.look(name)

    def dialogs(self, names=None):
        for name, (fragment, act, there) in dialogs(self.stage).items():
            if names is None or name in names:
                self.show(fragment)
                act(self.page)
                self.page.locator(there).first.wait_for()
                self.page.wait_for_timeout(150)
                self.look(name)
        self.page.evaluate("() => history.replaceState(null, '', '#/users')")

    def signing_in(self):
        """The page before anybody has signed in."""
        context = self.context.browser.new_context(
            bypass_csp=True, viewport=self.page.viewport_size,
            color_scheme=self.place.split("-")[1], reduced_motion="reduce")
        context.add_init_script(path=AXE)
        kept, self.page = self.page, context.new_page()
        self.page.goto(f"{self.stage.url}/console")
        self.settle()
        self.look("sign-in")
        self.page = kept
        context.close()

    def check(self):
        expect(not self.faults, f"{len(self.faults)} faults of looks:\n" + "\n".join(self.faults))
        self.context.close()


def sizes(stage, theatre, state):
    """The size of the first list and its requests, and of all files, in KiB as they are sent, and the
    lines of scripts and styles.
    """
    context = theatre.context(stage, state)
    page, sent = context.new_page(), []
    page.on("requestfinished", lambda request: sent.append(request))
    page.goto(f"{stage.url}/console")
    page.locator("#row-5").wait_for()
    size = sum(request.sizes()["responseBodySize"] for request in sent
               if not request.url.startswith("data:"))
    count = sum(not request.url.startswith("data:") for request in sent)
    context.close()
    web = ROOT / "crates" / "roster-console" / "web"
    page = stage.call("GET", "/console", headers={"Accept": "text/html", "Accept-Encoding": "br"})
    at = stage.call("GET", "/console", headers={"Accept": "text/html"}).body.decode()
    files, every, lines = re.search(r'href="([^"]*)/app.css"', at)[1], len(page.body), 0
    for path in sorted(web.rglob("*")):
        if path.suffix in (".js", ".css"):
            name = path.relative_to(web)
            answer = stage.call("GET", f"{files}/{name}", headers={"Accept-Encoding": "br"})
            expect(answer.status == 200, f"{name} is answered {answer}")
            every += len(answer.body)
            lines += 0 if name.parts[0] == "vendor" else len(path.read_text().splitlines())
    return size / 1024, count, every / 1024, lines


