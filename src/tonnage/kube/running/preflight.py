"""Preflight before GPUs are held: one small pod without any asks its image, code, secrets, endpoints and folders.

It is the run's own pod with its devices and its command taken out, so that what works there works later. Volumes that
one pod (or one node) holds are left out while they are in use or not yet bound: the first pod that mounts an unbound
one decides where it lives, and that must not be this one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tonnage.errors import ForbiddenError, TonnageError
from tonnage.kube.running import reading
from tonnage.kube.running.api import Object, Ref, RunApi
from tonnage.kube.running.bounding import pod_template_of
from tonnage.kube.running.drivers import judge_cuda
from tonnage.kube.running.holding import scheduling
from tonnage.kube.running.launching import Launcher
from tonnage.kube.running.setting import KubeSetting
from tonnage.kube.running.states import stuck_reason
from tonnage.manifests import Rendered
from tonnage.manifests.pods.commands import AGENT_FILE, AGENT_FOLDER
from tonnage_agent.checking import VARIABLE

NUMBER = 0
"""The attempt that is none."""
SECONDS = 180
UNPLACED_SECONDS = 20.0
"""A pod that asks for next to nothing and finds no node will not find one soon."""
PULLING_SECONDS = 15.0
"""An image may fail once and be pulled the second time."""
SMALL = {"cpu": "100m", "memory": "128Mi"}
KEPT_OF_POD = (
    "initContainers", "volumes", "tolerations", "imagePullSecrets", "serviceAccountName", "securityContext",
    "automountServiceAccountToken",  # no priority class: it may not exist before the run has made it
)  # fmt: skip
KEPT_OF_CONTAINER = ("name", "image", "volumeMounts", "securityContext", "workingDir")
_NO_PYTHON = ("executable file not found", "no such file or directory")


@dataclass(frozen=True)
class Checked:
    """One answer: fine, wrong, or not asked (`None`) with the reason."""

    name: str
    ok: bool | None
    text: str


@dataclass
class Report:
    """All answers."""

    checks: list[Checked] = field(default_factory=list)
    has_python: bool = True

    def add(self, name: str, ok: bool | None, text: str) -> None:
        self.checks.append(Checked(name, ok, text))

    @property
    def failed(self) -> list[Checked]:
        return [each for each in self.checks if each.ok is False]


class Preflight:
    """One check of one run."""

    def __init__(
        self, api: RunApi, setting: KubeSetting, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._api, self._setting, self._sleep = api, setting, sleep
        self._report = Report()

    def check(self) -> Report:
        """Make the pod, read its answers, leave nothing."""
        rendered = self._setting.rendered(NUMBER)
        pod = self._pod(rendered)
        ref = Ref.of(pod)
        self._api.delete(ref, grace=0)
        self._wait_gone(ref)
        try:
            made = self._make(pod)
            self._follow(made)
        finally:
            self._api.delete(ref, grace=0)
        return self._report

    def _make(self, pod: Object) -> Object:
        launcher = Launcher(self._api, self._setting)
        needed = [each for each in launcher.objects(NUMBER) if each["kind"] == "ConfigMap"]
        for manifest in needed:
            self._api.apply(manifest, force=True)
        made = self._api.apply(pod)
        launcher.adopt_all(
            made, [each for each in needed if each["metadata"]["name"] == self._setting.code_name(NUMBER)]
        )
        return made

    def _follow(self, pod: Object) -> None:
        ref, began = Ref.of(pod), time.monotonic()
        while time.monotonic() - began < SECONDS:
            now = self._api.get(ref)
            if now is None:
                return self._report.add("pod", None, "it was removed before it had answered")
            if reading.is_over(now):
                return self._read(now)
            if self._is_hopeless(now, time.monotonic() - began):
                return None
            self._sleep(0.5)
        return self._report.add("pod", None, f"no answer within {SECONDS} s")

    def _is_hopeless(self, pod: Mapping[str, Any], waited: float) -> bool:
        stuck = stuck_reason(pod)
        if stuck and ("Config" in stuck or "InvalidImageName" in stuck or waited > PULLING_SECONDS):
            about = "secrets" if "ConfigError" in stuck else "image"
            self._report.add(about, False, stuck)
            return True
        unplaced = next(
            (
                str(each.get("message", ""))
                for each in reading.conditions(pod)
                if each.get("type") == "PodScheduled" and each.get("status") == "False"
            ),
            "",
        )
        if unplaced and waited > UNPLACED_SECONDS:
            self._report.add("pod", None, f"nothing was asked: {scheduling(unplaced, 1, 1)}")
            return True
        return False

    def _read(self, pod: Mapping[str, Any]) -> None:
        """The answers of a pod that has ended."""
        for each in reading.container_statuses(pod, init=True):
            ended = (each.get("state") or {}).get("terminated") or {}
            if ended.get("exitCode"):
                return self._could_not_start(f"{each.get('name')}", ended, "code")
            self._report.add("code", True, "unpacked, and it is what was shipped")
        ended = (reading.main_status(pod).get("state") or {}).get("terminated") or {}
        log = self._api.log(reading.name_of(pod), reading.main_container(pod))
        answers = [_answer(line) for line in log.splitlines()]
        found = [each for each in answers if each is not None]
        if not found:
            return self._could_not_start("the image", ended, "image")
        for name, ok, text in found:
            if name == "cuda":
                self._report.add(name, *judge_cuda(text, self._gpu_nodes()))
            else:
                self._report.add("image" if name == "python" else name, ok, text)
        return None

    def _could_not_start(self, who: str, ended: Mapping[str, Any], about: str) -> None:
        message = " ".join(str(ended.get("message") or ended.get("reason") or "").split())
        if any(words in message for words in _NO_PYTHON) and "python3" in message:
            self._report.has_python = False
            if "python" in " ".join(self._setting.run.spec.command or ()).partition(" ")[0]:
                return self._report.add("image", False, "it has no python3, which the command begins with")
            text = "no python3: the plain command runs without the agent (no samples, no record of a death)"
            return self._report.add("image", True, text)
        return self._report.add(about, False, f"{who} ended with {ended.get('exitCode')}: {message}")

    def _gpu_nodes(self) -> list[tuple[str, Mapping[str, str]]]:
        try:
            nodes = self._api.objects("v1", "Node")
        except TonnageError:
            return []
        return [
            (reading.name_of(node), node["metadata"].get("labels") or {})
            for node in nodes
            if any(name.startswith("nvidia.com/") for name in reading.status(node).get("allocatable") or {})
        ]

    def _pod(self, rendered: Rendered) -> Object:
        """The run's pod with its devices and its command taken out."""
        template = pod_template_of(rendered)
        spec = json.loads(json.dumps(template["spec"]))
        skipped = self._skip_volumes(spec)
        main = spec["containers"][0]
        folders = self._folders(main, skipped)
        asked: dict[str, Any] = {
            "folders": folders,
            "endpoints": self._endpoints(),
            "buckets": self._buckets(),
            "variables": list(self._setting.run.spec.secrets),
        }
        if self._setting.run.spec.command:
            asked["program"] = self._setting.run.spec.command[0]
        own = set(self._setting.run.spec.env) | set(self._setting.run.spec.secrets)
        env = [each for each in main.get("env", ()) if each["name"] in own]
        container = {
            **{
                key: main[key]
                for key in ("name", "image", "volumeMounts", "securityContext", "workingDir")
                if key in main
            },
            "command": ["python3", f"{AGENT_FOLDER}/{AGENT_FILE}", "check"],
            "env": [*env, {"name": VARIABLE, "value": json.dumps(asked)}],
            "resources": {"requests": SMALL, "limits": SMALL},
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
        for init in spec.get("initContainers", ()):
            init["resources"] = {"requests": SMALL, "limits": SMALL}
        name = rendered.workload["metadata"]["name"][:57] + "-check"
        labels = {"app.kubernetes.io/managed-by": "tonnage", "app.kubernetes.io/component": "preflight"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self._setting.namespace, "labels": labels},
            "spec": {
                **{key: spec[key] for key in KEPT_OF_POD if key in spec},
                "containers": [container],
                "restartPolicy": "Never",
                "activeDeadlineSeconds": SECONDS,
                "terminationGracePeriodSeconds": 0,
            },
        }

    def _folders(self, container: Mapping[str, Any], skipped: set[str]) -> list[str]:
        """What the run writes to: checkpoints and output, where they are volumes."""
        spec = self._setting.run.spec
        places = [place for place in (spec.checkpoints, spec.output) if place is not None]
        mounts = {each["mountPath"]: each["name"] for each in container.get("volumeMounts", ())}
        return [each.mount for each in places if mounts.get(each.mount, "") not in ("", *skipped)]

    def _endpoints(self) -> list[str]:
        """Where the run's buckets answer."""
        from tonnage_agent.keeper.s3.addressing import address_of

        spec = self._setting.run.spec
        places = [each.to for each in (spec.checkpoints, spec.output) if each is not None]
        places += [each.source for each in spec.data]
        found = []
        for place in places:
            if place.scheme == "s3":
                address = address_of(place.name, {**os.environ, **spec.env})
                scheme = "https" if address.is_tls else "http"
                found.append(f"{scheme}://{address.host}")
        return list(dict.fromkeys(found))

    def _buckets(self) -> list[str]:
        """What the run writes to, where it is a bucket."""
        spec = self._setting.run.spec
        places = [each.to for each in (spec.checkpoints, spec.output) if each is not None]
        return list(dict.fromkeys(str(place) for place in places if place.scheme == "s3"))

    def _skip_volumes(self, spec: dict[str, Any]) -> set[str]:
        """Take out what must not be mounted now; the reason goes into the report."""
        skipped: set[str] = set()
        for volume in spec.get("volumes", ()):
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            why = self._why_not_mounted(claim) if claim else ""
            if why:
                skipped.add(volume["name"])
                self._report.add(f"pvc/{claim}", None, why)
            if (volume.get("emptyDir") or {}).get("medium"):
                volume["emptyDir"] = {}  # memory of a pod that has little
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            container["volumeMounts"] = [
                each for each in container.get("volumeMounts", ()) if each["name"] not in skipped
            ]
        spec["volumes"] = [each for each in spec.get("volumes", ()) if each["name"] not in skipped]
        return skipped

    def _why_not_mounted(self, claim: str) -> str:
        try:
            found = self._api.get(Ref("v1", "PersistentVolumeClaim", claim))
            pods = self._api.objects("v1", "Pod")
        except ForbiddenError as error:
            return f"not asked: {error.problem.what}"
        if found is None:
            return "not asked: there is no such claim yet"
        if reading.status(found).get("phase") != "Bound":
            return "not asked: it is not bound yet, and the first pod that mounts it decides where it lives"
        modes = (found.get("spec") or {}).get("accessModes") or ()
        if "ReadWriteMany" in modes:
            return ""
        users = [reading.name_of(pod) for pod in pods if not reading.is_over(pod) and claim in _claims(pod)]
        return f"not asked: only one node may write it, and pod {users[0]} does" if users else ""

    def _wait_gone(self, ref: Ref) -> None:
        for _ in range(60):
            if self._api.get(ref) is None:
                return
            self._sleep(0.5)


def _claims(pod: Mapping[str, Any]) -> set[str]:
    return {
        str(volume["persistentVolumeClaim"].get("claimName"))
        for volume in pod.get("spec", {}).get("volumes", ())
        if volume.get("persistentVolumeClaim")
    }


def _answer(line: str) -> tuple[str, bool, str] | None:
    try:
        found = json.loads(line)
        return str(found["check"]), bool(found["ok"]), str(found["text"])
    except (ValueError, KeyError, TypeError):
        return None
