"""`tonnage sandbox load`: a container image from a file into every real node of a sandbox."""

from __future__ import annotations

from pathlib import Path

from tonnage.errors import Problem, UsageError
from tonnage.sandbox.lifecycle import find
from tonnage.sandbox.showing import Show


def load_image(name: str, image: Path, show: Show) -> list[str]:
    """Load the archive and return the names of the images in it."""
    sandbox = find(name)
    if not image.is_file():
        raise UsageError(
            Problem(
                code="BOX-007",
                what="there is no such image archive",
                where=str(image),
                hint="make one with: docker save IMAGE -o image.tar",
            )
        )
    if not sandbox.request.real_nodes:
        raise UsageError(
            Problem(
                code="BOX-008",
                what=f"sandbox {name!r} has no real node to load images into",
                hint="simulated nodes run no containers; start it with --real-nodes N",
            )
        )
    from tonnage.sandbox import realnode

    loaded = list(realnode.load_image(sandbox, image))
    show.step("image", f"{image.name} loaded into {sandbox.request.real_nodes} real nodes")
    return loaded
