"""What never leaves a cluster in a saved snapshot: secrets, and noise that may hold them.

Environment values (tokens are put there all day long), the `last-applied` copies of whole manifests,
field-management records, probe headers, and the contents of Secrets and ConfigMaps are removed wherever
they appear: in a pod, or nested in the templates of Jobs, JobSets, TrainJobs and Workloads. Names of
variables and references to secrets stay: a diagnosis needs to know that a variable is set, and not to what.
Command lines stay as they are.

The rule is broad on purpose. A custom resource may hide an environment under any spelling, so every key
that reads like one is emptied; losing a value that was harmless costs nothing.
"""

from __future__ import annotations

import re
from typing import Any

_ENVIRONMENT = re.compile(r"env|environment|env_?vars?|environment_?variables?", re.IGNORECASE)
_ENVIRONMENT_TAIL = re.compile(r"(Env|Environment|EnvVars?|_env|-env)$")
_COPIES = re.compile(r"last-?applied|last-?handled|objectset\.rio\.cattle\.io/applied", re.IGNORECASE)
_CONTENTS = ("data", "stringData", "binaryData")
_HOLDERS = ("Secret", "ConfigMap")
_KEPT_OF_VARIABLE = ("name", "valueFrom")


def scrub(document: Any) -> Any:
    """A copy of an API object without the parts that may hold secrets."""
    if isinstance(document, dict):
        return _scrub_map(document)
    if isinstance(document, list):
        return [scrub(part) for part in document]
    return document


def _scrub_map(document: dict[str, Any]) -> dict[str, Any]:
    holder = document.get("kind") in _HOLDERS
    kept: dict[str, Any] = {}
    for key, value in document.items():
        if key == "managedFields" or (holder and key in _CONTENTS):
            continue
        if key == "annotations" and isinstance(value, dict):
            kept[key] = {name: scrub(text) for name, text in value.items() if not _COPIES.search(name)}
        elif key == "httpHeaders" or _is_environment(key):
            kept[key] = _names_only(value)
        else:
            kept[key] = scrub(value)
    return kept


def _is_environment(key: str) -> bool:
    return _ENVIRONMENT.fullmatch(key) is not None or _ENVIRONMENT_TAIL.search(key) is not None


def _names_only(value: Any) -> Any:
    """An environment with its names and references, and none of its values."""
    if isinstance(value, list):
        return [_names_only_of_one(entry) for entry in value]
    if isinstance(value, dict):
        return dict.fromkeys(value, "")
    return None if value is None else ""


def _names_only_of_one(entry: Any) -> Any:
    if isinstance(entry, dict):
        # valueFrom is a reference by Kubernetes' own rules; anything else under that name is not trusted.
        return {
            name: scrub(entry[name]) if name == "valueFrom" else entry[name]
            for name in _KEPT_OF_VARIABLE
            if name in entry and isinstance(entry[name], str if name == "name" else dict)
        }
    # The sign stays, so that a name is still known for one when the saved form is scrubbed again.
    return "".join(entry.partition("=")[:2]) if isinstance(entry, str) and "=" in entry else ""
