"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler as plain processes.

They are the released programs with their usual switches: RBAC and the Node authorizer on, service accounts
on, every connection authenticated by a certificate of the sandbox's own authority. What later parts need (the
front proxy for aggregated APIs, the client certificate for kubelets) is switched on from the start, so that
nothing has to restart. The API server listens on loopback, or on the sandbox's bridge when real nodes must
reach it; everything else only ever on loopback. etcd does not sync to disk: a sandbox is thrown away, and
waiting for disks is most of what etcd does.
"""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

from tonnage.sandbox.kubeconfig import write_kubeconfig
from tonnage.sandbox.pki import ADMINS, Pair
from tonnage.sandbox.processes import start, wait_until
from tonnage.sandbox.state import Sandbox

SERVICE_RANGE = "10.96.0.0/16"
SERVICE_ADDRESS = "10.96.0.1"
ISSUER = "https://kubernetes.default.svc.cluster.local"
PORTS = ("etcd", "etcd-peer", "apiserver", "kcm", "scheduler", "kwok")
READY_SECONDS = 240
"""Usually three; a machine busy with other things takes very much longer, and a part that ends is seen at once."""
# They would make, adopt, evict or remove pods of a twin, which must stay as it was saved.
_RESTING_IN_A_TWIN = (
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "horizontal-pod-autoscaler-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
)


def prepare(sandbox: Sandbox) -> None:
    """Make the certificates and the administrator's kubeconfig."""
    sandbox.pki.create()
    admin = sandbox.pki.issue("admin", common_name="tonnage-admin", organization=ADMINS)
    write_kubeconfig(
        sandbox.kubeconfig,
        server=sandbox.server,
        ca=sandbox.pki.ca.cert,
        pair=admin,
        user="tonnage-admin",
        cluster=f"tonnage-{sandbox.name}",
    )


def start_control_plane(sandbox: Sandbox) -> None:
    """Start etcd and the API server, return when the API is ready; the rest is started, not waited for."""
    _start_etcd(sandbox)
    serving = _api_server_arguments(sandbox)
    wait_until(sandbox, "etcd", lambda: _listens("127.0.0.1", sandbox.port("etcd")), what="listens")
    start(sandbox, "kube-apiserver", serving, tier="apiserver")
    with ThreadPoolExecutor(2) as pool:
        # Their certificates are made while the API server starts.
        manager = pool.submit(_controller_manager_arguments, sandbox)
        scheduler = pool.submit(_scheduler_arguments, sandbox)
    wait_until(
        sandbox, "kube-apiserver", sandbox.api.is_ready, seconds=READY_SECONDS, what="says it is ready"
    )
    # Started only now: earlier they would find no API server, and back off for longer than they wait here.
    start(sandbox, "kube-controller-manager", manager.result(), tier="plane")
    start(sandbox, "kube-scheduler", scheduler.result(), tier="plane")


def wait_for_service_accounts(sandbox: Sandbox) -> None:
    """Return when pods can be created: each needs its namespace's service account, made by a controller."""
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    wait_until(
        sandbox, "kube-controller-manager", lambda: sandbox.api.exists(path), what="makes service accounts"
    )


def _start_etcd(sandbox: Sandbox) -> None:
    pair = sandbox.pki.issue("etcd", common_name="etcd", hosts=("127.0.0.1", "localhost"))
    client = f"https://127.0.0.1:{sandbox.port('etcd')}"
    peer = f"https://127.0.0.1:{sandbox.port('etcd-peer')}"
    authority = str(sandbox.pki.ca.cert)
    flags = {
        "name": "sandbox",
        "data-dir": str(sandbox.places.etcd),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"sandbox={peer}",
        "cert-file": str(pair.cert),
        "key-file": str(pair.key),
        "client-cert-auth": "true",
        "trusted-ca-file": authority,
        "peer-cert-file": str(pair.cert),
        "peer-key-file": str(pair.key),
        "peer-client-cert-auth": "true",
        "peer-trusted-ca-file": authority,
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": str(8 * 1024**3),
        "log-level": "warn",
    }
    start(sandbox, "etcd", _command(sandbox, "etcd", flags), tier="etcd")


def _api_server_arguments(sandbox: Sandbox) -> list[str]:
    pki = sandbox.pki
    hosts = [
        "127.0.0.1",
        "localhost",
        sandbox.address,
        SERVICE_ADDRESS,
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    serving = pki.issue("kube-apiserver", common_name="kube-apiserver", hosts=dict.fromkeys(hosts))
    kubelet_client = pki.issue(
        "kubelet-client", common_name="kube-apiserver-kubelet-client", organization=ADMINS
    )
    front_proxy = pki.issue("front-proxy-client", common_name="front-proxy-client", by=pki.front_proxy_ca)
    flags = {
        "etcd-servers": f"https://127.0.0.1:{sandbox.port('etcd')}",
        "etcd-cafile": str(pki.ca.cert),
        "etcd-certfile": str(kubelet_client.cert),
        "etcd-keyfile": str(kubelet_client.key),
        "bind-address": sandbox.address,
        "advertise-address": sandbox.address,
        # A loopback address cannot be the endpoint of the service `kubernetes`; no pod could use it either.
        "endpoint-reconciler-type": "lease" if sandbox.request.real_nodes else "none",
        "secure-port": str(sandbox.port("apiserver")),
        "tls-cert-file": str(serving.cert),
        "tls-private-key-file": str(serving.key),
        "client-ca-file": str(pki.ca.cert),
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "service-account-issuer": ISSUER,
        "service-account-key-file": str(pki.service_account_public_key),
        "service-account-signing-key-file": str(pki.service_account_key),
        "service-cluster-ip-range": SERVICE_RANGE,
        "allow-privileged": "true",
        "max-requests-inflight": "1600",
        "max-mutating-requests-inflight": "800",
        "profiling": "false",
        **_kubelet_flags(kubelet_client, pki.ca),
        **_front_proxy_flags(front_proxy, pki.front_proxy_ca),
    }
    return _command(sandbox, "kube-apiserver", flags)


def _kubelet_flags(client: Pair, authority: Pair) -> dict[str, str]:
    return {
        "kubelet-client-certificate": str(client.cert),
        "kubelet-client-key": str(client.key),
        "kubelet-certificate-authority": str(authority.cert),
        "kubelet-preferred-address-types": "InternalIP,Hostname",
    }


def _front_proxy_flags(client: Pair, authority: Pair) -> dict[str, str]:
    return {
        "requestheader-client-ca-file": str(authority.cert),
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-username-headers": "X-Remote-User",
        "proxy-client-cert-file": str(client.cert),
        "proxy-client-key-file": str(client.key),
    }


def _controller_manager_arguments(sandbox: Sandbox) -> list[str]:
    name = "system:kube-controller-manager"
    pki = sandbox.pki
    flags = {
        **_client_flags(sandbox, "kube-controller-manager", name, "kcm"),
        "root-ca-file": str(pki.ca.cert),
        "service-account-private-key-file": str(pki.service_account_key),
        "cluster-signing-cert-file": str(pki.ca.cert),
        "cluster-signing-key-file": str(pki.ca.key),
        "use-service-account-credentials": "true",
        "allocate-node-cidrs": "false",
        "kube-api-qps": "200",
        "kube-api-burst": "400",
        # Usage counted while pods were still on their way is otherwise wrong for five minutes.
        "resource-quota-sync-period": "10s",
    }
    if sandbox.request.snapshot is not None:
        flags["controllers"] = ",".join(["*", *(f"-{name}" for name in _RESTING_IN_A_TWIN)])
    if sandbox.request.fast_node_loss:
        flags |= {
            "node-monitor-grace-period": "8s",
            "node-monitor-period": "1s",
            "node-eviction-rate": "10",
        }
    return _command(sandbox, "kube-controller-manager", flags)


def _scheduler_arguments(sandbox: Sandbox) -> list[str]:
    flags = {
        **_client_flags(sandbox, "kube-scheduler", "system:kube-scheduler", "scheduler"),
        "kube-api-qps": "200",
        "kube-api-burst": "400",
    }
    return _command(sandbox, "kube-scheduler", flags)


def _client_flags(sandbox: Sandbox, name: str, common_name: str, port: str) -> dict[str, str]:
    kubeconfig = str(sandbox.kubeconfig_for(name, common_name=common_name, organization=""))
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": str(sandbox.port(port)),
        "leader-elect": "false",
    }


def _command(sandbox: Sandbox, name: str, flags: dict[str, str]) -> list[str]:
    return [str(sandbox.binary(name)), *(f"--{flag}={value}" for flag, value in flags.items())]


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
