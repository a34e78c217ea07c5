"""Write documents back: what was said, in its friendliest form, as YAML that reads as the same document.

Only what was said is written, so defaults may become better later. Texts that YAML 1.1 or 1.2 would read as
something else are quoted: what we write means the same to every reader.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from tonnage.spec.checked import Document


def as_plain(document: Document) -> dict[str, Any]:
    """The document as plain values, in the order in which people read it."""
    said = document.model_dump(mode="json", exclude_unset=True)
    head = {"apiVersion": document.api_version, "kind": document.kind}
    return head | {name: value for name, value in said.items() if name not in head}


def dump(*documents: Document) -> str:
    """The documents as YAML text, separated by `---`."""
    return "---\n".join(write_yaml(as_plain(document)) for document in documents)


def write_yaml(value: Any) -> str:
    """Plain values as YAML."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


class _Dumper(yaml.SafeDumper):
    """PyYAML's dumper, which knows that YAML 1.2 reads `1e5`, `0o7` and `+1` as numbers too."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - its signature
        return True


_NUMBERS_OF_1_2 = (
    r"(?:[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(inf|Inf|INF))$"
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_NUMBERS_OF_1_2), list("+-.0123456789"))


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Several lines as a block, one line as usual; and quotes where only the other YAML would misread it."""
    if "\n" in text and text.strip("\n") and not any(line != line.rstrip() for line in text.split("\n")):
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text)


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(int, lambda dumper, number: dumper.represent_int(int(number)))
_Dumper.add_multi_representer(float, lambda dumper, number: dumper.represent_float(float(number)))
