"""Okta's, Entra's and Authentik's documented requests against a directory whose users REST created.

The directory has its users before the provider is connected: some under the provider's user name,
some under a short name with the same address, some with more members than a provider sends. Each
provider then runs its first cycle: it matches every person of its own and creates those who are
missing. 30 increments follow, with people who join, are renamed, disabled, deleted and hired again,
and with changes of groups. In the end every person is there once, as the provider has them, with
all members that the provider does not send. A second run of the last cycle changes nothing.

Okta reads the directory by pages, matches by user name or address, updates by PUT of the user that
it read, and deactivates by PATCH without a path. Entra matches by `userName`, then by the work
address, updates by PATCH with the flag aadOptscim062020, sends a list of objects for a source with
several values, disables by `"False"`, and deletes. Authentik creates, looks for the `userName` after
a 409, updates by PUT, creates groups without members, and meets users that others have deleted.
"""

import random
import sys
import urllib.parse

from engines import engine
from service import Workplace, arguments

BASE = "/scim/v2"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
FIRST = "Ada Alan Barbara Claude Edsger Frances Grace Hedy Ida Jean Karen Leslie Maria Niklaus".split()
LAST = "Allen Bartik Curry Dijkstra Elion Goldberg Hopper Johnson Knuth Liskov Noether Wirth".split()
DEPARTMENTS = "Engines Looms Mills Notes Diagrams".split()
# Members that no provider sends. They must survive everything that a provider does.
OWN = ("attributes", "email_verified", "phone_numbers", "profile")


class Fault(Exception):
    """A check failed."""


class Person:
    """One person, as the provider has them."""

    def __init__(self, number, rnd):
        self.number, self.generation = number, 0
        self.first, self.last = rnd.choice(FIRST), rnd.choice(LAST)
        self.department, self.title = rnd.choice(DEPARTMENTS), f"Title {number % 17}"
        self.active, self.id, self.own = True, None, {}

    @property
    def name(self):
        return f"{self.first}.{self.last}.{self.number}@example.com".lower()

    def record(self, rnd):
        """The body with which REST created the person before the provider was connected."""
        body = {"attributes": {"badge": self.number}, "profile": f"https://example.com/{self.number}"}
        if self.number % 2:
            body["phone_number"] = f"+1 555 {self.number:07d}"
        kind = self.number % 3
        body["email"] = self.name
        body["username"] = self.name if kind == 0 else f"{self.first}{self.number}".lower()
        if kind == 2:
            body["email_verified"] = True
            body["name"] = f"{self.first} {self.last}"
        return body


class Provider:
    """The shared parts of both providers: requests, groups, and the expected state of the
    directory.
    """

    # Whether all people have the provider's user name from the start.
    IS_KNOWN_BY_NAME = False
    # The members that no request of the provider touches.
    OWN = OWN
    ACCEPTED = {"GET": {200, 404}, "POST": {201}, "PUT": {200}, "PATCH": {200, 204}, "DELETE": {204}}

    def __init__(self, connection, rnd):
        self.connection, self.rnd = connection, rnd
        self.people, self.groups, self.requests = {}, {}, 0

    def send(self, method, path, body=None, accepted=None):
        headers = {"Accept": "application/scim+json"}
        if body is not None:
            headers["Content-Type"] = "application/scim+json"
        answer = self.connection.request(method, BASE + path, body, headers)
        self.requests += 1
        if answer.status not in (accepted or self.ACCEPTED[method]):
            raise Fault(f"{method} {path} {body} was answered {answer}")
        return answer

    def find(self, filter_text):
        query = urllib.parse.quote(filter_text)
        page = self.send("GET", f"/Users?filter={query}&startIndex=1&count=100").json()
        if page["totalResults"] > 1:
            raise Fault(f"{filter_text} matches {page['totalResults']} users")
        return page["Resources"][0] if page["Resources"] else None

    def resource(self, person):
        return {
            "schemas": [USER, ENTERPRISE], "userName": person.name, "active": person.active,
            "displayName": f"{person.first} {person.last}", "title": person.title,
            "name": {"givenName": person.first, "familyName": person.last},
            "emails": [{"value": person.name, "type": "work", "primary": True}],
            "externalId": f"x{person.number}-{person.generation}",
            ENTERPRISE: {"department": person.department},
        }  # fmt: skip

    def create(self, person):
        made = self.send("POST", "/Users", self.resource(person)).json()
        person.id, person.own = made["id"], {}
        self.people[person.number] = person

    def take_over(self, person, user):
        """Links a person to the user that was found, or creates one."""
        if user is None:
            self.create(person)
            return
        person.id = user["id"]
        self.people[person.number] = person
        self.update(person)

    def create_group(self, name):
        body = {"schemas": [GROUP], "displayName": name, "externalId": f"g-{name}", "members": []}
        self.groups[name] = (self.send("POST", "/Groups", body).json()["id"], set())

    def patch(self, place, operations, accepted=None):
        body = {"schemas": [PATCH], "Operations": operations}
        return self.send("PATCH", place, body, accepted)

    def join(self, name, person):
        place, members = self.groups[name]
        members.add(person.number)
        value = [{"value": person.id, "display": person.name}]
        self.patch(f"/Groups/{place}", [{"op": "Add", "path": "members", "value": value}], {204})

    def leave(self, name, person):
        place, members = self.groups[name]
        members.discard(person.number)
        path = f'members[value eq "{person.id}"]'
        self.patch(f"/Groups/{place}", [{"op": "remove", "path": path}], {204})

    def rename_group(self, name, new):
        self.groups[new] = self.groups.pop(name)
        value = {"id": self.groups[new][0], "displayName": new}
        self.patch(f"/Groups/{self.groups[new][0]}", [{"op": "replace", "value": value}], {204})

    def of_all_groups(self, person):
        for _, members in self.groups.values():
            members.discard(person.number)


class Okta(Provider):
    """Okta: reads pages, matches, and sends back what it read with its own values."""

    def first_cycle(self, people):
        known, index, total = {}, 1, 1
        while index <= total:
            page = self.send("GET", f"/Users?startIndex={index}&count=100").json()
            total = page["totalResults"]
            for user in page["Resources"]:
                known[user["userName"].lower()] = user
                for email in user.get("emails", []):
                    known.setdefault(email["value"].lower(), user)
            index += max(page["itemsPerPage"], 1)
        for person in people:
            user = known.get(person.name)
            self.take_over(person, user)

    def update(self, person):
        user = self.send("GET", f"/Users/{person.id}").json()
        user |= self.resource(person) | {"schemas": sorted({*user["schemas"], USER, ENTERPRISE})}
        self.send("PUT", f"/Users/{person.id}", user)

    def set_active(self, person, active):
        person.active = active
        self.patch(f"/Users/{person.id}", [{"op": "replace", "value": {"active": active}}])

    def leave_for_good(self, person):
        """Okta never deletes: a person who leaves stays deactivated, and returns as the same user.
        """
        self.set_active(person, False)

    def hire_again(self, person):
        found = self.find(f'userName eq "{person.name}"')
        if found is None or found["id"] != person.id:
            raise Fault(f"{person.name} is not the user of before")
        person.active = True
        self.update(person)


class Entra(Provider):
    """Entra: matches by filters, and patches the differences."""

    def resource(self, person):
        body = super().resource(person)
        body["emails"].append({"value": f"private-{person.name}", "type": "other"})
        return body

    def first_cycle(self, people):
        for person in people:
            user = self.find(f'userName eq "{person.name}"')
            user = user or self.find(f'emails[type eq "work"].value eq "{person.name}"')
            self.take_over(person, user)

    def update(self, person):
        operations = [
            {"op": "Replace", "path": "userName", "value": person.name},
            {"op": "Replace", "path": "displayName", "value": f"{person.first} {person.last}"},
            {"op": "Add", "path": 'emails[type eq "work"].value', "value": person.name},
            {
                "op": "Add", "path": 'emails[type eq "other"].value',
                "value": [{"value": f"private-{person.name}"}],
            },
            {"op": "Add", "path": "externalId", "value": f"x{person.number}-{person.generation}"},
            {
                "op": "Replace",
                "value": {
                    "title": person.title, "active": person.active,
                    "name.givenName": person.first, "name.familyName": person.last,
                    f"{ENTERPRISE}:department": person.department,
                },
            },
        ]  # fmt: skip
        self.patch(f"/Users/{person.id}", operations)

    def set_active(self, person, active):
        person.active = active
        operations = [{"op": "Replace", "path": "active", "value": str(active)}]
        self.patch(f"/Users/{person.id}", operations)

    def leave_for_good(self, person):
        self.set_active(person, False)
        self.send("DELETE", f"/Users/{person.id}")
        self.send("GET", f"/Users/{person.id}", accepted={404})
        del self.people[person.number]
        self.of_all_groups(person)

    def hire_again(self, person):
        person.active, person.generation = True, person.generation + 1
        if self.find(f'userName eq "{person.name}"') is not None:
            raise Fault(f"{person.name} was deleted and is found")
        self.create(person)


class Authentik(Provider):
    """Authentik: creates, finds by `userName` after a conflict, and replaces."""

    IS_KNOWN_BY_NAME = True
    # A PUT clears what it does not have, apart from what the provider cannot know.
    OWN = ("attributes",)

    def resource(self, person):
        body = super().resource(person)
        emails = [{"value": person.name, "type": "other", "primary": True}]
        return body | {"emails": emails, "photos": [], "phoneNumbers": []}

    def first_cycle(self, people):
        self.send("GET", "/ServiceProviderConfig")
        for person in people:
            answer = self.send("POST", "/Users", self.resource(person), {201, 409})
            user = answer.json() if answer.status == 201 else self.find(f'userName eq "{person.name}"')
            if user is None:
                raise Fault(f"{person.name} is taken and cannot be found")
            self.take_over(person, user)

    def update(self, person):
        self.send("PUT", f"/Users/{person.id}", self.resource(person) | {"id": person.id})

    def set_active(self, person, active):
        person.active = active
        self.update(person)

    def create_group(self, name):
        body = {"schemas": [GROUP], "displayName": name, "externalId": f"g-{name}"}
        made = self.send("POST", "/Groups", body).json()
        if made.get("members") != []:
            raise Fault(f"a new group has no empty list of members: {made}")
        self.groups[name] = (made["id"], set())

    def leave(self, name, person):
        place, members = self.groups[name]
        members.discard(person.number)
        value = [{"value": person.id}]
        self.patch(f"/Groups/{place}", [{"op": "remove", "path": "members", "value": value}], {204})

    def leave_for_good(self, person):
        if person.number % 2:
            # Somebody else has deleted the user.
            answer = self.connection.request("DELETE", f"/users/{person.id}")
            if answer.status != 204:
                raise Fault(f"DELETE of {person.id} was answered {answer}")
            self.send("PUT", f"/Users/{person.id}", self.resource(person), {404})
            for name in sorted(self.groups):
                if person.number in self.groups[name][1]:
                    self.leave(name, person)
        self.send("DELETE", f"/Users/{person.id}", accepted={404 if person.number % 2 else 204})
        del self.people[person.number]
        self.of_all_groups(person)

    def hire_again(self, person):
        person.active, person.generation = True, person.generation + 1
        self.create(person)


def increment(provider, number, gone, size):
    """One round: each kind of change for some people."""
    rnd = provider.rnd
    for _ in range(size):
        person = Person(len(provider.people) + len(gone) + 1_000_000 * number, rnd)
        while person.number in provider.people or person.number in gone:
            person.number += 1
        provider.create(person)
    some = rnd.sample(sorted(provider.people), 5 * size)
    for index, key in enumerate(some):
        person = provider.people[key]
        match index % 5:
            case 0:
                person.last, person.title = rnd.choice(LAST), f"Title {number}"
                provider.update(person)
            case 1:
                provider.set_active(person, not person.active)
            case 2:
                provider.leave_for_good(person)
                gone[person.number] = person
            case 3:
                provider.join(rnd.choice(sorted(provider.groups)), person)
            case 4:
                name = rnd.choice(sorted(provider.groups))
                if person.number in provider.groups[name][1]:
                    provider.leave(name, person)
                else:
                    provider.join(name, person)
    provider.create_group(f"Team {number}")
    provider.rename_group(rnd.choice(sorted(provider.groups)), f"Renamed {number}")
    for key in rnd.sample(sorted(gone), min(len(gone), size // 2)):
        provider.hire_again(gone.pop(key))


def everybody(connection):
    users, cursor = {}, ""
    while cursor is not None:
        page = connection.request("GET", f"/users?limit=1000{cursor}").json()
        users |= {user["id"]: user for user in page["items"]}
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    return users


def hold(provider, gone, connection):
    """Compares the directory with the provider's data. Returns the number of users."""
    users = everybody(connection)
    expected = {person.id: person for person in provider.people.values()}
    # Okta keeps the users of people who left.
    expected |= {person.id: person for person in gone.values() if person.id in users}
    if set(users) != set(expected):
        raise Fault(f"{len(users)} users are there and {len(expected)} are expected")
    for key, person in expected.items():
        user = users[key]
        here = (user["username"], user["email"], user["given_name"], user["family_name"],
                user["title"], user["department"], user["status"] == "active")  # fmt: skip
        there = (person.name, person.name, person.first, person.last, person.title,
                 person.department, person.active)  # fmt: skip
        if here != there:
            raise Fault(f"{key} is {here}, and {there} is expected")
        kept = {name: user.get(name) for name in person.own}
        if kept != person.own:
            raise Fault(f"{key} has {kept}, and {person.own} is expected")
    by_id = {person.number: person.id for person in provider.people.values()}
    for name, (place, members) in provider.groups.items():
        group = provider.send("GET", f"/Groups/{place}").json()
        here = {member["value"] for member in group.get("members", [])}
        there = {by_id.get(number) or gone[number].id for number in members}
        if here != there or group["displayName"] != name:
            raise Fault(f"the group {name} differs in {len(here ^ there)} members")
    return len(users)


def position(connection):
    return connection.request("GET", "/users?limit=1").headers["roster-position"]


def unchanged_since(connection, before):
    """The log has no event after this position. Other tenants move the position itself."""
    items = connection.request("GET", f"/events?limit=1&after={before}").json()["items"]
    if items:
        raise Fault(f"a second run of the same requests changed something: {items[0]}")


def run(kind, service, options, seed=None):
    """All of one provider, in a service or a tenant. With the same `seed`, several providers start
    with the same people.
    """
    rnd = random.Random(seed or f"{options.seed} {kind.__name__}")
    connection = service.connect(60.0)
    people = [Person(number, rnd) for number in range(options.users + options.users // 50)]
    for person in people[: options.users]:
        body = person.record(rnd)
        if kind.IS_KNOWN_BY_NAME:
            body["username"] = person.name
        answer = connection.request("POST", "/users", body)
        if answer.status != 201:
            raise Fault(f"POST /users was answered {answer}")
        made = answer.json()
        person.own = {name: made[name] for name in kind.OWN if name in made}
    provider, gone = kind(connection, rnd), {}
    provider.first_cycle(people)
    for name in DEPARTMENTS:
        provider.create_group(name)
        for person in rnd.sample(people, 20):
            provider.join(name, person)
    hold(provider, gone, connection)
    for number in range(1, options.increments + 1):
        increment(provider, number, gone, 10)
    for person in provider.people.values():
        # An address that replaced another one is not verified any more.
        person.own.pop("email_verified", None)
    count = hold(provider, gone, connection)
    before = position(connection)
    for person in list(provider.people.values()):
        provider.update(person)
        provider.set_active(person, person.active)
    unchanged_since(connection, before)
    print(f"{kind.__name__}: {provider.requests:,} requests, {count:,} users, 0 faults", flush=True)
    connection.close()


def main():
    options = arguments(
        __doc__,
        engines=True,
        users=(5000, 150, "users that REST created"),
        increments=(30, 4, "rounds of changes"),
    )
    faults = 0
    with Workplace("providers") as place, engine(options) as store:
        for kind in (Okta, Entra, Authentik):
            service = store.service(options.binary, place / kind.__name__.lower())
            service.start()
            try:
                run(kind, service, options)
            except Fault as fault:
                faults += 1
                print(f"{kind.__name__}: {fault}"[:1500])
            finally:
                service.stop()
    print(f"providers ({options.engine}): {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
