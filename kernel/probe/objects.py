# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the variable, per-CPU variable or allocated object at an address of a guest's kernel.

Variables have symbols, but allocated objects have none. So this file finds an allocated object as
the kernel does: it follows pointers from variables through the guest's memory, with types from the
debug information. It follows only pointers that CPUs share in the scheduler. Other objects get the
type of their slab cache, or that of the pointers with which instructions access them
(record/names/uses.py).
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from elftools.dwarf.die import DIE

from kernel.guest.ram import DIRECT_MAP, DIRECT_MAP_END, Ram
from kernel.probe.image import Image
from kernel.probe.slabs import STRUCTS, Slabs, Slot
from model.lines.dwarf import Layouts, array_counts, bare_type, die_name, die_size, member_start
from record.names.locals import Locals
from record.names.modules import Module
from record.names.uses import Use, Uses, apart

UNITS = (
    "kernel/sched/", "kernel/time/", "kernel/rcu/", "lib/schedshard/", "kernel/smp.c", "mm/slub.c",
)  # fmt: skip
# The pointers to follow in each structure. The walk ends at structures that are not listed.
_FOLLOWED: Mapping[str, frozenset[str]] = {
    "rq": frozenset({"rd", "sd"}),
    "root_domain": frozenset(
        {"span", "online", "dlo_mask", "rto_mask", "pd", "rto", "rto_walks", "dlo"}
        | {"cpupri.cpu_to_pri", "cpupri.map", "cpupri.counts", "cpupri.masks", "rto_count"}
        | {"cpudl.elements", "cpudl.free_cpus", "cpupri.pri_to_cpu.mask", "cpupri.pri_to_cpu"}
    ),
    "shard_summary": frozenset({"word"}),
    "sbm": frozenset({"line", "word", "summary"}),
    "task_group": frozenset({"rt_rq", "cfs_rq", "rt_se", "se"}),
    "sched_domain": frozenset({"parent", "groups", "shared"}),
    "sched_group": frozenset({"next", "sgc"}),
    "nohz": frozenset({"idle_cpus_mask", "idle_cpus", "idle"}),
}
_VARIABLES = ("def_root_domain", "nohz", "root_task_group")
_MOST_ELEMENTS = 512
_MOST_OBJECTS = 20_000
_LARGEST = 1 << 16  # bytes of one object
# If per-CPU variables are not numbered from 0 (Linux 6.15 and later), the addition of a CPU's
# offset wraps around.
_WRAP = (1 << 64) - 1
_WRAPPERS = {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type"}


@dataclass(frozen=True)
class Thing:
    """An object at an address. ``kind`` is its name without indices."""

    name: str
    kind: str
    type: str
    address: int


@dataclass(frozen=True)
class _Pointer:
    """A pointer in a structure: its path, its place, and its target."""

    path: str
    offset: int
    target: DIE | None
    open: bool  # the first element of an array without a size


def _strip(die: DIE | None) -> DIE | None:
    while die is not None and die.tag in _WRAPPERS:
        if "DW_AT_type" not in die.attributes:
            return None
        die = die.get_DIE_from_attribute("DW_AT_type")
    return die


def _target(die: DIE) -> DIE | None:
    if "DW_AT_type" not in die.attributes:
        return None
    return _strip(die.get_DIE_from_attribute("DW_AT_type"))


class KernelLayouts(Layouts):
    """The types of structures and of variables, by name."""

    def __init__(self, image: Image, types: Iterable[str], variables: Iterable[str]) -> None:
        """Search the debug information of the scheduler and of the units that it uses."""
        self._types = {}
        wanted = {bare_type(name) for name in types} - {""}
        named = set(variables)
        for unit in image.units(UNITS):
            if not wanted and not named:
                return
            for die in unit.get_top_DIE().iter_children():
                name = die_name(die)
                if die.tag == "DW_TAG_structure_type":
                    if name in wanted and die_size(die) is not None:
                        self._types[name] = die
                        wanted.discard(name)
                elif (
                    die.tag == "DW_TAG_variable"
                    and name in named
                    and "DW_AT_type" in die.attributes
                ):
                    self._types[f"variable {name}"] = die.get_DIE_from_attribute("DW_AT_type")
                    named.discard(name)

    def die(self, type_name: str) -> DIE | None:
        """Return the description of a type, or None."""
        return self._types.get(bare_type(type_name))

    def learn(self, type_name: str, die: DIE) -> None:
        """Add the description of a type that has none yet."""
        self._types.setdefault(bare_type(type_name), die)

    def close(self) -> None:
        """Do nothing: the caller who opened the image closes it."""


class Objects:
    """Names the objects in a guest's kernel."""

    def __init__(self, image: Image, ram: Ram, cpus: int, addresses: Iterable[int]) -> None:
        """Find the objects.

        ``addresses`` are those to look up later: only their variables get types.
        """
        self._image = image
        self._ram = ram
        self._per_cpu = image.per_cpu()
        table = image.find("__per_cpu_offset")
        words = [ram.word(table.address + 8 * cpu) for cpu in range(cpus)] if table else []
        self._offsets = [word or 0 for word in words]
        symbols = {symbol for address in addresses if (symbol := self._variable(address)[0])}
        types = {*_FOLLOWED, *STRUCTS.values(), "slab", "kmem_cache"}
        self.layouts = KernelLayouts(image, types, {*symbols, *_VARIABLES})
        self._pointers: dict[str, list[_Pointer]] = {}
        self._found: list[tuple[int, int, Thing]] = []
        self._walk()
        self._sort()

    def _sort(self) -> None:
        self._found.sort(key=lambda entry: (entry[0], entry[1]))
        self._starts = [entry[0] for entry in self._found]

    def _variable(self, address: int) -> tuple[str, int, int | None]:
        """Return (symbol, its address, CPU) for an address; '' if no variable lies there."""
        if symbol := self._image.variable_at(address):
            return symbol.name, symbol.address, None
        low, high = self._per_cpu
        for cpu, offset in enumerate(self._offsets):
            plain = (address - offset) & _WRAP
            if low <= plain < high and (symbol := self._image.variable_at(plain)):
                return symbol.name, (symbol.address + offset) & _WRAP, cpu
        return "", 0, None

    # ---- allocated objects ----

    def _walk(self) -> None:
        queue: deque[tuple[int, DIE, str, str]] = deque()
        visited: set[int] = set()
        runqueues = self._image.find("runqueues")
        rq = self.layouts.die("rq")
        if runqueues is not None and rq is not None:
            for cpu, offset in enumerate(self._offsets):
                address = (runqueues.address + offset) & _WRAP
                queue.append((address, rq, f"runqueues[{cpu}]", "runqueues"))
        for name in _VARIABLES:
            symbol, die = self._image.find(name), _strip(self.layouts.die(f"variable {name}"))
            if symbol is not None and die is not None:
                queue.append((symbol.address, die, name, name))
        while queue and len(self._found) < _MOST_OBJECTS:
            address, die, name, kind = queue.popleft()
            if address in visited:
                continue
            visited.add(address)
            struct = "nohz" if kind == "nohz" else die_name(die)
            for pointer in self._pointers_of(struct, die):
                for place, to, target in self._ends(address, pointer):
                    below = (
                        "root_domain"
                        if _struct(target) == "root_domain"
                        else (f"{name}{_dot(name)}{pointer.path}{place}")
                    )
                    below_kind = (
                        "root_domain"
                        if below == "root_domain"
                        else (f"{kind}{_dot(kind)}{_plain(pointer.path)}")
                    )
                    self._keep(to, target, below, below_kind, pointer.open)
                    if target is not None and target.tag == "DW_TAG_structure_type":
                        queue.append((to, target, below, below_kind))

    def _keep(self, address: int, target: DIE | None, name: str, kind: str, element: bool) -> None:
        size = (die_size(target) if target is not None else None) or 8
        struct = _struct(target)
        if not struct and not element:
            size *= max(len(self._offsets), 1)  # an array with one element per CPU
        if struct == "cpumask":
            # An allocated cpumask is only as long as the number of CPUs. The type has the largest
            # length.
            size = -(-max(len(self._offsets), 1) // 64) * 8
        self._found.append((address, size, Thing(name, kind, struct, address)))

    def _ends(self, address: int, pointer: _Pointer) -> Iterator[tuple[str, int, DIE | None]]:
        """Yield (index, address, type) of each target of a pointer in an object at an address."""
        count = max(len(self._offsets), 1) if pointer.open else 1
        for index in range(count):
            to = self._ram.word(address + pointer.offset + 8 * index)
            if to is None or not DIRECT_MAP <= to < DIRECT_MAP_END:
                if pointer.open:
                    return
                continue
            place = f"[{index}]" if pointer.open else ""
            target = pointer.target
            if target is None or target.tag != "DW_TAG_pointer_type":
                yield place, to, target
                continue
            for inner in range(max(len(self._offsets), 1)):
                end = self._ram.word(to + 8 * inner)
                if end is None or not DIRECT_MAP <= end < DIRECT_MAP_END:
                    break
                yield f"{place}[{inner}]", end, _target(target)

    def _pointers_of(self, struct: str, die: DIE) -> list[_Pointer]:
        if struct not in _FOLLOWED:
            return []
        if struct not in self._pointers:
            wanted = _FOLLOWED[struct]
            pointers = _pointers(die, "", 0)
            self._pointers[struct] = [p for p in pointers if _plain(p.path) in wanted]
        return self._pointers[struct]

    def learn(self, accesses: Iterable[tuple[int, int]]) -> None:
        """Find the types of objects that have no name yet. A lock alone gets none.

        ``accesses``: pairs of instruction and accessed byte, the most frequent first.
        """
        accesses = list(accesses)
        untyped = self._learn_slabs({address for _, address in accesses})
        module = Module(self._image.path, 0, 0, _WRAP, self._image.path)
        uses = Uses(module, self._image.types, Locals(self._image.types))
        typed: list[tuple[int, Use]] = []
        for pc, address in accesses:
            if self.name_of(address) is None:
                use = uses.at(pc)
                if use is not None and use.typed.name.startswith("struct "):
                    typed.append((address - use.offset, use))
        for start, use in apart(typed):
            name = use.typed.name
            self.layouts.learn(name, use.typed.die)
            self._found.append((start, use.size, Thing(name, name, name, start)))
        self._sort()
        for name, start, size in untyped:
            if self.name_of(start) is None:
                self._found.append((start, size, Thing(name, name, "", start)))
        self._sort()

    def _learn_slabs(self, addresses: Iterable[int]) -> list[Slot]:
        """Name the objects of those slab caches whose type is known. Return the other ones."""
        tables, slab = self._image.find("init_top_pgt"), self.layouts.die("slab")
        cache = self.layouts.die("kmem_cache")
        if tables is None or slab is None or cache is None:
            return []
        try:
            slabs = Slabs(self._ram, tables.address, slab, cache)
        except StopIteration:  # in this kernel the structures have other members
            return []
        untyped = []
        nameless = sorted(address for address in addresses if self.name_of(address) is None)
        for slot in dict.fromkeys(filter(None, map(slabs.at, nameless))):
            name = f"struct {STRUCTS.get(slot.cache, '')}"
            if self.layouts.die(name) is not None:
                thing = Thing(name, name, name, slot.start)
                self._found.append((slot.start, slot.size, thing))
            else:
                untyped.append(slot)
        self._sort()
        return untyped

    # ---- questions ----

    def name_of(self, address: int) -> Thing | None:
        """Return the object at an address, or None."""
        name, start, cpu = self._variable(address)
        if name:
            shown = name if cpu is None else f"{name}[{cpu}]"
            return Thing(shown, name, f"variable {name}", start)
        index = bisect_right(self._starts, address) - 1
        while index >= 0 and address - self._starts[index] < _LARGEST:
            start, size, thing = self._found[index]
            if address < start + size:
                return thing
            index -= 1
        return None


def _struct(die: DIE | None) -> str:
    return die_name(die) if die is not None and die.tag == "DW_TAG_structure_type" else ""


def _dot(name: str) -> str:
    return "." if name else ""


def _plain(path: str) -> str:
    """Return a path without indices."""
    kept, depth = [], 0
    for letter in path:
        depth += letter == "["
        if not depth:
            kept.append(letter)
        depth -= letter == "]"
    return "".join(kept)


def _pointers(die: DIE, path: str, offset: int) -> list[_Pointer]:
    """Return all pointers in a type, including those in nested structures and arrays."""
    stripped = _strip(die)
    if stripped is None:
        return []
    if stripped.tag == "DW_TAG_pointer_type":
        return [_Pointer(path, offset, _target(stripped), False)]
    pointers: list[_Pointer] = []
    if stripped.tag == "DW_TAG_array_type":
        element = stripped.get_DIE_from_attribute("DW_AT_type")
        inner = _pointers(element, "", 0)
        counts = array_counts(stripped)
        step = die_size(element) or 8
        if len(counts) != 1 or not inner:
            return []
        if counts[0] is None:
            return [_Pointer(path, offset + p.offset, p.target, True) for p in inner]
        for index in range(min(counts[0], _MOST_ELEMENTS)):
            pointers += [
                _Pointer(
                    f"{path}[{index}]{_dot(p.path)}{p.path}",
                    offset + index * step + p.offset,
                    p.target,
                    p.open,
                )
                for p in inner
            ]
        return pointers
    if stripped.tag not in ("DW_TAG_structure_type", "DW_TAG_union_type"):
        return []
    for member in stripped.iter_children():
        if member.tag != "DW_TAG_member":
            continue
        name = die_name(member)
        below = f"{path}.{name}" if path and name else path or name
        pointers += _pointers(
            member.get_DIE_from_attribute("DW_AT_type"), below, offset + member_start(member)
        )
    return pointers
