"""Tables that travel with the package: what was measured or read off once, far too long to be code.

A table lies as JSON beside the module that gives it a meaning, and is read when it is first asked for: most
commands never ask. It is the one file a pure room may open: it is part of the program like the module itself, the
same for everybody, and nobody writes it while we run. Programs in the repository make the tables; each module says
which.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def read_table(package: str, name: str, kind: type[T]) -> T:
    """The table `name` of a package, as values of a type; callers keep what they get."""
    from importlib.resources import files  # these two cost more than most commands do

    import msgspec

    return msgspec.json.decode(files(package).joinpath(name).read_bytes(), type=kind)
