"""The measured steps live beside the package, not in it: `accuracy/` is found from the repository's root."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
