"""Patroni as it is, except that it can be made to stop itself at its weakest moment.

When the file `stop-now` appears in the folder in which it works, Patroni sends itself SIGSTOP as
it enters `_update_leader`: it has read that the leader key is its own and is about to write it
again. Stopped there until another node was promoted, and then resumed, a version that writes
without comparing takes the key back from the new primary. A freeze at any other moment rarely
shows that.
"""

import os
import signal
import sys
from pathlib import Path


def stop_before_update_leader():
    from patroni.dcs.etcd3 import Etcd3

    wish, update_leader = Path("stop-now"), Etcd3._update_leader

    def stoppable(self, *arguments, **named):
        if wish.exists():
            wish.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
        return update_leader(self, *arguments, **named)

    Etcd3._update_leader = stoppable


if __name__ == "__main__":
    from patroni.__main__ import main

    stop_before_update_leader()
    sys.exit(main())
