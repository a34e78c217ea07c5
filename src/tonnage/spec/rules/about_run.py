"""Rules about a Run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tonnage.cluster.gpus import find_gpu, nearest_gpus
from tonnage.spec.literals import Duration, Place, Size
from tonnage.spec.mistakes import Path
from tonnage.spec.parts import field_name
from tonnage.spec.rules.about_money import budget_is_a_wall, price_is_a_rate
from tonnage.spec.rules.about_patch import patch_is_a_pod, patch_is_well_spelt
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.rules.secrets import looks_secret
from tonnage.spec.run import Run
from tonnage.spec.run.storage import Volume

_SOURCES = ("pvc", "nfs", "empty_dir", "secret", "config_map", "host_path")
_SINGLE_POD = ("Job", "local")
_UNDOES = {
    "CUDA_VISIBLE_DEVICES": "Kubernetes chooses the GPUs; setting it can show another pod's or hide yours",
    "NVIDIA_VISIBLE_DEVICES": "Kubernetes chooses the GPUs; setting it shows GPUs that are not yours",
    "WORLD_SIZE": "it is set for each rank",
    "RANK": "it is set for each rank",
    "LOCAL_RANK": "it is set for each rank",
}
_FRAMEWORK_OF = {
    "PyTorchJob": ("torch", "deepspeed"),
    "TFJob": ("tensorflow",),
    "MPIJob": ("mpi", "horovod", "deepspeed"),
}


def deadline_before_checkpoint(run: Run) -> Iterator[Remark]:
    """A run that is stopped before its first checkpoint keeps nothing."""
    checkpoints, deadline = run.spec.checkpoints, run.spec.deadline
    if checkpoints is None or deadline is None or checkpoints.every.duration is None:
        return
    if deadline <= checkpoints.every.duration:
        yield Remark(
            code="DOC-034",
            path=("spec", "deadline"),
            what=f"the run ends after {deadline}, before its first checkpoint at {checkpoints.every}",
            expected="a deadline longer than checkpoints.every",
            hint="raise spec.deadline, or lower spec.checkpoints.every",
        )


def several_nodes_need_whole_gpus(run: Run) -> Iterator[Remark]:
    """Ranks on several nodes cannot each share a GPU with strangers: all wait for the slowest share."""
    if run.spec.nodes.high > 1 and run.spec.gpus.is_fraction:
        yield Remark(
            code="DOC-035",
            path=("spec", "gpus"),
            what=f"{run.spec.nodes} nodes with {run.spec.gpus.count} GPU each",
            expected="whole GPUs on several nodes, or one node",
            hint="nodes: 1, or gpus: 1",
        )


def at_least_one_node(run: Run) -> Iterator[Remark]:
    """A run of no nodes runs nothing."""
    if run.spec.nodes.low == 0:
        yield Remark(
            code="DOC-021", path=("spec", "nodes"), what=f"{run.spec.nodes} nodes", expected="at least 1 node"
        )


def amounts_are_more_than_nothing(run: Run) -> Iterator[Remark]:
    """No time, or no memory, where the run needs some to live at all."""
    spec = run.spec
    every = spec.checkpoints.every.duration if spec.checkpoints else None
    given: tuple[tuple[Path, object, str], ...] = (
        (("spec", "deadline"), spec.deadline, "the run would be stopped at once"),
        (("spec", "checkpoints", "every"), every, "it would do nothing but save"),
        (("spec", "idle", "after"), spec.idle.after, "it would be idle at once"),
        (("spec", "memory"), spec.memory.limit, "nothing runs without memory"),
    )
    for path, amount, consequence in given:
        if amount in (Duration(0), Size(0)):
            yield Remark(
                code="DOC-021", path=path, what=f"{amount}: {consequence}", expected="more than nothing"
            )


def target_fits(run: Run) -> Iterator[Remark]:
    """The named target must be able to run this many pods of this framework."""
    spec = run.spec
    if spec.target in _SINGLE_POD and spec.nodes.high > 1:
        yield Remark(
            code="DOC-036",
            path=("spec", "target"),
            what=f"a {spec.target} runs one pod, and nodes is {spec.nodes}",
            expected="a target for several pods",
            hint="target: auto chooses a JobSet or Indexed Job",
        )
    wanted = _FRAMEWORK_OF.get(spec.target)
    if wanted and spec.framework not in ("auto", *wanted):
        yield Remark(
            code="DOC-036",
            path=("spec", "target"),
            what=f"a {spec.target} does not run {spec.framework}",
            expected=f"framework {' or '.join(wanted)}, or another target",
            hint="target: auto follows the framework",
        )
    if spec.gpus.milli == 0 and spec.gpus.type:
        yield Remark(
            code="DOC-038",
            path=("spec", "gpus"),
            what=f"no GPU, and of type {spec.gpus.type}",
            expected="1 or more",
        )


def volume_has_one_source(run: Run) -> Iterator[Remark]:
    """A mount shows exactly one thing."""
    for index, volume in enumerate(run.spec.volumes):
        given = [name for name in _SOURCES if getattr(volume, name) is not None]
        if len(given) != 1:
            yield Remark(
                code="DOC-031",
                path=("spec", "volumes", index),
                what=f"{len(given)} sources for {volume.mount}"
                if given
                else f"nothing to mount at {volume.mount}",
                expected="exactly one of pvc, nfs, emptyDir, secret, configMap and hostPath",
                absent=(("spec", "volumes", index),),
            )
        if volume.nfs is not None and ":/" not in volume.nfs:
            yield Remark(
                code="DOC-022",
                path=("spec", "volumes", index, "nfs"),
                what=f"'{volume.nfs[:40]}' is not an NFS export",
                expected="server:/path",
            )


def model_is_step_or_shape(run: Run) -> Iterator[Remark]:
    """A model that says nothing is none; with both, the shape answers where the step cannot be traced."""
    model = run.spec.model
    if model is None:
        return
    if model.step is None and model.shape is None:
        yield Remark(
            code="DOC-031",
            path=("spec", "model"),
            what="neither step nor shape is given",
            expected="step: FILE.py:function to trace, or shape: a preset, config.json or dimensions",
            absent=(("spec", "model"),),
        )
    if model.step is not None and ":" not in model.step:
        yield Remark(
            code="DOC-025",
            path=("spec", "model", "step"),
            what=f"'{model.step[:40]}' does not name a function",
            expected="FILE.py:function",
            hint=f"try {model.step[:40]}:build",
        )
    shape = model.shape
    if (
        shape is not None
        and shape.preset is None
        and shape.parameters is None
        and not (shape.layers and shape.hidden)
    ):
        yield Remark(
            code="DOC-031",
            path=("spec", "model", "shape"),
            what="not enough to know the model",
            expected="a preset, the number of parameters, or layers and hidden",
            absent=(("spec", "model", "shape"),),
        )


def mounts_are_apart(run: Run) -> Iterator[Remark]:
    """Two things at one path: one of them would be hidden."""
    seen: dict[str, str] = {}
    for path, mount, what in _mounts(run):
        if mount in seen:
            yield Remark(
                code="DOC-037",
                path=path,
                what=f"{what} and {seen[mount]} are both mounted at {mount}",
                expected="different paths",
                hint=f"try mount: {mount}-2",
            )
        seen.setdefault(mount, what)


def _mounts(run: Run) -> Iterator[tuple[Path, str, str]]:
    spec = run.spec
    if spec.code is not None:
        yield ("spec", "code"), spec.code.mount, "code"
    for index, data in enumerate(spec.data):
        yield ("spec", "data", index, "mount"), data.mount, str(data.source)
    for index, volume in enumerate(spec.volumes):
        yield ("spec", "volumes", index, "mount"), volume.mount, _source_of(volume)
    if spec.checkpoints is not None and spec.checkpoints.to.scheme in ("pvc", "nfs", "emptyDir"):
        yield ("spec", "checkpoints", "mount"), spec.checkpoints.mount, "checkpoints"
    if spec.output is not None and spec.output.to.scheme in ("pvc", "nfs", "emptyDir"):
        yield ("spec", "output", "mount"), spec.output.mount, "output"


def _source_of(volume: Volume) -> str:
    for name in _SOURCES:
        if (source := getattr(volume, name)) is not None:
            return f"{field_name(name)} {source}"
    return "a volume"


def one_name_one_variable(run: Run) -> Iterator[Remark]:
    """A variable cannot be both a value and a secret."""
    for name in run.spec.secrets:
        if name in run.spec.env:
            yield Remark(
                code="DOC-030",
                path=("spec", "secrets", name),
                what=f"{name} is also set under env",
                expected="one of the two",
                hint=f"remove spec.env.{name}",
            )


def shm_within_memory(run: Run) -> Iterator[Remark]:
    """/dev/shm is memory: a segment as large as the limit gets the container killed."""
    shm, memory = run.spec.shm.limit, run.spec.memory.limit
    if shm is not None and memory is not None and shm >= memory:
        yield Remark(
            code="DOC-033",
            path=("spec", "shm"),
            what=f"shm {shm} fills the whole memory limit {memory}",
            expected="shm below memory: what is in /dev/shm counts as memory",
            hint=f"raise spec.memory by {shm}, or shm: auto",
        )


def spot_wants_checkpoints(run: Run) -> Iterator[Remark]:
    """Capacity that is taken back takes the work with it."""
    if run.spec.spot.use != "never" and run.spec.checkpoints is None and not run.spec.i_accept_losing_work:
        yield Remark(
            code="DOC-050",
            path=("spec", "spot"),
            what="spot nodes are taken back without checkpoints to resume from",
            hint="add checkpoints: pvc/NAME, or iAcceptLosingWork: true",
            is_mild=True,
            absent=(("spec", "checkpoints"),),
        )


def checkpoints_outlive_the_pod(run: Run) -> Iterator[Remark]:
    """A checkpoint on the pod's own disk dies in the accident it was made for."""
    if run.spec.checkpoints is None or run.spec.i_accept_losing_work:
        return
    place: Place = run.spec.checkpoints.to
    mounted = any(
        place.scheme == "path" and volume.mount != "/" and _is_under(place.path, volume.mount)
        for volume in run.spec.volumes
        if volume.pvc or volume.nfs
    )
    if not place.outlives_pod and not mounted:
        yield Remark(
            code="DOC-054",
            path=("spec", "checkpoints", "to"),
            what=f"checkpoints on {place} die with the pod",
            hint="use pvc/NAME, s3://bucket/prefix or nfs://server/path; fine when it runs on this machine",
            is_mild=True,
        )


def _is_under(path: str, mount: str) -> bool:
    return path == mount or path.startswith(f"{mount}/")


def env_holds_no_secrets(run: Run) -> Iterator[Remark]:
    """Environment values are readable by everyone who may look at the pod."""
    for name, value in run.spec.env.items():
        if reason := looks_secret(name, value):
            yield Remark(
                code="DOC-051",
                path=("spec", "env", name),
                what=f"the value {reason}",
                hint=f"store it in a Secret, then spec.secrets: {{{name}: secret-name/key}}",
                is_mild=True,
            )


def env_leaves_ranks_alone(run: Run) -> Iterator[Remark]:
    """Some variables are set for each rank, and one value for all of them breaks the run."""
    for name in run.spec.env:
        if name in _UNDOES and (run.spec.gpus.milli or not name.endswith("DEVICES")):
            yield Remark(
                code="DOC-057", path=("spec", "env", name), what=_UNDOES[name], hint="remove it", is_mild=True
            )


def gpu_type_is_known(run: Run) -> Iterator[Remark]:
    """A type outside our table is legal (clusters have their own), but its memory is not known."""
    kind = run.spec.gpus.type
    if kind is not None and find_gpu(kind) is None:
        near = nearest_gpus(kind)
        yield Remark(
            code="DOC-052",
            path=("spec", "gpus"),
            what=f"the GPU type '{kind}' is not in our table: its memory is not known",
            hint=f"did you mean {near[0]}?" if near else None,
            is_mild=True,
        )


def part_of_a_gpu(run: Run) -> Iterator[Remark]:
    """Legal here, though Kubernetes has no such thing: say what will be made of it."""
    if run.spec.gpus.is_fraction and run.spec.nodes.high == 1:
        yield Remark(
            code="DOC-053",
            path=("spec", "gpus"),
            what=f"{run.spec.gpus.count} of a GPU: Kubernetes gives whole ones only",
            hint="a MIG slice or a shared GPU will be looked for; without one, a whole GPU is needed",
            is_mild=True,
        )


def something_runs(run: Run) -> Iterator[Remark]:
    """Without a command the image's own entry point runs; without an image there is none."""
    if run.spec.command is None and run.spec.image is None:
        yield Remark(
            code="DOC-058",
            path=("spec",),
            what="neither command nor image: there is nothing to run",
            hint="add command: python train.py",
            is_mild=True,
            absent=(("spec", "command"), ("spec", "image")),
        )


def image_has_a_version(run: Run) -> Iterator[Remark]:
    """`latest` may be another image on the next try, or on the next rank."""
    image = run.spec.image
    if image is None or "@" in image:
        return
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    if tag in ("", "latest"):
        yield Remark(
            code="DOC-055",
            path=("spec", "image"),
            what="the image has no fixed version: a retry may run another one",
            hint="name a tag or a digest",
            is_mild=True,
        )


def money_has_one_limit(run: Run) -> Iterator[Remark]:
    """What a run may cost, and what a spot node may cost."""
    budget = run.spec.budget
    yield from budget_is_a_wall(budget.limit if budget else None, ("spec", "budget", "limit"))
    yield from price_is_a_rate(run.spec.spot.max_price, ("spec", "spot", "maxPrice"))


RUN_RULES: tuple[Callable[[Run], Iterable[Remark]], ...] = (
    deadline_before_checkpoint,
    several_nodes_need_whole_gpus,
    at_least_one_node,
    amounts_are_more_than_nothing,
    target_fits,
    volume_has_one_source,
    model_is_step_or_shape,
    mounts_are_apart,
    patch_is_a_pod,
    patch_is_well_spelt,
    one_name_one_variable,
    shm_within_memory,
    spot_wants_checkpoints,
    checkpoints_outlive_the_pod,
    env_holds_no_secrets,
    env_leaves_ranks_alone,
    gpu_type_is_known,
    part_of_a_gpu,
    image_has_a_version,
    something_runs,
    money_has_one_limit,
)
