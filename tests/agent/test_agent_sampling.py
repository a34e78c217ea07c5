"""Every number the kernel tells is read from trees of each kind: version 2, version 1, both, nested, absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kernel_trees import (
    CONTAINER,
    MIB,
    NET_DEV,
    NET_SNMP,
    POD,
    V1_CPU,
    V1_IO,
    V1_MEMORY,
    V2_CPU,
    V2_IO,
    V2_MEMORY,
    plant,
    plant_v2_container,
)  # fmt: skip

from tonnage_agent.cgroup import read_sample
from tonnage_agent.sampling.block_io import BlockIo, read_block_io
from tonnage_agent.sampling.cpu import CpuUse, read_cpu
from tonnage_agent.sampling.network import read_network
from tonnage_agent.sampling.pressure import Pressure, read_pressure
from tonnage_agent.sampling.space import read_room


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cgroup"


def sample_of(root: Path, self_cgroup: str):
    (root.parent / "self").write_text(self_cgroup)
    return read_sample(1.0, root=root, self_cgroup=root.parent / "self")


class TestVersion2:
    def test_all_of_a_containers_memory_is_told(self, root):
        sample = sample_of(root, plant_v2_container(root))

        assert sample.source == "cgroup-v2"
        assert (sample.usage_bytes, sample.peak_bytes) == (2816 * MIB, 3072 * MIB)
        assert sample.working_set_bytes == (2816 - 512) * MIB
        assert (sample.anon_bytes, sample.file_bytes, sample.shmem_bytes) == (
            1536 * MIB,
            1024 * MIB,
            256 * MIB,
        )
        assert (sample.oom_kills, sample.oom_events, sample.limit_hits, sample.throttle_events) == (
            2,
            3,
            1812,
            0,
        )
        assert (sample.waiting_micros, sample.stalled_micros) == (8123456, 2123456)

    def test_the_pods_wall_counts_where_it_is_nearer(self, root):
        assert sample_of(root, plant_v2_container(root)).limit_bytes == 3758096384

    def test_kernel_memory_is_what_cannot_be_reclaimed(self, root):
        sample = sample_of(root, plant_v2_container(root))

        assert sample.kernel_bytes == 20971520 + 5242880 + 31457280 + 1048576 + 2097152 + 524288
        assert sample.needed_bytes == 1536 * MIB + 256 * MIB + sample.kernel_bytes

    def test_inside_the_container_the_root_is_ours(self, root):
        plant(root, V2_MEMORY, V2_CPU, V2_IO)

        assert sample_of(root, "0::/\n").limit_bytes == 4096 * MIB
        assert read_cpu("0::/\n", root).used_micros == 918273645
        assert read_block_io("0::/\n", root).read_bytes == 1000500

    def test_an_older_kernel_leaves_out_what_it_does_not_know(self, root):
        files = {
            name: text for name, text in V2_MEMORY.items() if name not in ("memory.peak", "memory.pressure")
        }
        plant(root, files, {"memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"})
        sample = sample_of(root, "0::/\n")

        assert (sample.peak_bytes, sample.stalled_micros, sample.oom_kills) == (None, None, 0)

    def test_cpu_use_and_the_nearest_limit(self, root):
        self_cgroup = plant_v2_container(root)

        assert read_cpu(self_cgroup, root) == CpuUse(918273645, 31000000, 450, 9000, 4.0, 777)

    def test_block_io_of_all_devices_is_added_up(self, root):
        self_cgroup = plant_v2_container(root)

        assert read_block_io(self_cgroup, root) == BlockIo(1000500, 2000000, 15, 20, 555)

    def test_files_that_make_no_sense_are_passed_over(self, root):
        plant(
            root, V2_MEMORY, {"memory.stat": "anon x\n\nfile\n", "memory.pressure": "garbage\nsome total=\n"}
        )
        plant(root, {"cpu.max": "x y\n", "cpu.stat": "usage_usec 5\n", "io.stat": "8:0 rbytes=a =3 wbytes\n"})
        sample = sample_of(root, "0::/\n")

        assert (sample.anon_bytes, sample.waiting_micros) == (None, None)
        assert sample.needed_bytes == sample.working_set_bytes
        assert read_cpu("0::/\n", root) == CpuUse(5)
        assert read_block_io("0::/\n", root) == BlockIo(0, 0, 0, 0)


class TestVersion1:
    SELF = "4:memory:/a\n2:cpu,cpuacct:/a\n7:blkio:/a\n"

    def test_memory(self, root):
        plant(root / "memory/a", V1_MEMORY)
        sample = sample_of(root, self.SELF)

        assert (sample.limit_bytes, sample.oom_kills, sample.limit_hits) == (2048 * MIB, 4, 17)
        assert sample.needed_bytes == 650 * MIB

    def test_cpu_from_a_joint_mount(self, root):
        plant(root / "cpu,cpuacct/a", V1_CPU, {"cpuacct.usage": "5000000000\n"})

        assert read_cpu(self.SELF, root) == CpuUse(5000000, 9000000, 7, 100, 2.5)

    def test_cpu_from_two_mounts(self, root):
        plant(root / "cpu/a", V1_CPU)
        plant(root / "cpuacct/a", {"cpuacct.usage": "5000000000\n"})

        assert read_cpu("1:cpu:/a\n2:cpuacct:/a\n", root).used_micros == 5000000

    def test_no_limit_is_none(self, root):
        plant(root / "cpu,cpuacct/a", V1_CPU, {"cpu.cfs_quota_us": "-1\n", "cpuacct.usage": "5\n"})

        assert read_cpu(self.SELF, root).limit_cores is None

    def test_block_io(self, root):
        plant(root / "blkio/a", V1_IO)

        assert read_block_io(self.SELF, root) == BlockIo(4100, 8200)

    def test_the_machines_own_root_is_not_ours(self, root):
        plant(root / "cpu", V1_CPU, {"cpuacct.usage": "5\n", "release_agent": ""})
        plant(root / "blkio", V1_IO, {"release_agent": ""})

        assert read_cpu("2:cpu:/\n", root) is None
        assert read_block_io("7:blkio:/\n", root) is None


class TestHybrid:
    def test_each_controller_is_read_where_it_is(self, root):
        plant(root / "memory/a", V1_MEMORY)
        plant(root / "unified/a", V2_CPU, V2_IO)
        self_cgroup = "4:memory:/a\n0::/a\n"

        assert sample_of(root, self_cgroup).source == "cgroup-v1"
        assert read_cpu(self_cgroup, root).throttled_periods == 450
        assert read_block_io(self_cgroup, root).writes == 20

    def test_limits_above_an_inner_cgroup_are_found_in_the_unified_mount(self, root):
        plant_v2_container(root / "unified")

        assert sample_of(root, f"1:name=systemd:/x\n0::/{CONTAINER}\n").limit_bytes == 3758096384
        assert (root / "unified" / POD).is_dir()


def test_nothing_mounted_is_no_numbers(root):
    assert read_cpu("0::/\n", root) is None
    assert read_block_io("", root) is None
    assert read_pressure(root / "none") == Pressure()


class TestNetwork:
    def test_bytes_of_all_interfaces_but_the_loopback(self, tmp_path):
        plant(tmp_path, {"net/dev": NET_DEV, "net/snmp": NET_SNMP})
        found = read_network(proc=tmp_path, sys=tmp_path)

        assert (found.received_bytes, found.sent_bytes, found.dropped_packets) == (5001000, 7002000, 3)
        assert (found.segments_sent, found.segments_again, found.rdma) == (80000, 123, ())

    def test_rdma_ports_count_in_words_and_tell_their_troubles(self, tmp_path):
        port = "class/infiniband/mlx5_0/ports/1"
        plant(
            tmp_path,
            {f"{port}/counters/port_rcv_data": "1000\n", f"{port}/counters/port_xmit_data": "250\n",
             f"{port}/counters/symbol_error": "0\n", f"{port}/counters/port_xmit_wait": "9\n",
             f"{port}/hw_counters/out_of_sequence": "7\n"},
        )  # fmt: skip
        (found,) = read_network(proc=tmp_path, sys=tmp_path).rdma

        assert (found.name, found.received_bytes, found.sent_bytes) == ("mlx5_0/1", 4000, 1000)
        assert found.troubles == {"port_xmit_wait": 9, "out_of_sequence": 7}

    def test_this_machine_can_be_read(self):
        assert read_network().received_bytes >= 0


class TestRoom:
    def test_a_folder_that_is_not_there_yet_is_the_one_above(self, tmp_path):
        room, above = read_room(str(tmp_path / "not" / "yet")), os.statvfs(tmp_path)

        assert room.path == str(tmp_path / "not" / "yet")
        assert room.total_bytes == above.f_blocks * above.f_frsize

    def test_no_such_place_is_no_number(self):
        assert read_room("nowhere/at/all") is None
