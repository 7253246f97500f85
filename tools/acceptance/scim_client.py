"""scim2-client, an independent SCIM client, with every user that REST created.

The client discovers the service and validates every response against the discovered schemas. It
lists all users by index and by cursor, reads each, replaces each by what it read, patches each, and
creates its own users. A replacement by what was read changes nothing that REST shows. A patch
changes one member.
"""

import sys

import faker_users
from engines import engine
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import PatchOp, PatchOperation, SearchRequest
from service import Workplace, arguments

PAGE = 100
# The members that a write may change in addition to those that it names.
OF_A_WRITE = ("version", "updated_at")


class Fault(Exception):
    """A check failed."""


def expect(holds, text):
    if not holds:
        raise Fault(text)


def without(record, *names):
    return {name: value for name, value in record.items() if name not in names}


def create_over_rest(connection, count, seed):
    ids = set()
    for number in range(count):
        answer = connection.request("POST", "/users", faker_users.user(number, seed))
        expect(answer.status == 201, f"user {number} was answered {answer}")
        ids.add(answer.json()["id"])
    return ids


def listed(client, model, by_cursor):
    """The ids of all users, in the order of the pages."""
    ids, place = [], {"cursor": ""} if by_cursor else {"start_index": 1}
    while place is not None:
        search = SearchRequest(count=PAGE, **place)
        page = client.query(model, query_parameters=search)
        ids += [user.id for user in page.resources or []]
        if by_cursor:
            place = {"cursor": page.next_cursor} if page.next_cursor else None
        else:
            more = len(ids) < page.total_results and page.resources
            place = {"start_index": len(ids) + 1} if more else None
    return ids


def replace_and_patch(client, model, connection, user_id):
    def record():
        return connection.request("GET", f"/users/{user_id}").json()

    before = record()
    client.replace(client.query(model, user_id))
    after = record()
    expect(
        without(before, *OF_A_WRITE) == without(after, *OF_A_WRITE),
        f"a PUT of what was read made {before} to {after}",
    )
    operation = PatchOperation(op="replace", path="nickName", value="Nick")
    client.modify(model, user_id, PatchOp[model](operations=[operation]))
    patched = record()
    expect(patched.get("nickname") == "Nick", f"the patch made {patched}")
    expect(
        without(after, "nickname", *OF_A_WRITE) == without(patched, "nickname", *OF_A_WRITE),
        f"a patch of nickName made {after} to {patched}",
    )


def create_over_scim(client, model, connection, count):
    for number in range(count):
        name = f"scim{number}@client.example"
        made = client.create(model(user_name=name, active=True, emails=[{"value": name}]))
        record = connection.request("GET", f"/users/{made.id}").json()
        expect(record["username"] == name and record["email"] == name, f"{name} became {record}")


def main():
    options = arguments(
        __doc__, engines=True, users=(2000, 150, "how many users REST creates"),
        created=(200, 20, "how many users the client creates"),
    )  # fmt: skip
    with engine(options) as store, Workplace("scim-client") as place:
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            connection = service.connect()
            ids = create_over_rest(connection, options.users, options.seed)
            url = f"http://{service.address[0]}:{service.address[1]}/scim/v2/"
            client = SyncSCIMClient(Client(base_url=url, timeout=30))
            client.discover()
            model = client.get_resource_model("User")
            for by_cursor in (False, True):
                found = listed(client, model, by_cursor)
                expect(len(found) == len(ids) and set(found) == ids, "a list is not complete")
            for user_id in sorted(ids):
                replace_and_patch(client, model, connection, user_id)
            create_over_scim(client, model, connection, options.created)
        finally:
            service.stop()
    print(
        f"scim_client ({options.engine}): {options.users:,} users of REST listed twice, read, "
        f"replaced and patched, {options.created:,} created; 0 faults"
    )


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"scim_client: {fault}")
