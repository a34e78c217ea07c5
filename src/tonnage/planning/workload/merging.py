"""Kubernetes' strategic merge of a patch into a pod: maps merge, some lists merge by a key, others are replaced.

Which lists merge, and by what, is part of the API (`patchMergeKey` in its types); every other list is atomic.
`$patch: delete` and `$patch: replace` and a null for a key do what kubectl makes of them.
"""

from __future__ import annotations

from typing import Any

_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
}


def merged(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The object after the patch; neither argument is changed.

    >>> merged({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": None, "b": "2"}})
    {'nodeSelector': {'b': '2'}}
    """
    if patch.get("$patch") == "replace":
        return dict(_without_directives(patch))
    result = dict(original)
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            held = result.get(name)
            if value.get("$patch") == "delete":
                result.pop(name, None)
            else:
                result[name] = merged(held if isinstance(held, dict) else {}, value)
        elif isinstance(value, list) and name in _KEYS:
            held = result.get(name)
            result[name] = _merged_list(held if isinstance(held, list) else [], value, _KEYS[name])
        else:
            result[name] = value
    return result


def _merged_list(original: list[Any], patch: list[Any], key: str) -> list[Any]:
    items = [item for item in patch if isinstance(item, dict)]
    if any(item.get("$patch") == "replace" and key not in item for item in items):
        return [_without_directives(item) for item in items if key in item]
    result = list(original)
    for item in items:
        at = next(
            (i for i, held in enumerate(result) if isinstance(held, dict) and held.get(key) == item.get(key)),
            None,
        )
        if item.get("$patch") == "delete":
            if at is not None:
                del result[at]
        elif at is None:
            result.append(_without_directives(item))
        else:
            result[at] = merged(result[at], item)
    return result


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_directives(item) for name, item in value.items() if not str(name).startswith("$")
        }
    return [_without_directives(item) for item in value] if isinstance(value, list) else value
