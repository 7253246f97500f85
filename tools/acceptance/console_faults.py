"""What else went wrong once in the console, for console.py: values of others that were lost, and
reasons that said nothing.
"""

from console_mends import Mends
from console_stage import sign_in
from tenants_client import expect

EVERY_FAULT = ("cleared", "later_undo", "entries", "manager", "discarded", "pasted", "purged",
               "reasons", "inherited")
# In a slice.
SOME_FAULTS = ("cleared", "later_undo", "purged")


def entry(name):
    """An address with more than its value."""
    return {"value": f"{name}@example.com", "type": "home", "display": "My mail"}


class Faults(Mends):
    """Each check has a page of its own, and a user."""

    def change(self, body):
        self.stage.change(f"/users/{self.user}", body)

    def told(self, text):
        self.page.locator(".toast").filter(has_text=text).last.wait_for()

    def undo_of(self, text):
        message = self.page.locator(".toast").filter(has_text=text).last
        message.get_by_role("button", name="Undo").click()

    def saved(self):
        """Saves, and leaves the message with its Undo."""
        self.page.locator(".savebar .primary").click()
        self.told("Saved as version")

    def cleared(self):
        """An address that is cleared while somebody adds another one needs a choice."""
        mine, theirs = entry("mine"), entry("theirs")
        for choice, left in (("now", 2), ("yours", 0)):
            self.change({"emails": [mine]})
            page = self.at()
            page.locator("#f-email").fill("")
            self.change({"emails": [mine, theirs]})
            self.save("")
            dialog = page.locator("dialog[open]")
            dialog.get_by_text(f"{mine['value']}, {theirs['value']}").wait_for()
            save = dialog.locator("button.primary")
            expect(save.is_disabled(), "the address of somebody else is lost without a choice")
            dialog.get_by_label(f"E-mail: {choice}").check()
            save.click()
            dialog.wait_for(state="detached")
            page.locator(".savebar").wait_for(state="detached")
            found = self.stored("emails") or []
            expect(len(found) == left, f"after the choice of {choice} there are {found}")

    def later_undo(self):
        """Undo does not overwrite a later change of somebody else."""
        page = self.at()
        page.locator("#f-title").fill("Mine")
        self.saved()
        self.change({"title": "Theirs"})
        self.button("Suspend").click()
        self.told("somebody changed it just now")
        page.wait_for_function("() => document.querySelector('#f-title').value === 'Theirs'")
        self.undo_of("Saved as version")
        self.told("Not undone: Title was changed since")
        expect(self.stored("title") == "Theirs", "Undo overwrites a later change")
        # Other members may have changed.
        page.locator("#f-title").fill("Mine again")
        self.saved()
        self.button("Suspend").click()
        self.told("is suspended")
        self.undo_of("Saved as version")
        self.told("Undone")
        found = [self.stored(name) for name in ("title", "status")]
        expect(found == ["Theirs", "suspended"], f"after an Undo there is {found}")

    def entries(self):
        """A cleared address that is put back has its type, its name and whether it is verified."""
        one = entry("entries")
        self.change({"emails": [one], "email_verified": True})
        page = self.at()
        page.locator("#f-email").fill("")
        self.saved()
        expect(self.stored("emails") is None, "the address is not removed")
        self.undo_of("Saved as version")
        self.told("Undone")
        found = [self.stored(name) for name in ("emails", "email_verified")]
        expect(found == [[one], True], f"after Undo there is {found}")
        page = self.at()
        page.locator("#f-email").fill("")
        self.saved()
        self.at(f"users/{self.user}/history")
        back = page.get_by_role("button", name="Put the old value back")
        back.filter(has_text="E-mail").first.click()
        self.told("E-mail is put back")
        expect(self.stored("emails") == [one], f"put back is {self.stored('emails')}")
        self.undo_of("E-mail is put back")
        self.told("Undone")
        expect(self.stored("emails") is None, "what was put back is not taken back")

    def manager(self):
        """A manager is removed, put back, and one that was added is taken back."""
        boss = {"id": "boss-1", "display_name": "Boss"}
        self.change({"manager": boss})
        page = self.at()
        for name in ("id", "display_name"):
            page.locator(f"#f-manager-{name}").fill("")
        self.saved()
        expect(self.stored("manager") is None, "the manager is not removed")
        self.undo_of("Saved as version")
        self.told("Undone")
        expect(self.stored("manager") == boss, "the manager is not put back")
        self.change({"manager": None})
        page = self.at()
        self.button("Show all fields").click()
        page.locator("#f-manager-id").fill("boss-2")
        self.saved()
        expect(self.stored("manager") == {"id": "boss-2"}, "the manager is not stored")
        self.undo_of("Saved as version")
        self.told("Undone")
        expect(self.stored("manager") is None, "an added manager is not taken back")

    def discarded(self):
        """Discard empties fields of numbers and dates that cannot be read."""
        if self.stage.call("GET", "/tenants/discarded").status == 404:
            self.stage.ask("POST", "/tenants", {"name": "discarded"})
        for place, odd, keys, other in (
                ("tenants/discarded", "#f-users_max", "1e", "#f-display_name"),
                (f"users/{self.user}", "#f-expires_at", "12", "#f-title")):
            if odd == "#f-expires_at":
                self.change({"expires_at": None})
            page = self.at(place)
            page.locator(odd).click(position={"x": 16, "y": 16})
            page.keyboard.type(keys)
            wrong = f"document.querySelector('{odd}').validity.badInput"
            expect(page.evaluate(wrong), f"{odd} can be read")
            page.locator(other).fill("Given up")
            self.button("Discard").click()
            page.locator(".savebar").wait_for(state="detached")
            expect(not page.evaluate(wrong), f"Discard leaves what cannot be read in {odd}")
            page.locator(other).fill("Saved")
            self.save("Saved")

    def pasted(self):
        """A key is taken without what was copied with it, and what cannot be one is said."""
        context = self.theatre.context(self.stage)
        page = context.new_page()
        page.goto(f"{self.stage.url}/console")
        page.locator("#credential").fill(f"{self.stage.key}é")
        page.keyboard.press("Enter")
        said = page.get_by_text("It has the character “é”, which no key or token has.")
        said.wait_for()
        expect(".." not in said.inner_text(), f"it says {said.inner_text()}")
        for key in (f"{self.stage.key}\u200b", f"“{self.stage.key}”"):
            sign_in(page, self.stage, key)
            self.page = page
            self.button("Sign out").click()
            page.get_by_role("heading", name="Sign in").wait_for()
        context.close()

    def purged(self):
        """The users of a tenant that was erased leave the screen, and the error says why."""
        self.stage.ask("POST", "/tenants", {"name": "purged"})
        self.stage.ask("POST", "/tenants/purged/users", {"username": "of-purged"})
        page = self.at("t/purged/users")
        page.locator("#row-0").filter(has_text="of-purged").wait_for()
        said = page.locator(".status .num").inner_text()
        expect(said == "1 user", f"of one user the list says {said}")
        self.stage.ask("DELETE", "/tenants/purged")
        self.stage.ask("DELETE", "/deleted-tenants/purged")
        page.locator(".fault").wait_for()
        expect(page.locator("#row-0").count() == 0, "users of an erased tenant are shown")
        said = page.locator(".status").inner_text()
        expect("no answer" not in said and "users" not in said, f"the list says {said}")

    def reasons(self):
        """A refusal says what is wrong, not how much."""
        page = self.at("activity?type=bogus")
        page.locator(".fault").filter(has_text="Give user.created").wait_for()
        page.get_by_role("switch").filter(has_text="Not live").wait_for()
        self.stage.ask("POST", "/users", {"username": "mend-taken"})
        self.change({"username": "mend-free"})
        self.at()
        page.locator("#f-username").fill("mend-left")
        self.saved()
        self.stage.ask("POST", "/users", {"username": "mend-free"})
        self.undo_of("Saved as version")
        self.told("Not done: The username is taken: choose another username")

    def inherited(self):
        """A screen with the name of an inherited member is none."""
        for name in ("constructor", "toString", "__proto__"):
            page = self.at(name)
            page.locator(".fault").filter(has_text=f"There is no screen “{name}”").wait_for()
