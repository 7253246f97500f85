"""The tasks of console.py: what support staff and administrators do most, and what it costs them.

Each task begins at Users with the search focused, and its result is looked up through the API. Text
that is typed costs nothing; a chord such as Ctrl-K is one key.
"""

import csv
import json
from pathlib import Path

from console_stage import Hand
from tenants_client import expect

SALES, TEN = 130, 10
WAIT = 6_000


def populate(stage):
    """The people of the tasks."""
    stage.ask("POST", "/users", {
        "username": "ada", "name": "Ada Kovalevsky", "given_name": "Ada",
        "family_name": "Kovalevsky", "email": "ada@old.example", "department": "Research",
        "title": "Reader", "zoneinfo": "Europe/London"})
    stage.change(f"/users/{stage.user('ada')['id']}", {"department": "Sales Support"})
    people = [{"username": f"seller{n}", "name": f"Seller {n}", "email": f"s{n}@shop.example",
               "department": "Sales"} for n in range(SALES)]
    people += [{"username": f"member{n}", "name": f"Member {n}", "department": "Legal",
                "email": f"m{n}@shop.example"} for n in range(TEN)]
    answer = stage.lines("/bulk/users", people)
    expect(answer.status == 200, f"the import was answered {answer}")
    for name in ("Crew", "Everyone"):
        stage.ask("POST", "/groups", {"display_name": name})
    for name in ("grace", "hedy", "radia", "mary", "joan", "jean", "kay", "fran"):
        user = stage.ask("POST", "/users", {"username": name, "name": name.title() + " Gone"})
        stage.ask("DELETE", f"/users/{user['id']}")


class Tasks:
    """Does the tasks in one way: with the mouse, the keys alone, or a finger on a phone."""

    def __init__(self, stage, page, way):
        self.stage, self.page, self.way, self.costs = stage, page, way, {}
        self.number = {"mouse": 1, "keys": 2, "touch": 3}[way]

    def begin(self):
        self.page.goto("about:blank")
        self.page.goto(f"{self.stage.url}/console#/users")
        self.page.locator("#row-2").wait_for()
        self.page.locator("#search").focus()
        return Hand(self.page, self.way)

    def end(self, name, hand, most, before=0):
        """Notes what a task took."""
        taken = hand.count - before
        self.costs[name] = taken
        expect(taken <= most, f"by {self.way}, {name} takes {taken} clicks and keys, not {most}")

    @property
    def is_mouse(self):
        """The others use the command palette, where the mouse goes to a screen."""
        return self.way == "mouse"

    def said(self, text):
        self.page.locator(".toast").filter(has_text=text).first.wait_for(timeout=WAIT)

    def button(self, name, exact=False, within=None):
        return (within or self.page).get_by_role("button", name=name, exact=exact)

    @property
    def dialog(self):
        return self.page.locator("dialog[open]").last

    def run(self, names=None):
        every = ("correct", "restore", "history", "key", "suspend", "conflict", "export", "members",
                 "purge")
        for name in names or every:
            getattr(self, name)()
        return self.costs

    def correct(self):
        hand, address = self.begin(), f"ada{self.number}@new.example"
        hand.row("ada kovalevsky")
        field = self.page.locator("#f-email")
        field.wait_for()
        if self.way == "keys":
            hand.key("e")
        hand.write(field, address)
        hand.save()
        self.said("Saved as version")
        expect(self.stage.user("ada")["email"] == address, "the address of Ada is not corrected")
        self.end("e-mail", hand, 3)

    def restore(self):
        hand = self.begin()
        user = self.stage.ask("GET", "/deleted-users?q=gone")["items"][0]
        if self.is_mouse:
            hand.go("Deleted users")
            row = self.page.locator("tbody tr").filter(has_text=user["name"])
            hand.press(self.button("Restore", within=row))
        elif self.way == "touch":
            self.page.keyboard.type(user["name"])
            hand.press(self.page.get_by_role("link", name="Search deleted users"))
            hand.press(self.button(f"Restore {user['name']}"))
        else:
            hand.command(f"restore {user['name']}", f"Restore {user['name']}")
        self.said("restored")
        expect(self.stage.user(user["username"]), "the user is not restored")
        self.end("restore", hand, 2)

    def history(self):
        hand = self.begin()
        hand.row("ada kovalevsky")
        tab = self.page.locator(".tabs").get_by_role("link", name="History")
        if self.way == "keys":
            tab.wait_for()
            hand.key("h")
        else:
            hand.press(tab)
        line = self.page.locator(".tl li").filter(has_text="Sales Support").first
        line.wait_for()
        text = line.inner_text()
        expect("Research" in text and "operator" in text, f"the history says {text}")
        self.end("who changed it", hand, 3)

    def key(self):
        hand, before = self.begin(), len(self.keys())
        if self.is_mouse:
            hand.go("SCIM")
            hand.press(self.button("Make a key"))
        else:
            hand.command("new key for scim", "New key for SCIM")
            self.dialog.get_by_label("Name").wait_for()
            self.page.keyboard.type(f"Okta by {self.way}")
        hand.submit(self.button("Make the key", within=self.dialog))
        secret = self.keep(hand)
        made = self.keys()[before:]
        expect(len(made) == 1 and "scim" in made[0]["scopes"], f"the keys made are {made}")
        self.works(secret)
        self.end("key", hand, 4)
        hand = self.begin()
        if self.is_mouse:
            hand.go("Keys")
            row = self.page.locator("tbody tr").filter(has_text=made[0]["name"]).first
            hand.press(self.button("Rotate", within=row))
        else:
            hand.command(f"rotate {made[0]['name']}", f"Rotate {made[0]['name']}")
        hand.submit(self.button("Rotate", within=self.dialog))
        other = self.keep(hand)
        expect(other != secret, "the rotated key has the same secret")
        self.works(other)
        self.end("rotate", hand, 4)

    def keys(self):
        return self.stage.ask("GET", "/keys")["items"]

    def keep(self, hand):
        """The secret that a dialog shows, which closes once it is kept."""
        secret = self.dialog.locator(".secret code").first
        secret.wait_for()
        secret = secret.inner_text().strip()
        hand.submit(self.button("I have kept it", within=self.dialog))
        self.page.locator("dialog").wait_for(state="detached")
        expect(secret not in self.page.content(), "a secret is still in the page")
        return secret

    def works(self, secret):
        answer = self.stage.call("GET", "/scim/v2/Users?count=1", key=secret)
        expect(answer.status == 200, f"the new secret is answered {answer}")

    def filtered(self, hand):
        """The list of those in Sales, by the filter of the page."""
        if self.way == "keys":
            hand.command("filter", "Filter")
        else:
            hand.press(self.page.locator("#filter-button"))
        hand.write(self.page.locator("#filter-value"), "Sales")
        if self.way == "keys":
            hand.key("Enter")
        else:
            hand.press(self.button("Add", exact=True, within=self.page.locator(".pop")))
        self.page.locator(".chip").filter(has_text="Sales").wait_for()
        self.page.locator(".status").filter(has_text=f"{SALES} users match").wait_for(
            state="attached")

    def suspend(self):
        hand = self.begin()
        self.filtered(hand)
        if self.is_mouse:
            hand.tick(self.page.get_by_label("Select the loaded users"))
            bar = self.page.locator(".bulk")
            if SALES > 100:
                hand.press(self.button("Select all", within=bar))
            hand.press(self.button("Suspend", within=bar))
        else:
            hand.command("suspend all", f"Suspend all {SALES} that match")
        self.dialog.locator("#confirm-type").wait_for()
        expect(self.dialog.locator(".primary").is_disabled(), "the count need not be typed")
        hand.write(self.dialog.locator("#confirm-type"), str(SALES))
        hand.submit(self.dialog.locator(".primary"))
        self.said("suspended")
        gone = 'department eq "Sales" and status eq "suspended"'.replace('"', "%22")
        expect(self.stage.count(gone) == SALES, "not all of the filter are suspended")
        self.end("suspend", hand, 7)
        before = hand.count
        button = self.page.locator(".toast").get_by_role("button", name="Undo")
        if self.way == "keys":
            button.wait_for()
            hand.key("z")
        else:
            hand.press(button)
        self.said("Undone for")
        expect(self.stage.count(gone) == 0, "the suspension is not undone")
        self.end("undo", hand, 1, before)

    def conflict(self):
        """Both sides change the title; each changes one more member alone."""
        user = f"/users/{self.stage.user('ada')['id']}"
        titles = {side: (f"Mine {side} {self.number}", f"Theirs {side} {self.number}")
                  for side in ("yours", "now")}
        for side, (mine, theirs) in titles.items():
            hand = self.begin()
            hand.row("ada kovalevsky")
            hand.write(self.page.locator("#f-title"), mine)
            hand.write(self.page.locator("#f-given_name"), f"Ada {side} {self.number}")
            self.stage.change(user, {"title": theirs, "organization": f"By {side} {self.number}"})
            hand.save()
            save = self.dialog.locator("footer .primary")
            save.wait_for()
            before = hand.count
            expect(save.is_disabled(), "a conflict can be saved before a side is chosen")
            boxes = self.dialog.get_by_role("radio").all()
            expect(len(boxes) == 2, f"a conflict of one member has {len(boxes)} choices")
            expect(not any(box.is_checked() for box in boxes), "a side is chosen already")
            hand.pick(self.dialog.get_by_label(f"Title: {side}"))
            hand.submit(save)
            self.said("Saved as version")
            now = self.stage.ask("GET", user)
            wanted = {"title": mine if side == "yours" else theirs,
                      "given_name": f"Ada {side} {self.number}",
                      "organization": f"By {side} {self.number}"}
            found = {name: now.get(name) for name in wanted}
            expect(found == wanted, f"a conflict was saved as {found}, not {wanted}")
            self.end("merge", hand, 2, before)

    def export(self):
        hand = self.begin()
        self.filtered(hand)
        for words, read in (("CSV", csv_names), ("NDJSON", json_names)):
            before = hand.count
            with self.page.expect_download() as download:
                if self.way == "keys":
                    hand.command(f"export as {words}", f"Export as {words}")
                else:
                    hand.press(self.button("Export"))
                    hand.choose(words)
            content = Path(download.value.path()).read_bytes()
            expect(content.startswith(b"\xef\xbb\xbf") == (words == "CSV"),
                   f"the {words} begins with {content[:9]}")
            text = content.decode("utf-8-sig")
            wanted = sorted(f"seller{n}" for n in range(SALES))
            expect(sorted(read(text)) == wanted, f"the {words} has others: {text[:300]}")
            self.end("export", hand, 2, before)

    def members(self):
        hand = self.begin()
        group = self.stage.ask("GET", "/groups?q=crew")["items"][0]["id"]
        if self.way == "keys":
            hand.command("crew", "Crew")
            self.button("Add members").first.wait_for()
            hand.command("add members", "Add members")
            self.dialog.locator("#add-search").wait_for()
            hand.command("paste", "Paste a list")
        else:
            hand.go("Groups")
            hand.press(self.page.locator("tbody").get_by_role("link", name="Crew"))
            hand.press(self.button("Add members"))
            hand.press(self.button("Paste a list", within=self.dialog))
        hand.write(self.dialog.locator("#paste-list"), "\n".join(f"member{n}" for n in range(TEN)))
        hand.submit(self.button("Find", within=self.dialog))
        add = self.button(f"Add {TEN}", within=self.dialog)
        add.wait_for()
        # The same button has another word now, so the second tap of a double one does nothing.
        self.page.wait_for_timeout(600)
        hand.submit(add)
        self.dialog.get_by_text(f"{TEN} users added").wait_for()
        if self.way == "keys":
            hand.key("Escape")
        else:
            hand.press(self.button("Done", within=self.dialog))
        self.dialog.wait_for(state="detached")
        members = {one["id"] for one in self.stage.ask("GET", f"/groups/{group}/members")["items"]}
        wanted = {self.stage.user(f"member{n}")["id"] for n in range(TEN)}
        expect(members == wanted, f"the group has {len(members)} members")
        self.end("ten members", hand, 12)
        for one in wanted:
            self.stage.ask("DELETE", f"/groups/{group}/members/{one}")

    def purge(self):
        hand = self.begin()
        user = self.stage.ask("GET", "/deleted-users?q=gone")["items"][-1]
        if self.is_mouse:
            hand.go("Deleted users")
            hand.press(self.button(f"More for {user['name']}"))
            hand.choose("Erase for good")
        else:
            hand.command(f"erase {user['name']}", f"Erase {user['name']}")
        self.dialog.locator("#confirm-type").wait_for()
        expect(self.dialog.locator(".primary").is_disabled(), "a name need not be typed")
        hand.write(self.dialog.locator("#confirm-type"), user["username"])
        hand.submit(self.dialog.locator(".primary"))
        self.said("was erased")
        answer = self.stage.call("GET", f"/deleted-users/{user['id']}")
        expect(answer.status == 404, f"the erased user is answered {answer}")
        self.end("purge", hand, 5)


def palette(stage, theatre, state):
    """The command palette chooses nothing that was found for other words, and its keys reach no
    dialog below it. Enter in the search waits for the answer.
    """
    context, held = theatre.context(stage, state), []
    page = context.new_page()
    page.goto(f"{stage.url}/console#/users")
    page.locator("#row-2").wait_for()
    page.locator("#search").focus()
    page.keyboard.type("ada kovalevsky")
    page.keyboard.press("Enter")
    page.locator("#f-email").wait_for()
    page.route("**/deleted-users?*q=first*", lambda route: held.append(route))
    page.keyboard.press("Control+k")
    box = page.locator(".palette input")
    box.wait_for()
    gone = stage.ask("POST", "/users", {"username": "first", "name": "First Gone"})
    stage.ask("DELETE", f"/users/{gone['id']}")
    page.keyboard.type("restore first")
    while not held:
        page.wait_for_timeout(20)
    box.fill("restore kay")
    held[0].continue_()
    options, seen = page.get_by_role("option"), []
    while not any("kay" in text.lower() for text in seen):
        seen += options.all_inner_texts()
    expect(not any("First" in text for text in seen), f"after other words there was {seen}")
    page.keyboard.press("Escape")
    page.goto(f"{stage.url}/console#/keys")
    page.get_by_role("button", name="New key").first.click()
    page.get_by_role("dialog").get_by_label("Name").fill("by mistake")
    page.keyboard.press("Control+k")
    box.wait_for()
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(300)
    names = [key["name"] for key in stage.ask("GET", "/keys")["items"]]
    expect("by mistake" not in names, "a key of the palette pressed a button of the dialog below")
    stage.ask("DELETE", f"/deleted-users/{gone['id']}")
    context.close()
    return "palette"


def csv_names(text):
    return [row["username"] for row in csv.DictReader(text.splitlines())]


def json_names(text):
    return [json.loads(line)["username"] for line in text.splitlines() if line]
