"""Runs on a real kubelet: disruptions leave their cause, preflight finds what is wrong, an OOM comes back bigger."""

from __future__ import annotations

import datetime as dt
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contracts.run_benches import MIB, KubeBench, wait
from tests.local.scripts import counting, leaking

from tonnage.clock import SystemClock
from tonnage.kube.failing import Asked
from tonnage.kube.running.api import Ref
from tonnage.kube.running.carrying import carry
from tonnage.kube.running.place import KubePlace
from tonnage.kube.running.setting import KubeSetting
from tonnage.manifests import CodeDelivery
from tonnage.manifests.naming import digest
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.endings import ending_of
from tonnage.running.history import RunRecord
from tonnage.running.policies import Policies
from tonnage.sandbox import Sandbox, SandboxRequest, down, up
from tonnage.shipping import files_to_ship, pack
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run
from tonnage.store.store import Store
from tonnage.supervising.loop import Supervisor

pytestmark = pytest.mark.realnode


@pytest.fixture(scope="module")
def real_node() -> Iterator[Sandbox]:
    if os.geteuid() != 0:
        pytest.skip("real nodes need root")
    name = f"rk-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    down(name)
    try:
        yield up(SandboxRequest(name=name, nodes="cpu=1", real_nodes=1))
    finally:
        down(name)


@pytest.fixture
def bench(real_node: Sandbox, tmp_path: Path) -> Iterator[KubeBench]:
    made = KubeBench(tmp_path, real_node.kubeconfig, f"node-{uuid.uuid4().hex[:8]}")
    yield made
    made.close()


def setting_of(bench: KubeBench, script: str, **spec: object) -> KubeSetting:
    bench.run(script)
    setting = bench._setting
    assert setting is not None
    for name, value in spec.items():
        object.__setattr__(setting.run.spec, name, value)
    return setting


def ending(place: KubePlace, number: int = 1, seconds: float = 60.0) -> Ending:
    """The end of a started attempt, as its supervisor would put it down."""
    seen = wait(place, number, lambda seen: seen.state in ("ended", "absent"), seconds)
    now = dt.datetime.now(dt.UTC)
    attempt = Attempt(number=number, size=Size(), created=now, started=now)
    found = ending_of(attempt, seen, place.evidence(number), now + dt.timedelta(minutes=1))
    assert found is not None
    return found


def only_pod(bench: KubeBench) -> str:
    pods = bench.api.pods({"tonnage.dev/run": "bench"})
    return str(pods[0]["metadata"]["name"])


def test_an_eviction_ends_the_attempt_with_its_cause_and_saves_first(bench: KubeBench) -> None:
    place = KubePlace(bench.client, setting_of(bench, counting(total=10_000, pause=0.05)), acts=True)
    place.launch(1, Size(memory=256 * MIB), resume=False)
    wait(place, 1, lambda seen: seen.progress is not None and seen.progress.step >= 3, 60.0)
    pod = only_pod(bench)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    path = f"/api/v1/namespaces/{bench.namespace}/pods/{pod}/eviction"
    bench.client.send("POST", path, Asked("create", "pods/eviction"), body=eviction)
    found = ending(place)
    place.let_go()
    assert (found.cause, found.code) == ("eviction", "PRE-03")
    assert found.safe_step is not None
    assert found.safe_step == found.step
    evidence = place.evidence(1)
    reasons = {each.get("reason") for end in evidence.pods for each in end.conditions}
    assert "EvictionByEvictionAPI" in reasons


def test_without_an_image_that_exists_nobody_waits_in_silence(bench: KubeBench) -> None:
    place = KubePlace(bench.client, setting_of(bench, counting(), image="local/nosuch:1"))
    place.launch(1, Size(memory=64 * MIB), resume=False)
    seen = wait(place, 1, lambda seen: "Image" in seen.held_by, 60.0)
    assert seen.state == "waiting"
    assert "local/nosuch:1" in seen.held_by


def test_preflight_says_what_is_there_and_what_is_missing(bench: KubeBench) -> None:
    place = KubePlace(bench.client, setting_of(bench, counting()))
    report = place.preflight()
    found = {each.name: each for each in report.checks}
    assert found["code"].ok
    assert found["image"].text.startswith("Python 3.")
    assert found["pvc/ckpt"].ok is None  # nobody has mounted it yet: the first pod decides where it lives
    assert not report.failed
    secrets = load_one(WITH_SECRET, "run.yaml", Run).spec.secrets
    setting = setting_of(bench, counting(), secrets=secrets)
    report = KubePlace(bench.client, setting).preflight()
    assert [(each.name, "hub" in each.text) for each in report.failed] == [("secrets", True)]
    setting = setting_of(bench, counting(), image="local/busybox:1", command=("sh", "-c", "true"))
    report = KubePlace(bench.client, setting).preflight()
    assert not report.has_python
    assert not report.failed
    assert bench.api.pods({"app.kubernetes.io/component": "preflight"}) == []


def test_code_too_large_for_a_config_map_is_carried_to_the_volume(bench: KubeBench) -> None:
    setting = setting_of(bench, counting(total=3))
    (bench.folder / "blob.bin").write_bytes(os.urandom(2 * MIB))
    large = pack(files_to_ship(bench.folder, ("seen/",))).content
    path = f"code/{digest(large)}.tar.gz"
    carry(bench.api, large, digest=digest(large), claim="ckpt", path=path, image="local/python:3", labels={})
    delivery = CodeDelivery(digest=digest(large), claim="ckpt", path=path)
    place = KubePlace(bench.client, replace(setting, code=None, delivery=lambda: delivery))
    place.launch(1, Size(memory=128 * MIB), resume=False)
    wait(place, 1, lambda seen: seen.state == "ended", 60.0)
    assert [each.reason for each in place.evidence(1).pods[0].containers] == ["Completed", "Completed"]
    assert bench.api.objects("v1", "ConfigMap", labels="app.kubernetes.io/component=code") == []


def supervised(
    bench: KubeBench, setting: KubeSetting, folder: Path, **policy: object
) -> tuple[RunRecord, str]:
    """The run as its supervisor leaves it, and what was told."""
    store = Store(folder / "store")
    launching = replace(setting.launching, first_size=Size(memory=64 * MIB))
    record = store.create("bench", "sandbox", launching, dt.datetime.now(dt.UTC))
    place = KubePlace(bench.client, setting, acts=True, history=lambda: store.run(record.id))
    policies = replace(Policies.of(setting.run), backoff_first_seconds=0.5, **policy)
    supervisor = Supervisor(store, place, policies, SystemClock(), record.id)
    give_up = time.monotonic() + 240
    while store.run(record.id).is_active and time.monotonic() < give_up:
        supervisor.look(store.run(record.id))
        supervisor._share()
        time.sleep(0.5)
    after = store.run(record.id)
    told = "\n".join(moment.text for moment in store.moments(record.id))
    place.let_go()
    store.close()
    return after, told


def test_a_leak_is_raised_in_place_where_its_owner_asks_for_it(bench: KubeBench, tmp_path: Path) -> None:
    # Slow enough that a busy machine still measures a dozen points before it dies.
    setting = setting_of(bench, leaking(total=120, bytes_=MIB // 2, pause=0.5))
    after, told = supervised(bench, setting, tmp_path, on_forecast="raise", look_ahead_seconds=600.0)
    assert after.state == "finished", told
    assert len(after.attempts) == 1, told
    assert "raised in place to" in told
    assert (after.attempts[0].size.memory or 0) > 76 * MIB


def test_the_deadline_is_the_whole_runs_and_the_agent_keeps_it(bench: KubeBench, tmp_path: Path) -> None:
    """Earlier attempts have used all but a little of it: the pod is told what is left, and ends with its own cause."""
    limit = load_one(WITH_DEADLINE, "run.yaml", Run).spec.deadline
    setting = setting_of(bench, counting(total=100_000, pause=0.1), deadline=limit)
    place = KubePlace(bench.client, setting, history=lambda: a_history(setting, ran=3600 - 20))
    place.launch(2, Size(memory=128 * MIB), resume=True)
    wait(place, 2, lambda seen: seen.progress is not None and seen.progress.step >= 1, 90.0)
    began = time.monotonic()
    found = ending(place, 2, 90.0)
    assert (found.cause, found.safe_step) == ("deadline", found.step)
    assert found.step
    assert time.monotonic() - began < 45


def a_history(setting: KubeSetting, ran: float) -> RunRecord:
    now = dt.datetime.now(dt.UTC)
    started = now - dt.timedelta(seconds=ran)
    over = Ending(when=now, cause="preemption", code="PRE-01")
    first = Attempt(number=1, size=Size(), created=started, started=started, ending=over)
    return RunRecord(
        id=1, name="bench", place="", created=started, launching=setting.launching, attempts=(first,)
    )


def test_an_oom_comes_back_bigger_from_its_checkpoint_and_finishes(bench: KubeBench, tmp_path: Path) -> None:
    setting = setting_of(bench, leaking(total=40, bytes_=3 * MIB, pause=0.1))
    after, told = supervised(bench, setting, tmp_path)
    assert after.state == "finished", told
    assert after.attempts[0].ending is not None
    assert after.attempts[0].ending.code == "MEM-01"
    assert len(after.attempts) >= 2
    sizes = [attempt.size.memory or 0 for attempt in after.attempts]
    assert sizes == sorted(set(sizes))
    assert "resumed from step" in told
    workload = bench.api.get(Ref("batch/v1", "Job", f"bench-a{len(sizes)}"))
    assert workload is not None
    assert "tonnage.dev/run-state" in workload["metadata"]["annotations"]


WITH_DEADLINE = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {name: bench}
spec: {command: [python3, train.py], deadline: 1h}
"""
WITH_SECRET = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {name: bench}
spec:
  command: [python3, train.py]
  image: local/python:3
  secrets: {HF_TOKEN: hub/token}
"""
