"""Fetch or build every component the tests start, before the tests: a build is not a slow test."""

from __future__ import annotations

from tonnage.sandbox import SandboxRequest, controllers, realnode
from tonnage.sandbox.components import CONTROL_PLANE, VERSITYGW
from tonnage.sandbox.obtaining import obtain
from tonnage.sandbox.showing import Show


def main() -> None:
    everything = (
        *CONTROL_PLANE,
        VERSITYGW,
        *realnode.components(SandboxRequest(real_nodes=1)),
        *controllers.components(controllers.NAMES),
    )
    programs = obtain(everything, Show())
    print(f"{len(programs)} programs ready")


if __name__ == "__main__":
    main()
