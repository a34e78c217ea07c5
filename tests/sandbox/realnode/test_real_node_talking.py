"""Pods on two real nodes find each other, Services work, and the API server reaches into the nodes."""

from __future__ import annotations

import json

import pytest
from real_node_cluster import LiveCluster, a_pod, python

pytestmark = [pytest.mark.realnode, pytest.mark.sandbox, pytest.mark.xdist_group("realnode")]

RANK = python(
    "import os, socket, time",
    "rank = int(os.environ['JOB_COMPLETION_INDEX'])",
    "if rank == 0:",
    "    peer, address = socket.create_server(('0.0.0.0', 29500)).accept()",
    "    print(peer.recv(9).decode()); peer.sendall(b'pong')",
    "while rank == 1:",
    "    try:",
    "        peer = socket.create_connection(('ranks-0.ranks', 29500), timeout=5)",
    "        peer.sendall(b'ping'); print(peer.recv(9).decode()); break",
    "    except OSError:",
    "        time.sleep(0.2)",
)


def a_service(name: str, selector: dict[str, str], **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": selector, **spec},
    }


def test_ranks_on_two_nodes_reach_each_other_by_name(cluster: LiveCluster) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"job-name": "ranks"}},
    }
    pod = a_pod("rank", *RANK, subdomain="ranks", topologySpreadConstraints=[spread])["spec"]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ranks"},
        "spec": {
            "completions": 2,
            "parallelism": 2,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": {"spec": pod},
        },
    }
    headless = a_service("ranks", {"job-name": "ranks"}, clusterIP="None", publishNotReadyAddresses=True)

    cluster.create(headless, job)
    cluster.sandbox.api.wait(
        "/apis/batch/v1/namespaces/default/jobs/ranks",
        lambda job: job["status"].get("succeeded") == 2,
        seconds=60,
    )

    pods = cluster.sandbox.api.get("/api/v1/namespaces/default/pods?labelSelector=job-name=ranks")["items"]
    assert {pod["spec"]["nodeName"] for pod in pods} == {"real-1", "real-2"}
    assert {cluster.logs(pod["metadata"]["name"]).strip() for pod in pods} == {"ping", "pong"}


def test_a_service_address_leads_to_a_pod_on_the_other_node(cluster: LiveCluster) -> None:
    server = a_pod("web", "python3", "-m", "http.server", "8000", nodeName="real-1")
    cluster.create(server, a_service("web", {"app": "web"}, ports=[{"port": 80, "targetPort": 8000}]))
    cluster.running("web")
    address = cluster.sandbox.api.get("/api/v1/namespaces/default/services/web")["spec"]["clusterIP"]
    ask = (
        "import urllib.request, time",
        "def status(url):",
        "    while True:",
        "        try: return urllib.request.urlopen(url, timeout=5).status",
        "        except OSError: time.sleep(0.2)",
        f"print(status('http://{address}/'), status('http://web.default.svc.cluster.local/'), status('http://web/'))",
    )

    cluster.run(a_pod("asks-web", *python(*ask), nodeName="real-2"))

    assert cluster.logs("asks-web").strip() == "200 200 200"
    cluster.delete("web")


def test_a_pod_can_ask_the_api_server_with_its_own_token(cluster: LiveCluster) -> None:
    ask = (
        "import ssl, urllib.request, urllib.error",
        "folder = '/var/run/secrets/kubernetes.io/serviceaccount/'",
        "tls = ssl.create_default_context(cafile=folder + 'ca.crt')",
        "head = {'Authorization': 'Bearer ' + open(folder + 'token').read()}",
        "url = 'https://kubernetes.default.svc/api/v1/namespaces/default/pods'",
        "try: urllib.request.urlopen(urllib.request.Request(url, headers=head), context=tls)",
        "except urllib.error.HTTPError as no: print(no.code, no.read().decode())",
    )

    cluster.run(a_pod("asks-api", *python(*ask)))

    said = cluster.logs("asks-api")
    # Known by name and refused by RBAC: the token was read, carried and judged.
    assert said.startswith("403")
    assert "system:serviceaccount:default:default" in said


def test_kubectl_exec_and_the_kubelet_statistics_go_through_the_api_server(cluster: LiveCluster) -> None:
    cluster.create(a_pod("lives", "sleep", "600", image="local/busybox:1"))
    node = cluster.running("lives")["spec"]["nodeName"]

    assert cluster.kubectl("exec", "lives", "--", "hostname") == "lives\n"
    summary = json.loads(cluster.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/stats/summary"))
    assert "lives" in [pod["podRef"]["name"] for pod in summary["pods"]]
    cluster.delete("lives")
