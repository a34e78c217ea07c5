from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.shapes import nodes_from_shapes, parse_node_shapes
from tonnage.sandbox.controllers.queues import queues_for


def made_for(shapes: str) -> dict[str, dict]:
    made = queues_for(nodes_from_shapes(parse_node_shapes(shapes)))
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in made}


def quota(queue: dict) -> dict[str, str]:
    (group,) = queue["spec"]["resourceGroups"]
    return {each["name"]: each["nominalQuota"] for flavor in group["flavors"] for each in flavor["resources"]}


def test_each_gpu_type_gets_a_queue_of_its_name():
    made = made_for("8xh100=2,8xa100-80=1,cpu=1")

    assert [name for name in made if name.startswith("LocalQueue/")] == [
        "LocalQueue/a100-80",
        "LocalQueue/cpu",
        "LocalQueue/h100",
    ]


def test_a_flavor_leads_to_its_nodes_and_tolerates_the_gpu_taint():
    flavor = made_for("8xh100=1")["ResourceFlavor/h100"]["spec"]

    assert flavor["nodeLabels"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert flavor["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_the_cpu_flavor_keeps_pods_off_gpu_nodes():
    assert made_for("8xh100=1,cpu=1")["ResourceFlavor/cpu"]["spec"] == {}


def test_no_queue_is_called_default_for_kueue_would_take_in_every_job():
    assert not any(name.endswith("/default") for name in made_for("8xh100=1,cpu=1"))


@given(nodes=st.integers(1, 20), gpus=st.sampled_from([1, 4, 8]))
def test_a_queue_owns_exactly_what_its_nodes_can_give(nodes, gpus):
    owned = quota(made_for(f"{gpus}xh100={nodes}")["ClusterQueue/h100"])
    assert int(owned["nvidia.com/gpu"]) == nodes * gpus


def test_shared_gpus_are_another_queue_than_whole_ones():
    queues = [n for n in made_for("8xh100=1,s=1+gpus=8xh100+shared=4") if n.startswith("ClusterQueue/")]
    assert queues == ["ClusterQueue/h100", "ClusterQueue/h100-shared"]


def test_a_gpu_node_without_a_product_label_is_still_counted():
    node = {
        "metadata": {"name": "n", "labels": {}},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "8"}},
    }
    flavor, queue, _ = queues_for([node])

    assert quota(queue) == {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "0", "nvidia.com/gpu": "8"}
    assert "nodeLabels" not in flavor["spec"]


def test_beside_real_nodes_simulated_ones_have_a_queue_that_brings_their_toleration():
    real, simulated = nodes_from_shapes(parse_node_shapes("8xh100=2"))
    simulated["spec"]["taints"].append({"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"})
    made = {each["metadata"]["name"]: each["spec"] for each in queues_for([real, simulated])[::3]}

    assert list(made) == ["h100", "h100-simulated"]
    assert [each["key"] for each in made["h100"]["tolerations"]] == ["nvidia.com/gpu"]
    assert [each["key"] for each in made["h100-simulated"]["tolerations"]] == [
        "nvidia.com/gpu",
        "kwok.x-k8s.io/node",
    ]
    assert made["h100-simulated"]["nodeLabels"]["type"] == "kwok"


def test_disk_is_counted_for_jobs_may_ask_for_it():
    assert "ephemeral-storage" in quota(made_for("8xh100=1")["ClusterQueue/h100"])
