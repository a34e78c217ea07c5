"""`python -m tonnage.supervising ID`: keep one run alive until it is over."""

from __future__ import annotations

import signal
import sys
import traceback

from tonnage.clock import SteadyClock, SystemClock
from tonnage.errors import InternalError, TonnageError
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
    try:
        while True:
            record = store.run(run_id)
            place, policies = place_of(record, folder, store), policies_of(record)
            Supervisor(store, place, policies, SteadyClock(), run_id).watch()
            lock.release()
            # Resumed while we were leaving: whoever wanted to take it up found the lock held, and went.
            if not store.run(run_id).is_active or not lock.take():
                break
    except TonnageError as error:
        _end(store, run_id, error.problem.what)
        print(error, file=sys.stderr)
        return error.exit_code
    except Exception as bug:
        return _own_bug(store, run_id, bug)
    return 0


def _end(store: Store, run_id: int, why: str) -> None:
    """What no further look would change ends the run, with the reason."""
    now = SystemClock().now()
    store.tell(run_id, now, why, kind="end")
    store.set_state(run_id, "failed", why, now)


def _own_bug(store: Store, run_id: int, bug: Exception) -> int:
    """Our own failure must not cost a training its life: it goes on, the next supervisor tries again."""
    traceback.print_exc()
    what = f"its supervisor failed ({type(bug).__name__}: {bug}); the run goes on without one"
    store.tell(run_id, SystemClock().now(), what, kind="wait", key=f"bug-{type(bug).__name__}-{bug}")
    return InternalError.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
