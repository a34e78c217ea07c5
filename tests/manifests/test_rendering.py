"""What rendering decides, refuses and says."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from manifest_cases import AGENT, ALL, GIB, TORCH, Case
from manifest_reading import templates, trainer, variables

from tonnage.errors import RefusedError
from tonnage.manifests import ClusterFacts, CodeDelivery, choose_target, first_size, planned_of, render
from tonnage.manifests.delivering import agent_name
from tonnage.running.attempts import Size

GANG = {**TORCH, "gpus": 8, "nodes": 2, "checkpoints": "pvc/ckpt"}


def a_case(spec: dict[str, Any] | None = None, **fields: Any) -> Case:
    document = {**TORCH, "gpus": 1, "checkpoints": "pvc/ckpt", **(spec or {})}
    return Case(name="sft", spec=document, **fields)


def refusal(case: Case, **changes: Any) -> str:
    with pytest.raises(RefusedError) as caught:
        render(replace(case.request(), **changes))
    return f"{caught.value.problem.code} {caught.value.problem.what}"


def command(case: Case, **changes: Any) -> list[str]:
    return trainer(render(replace(case.request(), **changes)))["command"]


# -- the target


@pytest.mark.parametrize(
    ("spec", "served", "target"),
    [
        ({}, {}, "Job"),
        ({}, ALL, "Job"),
        ({"nodes": 2, "gpus": 8}, {}, "IndexedJob"),
        ({"nodes": 2, "gpus": 8}, ALL, "JobSet"),
        ({"nodes": 2, "gpus": 8, "target": "TrainJob"}, ALL, "TrainJob"),
        ({"target": "PyTorchJob"}, ALL, "PyTorchJob"),
        ({"nodes": 2, "gpus": 8, "framework": "tensorflow"}, ALL, "TFJob"),
        ({"nodes": 2, "gpus": 8, "framework": "tensorflow"}, {}, "IndexedJob"),
        ({"nodes": 2, "gpus": 8, "framework": "horovod"}, ALL, "MPIJob"),
        ({"gpus": 8, "framework": "horovod"}, {}, "Job"),
        ({"nodes": 2, "gpus": 8, "framework": "auto", "command": "mpirun -np 16 ./a"}, ALL, "MPIJob"),
    ],
)
def test_the_target_follows_pods_framework_and_what_is_installed(spec, served, target):
    assert choose_target(a_case(spec).run(), spec.get("nodes", 1), served).target == target


def test_a_named_target_that_is_not_installed_is_refused_with_the_way_out():
    case = a_case({"target": "TrainJob"})
    assert refusal(case) == "MAN-001 a TrainJob is asked for, and Kubeflow Trainer is not installed"


def test_ranks_that_nobody_could_start_are_refused():
    assert refusal(a_case({"nodes": 2, "gpus": 8, "framework": "horovod"})).startswith(
        "MAN-001 horovod on 2 nodes"
    )


def test_mpi_ranks_are_not_given_to_a_target_that_cannot_start_them():
    case = a_case({"nodes": 2, "gpus": 8, "framework": "mpi", "target": "JobSet"}, served=ALL)
    assert refusal(case).startswith("MAN-009 a JobSet does not start mpi ranks")


# -- the command


def test_the_agent_wraps_the_command_and_comes_as_a_config_map():
    rendered = a_case().rendered()
    config = next(item for item in rendered.objects if item["kind"] == "ConfigMap")

    assert trainer(rendered)["command"] == [
        "python3",
        "/tonnage/agent.pyz",
        "run",
        "--",
        "torchrun",
        "train.py",
    ]
    assert base64.b64decode(config["binaryData"]["agent.pyz"]) == AGENT
    assert config["metadata"]["name"] == agent_name(AGENT)
    assert config["immutable"]


def test_an_image_without_python_runs_the_plain_command_and_that_is_said():
    rendered = render(replace(a_case().request(), has_python=False))

    assert trainer(rendered)["command"] == ["torchrun", "train.py"]
    assert not any(item["kind"] == "ConfigMap" for item in rendered.objects)
    assert any("no Python 3.9" in note for note in rendered.notes)


def test_an_image_with_its_own_entry_point_is_not_wrapped():
    case = Case(name="sft", spec={"image": "train:1", "memory": "2Gi"}, nodes="cpu=1", figures={})
    assert "command" not in trainer(case.rendered())


def test_batch_sizes_are_filled_in_as_the_remedy_chose_them():
    case = a_case(
        {"command": "python train.py -b {microBatch} -a {accumulation}", "train": {"microBatch": 8}}
    )

    assert command(case)[-4:] == ["-b", "8", "-a", "1"]
    assert command(case, size=Size(micro_batch=2, accumulation=4))[-4:] == ["-b", "2", "-a", "4"]


def test_a_place_for_a_number_nobody_knows_is_refused():
    assert refusal(a_case({"command": "python train.py {microBatch}"})).startswith("MAN-003")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"command": "python train.py -x"}, ["python", "-m", "torch.distributed.run", "train.py", "-x"]),
        ({"command": "python -m my.train"}, ["python", "-m", "torch.distributed.run", "-m", "my.train"]),
        ({"command": "torchrun train.py"}, ["torchrun", "train.py"]),
        ({"command": "python train.py", "framework": "auto"}, ["python", "train.py"]),
        ({"command": "python -c pass"}, ["python", "-c", "pass"]),
        ({"command": "python train.py", "gpus": 1}, ["python", "train.py"]),
    ],
)
def test_a_torch_script_is_started_once_per_rank(spec, words):
    assert command(a_case({"gpus": 8, **spec}))[4:] == words


def test_code_is_checked_and_unpacked_before_the_trainer_starts():
    code = CodeDelivery(digest="ab" * 32, url="https://bucket.example/sft.tar.gz?signed", mount="/src")
    (template, _), *_ = templates(render(replace(a_case({"priority": "high"}).request(), code=code)))
    (unpacker,) = template["spec"]["initContainers"]

    assert unpacker["command"][-3:] == ["https://bucket.example/sft.tar.gz?signed", "/src", "ab" * 32]
    assert unpacker["resources"]["requests"] == unpacker["resources"]["limits"]
    assert template["spec"]["containers"][0]["workingDir"] == "/src"


# -- ranks


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("IndexedJob", "sft-a1-0.sft-a1"),
        ("JobSet", "sft-a1-node-0-0.sft-a1"),
        ("TrainJob", "sft-a1-node-0-0.sft-a1"),
        ("PyTorchJob", "sft-a1-worker-0"),
    ],
)
def test_the_first_pod_is_the_master_by_the_name_its_target_gives_it(target, first):
    said = variables(trainer(a_case({**GANG, "target": target}, served=ALL).rendered()))

    assert said["MASTER_ADDR"] == first
    assert said["WORLD_SIZE"] == "16"
    assert said["TONNAGE_PEERS"].startswith(f"{first}:")


def test_variables_a_controller_sets_are_left_to_it():
    said = variables(trainer(a_case({**GANG, "target": "TrainJob"}, served=ALL).rendered()))
    assert not any(name.startswith("PET_") for name in said)


def test_a_single_process_is_not_told_of_ranks():
    said = variables(trainer(a_case().rendered()))
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "PET_NNODES"} & set(said)


def test_two_runs_on_the_nodes_network_do_not_share_a_port():
    ports = [
        variables(trainer(Case(name=name, spec={**GANG, "network": {"hostNetwork": True}}).rendered()))[
            "MASTER_PORT"
        ]
        for name in ("one", "two")
    ]
    assert ports[0] != ports[1]


def test_a_persons_variable_wins_but_not_over_the_runs_identity():
    case = a_case({"env": {"OMP_NUM_THREADS": "3", "TONNAGE_RUN": "other"}, "gpus": 8})
    said = variables(trainer(case.rendered()))
    assert (said["OMP_NUM_THREADS"], said["TONNAGE_RUN"]) == ("3", "sft")


# -- amounts


def test_the_first_size_renders_as_no_size_at_all():
    request = a_case().request()
    size = first_size(request.planned, request.run)
    assert trainer(render(replace(request, size=size)))["resources"] == trainer(render(request))["resources"]


def test_a_remedys_memory_is_request_and_limit():
    found = trainer(render(replace(a_case().request(), size=Size(memory=300 * GIB))))["resources"]
    assert found["requests"]["memory"] == found["limits"]["memory"] == "300Gi"


def test_a_larger_shm_raises_the_memory_it_counts_against():
    request = a_case().request()
    found = trainer(render(replace(request, size=Size(shm=request.planned.shm + 8 * GIB))))["resources"]
    assert found["limits"]["memory"] == f"{request.planned.memory // GIB + 8}Gi"


def test_what_nobody_knows_is_assumed_and_said():
    case = a_case(figures={})
    planned = planned_of(case.situation().plan, case.snapshot())
    assert planned.memory > 100 * GIB
    assert planned.assumed == (
        "what a pod needs is not known without a model: 225 GiB RAM, 21 cores, 100 GiB disk are assumed",
    )


# -- safeguards


def test_a_restricted_namespace_gets_pods_it_accepts_or_a_refusal():
    level = {"namespace_labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    fine = a_case(**level).rendered()
    assert templates(fine)[0][0]["spec"]["securityContext"]["runAsNonRoot"]
    assert refusal(a_case({"volumes": [{"mount": "/x", "hostPath": "/x"}]}, **level)).startswith("MAN-006")


def test_rdma_is_used_by_gangs_where_every_node_has_it():
    case = a_case(GANG, resources={"rdma/ib": "8"})
    container = trainer(case.rendered())

    assert container["resources"]["limits"]["rdma/ib"] == "8"
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
    assert refusal(a_case({**GANG, "network": {"rdma": "required"}})).startswith("MAN-007")


def test_a_patch_that_takes_the_guarantee_away_is_refused():
    patch = {"spec": {"resources": {"requests": {"cpu": "1"}}}}
    assert refusal(a_case({"priority": "critical", "podTemplate": patch})).startswith("MAN-005")


def test_a_patch_cannot_hide_the_pods_from_us():
    patch = {"metadata": {"labels": {"tonnage.dev/run": "other", "team": "x"}}}
    rendered = a_case({"podTemplate": patch}).rendered()
    labels = templates(rendered)[0][0]["metadata"]["labels"]
    assert (labels["tonnage.dev/run"], labels["team"]) == ("sft", "x")


def test_a_patch_kubernetes_cannot_read_is_refused():
    assert refusal(a_case({"podTemplate": {"spec": {"tolerations": "all"}}})).startswith("MAN-010")


def test_a_queue_that_is_not_there_is_not_passed_over():
    assert refusal(a_case({"queue": "research"})) == "MAN-011 there is no queue research in namespace default"


def test_an_mpijob_is_not_let_past_its_queue():
    case = a_case({**GANG, "framework": "horovod", "queue": "q"}, served=ALL, queues=("q",))
    assert refusal(case).startswith("MAN-008")


def test_only_ranks_and_monitoring_may_connect():
    rendered = render(replace(a_case().request(), facts=ClusterFacts(monitoring=("prometheus",))))
    policy = next(item for item in rendered.objects if item["kind"] == "NetworkPolicy")["spec"]
    ranks, scrapers = policy["ingress"]

    assert policy["policyTypes"] == ["Ingress"]
    assert ranks == {"from": [{"podSelector": {"matchLabels": dict(rendered.selector)}}]}
    name = "kubernetes.io/metadata.name"
    assert scrapers["from"] == [
        {"namespaceSelector": {"matchLabels": {name: "prometheus"}}},
        {"namespaceSelector": {"matchLabels": {name: "kube-system"}}},
    ]
    assert scrapers["ports"] == [{"port": 9464, "protocol": "TCP"}]


def test_where_nobody_is_seen_to_scrape_only_what_calls_itself_a_scraper_may():
    policy = next(item for item in a_case().rendered().objects if item["kind"] == "NetworkPolicy")["spec"]
    everybody = [each for each in policy["ingress"][1]["from"] if each.get("namespaceSelector") == {}]
    assert all(each["podSelector"]["matchExpressions"][0]["values"] for each in everybody)
    assert len(everybody) == 1


@pytest.mark.parametrize(("spot", "is_left_alone"), [("never", True), ("allowed", True), ("only", False)])
def test_autoscalers_leave_it_alone_unless_it_is_on_spot_nodes_only(spot, is_left_alone):
    found = templates(a_case({"spot": spot}).rendered())[0][0]["metadata"]["annotations"]
    assert (found.get("karpenter.sh/do-not-disrupt") == "true") == is_left_alone
    assert (found.get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "false") == is_left_alone


def test_a_class_that_may_not_be_made_is_left_out_and_said():
    facts = ClusterFacts(priority_classes=(), may_make_priority_classes=False)
    rendered = render(replace(a_case({"priority": "high"}).request(), facts=facts))

    assert "priorityClassName" not in templates(rendered)[0][0]["spec"]
    assert any("may not be made" in note for note in rendered.notes)


def test_the_deadline_of_kubernetes_is_a_backstop_behind_the_agents():
    """Its clock runs while pods wait, so it must not end a run that waited as long as it may."""
    spec = a_case({"deadline": "2h", "maxWait": "1h"}).rendered().workload["spec"]
    assert spec["activeDeadlineSeconds"] > 3 * 3600


def test_each_attempt_is_told_what_earlier_ones_left_of_the_time():
    """Counted from its own start: no moment is known before a node takes it."""
    case = a_case({"deadline": "2h", "maxWait": "1h"})
    first, third = case.request(), replace(case.request(), attempt=3, ran_seconds=5400.5)

    assert variables(trainer(render(first)))["TONNAGE_SECONDS_LEFT"] == "7200"
    assert variables(trainer(render(third)))["TONNAGE_SECONDS_LEFT"] == "1800"
    assert "TONNAGE_DEADLINE" not in variables(trainer(render(third)))
    late = replace(case.request(), ran_seconds=9000.0)
    assert variables(trainer(render(late)))["TONNAGE_SECONDS_LEFT"] == "0"


def test_a_run_that_forgives_no_disruption_is_ended_by_one():
    rules = a_case({"retries": 0}).rendered().workload["spec"]["podFailurePolicy"]["rules"]
    assert rules[0]["action"] == "FailJob"
