"""What every generated Python client does against a running service. scenario.ts does the same with
the TypeScript clients.

An adapter makes the calls of one client. It returns the generated models and raises `Refused` with
the generated model of a problem. `Types` names the models whose members are checked.
"""

import json
import os
import re
import sys
import types
import typing

URL, KEY = os.environ.get("SERVICE_URL", ""), os.environ.get("SERVICE_KEY", "")
USERS = 25
# Values of `attributes` and of members of later versions are free.
FREE = re.compile(r"attributes(\[\])?$|additional_properties")


class Refused(Exception):
    """A response with a problem."""

    def __init__(self, problem):
        super().__init__(str(problem))
        self.problem = problem


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found} instead of {expected}")


def refused(status, code, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except Refused as refusal:
        equal((refusal.problem.status, refusal.problem.code), (status, code))
        return refusal.problem
    raise AssertionError(f"{code} was expected")


def everybody(client, **query):
    ids, cursor = [], None
    while True:
        page = client.list(limit=10, **query, **({"cursor": cursor} if cursor else {}))
        ids += [item.id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return ids


def check_writes(client, user):
    replaced = client.replace(user.id, '"1"', {"username": user.username, "title": "Countess"})
    equal((replaced.version, replaced.title), (2, "Countess"))
    body = {"username": user.username}
    refused(412, "version-mismatch", client.replace, user.id, '"1"', body)
    patched = client.patch(user.id, {"name": "Ada King", "title": None})
    equal((patched.version, patched.name, patched.to_dict().get("title")), (3, "Ada King", None))
    rehearsed = client.patch(user.id, {"name": "Nobody"}, dry_run=True)
    equal((rehearsed.id, rehearsed.version, rehearsed.name), (user.id, 4, "Nobody"))
    equal(client.get(user.id).version, 3)


def check_errors(client):
    problem = refused(422, "invalid-user", client.create, {"email": "nobody"})
    errors = [(error.pointer, error.code) for error in problem.errors]
    equal(errors, [("/email", "invalid-email")])
    problem = refused(400, "invalid-filter", client.list, filter="nmae pr")
    equal(problem.errors[0].parameter, "filter")


def check_import(client):
    users = ({"username": "line1"}, {"email": "nobody"}, {"username": "line3"})
    text = client.import_lines("".join(json.dumps(user) + "\n" for user in users))
    results = [json.loads(line) for line in text.splitlines()]
    equal([result.get("status") for result in results], [201, 422, 201, None])
    equal(results[3]["done"], True)


def run(client):
    equal(everybody(client), [])
    created = []
    for number in range(USERS):
        name = f"user{number}"
        body = {"username": name, "email": f"{name}@example.com", "attributes": {"n": number}}
        user = client.create(body)
        equal((user.version, user.username, user.email), (1, name, body["email"]))
        equal(user.to_dict()["attributes"], {"n": number})
        created.append(user)
    for user in created:
        equal(client.get(user.id), user)
    ids = [user.id for user in created]
    equal(everybody(client), ids)
    equal(everybody(client, filter='username sw "user1"'), [ids[1], *ids[10:20]])
    equal(everybody(client, q="user7"), [ids[7]])
    shown = client.list(fields=["username", "email"], sort="-username").items
    equal((shown[0].username, len(shown)), ("user9", USERS))
    check_writes(client, created[0])
    check_errors(client)
    check_import(client)
    for user_id in everybody(client):
        client.remove(user_id)
    refused(404, "user-not-found", client.get, ids[0])


def members(kind, models):
    """The annotations of a generated class by member; none of any other type."""
    if hasattr(kind, "model_fields"):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    if hasattr(kind, "__attrs_attrs__"):
        return typing.get_type_hints(kind, localns=vars(models))
    return {}


def untyped(kind, models, path, seen):
    """The paths of all members, and those whose type is `Any` or `object`."""
    if kind is typing.Any or kind is object:
        return [path], [path]
    every, found = [path], []
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) in (typing.Union, types.UnionType, typing.Annotated):
        inner = [(path, part) for part in arguments if isinstance(part, (type, types.GenericAlias))
                 or typing.get_origin(part) or part is typing.Any]  # fmt: skip
    elif arguments:
        inner = [(f"{path}[]", part) for part in arguments]
    elif kind in seen:
        inner = []
    else:
        seen = seen | {kind}
        inner = [(f"{path}.{name}", part) for name, part in members(kind, models).items()]
    for place, part in inner:
        here = untyped(part, models, place, seen)
        every, found = every + here[0], found + here[1]
    return every, found


def check_types(name, classes, models):
    every, wrong = [], []
    for place, kind in classes.items():
        paths, found = untyped(kind, models, place, frozenset())
        every += paths
        wrong += [path for path in found if not FREE.search(path)]
    print(f"{name}: {len(every)} members of types, {len(wrong)} without one")
    if wrong or len(every) < 100:
        raise AssertionError(f"{name}: no type for {wrong[:20]}")


def main(name, client, classes, models):
    check_types(name, classes, models)
    run(client)
    print("passed")
    sys.stdout.flush()
