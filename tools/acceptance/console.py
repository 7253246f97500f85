"""People work in the console, the page of Roster, in a real Chromium with the real service.

The tasks of support staff and administrators are done with the mouse, each with at most the clicks
and keys that its design allows, and looked up through the API; the full run does them by the
keyboard alone and with a finger on a phone too, with the same limits, and a slice does three by the
keyboard. No secret, text or digit is lost by Esc, double clicks and slow answers. Every way to sign
in works, a session that ends keeps what was typed, and who only reads sees no write. Half a
session, a session of another service, and pages of others are refused, and a user whose every
member is markup stays text. No page may send a request elsewhere, violate the policy or have an
uncaught error. axe finds nothing on the screens and dialogs, in both schemes, on a desktop and on
phones, and none of them scrolls sideways. Lists keep to what was selected, undone and typed. A
merge and an Undo keep what others changed. The first list is small. The full run imports a CSV with
ten kinds of fault that is broken off twice, lets two people edit the same users, uses every action
of a webhook, and works with two processes over one PostgreSQL.
"""

import sys
import time
from pathlib import Path

from console_faults import EVERY_FAULT, SOME_FAULTS, Faults
from console_forged import forged, stays_text
from console_lists import ALL, SOME_LISTS, lists
from console_looks import EVERY_KIB, FIRST_KIB, FIRST_REQUESTS, LINES, Looks, furnish, sizes
from console_mends import EVERY, SOME_MENDS, Mends
from console_sessions import attacks, open_service, scopes, sign_ins, with_token
from console_stage import Stage, Theatre, sign_in
from console_tasks import Tasks, palette, populate
from console_work import edits, imports, processes, webhooks
from playwright.sync_api import Error, sync_playwright
from postgres import cluster
from service import Workplace, arguments
from tenants_client import Fault, expect

SOME = ("users", "user", "keys")
ON_POSTGRESQL = ("correct", "restore", "history")
# By the keys alone in a slice.
BY_KEYS = ("correct", "restore", "members")
SOME_DIALOGS = ("conflict", "new-key", "menu")


class Command:
    """The parts of the command, each of which may have a fault."""

    def __init__(self, options, pictures, place, theatre):
        self.options, self.pictures, self.place, self.theatre = options, pictures, place, theatre
        self.faults, self.figures, self.times = 0, [], []
        self.stage, self.state = Stage(options.binary, place / "main"), None

    def part(self, name, work):
        """Runs a part; a fault of it does not keep the others from running."""
        began = time.monotonic()
        try:
            told = work()
            self.theatre.check()
            self.figures += [told] if told else []
        except (Fault, Error) as fault:
            self.theatre.faults.clear()
            self.faults += 1
            print(f"console: {name}: {fault}"[:6000], *self.theatre.leave(), sep="\n", flush=True)
        self.times.append(f"{name} {time.monotonic() - began:.0f}")

    def run(self):
        populate(self.stage)
        furnish(self.stage)
        context = self.theatre.context(self.stage)
        sign_in(context.new_page(), self.stage, self.stage.key)
        self.state = context.storage_state()
        context.close()
        self.part("sizes", self.sizes)
        self.tasks("mouse", None)
        self.part("palette", lambda: palette(self.stage, self.theatre, self.state))
        self.tasks("keys", BY_KEYS if self.options.slice else None)
        if not self.options.slice:
            self.tasks("touch", None)
        self.part("mends", lambda: Mends(self.stage, self.theatre, self.state).run(
            SOME_MENDS if self.options.slice else EVERY))
        self.part("faults", lambda: Faults(self.stage, self.theatre, self.state).run(
            SOME_FAULTS if self.options.slice else EVERY_FAULT))
        self.part("sign-in", lambda: f"{sign_ins(self.stage, self.theatre)} sign-ins")
        self.part("open service", lambda: open_service(self.theatre, self.options.binary,
                                                       self.place / "open"))
        self.part("attacks", self.attacks)
        self.part("looks", self.looks)
        self.part("text", self.text)
        self.part("lists", lambda: lists(self.stage, self.theatre, self.state,
                                         SOME_LISTS if self.options.slice else ALL))
        if not self.options.slice:
            self.part("token", lambda: with_token(self.theatre, self.options.binary,
                                                  self.place / "token"))
            self.part("scopes", lambda: scopes(self.stage, self.theatre))
            self.part("webhooks", lambda: webhooks(self.stage, self.theatre, self.state))
            self.part("two people", lambda: edits(
                self.stage, self.theatre, self.state, self.options.edits, self.options.seed))
            self.part("two processes", self.processes)
            self.part("import", lambda: imports(
                self.stage, self.theatre, self.state, self.place, self.options.rows))
        self.stage.stop()

    def processes(self):
        with cluster() as servers:
            url = servers.database("console")
            one = Stage(self.options.binary, self.place / "one", database=url)
            two = Stage(self.options.binary, self.place / "two", operator=False, database=url)
            two.key = one.key
            try:
                populate(one)
                processes(self.theatre, [one, two])
                for name in ON_POSTGRESQL:
                    context = self.theatre.context(two)
                    page = context.new_page()
                    sign_in(page, two, two.key)
                    Tasks(two, page, "mouse").run([name])
                    context.close()
            finally:
                one.stop()
                two.stop()
        return "two processes over one PostgreSQL"

    def tasks(self, way, names):
        for name in names or ("correct", "restore", "history", "key", "suspend", "conflict",
                              "export", "members", "purge"):
            phone = {"size": (390, 780), "has_touch": True, "is_mobile": True}
            options = phone if way == "touch" else {}
            context = self.theatre.context(self.stage, self.state, **options)
            tasks = Tasks(self.stage, context.new_page(), way)

            def work(tasks=tasks, name=name):
                costs = tasks.run([name])
                return f"{way}: " + ", ".join(f"{task} {cost}" for task, cost in costs.items())

            self.part(f"{name} by {way}", work)
            context.close()

    def sizes(self):
        size, count, every, lines = sizes(self.stage, self.theatre, self.state)
        expect(size <= FIRST_KIB, f"the first list has {size:.1f} KiB")
        expect(count <= FIRST_REQUESTS, f"the first list takes {count} requests")
        expect(every <= EVERY_KIB, f"all files have {every:.1f} KiB")
        expect(lines <= LINES, f"the scripts and styles have {lines} lines")
        return (f"first list {size:.1f} KiB in {count} requests, all files {every:.0f} KiB of "
                f"{lines} lines")

    def attacks(self):
        other = Stage(self.options.binary, self.place / "other")
        try:
            return f"{attacks(self.stage, other, self.theatre)} attacks refused"
        finally:
            other.stop()

    def text(self):
        context = self.theatre.context(self.stage, self.state)
        shown = stays_text(self.stage, context.new_page(), forged(self.stage))
        context.close()
        return f"markup is text on {shown} screens"

    def looks(self):
        looks = Looks(self.stage, self.theatre, self.state, self.pictures)
        if self.options.slice:
            plan = [((1280, "light"), None, SOME_DIALOGS), ((390, "dark"), SOME, ())]
        else:
            plan = [((width, scheme), None, None) for width in (1280, 390, 320)
                    for scheme in ("light", "dark")]
        for (width, scheme), names, boxes in plan:
            looks.at(width, scheme)
            looks.screens(names)
            looks.dialogs(boxes)
            looks.signing_in()
        looks.check()
        return f"axe and width on {looks.looks} looks"


def main():
    pictures = None
    if "--screenshots" in sys.argv:
        at = sys.argv.index("--screenshots")
        pictures = Path(sys.argv[at + 1])
        pictures.mkdir(parents=True, exist_ok=True)
        del sys.argv[at : at + 2]
    options = arguments(__doc__, edits=(200, 5, "edits of each of two people"),
                        rows=(10_000, 500, "rows of the import"))
    began = time.monotonic()
    with Workplace("console") as place, sync_playwright() as playwright:
        theatre = Theatre(playwright)
        command = Command(options, pictures, place, theatre)
        try:
            command.run()
        finally:
            command.stage.stop()
            theatre.close()
    print(f"console: seconds: {'; '.join(command.times)}")
    print(f"console: {command.faults} faults; {'; '.join(command.figures)}; {theatre.pages} pages, "
          f"{theatre.requests} requests, none elsewhere; {time.monotonic() - began:.0f} s")
    sys.exit(min(command.faults, 1))


if __name__ == "__main__":
    main()
