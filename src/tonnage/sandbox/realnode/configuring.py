"""What each program of a real node is told, as text. Pure: a node's layout in, file contents out.

Where a setting differs from a usual node there is a reason, and it is one of three: the node shares a
machine with its neighbours (cgroup root, private sockets), root here may lack CAP_SYS_RESOURCE
(`oom_score`, `oomScoreAdj`, `restrict_oom_score_adj`: nobody may lower a score), or a sandbox should answer
quickly (status and sync periods).

Inside its mount namespace a node sees its own folder as /run/node and its own /var and /run, so the paths
below are the usual ones and no two nodes meet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tonnage.sandbox.realnode.images import PAUSE
from tonnage.sandbox.realnode.layout import INSIDE, POD_NETWORK, RealNode

CLUSTER_DOMAIN = "cluster.local"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CNI_PLUGINS = "/usr/lib/cni"

Json = dict[str, Any]


def containerd_toml(*, may_lower_oom_scores: bool) -> str:
    """containerd with its CRI plugin; only what differs from its defaults."""
    restricted = "false" if may_lower_oom_scores else "true"
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
temp = "/var/lib/containerd/tmp"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = {restricted}

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_PLUGINS}"
  conf_dir = "{INSIDE}/cni"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def cni_conflist(node: RealNode) -> str:
    """Pods on a bridge of their own, with host ports."""
    bridge = {
        "type": "bridge",
        "bridge": "pods0",
        "isGateway": True,
        "isDefaultGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": str(node.pod_subnet)}]]},
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, portmap]}, indent=2)


def kubelet_config(
    node: RealNode,
    overrides: Mapping[str, Any],
    *,
    has_own_disk: bool = False,
    fast_node_loss: bool = False,
) -> Json:
    """The KubeletConfiguration, with the caller's overrides merged in last (maps deeply, lists whole)."""
    room = "10%" if has_own_disk else "1Gi"
    config: Json = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "oomScoreAdj": 0,
        "address": str(node.address),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{INSIDE}/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{INSIDE}/pki/kubelet.crt",
        "tlsPrivateKeyFile": f"{INSIDE}/pki/kubelet.key",
        "clusterDNS": [str(node.pod_gateway)],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": f"{INSIDE}/resolv.conf",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "makeIPTablesUtilChains": False,
        "failSwapOn": False,
        # A machine may be nearly full before the sandbox starts: the room left counts, not the share.
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": room, "imagefs.available": room},
        "imageGCHighThresholdPercent": 100,
        "systemReserved": {"memory": "256Mi"},
        "serializeImagePulls": False,
    }
    if fast_node_loss:
        config |= {"nodeStatusUpdateFrequency": "2s", "nodeLeaseDurationSeconds": 8}
    return merged(config, overrides)


def merged(config: Json, overrides: Mapping[str, Any]) -> Json:
    """`config` with `overrides` laid over it; a null removes a key."""
    result = dict(config)
    for key, value in overrides.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), dict) and key not in _WHOLE:
            result[key] = merged(result[key], value)
        else:
            result[key] = dict(value) if isinstance(value, Mapping) else value
    return result


# Thresholds are a set, not a patch: whoever names one means exactly those.
_WHOLE = frozenset({"evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"})


def kubelet_flags(node: RealNode, labels: Mapping[str, str]) -> Sequence[str]:
    """What the kubelet takes only on its command line."""
    return (
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        f"--kubeconfig={INSIDE}/kubelet.kubeconfig",
        "--root-dir=/var/lib/kubelet",
        # For cAdvisor: without the socket its container labels are empty; ten seconds is too old to watch.
        f"--containerd={CONTAINERD_SOCKET}",
        "--containerd-namespace=k8s.io",
        "--housekeeping-interval=2s",
        "--node-labels=" + ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
    )


def kube_proxy_config(node: RealNode) -> Json:
    """Services by nftables, in the node's own network; conntrack limits belong to the machine and stay."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": node.name,
        "clientConnection": {"kubeconfig": f"{INSIDE}/kube-proxy.kubeconfig"},
        "clusterCIDR": str(POD_NETWORK),
        "nodePortAddresses": ["primary"],
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def corefile(node: RealNode) -> str:
    """Names of Services and of the pods behind headless ones, for this node's pods."""
    return f"""\
{CLUSTER_DOMAIN}:53 in-addr.arpa:53 {{
    bind {node.pod_gateway}
    errors
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {INSIDE}/coredns.kubeconfig
        pods insecure
        ttl 2
    }}
}}
"""


def node_env(
    node: RealNode, peers: Sequence[RealNode], *, labels: Mapping[str, str], disk_bytes: int | None
) -> str:
    """The values boot.sh reads."""
    routes = "\n".join(f"{peer.pod_subnet} {peer.address}" for peer in peers if peer != node)
    values = {
        "NODE_NAME": node.name,
        "NODE_ADDRESS": str(node.address),
        "NODE_DISK": "" if disk_bytes is None else str(disk_bytes),
        "HOST_ADDRESS": str(node.wire.host_address),
        "POD_GATEWAY": str(node.pod_gateway),
        "PEER_ROUTES": routes,
        "KUBELET_FLAGS": " ".join(kubelet_flags(node, labels)),
    }
    return "".join(f"{name}='{value}'\n" for name, value in values.items())
