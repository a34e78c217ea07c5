"""A pod template as fields of a Run, and as a patch for all that has no field.

The patch names the container `main`, which is what a Run's own container is called, so that merging by name
finds it.
"""

from __future__ import annotations

from typing import Any

from tonnage.spec.adopting.resources import take_resources
from tonnage.spec.adopting.taking import Notes, take, take_list, take_mapping, without_empty
from tonnage.spec.adopting.volumes import take_volumes
from tonnage.spec.names import SecretKey

MAIN = "main"
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_QUIET = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
    "terminationGracePeriodSeconds": 30,
    "automountServiceAccountToken": True,
}
_SET_BY_SERVER = ("batch.kubernetes.io/", "controller-uid", "job-name", "jobset.sigs.k8s.io/")
_QUIET_CONTAINER = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def take_pod(template: dict[str, Any], is_job: bool, notes: Notes) -> dict[str, Any] | None:
    """The Run's spec for a pod template; None where it has no container."""
    pod, metadata = take_mapping(template, "spec"), take_mapping(template, "metadata")
    containers = take_list(pod, "containers")
    if not containers:
        return None
    main = _main_container(containers, metadata)
    pod["containers"] = containers
    _tell_about_scheduling(pod, main, notes)
    run: dict[str, Any] = {**_identity(pod, metadata), **_program(main, notes)}
    run |= take_resources(main, pod, notes)
    run |= take_volumes(main, pod, " ".join(run.get("command", [])), notes)
    _restart_policy(pod, is_job, notes)
    patch = _patch(pod, containers, main, metadata)
    if patch:
        run["podTemplate"] = patch
    return run


def _main_container(containers: list[dict[str, Any]], metadata: dict[str, Any]) -> dict[str, Any]:
    """The one kubectl would take, else the one with GPUs, else the first."""
    annotations = metadata.get("annotations")
    named = annotations.get(DEFAULT_CONTAINER) if isinstance(annotations, dict) else None
    chosen = [container for container in containers if container.get("name") == named]
    chosen += [container for container in containers if "/gpu" in str(container.get("resources"))]
    return (chosen or containers)[0]


def _identity(pod: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = {}
    for name, field in (("priorityClassName", "priority"), ("serviceAccountName", "serviceAccount")):
        value = take(pod, name, str)
        if value is not None:
            run[field] = value
    old_name = take(pod, "serviceAccount", str)
    if old_name is not None:
        run.setdefault("serviceAccount", old_name)
    secrets = pod.get("imagePullSecrets")
    if isinstance(secrets, list) and all(
        isinstance(item, dict) and set(item) == {"name"} for item in secrets
    ):
        run["imagePullSecrets"] = [item["name"] for item in secrets]
        del pod["imagePullSecrets"]
    if pod.pop("hostNetwork", False):
        run["network"] = {"hostNetwork": True}
    deadline = take(pod, "activeDeadlineSeconds", int)
    if deadline is not None:
        run["deadline"] = f"{deadline}s"
    labels = take_mapping(metadata, "labels")
    labels = {name: value for name, value in labels.items() if not str(name).startswith(_SET_BY_SERVER)}
    if labels:
        run["labels"] = labels
    return run


def _program(container: dict[str, Any], notes: Notes) -> dict[str, Any]:
    run: dict[str, Any] = {}
    image = take(container, "image", str)
    if image is not None:
        run["image"] = image
    command, arguments = container.get("command"), container.get("args")
    if isinstance(command, list) and command and all(_is_word(word) for word in command):
        words = [*command]
        del container["command"]
        if isinstance(arguments, list) and all(_is_word(word) for word in arguments):
            words += arguments
            del container["args"]
        run["command"] = [str(getattr(word, "text", word)) for word in words]
    elif arguments:
        notes.hints.append(
            "args without a command follow the image's own entry point: they stay in podTemplate"
        )
    return run | _environment(container)


def _is_word(word: Any) -> bool:
    return isinstance(word, str | int | float) and not isinstance(word, bool)


def _environment(container: dict[str, Any]) -> dict[str, Any]:
    entries = container.get("env")
    if not isinstance(entries, list):
        return {}
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    kept: list[Any] = []
    for entry in entries:
        match entry:
            case {"name": str(name), "value": str(value), **rest} if not rest and "$(" not in value:
                env[name] = value
            case {"name": str(name), **rest} if not rest:
                env[name] = ""
            case {
                "name": str(name),
                "valueFrom": {"secretKeyRef": {"name": str(secret), "key": str(key), **more}},
            } if not more and _is_reference(f"{secret}/{key}"):
                secrets[name] = f"{secret}/{key}"
            case _:
                kept.append(entry)
    container["env"] = kept
    return ({"env": env} if env else {}) | ({"secrets": secrets} if secrets else {})


def _is_reference(text: str) -> bool:
    try:
        SecretKey.parse(text)
    except ValueError:
        return False
    return True


def _restart_policy(pod: dict[str, Any], is_job: bool, notes: Notes) -> None:
    policy = pod.pop("restartPolicy", None)
    if is_job and policy not in ("OnFailure", "Never"):
        notes.truths.append(
            f"restartPolicy {policy or 'is not set'}: Kubernetes refuses such a Job (OnFailure or Never); "
            "a Run restarts by cause, spec.retries"
        )
    elif policy == "Always":
        notes.lost.append("restartPolicy Always: a Run that ends well is not started again")
    elif policy == "OnFailure":
        notes.truths.append(
            "restartPolicy OnFailure restarts in place, and the pod with its logs is deleted at the last "
            "failure; a Run keeps them for spec.keep"
        )


def _tell_about_scheduling(pod: dict[str, Any], main: dict[str, Any], notes: Notes) -> None:
    selector = pod.get("nodeSelector")
    if isinstance(selector, dict) and "nvidia.com/gpu" in selector:
        notes.truths.append(
            "the node label nvidia.com/gpu=true exists only where an admin set it (GPU feature discovery "
            "sets nvidia.com/gpu.present): elsewhere the pod waits for ever"
        )
    if "nvidia.com/gpu" in str(main.get("resources")) and not pod.get("tolerations"):
        notes.truths.append(
            "no toleration: GPU nodes are usually tainted nvidia.com/gpu, and the pod would wait for ever; "
            "a Run tolerates it by itself"
        )


def _patch(
    pod: dict[str, Any], containers: list[dict[str, Any]], main: dict[str, Any], metadata: dict[str, Any]
) -> dict[str, Any]:
    for name, usual in _QUIET.items():
        if pod.get(name) == usual:
            del pod[name]
    for name, usual in _QUIET_CONTAINER.items():
        if main.get(name) == usual:
            del main[name]
    main_left = without_empty({name: value for name, value in main.items() if name != "name"})
    others = [container for container in containers if container is not main]
    pod["containers"] = ([{"name": MAIN, **main_left}] if main_left else []) + others
    metadata.pop("creationTimestamp", None)
    metadata.pop("name", None)
    left: dict[str, Any] = without_empty({"metadata": metadata, "spec": pod})
    return left
