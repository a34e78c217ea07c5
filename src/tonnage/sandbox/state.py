"""One sandbox as a value: its name, places, ports and address, kept in `state.json` from before its first
process.

Whoever works on a sandbox (the control plane, real nodes, controllers, `status`) gets this value and reaches
everything else through it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonnage.sandbox.kubeconfig import write_kubeconfig
from tonnage.sandbox.ledger import Ledger
from tonnage.sandbox.locking import locked
from tonnage.sandbox.places import Places, state_home
from tonnage.sandbox.ports import read_ports, reserve
from tonnage.sandbox.request import SandboxRequest, is_name

if TYPE_CHECKING:
    from tonnage.sandbox.api import Api
    from tonnage.sandbox.pki import Pki

STARTING, READY = "starting", "ready"


@dataclass(frozen=True)
class Sandbox:
    """A sandbox that exists, whether it runs or not."""

    name: str
    id: str
    places: Places
    request: SandboxRequest
    subnet: int
    """This sandbox's number among those on this machine: real nodes live in 10.245.SUBNET.0/24."""
    binaries: dict[str, str] = field(default_factory=dict)
    phase: str = STARTING

    @property
    def address(self) -> str:
        """Where the API server listens: loopback, or the bridge that real nodes can reach."""
        return f"10.245.{self.subnet}.1" if self.request.real_nodes else "127.0.0.1"

    @property
    def server(self) -> str:
        return f"https://{self.address}:{self.port('apiserver')}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.places.kubeconfig

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.places.ledger)

    @property
    def ports(self) -> dict[str, int]:
        return read_ports(self.places)

    def port(self, name: str) -> int:
        """The port of that name, reserved on first use."""
        return self.ports.get(name) or reserve(self.places, [name])[name]

    def binary(self, name: str) -> Path:
        """The program obtained for this component."""
        return Path(self.binaries[name])

    @cached_property
    def pki(self) -> Pki:
        from tonnage.sandbox.pki import Pki

        return Pki(self.places.pki)

    @cached_property
    def api(self) -> Api:
        """The API server, spoken to as the administrator."""
        from tonnage.sandbox.api import Api

        return Api.from_kubeconfig(self.kubeconfig)

    def kubeconfig_for(self, name: str, *, common_name: str = "", organization: str | None = None) -> Path:
        """A kubeconfig of its own for a component; an administrator's unless an organization is named."""
        from tonnage.sandbox.pki import ADMINS

        group = ADMINS if organization is None else organization
        pair = self.pki.issue(name, common_name=common_name or name, organization=group)
        path = self.places.run / f"{name}.kubeconfig"
        return write_kubeconfig(path, server=self.server, ca=self.pki.ca.cert, pair=pair, user=name)

    def saved(self, **changes: Any) -> Sandbox:
        """This sandbox with changes, written to its folder."""
        changed = replace(self, **changes)
        request = asdict(changed.request)
        request["snapshot"] = str(changed.request.snapshot) if changed.request.snapshot else None
        content = {
            "id": changed.id,
            "subnet": changed.subnet,
            "phase": changed.phase,
            "binaries": changed.binaries,
            "request": request,
        }
        fresh = changed.places.state.with_suffix(".new")
        fresh.write_text(json.dumps(content, indent=1))
        fresh.replace(changed.places.state)
        return changed


def load(name: str) -> Sandbox | None:
    """The sandbox of that name, if there is one whose beginning was written down."""
    places = Places.of(name)
    try:
        content = json.loads(places.state.read_text())
        request = content["request"]
        request["controllers"] = tuple(request["controllers"])
        request["snapshot"] = Path(request["snapshot"]) if request["snapshot"] else None
        return Sandbox(
            name=name,
            id=content["id"],
            places=places,
            request=SandboxRequest(**request),
            subnet=content["subnet"],
            binaries=content["binaries"],
            phase=content["phase"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remains(name: str) -> Sandbox | None:
    """The sandbox of that name, whole or not.

    Where its state was never written, or is damaged, the ledger still knows its id: enough to undo it.
    """
    whole, places = load(name), Places.of(name)
    if whole is not None:
        return whole
    for entry in Ledger(places.ledger).entries():
        if entry.kind == "sandbox":
            return Sandbox(name=name, id=entry.id, places=places, request=SandboxRequest(name=name), subnet=0)
    return None


def names() -> list[str]:
    """Every sandbox that has a folder, started or not."""
    home = state_home()
    folders = home.iterdir() if home.is_dir() else ()
    return sorted(folder.name for folder in folders if folder.is_dir() and is_name(folder.name))


def free_subnet() -> int:
    """A number no other sandbox on this machine has; call it while holding the folder of all sandboxes."""
    from tonnage.sandbox.realnode.network import numbers_in_use

    taken = {sandbox.subnet for name in names() if (sandbox := load(name)) is not None}
    taken |= numbers_in_use()  # sandboxes of other users, and networks that only look like ours
    return next(number for number in range(1, 251) if number not in taken)


def clear_folder(places: Places) -> None:
    """Empty the sandbox's folder, of remains whose beginning was never written down."""
    for path in places.root.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def remove_folder(places: Places) -> None:
    """Remove the sandbox's folder, and the folders above it that it leaves empty."""
    shutil.rmtree(places.root, ignore_errors=True)
    if places.root.exists():
        shutil.rmtree(places.root)  # say what could not be removed
    with locked(places.root.parent):
        for folder in (places.root.parent, places.root.parent.parent):
            try:
                folder.rmdir()
            except OSError:
                return
