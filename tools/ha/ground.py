"""What every part of the suite stands on: a private folder, processes in it, and deadlines.

Each process that is started works inside the folder, so all of them, and whatever they start in
turn, are known by where they work: nothing is ever ended by name, and nothing outlives the suite.
PostgreSQL refuses root; a suite that root started runs the cluster as the user `postgres`.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Fault(Exception):
    """A promise that was not kept, or a cluster that does not do what the suite needs."""


def until(holds, within, what, every=0.1):
    """Asks `holds` until it answers with something true; a fault after `within` seconds."""
    end = time.monotonic() + within
    while True:
        if answer := holds():
            return answer
        if time.monotonic() > end:
            raise Fault(f"not within {within:.0f} s: {what}")
        time.sleep(every)


def free_ports(count):
    """That many different ports of loopback; all are held until the last one is known."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


class Ground:
    """The folder of one scenario, with everything that runs in it."""

    def __init__(self, name, keep):
        self.keep = keep
        # Not below the checkout: the cluster's user must be able to reach it.
        self.path = Path(tempfile.mkdtemp(prefix=f"roster-ha-{name}-"))
        self.path.chmod(0o755)
        self.account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.end_all()
        if self.keep or kind is not None:
            print(f"left for a look: {self.path}", file=sys.stderr)
        else:
            shutil.rmtree(self.path, ignore_errors=True)

    def folder(self, name, of_cluster=True):
        """A folder for one process; owned by the cluster's user if that is who will work there."""
        path = self.path / name
        path.mkdir(mode=0o700)
        if of_cluster and self.account:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)
        return path

    def spawn(self, argv, folder, of_cluster=True, **variables):
        """Starts a process in `folder`; what it says goes to a log beside the folder."""
        identity = {}
        if of_cluster and self.account:
            account = self.account
            identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder)}
        with open(f"{folder}.log", "ab") as log:
            process = subprocess.Popen(
                [str(part) for part in argv],
                cwd=folder,
                env=environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **identity,
            )
        self.started.append(process)
        return process

    def end_all(self):
        """Ends all that works in the folder, first gently what may have something to finish.

        It takes a bounded time, in which no signal keeps it from its end."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            self.end_started()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def end_started(self):
        for process in self.started:
            if process.poll() is None and not stopped(process.pid):
                process.terminate()
        end = time.monotonic() + 5
        while time.monotonic() < end and any(p.poll() is None for p in self.started):
            time.sleep(0.05)
        end = time.monotonic() + 20
        while (left := processes_in(self.path)) and time.monotonic() < end:
            for pid in left:
                send(pid, signal.SIGKILL)
            for process in self.started:
                process.poll()
            time.sleep(0.1)
        if left:
            print(f"these processes could not be ended: {left}", file=sys.stderr)


def processes_in(folder):
    """Every process that works in `folder` or below it, oldest first."""
    inside = str(folder)
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            place = os.readlink(f"/proc/{entry}/cwd").removesuffix(" (deleted)")
        except OSError:
            continue  # ended meanwhile, or another user's
        if (place == inside or place.startswith(inside + "/")) and state(entry) != "Z":
            found.append(int(entry))
    return sorted(found)


def state(pid):
    """The letter of /proc/PID/stat: T is stopped, Z has ended; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def stopped(pid):
    return state(pid) == "T"


def send(pid, number):
    """A signal to a process that may have ended meanwhile."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
