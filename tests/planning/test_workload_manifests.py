"""Any training manifest becomes a workload; what it cannot say is listed, never guessed."""

from __future__ import annotations

import json

import pytest
import workload_manifests as given
from hypothesis import given as generated
from hypothesis import strategies as st

from tonnage.cluster.qos import compute_qos_class
from tonnage.errors import DocumentError
from tonnage.planning.workload import UNBOUNDED, DiesWith, Workload
from tonnage.planning.workload.of_manifest import workloads_of
from tonnage.planning.workload.reading import workloads_in

GIB = 1024**3


def one(text: str) -> Workload:
    (workload,) = workloads_in(text, "job.yaml")
    return workload


def test_a_job_with_all_it_says() -> None:
    job = one(given.JOB)
    role = job.trainer

    assert (job.kind, job.name, job.namespace, job.queue) == ("Job", "finetune", "research", "gpu-queue")
    assert (job.deadline_seconds, job.retries, job.priority_class) == (86_400, 3, "ml-high")
    assert (role.count, role.container, role.ranks_per_pod, job.ranks) == (1, "train", 4, 4)
    assert (role.gpus.count, role.gpus.kind, role.gpus.types) == (4, "whole", ("a100-80",))
    assert role.shm_bytes == 16 * GIB
    assert role.env == (("EPOCHS", "3"),)
    assert role.pod.metadata.namespace == "research"
    assert role.pod.spec.termination_grace_period_seconds == 120
    assert compute_qos_class(role.pod) == "Burstable"


def test_checkpoints_of_a_job_follow_the_flag_to_the_claim_it_is_mounted_from() -> None:
    target = one(given.JOB).checkpoints

    assert target is not None
    assert target.durability.place == "pvc/checkpoints"
    assert target.durability.dies_with is DiesWith.NOTHING
    assert target.evidence == "--output_dir /ckpt/run1"
    assert target.keep == 2


def test_secrets_are_never_read() -> None:
    assert "TOKEN" not in dict(one(given.JOB).trainer.env)


def test_a_job_set_has_a_role_for_each_replicated_job() -> None:
    gang = one(given.JOB_SET)

    assert [(role.name, role.count, role.ranks_per_pod) for role in gang.roles] == [
        ("driver", 1, 1), ("workers", 8, 8),
    ]  # fmt: skip
    assert gang.trainer.name == "workers"
    assert (gang.gpus, gang.pods, gang.is_suspended, gang.retries) == (64, 9, True, 4)
    assert gang.deadline_seconds == 7200


def test_checkpoints_in_the_container_die_with_it() -> None:
    target = one(given.JOB_SET).checkpoints

    assert target is not None
    assert target.durability.dies_with is DiesWith.CONTAINER


def test_a_train_job_says_that_its_runtime_is_elsewhere() -> None:
    job = one(given.TRAIN_JOB)

    assert [(role.name, role.count, role.ranks_per_pod) for role in job.roles] == [("node", 2, 4)]
    assert job.trainer.gpus.types == ("h100",)
    assert "disk" not in job.trainer.pod.spec.node_selector
    assert job.spot == "allowed"
    assert "torch-distributed" in (job.why_unknown("runtime") or "")


def test_a_pytorch_job_counts_master_and_workers_and_takes_processes_from_its_field() -> None:
    job = one(given.PYTORCH_JOB)

    assert [(role.name, role.count, role.ranks_per_pod) for role in job.roles] == [
        ("Master", 1, 2), ("Worker", 3, 2),
    ]  # fmt: skip
    assert (job.ranks, job.gpus, job.framework) == (8, 8, "torch")
    assert job.checkpoints is not None
    assert job.checkpoints.durability.dies_with is DiesWith.POD


def test_parameter_servers_train_nothing() -> None:
    job = one(given.TF_JOB)

    assert {role.name: role.ranks_per_pod for role in job.roles} == {"PS": 0, "Worker": 1}
    assert job.ranks == 4
    assert job.checkpoints is not None
    assert job.checkpoints.durability.place == "gs://bucket/run"


def test_an_mpi_launcher_trains_nothing_and_slots_are_ranks() -> None:
    job = one(given.MPI_JOB)

    assert {role.name: (role.count, role.ranks_per_pod) for role in job.roles} == {
        "Launcher": (1, 0), "Worker": (2, 8),
    }  # fmt: skip
    assert job.ranks == 16


def test_a_pod_with_a_slice_of_a_gpu() -> None:
    pod = one(given.POD)

    assert (pod.trainer.gpus.kind, pod.trainer.gpus.profile) == ("mig", "1g.10gb")
    assert (pod.trainer.ranks_per_pod, pod.deadline_seconds) == (1, 600)
    assert pod.checkpoints is None


@pytest.mark.parametrize("text", [given.JOB, given.JOB_SET, given.TRAIN_JOB, given.POD, given.MPI_JOB])
def test_model_and_steps_are_never_known_from_a_manifest(text: str) -> None:
    workload = one(text)

    assert workload.steps is None
    assert workload.why_unknown("steps")
    assert workload.why_unknown("model")


def test_many_documents_and_lists_give_every_training_workload_and_name_the_rest() -> None:
    indented = "\n".join(f"    {line}" for line in given.POD.strip().splitlines())
    listed = "apiVersion: v1\nkind: List\nitems:\n  -\n" + indented
    found = workloads_of("\n---\n".join([given.BESIDE, given.JOB, listed]), "all.yaml")

    assert [workload.name for workload in found.workloads] == ["finetune", "notebook-run"]
    assert found.passed_over == ("PersistentVolumeClaim ckpt",)
    assert found.mistakes == ()


def test_a_file_without_a_training_job_is_refused_with_the_reason() -> None:
    with pytest.raises(DocumentError, match="a Deployment serves for ever"):
        workloads_in("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {}\n", "x.yaml")


@pytest.mark.parametrize(
    "spec",
    ["{}", "{template: {}}", "{template: {spec: {containers: []}}}", "{template: {spec: {containers: 3}}}"],
)
def test_a_job_without_a_pod_is_refused_and_says_what_was_expected(spec: str) -> None:
    found = workloads_of(f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: x}}\nspec: {spec}\n", "x.yaml")

    assert found.workloads == ()
    assert "no pod can be read from the Job" in found.mistakes[0].what


def test_a_part_of_a_gpu_is_kept_as_asked_and_remarked_on() -> None:
    pod = one(given.POD.replace("nvidia.com/mig-1g.10gb: 1", "nvidia.com/gpu: 0.5"))

    assert (pod.trainer.gpus.milli, pod.trainer.gpus.is_fraction) == (500, True)
    assert any("must be an integer" in remark for remark in pod.remarks)


def test_processes_that_a_program_may_start_itself_are_unknown_not_guessed() -> None:
    pod = one(given.POD.replace("nvidia.com/mig-1g.10gb: 1", "nvidia.com/gpu: 8"))

    assert pod.trainer.ranks_per_pod is None
    assert pod.ranks is None
    assert "names no launcher" in (pod.why_unknown("ranks") or "")


def test_one_process_that_holds_eight_gpus_is_remarked_on() -> None:
    text = given.JOB.replace("--nproc_per_node=4", "--nproc_per_node=1")

    assert any("one process holds 4 GPUs" in remark for remark in one(text).remarks)


@pytest.mark.parametrize("said", ["", "  nprocPerNode: auto\n"])
def test_the_operator_of_a_pytorch_job_tells_torchrun_one_process_for_each_gpu(said: str) -> None:
    job = one(given.PYTORCH_JOB.replace('  nprocPerNode: "2"\n', said))

    assert (job.ranks, job.remarks) == (8, ())


def test_a_train_job_on_a_torch_runtime_starts_one_process_for_each_gpu() -> None:
    job = one(given.TRAIN_JOB.replace("    numProcPerNode: gpu\n", ""))

    assert job.ranks == 8
    assert not any("one process" in remark for remark in job.remarks)


def test_how_many_processes_another_runtime_asks_of_torchrun_is_not_known() -> None:
    text = given.TRAIN_JOB.replace("    numProcPerNode: gpu\n", "").replace("torch-distributed", "our-own")

    assert one(text).ranks is None
    assert "known only when it runs" in (one(text).why_unknown("ranks") or "")


def test_torchrun_in_a_plain_job_starts_one_process_whatever_it_holds() -> None:
    text = given.JOB.replace("torchrun, --nproc_per_node=4", "torchrun")

    assert any("one process holds 4 GPUs" in remark for remark in one(text).remarks)


def test_shared_memory_without_a_size_is_bounded_by_the_memory_limit_or_only_by_the_node() -> None:
    bounded = given.JOB.replace(", sizeLimit: 16Gi", "")
    unbounded = bounded.replace(", memory: 128Gi}", "}")

    assert one(bounded).trainer.shm_bytes == 128 * GIB
    assert one(unbounded).trainer.shm_bytes == UNBOUNDED
    assert one(given.POD).trainer.shm_bytes is None


def test_no_parallelism_and_many_completions_are_told_apart_from_a_gang() -> None:
    job = one(given.JOB.replace("backoffLimit: 3", "completions: 10\n  parallelism: 2"))

    assert job.trainer.count == 2
    assert any("10 completions, 2 at a time" in remark for remark in job.remarks)
    assert job.retries == 6


scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=3))
names = st.sampled_from(
    """spec template metadata containers replicas parallelism completions resources limits nvidia.com/gpu trainer
    numNodes replicatedJobs pytorchReplicaSpecs Worker Master mpiReplicaSpecs volumes volumeMounts name mountPath
    emptyDir command args env value labels items nodeSelector""".split()
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@generated(
    st.sampled_from(["Pod", "Job", "JobSet", "TrainJob", "PyTorchJob", "TFJob", "MPIJob"]),
    st.dictionaries(names, anything, max_size=5),
    anything,
)
def test_whatever_a_manifest_holds_it_is_read_or_refused_and_never_breaks(
    kind: str, spec: object, metadata: object
) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec})
    found = workloads_of(text, "any.json")

    assert bool(found.workloads) != bool(found.mistakes)
    for workload in found.workloads:
        assert all(role.count >= 1 and role.pod.spec.containers for role in workload.roles)
