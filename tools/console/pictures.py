"""Make the pictures of the console that the documentation shows, from a service with sample data.

    $(tools/acceptance/venv.sh) tools/console/pictures.py [--binary FILE] [DIRECTORY]

Each screen is shown on a desktop and on a phone, in both colour schemes, as docs/images/console/
NAME-desktop-light.png and so on. A picture has at most 64 colours, so all of them stay small.
"""

import argparse
import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "acceptance"))

from console_looks import checked, imported, press  # noqa: E402
from console_stage import Stage, Theatre, sign_in  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

COLOURS, TOTAL_MIB = 64, 3
SIZES = {"desktop": (1280, 800), "phone": (390, 780)}
PEOPLE = """Ada Lovelace,Research,Analyst|Grace Hopper,Engineering,Rear admiral
Hedy Lamarr,Research,Inventor|Radia Perlman,Engineering,Network architect
Mary Somerville,Research,Reader|Joan Clarke,Security,Cryptanalyst
Jean Bartik,Engineering,Programmer|Kay McNulty,Engineering,Programmer
Fran Allen,Research,Fellow|Barbara Liskov,Research,Professor
Edith Clarke,Engineering,Electrical engineer|Ida Rhodes,Support,Translator
Karen Spärck Jones,Research,Professor|Lynn Conway,Engineering,Chip designer
Margaret Hamilton,Engineering,Flight software lead|Katherine Johnson,Research,Mathematician
Adele Goldberg,Product,Product manager|Anita Borg,People,Community lead
Mary Allen Wilkes,Support,Counsel|Evelyn Boyd Granville,Research,Mathematician
Dorothy Vaughan,Support,Team lead|Sophie Wilson,Engineering,Chip designer
Shafi Goldwasser,Security,Cryptographer|Elizabeth Feinler,Support,Information lead
Stephanie Shirley,People,Founder|Gladys West,Research,Mathematician
Annie Easley,Engineering,Programmer|Roberta Williams,Product,Designer
Susan Kare,Product,Designer|Софья Ковалевская,Support,Agent
فاطمة الفهري,People,Founder|Émilie du Châtelet,Research,Translator"""

TABLE = "Login,Full name,E-mail,Dept\n" + "".join(
    f"new{n},New Person {n},new{n}@analytical.example,Sales\n" for n in range(200)
) + "ada.lovelace,Ada,ada@x.example,Research\nx,X,nobody,\n"


def furnish(stage):
    """A small company: people, groups, keys, webhooks, tenants, and what happened to them."""
    ids = {}
    for number, line in enumerate(PEOPLE.replace("\n", "|").split("|")):
        name, department, title = line.split(",")
        words = name.lower().split()
        login = f"{words[0]}.{words[-1]}" if name.isascii() else f"user{number}"
        given, _, family = name.rpartition(" ")
        ids[name] = stage.ask("POST", "/users", {
            "username": login, "name": name, "given_name": given, "family_name": family,
            "email": f"{login}@analytical.example", "department": department, "title": title,
            "email_verified": number % 7 != 3, "locale": "en-GB",
            "zoneinfo": "Europe/London"})["id"]
    groups = {}
    for name, wanted in (("Everyone", None), ("Engineers", "Engineering"), ("Researchers", "Research"),
                         ("On call", "Support")):
        groups[name] = stage.ask("POST", "/groups", {"display_name": name})["id"]
        for line in PEOPLE.replace("\n", "|").split("|"):
            person, department, _ = line.split(",")
            if wanted in (department, None) and (wanted or department == "Product"):
                stage.ask("PUT", f"/groups/{groups[name]}/members/{ids[person]}")
    for name in ("Engineers", "Researchers", "On call"):
        stage.ask("PUT", f"/groups/{groups['Everyone']}/members/{groups[name]}")
    ada = f"/users/{ids['Ada Lovelace']}"
    stage.change(ada, {"department": "Engineering", "title": "Engine designer"})
    stage.change(ada, {"nickname": "Ada", "organization": "Analytical Engines Ltd"})
    stage.change(f"/users/{ids['Roberta Williams']}", {"status": "suspended"})
    for name in ("Anita Borg", "Gladys West", "Susan Kare"):
        stage.ask("DELETE", f"/users/{ids[name]}")
    stage.ask("POST", "/keys", {"name": "okta", "scopes": ["scim"]})
    stage.ask("POST", "/keys", {"name": "support-desk", "scopes": ["users:read", "users:write"]})
    ended = stage.ask("POST", "/keys", {"name": "old-importer", "scopes": ["users:write"]})
    stage.ask("DELETE", f"/keys/{ended['id']}")
    for name, host in (("search-index", "search"), ("hr-mirror", "hr")):
        hook = stage.ask("POST", "/webhooks", {"name": name, "url": f"https://{host}.example/roster"})
        stage.ask("PATCH", f"/webhooks/{hook['id']}", {"status": "paused"},
                  {"Content-Type": "application/merge-patch+json"})
    for name, text in (("acme", "Acme Ltd"), ("globex", "Globex"), ("initech", "Initech")):
        stage.ask("POST", "/tenants", {"name": name, "display_name": text, "users_max": 5000})
        stage.ask("POST", f"/tenants/{name}/users", {"username": "wile", "name": "Wile E. Coyote"})
    return ids, groups, hook["id"]


def conflict(stage, ada):
    titles = iter(("Analyst", "Reader", "Fellow", "Mathematician"))

    def act(page):
        page.locator("#f-title").fill("Countess")
        page.locator("#f-nickname").fill("A. A. L.")
        stage.change(f"/users/{ada}", {"title": next(titles)})
        page.locator(".savebar .primary").click()
        page.locator("dialog[open]").wait_for()

    return act


def screens(stage):
    """Each picture: its name, a fragment, and what to do there."""
    ids, groups, hook = furnish(stage)
    ada, gone = ids["Ada Lovelace"], ids["Anita Borg"]
    okta = next(key["id"] for key in stage.ask("GET", "/keys")["items"] if key["name"] == "okta")
    return [
        ("users", "users", None),
        ("users-filter", "users?f=department%20eq%20%22Engineering%22", None),
        ("users-selected", "users", lambda page: [
            page.get_by_label(f"Select {name}").first.click()
            for name in ("Sophie Wilson", "Annie Easley", "Dorothy Vaughan")]),
        ("user", f"users/{ada}", None), ("user-history", f"users/{ada}/history", None),
        ("user-conflict", f"users/{ada}", conflict(stage, ada)), ("user-new", "users/new", None),
        ("import-columns", "import", lambda page: imported(page, TABLE)),
        ("import-check", "import", lambda page: checked(page, TABLE)),
        ("groups", "groups", None), ("group", f"groups/{groups['Engineers']}", None),
        ("deleted", "deleted", None), ("deleted-user", f"deleted/{gone}", None),
        ("activity", "activity", None), ("keys", "keys", None), ("key", f"keys/{okta}", None),
        ("key-new", "keys", press("New key")), ("scim", "scim", None),
        ("webhooks", "webhooks", None), ("webhook", f"webhooks/{hook}", None),
        ("tenants", "tenants", None), ("tenant", "tenants/acme", None),
        ("palette", "users", lambda page: page.keyboard.press("Control+k")),
    ]  # fmt: skip


def take(page, path):
    """A picture with few colours."""
    with Image.open(io.BytesIO(page.screenshot())) as whole:
        whole.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def shown(theatre, stage, directory, state, screen):
    """Takes the four pictures of a screen. Returns their bytes."""
    (name, fragment, act), total = screen, 0
    for device, size in SIZES.items():
        for scheme in ("light", "dark"):
            context = theatre.context(stage, state, size=size, color_scheme=scheme,
                                      reduced_motion="reduce")
            page = context.new_page()
            page.goto(f"{stage.url}/console#/{fragment}")
            page.locator("h1").first.wait_for(state="attached")
            page.wait_for_timeout(500)
            if act:
                act(page)
                page.wait_for_timeout(300)
            total += take(page, directory / f"{name}-{device}-{scheme}.png")
            context.close()
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "target" / "release" / "roster"))
    parser.add_argument("directory", nargs="?", type=Path,
                        default=ROOT / "docs" / "images" / "console")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    total = 0
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        theatre, stage = Theatre(playwright), Stage(options.binary, Path(place) / "data")
        try:
            context = theatre.context(stage)
            page = context.new_page()
            sign_in(page, stage, stage.key)
            state = context.storage_state()
            context.close()
            total += shown(theatre, stage, options.directory, None, ("sign-in", "users", None))
            for screen in screens(stage):
                total += shown(theatre, stage, options.directory, state, screen)
            theatre.check()
        finally:
            stage.stop()
            theatre.close()
    print(f"pictures of {total / 2**20:.2f} MiB in {options.directory}")
    sys.exit(total > TOTAL_MIB * 2**20)


if __name__ == "__main__":
    main()
