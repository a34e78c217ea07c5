#!/bin/bash
# PID 1 of one sandbox node: makes the node's private view of the machine, then keeps its programs running.
#
# It runs in mount, network, pid, uts and ipc namespaces of its own, so nothing here is seen by the machine:
# mounts are private, addresses and firewall rules live in the node's network, and when this process is killed
# the kernel ends every process of the node, as when a machine loses its power.
#
#   boot.sh ROOT      ROOT/node.env holds the node's values, ROOT/bin the programs
set -eu

# From here on the node's folder is /run/node, wherever the sandbox keeps it: also where that lies below /run or /var,
# which are about to be covered. The current folder stays reachable then, its name does not.
cd "$1"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/node /run/containerd /run/netns /run/lock
mount --no-canonicalize --bind /proc/self/cwd /run/node
cd /run/node
. ./node.env
hostname "$NODE_NAME"

# --- files: the usual paths, private contents. Whole /var and /run, so that the machine needs no mount points.
mkdir -p var log run
if [ -n "$NODE_DISK" ]; then           # a disk of its own: kubelet, logs, images and containers all on it
    [ -e disk.img ] || { truncate -s "$NODE_DISK" disk.img; mkfs.ext4 -q -F -m 0 disk.img; }
    mount -o loop disk.img var
fi
mkdir -p var/lib/kubelet var/lib/containerd var/lib/cni var/log/pods var/log/containers var/tmp
[ -e var/run ] || ln -s /run var/run
mount --rbind var /var
export TMPDIR=/var/tmp                 # nothing is left in the machine's /tmp

# The kubelet sets these for the whole machine when they differ. It finds what it wants and writes nothing.
settle() { mkdir -p run/sysctl; echo "$2" >"run/sysctl/$1"; mount --bind "run/sysctl/$1" "/proc/sys/${1//.//}"; }
settle vm.overcommit_memory 1
settle vm.panic_on_oom 0
settle kernel.panic 10
settle kernel.panic_on_oops 1
settle kernel.keys.root_maxkeys 1000000
settle kernel.keys.root_maxbytes 25000000

# --- network: the cable is plugged in from outside
until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
ip link set lo up
ip addr add "$NODE_ADDRESS/24" dev eth0
ip link set eth0 up
ip route add default via "$HOST_ADDRESS"
ip link add pods0 type bridge          # the pods' bridge is here before the first pod: DNS listens on it
ip addr add "$POD_GATEWAY/24" dev pods0
ip link set pods0 up
echo "$PEER_ROUTES" | while read -r subnet peer; do [ -z "$subnet" ] || ip route add "$subnet" via "$peer"; done
echo 1 >/proc/sys/net/ipv4/ip_forward

# --- programs: each is started again when it ends; its number is in run/NAME.pid for whoever wants to restart it
keep() {
    local name=$1
    shift
    while :; do
        "$@" >>"log/$name.log" 2>&1 </dev/null &
        echo $! >"run/$name.pid"
        wait $! || echo "$name ended with $?, starting it again" >>"log/$name.log"
        sleep 0.5
    done
}

keep containerd containerd --config /run/node/containerd.toml &
keep coredns bin/coredns -conf /run/node/Corefile &
keep kube-proxy bin/kube-proxy --config /run/node/kube-proxy.yaml &

ctr() { command ctr --namespace k8s.io "$@"; }
until ctr version >/dev/null 2>&1; do sleep 0.05; done
if [ ! -e /var/lib/images-imported ]; then
    for image in images/*.tar; do ctr images import "$image" >>log/images.log 2>&1; done
    touch /var/lib/images-imported
fi

keep kubelet bin/kubelet --config /run/node/kubelet.yaml $KUBELET_FLAGS &

wait
