"""What requests cost beside 10,000 tenants of 100 users each, and in them.

Two services have 1,000,000 users in the default tenant; one of them also has the tenants. The CPU of
the services for each kind of request is measured in turns: in the default tenant of both, and in
tenants that are chosen at random. Beside and in tenants it is at most 1.15 times that without any.
"""

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from engines import engine
from service import Workplace, arguments
from tenants import IMPORTERS, found
from tenants_client import check, conclude, expect, filled, operator, running

CPU_MAX = 1.15


def user(number):
    return {
        "username": f"user{number}", "email": f"user{number}@example.com",
        "name": f"Ada Lovelace {number % 4000}",
    }  # fmt: skip


class Place:
    """Where requests go: the default tenant of a service, or any of its tenants."""

    def __init__(self, chief, ids, seed):
        self.chief, self.ids = chief, ids
        self.connection, self.random = chief.connect(), random.Random(seed)
        self.names = sorted(ids)
        self.used = {kind: [] for kind in KINDS}

    def ask(self, kind, name=None):
        """Asks a tenant, chosen at random unless it is named."""
        name = self.random.choice(self.names) if name is None else name
        self.connection.base = f"/tenants/{name}" if name else ""
        method, path, body, status = KINDS[kind](self, name)
        answer = self.connection.request(method, path, body)
        expect(answer.status == status, f"{method} {path} of {name!r} was answered {answer}")
        return answer

    def id(self, name):
        return self.random.choice(self.ids[name])

    def measure(self, kind, requests):
        began = self.chief.service.cpu()
        for _ in range(requests):
            self.ask(kind)
        self.used[kind].append((self.chief.service.cpu() - began) / requests * 1e6)


def get(place, name):
    return "GET", f"/users/{place.id(name)}", None, 200


def page(place, name):
    after = place.random.randrange(len(place.ids[name]))
    condition = quote(f'id gt "{place.ids[name][after]}"')
    return "GET", f"/users?limit=20&filter={condition}", None, 200


def lookup(place, name):
    number = place.random.randrange(len(place.ids[name]))
    condition = quote(f'email eq "user{number}@example.com"')
    return "GET", f"/users?filter={condition}", None, 200


def create(place, name):
    # Anywhere among the users of the tenant, as people's names are: consecutive names are always in
    # the same pages, whose changes the engine writes once.
    return "POST", "/users", user(place.random.getrandbits(60)), 201


def patch(place, name):
    body = {"title": f"title {place.random.random()}"}
    return "PATCH", f"/users/{place.id(name)}", body, 200


KINDS = {"GET": get, "page": page, "lookup": lookup, "POST": create, "PATCH": patch}


def measured(options, alone, beside):
    with ThreadPoolExecutor(IMPORTERS) as pool:
        names = [f"customer-{number}" for number in range(options.tenants)]
        parts = [
            pool.submit(found, beside, names, options.each, number) for number in range(IMPORTERS)
        ]
        tenants = {name: ids for part in parts for name, ids in part.result().items()}
    ids = [{"": filled(chief, options.users, user)} for chief in (alone, beside)]
    for chief in (alone, beside):
        # The users that were created last are in memory, and they are of the default tenant.
        chief.service.stop()
        chief.service.start()
    places = {
        "alone": Place(alone, ids[0], options.seed),
        "beside tenants": Place(beside, ids[1], options.seed),
        "in tenants": Place(beside, tenants, options.seed),
    }
    # The first request of a tenant reads its row and its schema.
    for name in sorted(tenants):
        places["in tenants"].ask("GET", name)
    for turn in range(options.turns + 1):
        for kind in KINDS:
            for place in places.values():
                place.measure(kind, options.requests)
        if turn == 0:
            # Statements and caches are warm now.
            for place in places.values():
                place.used = {kind: [] for kind in KINDS}
    for chief in (alone, beside):
        check(options, chief.service)
    if options.slice:
        # Too few requests to measure: it shows that each is answered.
        return
    worst = 0.0
    for kind in KINDS:
        cost = {name: sorted(place.used[kind]) for name, place in places.items()}
        cost = {name: values[len(values) // 2] for name, values in cost.items()}
        alone_us = max(cost.pop("alone"), 1)
        ratios = {name: value / alone_us for name, value in cost.items()}
        worst = max(worst, *ratios.values())
        said = ", ".join(f"{ratio:.2f} {name}" for name, ratio in ratios.items())
        print(f"{kind}: {alone_us:.0f} us alone; {said}", flush=True)
    expect(worst <= CPU_MAX, f"{worst:.2f} times the CPU")


def main():
    options = arguments(
        __doc__,
        engines=True,
        users=(1_000_000, 2000, "users of the default tenant"),
        tenants=(10_000, 8, "tenants"),
        each=(100, 10, "users of each of them"),
        turns=(7, 1, "turns of each kind of request"),
        requests=(4000, 200, "requests of one kind in a turn"),
    )

    def command():
        with contextlib.ExitStack() as stack:
            services = [
                stack.enter_context(running(store, options, place / name))
                for name in ("alone", "beside")
            ]
            measured(options, *[operator(service) for service in services])

    with Workplace("tenants-cost") as place, engine(options) as store:
        conclude(f"tenants_cost ({options.engine})", command)


if __name__ == "__main__":
    main()
