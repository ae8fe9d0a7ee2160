# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage c2c: reports the lines on which the CPUs of a real kernel contend, on a chosen machine.

The kernel runs in the emulator. Every access of its code goes to the coherence model of the
simulated machine, with the topology and the latencies of a machine file. The report has the form of
the simulator's c2c. For each kernel it adds how often a wake-up found a line modified in another
cache.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.output import to_json, write_atomic
from common.provenance import sha256_file, tool_versions
from kernel.guest.boot import BootRequest, Emulation, Emulator, kernel_image
from kernel.guest.programs import build_guest
from kernel.guest.ram import Ram
from kernel.guest.workload import find_workload, step
from kernel.layout import Layout
from kernel.probe.image import Image, functions_named
from kernel.probe.objects import Objects
from kernel.probe.probe import probe
from kernel.profile.replay import TRACE_NAMES, NamedLine, Placed, known_names
from model.machines.presets import Machine, machine_topology
from model.results import raw
from model.results.c2c import Described, Hitm, KernelVariant
from model.results.c2c import Kernel as Report
from model.results.read import checked
from record.lines.report import Names, hottest
from record.lines.symbols import Frame, resolve
from record.shape import Shape
from record.trace import names_path, new_trace
from record.watch import Watch, map_cpus, map_nodes

WAKE_UPS = "wake_ups"
# Headers of the kernel. If it was built elsewhere, only the file's name is known.
_HELPER = re.compile(r"include/|^[^/]*\.h:\d+$|^\?$")
# Where this project's own builds have their source.
_TREE = re.compile(r"^build/kernel/src/[^/]+/")
# Functions whose calls and instructions are counted, with what they call. A kernel may lack some,
# or have them inlined.
_COUNTED: Mapping[str, Sequence[str]] = {
    WAKE_UPS: ("ttwu_do_activate",),
    "level_set": ("cpupri_set",),
    "level_search": ("cpupri_find_fitness",),
    "wake_up": ("try_to_wake_up",),
    "switch": ("__schedule",),
    "enqueue": ("enqueue_task_rt",),
    "pull": ("pull_rt_task",),
    "push": ("push_rt_task",),
    "push_interrupt": ("rto_push_irq_work_func",),
    "fork": ("copy_process",),
    "cache_group_made": ("mm_init_sched",),
    "cache_scan": ("task_cache_work",),
    "switches": ("finish_task_switch",),
}
# Objects that CPUs share in the scheduler, by kind.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "root domain": ("root_domain", "def_root_domain", "runqueues.rd"),
    "idle CPUs": ("nohz",),
    "RT bandwidth": ("root_task_group", "def_rt_bandwidth"),
    "run queues": ("runqueues",),
}


@dataclass(frozen=True)
class Kernel:
    """A kernel to examine: the image to boot, and the one with symbols."""

    name: str
    bzimage: Path
    vmlinux: Path


@dataclass(frozen=True)
class C2cRequest:
    """The workload, the kernels, and the machine that the guest stands for."""

    kernels: tuple[Kernel, ...]
    shape: Shape
    machine: Machine
    workload: str
    quantum: int = 1000
    slow: int = 10
    lines: int = 10
    objects: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    trace: Path | None = None


@dataclass
class _View:
    """Data read from the guest's memory while it existed."""

    lines: list[NamedLine] = field(default_factory=list)
    names: Names = field(default_factory=lambda: Names({}, None))
    known: dict[str, Any] = field(default_factory=dict)


def built_kernels(layout: Layout, variants: Sequence[str], config: str) -> tuple[Kernel, ...]:
    """Return the built variants as kernels."""
    images = {variant: kernel_image(layout, variant, config) for variant in variants}
    return tuple(Kernel(v, image, image.parents[3] / "vmlinux") for v, image in images.items())


def _named(line: raw.Line, objects: Objects) -> NamedLine:
    hottest = max(line.accesses, key=lambda a: (a.hitm, a.records), default=None)
    # Small objects share a line. The line gets the name of the object with the hottest access.
    thing = objects.name_of(line.start + (hottest.offset if hottest is not None else 0))
    if thing is None:
        where = Placed(object=line.address)
    else:
        type_ = thing.type if objects.layouts.die(thing.type) is not None else ""
        offset = line.start - thing.address
        where = Placed(object=thing.name, kind=thing.kind, type=type_, offset=offset)
        where.line = offset // 64
    return NamedLine.placed(line, where)


def _own(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return frames with paths inside the kernel's tree, without inlined helpers from headers."""
    shown = [Frame(frame.function, _TREE.sub("", frame.source)) for frame in frames]
    while len(shown) > 1 and _HELPER.search(shown[0].source):
        shown.pop(0)
    return tuple(shown)


def _checked(data: Mapping[str, Any]) -> raw.KernelRun:
    return checked(data, "the plugin's result", raw.KernelRun.of)


def _look(
    image: Image, program: Path | None, cpus: int, view: _View, ram: Ram, data: Mapping[str, Any]
) -> None:
    run = _checked(data)
    objects = Objects(image, ram, cpus, [line.start for line in run.lines])
    hottest_first = sorted(
        ((a.hitm, a.records, a.instruction, line.start + a.offset)
         for line in run.lines for a in line.accesses), reverse=True,
    )  # fmt: skip
    objects.learn((pc, address) for _, _, pc, address in hottest_first)
    view.lines = [_named(line, objects) for line in run.lines]
    pcs = {access.instruction for line in run.lines for access in line.accesses}
    frames = {pc - 1: _own(chain) for pc, chain in resolve(program or image.path, pcs).items()}
    view.names = Names(frames, objects.layouts)
    view.known = known_names(view.lines, view.names)


def look(image: Image, cpus: int, ram: Ram, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of a kernel's lines and code, for use when its memory is gone."""
    view = _View()
    _look(image, None, cpus, view, ram, data)
    return view.known


def _group(kind: str) -> str:
    for name, prefixes in GROUPS.items():
        if any(kind == prefix or kind.startswith(f"{prefix}.") for prefix in prefixes):
            return name
    return "other"


def _calls(run: raw.KernelRun, name: str) -> int:
    return sum(function.calls for function in run.functions if function.name == name)


def _per_wake(run: raw.KernelRun, lines: Sequence[NamedLine], wakes: int) -> dict[str, Hitm]:
    """Return modified lines found elsewhere per wake-up, by the group of the line's object."""
    groups: dict[str, Hitm] = {}
    rest, whole = (Hitm(hitm_remote=run.hitm_remote, hitm_local=run.hitm_local) for _ in range(2))
    for line in lines:
        group = groups.setdefault(_group(line.kind), Hitm(hitm_remote=0, hitm_local=0))
        for counts, sign in ((group, 1), (rest, -1)):
            counts.hitm_remote += sign * line.hitm_remote
            counts.hitm_local += sign * line.hitm_local
    groups |= {"lines not kept": rest, "all": whole}
    for counts in groups.values():
        counts.hitm_remote /= wakes or 1
        counts.hitm_local /= wakes or 1
    return groups


def _watch(
    layout: Layout,
    request: C2cRequest,
    kernel: Kernel,
    name: str,
    image: Image,
    program: Path | None,
    topology: Mapping[str, Any],
) -> Watch:
    """Return the code that the plugin watches: the kernel's, or that of one of our programs."""
    workload = find_workload(request.workload)
    cpus = map_cpus(request.shape, topology, request.machine.name)
    text = [image.text()]
    if program is not None:
        with Image(program) as own:
            text = [span for watched in workload.watched for span in own.function(watched)]
    return Watch(
        layout.make_folder(layout.work / "results") / f"{name}.raw.json",
        text=text,
        functions=functions_named(image, {**_COUNTED, "messages": workload.messages}),
        machine=request.machine.flat,
        cpus=cpus,
        nodes=map_nodes(request.shape, workload.extra_mb, cpus, topology),
        quantum=request.quantum,
        trace=request.trace,
        # Nothing after the window matters, and the guest's clock is slow: stop the emulator then.
        stop=workload.length_us > 0,
    )


def _boot_request(request: C2cRequest, kernel: Kernel, name: str) -> BootRequest:
    shape, workload = request.shape, find_workload(request.workload)
    planned = step(request.workload, shape, 600)
    return BootRequest(
        kernel.bzimage,
        name,
        shape,
        workload.parts,
        (planned,),
        emulator=Emulator(Emulation.MULTI, slow=request.slow, extra_mb=workload.extra_mb),
        parameters=request.parameters,
    )


def _keep_names(
    path: Path, request: C2cRequest, kernel: Kernel, run: raw.KernelRun, view: _View
) -> None:
    """Write the names for a trace beside it, for replay."""
    beside = {
        "format": TRACE_NAMES,
        "variant": kernel.name,
        "workload": request.workload,
        "shape": asdict(request.shape),
        "extra_mb": find_workload(request.workload).extra_mb,
        "partial": run.partial,
        "functions": [function.to_data() for function in run.functions],
        **view.known,
    }
    write_atomic(names_path(path), to_json(beside))


def one_kernel(
    layout: Layout,
    request: C2cRequest,
    kernel: Kernel,
    topology: Mapping[str, Any],
    on_line: Callable[[str], None],
) -> KernelVariant:
    """Boot one kernel, run the workload, and return the report."""
    shape, workload = request.shape, find_workload(request.workload)
    name = f"c2c-{kernel.name}-{request.workload}-{shape.name}"
    view = _View()
    program = build_guest(layout)[workload.program] if workload.program else None

    saved = new_trace(request.trace, True) if request.trace is not None else nullcontext()
    with Image(kernel.vmlinux) as image, saved as trace:
        recorded = replace(request, trace=trace)
        watch = _watch(layout, recorded, kernel, name, image, program, topology)

        def see(ram: Ram, data: Mapping[str, Any]) -> None:
            _look(image, program, shape.cpus, view, ram, data)

        done = probe(layout, _boot_request(request, kernel, name), watch, on_line, see)
        wanted = set(request.objects)
        lines = [line for line in view.lines if not wanted or line.kind.partition(".")[0] in wanted]
        shown = hottest(lines, request.lines, view.names)
    run = _checked(done.raw)
    if request.trace is not None:
        _keep_names(request.trace, request, kernel, run, view)
    wakes, virtual = _calls(run, WAKE_UPS), run.model.virtual_ns
    return KernelVariant(
        name=kernel.name,
        cpus=shape.cpus,
        lines=shown,
        lines_total=run.nr_lines,
        hitm_total=run.hitm,
        partial=run.partial or not done.booted.lines,
        wake_ups=wakes,
        hitm_a_wake_up=_per_wake(run, view.lines, wakes),
        wake_ups_a_virtual_ms=wakes / virtual * 1e6 if virtual else 0.0,
        operations=run.operations,
        model=run.model,
        stepping=run.stepping,
        functions=run.functions,
        vmlinux_sha256=sha256_file(kernel.vmlinux),
        log=layout.shown(done.booted.log),
    )


def c2c(layout: Layout, request: C2cRequest, on_line: Callable[[str], None]) -> Report:
    """Return the report on all kernels. After an interruption it covers the finished ones."""
    if request.trace is not None and len(request.kernels) > 1:
        raise UserError("--trace keeps one run: give one kernel")
    topology = machine_topology(request.machine)
    variants: list[KernelVariant] = []
    partial = False
    for kernel in request.kernels:
        try:
            variants.append(one_kernel(layout, request, kernel, topology, on_line))
        except KeyboardInterrupt:
            partial = True
        if partial or variants[-1].partial:
            partial = True
            break
    if not variants:
        raise KeyboardInterrupt
    return Report(
        experiment=f"{request.workload} in the guest",
        machine=Described(
            name=request.machine.name,
            cpus=len(topology["cpus"]),
            clock_ghz=request.machine.clock_ghz,
        ),
        guest=request.shape.words,
        partial=partial,
        quantum=request.quantum,
        slow=request.slow,
        variants=variants,
        provenance={**tool_versions(), "machine_sha256": request.machine.sha256},
    )
