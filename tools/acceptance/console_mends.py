"""What once went wrong in the console, for console.py: lost secrets, lost text, changed values."""

import json

from console_sessions import press_escape
from console_stage import held, sign_in
from tenants_client import expect

BIG, TEXTS = 9007199254740993, ["Smith, John", "b", " [1]"]
EVERY = ("busy", "twice", "ends", "meanwhile", "created", "values", "undo", "leave", "tenant",
         "alike", "lines", "unticked", "broken", "operator", "repeated", "odd", "undrawn",
         "unreachable", "waiting", "signing_out", "heard", "copied")
# In a slice.
SOME_MENDS = ("busy", "undo", "odd", "unreachable", "signing_out")
ODD = {"obj": {"toString": 1}, "short": {"value": {"toString": "x"}}, "list": [{"toString": 1}],
       "made": {"constructor": "x", "b": 1}, "__proto__": {"a": 1}, "toString": "text"}


class Mends:
    """Each check has a page of its own, and a user whose attributes have every kind of value."""

    def __init__(self, stage, theatre, state):
        self.stage, self.theatre, self.state = stage, theatre, state

    def run(self, names=EVERY):
        for name in names:
            context = self.theatre.context(self.stage, self.state)
            self.page = context.new_page()
            self.user = self.stage.ask("POST", "/users", {
                "username": f"mend-{name}", "name": f"Mend {name}", "title": "Old",
                "expires_at": "2030-05-06T07:08:30Z"})["id"]
            getattr(self, name)()
            context.close()
        return f"{len(names)} former faults"

    def at(self, place=""):
        self.page.goto("about:blank")
        self.page.goto(f"{self.stage.url}/console#/{place or 'users/' + self.user}")
        self.page.locator("h1").first.wait_for(state="attached")
        return self.page

    def stored(self, name):
        return self.stage.ask("GET", f"/users/{self.user}").get(name)

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def save(self, said="Saved as version"):
        self.page.locator(".savebar .primary").click()
        if said:
            self.page.locator(".toast").filter(has_text=said).last.wait_for()
            self.page.locator(".toast .icon").last.click()

    def held(self, path, method):
        return held(self.page, path, method)

    def sent(self, waiting):
        while not waiting:
            self.page.wait_for_timeout(10)

    def busy(self):
        """Nothing closes a dialog while its write runs, nor one with a secret."""
        page = self.at("keys")
        self.button("New key").click()
        page.locator("#f-name").fill("not lost")
        with self.held("**/keys", "POST") as waiting:
            page.keyboard.press("Enter")
            self.sent(waiting)
            self.escape()
            expect(self.button("Cancel").is_disabled(), "a running write can be cancelled")
        secret = page.locator("dialog .secret code").first
        secret.wait_for()
        self.escape()
        expect(secret.is_visible(), "Esc closes a secret")
        with page.expect_event("dialog") as asked:
            page.evaluate("setTimeout(() => location.reload())")
        asked.value.dismiss()
        expect(secret.is_visible(), "a reload loses a secret")
        self.button("I have kept it").click()
        page.locator("dialog").wait_for(state="detached")
        page.locator("tbody tr").filter(has_text="not lost").get_by_role("button").click()
        with self.held("**/rotate*", "POST") as waiting:
            page.locator("dialog .primary").click()
            self.sent(waiting)
            self.escape()
            page.mouse.click(5, 5)
        page.get_by_role("heading", name="The new secret").wait_for()
        self.button("I have kept it").click()

    def escape(self):
        press_escape(self.page)
        expect(self.page.locator("dialog[open]").count() == 1, "Esc closes a dialog that stays")

    def twice(self):
        """The second of two quick clicks does nothing."""
        for place in ("key", "group", "tenant"):
            page, name = self.at(f"{place}s"), f"New {place}"
            self.button(name).dblclick()
            page.locator("dialog[open]").wait_for()
            page.wait_for_timeout(100)
            expect(page.locator("dialog[open]").count() == 1, f"a double click on {name} closes it")
        page = self.at()
        self.button("Suspend").dblclick()
        self.button("Activate").wait_for()
        page.wait_for_timeout(150)
        expect(self.stored("status") == "suspended", "a double click suspends and activates")

    def ends(self):
        """A time by the keyboard, digit by digit; one that is none is not sent."""
        page = self.at()
        field = page.locator("#f-expires_at")
        field.click(position={"x": 16, "y": 16})
        page.keyboard.type("12/03/2031", delay=20)
        page.keyboard.press("Tab")
        page.keyboard.type("0405PM", delay=20)
        expect(field.input_value() == "2031-12-03T16:05", f"typed is {field.input_value()}")
        self.save()
        expect(self.stored("expires_at").startswith("2031-12-03T16:05:00"), "the end is another")
        for keys in (["2"], ["Backspace"]):
            field.click(position={"x": 16, "y": 16})
            for key in ("ArrowRight", "ArrowRight", *keys):
                page.keyboard.press(key)
            self.save("")
            page.locator("form").get_by_text("Write a whole date").wait_for()
            expect(self.stored("expires_at").startswith("2031"), "a part of an end is stored")
            self.at()
        field.fill("")
        self.save()
        expect(self.stored("expires_at") is None, "the end is not removed")

    def meanwhile(self):
        """What is typed while a save runs stays, and is saved by the next one."""
        page = self.at()
        self.while_saving("#f-title", "#f-organization", "**/users/*")
        self.save()
        found = [self.stored(name) for name in ("title", "organization")]
        expect(found == ["First, more", "Later"], f"typed while it was saved: {found}")
        group = self.stage.ask("POST", "/groups", {"display_name": "Typing"})["id"]
        page = self.at(f"groups/{group}/details")
        self.while_saving("#f-display_name", "#f-external_id", "**/groups/*")
        self.save("Saved")
        found = self.stage.ask("GET", f"/groups/{group}")
        expect(found["display_name"] == "First, more" and found["external_id"] == "Later",
               f"typed while the group was saved: {found}")
        expect(page.locator(".savebar").count() == 0, "something is left to save")

    def while_saving(self, one, other, path):
        page = self.page
        page.locator(one).fill("First")
        with self.held(path, "PATCH") as waiting:
            self.save("")
            self.sent(waiting)
            page.locator(one).fill("First, more")
            page.locator(other).fill("Later")
        page.locator(".toast").filter(has_text="Saved").last.wait_for()
        page.locator(".toast .icon").last.click()
        shown = [page.locator(name).input_value() for name in (one, other)]
        expect(shown == ["First, more", "Later"], f"after a save the fields have {shown}")

    def created(self):
        """The same in a new user: it is on the page of the user then."""
        page = self.at("users/new")
        page.locator("#f-username").fill("typed-on")
        with self.held("**/users", "POST") as waiting:
            self.save("")
            self.sent(waiting)
            page.locator("#f-name").fill("Typed On")
        page.locator(".toast").filter(has_text="created").wait_for()
        page.locator(".who2").filter(has_text="typed-on").wait_for()
        expect(page.locator("#f-name").input_value() == "Typed On", "the name is lost")
        self.save()
        self.page.locator("h1").filter(has_text="Typed On").wait_for()

    def values(self):
        """An edit changes no type and no digit, and what is not edited is not written."""
        declared = self.stage.ask("GET", "/schema")
        names = {one["name"] for one in declared.get("attributes", [])}
        more = [{"name": "mendlist", "type": "string", "multi_valued": True},
                {"name": "mendint", "type": "integer"}]
        self.stage.ask("PUT", "/schema", {"attributes": declared.get("attributes", []) + [
            one for one in more if one["name"] not in names]})
        before = {"version": "1.10", "digits": "12345", "none": "x", "count": 5, "flag": "true",
                  "deep": {"big": BIG}, "mendlist": TEXTS, "mendint": BIG}
        self.stage.change(f"/users/{self.user}", {"attributes": before})
        page = self.at()

        def write(name, text):
            page.locator(f"#f-attributes-{name}").fill(text)

        expect(page.locator("#f-attributes-mendint").input_value() == str(BIG), "digits are lost")
        for name, text in (("version", "1.20"), ("digits", "99"), ("none", "null"), ("count", "6"),
                           ("flag", "false"), ("mendint", str(BIG + 2))):
            write(name, text)
        self.save()
        after = before | {"version": "1.20", "digits": "99", "none": "null", "count": 6,
                          "flag": "false", "mendint": BIG + 2}
        self.same(after)
        listed = page.locator("#f-attributes-mendlist")
        listed.fill(listed.input_value().replace("b", "c"))
        write("deep", page.locator("#f-attributes-deep").input_value().replace("big", "bigger"))
        self.save()
        after |= {"mendlist": ["Smith, John", "c", " [1]"], "deep": {"bigger": BIG}}
        self.same(after)
        write("mendint", "1e400")
        self.save("")
        page.locator(".er #f-attributes-mendint").wait_for()
        write("mendint", str(BIG + 2))
        listed.fill("Berlin, Germany\nb")
        for name, text in (("newtext", "1.50"), ("newnumber", "1.5"), ("newlist", '["a"]')):
            self.button("Add an attribute").click()
            page.locator("dialog #f-name").fill(name)
            page.keyboard.press("Enter")
            write(name, text)
        self.save()
        self.same(after | {"mendlist": ["Berlin, Germany", "b"], "newtext": "1.50",
                           "newnumber": 1.5, "newlist": ["a"]})

    def same(self, wanted):
        found = self.stored("attributes")
        expect(json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True),
               f"the attributes are {found}, not {wanted}")

    def undo(self):
        """Undo on a user that was opened again shows what is stored."""
        page = self.at()
        page.locator("#f-title").fill("New")
        page.locator(".savebar .primary").click()
        undo = page.locator(".toast").get_by_role("button", name="Undo")
        undo.wait_for()
        for place in ("groups", f"users/{self.user}"):
            page.evaluate("(place) => { location.hash = `#/${place}`; }", place)
            page.locator("h1").filter(has_text="Groups" if place == "groups" else "Mend").wait_for()
        expect(page.locator("#f-title").input_value() == "New", "the title is not saved")
        undo.click()
        page.locator(".toast").filter(has_text="Undone").wait_for()
        shown = page.locator("#f-title").input_value()
        expect((shown, self.stored("title")) == ("Old", "Old"), f"after Undo it shows {shown}")

    def leave(self):
        """The key # asks before edits are lost."""
        page = self.at()
        page.locator("#f-title").fill("Not saved")
        page.locator("h1").click()
        page.keyboard.press("#")
        dialog = page.locator("dialog[open]")
        dialog.get_by_text("not saved").wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        expect(self.stored("title") == "Old", "a user was deleted in spite of edits")
        expect(page.locator("#f-title").input_value() == "Not saved", "the edit is lost")

    def tenant(self):
        """What can be undone in one tenant cannot be undone from another."""
        page = self.at()
        self.button("Suspend").click()
        undo = page.locator(".toast").get_by_role("button", name="Undo")
        undo.wait_for()
        page.evaluate("() => { location.hash = '#/t/acme/users'; }")
        page.get_by_role("region", name="Tenant").wait_for()
        expect(undo.count() == 0, "the Undo of another tenant is offered")

    def alike(self):
        """After two people saved the same value, no edit of it is left."""
        page = self.at()
        page.locator("#f-title").fill("Engineer")
        self.stage.change(f"/users/{self.user}", {"title": "Engineer"})
        self.save("")
        page.locator("dialog .primary").click()
        page.locator("dialog").wait_for(state="detached")
        expect(page.locator(".savebar").count() == 0, "an edit of a stored value is left")

    def lines(self):
        """A text with line breaks keeps them when it is edited."""
        self.stage.change(f"/users/{self.user}", {"attributes": {"note": "Call\nDo not mail"}})
        page = self.at()
        page.locator("#f-attributes-note").fill("Call first\nDo not mail")
        self.save()
        expect(self.stored("attributes")["note"] == "Call first\nDo not mail", "lines are joined")

    def ticking(self, count):
        """The list of so many new users, all of which are selected."""
        self.stage.lines("/bulk/users", [{"username": f"tick{count}-{one}", "title": f"Tick {count}"}
                                         for one in range(count)])
        page = self.at(f"users?f=title+eq+%22Tick+{count}%22")
        page.get_by_label("Select the loaded users").check()
        if count > 100:
            self.button(f"Select all {count}").click()
        return page

    def unticked(self):
        """A row that is unticked after all were selected is not selected."""
        page = self.ticking(150)
        grid = page.locator("#users-grid")
        for rows in ("-1", "151"):
            grid.and_(page.locator(f"[aria-rowcount='{rows}']")).wait_for()
            grid.evaluate("(grid) => { grid.scrollTop = grid.scrollHeight; }")
        box = page.locator("#row-149 input")
        box.uncheck()
        expect(not box.is_checked(), "the row is ticked again")
        told = page.locator(".bulk .what").inner_text()
        expect(told == "149 selected", f"after a row was unticked: {told}")

    def broken(self):
        """A change of many users whose response ends early says for how many it is unknown."""
        page = self.ticking(60)

        # Requests that the test library sends are none of the page, and have no session.
        page.evaluate("""() => {
            const ask = window.fetch;
            window.fetch = async (...request) => {
                const answer = await ask(...request);
                if (request[1].method !== "PATCH") {
                    return answer;
                }
                const lines = (await answer.text()).split("\\n").slice(0, 20);
                window.fetch = ask;
                return new Response(lines.join("\\n"), answer);
            };
        }""")
        self.button("Suspend").click()
        page.locator(".toast").filter(has_text="20 users suspended").filter(
            has_text="40 users may be changed too").wait_for()
        asked = "title eq %22Tick 60%22 and status eq %22suspended%22"
        expect(self.stage.count(asked) == 60, "not all are suspended")

    def operator(self):
        """An operator who signs in at the place of a tenant is in all tenants."""
        for name in ("mend-a", "mend-b"):
            self.stage.ask("POST", "/tenants", {"name": name})
            self.stage.ask("POST", f"/tenants/{name}/users", {"username": f"of-{name}"})
        context = self.theatre.context(self.stage)
        page = context.new_page()
        sign_in(page, self.stage, self.stage.key, "#/t/mend-a/users")
        for name in ("mend-a", "mend-b"):
            page.evaluate("(name) => { location.hash = `#/t/${name}/users`; }", name)
            page.locator("#row-0").filter(has_text=f"of-{name}").wait_for()
        page.get_by_role("link", name="Back to the default tenant").click()
        page.get_by_role("region", name="Tenant").wait_for(state="detached")
        context.close()

    def repeated(self):
        """A key that is held down deletes one user, not one after another."""
        self.stage.lines("/bulk/users", [{"username": f"held-{one}", "title": "Held"}
                                         for one in range(5)])
        page = self.at("users?f=title+eq+%22Held%22")
        page.locator("#row-4").wait_for()
        page.locator("h1").click()
        for _ in range(6):
            page.keyboard.down("#")
            page.wait_for_timeout(100)
        page.keyboard.up("#")
        page.locator("#row-4").wait_for(state="detached")
        expect(self.stage.count("title eq %22Held%22") == 4, "a held key deletes several users")

    def odd(self):
        """Any JSON is shown as text. Members with the names of inherited ones are removed and put
        back.
        """
        self.stage.change(f"/users/{self.user}", {"attributes": ODD})
        gone = self.stage.ask("POST", "/users", {"username": "odd-gone", "attributes": ODD})["id"]
        self.stage.ask("DELETE", f"/users/{gone}")
        for place in (f"users/{self.user}/history", "activity", f"deleted/{gone}"):
            page = self.at(place)
            page.get_by_text('{"value":{"toString":"x"}}').first.wait_for()
            expect(page.get_by_text("[object").count() == 0, f"{place} shows an object as no text")
        page = self.at()
        made = page.locator("#f-attributes-made")
        made.fill('{"constructor": "x"}')
        page.locator(".savebar .primary").click()
        page.locator(".toast").filter(has_text="Saved as version").wait_for()
        self.same(ODD | {"made": {"constructor": "x"}})
        page.locator(".toast").get_by_role("button", name="Undo").click()
        page.locator(".toast").filter(has_text="Undone").wait_for()
        self.same(ODD)

    def undrawn(self):
        """A line that cannot be drawn leaves all others, and a screen the navigation."""
        self.stage.change(f"/users/{self.user}", {"attributes": {"breaks": {"b": 1}}})
        self.stage.change(f"/users/{self.user}", {"title": "Drawn"})
        page = self.at("groups")
        page.evaluate("""() => {
            const whole = JSON.stringify;
            JSON.stringify = (value, ...more) => {
                if (value?.b === 1 || value?.name === "Mend undrawn") {
                    throw new Error("cannot be drawn");
                }
                return whole(value, ...more);
            };
            location.hash = "#/activity";
        }""")
        page.locator(".ev-what").get_by_text("Cannot be shown").first.wait_for()
        page.locator(".ev-what").get_by_text("Drawn").first.wait_for()
        page.evaluate("(id) => { location.hash = `#/users/${id}/raw`; }", self.user)
        page.locator(".fault").get_by_text("cannot be drawn").wait_for()
        page.locator(".nav").get_by_role("link", name="Groups").click()
        page.get_by_role("heading", name="Groups").wait_for()
        faults, self.theatre.faults[:] = list(self.theatre.faults), []
        other = [one for one in faults if "cannot be drawn" not in one]
        expect(faults and not other, f"the page has {faults[:3]}")

    def unreachable(self):
        """Without a connection a click says so, and the next one works."""
        page = self.at("users")
        page.locator("#row-0").wait_for()
        page.context.set_offline(True)
        page.locator("#filter-button").click()
        page.locator(".toast").filter(has_text="The service cannot be reached").wait_for()
        page.context.set_offline(False)
        page.locator("#filter-button").click()
        page.locator("#filter-name").wait_for()
        expect(page.locator("link[href$='screens.css']").count() == 1, "the styles are not read")
        page.keyboard.press("Escape")
        faults = self.theatre.faults
        faults[:] = [one for one in faults if "screens.css" not in one]
        page.context.set_offline(True)
        webhooks = page.locator(".nav").get_by_role("link", name="Webhooks")
        webhooks.click()
        page.locator(".fault").filter(has_text="No connection to the service").wait_for()
        page.context.set_offline(False)
        self.button("Retry").click()
        self.button("New webhook").wait_for()
        page.route("**/tenants.js", lambda route: route.fulfill(status=404))
        page.locator(".nav").get_by_role("link", name="Tenants").click()
        page.locator(".fault").filter(has_text="Roster was updated").wait_for()

    def waiting(self):
        """After the end of a session one request of the list waits for the sign-in, not many."""
        page = self.page
        page.clock.install()
        self.at("users").locator("#row-0").wait_for()
        sent = []
        page.on("request", lambda one: "/users?" in one.url and sent.append(one.url))
        page.context.clear_cookies()
        for _ in range(4):
            page.clock.run_for(5000)
            page.wait_for_timeout(100)
        over = page.locator("dialog[open]")
        over.locator("#credential").fill(self.stage.key)
        expect(len(sent) == 1, f"{len(sent)} requests wait for the sign-in")
        page.keyboard.press("Enter")
        over.wait_for(state="detached")
        page.wait_for_timeout(300)
        expect(len(sent) == 2, f"after the sign-in the list sends {len(sent) - 1} requests")

    def signing_out(self):
        """Signing out asks once, before the session ends."""
        page, asked = self.at(), []
        page.on("dialog", lambda one: (asked.append(one.type), one.accept()))
        page.locator("#f-title").fill("Typed")
        for answer in ("Stay", "Leave"):
            self.button("Sign out").click()
            page.locator("dialog").get_by_text("not saved").wait_for()
            kept = [cookie for cookie in page.context.cookies() if cookie["httpOnly"]]
            expect(kept, "the session ends before the question")
            self.button(answer).click()
            if answer == "Stay":
                self.save()
                expect(self.stored("title") == "Typed", "after Stay nothing can be saved")
                page.locator("#f-title").fill("Lost")
        page.get_by_role("heading", name="Sign in").wait_for()
        expect(not asked, f"it asks again: {asked}")
        expect(not page.context.cookies(), "the browser keeps the session")

    def heard(self):
        """A screen reader hears what is said in an open dialog."""
        group = self.stage.ask("POST", "/groups", {"display_name": "Heard"})["id"]
        page = self.at(f"groups/{group}")
        self.button("Add members").first.click()
        heard = page.locator("dialog[open] [aria-live=polite]")
        page.locator("#add-search").fill("mend heard")
        heard.filter(has_text="1 result").wait_for(state="attached")
        self.button("Done").click()
        page = self.at("groups")
        self.button("New group").click()
        page.locator("dialog #f-display_name").fill("x" * 2000)
        page.keyboard.press("Enter")
        heard.filter(has_text="at most 256 characters").wait_for(state="attached")

    def copied(self):
        """Copying an id is said, and so is it if the browser refuses."""
        group = self.stage.ask("POST", "/groups", {"display_name": "Copied"})["id"]
        page = self.at(f"groups/{group}")
        self.button("More").click()
        page.get_by_role("menuitem", name="Copy the id").click()
        page.locator(".toast").filter(has_text="The id is copied").wait_for()
        found = page.evaluate("() => navigator.clipboard.readText()")
        expect(found == group, f"copied is {found}")
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(Error()); }")
        self.button("Copy the id").click()
        page.locator(".toast.bad").filter(has_text="Not copied").wait_for()
