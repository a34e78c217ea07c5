"""Objects made fit for another cluster: what the old one gave them goes, what scheduling reads stays."""

from __future__ import annotations

from typing import Any

from tonnage.sandbox import twin_objects as made


def a_pod(node: str | None = "n", **spec: Any) -> dict[str, Any]:
    bound = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": "p", "namespace": "team", "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c"}], **bound, **spec},
        "status": {"phase": "Running"},
    }


def a_node(*, is_ready: bool = True, taints: tuple[dict[str, str], ...] = ()) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True" if is_ready else "Unknown"}
    return {
        "metadata": {"name": "n", "labels": {"zone": "a"}},
        "spec": {"taints": list(taints), "unschedulable": True},
        "status": {"capacity": {"cpu": "8"}, "conditions": [ready]},
    }


def test_identity_given_by_the_old_cluster_is_dropped_and_labels_stay() -> None:
    item = {
        "metadata": {
            "name": "p",
            "namespace": "team",
            "labels": {"app": "x"},
            "uid": "1",
            "resourceVersion": "2",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [],
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "generateName": "p-",
        },
        "spec": {},
    }

    assert made.stripped(item, "v1", "Pod") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "labels": {"app": "x"}},
        "spec": {},
    }


def test_owners_that_exist_again_are_kept_under_their_new_uid_and_others_are_not() -> None:
    original = {
        "metadata": {"ownerReferences": [{"kind": "Job", "uid": "old"}, {"kind": "Lost", "uid": "gone"}]}
    }

    owned = made.owned({"metadata": {"name": "p"}}, original, {"old": "new"})

    assert owned["metadata"]["ownerReferences"] == [{"kind": "Job", "uid": "new"}]


def test_a_node_is_given_to_kwok_and_keeps_its_own_taints_but_not_those_controllers_add() -> None:
    own = {"key": "team", "effect": "NoSchedule"}
    added = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    node = made.node(a_node(taints=(own, added)))

    assert node["spec"]["taints"] == [own]
    assert node["spec"]["unschedulable"] is True
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert node["status"]["capacity"] == {"cpu": "8"}


def test_a_node_that_was_not_ready_stays_so() -> None:
    assert "tonnage.dev/not-ready" in made.node(a_node(is_ready=False))["metadata"]["annotations"]


def test_a_bound_pod_is_left_alone_by_kwok_and_a_pending_one_is_not() -> None:
    assert made.pod(a_pod())["metadata"]["annotations"] == {"tonnage.dev/twin": "true"}
    assert made.pod(a_pod(node=None))["metadata"]["annotations"] == {}


def test_a_gated_pod_keeps_its_gates() -> None:
    gates = [{"name": "kueue.x-k8s.io/admission"}]

    assert made.pod(a_pod(node=None, schedulingGates=gates))["spec"]["schedulingGates"] == gates


def test_a_job_is_nobodys_work_and_does_not_expire() -> None:
    job = made.job({"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 1, "parallelism": 2}})

    assert job["spec"] == {"parallelism": 2, "manualSelector": True, "managedBy": "tonnage.dev/twin"}


def test_namespaces_admit_every_pod_first_and_are_guarded_again_afterwards() -> None:
    guard = {"pod-security.kubernetes.io/enforce": "restricted"}
    item = {"metadata": {"name": "team", "labels": {"a": "b", **guard}}}

    assert made.namespace(item)["metadata"]["labels"] == {"a": "b"}
    assert made.guarded_labels(item) == guard


def test_a_volume_is_bound_to_its_claim_under_the_new_uid() -> None:
    item = {
        "spec": {"claimRef": {"kind": "PersistentVolumeClaim", "name": "c", "namespace": "d", "uid": "old"}}
    }

    assert made.volume(item, {"old": "new"})["spec"]["claimRef"]["uid"] == "new"
    assert "uid" not in made.volume(item, {})["spec"]["claimRef"]


def test_a_priority_class_that_was_deleted_is_made_again_from_the_pods_that_name_it() -> None:
    pods = [a_pod(priorityClassName="gone", priority=7), a_pod(priorityClassName="system-node-critical")]

    (found,) = made.missing_priority_classes(pods, ["known"])
    assert (found["metadata"]["name"], found["value"]) == ("gone", 7)


def test_runtime_classes_and_accounts_that_pods_need_are_made() -> None:
    pod = a_pod(runtimeClassName="gvisor", overhead={"cpu": "250m"}, serviceAccountName="trainer")

    (runtime,) = made.runtime_classes([pod])
    (account,) = made.service_accounts([pod, pod])
    assert runtime["overhead"] == {"podFixed": {"cpu": "250m"}}
    assert account["metadata"] == {"name": "trainer", "namespace": "team"}


def test_a_service_gets_an_address_of_its_own_and_a_headless_one_none() -> None:
    ports = [{"port": 80, "nodePort": 30080}]
    plain = made.service({"spec": {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ports": ports}})
    headless = made.service({"spec": {"clusterIP": "None", "clusterIPs": ["None"], "ports": ports}})

    assert plain["spec"] == {"ports": [{"port": 80}]}
    assert headless["spec"] == {"clusterIP": "None", "ports": [{"port": 80}]}
