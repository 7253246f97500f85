"""Two services get the same requests to a tenant: in one it is alone, in the other a second tenant
has many users, groups and deleted users of the same names. All responses must be the same, apart
from ids, times, positions, cursors and request ids.

Ids are replaced by the order in which they appear, so the order of each list is compared too. Half
of the other tenant's users are older than the first user of the tenant, half are younger.
"""

import json
import os
import re
import urllib.parse
import uuid

from tenants_client import (
    NDJSON,
    Fault,
    Stranger,
    check,
    everybody,
    expect,
    import_users,
    operator,
    running,
)

GIVEN = "Ada Alan Barbara Claude Edsger Frances Grace Hedy Ida Jean Karen Leslie Maria".split()
FAMILY = "Allen Bartik Curry Dijkstra Elion Goldberg Hopper Johnson Knuth Liskov Wirth".split()
# Users of the tenant that is compared, all of the same names as others of the second tenant.
OWN = 200
PART = 5000
MEMBERS = 20_000
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
SEARCH = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
SCIM = {"Content-Type": "application/scim+json"}
RESTORED = "01900000-0000-7000-8000-000000000007"
REPLACED = (
    (r"\b[0-9a-f]{16}-\d+\b", "POSITION"),
    # The digest of a query, or of the ids of a user's groups.
    (r'(W/\\?"(?:POSITION|\d+))-[0-9a-f]{16}', r"\1-DIGEST"),
    (r"\b[0-9a-f]{32}\b", "REQUEST"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r'((?:next_?[cC]ursor)":")[\w-]{20,}', r"\1CURSOR"),
    (r"(cursor=)[\w-]{20,}", r"\1CURSOR"),
    (r"(key:|\"id\":\")[0-9A-Za-z]{10}(\")", r"\1KEY\2"),
    # It is about a minute behind.
    (r',"last_used_at":"TIME"', ""),
    (r"127\.0\.0\.1:\d+", "SERVICE"),
)
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def person(number):
    """A user with names that many have, one that all have, and values of its own."""
    given, family = GIVEN[number % len(GIVEN)], FAMILY[number // 7 % len(FAMILY)]
    return {
        "username": f"{given}.{family}{number}".lower(),
        "email": f"{given}.{family}.{number}@example.com".lower(),
        "given_name": given, "family_name": family, "middle_name": "Common",
        "name": f"{given} Common {family}", "title": f"Title {number % 9}",
        "department": f"Department {number % 23}", "external_id": f"x{number % 150}",
        "phone_number": f"+1555{number:07d}",
        "status": "suspended" if number % 11 == 3 else "active",
        "attributes": {"badge": number, "team": f"team {number % 5}"},
    }  # fmt: skip


class Script:
    """Sends requests to the tenant and records what must not depend on another tenant."""

    def __init__(self, connection):
        self.connection, self.ids, self.seen = connection, {}, []

    def send(self, method, path, body=None, headers=None):
        answer = self.connection.request(method, path, body, headers)
        kept = [
            f"{name}: {value}" for name, value in answer.headers.items()
            # The length follows from the body.
            if name not in ("date", "content-length")
        ]  # fmt: skip
        text = "\n".join([str(answer.status), *kept, "", answer.body.decode()])
        self.seen.append((f"{method} {path}", self.normal(text)))
        return answer

    def normal(self, text):
        text = UUID.sub(lambda found: self.ids.setdefault(found[0], f"ID{len(self.ids)}"), text)
        for pattern, replacement in REPLACED:
            text = re.sub(pattern, replacement, text)
        return text

    def get(self, path, **query):
        """A GET with these parameters; `filter_` is `filter`."""
        pairs = {name.rstrip("_"): value for name, value in query.items()}
        encoded = urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote)
        return self.send("GET", f"{path}?{encoded}" if pairs else path)

    def walk(self, path, name="next_cursor", **query):
        """All pages of a list."""
        page = self.get(path, **query).json()
        while page.get(name):
            page = self.get(path, **{**query, "cursor": page[name]}).json()

    def made(self, path, body, headers=None):
        return self.send("POST", path, body, headers).json().get("id", "")


def writes(script, foreign):
    """Creates and changes. `foreign` are ids of another tenant's users, or random ones."""
    lines = b"\n".join(json.dumps(person(number)).encode() for number in range(OWN))
    script.send("POST", "/bulk/users", lines, NDJSON)
    script.send("POST", "/bulk/users", lines[:5000].rpartition(b"\n")[0], NDJSON)
    script.send("POST", "/bulk/users?on_conflict=skip", lines[:5000].rpartition(b"\n")[0], NDJSON)
    one = {"username": "Countess", "email": "countess@example.com", "name": "Ada Common"}
    user = script.made("/users", one)
    script.made("/users", one)
    script.made("/users", {"email": "COUNTESS@example.com"})
    script.made("/users", {"username": "x", "emial": "x"})
    script.made("/users", b'{"username":')
    retried = {"Idempotency-Key": "the-same-key"}
    for name in ("retried", "retried", "another"):
        script.made("/users", {"username": name}, retried)
    script.send("PATCH", f"/users/{user}", {"nickname": "C", "phone_number": "+15550000001"})
    script.send("PATCH", f"/users/{user}", {"username": person(3)["username"]})
    script.send("PUT", f"/users/{user}", {"name": "Ada"}, {"If-Match": '"1"'})
    script.send("PUT", f"/users/{user}?dry_run=true", one)
    script.send("GET", f"/users/{user}", None, {"If-None-Match": '"2"'})
    for method in ("GET", "PATCH", "DELETE"):
        body = {"nickname": "N"} if method == "PATCH" else None
        script.send(method, f"/users/{foreign[0]}", body)
    three = ("Common", "Core", "COMMON")
    names = [script.made("/groups", {"display_name": name}) for name in three]
    for member in (user, foreign[0], names[1], names[0]):
        script.send("PUT", f"/groups/{names[0]}/members/{member}")
    script.send("PUT", f"/groups/{names[1]}/members/{user}")
    script.send("DELETE", f"/users/{script.made('/users', {'username': 'leaver'})}")
    script.made(f"/deleted-users/{foreign[1]}/restore", None)
    script.made("/users?keep_ids=true", {"id": RESTORED, "username": "restored"})
    script.made("/users?keep_ids=true", {"id": RESTORED, "username": "restored again"})
    return user, names


def reads(script, foreign, user, groups):
    script.get("/users", count="true", limit=3)
    script.walk("/users", limit=90, fields="username")
    script.walk("/users", limit=120, sort="-family_name", count="true", fields="username")
    for sort in ("email", "-username", "updated_at", "name"):
        script.get("/users", sort=sort, limit=40, fields="username")
    for text in ("common", "ada", "ada hopper", "comm grace", "nobody", "example"):
        script.get("/users", q=text, count="true", limit=20, fields="username")
        script.get("/users", q=text, count="true", limit=20, fields="username", sort="name")
    for name in ("username", "email", "external_id", "phone_number"):
        script.get("/users", **{name: person(21)[name]}, count="true")
        script.get("/users", **{name: person(OWN + 77)[name]}, count="true")
    script.get("/users", status="suspended", count="true", limit=2)
    for text in (
        'family_name eq "Hopper"', 'title co "7" and not (status eq "suspended")', "nickname pr",
        'attributes.team eq "team 3"', 'username sw "ada."', "attributes.badge gt 150",
        f'groups.value eq "{groups[0]}"', f'groups.value eq "{foreign[2]}"', 'title eq "7',
    ):  # fmt: skip
        script.get("/users", filter_=text, count="true", limit=15, fields="username")
        script.get("/users", filter_=text, count="true", limit=15, fields="id", sort="-email")
    script.send("GET", f"/users?id={user}&id={foreign[0]}&count=true")
    for path in (
        "/users?limit=0", f"/users?cursor={foreign[3]}", "/users?colour=red", "/nothing", "/",
        f"/users/{user}/groups?nested=true", f"/users/{user}/events", "/keys", "/caller",
        f"/groups/{foreign[2]}", f"/users/{foreign[0]}/events", "/deleted-users?count=true",
        "/groups?count=true", "/groups?q=common&count=true", "/groups?display_name=core",
        f"/groups?member_id={user}", f"/groups/{groups[0]}/members?count=true", "/schema",
        "/bulk/users", "/bulk/users?q=common", "/bulk/groups", "/bulk/deleted-users",
        "/events?limit=1000", "/events?type=group.updated", "/events?limit=20",
    ):  # fmt: skip
        script.get(path)
    script.get("/groups", filter_='display_name co "o"', count="true")
    script.send("GET", "/bulk/users", None, {"Accept": "text/csv"})
    script.send("HEAD", "/users?limit=5")
    script.send("GET", "/users", None, {"Accept": "text/html"})


def scim(script, foreign, user, groups):
    base = "/scim/v2"
    for start in (1, 50, 190, 5000):
        script.get(f"{base}/Users", startIndex=start, count=10, attributes="userName")
    script.walk(f"{base}/Users", "nextCursor", cursor="", count=100, attributes="userName")
    for text in (f'userName eq "{person(5)["username"]}"', 'name.middleName eq "Common"',
                 'name.familyName co "opp" and active eq true', 'externalId eq "x3"',
                 'emails.value ew "5@example.com"', "title co 7"):  # fmt: skip
        script.get(f"{base}/Users", filter_=text, count=7)
        script.get(f"{base}/Users", filter_=text, count=0)
    script.get(f"{base}/Users", sortBy="name.familyName", sortOrder="descending", count=12)
    for body in ({"schemas": [USER], "userName": "over.scim", "title": "T"}, {"schemas": [USER]},
                 {"schemas": [USER], "userName": person(8)["username"]}):  # fmt: skip
        script.made(f"{base}/Users", body, SCIM)
    operation = {"op": "replace", "path": "title", "value": "Patched"}
    for place in (f"Users/{user}", f"Users/{foreign[0]}", f"Groups/{foreign[2]}"):
        body = {"schemas": [PATCH], "Operations": [operation]}
        script.send("PATCH", f"{base}/{place}", body, SCIM)
    members = [{"value": user}, {"value": foreign[0]}]
    for name, count in (("Both", 2), ("Both", 1), ("Core", 1)):
        body = {"schemas": [GROUP], "displayName": name, "members": members[:count]}
        script.made(f"{base}/Groups", body, SCIM)
    for text in ('displayName eq "both"', f'members.value eq "{user}"', 'displayName sw "c"'):
        script.get(f"{base}/Groups", filter_=text)
    script.get(f"{base}/Groups/{groups[0]}")
    search = {"schemas": [SEARCH], "filter": 'title eq "Title 3"', "count": 5}
    script.made(f"{base}/Users/.search", search, SCIM)
    for path in ("ServiceProviderConfig", "Schemas", f"Users/{foreign[0]}", "Nothing"):
        script.get(f"{base}/{path}")


def of_the_operator(script, foreign):
    """What only the operator sees of the tenant: its counters."""
    for path in ("/tenants/a", "/tenants/missing", "/tenants/a/users?count=true&limit=1"):
        script.get(path)
    script.send("DELETE", f"/tenants/a/users/{foreign[0]}")


class Crowd:
    """The second tenant, with its users, groups and deleted users."""

    def __init__(self, chief, users):
        self.tenant, self.users, self.ids = chief.tenant("b"), users, []
        self.connection = self.tenant.connect(60.0)

    def grow(self, end):
        for start in range(len(self.ids), end, PART):
            users = [person(number) for number in range(start, min(start + PART, end))]
            self.ids += import_users(self.connection, "", users)

    def post(self, path, body, headers=None):
        answer = self.connection.request("POST", path, body, headers)
        expect(answer.status in (200, 201), f"POST {path} to b was answered {answer}")
        return answer.json()

    def settle(self):
        """Groups, deleted users, a schema. Returns ids that the other tenant must not know."""
        members = [{"value": user} for user in self.ids[:MEMBERS]]
        for name in ("Common", "Core", "Both", *(f"Common {n}" for n in range(50))):
            body = {"schemas": [GROUP], "displayName": name}
            group = self.post("/scim/v2/Groups", {**body, "members": members[:1000]}, SCIM)["id"]
        all_of_them = {"schemas": [GROUP], "displayName": "All", "members": members}
        self.post("/scim/v2/Groups", all_of_them, SCIM)
        deleted = self.post("/users", {"username": "leaver"})["id"]
        self.connection.request("DELETE", f"/users/{deleted}")
        self.post("/users?keep_ids=true", {"id": RESTORED, "username": "restored"})
        self.post("/users", {"username": "retried"}, {"Idempotency-Key": "the-same-key"})
        declared = {"name": "badge", "type": "integer", "required": True}
        answer = self.connection.request("PUT", "/schema", {"attributes": [declared]})
        expect(answer.status == 200, f"the schema of b was answered {answer}")
        cursor = self.connection.request("GET", "/users?limit=1").json()["next_cursor"]
        return self.ids[0], deleted, group, cursor

    def expected(self):
        return {*self.ids, RESTORED}


def nothing_foreign():
    return (*(str(uuid.uuid4()) for _ in range(3)), "A" * 75)


def record(options, store, data, beside):
    """Runs the requests in a new service. Returns the responses and what a stranger did."""
    with running(store, options, data) as service:
        chief = operator(service)
        crowd, foreign = None, nothing_foreign()
        if beside:
            crowd = Crowd(chief, beside)
            crowd.grow(beside // 2)
            foreign = crowd.settle()
        script = Script(chief.tenant("a").connect(60.0))
        # The stranger's tenant, which both services have, stays empty.
        own = chief.tenant("c")
        with Stranger(chief, own, ["a", "b"] if beside else ["a"], options.seed) as stranger:
            user, groups = writes(script, foreign)
            if beside:
                crowd.grow(beside)
            reads(script, foreign, user, groups)
            scim(script, foreign, user, groups)
            script.connection = chief.connect(60.0)
            of_the_operator(script, foreign)
        if beside:
            left = everybody(crowd.connection)
            there = {key for key, user in left.items() if user["username"] != "retried"}
            expect(there == crowd.expected(), "the requests to a changed users of b")
            expect(all(user["version"] == 1 for user in left.values()), "a user of b was changed")
        check(options, service)
    return script.seen, stranger.said()


def difference(one, other):
    """The surroundings of the first difference of two texts."""
    same = len(os.path.commonprefix([one, other]))
    start = max(0, same - 200)
    alone, beside = (text[start : same + 300] for text in (one, other))
    return f"alone\n...{alone}...\nbeside another tenant\n...{beside}..."


def compare(options, store, place):
    alone, _ = record(options, store, place / "alone", 0)
    beside, said = record(options, store, place / "beside", options.beside)
    pairs = zip(alone, beside, strict=True)
    differing = [
        f"{request}: {difference(one, other)}"
        for (request, one), (_, other) in pairs if one != other
    ]  # fmt: skip
    if differing:
        shown = "\n".join(differing[:5])
        raise Fault(f"{len(differing)} of {len(alone)} responses differ, first:\n{shown}")
    size = sum(len(text) for _, text in alone)
    return (
        f"{len(alone)} responses of {size:,} characters are the same alone and beside a tenant of "
        f"{options.beside:,} users; {said}"
    )
