"""Races through several processes for values that only one user may have, and for single execution.

Each race sends a request through every process before any response is read. Exactly one of the
requests for the same username or e-mail address succeeds, the others get 409. A write with an
Idempotency-Key is executed once, and all its responses are equal. Of writers that read the same
version, exactly one succeeds.
"""

import threading

KINDS = ("username", "email", "patched email", "restored", "version")
KINDS += ("keyed create", "keyed replace", "keyed delete")
CODES = {"username": {"username-taken"}, "email": {"email-taken"}, "restored": {"username-taken"}}


class Claims(threading.Thread):
    """Runs `races` races, one kind after another, until an error."""

    def __init__(self, services, races):
        super().__init__(daemon=True)
        self.services, self.races = services, races
        self.run_of, self.won_by = dict.fromkeys(KINDS, 0), [0] * len(services)
        self.made, self.fault = set(), None

    def run(self):
        try:
            self.connections = [service.connect(60.0) for service in self.services]
            for number in range(self.races):
                kind = KINDS[number % len(KINDS)]
                getattr(self, kind.replace(" ", "_"))(f"claim{number}")
                self.run_of[kind] += 1
                if self.fault:
                    return
        except Exception as error:  # noqa: BLE001
            self.fault = f"a race: {error!r}"

    def at_once(self, requests):
        """Sends one request through each process, all before any response is read."""
        for connection, request in zip(self.connections, requests):
            connection.send(*request)
        return [connection.receive() for connection in self.connections]

    def alone(self, *request, wanted):
        answer = self.connections[0].request(*request)
        if answer.status != wanted:
            self.fault = f"{request[:2]} was answered {answer}"
        return answer.json() if answer.body else None

    def one_wins(self, what, answers, success, refusal, codes):
        """Checks that exactly one request succeeded, and that all others got the right error."""
        winners = [n for n, answer in enumerate(answers) if answer.status in success]
        losers = [answer for answer in answers if answer.status not in success]
        right = all(a.status == refusal and a.json()["code"] in codes for a in losers)
        if len(winners) != 1 or not right:
            self.fault = f"{what}: {[str(answer) for answer in answers]}"
        for winner in winners:
            self.won_by[winner] += 1

    def username(self, name):
        bodies = [{"username": spelled} for spelled in (name, name.upper(), name.title())]
        answers = self.at_once([("POST", "/users", body) for body in bodies])
        self.one_wins(name, answers, {201}, 409, CODES["username"])

    def email(self, name):
        bodies = [{"username": f"{name}-{n}", "email": f"{name}@example.com"} for n in range(3)]
        answers = self.at_once([("POST", "/users", body) for body in bodies])
        self.one_wins(name, answers, {201}, 409, CODES["email"])

    def patched_email(self, name):
        users = [
            self.alone("POST", "/users", {"username": f"{name}-{n}"}, wanted=201)["id"]
            for n in range(3)
        ]
        body = {"email": f"{name}@example.com"}
        answers = self.at_once([("PATCH", f"/users/{user}", body) for user in users])
        self.one_wins(name, answers, {200}, 409, CODES["email"])

    def restored(self, name):
        """Two deleted users with the same name are restored, while a third user takes the name."""
        requests = []
        for _ in range(2):
            user = self.alone("POST", "/users", {"username": name}, wanted=201)["id"]
            self.alone("DELETE", f"/users/{user}", wanted=204)
            requests.append(("POST", f"/deleted-users/{user}/restore"))
        answers = self.at_once([*requests, ("POST", "/users", {"username": name})])
        self.one_wins(name, answers, {200, 201}, 409, CODES["restored"])

    def version(self, name):
        user = self.alone("POST", "/users", {"username": name}, wanted=201)["id"]
        requests = [
            ("PUT", f"/users/{user}", {"username": name, "nickname": str(n)}, {"If-Match": '"1"'})
            for n in range(2)
        ]
        answers = self.at_once([*requests, ("DELETE", f"/users/{user}", None, {"If-Match": '"1"'})])
        won = [n for n, answer in enumerate(answers) if answer.status in (200, 204)]
        lost = {answer.status for n, answer in enumerate(answers) if n not in won}
        # After a delete there is no user whose version could differ.
        if len(won) != 1 or lost - ({404} if won == [2] else {412}):
            self.fault = f"{name}: {[str(answer) for answer in answers]}"
        for winner in won:
            self.won_by[winner] += 1

    def keyed_create(self, name):
        self.once(name, 201, "POST", "/users", {"username": name}, {})

    def keyed_replace(self, name):
        """A second write would get another version."""
        user = self.alone("POST", "/users", {"username": name}, wanted=201)["id"]
        body = {"username": name, "nickname": "replaced"}
        self.once(name, 200, "PUT", f"/users/{user}", body, {"If-Match": '"1"'})

    def keyed_delete(self, name):
        user = self.alone("POST", "/users", {"username": name}, wanted=201)["id"]
        self.once(name, 204, "DELETE", f"/users/{user}", None, {})

    def once(self, name, wanted, method, path, body, headers):
        """The same request with the same key through each process is executed once."""
        request = (method, path, body, {**headers, "Idempotency-Key": f'"{name}"'})
        answers = self.at_once([request] * len(self.services))
        first = [a for a in answers if a.headers.get("idempotent-replayed") != "true"]
        told = {(a.status, a.body, a.headers.get("etag")) for a in answers}
        if len(first) != 1 or len(told) != 1 or answers[0].status != wanted:
            self.fault = f"{name}: {method}: {[str(answer) for answer in answers]}"
