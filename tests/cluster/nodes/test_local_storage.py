"""A pod that breaks its own disk limit."""

from node_builders import GIB, MIB, a_container, a_pod, usage

from tonnage.cluster.messages.eviction import ContainerOverLimit, EmptyDirOverLimit, PodOverLimit
from tonnage.cluster.node.local_storage import limit_breach


def measured(*, total=0, volume=0, logs=0, rootfs=0):
    return usage(
        "p",
        containers=[{"name": "c", "logs": {"usedBytes": logs}, "rootfs": {"usedBytes": rootfs}}],
        volume=[{"name": "v", "usedBytes": volume}],
        **{"ephemeral-storage": {"usedBytes": total}},
    )


def limited(**parts):
    return a_pod(
        "p",
        a_container("c", limits={"ephemeral-storage": "50Mi"}),
        a_container("d"),
        volumes=[{"name": "v", "emptyDir": {"sizeLimit": "10Mi"}}],
        **parts,
    )


def test_the_volume_is_looked_at_before_the_pod_and_the_pod_before_the_container():
    everything = measured(total=90 * MIB, volume=11 * MIB, rootfs=80 * MIB)
    assert limit_breach(limited(), everything) == EmptyDirOverLimit("v", "10Mi")
    assert limit_breach(limited(), measured(total=90 * MIB, rootfs=80 * MIB)) == PodOverLimit("50Mi")
    assert limit_breach(limited(), measured(total=40 * MIB, rootfs=80 * MIB)) == ContainerOverLimit(
        "c", "50Mi"
    )


def test_exactly_at_the_limit_is_still_within():
    assert limit_breach(limited(), measured(total=50 * MIB, volume=10 * MIB, rootfs=50 * MIB)) is None


def test_a_limit_on_one_container_caps_the_whole_pod():
    assert limit_breach(limited(), measured(total=51 * MIB)) == PodOverLimit("50Mi")


def test_limits_of_several_containers_add_up():
    pod = a_pod(
        "p",
        a_container("c", limits={"ephemeral-storage": "50Mi"}),
        a_container("d", limits={"ephemeral-storage": "14Mi"}),
    )
    assert limit_breach(pod, measured(total=65 * MIB)) == PodOverLimit("64Mi")


def test_writable_layers_do_not_count_for_a_container_when_images_have_a_disk_of_their_own():
    heavy = measured(rootfs=80 * MIB)
    assert limit_breach(limited(), heavy, dedicated_image_fs=True) is None
    assert limit_breach(limited(), measured(logs=80 * MIB), dedicated_image_fs=True) is not None


def test_unmeasured_and_critical_pods_are_left_alone():
    assert limit_breach(limited(), None) is None
    assert limit_breach(limited(priority=2_000_000_000), measured(total=90 * MIB)) is None


def test_a_zero_size_limit_is_no_limit():
    pod = a_pod("p", a_container(), volumes=[{"name": "v", "emptyDir": {"sizeLimit": "0"}}])
    assert limit_breach(pod, measured(volume=GIB)) is None
