"""Entry of the tracing process: `INTERPRETER path/to/tonnage_tracer REQUEST.json`.

Python puts the folder it is given first on `sys.path`. That is taken back and the package is loaded by its path
instead, so that none of our file names can stand in the way of the user's imports.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _load_package() -> None:
    """Make `tonnage_tracer` this folder, whatever else of that name is installed."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [folder for folder in sys.path if not folder or Path(folder).resolve() != here]
    spec = importlib.util.spec_from_file_location(
        "tonnage_tracer", here / "__init__.py", submodule_search_locations=[str(here)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["tonnage_tracer"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":  # worker processes of a data loader import this file again, under another name
    _load_package()
    from tonnage_tracer.child import main

    sys.exit(main(sys.argv[1]))
