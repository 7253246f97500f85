"""Longer work in the console, for console.py: an import that is broken off twice, two people who
edit the same users, the actions of a webhook, and two processes over one database.
"""

import csv
import http.server
import io
import json
import random
import threading

from console_stage import Hand, sign_in
from tenants_client import expect

LONG = 60_000
# What is wrong with every 100th line: a column and a value, and where the service finds it.
FAULTS = [
    ("e-mail", "nobody"), ("e-mail", "a b@c.example"), ("username", ""), ("username", "\u0007x"),
    ("username", "x" * 300), ("Zone", "Mars/Olympus"), ("Language", "not a language"),
    ("Ends", "soon"), ("Phone", "call me"), ("username", "imported-1"),
]  # fmt: skip
COLUMNS = ("username", "Given name", "Surname", "e-mail", "Dept", "Zone", "Language", "Ends",
           "Phone", "Shoe size")


def people_in_csv(lines):
    """A CSV of people, and the usernames and addresses of those that are right."""
    out, good = io.StringIO(), []
    rows = csv.writer(out)
    rows.writerow(COLUMNS)
    for number in range(1, lines + 1):
        row = dict(zip(COLUMNS, (
            f"imported-{number}", "Ada, Grace", f"Nr {number}", f"i{number}@import.example",
            'Sales "North"', "Europe/London", "en-GB", "", "", "42"), strict=True))
        if number % 100 == 50:
            name, value = FAULTS[number // 100 % len(FAULTS)]
            row[name] = value
            if name == "username" and not value:
                row["e-mail"] = ""  # one of both is enough
        else:
            good.append(row["username"])
        rows.writerow(row.values())
    return out.getvalue(), good


def imports(stage, theatre, state, place, lines):
    """Dry run, a corrected column, run, two breaks, resume, and the refused rows as a CSV."""
    text, good = people_in_csv(lines)
    file = place / "people.csv"
    file.write_text(text)
    context = theatre.context(stage, state)
    context.set_default_timeout(LONG)
    page = context.new_page()

    def choose():
        page.goto("about:blank")
        page.goto(f"{stage.url}/console#/import")
        page.locator("#import-file").set_input_files(file)

    choose()
    page.locator(".map").first.wait_for()
    columns = page.locator(".map select")
    guessed = columns.evaluate_all("(all) => all.map((one) => one.value)")
    expect(guessed[:4] == ["username", "given_name", "family_name", "email"] and not guessed[-1],
           f"the columns are guessed as {guessed}")
    for at, member in enumerate(("department", "zoneinfo", "locale", "expires_at"), 4):
        columns.nth(at).select_option(member)
    page.locator(".go .primary").click()
    page.locator(".tiles").first.wait_for()
    faulty = lines - len(good)
    tiles = page.locator(".tiles").inner_text()
    expect(f"{faulty:,}" in tiles, f"the dry run finds {tiles!r}, not {faulty} faulty")
    expect(stage.user("imported-1") is None, "a dry run wrote a user")
    page.get_by_role("button", name="Import").last.click()
    for broken in range(2):
        wait_for_users(stage, lines // 10 * (broken + 1))
        if broken:
            page.goto("about:blank")
            choose()
        else:
            stage.service.kill()
            stage.service.start()
        page.get_by_role("button", name="Resume").first.click()
    page.get_by_role("heading", name=f"{len(good):,} users imported").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download {faulty:,} rows").click()
    with open(download.value.path(), newline="") as refused:
        rows = list(csv.DictReader(refused))
    expect(len(rows) == faulty, f"{len(rows)} rows are refused, not {faulty}")
    reasons = [name for name in rows[0] if name not in COLUMNS]
    expect(all(any(row[name] for name in reasons) for row in rows), "a row has no reason")
    stored = sorted(one["username"] for one in stored_users(stage)
                    if one.get("username", "").startswith("imported-"))
    expect(stored == sorted(good), f"{len(stored)} users are stored, not {len(good)}")
    context.close()
    return f"import of {lines:,} rows broken off twice: {len(good):,} stored, {faulty} refused"


def stored_users(stage):
    answer = stage.call("GET", "/bulk/users")
    return [json.loads(line) for line in answer.body.splitlines() if line]


def wait_for_users(stage, most):
    while stage.ask("GET", "/users?q=imported&count=true&limit=1")["total"] < min(most, 5_000):
        pass


EDITED = ("title", "nickname", "organization", "department")


def edits(stage, theatre, state, rounds, seed):
    """Two people change the same users at the same time. After each save, what was saved is there,
    unless the other one saw it and chose."""
    chance, users = random.Random(seed), []
    for name in ("both-1", "both-2", "both-3"):
        users.append(stage.ask("POST", "/users", {"username": name, "name": name.title()})["id"])
    contexts = [theatre.context(stage, state) for _ in range(2)]
    pages = [context.new_page() for context in contexts]
    expected, merges, clashes = {user: {} for user in users}, 0, 0
    for number in range(rounds):
        user = chance.choice(users)
        mine = [{name: f"{name} {number} {side}"
                 for name in chance.sample(EDITED, chance.randint(1, 3))} for side in range(2)]
        for page, changes in zip(pages, mine, strict=True):
            page.goto("about:blank")
            page.goto(f"{stage.url}/console#/users/{user}")
            for name, value in changes.items():
                show(page, name)
                page.locator(f"#f-{name}").fill(value)
        save(pages[0])
        said(pages[0])
        expected[user].update(mine[0])
        save(pages[1])
        dialog = pages[1].locator("dialog[open]")
        done = pages[1].locator(".toast").filter(has_text="Saved as version")
        dialog.or_(done).first.wait_for()
        expect(dialog.count() == 1, "the second save was not told of the first")
        merges += 1
        choices = {}
        for name in set(mine[0]) & set(mine[1]):
            side = chance.choice(("now", "yours"))
            choices[name] = side
            label = name[0].upper() + name[1:]
            dialog.get_by_label(f"{label}: {side}").first.check()
            clashes += 1
        dialog.locator("footer .primary").click()
        if all(choices.get(name) == "now" for name in mine[1]):
            pages[1].locator(".savebar").wait_for(state="detached")  # nothing is left to save
        else:
            said(pages[1])
        expected[user].update({name: value for name, value in mine[1].items()
                               if choices.get(name) != "now"})
        now = stage.ask("GET", f"/users/{user}")
        found = {name: now.get(name) for name in expected[user]}
        expect(found == expected[user], f"round {number}: {found} is not {expected[user]}")
    for context in contexts:
        context.close()
    return f"{rounds} edits of each of two people, {merges} merges, {clashes} clashes, none lost"


def show(page, name):
    page.locator("#f-title").wait_for()
    if page.locator(f"#f-{name}").count() == 0:
        page.get_by_role("button", name="Show all fields").click()


def save(page):
    page.locator(".savebar .primary").click()


def said(page):
    page.locator(".toast").filter(has_text="Saved as version").first.wait_for()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(json.loads(body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


def webhooks(stage, theatre, state):
    """A webhook is made, tested, paused, resumed, replayed, gets a new secret and is deleted."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.seen, server.status = [], 204
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = theatre.context(stage, state)
    page = context.new_page()
    hand = Hand(page)
    page.goto(f"{stage.url}/console#/webhooks/new")
    page.locator("#f-name").fill("receiver")
    page.locator("#f-url").fill(f"http://127.0.0.1:{server.server_address[1]}/hook")
    page.get_by_role("button", name="Create").last.click()
    keep_secret(page)
    page.locator(".who2").filter(has_text="receiver").wait_for()
    actions = page.locator(".who2")

    def act(name):
        hand.press(actions.get_by_role("button", name=name, exact=True))

    act("Test")
    wait(lambda: any(one["type"] == "webhook.test" for one in events(server)), "the test")
    stage.ask("POST", "/users", {"username": "hooked-1"})
    wait(lambda: created(server) == ["hooked-1"], "an event")
    act("Pause")
    page.locator(".toast").filter(has_text="paused").wait_for()
    stage.ask("POST", "/users", {"username": "hooked-2"})
    act("Resume")
    wait(lambda: created(server) == ["hooked-1", "hooked-2"], "the event after a pause")
    server.status = 500
    stage.ask("POST", "/users", {"username": "hooked-3"})
    page.get_by_text("500").first.wait_for(timeout=15_000)
    server.status = 204
    page.get_by_role("button", name="Try now").click()
    wait(lambda: created(server)[-1] == "hooked-3", "the event after a failure")
    before = len(created(server))
    act("Replay")
    dialog = page.locator("dialog[open]")
    dialog.get_by_role("radio").filter(visible=True).last.wait_for()
    begin = dialog.get_by_label("beginning", exact=False).first
    begin.check()
    dialog.locator("footer .primary").click()
    wait(lambda: len(created(server)) > before + 2, "a replay")
    act("More")
    page.get_by_role("menuitem", name="New secret").click()
    page.locator("dialog[open] footer .primary").click()
    keep_secret(page)
    act("More")
    page.get_by_role("menuitem", name="Delete").click()
    page.locator("#confirm-type").fill("receiver")
    page.locator("dialog[open] footer .primary").click()
    page.locator("tbody").filter(has_text="search").wait_for()
    names = [one["name"] for one in stage.ask("GET", "/webhooks")["items"]]
    expect("receiver" not in names, "the webhook is not deleted")
    context.close()
    server.shutdown()
    return f"a webhook of {len(server.seen)} requests through every action"


def keep_secret(page):
    page.locator("dialog .secret code").first.wait_for()
    page.get_by_role("button", name="I have kept it").click()
    page.locator("dialog").wait_for(state="detached")


def events(server):
    return [event for body in server.seen
            for event in (body if isinstance(body, list) else [body])]


def created(server):
    """The users of the events of creation, each once for each time it was sent and received."""
    return [event["data"]["user"]["username"] for event in events(server)
            if event["type"] == "user.created" and "user" in event["data"]
            and not (server.status == 500 and event["data"]["user"]["username"] == "hooked-3")]


def wait(holds, what):
    for _ in range(150):
        if holds():
            return
        threading.Event().wait(0.1)
    expect(False, f"{what} did not arrive")


def processes(theatre, stages):
    """Two people at two processes over one database: each sees what the other does."""
    pages = []
    for stage in stages:
        context = theatre.context(stage)
        page = context.new_page()
        sign_in(page, stage, stages[0].key)
        page.locator("#row-0").wait_for()
        pages.append(page)
    ada = stages[0].user("ada")["id"]
    for page, stage in zip(pages, stages, strict=True):
        page.goto(f"{stage.url}/console#/users/{ada}")
        page.locator("#f-title").wait_for()
    pages[0].locator("#f-title").fill("From one")
    save(pages[0])
    said(pages[0])
    pages[1].locator("#f-organization").fill("From the other")
    save(pages[1])
    dialog = pages[1].locator("dialog[open]")
    dialog.wait_for()
    dialog.locator("footer .primary").click()
    said(pages[1])
    now = stages[1].ask("GET", f"/users/{ada}")
    expect(now["title"] == "From one", f"a save through one process is lost: {now}")
    pages[0].goto(f"{stages[0].url}/console#/users/{ada}/history")
    pages[0].locator(".tl li").filter(has_text="From the other").wait_for()
    for page in pages:
        page.context.close()
