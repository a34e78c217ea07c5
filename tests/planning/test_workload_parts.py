"""How long storage lasts, what commands start and save, and how patches merge."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tonnage.cluster.objects import Meta, PersistentVolume, PersistentVolumeClaim, StorageClass
from tonnage.cluster.objects.meta import SelectorRequirement
from tonnage.cluster.objects.pod import NodeSelector, NodeSelectorTerm
from tonnage.cluster.objects.storage import ClaimSpec, ClaimStatus, VolumeNodeAffinity, VolumeSpec
from tonnage.cluster.snapshot import Gap, Snapshot
from tonnage.planning.workload import DiesWith, Durability, Mount
from tonnage.planning.workload.durability import durability_of_place, durability_of_volume
from tonnage.planning.workload.launching import processes_per_pod
from tonnage.planning.workload.merging import merged
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.planning.workload.reading import with_claims
from tonnage.planning.workload.saving import checkpoint_target
from tonnage.spec.literals import Place
from tonnage.spec.run import Run


@pytest.mark.parametrize(
    ("place", "dies_with"),
    [
        ("pvc/ckpt", DiesWith.NOTHING),
        ("s3://b/x", DiesWith.NOTHING),
        ("gs://b/x", DiesWith.NOTHING),
        ("az://b/x", DiesWith.NOTHING),
        ("hf://me/model", DiesWith.NOTHING),
        ("nfs://server/export", DiesWith.NOTHING),
        ("emptyDir", DiesWith.POD),
        ("/tmp/ckpt", DiesWith.CONTAINER),
        ("https://example.org/x", DiesWith.UNKNOWN),
    ],
)
def test_every_place_of_a_document_has_a_durability_with_a_reason(place: str, dies_with: DiesWith) -> None:
    found = durability_of_place(Place.parse(place))

    assert found.dies_with is dies_with
    assert found.reason
    assert found.dies_with.survives == (dies_with is DiesWith.NOTHING)


@pytest.mark.parametrize(
    ("source", "dies_with"),
    [
        ({"emptyDir": {}}, DiesWith.POD),
        ({"emptyDir": {"medium": "Memory"}}, DiesWith.POD),
        ({"emptyDir": None}, DiesWith.POD),
        ({}, DiesWith.POD),
        ({"hostPath": {"path": "/mnt/nvme"}}, DiesWith.NODE),
        ({"persistentVolumeClaim": {"claimName": "c"}}, DiesWith.NOTHING),
        ({"nfs": {"server": "s", "path": "/x"}}, DiesWith.NOTHING),
        ({"ephemeral": {"volumeClaimTemplate": {}}}, DiesWith.POD),
        ({"csi": {"driver": "s3.csi.aws.com"}}, DiesWith.NOTHING),
        ({"csi": {"driver": "inline.example"}}, DiesWith.POD),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, DiesWith.NOTHING),
        ({"configMap": {"name": "x"}}, DiesWith.UNKNOWN),
        ({"somethingNew": {}}, DiesWith.UNKNOWN),
    ],
)
def test_every_volume_of_a_pod_has_a_durability(source: dict[str, Any], dies_with: DiesWith) -> None:
    assert durability_of_volume({"name": "v", **source}).dies_with is dies_with


# -- claims, with what the cluster knows


def a_snapshot(
    *, modes: tuple[str, ...] = ("ReadWriteMany",), provisioner: str = "efs.csi.aws.com", hostname: bool = False,
    missing: bool = False, gaps: tuple[Gap, ...] = (),
) -> Snapshot:  # fmt: skip
    claim = PersistentVolumeClaim(
        metadata=Meta(name="ckpt", namespace="default"),
        spec=ClaimSpec(access_modes=modes, storage_class_name="fast", volume_name="pv-1"),
        status=ClaimStatus(phase="Bound"),
    )
    line = SelectorRequirement(key="kubernetes.io/hostname", operator="In", values=("gpu-7",))
    affinity = VolumeNodeAffinity(
        required=NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(line,)),))
    )
    volume = PersistentVolume(
        metadata=Meta(name="pv-1"), spec=VolumeSpec(node_affinity=affinity if hostname else None)
    )
    return Snapshot(
        taken_at=dt.datetime(2026, 11, 15, tzinfo=dt.UTC),
        source="test",
        gaps=gaps,
        claims=() if missing else (claim,),
        volumes=(volume,),
        storage_classes=(StorageClass(metadata=Meta(name="fast"), provisioner=provisioner),),
    )


def checkpoints_on(snapshot: Snapshot, nodes: int = 1) -> Durability:
    run = Run.model_validate(
        {"metadata": {"name": "r"}, "spec": {"checkpoints": "pvc/ckpt/llama", "nodes": nodes}}
    )
    target = with_claims(workload_of_run(run), snapshot).checkpoints
    assert target is not None
    return target.durability


def test_a_claim_on_network_storage_survives() -> None:
    assert checkpoints_on(a_snapshot()).dies_with is DiesWith.NOTHING


@pytest.mark.parametrize(
    "snapshot", [a_snapshot(hostname=True), a_snapshot(provisioner="rancher.io/local-path")]
)
def test_a_claim_on_a_local_volume_dies_with_its_node(snapshot: Snapshot) -> None:
    assert checkpoints_on(snapshot).dies_with is DiesWith.NODE


def test_a_claim_that_is_not_there_is_unknown() -> None:
    assert checkpoints_on(a_snapshot(missing=True)).reason == "no such claim in the namespace"


def test_claims_that_may_not_be_listed_change_nothing() -> None:
    gap = Gap(resource="persistentvolumeclaims", reason="forbidden")

    assert checkpoints_on(a_snapshot(missing=True, gaps=(gap,))).dies_with is DiesWith.NOTHING


@pytest.mark.parametrize(
    ("modes", "nodes", "caution"),
    [
        (("ReadWriteOnce",), 2, "only while they share one node"),
        (("ReadWriteOncePod",), 2, "only one of 2 pods"),
        (("ReadOnlyMany",), 1, "nothing can be written"),
        (("ReadWriteOnce",), 1, "deleting the claim deletes the volume"),
    ],
)
def test_access_modes_are_said_where_they_matter(modes: tuple[str, ...], nodes: int, caution: str) -> None:
    assert caution in checkpoints_on(a_snapshot(modes=modes), nodes).caution


# -- what a command starts


@pytest.mark.parametrize(
    ("command", "env", "gpus", "ranks"),
    [
        ("torchrun --nproc_per_node=8 train.py", {}, 8, 8),
        ("torchrun --nproc-per-node 4 train.py", {}, 4, 4),
        ("torchrun train.py", {}, 8, 1),
        ("torchrun train.py", {"PET_NPROC_PER_NODE": "8"}, 8, 8),
        ("/opt/conda/bin/torchrun --nproc_per_node gpu t.py", {}, 4, 4),
        ("python -m torch.distributed.run --nproc_per_node auto t.py", {}, 2, 2),
        ("torchrun --nproc_per_node $(N) t.py", {"N": "3"}, 4, 3),
        ("torchrun --nproc_per_node $(nvidia-smi -L | wc -l) t.py", {}, 4, None),
        ("torchrun --nproc_per_node auto t.py", {}, 0, None),
        ("accelerate launch --num_processes 16 t.py", {}, 8, 8),
        ("accelerate launch t.py", {}, 8, 8),
        ("deepspeed --num_gpus 2 t.py", {}, 8, 2),
        ("deepspeed t.py", {}, 8, 8),
        ("mpirun -np 16 python t.py", {}, 8, 8),
        ("python t.py", {}, 1, 1),
        ("python t.py", {}, 0, 1),
        ("python t.py", {}, 8, None),
    ],
)
def test_processes_are_read_from_the_launcher(
    command: str, env: dict[str, str], gpus: int, ranks: int | None
) -> None:
    found, why = processes_per_pod(command.split(), env, gpus=gpus, pods=2)

    assert found == ranks
    assert why


def test_a_shell_line_is_looked_into() -> None:
    line = "cd /w && \\\n exec torchrun --nproc_per_node=8 train.py"

    assert processes_per_pod(["bash", "-c", line], {}, gpus=8, pods=1)[0] == 8


# -- where a program saves


def a_mount(path: str, volume: str = "v", *, claim: bool = True, read_only: bool = False) -> Mount:
    source = {"persistentVolumeClaim": {"claimName": volume}} if claim else {"emptyDir": {}}
    return Mount(path, volume, durability_of_volume({"name": volume, **source}), read_only)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("t.py --output_dir /data/out", "pvc/big"),
        ("t.py --output-dir=/data/out", "pvc/big"),
        ("t.py --checkpoint-dir /ckpt --output_dir /data/out", "emptyDir"),
        ("t.py --save /ckpt/x", "emptyDir"),
        ("t.py trainer.ckpt_path=/data/x", "pvc/big"),
        ("t.py --save_dir s3://bucket/run", "s3://bucket/run"),
        ("t.py --output_dir ./out", "./out"),
        ("t.py --output_dir /root/out", "/root/out"),
    ],
)
def test_flags_that_name_a_folder_say_where_progress_goes(command: str, place: str) -> None:
    mounts = [a_mount("/data", "big"), a_mount("/ckpt", "tmp", claim=False)]
    target = checkpoint_target(command.split(), {}, mounts)

    assert target is not None
    assert target.durability.place == place


@pytest.mark.parametrize(
    "command",
    [
        "t.py --resume_from_checkpoint /x",
        "t.py --load_dir /x",
        "t.py --model_path gpt2",
        "t.py --data_dir /d",
    ],
)
def test_folders_to_read_from_are_not_where_progress_goes(command: str) -> None:
    assert checkpoint_target(command.split(), {}, []) is None


def test_variables_and_mounts_are_evidence_too() -> None:
    from_env = checkpoint_target([], {"CHECKPOINT_DIR": "/data/c"}, [a_mount("/data")])
    from_mount = checkpoint_target(["t.py"], {}, [a_mount("/models"), a_mount("/checkpoints", "ck")])
    read_only = checkpoint_target(["t.py"], {}, [a_mount("/checkpoints", "ck", read_only=True)])

    assert from_env is not None
    assert from_env.evidence == "env CHECKPOINT_DIR=/data/c"
    assert from_mount is not None
    assert from_mount.mount == "/checkpoints"
    assert read_only is None


# -- patches


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"x": 1}}, {"a": {"$patch": "replace", "y": 2}}, {"a": {"y": 2}}),
        ({"a": {"x": 1}}, {"a": {"$patch": "delete"}}, {}),
        ({"args": [1, 2]}, {"args": [3]}, {"args": [3]}),
        (
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]},
            {"env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]},
        ),
        (
            {"volumes": [{"name": "a"}, {"name": "b"}]},
            {"volumes": [{"name": "a", "$patch": "delete"}]},
            {"volumes": [{"name": "b"}]},
        ),
        (
            {"volumes": [{"name": "a"}]},
            {"volumes": [{"$patch": "replace"}, {"name": "c"}]},
            {"volumes": [{"name": "c"}]},
        ),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
    ],
)
def test_patches_merge_as_kubernetes_merges_them(original: Any, patch: Any, expected: Any) -> None:
    before = str(original)

    assert merged(original, patch) == expected
    assert str(original) == before
