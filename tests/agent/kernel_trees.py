"""Kernel files as text, planted into folders: what `cat` shows on machines of each kind.

The version 2 files are in the form kernel 6.8 writes them (names, order and units of its cgroup-v2 and PSI documents),
with one container under a pod under `kubepods.slice`, as a kubelet with the systemd driver makes it.
"""

# ruff: noqa: E501 - text as programs and kernels write it
from __future__ import annotations

from pathlib import Path

MIB = 1 << 20
POD = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7a1c.slice"
CONTAINER = f"{POD}/cri-containerd-9f3e.scope"
V2_MEMORY = {
    "memory.current": "2952790016\n",
    "memory.peak": "3221225472\n",
    "memory.max": "4294967296\n",
    "memory.high": "max\n",
    "memory.swap.current": "0\n",
    "memory.events": "low 0\nhigh 0\nmax 1812\noom 3\noom_kill 2\noom_group_kill 1\n",
    "memory.stat": (
        "anon 1610612736\nfile 1073741824\nkernel 209715200\nkernel_stack 5242880\npagetables 31457280\n"
        "sec_pagetables 0\npercpu 1048576\nsock 2097152\nvmalloc 524288\nshmem 268435456\nzswap 0\nzswapped 0\n"
        "file_mapped 134217728\nfile_dirty 0\nfile_writeback 0\nswapcached 0\nanon_thp 1207959552\nfile_thp 0\n"
        "shmem_thp 0\ninactive_anon 1879048192\nactive_anon 0\ninactive_file 536870912\nactive_file 268435456\n"
        "unevictable 0\nslab_reclaimable 146800640\nslab_unreclaimable 20971520\nslab 167772160\n"
        "workingset_refault_anon 0\npgfault 912381\npgmajfault 120\n"
    ),
    "memory.pressure": (
        "some avg10=12.31 avg60=4.02 avg300=1.10 total=8123456\nfull avg10=3.10 avg60=1.00 avg300=0.21 total=2123456\n"
    ),
}
V2_CPU = {
    "cpu.stat": (
        "usage_usec 918273645\nuser_usec 900000000\nsystem_usec 18273645\ncore_sched.force_idle_usec 0\n"
        "nr_periods 9000\nnr_throttled 450\nthrottled_usec 31000000\nnr_bursts 0\nburst_usec 0\n"
    ),
    "cpu.max": "800000 100000\n",
    "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=777\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
}
V2_IO = {
    "io.stat": (
        "259:0 rbytes=1000000 wbytes=2000000 rios=10 wios=20 dbytes=0 dios=0\n"
        "8:16 \n"
        "252:0 rbytes=500 wbytes=0 rios=5 wios=0 dbytes=0 dios=0\n"
    ),
    "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=555\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=44\n",
}
V1_MEMORY = {
    "memory.usage_in_bytes": "1048576000\n",
    "memory.limit_in_bytes": "9223372036854771712\n",
    "memory.max_usage_in_bytes": "1258291200\n",
    "memory.failcnt": "17\n",
    "memory.stat": (
        "cache 300\nrss 600\ntotal_cache 314572800\ntotal_rss 629145600\ntotal_shmem 52428800\ntotal_swap 0\n"
        "total_inactive_file 209715200\nhierarchical_memory_limit 2147483648\n"
        "hierarchical_memsw_limit 9223372036854771712\n"
    ),
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
}
V1_CPU = {
    "cpu.stat": "nr_periods 100\nnr_throttled 7\nthrottled_time 9000000000\n",
    "cpu.cfs_quota_us": "250000\n",
    "cpu.cfs_period_us": "100000\n",
}
V1_IO = {
    "blkio.throttle.io_service_bytes_recursive": (
        "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n8:0 Async 0\n8:0 Discard 0\n8:0 Total 12288\n"
        "8:16 Read 4\n8:16 Write 8\n8:16 Total 12\nTotal 12300\n"
    )
}
NET_DEV = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
    "    lo: 999999   100    0    0    0     0          0         0   999999     100    0    0    0     0       0          0\n"
    "  eth0: 5000000  4000   0    2    0     0          0         0   7000000    5000    0    1    0     0       0          0\n"
    "  net1:1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n"
)
NET_SNMP = (
    "Ip: Forwarding DefaultTTL InReceives\nIp: 1 64 18890\n"
    "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs "
    "RetransSegs InErrs OutRsts InCsumErrors\n"
    "Tcp: 1 200 120000 -1 11 12 0 3 4 90000 80000 123 0 5 0\n"
    "Udp: InDatagrams NoPorts\nUdp: 1 2\n"
)


def plant(folder: Path, *trees: dict[str, str]) -> Path:
    """Write files below a folder."""
    for tree in trees:
        for name, text in tree.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder


def plant_v2_container(root: Path) -> str:
    """A container as the host sees it, limits on every level; what /proc/self/cgroup would say."""
    plant(root / CONTAINER, V2_MEMORY, V2_CPU, V2_IO)
    plant(root / POD, {"memory.max": "3758096384\n", "cpu.max": "400000 100000\n"})
    plant(root / "kubepods.slice", {"memory.max": "64424509440\n", "cpu.max": "max 100000\n"})
    return f"0::/{CONTAINER}\n"
