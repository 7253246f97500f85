"""The service in front of the cluster: one or two processes of the binary, and their client."""

import sys
import time
from pathlib import Path

from ground import Fault, until
from load import Done, Later

sys.path.append(str(Path(__file__).resolve().parents[1] / "acceptance"))
from follower import Follower  # noqa: E402
from service import Closed, Connection, free_port  # noqa: E402

# Longer than any deadline of the service: whoever gives up first should be the service.
CLIENT_SECONDS = 20.0
RETRY_SECONDS_MAX = 2.0


class Roster:
    """`processes` of the binary over one cluster, which are never restarted."""

    def __init__(self, cluster, binary, processes):
        self.cluster, self.binary, self.processes = cluster, Path(binary).resolve(), processes
        self.addresses = [("127.0.0.1", free_port()) for _ in range(processes)]
        self.running = []

    def start(self):
        """All at once, so that they also meet at making the schema."""
        for number, (host, port) in enumerate(self.addresses):
            folder = self.cluster.ground.folder(f"roster{number + 1}", of_cluster=False)
            argv = [self.binary, "serve", "--listen", f"{host}:{port}", "--data", folder / "data"]
            argv += ["--allow-open", "--database", self.cluster.url()]
            self.running.append(self.cluster.ground.spawn(argv, folder, of_cluster=False))
        for process in range(self.processes):
            until(lambda p=process: self.is_ready(p), 30, f"process {process + 1} answers")

    def is_ready(self, process):
        self.check_alive()
        client = Connection(self.addresses[process], 5.0)
        try:
            return client.request("GET", "/users?limit=1").status == 200
        except (Closed, OSError):
            return False
        finally:
            client.close()

    def check_alive(self):
        """Nobody restarts a process here: one that ended is a fault."""
        for number, process in enumerate(self.running, 1):
            if process.poll() is not None:
                raise Fault(f"process {number} of the service ended with {process.returncode}")

    def connect(self, process):
        return Client(self.addresses[process])

    def followers(self):
        """A reader of the change log for each process."""
        return [Follower(address) for address in self.addresses]

    def look_up(self, process, ids):
        """Which of these ids this process knows."""
        connection, found = Connection(self.addresses[process], 30.0), set()
        for start in range(0, len(ids), 100):
            part = ids[start : start + 100]
            query = "&".join(f"id={one}" for one in part)
            answer = connection.request("GET", f"/users?limit=100&fields=id&{query}")
            if answer.status != 200:
                raise Fault(f"a look-up was answered {answer}")
            found |= {user["id"] for user in answer.json()["items"]}
        connection.close()
        return found

    def doubled(self, load):
        """Users who were made more than once, by the change log and by asking again with a key
        that was already acknowledged; and a change log with a hole."""
        named, problems = {}, []
        for place, event in enumerate(self.events(), 1):
            if int(event["id"].rsplit("-", 1)[1]) != place:
                problems.append(f"event {place} of the change log is {event['id']}")
                break
            if event["type"] == "user.created":
                name = event["data"]["user"]["username"]
                named[name] = named.get(name, 0) + 1
        twice = [f"{name} was created {n} times" for name, n in named.items() if n > 1]
        client = self.connect(0)
        for item in load.repeated:
            outcome, first = client.create(item), load.acknowledged[item.name]
            if not isinstance(outcome, Done) or outcome.id != first:
                told = outcome.id if isinstance(outcome, Done) else outcome
                twice.append(f"{item.name} was acknowledged as {first}; asked once more: {told}")
        client.close()
        return len(twice), twice + problems

    def events(self):
        connection, after = Connection(self.addresses[0], 30.0), ""
        while True:
            answer = connection.request("GET", f"/events?limit=1000{after}")
            if answer.status != 200:
                raise Fault(f"the change log was answered {answer}")
            page = answer.json()
            yield from page["items"]
            after = f"&after={answer.headers['roster-position']}"
            if page["next_cursor"] is None:
                connection.close()
                return


class Client:
    """A connection that is opened anew after every failure."""

    def __init__(self, address):
        self.connection = Connection(address, CLIENT_SECONDS)

    def create(self, item):
        body = {
            "username": item.name,
            "email": f"{item.name}@example.com",
            "name": f"Load {item.name}",
        }
        headers = {"Idempotency-Key": f'"{item.key}"'}
        began = time.monotonic()
        try:
            answer = self.connection.request("POST", "/users", body, headers)
        except (Closed, OSError) as error:
            self.connection.close()
            if time.monotonic() - began >= CLIENT_SECONDS:
                return f"no answer within {CLIENT_SECONDS:.0f} s ({error})"
            return Later("broken", 0.2)
        if answer.status == 201:
            return Done(answer.json()["id"])
        if answer.status == 503:
            told = answer.headers.get("retry-after", "")
            if not told.isdigit():
                return f"a 503 without Retry-After: {answer}"
            return Later("503", min(float(told), RETRY_SECONDS_MAX))
        return f"answered {answer}"

    def close(self):
        self.connection.close()

