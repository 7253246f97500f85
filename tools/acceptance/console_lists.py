"""Lists in the console, for console.py: a slow service, double clicks, several tenants, long names,
browsers far west of UTC, and an import whose columns are corrected late.

All of it is done in two tenants of its own, so that the other parts keep their numbers.
"""

import signal
import threading

from tenants_client import expect

SOME_LISTS = ("selection", "undo", "twice")
MANY = 104
LONG = ("Wolfeschlegelsteinhausenbergerdorffwelchevoralternwarengewiss", "x" * 60,
        "Ines " * 36, "ש" * 60)
# Each control must lie on top where it is, once it is scrolled to.
COVERED = """() => [...(document.querySelector('dialog[open]') ?? document.getElementById('main'))
    .querySelectorAll('button, a[href], input, select')].filter((one) => !one.closest('.sr')
        && one.checkVisibility({ visibilityProperty: true })).map((one) => {
        one.scrollIntoView({ block: 'center' });
        const box = one.getClientRects()[0];
        const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
        const top = document.elementFromPoint(x, y);
        return one.contains(top) ? '' : `${one.ariaLabel ?? one.textContent.trim().slice(0, 30)}
            at ${Math.round(x)},${Math.round(y)} is below ${top?.className}`;
    }).filter(Boolean).concat([...document.querySelectorAll(
        '#main, .side, .page, .crumb, .who2, td, .toast, dialog')]
        .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
        .map((one) => `${one.className} is ${one.scrollWidth} px wide`)).slice(0, 5)"""


class Lists:
    """Each method does one thing that once went wrong."""

    def __init__(self, stage, theatre, state):
        self.stage, self.theatre, self.state = stage, theatre, state
        for name in ("lists", "other"):
            if stage.call("GET", f"/tenants/{name}").status == 404:
                stage.ask("POST", "/tenants", {"name": name})

    def open(self, fragment, **options):
        context = self.theatre.context(self.stage, self.state, **options)
        self.page = context.new_page()
        self.go(fragment)

    def go(self, fragment, tenant="t/lists/"):
        self.page.goto(f"{self.stage.url}/console#/{tenant}{fragment}")
        self.page.locator("h1, .crumb").first.wait_for(state="attached")

    def ask(self, method, path, body=None, tenant="lists"):
        return self.stage.ask(method, f"/tenants/{tenant}{path}", body)

    def people(self, name, many, **members):
        lines = [{"username": f"{name}{n}", "name": f"{name.title()} {n}", **members}
                 for n in range(many)]
        answer = self.stage.lines("/tenants/lists/bulk/users", lines)
        expect(answer.status == 200, f"the users were answered {answer}")
        return self.users(f"q={name}")

    def users(self, query):
        return self.ask("GET", f"/users?limit=1000&{query}")["items"]

    def button(self, name, within="body", **options):
        return self.page.locator(within).get_by_role("button", name=name, **options).first

    def said(self, text):
        self.page.locator(".toast").filter(has_text=text).first.wait_for()

    def chosen(self, q, rows):
        """Searches and selects what is loaded."""
        self.go(f"users?q={q}")
        self.page.locator(f"#row-{rows - 1}").filter(has_text=q).wait_for(state="attached")
        self.page.locator(".stale").wait_for(state="detached")
        self.page.get_by_label("Select the loaded users").click()
        self.button("Suspend", ".bulk").wait_for()

    def selection(self):
        """All that one search found are selected; another one follows over a slow service."""
        self.people("alpha", MANY)
        self.people("beta", 3)
        self.open("users")
        self.chosen("alpha", 9)
        self.button(f"Select all {MANY}").click()
        process = self.stage.service.process
        process.send_signal(signal.SIGSTOP)
        again = threading.Timer(1, process.send_signal, [signal.SIGCONT])
        again.start()
        self.page.locator("#search").fill("beta")
        self.page.wait_for_timeout(300)
        expect("Alpha" in self.page.locator("#row-0").inner_text(), "the answer came too early")
        late = self.page.locator(".bulk").count()
        if late:
            self.button("Suspend", ".bulk").click()
        again.join()
        self.page.locator("#row-0").filter(has_text="Beta").wait_for()
        self.page.wait_for_timeout(300)
        hit = [user["username"] for user in self.users("status=suspended")]
        expect(not late and not hit, f"what another search found stays selected; suspended: {hit}")
        self.chosen("alpha", 9)
        self.button(f"Select all {MANY}").click()
        self.button("Suspend", ".bulk").click()
        self.page.locator("#confirm-type").fill(str(MANY))
        self.button("Suspend", "dialog").click()
        self.said(f"{MANY} users suspended")
        hit = {user["username"][:4] for user in self.users("filter=status+eq+%22suspended%22")}
        expect(hit == {"alph"}, f"suspended are {hit}")

    def undo(self):
        """A deletion is undone as far as it can be, and in the tenant where it was done."""
        self.people("undo", 3)
        self.open("users")
        self.chosen("undo", 3)
        self.button("Delete", ".bulk").click()
        self.button("Delete", "dialog").click()
        self.said("3 users deleted")
        taken = self.ask("POST", "/users", {"username": "undo1", "name": "Thief"})
        self.page.keyboard.press("z")
        self.said("2 users restored")
        text = self.page.locator(".toast.bad").last.inner_text()
        expect("Undo 1" in text and "username" in text, f"the page says {text!r}")
        self.page.locator("#row-1").wait_for()
        back = sorted(user["username"] for user in self.users("q=undo") if user["name"] != "Thief")
        expect(back == ["undo0", "undo2"], f"restored are {back}")
        self.ask("DELETE", f"/users/{taken['id']}")

    def other_tenant(self):
        self.people("moved", 2)
        self.open("users")
        self.chosen("moved", 2)
        self.button("Suspend", ".bulk").click()
        self.said("2 users suspended")
        self.go("users", tenant="t/other/")
        self.page.wait_for_timeout(300)
        self.page.keyboard.press("z")
        self.page.wait_for_timeout(400)
        expect(not self.page.locator(".toast").count(), "undone in another tenant: "
               + self.page.locator(".toasts").inner_text())

    def uncounted(self):
        """A user is deleted before the users that match are counted."""
        self.people("count", 2)
        self.open("users")
        self.page.locator("#row-0").wait_for()
        self.page.locator("#search").fill("count")
        self.page.locator("#row-1").filter(has_text="Count").wait_for()
        self.page.locator("#row-2").wait_for(state="detached")
        self.page.get_by_label("Select Count").first.click()
        self.button("Delete", ".bulk").click()
        self.said("deleted")
        text = self.page.locator(".head, .status").all_inner_texts()
        expect("NaN" not in str(text), f"the page counts {text}")

    def twice(self):
        """The second click of a double click does nothing, also if the list has moved."""
        for user in self.people("twice", 3):
            self.ask("DELETE", f"/users/{user['id']}")
        self.open("deleted?q=twice")
        for left in (2, 1):
            self.button("Restore Twice").dblclick()
            self.said("restored")
            self.page.wait_for_timeout(400)
            found = len(self.ask("GET", "/deleted-users?q=twice")["items"])
            expect(found == left, f"{3 - found} are restored by {3 - left} double clicks")
        expect(not self.page.locator(".toast.bad").count(), "a double click fails: "
               + self.page.locator(".toasts").inner_text())
        sent = []
        self.page.on("request", lambda one: "bulk" in one.url and sent.append(one.method))
        self.chosen("twice", 2)
        self.button("Suspend", ".bulk").dblclick()
        self.said("2 users suspended")
        self.page.wait_for_timeout(300)
        expect(sent == ["PATCH"], f"a double click sends {sent}")
        expect(not self.page.locator(".toast").filter(has_text="Already").count(), "said twice")

    def names(self):
        """The names of keys of one tenant are not shown in another."""
        if not self.ask("GET", "/keys")["items"]:
            self.ask("POST", "/keys", {"name": "Robot of one", "scopes": ["users:read"]})
        self.open("activity")
        actors = self.page.locator("#act-actor")
        actors.locator("option", has_text="Robot of one").wait_for(state="attached")
        self.go("activity", tenant="t/other/")
        self.page.get_by_text("You are in the tenant other").wait_for()
        self.page.wait_for_timeout(300)
        expect("Robot" not in actors.inner_text(), "a name of a key of another tenant is shown")

    def dates(self):
        """A day that is chosen in a browser far west of UTC is the day that is shown."""
        self.open("users", timezone_id="America/Los_Angeles")
        self.page.locator("#row-0").wait_for()
        self.page.locator("#filter-button").click()
        self.page.locator("#filter-name").select_option("updated_at")
        self.page.locator("#filter-value").fill("2026-11-20")
        self.button("Add", ".pop").click()
        chip = self.page.locator(".chip .v")
        chip.wait_for()
        expect(chip.inner_text() == "20 Nov 2026", f"the chip shows {chip.inner_text()}")
        expect("2026-11-20T08" in self.page.url, f"the filter is {self.page.url}")
        self.go('users?f=updated_at gt "2026-99-99T00:00:00Z"')
        self.page.locator(".chip").filter(has_text="2026-99-99").wait_for()

    def mapping(self):
        """A column that users are found by is left out in the end."""
        self.ask("PUT", "/schema", {"attributes": [
            {"name": "badge", "type": "string", "unique": True}]})
        self.open("import")
        self.page.locator("#import-text").fill("username,badge\nnew1,1\nnew2,2\n")
        self.button("Use this text").click()
        self.page.locator("#column-1").select_option("attributes.badge")
        self.button("Check").click()
        self.page.get_by_label("Change what the file has").click()
        self.page.locator("#import-match").select_option("attributes.badge")
        self.page.locator(".tiles").wait_for()
        self.button("Back", exact=True).click()
        self.page.locator("#column-1").select_option("")
        self.button("Check").dblclick()
        for way in ("Change what the file has", "Refuse them"):
            self.page.get_by_label(way).click()
            self.page.locator(".tiles .ok").filter(has_text="2 new").wait_for()

    def addresses(self):
        """A list of members may have any address of a user."""
        self.ask("POST", "/users", {"username": "many", "name": "Many Addresses", "emails": [
            {"value": "first@a.example", "primary": True}, {"value": "second@a.example"},
            {"value": "shared@a.example"}]})
        self.ask("POST", "/users", {"username": "few", "emails": [
            {"value": "third@a.example", "primary": True}, {"value": "shared@a.example"}]})
        group = self.ask("POST", "/groups", {"display_name": "Pasted"})["id"]
        self.open(f"groups/{group}")
        self.button("Add members").click()
        self.button("Paste a list").click()
        self.page.locator("#paste-list").fill("SECOND@a.example\nthird@a.example\n"
                                              "shared@a.example\nnobody@a.example")
        self.button("Find", "dialog footer").click()
        self.page.locator(".gfound .line").nth(1).wait_for()
        text = self.page.locator("dialog .body").inner_text()
        expect("2 entries not found" in text and "shared@a.example: several" in text, text)

    def long(self):
        """Every control can be reached with long names, at each width."""
        users = [self.ask("POST", "/users", {
            "username": f"long{at}" + "y" * 110, "name": name, "department": name[:60],
            "email": f"{'z' * 60}@{'long' * 14}.{'name' * 5}{at}.example"})
            for at, name in enumerate(LONG)]
        group, *inner = [self.ask("POST", "/groups", {
            "display_name": name, "external_id": "e" * 90}) for name in ("g" * 180, *LONG)]
        for one in (*users, *inner):
            self.ask("PUT", f"/groups/{group['id']}/members/{one['id']}")
        gone = self.ask("POST", "/users", {"username": "v" * 120, "email": f"{'u' * 64}@"
                                           f"{'w' * 60}.{'w' * 60}.example"})["id"]
        self.ask("DELETE", f"/users/{gone}")
        for tenant in ({"name": "t" * 63, "external_id": "t" * 120},
                       {"name": "s" * 63, "display_name": LONG[1]}):
            if self.stage.call("GET", f"/tenants/{tenant['name']}").status == 404:
                self.stage.ask("POST", "/tenants", tenant)
        key = self.ask("POST", "/keys", {"name": "k" * 64, "scopes": ["users:read"]})["id"]
        self.open("users?q=long")
        faults = []
        for width in (1280, 1100, 390, 320):
            self.page.set_viewport_size({"width": width, "height": 800})
            for place in ("users?q=long", f"users/{users[2]['id']}", "deleted", "groups", "keys",
                          f"users/{users[1]['id']}/groups", f"groups/{group['id']}", "activity",
                          f"groups/{inner[0]['id']}/history", f"keys/{key}"):
                faults += self.look(place, width)
            for place in ("tenants", f"tenants/{'t' * 63}", f"t/{'t' * 63}/users"):
                faults += self.look(place, width, "")
            faults += self.look(f"deleted/{gone}", width, act=lambda: (
                self.button("More").click(), self.page.get_by_role("menuitem").click()))
            faults += self.look(f"deleted/{gone}/history", width, act=lambda: (
                self.button("Restore").click(), self.said("restored")))
            self.button("Close", ".toast").click()
            self.ask("DELETE", f"/users/{gone}")
            tall = self.page.evaluate("() => Math.max(0, ...[...document.querySelectorAll('tr')]"
                                      ".map((one) => one.clientHeight))")
            expect(tall < 300, f"a row is {tall} px high at {width}")
        expect(not faults, f"{len(faults)} faults:\n" + "\n".join(faults[:40]))

    def look(self, place, width, tenant="t/lists/", act=lambda: None):
        self.go(place, tenant)
        self.page.wait_for_timeout(60)
        self.page.locator(".skeleton").wait_for(state="detached")
        self.page.wait_for_timeout(150)
        act()
        expect(not self.page.locator(".fault").count(), f"{place} has a fault")
        found = self.page.evaluate(COVERED)
        self.page.keyboard.press("Escape")
        return [f"{place[:20]} at {width}: {one}" for one in found]


ALL = ("selection", "undo", "other_tenant", "uncounted", "twice", "names", "dates", "mapping",
       "addresses", "long")


def lists(stage, theatre, state, names=ALL):
    """All of it, or some."""
    work = Lists(stage, theatre, state)
    for name in names:
        getattr(work, name)()
        work.page.context.close()
    return f"{len(names)} checks of lists"
