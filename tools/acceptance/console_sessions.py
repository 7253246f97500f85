"""Sign-in, sessions and attacks on them, for console.py."""

import base64
import http.server
import json
import threading
import time

from console_stage import Stage, sign_in
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from service import Connection
from tenants_client import expect


def sign_ins(stage, theatre):
    """Each way in and out. Returns how many."""
    context = theatre.context(stage)
    page = context.new_page()
    page.goto(f"{stage.url}/console")
    page.locator("#credential").fill("rst_wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("This key or token is not valid").wait_for()
    key = stage.ask("POST", "/keys", {"name": "desk", "scopes": ["users:read", "users:write"]})
    page.locator("#credential").fill(key["key"])
    page.keyboard.press("Enter")
    page.locator("#row-0").wait_for()
    held = page.evaluate("() => JSON.stringify([localStorage, sessionStorage, document.cookie])")
    expect(key["key"] not in held, "the page keeps the key")
    page.reload()
    page.locator("#row-0").wait_for()

    # The session ends while the form has an edit.
    user = f"/users/{stage.user('ada')['id']}"
    page.goto(f"{stage.url}/console#{user}")
    page.locator("#f-nickname, #f-title").first.wait_for()
    page.locator("#f-title").fill("Kept over the end")
    stage.ask("DELETE", f"/keys/{key['id']}")
    page.get_by_role("region", name="Unsaved changes").get_by_role("button", name="Save").click()
    over = page.locator("dialog[open]")
    over.get_by_text("Your session has ended").wait_for()
    expect(page.locator("#f-title").input_value() == "Kept over the end", "the edit is lost")
    press_escape(page)
    expect(over.is_visible(), "Esc closes the sign-in")
    over.locator("#credential").fill(key["key"])
    page.keyboard.press("Enter")
    over.get_by_text("is not valid").wait_for()
    over.locator("#credential").fill(stage.made_key("second", ["users:read", "users:write"]))
    page.keyboard.press("Enter")
    over.wait_for(state="detached")
    # The save that met the end is sent again.
    page.locator(".toast").filter(has_text="Saved as version").wait_for()
    expect(stage.ask("GET", user)["title"] == "Kept over the end", "the edit is not saved")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    kept = [cookie["name"] for cookie in context.cookies()]
    expect(not kept, f"signed out, the browser keeps {kept}")
    context.close()
    readers(stage, theatre)
    of_a_tenant(stage, theatre)
    return 8


def press_escape(page):
    """Chromium closes a dialog at the second Esc even if the event `cancel` is prevented."""
    for _ in range(5):
        page.keyboard.press("Escape")
        page.wait_for_timeout(30)


def readers(stage, theatre):
    """With users:read alone, the page offers no write and no other screen."""
    context = theatre.context(stage)
    page = context.new_page()
    sign_in(page, stage, stage.made_key("reader", ["users:read"]))
    user = stage.user("ada")["id"]
    writes = ("Save", "Suspend", "Delete", "New user", "New group", "Add members", "Import",
              "Remove", "Add to a group", "Add an attribute", "New key", "Restore", "Rotate")
    group = stage.ask("GET", "/groups?limit=1")["items"][0]["id"]
    for place in ("users", f"users/{user}", f"users/{user}/groups", "groups", f"groups/{group}",
                  f"groups/{group}/details", "deleted", "keys", "webhooks", "import", "scim",
                  "activity", "users/new", "tenants"):
        page.goto(f"{stage.url}/console#/{place}")
        page.locator("h1").first.wait_for(state="attached")
        page.wait_for_timeout(100)
        page.locator(".skeleton").wait_for(state="detached")
        shown = [name for name in writes if any(
            one.is_visible() and one.is_enabled()
            for one in page.locator("main").get_by_role("button", name=name).all())]
        shown += [name for name in ("New user", "Import") if
                  page.get_by_role("link", name=name, exact=True).first.is_visible()]
        expect(not shown, f"who only reads sees {shown} at {place}")
    context.close()


BOTH = {"users:read", "users:write"}
# A screen, a button that writes, and the scopes that it needs.
WRITES = (
    ("users", "New user", BOTH), ("groups", "New group", BOTH), ("user", "Suspend", BOTH),
    ("user/groups", "Add to a group", BOTH), ("group", "Add members", BOTH),
    ("deleted", "Restore", BOTH), ("import", "Choose", {"users:write"}),
    ("keys", "New key", {"keys:admin"}), ("key", "Rotate", {"keys:admin"}),
    ("webhooks", "New webhook", {"webhooks:admin", "events:read"}),
    ("tenants", "New tenant", {"tenants:admin"}),
)  # fmt: skip
SETS = (
    {"users:read"}, {"users:write"}, BOTH, {"events:read"}, {"keys:admin"}, {"scim"},
    {"webhooks:admin"}, {"webhooks:admin", "events:read"}, {"tenants:admin"}, {"audit:read"},
    {"users:read", "users:purge"}, BOTH | {"keys:admin"},
)  # fmt: skip


def scopes(stage, theatre):
    """With each set of scopes, a button that writes is there exactly if the service allows it."""
    ada = stage.user("ada")["id"]
    group = stage.ask("GET", "/groups?limit=1")["items"][0]["id"]
    key = stage.ask("POST", "/keys", {"name": "seen", "scopes": ["users:read"]})["id"]
    places = {"user": f"users/{ada}", "user/groups": f"users/{ada}/groups",
              "group": f"groups/{group}", "key": f"keys/{key}"}
    seen = 0
    for some in SETS:
        context = theatre.context(stage)
        page = context.new_page()
        tenants = {"tenants": "all"} if "tenants:admin" in some else {}
        sign_in(page, stage, stage.made_key("+".join(sorted(some)), sorted(some), **tenants))
        for place, name, needed in WRITES:
            page.goto(f"{stage.url}/console#/{places.get(place, place)}")
            page.locator("h1").first.wait_for(state="attached")
            page.wait_for_timeout(150)
            page.locator(".skeleton").wait_for(state="detached")
            found = [one for one in page.locator("main").get_by_role("button", name=name).all()
                     + page.locator("main").get_by_role("link", name=name).all()
                     if one.is_visible() and one.is_enabled()]
            expect(bool(found) == (needed <= some),
                   f"with {sorted(some)}, {place} has {len(found)} of {name}")
            seen += 1
        context.close()
    return f"{seen} writes are shown to whom may do them"


def of_a_tenant(stage, theatre):
    context = theatre.context(stage)
    page = context.new_page()
    page.goto(f"{stage.url}/console")
    page.locator("#credential").fill(stage.made_key("acme", ["users:read"], "/tenants/acme"))
    page.keyboard.press("Enter")
    page.get_by_text("This credential is for one tenant").wait_for()
    page.locator("#tenant").fill("acme")
    page.keyboard.press("Enter")
    page.locator("#row-0").filter(has_text="Wile").wait_for()
    expect("acme" in page.locator(".side").inner_text(), "the page does not name the tenant")
    # A credential of another tenant does not go on with the page, nor read anything for it.
    seen = []
    page.on("response", lambda one: "/users?" in one.url and seen.append((one.status, one.url)))
    context.clear_cookies()
    page.locator("#search").fill("wile")
    over = page.locator("dialog[open]")
    over.locator("#credential").fill(stage.made_key("elsewhere", ["users:read"]))
    page.keyboard.press("Enter")
    over.get_by_text("What is on the page is of another tenant").wait_for()
    page.wait_for_timeout(5500)
    expect(not context.cookies(), "the browser keeps the session of another tenant")
    over.locator("#credential").fill(stage.made_key("acme2", ["users:read"], "/tenants/acme"))
    page.keyboard.press("Enter")
    over.get_by_text("This credential is for one tenant").wait_for()
    over.locator("#tenant").fill("acme")
    page.keyboard.press("Enter")
    over.wait_for(state="detached")
    page.locator("#row-0").filter(has_text="Wile").wait_for()
    other = [one for one in seen if "/tenants/acme/" not in one[1]]
    expect(not other, f"after the end of the session the page asked {other}")
    context.close()


def open_service(theatre, binary, data):
    """The bar of an open service, and the first key, which closes it. What somebody else typed in it
    is saved after a sign-in.
    """
    stage = Stage(binary, data, operator=False)
    try:
        context = theatre.context(stage)
        other = context.new_page()
        user = stage.ask("POST", "/users", {"username": "ada"})["id"]
        other.goto(f"{stage.url}/console#/users/{user}")
        other.locator("#f-title").fill("Typed before")
        page = context.new_page()
        page.goto(f"{stage.url}/console")
        bar = page.get_by_role("region", name="Open service")
        bar.get_by_role("button", name="Make the first key").click()
        page.locator("dialog").get_by_role("button", name="Make the key").click()
        secret = page.locator("dialog .secret code").inner_text().strip()
        press_escape(page)
        done = page.locator("dialog").get_by_role("button", name="Done")
        expect(done.is_disabled(), "the first key can be lost")
        page.locator("#secret-end").fill(secret[-4:])
        done.click()
        page.get_by_role("button", name="Sign out").wait_for()
        expect(bar.count() == 0, "the bar of an open service stays")
        expect(stage.call("GET", "/users").status == 401, "the first key does not close it")
        expect(stage.call("GET", "/users", key=secret).status == 200, "the first key is refused")
        # It has no session of its own, as in another browser.
        context.clear_cookies()
        other.locator(".savebar .primary").click()
        other.get_by_text("Somebody made the first key").wait_for()
        other.locator("#credential").fill(secret)
        other.keyboard.press("Enter")
        other.locator(".toast").filter(has_text="Saved as version").wait_for()
        title = stage.call("GET", f"/users/{user}", key=secret).json()["title"]
        expect(title == "Typed before", "what was typed in an open service is lost")
        context.close()
    finally:
        stage.stop()


def coded(content):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


LEEWAY_S = 60  # of the ends of tokens, for clocks that differ


class Issuer:
    """An identity provider on loopback: its documents, and tokens."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Documents)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        numbers = self.key.public_key().public_numbers()
        server.documents = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1",
                                "x": coded(numbers.x.to_bytes(32)),
                                "y": coded(numbers.y.to_bytes(32))}]},
        }  # fmt: skip
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.server = server

    def token(self, seconds, scope):
        now = int(time.time())
        head = {"alg": "ES256", "kid": "1", "typ": "at+jwt"}
        claims = {"iss": self.url, "aud": "console", "sub": "ada", "iat": now - 300,
                  "exp": now + seconds, "scope": scope}
        signed = f"{coded(head)}.{coded(claims)}"
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{coded(r.to_bytes(32) + s.to_bytes(32))}"


class Documents(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(self.server.documents[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def with_token(theatre, binary, data):
    """A pasted token of an identity provider signs in until it ends; a wrong one does not."""
    issuer = Issuer()
    stage = Stage(binary, data, operator=False, flags=(
        "--jwt-issuer", issuer.url, "--jwt-audience", "console"))
    try:
        context = theatre.context(stage)
        page = context.new_page()
        page.goto(f"{stage.url}/console")
        page.locator("#credential").fill(issuer.token(60, "users:read")[:-4] + "AAAA")
        page.keyboard.press("Enter")
        page.get_by_text("not valid").wait_for()
        lasting = 12
        page.locator("#credential").fill(issuer.token(lasting - LEEWAY_S, "users:read users:write"))
        page.keyboard.press("Enter")
        page.get_by_text("Add your first users").or_(page.locator(".empty")).first.wait_for()
        ends = time.monotonic() + lasting
        page.goto(f"{stage.url}/console#/users/new")
        page.locator("#f-username").fill("by-token")
        page.locator(".savebar .primary").click()
        page.locator(".toast").filter(has_text="created").wait_for()
        page.wait_for_timeout(max(0, (ends - time.monotonic()) * 1000 + 1500))
        page.goto(f"{stage.url}/console#/users")
        over = page.locator("dialog[open]").or_(page.get_by_role("heading", name="Sign in"))
        over.first.wait_for()
        answer = stage.call("GET", "/users", key=issuer.token(60, "users:read"))
        expect(answer.json()["items"][0]["username"] == "by-token", f"the user is {answer}")
        context.close()
    finally:
        stage.stop()
        issuer.server.shutdown()


class Session:
    """The two halves of a session."""

    OWN = {"Sec-Fetch-Site": "same-origin"}

    def __init__(self, stage, key):
        answer = stage.call("POST", "/console/session", None, self.OWN, key=key)
        expect(answer.status in (200, 201), f"the sign-in is answered {answer}")
        name, _, value = answer.headers["set-cookie"].split(";")[0].partition("=")
        self.stage, self.name, self.value = stage, name, value
        self.proof = answer.json()["proof"]
        for word in ("httponly", "samesite=strict"):
            expect(word in answer.headers["set-cookie"].lower(), f"the cookie is not {word}")

    def cookie(self, value=None):
        return {"Cookie": f"{self.name}={value or self.value}"}

    def halves(self, **more):
        return {**self.cookie(), "Roster-Console": self.proof, **self.OWN,
                **{name.replace("_", "-"): value for name, value in more.items()}}

    def status(self, headers, path="/users", method="GET", body=None):
        connection = Connection(self.stage.service.address)
        status = connection.request(method, path, body, headers).status
        connection.close()
        return status


def attacks(stage, other, theatre):
    """Halves of a session, and pages of others. Returns how many were refused."""
    session, foreign = Session(stage, stage.key), Session(other, other.key)
    expect(session.status(session.halves()) == 200, "a session with both halves is refused")
    bearer, proof = {"Authorization": f"Bearer {stage.key}"}, {"Roster-Console": session.proof}
    value, middle = session.value, len(session.value) // 2
    turned = value[:middle] + ("A" if value[middle] != "A" else "B") + value[middle + 1 :]
    none = {**session.cookie(), **proof}
    tries = {
        "the cookie alone": session.cookie() | session.OWN,
        "the proof alone": proof | session.OWN,
        "both without Sec-Fetch-Site": none,
        "both from another port": none | {"Sec-Fetch-Site": "same-site"},
        "both from another site": none | {"Sec-Fetch-Site": "cross-site"},
        "both without a page": none | {"Sec-Fetch-Site": "none"},
        "both with another origin": session.halves(Origin="http://127.0.0.1:1"),
        "both with the origin null": session.halves(Origin="null"),
        "a session and a key": session.halves() | bearer,
        "a proof and a key": bearer | proof | session.OWN,
        "a wrong proof": session.halves(Roster_Console="A" * len(session.proof)),
        "an empty proof": session.halves(Roster_Console=""),
        "the proof of another session": session.halves(
            Roster_Console=Session(stage, stage.key).proof),
        "a changed cookie": session.halves() | session.cookie(turned),
        "half a cookie": session.halves() | session.cookie(value[:middle]),
        "the session of another service": {
            **session.cookie(foreign.value), "Roster-Console": foreign.proof, **session.OWN},
    }
    before, refused = stage.ask("GET", "/users?count=true&limit=1")["total"], 0
    for name, headers in tries.items():
        for method, path, body in (("GET", "/users", None), ("POST", "/users", {"username": "x"}),
                                   ("GET", "/caller", None), ("GET", "/tenants/acme/users", None),
                                   ("PUT", "/console/session", None)):
            if path == "/console/session" and "key" in name:
                continue
            status = session.status(headers, path, method, body)
            expect(status >= 400, f"{name}: {method} {path} is answered {status}")
            refused += 1
    expect(session.status(session.halves(), "/scim/v2/Users") == 401, "SCIM takes a session")
    refused += pages_of_others(stage, theatre, session)
    expect(stage.ask("GET", "/users?count=true&limit=1")["total"] == before, "a user was written")
    expect(session.status(session.halves()) == 200, "the session did not outlive the attacks")
    return refused + 1


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Evil</title><body>")

    def log_message(self, *_):
        pass


TRY = """async ([url, method, mode, headers, body]) => {
    try {
        const answer = await fetch(url, {method, mode, headers, body, credentials: 'include'});
        return answer.status;
    } catch { return 0; }
}"""
FRAME = """async (url) => {
    const frame = document.createElement('iframe');
    frame.src = url;
    document.body.append(frame);
    await new Promise((done) => { frame.onload = done; setTimeout(done, 3000); });
}"""


def pages_of_others(stage, theatre, session):
    """A page on another port of the host, in the browser that has the session."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = theatre.browser.new_context()
    context.add_cookies([{"name": session.name, "value": session.value, "url": stage.url,
                          "httpOnly": True, "sameSite": "Strict"}])
    seen, page = [], context.new_page()
    page.on("response", lambda answer: seen.append((answer.status, answer.request.method,
                                                    answer.url)))
    page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
    seen.clear()
    proof, tried = {"Roster-Console": session.proof}, 0
    for path in ("/users", "/caller", "/keys", "/console/session"):
        for method, mode, headers in (
            ("GET", "no-cors", {}), ("GET", "cors", {}), ("GET", "cors", proof),
            ("POST", "no-cors", {}), ("POST", "cors", proof), ("DELETE", "cors", proof),
        ):  # fmt: skip
            body = '{"username":"forged"}' if method == "POST" else None
            given = page.evaluate(TRY, [stage.url + path, method, mode, headers, body])
            expect(given == 0, f"another port reads {method} {path}: {given}")
            tried += 1
    own = [one for one in seen if one[2].startswith(stage.url)]
    expect(len(own) >= 8, f"only {len(own)} requests of another port were answered")
    good = [one for one in own if one[0] < 400 and one[1] != "OPTIONS"]
    expect(not good, f"another port was answered {good}")
    for path in ("/console", "/", "/docs", "/console#/users"):
        page.evaluate(FRAME, stage.url + path)
        frame = page.frames[-1]
        expect("Roster" not in frame.content(), f"{path} is framed")
        tried += 1
    context.close()
    server.shutdown()
    return tried
