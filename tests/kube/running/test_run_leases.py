"""One holder per run; runs that other machines started are found; what one may not do is said by name."""

from __future__ import annotations

import datetime as dt
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contracts.run_benches import MIB, KubeBench
from tests.local.scripts import counting

from tonnage.errors import ForbiddenError, RefusedError
from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.running.api import RunApi
from tonnage.kube.running.finding import runs_on
from tonnage.kube.running.leasing import RunLease, keeper_of
from tonnage.kube.running.place import KubePlace
from tonnage.running.attempts import Size
from tonnage.sandbox import Sandbox
from tonnage.store.store import Store
from tonnage.supervising.adopting import adopt, find_on

pytestmark = pytest.mark.sandbox


@pytest.fixture
def bench(sandbox: Sandbox, tmp_path: Path) -> Iterator[KubeBench]:
    made = KubeBench(tmp_path, sandbox.kubeconfig, f"lease-{uuid.uuid4().hex[:8]}")
    yield made
    made.close()


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def expire(api: RunApi, lease: RunLease) -> None:
    old = (now() - dt.timedelta(minutes=5)).isoformat(timespec="microseconds").replace("+00:00", "Z")
    api.patch(lease.ref, {"spec": {"renewTime": old}})


def test_one_machine_holds_a_run_and_another_takes_it_when_it_is_lost(bench: KubeBench) -> None:
    mine, theirs = RunLease(bench.api, "sft", "me"), RunLease(bench.api, "sft", "you")
    assert mine.hold() == ""
    assert theirs.hold() == "me"
    assert RunLease(bench.api, "sft", "me").hold() == ""  # the next supervisor of the same machine
    assert keeper_of(bench.api, "sft", now()) == "me"
    expire(bench.api, mine)
    assert keeper_of(bench.api, "sft", now()) == ""
    assert theirs.hold() == ""
    assert RunLease(bench.api, "sft", "me").hold() == "you"
    mine.let_go()  # not ours any more: it stays
    assert keeper_of(bench.api, "sft", now()) == "you"
    theirs.let_go()
    assert keeper_of(bench.api, "sft", now()) == ""


def test_a_run_is_found_on_its_cluster_and_taken_up_by_another_machine(
    bench: KubeBench, tmp_path: Path
) -> None:
    bench.run(counting())
    setting = bench._setting
    assert setting is not None
    first = Store(tmp_path / "first")
    record = first.create("bench", "sandbox", setting.launching, now())
    place = KubePlace(bench.client, setting, acts=True, history=lambda: first.run(record.id))
    assert place.hold() == ""
    place.launch(1, Size(memory=64 * MIB), resume=False)
    place.keep(first.run(record.id))
    [found] = runs_on(bench.client, bench.namespace)
    assert (found.name, found.keeper, found.state) == ("bench", "bench", "active")
    second = Store(tmp_path / "second")
    with pytest.raises(RefusedError, match="kept alive by bench"):
        adopt(second, bench.client, found, "sandbox")
    place.let_go()
    taken = adopt(second, bench.client, find_on(bench.client, "bench", bench.namespace), "sandbox")
    assert taken.launching == record.launching
    assert (second.folder / "runs/1/code.tar.gz").read_bytes() == setting.code
    with pytest.raises(RefusedError, match="runs there: bench"):
        find_on(bench.client, "other", bench.namespace)
    first.close()
    second.close()


def test_a_run_of_the_same_name_replaces_what_an_earlier_one_left_and_nothing_that_lives(
    bench: KubeBench,
) -> None:
    bench.run(counting())
    setting = bench._setting
    assert setting is not None
    first = KubePlace(bench.client, setting)
    first.launch(1, Size(memory=64 * MIB), resume=False)
    place = KubePlace(bench.client, replace(setting, launching=replace(setting.launching, lineage="bench-2")))
    assert place.observe(1).state == "absent"
    with pytest.raises(RefusedError, match="another run named bench is alive"):
        place.launch(1, Size(memory=64 * MIB), resume=False)
    first.stop(1, 0)
    give_up = time.monotonic() + 30
    while place.observe(1).state == "absent":
        assert time.monotonic() < give_up
        with suppress(RefusedError):  # while its pod goes
            place.launch(1, Size(memory=64 * MIB), resume=False)
        time.sleep(0.5)
    [job] = bench.api.objects("batch/v1", "Job")
    assert job["metadata"]["labels"]["tonnage.dev/lineage"] == "bench-2"


def test_everything_made_for_an_attempt_goes_with_its_workload(bench: KubeBench) -> None:
    place = bench.run(counting())
    place.launch(1, Size(memory=64 * MIB), resume=False)
    owned = [
        *bench.api.objects("v1", "ConfigMap", labels="tonnage.dev/run=bench"),
        *bench.api.objects("networking.k8s.io/v1", "NetworkPolicy"),
    ]
    assert [each["metadata"]["ownerReferences"][0]["name"] for each in owned] == ["bench-a1", "bench-a1"]


def test_what_one_may_not_do_is_named(sandbox: Sandbox, bench: KubeBench) -> None:
    bench.run(counting())
    setting = bench._setting
    assert setting is not None
    kubeconfig = sandbox.kubeconfig_for(f"nobody-{os.getpid()}", organization="nobodies")
    with KubeClient(find_access(os.environ, kubeconfig=kubeconfig)) as client:
        with pytest.raises(ForbiddenError, match=r"you may not get jobs\.batch bench-a1 in namespace"):
            KubePlace(client, setting).launch(1, Size(memory=64 * MIB), resume=False)
        lease = RunLease(RunApi(client, bench.namespace), "bench", "nobody")
        assert lease.hold() == ""
        assert "you may not get leases" in lease.note
