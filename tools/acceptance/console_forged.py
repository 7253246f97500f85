"""Records whose every text is an attack on the page, for console.py. They must stay text."""

import json

from tenants_client import expect

EVIL = "<img src=x onerror=\"document.body.dataset.owned='1'\"><b>"
FORGED = f"{EVIL}\"'`${{7*7}}&amp;\u202e\u05d0\u05d1\u200f"
TEXTS = (
    "name", "given_name", "family_name", "middle_name", "display_name", "nickname", "title",
    "department", "organization", "division", "cost_center", "user_type", "employee_number",
    "honorific_prefix", "honorific_suffix", "external_id", "locale", "profile", "picture",
    "username", "email", "phone_number", "preferred_language", "zoneinfo",
)  # fmt: skip
CONTROLS = "\u0001\u0007\u001b\u007f\u0085\u2028\ufeff\t\n"


def forged(stage):
    """A user, a group and a key whose every text is an attack. Returns the id, and the members."""
    user = stage.ask("POST", "/users", {"username": "forged"})["id"]
    held = []
    for name in TEXTS:
        for text in (f"{name} {FORGED}{CONTROLS}", f"{name} {FORGED}\t\n", f"{name} {FORGED}",
                     f"{name} {EVIL}", EVIL.replace(" ", "/"), f"{EVIL}@shop.example"):
            answer = stage.call("PATCH", f"/users/{user}", {name: text},
                                {"Content-Type": "application/merge-patch+json"})
            if answer.status == 200:
                held.append(name)
                break
    for body in (
        {"attributes": {"evil": FORGED, "list": [FORGED], "deep": {"x": FORGED}}},
        {"roles": [{"value": FORGED, "display": FORGED, "type": FORGED}]},
        {"entitlements": [{"value": FORGED, "display": FORGED}]},
        {"addresses": [{"formatted": FORGED, "street_address": FORGED, "locality": FORGED}]},
        {"ims": [{"value": FORGED, "display": FORGED}]},
        {"manager": {"display_name": FORGED}},
    ):
        answer = stage.call("PATCH", f"/users/{user}", body,
                            {"Content-Type": "application/merge-patch+json"})
        held += list(body) if answer.status == 200 else []
    group = stage.ask("POST", "/groups", {"display_name": f"group {FORGED}"})["id"]
    stage.ask("PUT", f"/groups/{group}/members/{user}")
    stage.made_key(f"key {EVIL}", ["users:read"])
    gone = stage.ask("POST", "/users", {"username": "forged-gone", "name": f"gone {FORGED}"})
    stage.ask("DELETE", f"/users/{gone['id']}")
    return user, group, gone["id"], held


def stays_text(stage, page, made):
    """Shows the attack wherever it can be seen. Returns the number of screens."""
    user, group, gone, held = made
    expect(len(held) >= 18, f"only {len(held)} members took the attack: {held}")
    hashes = ["users?sort=-created_at", f"users/{user}", f"users/{user}/history",
              f"users/{user}/groups", f"users/{user}/raw",
              "groups", f"groups/{group}", f"groups/{group}/details",
              f"groups/{group}/history", "activity", "deleted", f"deleted/{gone}", "keys"]
    for place in hashes:
        page.goto(f"{stage.url}/console#/{place}")
        page.wait_for_timeout(60)
        page.locator("h1").first.wait_for(state="attached")
        page.locator(".skeleton").wait_for(state="detached")
        page.wait_for_timeout(150)
        seen = page.evaluate("""() => [document.querySelectorAll('img').length,
            document.body.dataset.owned ?? '', document.body.textContent.includes('onerror=')
            || [...document.querySelectorAll('input')].some((one) =>
                one.value.includes('onerror='))]""")
        expect(seen == [0, "", True], f"{place} shows the attack as {json.dumps(seen)}")
    return len(hashes)
