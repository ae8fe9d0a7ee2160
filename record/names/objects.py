# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the object to which a byte of a program's memory belongs.

The search has this order: heap objects, which the allocating calls name; local variables; threads'
stacks; variables of files; other mapped memory.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from record.lines.edits import Edit
from record.lines.symbols import Frame
from record.lines.units import FAULTS
from record.names.allocators import (
    ALLOCATORS,
    COUNTED,
    JAVA,
    Line,
    Pointers,
    content,
    may_say,
)  # fmt: skip
from record.names.locals import Frame as Caller
from record.names.locals import Locals, covering
from record.names.modules import TENANT, Module, Modules, ThreadLocal
from record.names.things import Thing, fields_of, of_type
from record.names.uses import Use, Uses, agreed, apart
from record.names.variables import LOCAL, DebugInfo, Typed, die_language, type_name

_MAPPED = 4097  # the alignment that marks memory from mmap() (record/program/protocol.h)
_HISTORY = 64  # the most objects to look at that contained one byte at different times
_LARGEST_STACK = 64 << 20  # bytes of a thread's stack; 8 MiB are usual
# An arena of glibc's malloc() begins with its state, at a multiple of its size. To get such an
# address glibc reserves twice as much.
_ARENA, _ARENA_STATE = 64 << 20, 2304
_RESERVED = (_ARENA, 2 * _ARENA)
_GO_LIBRARY = re.compile(r"(runtime|internal|sync)[./]")
_GO_ARENA = 4 << 20  # Go's heap grows by multiples of this, at multiples of this


@dataclass(frozen=True)
class _Object:
    at: int
    size: int
    site: int
    element: int
    freed: bool
    alignment: int = 0  # as the program requested; 0: the allocator's


class Objects:
    """Finds the objects in one process's memory."""

    def __init__(self, meta: Mapping[str, Any], modules: Modules) -> None:
        self._modules = modules
        self._heap = sorted((_Object(*row) for row in meta["objects"]), key=lambda o: o.at)
        # Objects by the number of bits of their size: their numbers and starts. In a single list,
        # one large object would make _covering() look at all small ones.
        self._by_size: dict[int, tuple[list[int], list[int]]] = {}
        for number, block in enumerate(self._heap):
            same, starts = self._by_size.setdefault(block.size.bit_length(), ([], []))
            same.append(number)
            starts.append(block.at)
        self._sites = {int(site["site"]): site["frames"] for site in meta["sites"]}
        # A site contains return addresses. The call is before each.
        frames = {pc - 1 for pcs in self._sites.values() for pc in pcs}
        self._frames = modules.frames(frames)
        self._regions = [tuple(region) for region in meta["regions"]]
        self._break = tuple(meta.get("heap", (0, 0)))  # the start and size of memory from brk()
        numbers = {tid: str(number) for number, tid, _ in meta["threads"]}
        stacks = [(at, local, numbers.get(tid, "?")) for tid, at, *local in meta["stacks"]]
        self._stacks = [(pointer, who) for pointer, _, who in stacks if pointer]
        self._threads = ThreadLocal(modules, stacks, meta.get("locals", ()))
        self._callers = [Caller(*row) for row in meta.get("frames", ())]
        self._pointers = sorted(pointer for pointer, _ in self._stacks)
        self._info: dict[str, DebugInfo | None] = {}
        self._locals: dict[str, Locals] = {}
        self._functions: dict[int, str] = {}  # by a frame's return address
        self._types: dict[tuple[str, int], Typed | None] = {}
        self._allocated: dict[int, Typed | None] = {}
        self._made: dict[int, Typed | None] = {}  # types that allocating functions determine
        self._uses: dict[str, Uses] = {}
        self._hooked = bool(meta.get("hooked"))  # instructions are calls of hooks
        self._used: list[tuple[int, Use]] = []  # objects in areas without known allocations

    @property
    def damaged(self) -> list[str]:
        """Files whose debug information could not be read whole."""
        return [str(info.path) for info in self._info.values() if info is not None and info.damaged]

    @property
    def cut(self) -> list[str]:
        """Files with more debug information than was read (MOST_BYTES)."""
        return [
            str(info.path) for info in self._info.values() if info and (info.cut or info.code.cut)
        ]

    def close(self) -> None:
        """Close all files."""
        for info in self._info.values():
            if info is not None:
                info.close()

    def learn(
        self, uses: Mapping[int, frozenset[int]], accesses: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Read the debug information for all these bytes at once: it is read from its beginning.

        ``uses``: bytes, each with the sizes of its accesses. ``accesses``: pairs of instruction and
        accessed byte, those with most accesses first.
        """
        addresses = sorted(uses)
        wanted: dict[str, set[int]] = {}
        for address in addresses:
            module = self._modules.at(address)
            variable = module.variable(address) if module is not None else None
            if module is not None and module.debug is not None and variable is not None:
                wanted.setdefault(str(module.debug), set()).add(variable.address)
            copy = self._threads.at(address)
            if copy and copy.variable and copy.module and copy.module.debug:
                starts = wanted.setdefault(str(copy.module.debug), set())
                starts.add(LOCAL + copy.variable.address)
            for block in self._covering(address):
                self._made.setdefault(block.site, None)
        for path, starts in wanted.items():
            info = self._open(path)
            types = info.variables(starts) if info is not None else {}
            for start in starts:
                self._types[path, start] = types.get(start)
        self._learn_sites()
        self._believe(uses)
        self._point(accesses)

    def _believe(self, uses: Mapping[int, frozenset[int]]) -> None:
        """Drop the types that accesses contradict: one source line may declare several pointers."""
        accesses: dict[int, list[tuple[int, int]]] = {}
        for address, sizes in uses.items():
            for block in self._covering(address):
                accesses.setdefault(block.site, []).extend((address - block.at, n) for n in sizes)
        for site, pairs in accesses.items():
            typed = self._allocated.get(site)
            if self._made.get(site) is not None:
                continue
            counted = any(COUNTED.search(frame.function) for frame in self._all_frames(site))
            if typed is not None and (counted or not typed.agrees(pairs)):
                self._allocated[site] = None

    def _point(self, accesses: Sequence[tuple[int, int]]) -> None:
        """Learn the types of objects from the pointers through which instructions access them."""
        by_site: dict[int, dict[_Object, dict[tuple[int, str, int], Use]]] = {}
        areas: list[tuple[int, Use]] = []
        for pc, address in accesses:
            blocks = self._small(address)
            if not blocks and self._modules.at(address) is not None:
                continue  # a variable, whose type is declared
            use = self._use(pc)
            if use is None:
                continue
            begin = address - use.offset
            # If objects of several sites were here in turn, it is unknown which was accessed.
            for block in blocks if len({b.site for b in blocks}) == 1 else ():
                # An access that crosses the object's bounds is to the allocator's data next to it.
                if block.at <= begin and begin + use.size <= block.at + block.size:
                    of = by_site.setdefault(block.site, {}).setdefault(block, {})
                    of[begin - block.at, use.typed.name, use.size] = use
            # In a runtime's area the accessing function says more than a type without members.
            if not blocks and use.typed.has_members:
                areas.append((begin, use))
        for site, objects in by_site.items():
            before = self._allocated.get(site)
            results = [
                agreed(
                    [(at[0], use) for at, use in of.items()], before, block.size, block.alignment
                )
                for block, of in objects.items()
            ]
            types = {(typed.name, typed.size): typed for typed, _ in results if typed is not None}
            agree = len(types) == 1 and not any(refuted for _, refuted in results)
            self._allocated[site] = next(iter(types.values())) if agree else None
        self._used = apart(areas)

    def _use(self, pc: int) -> Use | None:
        module = self._modules.at(pc)
        info = self._open(str(module.debug)) if module is not None and module.debug else None
        if module is None or info is None or module.of_system:
            return None
        return self._uses_of(module, info).at(pc - module.bias, hooked=self._hooked)

    def _uses_of(self, module: Module, info: DebugInfo) -> Uses:
        path = str(info.path)
        if path not in self._uses:
            self._uses[path] = Uses(module, info, self._locals_of(info))
        return self._uses[path]

    def _stored(self, path: str, _: Line, pc: int, module: Module) -> Typed | None:
        """Return the target of the pointer to which an allocation is assigned, or None."""
        info = self._open(path)
        return self._uses_of(module, info).stored(pc + 1) if info is not None else None

    def _locals_of(self, info: DebugInfo) -> Locals:
        path = str(info.path)
        if path not in self._locals:
            self._locals[path] = Locals(info)
        return self._locals[path]

    def _all_frames(self, site: int) -> list[Frame]:
        return [f for pc in self._sites.get(site, ()) for f in self._frames.get(pc - 1, ())]

    def _learn_sites(self) -> None:
        sites: dict[str, dict[Line, set[int]]] = {}
        for site in self._made:
            self._made[site] = self._content(site)
            place = self._place(site) if self._made[site] is None else None
            if place is not None:
                path, line, pc, _ = place
                sites.setdefault(path, {}).setdefault(line, set()).add(pc)
        types: dict[tuple[str, Line], Typed] = {}
        for path, lines in sites.items():
            info = self._open(path)
            if info is not None:
                targets = Pointers(info, self._locals_of(info)).targets(lines)
                types.update({(path, line): typed for line, typed in targets.items()})
        for site, made in self._made.items():
            place = self._place(site)
            if place is not None:
                self._allocated[site] = types.get(place[:2]) or self._stored(*place)
            if made is not None:
                # An array of bytes may contain anything.
                self._allocated[site] = made if (made.size or 0) > 1 else None

    def _content(self, site: int) -> Typed | None:
        """Return the type that the allocating functions of a site determine, or None."""
        for pc in self._sites.get(site, ()):
            module = self._modules.at(pc - 1)
            if module is None or module.of_system:
                continue
            say = may_say([frame.function for frame in self._frames.get(pc - 1, ())])
            if say is None:
                continue
            info = self._open(str(module.debug)) if say and module.debug is not None else None
            if info is None:
                return None
            try:
                calls = self._locals_of(info).calls(pc - 1 - module.bias)
                die = content(calls)
                if die is not None:
                    name = type_name(die, die_language(die.cu.get_top_DIE()))
                    return Typed(die, name)
            except FAULTS:
                info.damaged = True
            return None
        return None

    def _open(self, path: str) -> DebugInfo | None:
        if path not in self._info:
            modules = [m for m in self._modules.modules if str(m.debug) == path]
            self._info[path] = DebugInfo(modules[0].debug) if modules and modules[0].debug else None
        return self._info[path]

    def _place(self, site: int) -> tuple[str, Line, int, Module] | None:
        """Return a site's file with debug information, line, instruction and module, or None."""
        for pc in self._sites.get(site, ()):
            frames = self._frames.get(pc - 1, ())
            # The allocator's functions may be inlined into the program's.
            own = [frame for frame in frames if not ALLOCATORS.match(frame.function)]
            if not own:
                continue
            module = self._modules.at(pc - 1)
            name, _, line = own[0].source.rpartition(":")
            if module is None or module.debug is None or not line.isdigit():
                return None
            where = name.rpartition("/")[2], int(line)
            return str(module.debug), where, pc - 1 - module.bias, module
        return None

    def _covering(self, address: int) -> list[_Object]:
        """Return the newest heap objects that ever contained a byte, at most _HISTORY of them."""
        numbers: list[int] = []
        for bits, (these, starts) in self._by_size.items():
            at, most = bisect_right(starts, address) - 1, len(numbers) + _HISTORY
            while at >= 0 and starts[at] > address - (1 << bits) and len(numbers) < most:
                if starts[at] + self._heap[these[at]].size > address:
                    numbers.append(these[at])
                at -= 1
        return [self._heap[number] for number in sorted(numbers, reverse=True)[:_HISTORY]]

    def name_of(self, address: int) -> Thing | None:
        """Return the object that contains a byte, or None."""
        small = self._small(address)
        if small:
            return self._heap_thing(small)
        return (
            self._local(address)
            or self._thread_local(address)
            or (self._stack(address) if self._modules.runtime != "Go" else None)
            or self._variable(address)
            or self._mapped(address)
        )

    def _small(self, address: int) -> list[_Object]:
        """Return the heap objects around a byte that are neither stacks nor divided areas.

        Objects that system libraries allocated for themselves count only if there are no others.
        """
        blocks = [
            block
            for block in self._covering(address)
            if not self._holds_a_stack(block.at, block.size) and not self._divided_by(block)
        ]
        return [block for block in blocks if not self._system(block.site)] or blocks

    def _divided_by(self, block: _Object) -> str:
        """Return the runtime or system library that divides a mapping into objects, or ''."""
        if block.alignment != _MAPPED or self._modules.runtime == "Java":
            return ""
        return "Go" if self._modules.runtime == "Go" else self._system(block.site)

    def _holds_a_stack(self, at: int, size: int) -> bool:
        """Whether memory is one thread's stack. Go's memory contains many stacks."""
        count = bisect_right(self._pointers, at + size) - bisect_left(self._pointers, at)
        return count == 1 and size <= _LARGEST_STACK

    def _heap_thing(self, blocks: Sequence[_Object]) -> Thing:
        # The objects that still lived at the end, or else those of the most frequent site.
        living = [block for block in blocks if not block.freed]
        often = Counter(block.site for block in blocks).most_common(1)[0][0]
        chosen = min(
            living or [block for block in blocks if block.site == often], key=lambda b: b.size
        )
        frames = self.site_frames(chosen.site)
        typed = self._allocated.get(chosen.site)
        count = typed.count(chosen.size, chosen.alignment) if typed is not None else 0
        if typed is not None and typed.size is not None and not count:
            typed = None  # the pointer on that line is for another object
        where = frames[0] if frames else None
        for pattern, area in JAVA if self._modules.runtime == "Java" else ():
            if any(pattern.fullmatch(frame.function) for frame in frames):
                return Thing(area, "mapped", chosen.at, chosen.size, frames=frames, area=True)
        name = f"heap: {where.function} ({where.source})" if where else "heap"
        element = None
        if typed is not None and typed.size and count > 1:
            element = (typed.name, typed.size)
        elif typed is None and chosen.element and chosen.size > chosen.element:
            element = ("element", chosen.element)
        thing = Thing(
            name, "heap", chosen.at, chosen.size, frames=frames,
            foreign=bool(self._system(chosen.site)),
        )  # fmt: skip
        field = fields_of(typed, element[1] if element else 0)
        thing = replace(of_type(thing, typed), element=element, field=field)
        if typed is None and element is not None:
            each = Edit("", ((0, ((chosen.element, chosen.size // chosen.element),)),))
            return replace(thing, edit=lambda _, aligned: each if aligned == "element" else Edit())
        return thing

    def _system(self, site: int) -> str:
        """Return the system library whose own code allocates at a site, or ''."""
        for pc in self._sites.get(site, ()):
            frames = self._frames.get(pc - 1, ())
            if not all(ALLOCATORS.match(frame.function) for frame in frames):
                module = self._modules.at(pc - 1)
                return module.path.name if module is not None and module.of_system else ""
        return ""

    def site_frames(self, site: int) -> tuple[Frame, ...]:
        """Return the frames that led to an allocation, innermost first, without allocators."""
        frames = self._all_frames(site)
        while len(frames) > 1 and ALLOCATORS.match(frames[0].function):
            frames.pop(0)
        return tuple(frames)

    def _local(self, address: int) -> Thing | None:
        """Return the variable or frame of a function that started or awaited threads, or None."""
        callers = covering(self._callers, address)
        for frame in callers:
            # pc is a return address. The call is before it.
            module = self._modules.at(frame.pc - 1)
            info = self._open(str(module.debug)) if module and module.debug else None
            if module is None or info is None:
                continue
            call = replace(frame, pc=frame.pc - 1 - module.bias)
            local = self._locals_of(info).at(call, address)
            if local is not None:
                thing = Thing(
                    f"{self._function(frame)}::{local.name}", "local", local.address,
                    local.typed.size or 0, foreign=module.of_system,
                )  # fmt: skip
                return of_type(thing, local.typed)
        for frame in callers:
            name = f"frame of {self._function(frame)}"
            return Thing(name, "stack", frame.sp, frame.end - frame.sp, foreign=True)
        return None

    def _function(self, frame: Caller) -> str:
        if frame.pc not in self._functions:
            frames = self._modules.frames([frame.pc - 1]).get(frame.pc - 1, ())
            self._functions[frame.pc] = frames[-1].function if frames else f"{frame.pc % TENANT:#x}"
        return self._functions[frame.pc]

    def _thread_local(self, address: int) -> Thing | None:
        # Go's threads point into the runtime's own objects.
        copy = self._threads.at(address) if self._modules.runtime != "Go" else None
        if copy is None:
            return None
        module, variable, owner = copy.module, copy.variable, f" of thread {copy.thread}"
        if module is None or variable is None:
            around = self._modules.at(address)
            if around is not None and around.variable(address) is not None:
                return None  # the pointer is not the C library's
            name = f"thread-local memory{owner}"
            return Thing(name, "stack", copy.address, copy.size, foreign=True)
        typed = self._type_of(module, LOCAL + variable.address)
        thing = Thing(
            variable.name, "variable", copy.address, copy.size, foreign=module.of_system,
            owner=owner,
        )  # fmt: skip
        return of_type(thing, typed)

    def _stack(self, address: int) -> Thing | None:
        for at, size, *_ in reversed(self._regions):
            if at <= address < at + size:
                if not self._holds_a_stack(at, size):
                    return None
                for pointer, who in self._stacks:
                    if at <= pointer <= at + size:
                        # Thread-local variables lie above the first frame.
                        part = "thread-local memory" if address >= pointer else "stack"
                        above = address >= pointer
                        return Thing(f"{part} of thread {who}", "stack", at, size, foreign=above)
                return None
        return None

    def _variable(self, address: int) -> Thing | None:
        module = self._modules.at(address)
        if module is None:
            return None
        symbol = module.variable(address)
        if symbol is None:
            part = module.part_at(address)
            return Thing(
                part.name, "file", module.bias + part.address, part.size, foreign=module.of_system
            )
        typed = self._type_of(module, symbol.address)
        internal = self._modules.runtime == "Go" and bool(_GO_LIBRARY.match(symbol.name))
        thing = Thing(
            symbol.name, "variable", module.bias + symbol.address, symbol.size,
            foreign=module.of_system or internal,
        )  # fmt: skip
        return of_type(thing, typed)

    def _type_of(self, module: Module, start: int) -> Typed | None:
        return self._types.get((str(module.debug), start))

    def _mapped(self, address: int) -> Thing | None:
        # An exact run has no regions.
        divided = [(o.at, o.size, False) for o in self._covering(address) if self._divided_by(o)]
        for at, size, shared, *reserved in (*reversed(self._regions), *divided):
            if at <= address < at + size:
                if reserved == [True] and size in _RESERVED and self._modules.runtime != "Go":
                    return self._arena(address)
                area = self._area(address, at, size)
                kind = area or ("shared memory" if shared else "mapped memory")
                name = area or f"{kind} at {at % TENANT:#x}"
                return self._used_at(kind, address) or Thing(
                    name, "mapped", at, size, area=bool(area)
                )
        at, size = self._break
        return self._own_heap(address, at, size) if at <= address < at + size else None

    def _own_heap(self, address: int, at: int, size: int) -> Thing:
        heap = "program's heap"
        return self._used_at(heap, address) or Thing(heap, "mapped", at, size, area=True)

    def _arena(self, address: int) -> Thing:
        """Return the object in an arena, which glibc makes for a thread other than the first."""
        at = address // _ARENA * _ARENA
        if address < at + _ARENA_STATE:
            return Thing("malloc's arena", "mapped", at, _ARENA_STATE, foreign=True, area=True)
        return self._own_heap(address, at, _ARENA)

    def _area(self, address: int, at: int, size: int) -> str:
        """Return the name of a mapping that a runtime or a library divides into objects, or ''."""
        if self._modules.runtime == "Go":
            whole = at % _GO_ARENA == 0 and size >= _GO_ARENA
            return "Go's heap" if whole else "memory of Go's runtime"
        owner = next(filter(None, map(self._divided_by, self._covering(address))), "")
        return owner and f"memory of {owner}"

    def _used_at(self, area: str, address: int) -> Thing | None:
        """Return an object without a known allocation, which pointers to it revealed, or None."""
        at = bisect_right(self._used, address, key=lambda entry: entry[0]) - 1
        if at < 0 or address >= self._used[at][0] + self._used[at][1].size:
            return None
        start, use = self._used[at]
        foreign = bool(_GO_LIBRARY.match(use.typed.name))
        thing = Thing(f"{area}: {use.typed.name}", "heap", start, use.size, foreign=foreign)
        return of_type(thing, use.typed)
