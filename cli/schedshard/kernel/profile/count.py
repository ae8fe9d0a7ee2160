# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage count: instructions and locked instructions of the scheduler's hot functions, per call.

The emulator's plugin counts exactly in the guest: no sampling, no probe in the kernel. Two variants
are comparable in rows that have the same meaning in both. Such rows are a change of a CPU's level,
and a CPU that joins or leaves the overload set or goes idle. The RT class as a whole, per task that
it enqueues, is another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import convert
from rich.console import RenderableType

from schedshard.common.provenance import tool_versions
from schedshard.kernel.guest.boot import BootRequest, Emulator, kernel_image
from schedshard.kernel.guest.topology import Shape
from schedshard.kernel.guest.workload import find_workload, step
from schedshard.kernel.layout import Layout
from schedshard.kernel.probe.image import Image, Inlined
from schedshard.kernel.probe.probe import probe
from schedshard.kernel.probe.watch import Watch, functions_named
from schedshard.results.raw import Function
from schedshard.results.read import checked
from schedshard.results.saved import Count, Real, Saved
from schedshard.show.sheet import Sheet

FORMAT = "schedshard/kernel-count/1"
ENQUEUES = "RT enqueues"
CLASS = "RT class"
VISITS = "push visit"
# The functions that each row adds up. Those that a kernel lacks are not in its sum.
WHOLE: Mapping[str, Sequence[str]] = {
    "level set": ("cpupri_set",),
    "level search": ("cpupri_find_fitness", "cpupri_find_near"),
    "overload change": ("rt_overload_change",),
    "idle enter": ("nohz_balance_enter_idle",),
    "idle exit": ("nohz_balance_exit_idle",),
    "pull": ("pull_rt_task",),
    "push": ("push_rt_task",),
    # One call per interrupt: Linux's handler, and ours.
    VISITS: ("rto_push_irq_work_func", "rt_walk_visit"),
    "whole wake-up": ("try_to_wake_up",),
    "whole switch": ("__schedule",),
}  # fmt: skip
# The RT class has a row per function, and one for all together. None of them calls another.
_CLASS = (
    "enqueue_task_rt", "dequeue_task_rt", "wakeup_preempt_rt", "balance_rt", "pick_task_rt",
    "pick_next_task_rt", "put_prev_task_rt", "set_next_task_rt", "select_task_rq_rt",
    "rq_online_rt", "rq_offline_rt", "task_woken_rt", "task_tick_rt", "switched_to_rt",
    "prio_changed_rt", "switched_from_rt",
)  # fmt: skip
# Functions of cache-aware scheduling, and the workloads for which it costs most.
CACHE: Mapping[str, Sequence[str]] = {
    "fork": ("copy_process",),
    "exec": ("bprm_execve",),
    "mm made": ("mm_init",),
    "of it cache group": ("mm_init_sched",),
    "mm freed": ("__mmdrop",),
    "cache group freed": ("sched_cache_group_free_rcu",),
    "runtime update": ("update_se",),
    "tick": ("task_tick_fair",),
    "cache scan": ("task_cache_work",),
}
CACHE_WORKLOADS = ("forks", "threads")
# Rows of functions that the compiler inlined into others: only their own instructions.
INLINED: Mapping[str, str] = {
    "cpupri_set": "level set",
    "rt_set_overload": "overload set",
    "rt_clear_overload": "overload clear",
    "rt_overload_update": "overload check",
    "rt_overload_ease": "overload check",
}
# Functions that only sometimes have work, and then execute locked instructions. Those calls get a
# separate row, because their number depends on the run.
ACTING: Mapping[str, str] = {
    "idle enter": "idle enter, of a CPU not yet in the set",
    "idle exit": "idle exit, of a CPU in the set",
}
_UNITS = ("kernel/sched/",)


@dataclass(frozen=True)
class CountRequest:
    """Which kernels on which machines."""

    variants: tuple[str, ...]
    config: str
    shapes: tuple[Shape, ...]
    workload: str
    amount: int | None = None


class Row(Saved, kw_only=True):
    """Figures per call, and in total; the last three are of a single function."""

    calls: Count
    instructions: Real
    locked: Real
    all_instructions: Count
    all_locked: Count
    least: Count | None = None
    most: Count | None = None
    lost: Count | None = None


class Guest(Saved, kw_only=True):
    """The rows of a kernel on a machine."""

    variant: str
    machine: str
    cpus: Count
    partial: bool
    functions: dict[str, Row]


class Counted(Saved, kw_only=True):
    """The result of the stage."""

    format: str
    workload: str
    config: str
    guests: list[Guest]
    provenance: dict[str, str]


def _row(calls: int, instructions: int, locked: int) -> Row:
    return Row(
        calls=calls,
        instructions=instructions / calls if calls else 0.0,
        locked=locked / calls if calls else 0.0,
        all_instructions=instructions,
        all_locked=locked,
    )


def _functions(data: Any) -> list[Function]:
    return convert(data, list[Function])


def rows_of(functions: Sequence[Function]) -> dict[str, Row]:
    """Return the figures of each function in a guest's raw result, per call and in total."""
    rows = {}
    for each in functions:
        name = each.name.replace("_", " ")
        row = rows[name] = _row(each.calls, each.instructions, each.locked)
        row.least, row.most, row.lost = each.least, each.most, each.lost
        if name in ACTING:
            rows[ACTING[name]] = _row(each.locking_calls, each.locking_instructions, each.locked)
    members = [rows[key] for name in _CLASS if (key := name.replace("_", " ")) in rows]
    if members:
        rows[CLASS] = _row(
            sum(row.calls for row in members),
            sum(row.all_instructions for row in members),
            sum(row.all_locked for row in members),
        )
    return rows


def count(layout: Layout, request: CountRequest, on_line: Callable[[str], None]) -> Counted:
    """Boot every variant on every machine, and return the counts."""
    kernels = {name: kernel_image(layout, name, request.config) for name in request.variants}
    workload = find_workload(request.workload)
    guests: list[Guest] = []
    folder = layout.make_folder(layout.work / "results")
    for variant, kernel in kernels.items():
        with Image(kernel.parents[3] / "vmlinux") as image:
            rows = {**WHOLE, **CACHE} if request.workload in CACHE_WORKLOADS else WHOLE
            groups = {name.replace(" ", "_"): members for name, members in rows.items()}
            groups |= {name: (name,) for name in _CLASS}
            functions = functions_named(image, groups)
            places = [
                Inlined(INLINED[place.name].replace(" ", "_"), place.entry, place.ranges)
                for place in image.inlined(INLINED, _UNITS)
            ]
            # Only the first instruction, as a count of enqueues beside the class's row.
            for low, _ in image.function("enqueue_task_rt")[:1]:
                places.append(Inlined(ENQUEUES.replace(" ", "_"), low, ((low, low + 1),)))
        for shape in request.shapes:
            target = folder / f"count-{variant}-{shape.name}.raw.json"
            watch = Watch(target, functions=functions, inlined=places)
            run = step(request.workload, shape, request.amount, 1200, whole=True)
            name = f"count-{variant}-{request.config}-{shape.name}"
            emulator = Emulator(extra_mb=workload.extra_mb)
            plan = BootRequest(kernel, name, shape, workload.parts, (run,), emulator=emulator)
            raw = probe(layout, plan, watch, on_line).raw
            guests.append(
                Guest(
                    variant=variant,
                    machine=shape.name,
                    cpus=shape.cpus,
                    partial=raw["partial"],
                    functions=rows_of(checked(raw["functions"], "the plugin's result", _functions)),
                )
            )
    return Counted(
        format=FORMAT,
        workload=request.workload,
        config=request.config,
        guests=guests,
        provenance=tool_versions(),
    )


def _cell(row: Row | None) -> tuple[str, str]:
    if row is None or not row.calls:
        return "-", "-"
    return f"{row.instructions:.1f}", f"{row.locked:.2f}"


def _class_cells(rows: Mapping[str, Row]) -> tuple[str, str, str]:
    wakes, whole = rows[ENQUEUES].calls, rows[CLASS]
    if not wakes:
        return "0", "-", "-"
    return f"{wakes:,}", f"{whole.all_instructions / wakes:.0f}", f"{whole.all_locked / wakes:.2f}"


def _visit_cells(rows: Mapping[str, Row]) -> tuple[str, str, str]:
    wakes, visits = rows[ENQUEUES].calls, rows[VISITS].calls if VISITS in rows else 0
    return f"{visits / wakes:.4f}" if wakes else "-", "", ""


def count_table(result: Counted) -> RenderableType:
    """Return the table: a row per function and machine, three columns per variant."""
    guests = result.guests
    variants = list(dict.fromkeys(guest.variant for guest in guests))
    titles = [f"{variant} {what}" for variant in variants for what in ("calls", "insns", "locked")]
    table = Sheet(
        f"Instructions per call, measured in the guest; workload '{result.workload}'",
        "function", "CPUs", *titles, right=("CPUs", *titles),
    )  # fmt: skip
    names = list(dict.fromkeys(name for guest in guests for name in guest.functions))
    by_place = {(guest.cpus, guest.variant): guest.functions for guest in guests}
    machines = list(dict.fromkeys(guest.cpus for guest in guests))
    for name in (name for name in names if name not in (ENQUEUES, CLASS)):
        for cpus in machines:
            cells: list[str] = []
            for variant in variants:
                row = by_place[cpus, variant].get(name)
                cells += (f"{row.calls:,}" if row else "-", *_cell(row))
            table.add_row(name, str(cpus), *cells)
    for title, of_rows in (
        ("RT class, per enqueue", _class_cells),
        ("push interrupts, per enqueue", _visit_cells),
    ):
        for cpus in machines:
            cells = [cell for variant in variants for cell in of_rows(by_place[cpus, variant])]
            table.add_row(title, str(cpus), *cells)
    table.caption = (
        "A function with what it calls, unless the compiler inlined it: then its own instructions. "
        "The RT class: all its functions together, for each task that is put on a queue."
    )
    return table
