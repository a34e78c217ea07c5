"""The config.json of every Hugging Face model in the measured set, as its library writes it.

    INTERPRETER accuracy/writing_configs.py accuracy/configs

Needs transformers; run when a step file changes. Shape mode is given these and nothing else.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

STEPS = Path(__file__).parent / "steps"
sys.path.insert(0, str(STEPS))

huggingface: Any = importlib.import_module("huggingface")


class Seen(Exception):  # noqa: N818 - carries what was looked for out of a step function
    """The configuration a step function would build."""


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    def look(config: Any, kind: Any, *_: Any, **__: Any) -> Any:
        raise Seen(config, kind.__name__)

    huggingface.built = look
    tree = ast.parse((STEPS / "huggingface.py").read_text())
    for name in (
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("hf_")
    ):
        try:
            getattr(huggingface, name)()
        except Seen as seen:
            config, kind = seen.args
            config.architectures = [kind]
            (folder / f"{name}.json").write_text(config.to_json_string(use_diff=True))


if __name__ == "__main__":
    main()
