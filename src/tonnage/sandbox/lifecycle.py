"""Bringing a sandbox up and taking it down, in the right order, from any state it may have been left in.

`up` writes the sandbox's beginning down before it starts the first process; every later thing is in the
ledger before it is made. So `down` can start from whatever `up` left, also when that was killed: undo real
nodes, stop processes from the outermost client to etcd, remove the folder. Doing it twice is the same as
doing it once. While a command works on a sandbox it holds a lock on its folder, which the kernel gives back
if the command dies.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem, RefusedError, TonnageError, UsageError
from tonnage.figures import plural
from tonnage.sandbox import state
from tonnage.sandbox.components import CONTROL_PLANE, KUBERNETES_VERSION, Component
from tonnage.sandbox.control_plane import PORTS, prepare, start_control_plane, wait_for_service_accounts
from tonnage.sandbox.failing import explained
from tonnage.sandbox.kwok import create_nodes, start_kwok, wait_for_nodes
from tonnage.sandbox.ledger import Entry, Ledger
from tonnage.sandbox.locking import locked, try_locked
from tonnage.sandbox.obtaining import obtain
from tonnage.sandbox.places import Places, state_home
from tonnage.sandbox.ports import reserve
from tonnage.sandbox.processes import find_processes, is_alive, stop_all
from tonnage.sandbox.request import SandboxRequest, check_name, check_request
from tonnage.sandbox.showing import QUIET, Show
from tonnage.sandbox.state import READY, Sandbox

PARTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


def up(request: SandboxRequest, show: Show = QUIET) -> Sandbox:
    """Make the sandbox and return when it is ready; the same one, ready already, is returned as it is."""
    check_request(request)
    with explained(), _claimed(request, obtain(_components(request), show)) as sandbox:
        if sandbox.phase == READY:
            return sandbox
        try:
            _start(sandbox, show)
        except BaseException:
            # An interrupted or failed start leaves nothing; the reason is in the error, logs included.
            _undo(sandbox)
            state.remove_folder(sandbox.places)
            raise
        return sandbox.saved(phase=READY)


def down(name: str, show: Show = QUIET) -> bool:
    """Take the sandbox down and remove every trace; say whether there was one."""
    check_name(name)
    places = Places.of(name)
    if not places.root.exists():
        return False
    with explained(), _held(places, name):
        if (left := state.remains(name)) is not None:
            _undo(left)
        state.remove_folder(places)
    show.step("sandbox", f"{name} is gone")
    return True


def find(name: str = "default") -> Sandbox:
    """The running sandbox of that name; raise with what to do when there is none."""
    check_name(name)
    sandbox = state.load(name)
    if sandbox is None or sandbox.phase != READY:
        others = [other for other in state.names() if other != name]
        raise UsageError(
            Problem(
                code="BOX-010",
                what=f"there is no sandbox named {name!r}"
                if sandbox is None
                else f"sandbox {name!r} is not ready",
                found=f"sandboxes {', '.join(others)}" if others else None,
                hint=f"start it with: tonnage sandbox up{'' if name == 'default' else f' --name {name}'}",
            )
        )
    return sandbox


def broken_parts(sandbox: Sandbox) -> list[str]:
    """Parts of a sandbox that should run and do not (a reboot stops them all)."""
    started = {entry.id for entry in sandbox.ledger.entries() if entry.kind == "process"}
    return sorted(name for name in started | set(PARTS) if not is_alive(sandbox, name))


def _components(request: SandboxRequest) -> tuple[Component, ...]:
    components: tuple[Component, ...] = CONTROL_PLANE
    if request.real_nodes:
        from tonnage.sandbox import realnode

        components += realnode.components(request)
    if request.controllers:
        from tonnage.sandbox import controllers

        components += controllers.components(request.controllers)
    return components


@contextmanager
def _claimed(request: SandboxRequest, binaries: dict[str, Path]) -> Iterator[Sandbox]:
    """Take the name and hold it: a fresh sandbox, or the same one that is ready; raise when it is another."""
    places = Places.of(request.name)
    with ExitStack() as held:
        with locked(state_home()):
            places.folder(".")
            if not held.enter_context(try_locked(places.root)):
                raise _busy(request.name)
        existing = state.load(request.name)
        if existing is None or existing.phase != READY:
            # Left by a start that was killed, or damaged so that no command can use it: nobody misses it.
            if (left := state.remains(request.name)) is not None:
                _undo(left)
            existing = None
        yield _same(existing, request) if existing else _fresh(request, places, binaries)


def _fresh(request: SandboxRequest, places: Places, binaries: dict[str, Path]) -> Sandbox:
    state.clear_folder(places)
    id_ = uuid.uuid4().hex[:12]
    Ledger(places.ledger).record("sandbox", id_)
    with locked(state_home()):
        made = Sandbox(
            name=request.name,
            id=id_,
            places=places,
            request=request,
            subnet=state.free_subnet(),
            binaries={name: str(path) for name, path in binaries.items()},
        )
        return made.saved()


def _same(existing: Sandbox, request: SandboxRequest) -> Sandbox:
    again = f"tonnage sandbox down --name {existing.name}"
    if existing.request != request:
        what, hint = "exists already and is different", f"remove it first ({again}), or choose another --name"
    elif broken := broken_parts(existing):
        what, hint = f"exists, but {', '.join(broken)} no longer runs", f"remove it first: {again}"
    else:
        return existing
    raise RefusedError(Problem(code="BOX-012", what=f"sandbox {existing.name!r} {what}", hint=hint))


def _start(sandbox: Sandbox, show: Show) -> None:
    reserve(sandbox.places, PORTS)
    prepare(sandbox)
    if sandbox.request.real_nodes:
        from tonnage.sandbox import realnode

        realnode.prepare_network(sandbox)
    with show.running("API server", "starting", is_brief=True):
        start_control_plane(sandbox)
    show.step("API server", f"Kubernetes {KUBERNETES_VERSION} ready at {sandbox.server}")
    _start_nodes(sandbox, show)
    if sandbox.request.real_nodes:
        from tonnage.sandbox import realnode

        realnode.add_real_nodes(sandbox, sandbox.request.real_nodes, show)
    if sandbox.request.controllers:
        from tonnage.sandbox import controllers

        controllers.start_controllers(sandbox, sandbox.request.controllers, show)
    if sandbox.request.snapshot is not None:
        from tonnage.sandbox.twin import make_twin

        make_twin(sandbox, sandbox.request.snapshot, show)


def _start_nodes(sandbox: Sandbox, show: Show) -> None:
    with ThreadPoolExecutor(2) as pool:
        simulating = pool.submit(start_kwok, sandbox)
        creating = pool.submit(create_nodes, sandbox)
        simulating.result()
        num_nodes = creating.result()
    with show.running("nodes", "waiting until they are ready", is_brief=True):
        wait_for_service_accounts(sandbox)
        wait_for_nodes(sandbox, num_nodes)
    if num_nodes:
        num_gpus = sum(shape.gpus * count for shape, count in sandbox.request.shapes())
        gpus = f" with {plural(num_gpus, 'GPU')}" if num_gpus else ""
        show.step("nodes", f"{plural(num_nodes, 'simulated node')}{gpus} ready")


def _undo(sandbox: Sandbox) -> None:
    """Undo the ledger: real nodes first, then processes from clients to servers."""
    undoers = _undoers()
    for entry in reversed(sandbox.ledger.entries()):
        if undo := undoers.get(entry.kind):
            undo(sandbox, entry)
    stop_all(sandbox.id)
    # A process that was just being forked may have appeared while its starter died.
    while find_processes(sandbox.id):
        time.sleep(0.05)
        stop_all(sandbox.id)


def _undoers() -> dict[str, Callable[[Sandbox, Entry], None]]:
    try:
        from tonnage.sandbox.realnode import UNDO
    except ImportError:
        return {}
    return dict(UNDO)


@contextmanager
def _held(places: Places, name: str) -> Iterator[None]:
    try:
        with try_locked(places.root) as is_mine:
            if not is_mine:
                raise _busy(name)
            yield
    except FileNotFoundError:
        # Gone between looking and locking: someone else took it down.
        if places.root.exists():
            raise


def _busy(name: str) -> TonnageError:
    return EnvironmentProblem(
        Problem(
            code="BOX-013",
            what=f"another command is working on sandbox {name!r} right now",
            hint="wait until it has finished, or stop it and try again",
        )
    )
