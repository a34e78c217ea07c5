"""`python -m tonnage.supervising ID`: keep one run alive until it is over."""

from __future__ import annotations

import signal
import sys

from tonnage.clock import SystemClock
from tonnage.errors import TonnageError
from tonnage.local.layout import RunFolder
from tonnage.store.opening import home
from tonnage.store.store import Store
from tonnage.supervising.locking import RunLock
from tonnage.supervising.loop import Supervisor
from tonnage.supervising.opening import place_of, policies_of


def main(arguments: list[str]) -> int:
    """Supervise one run; 0 where it is over or somebody else holds it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    folder, run_id = home(), int(arguments[0])
    lock = RunLock(RunFolder.of(folder, run_id).lock)
    if not lock.take():
        return 0
    store = Store(folder)
    record = store.run(run_id)
    try:
        place, policies = place_of(record, folder, store), policies_of(record)
        Supervisor(store, place, policies, SystemClock(), run_id).watch()
    except TonnageError as error:
        now = SystemClock().now()
        store.tell(run_id, now, error.problem.what, kind="end")
        store.set_state(run_id, "failed", error.problem.what, now)
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
