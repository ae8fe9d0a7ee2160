# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the types of allocations by type parameters of functions, or by the allocating lines.

A container of C++ or Rust allocates in a function whose type parameter is its element or node. The
debug information contains that function, even where it was inlined, and the parameter. Elsewhere
the type is the target of the pointer that the allocating line declares.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE

from model.lines.dwarf import die_name, template_type
from model.lines.references import defined, referred
from record.lines.units import FAULTS
from record.names.locals import Locals
from record.names.variables import (
    MOST_BYTES,
    WALKED,
    DebugInfo,
    Typed,
    bare,
    die_language,
    target,
    type_name,
)  # fmt: skip

# Functions between a function with such a parameter and the allocator.
_BETWEEN = re.compile(
    r"operator new.*|__libcpp_.*|__rustc?.*|__r(dl|g)_.*|exchange_malloc|box_new(_uninit)?"
    r"|(try_)?(re)?alloc(ate)?(_zeroed|_impl|_runtime|_in)*|(finish_)?grow(_\w+)?|with_capacity_in|try_reserve\w*"
)
# Functions with a type parameter in the program's own units. Other units take long to read.
_MAKES = re.compile(
    r".*llocator::allocate|std::make_unique|alloc::(raw_vec::RawVec::\w+|boxed::Box::(try_)?new\w*)"
)
_RUST = 28

# Functions between the program and the allocator, which reports omit.
ALLOCATORS = re.compile(
    r"^(_?_?(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign|mmap|shmat)"
    r"|operator new.*|(.* )?(std|__gnu_cxx)::.*"
    r"|x?[mc]alloc|x?realloc|[zn]?[mc]alloc|z(re)?alloc"
    r"|x?strdup|allocate_stack|__libc_.*"
    # Java's virtual machine, which is written in C++.
    r"|os::.*|(Re)?[aA]llocateHeap"
    # Rust: a global allocator, and library functions through which programs call it.
    r"|__rustc?::.*|__rust_.*|__r(dl|g)_.*|alloc::.*|std::(sys::)?alloc::.*"
    r"|hashbrown::.*|core::.*)$"
)

# Areas that Java's virtual machine maps, by a function among the calls to mmap().
JAVA = (
    (re.compile(r".*CollectedHeap::.*|universe_init|Universe::.*|G1\w+::.*"), "Java's heap"),
    (re.compile(r"[mM]etaspace::.*"), "Java's metadata of classes"),
    (re.compile(r"Code(Heap|Cache)::.*|codeCache_init"), "Java's compiled code"),
)
# Allocations by these functions begin with reference counts, before the pointer's target.
COUNTED = re.compile(r"\b(sync::Arc|rc::Rc|make_shared|allocate_shared|_Sp_counted)")


def may_say(functions: Sequence[str]) -> bool | None:
    """Whether the functions at a call, innermost first, determine the allocated type.

    None: their callers may determine it.
    """
    for name in functions:
        if _MAKES.fullmatch(name):
            # The debug information of Rust's library contains no types.
            return not (name.startswith("alloc::") and functions[-1].startswith("std::"))
        if not _BETWEEN.fullmatch(name.rpartition("::")[2]):
            return False
    return None


def content(calls: Sequence[DIE]) -> DIE | None:
    """Return the type of an allocation by the functions at the call, outermost first, or None."""
    for call in reversed(calls):
        function = _origin(call)
        name = die_name(function).partition("<")[0]
        owner = function.get_parent()
        of = defined(owner) if owner is not None else None
        top = call.cu.get_top_DIE().attributes.get("DW_AT_language")
        rust = top is not None and top.value == _RUST
        die = (_in_rust if rust else _in_cplusplus)(name, function, of)
        if die is not None or not _BETWEEN.fullmatch(name):
            return die
    return None


def _origin(die: DIE) -> DIE:
    """Return the declaration of a function that is inlined or defined outside its class."""
    for name in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if name in die.attributes:
            die = referred(die, name)
    return die


def _in_cplusplus(name: str, function: DIE, owner: DIE | None) -> DIE | None:
    if name == "make_unique":
        of = template_type(function)
        # An array counts as its elements.
        return referred(of, "DW_AT_type") if of and of.tag == "DW_TAG_array_type" else of
    if name != "allocate" or owner is None:
        return None
    # The parameter of allocator_traits is an allocator.
    if not die_name(owner).partition("<")[0].endswith("llocator"):
        return None
    return template_type(owner)


def _in_rust(name: str, function: DIE, owner: DIE | None) -> DIE | None:
    if owner is None:
        return None
    if die_name(owner).startswith("RawVec<"):
        return template_type(owner)
    above = owner.get_parent()
    of_box = die_name(owner).startswith("Box<") or (
        above is not None and die_name(above) == "boxed"
    )
    makes = name.removeprefix("try_").startswith("new")
    return template_type(function) if of_box and makes else None


# Types whose memory contains only elements. (An Arc's memory begins with reference counts.)
_OWNERS = ("Vec<", "VecDeque<", "Box<", "vector<", "unique_ptr<")

Line = tuple[str, int]  # in the source: the file's name without its folder, and the number
_At = Callable[[int], Iterator[tuple[DIE, DIE]]]


def _owned(die: DIE) -> DIE | None:
    """Return the target of a pointer, or the element of a vector or a box, or None."""
    if die.tag == "DW_TAG_pointer_type":
        return target(die)
    if die.tag not in ("DW_TAG_structure_type", "DW_TAG_class_type"):
        return None
    if not die_name(die).startswith(_OWNERS):
        return None
    return template_type(die)


class Pointers:
    """The pointers that the source lines of one file with debug information declare."""

    def __init__(self, info: DebugInfo, functions: Locals) -> None:
        self._info = info
        self._functions = functions
        self._targets: dict[Line, Typed] = {}
        self._read = 0

    def targets(self, lines: Mapping[Line, set[int]]) -> dict[Line, Typed]:
        """Return by source line the type to which a pointer declared there points.

        ``lines`` gives the instructions of each line. Only the units of these instructions are
        read, and the units of functions that were inlined there.
        """
        self._read_units(lines, self._units)
        missing = {line: pcs for line, pcs in lines.items() if line not in self._targets}
        self._read_units(missing, self._inlined)
        return {line: self._targets[line] for line in lines if line in self._targets}

    def _units(self, pc: int) -> Iterator[tuple[DIE, DIE]]:
        """Yield the units of an instruction, each with its skeleton."""
        for skeleton in self._info.code.at(pc):
            yield self._info.whole(skeleton), skeleton

    def _inlined(self, pc: int) -> Iterator[tuple[DIE, DIE]]:
        for call in self._functions.calls(pc):
            top = _origin(call).cu.get_top_DIE()
            if top.cu is not call.cu:
                yield top, top

    def _read_units(self, lines: Mapping[Line, set[int]], units_at: _At) -> None:
        wanted: dict[int, tuple[DIE, DIE, set[Line]]] = {}
        for line, pcs in lines.items():
            for pc in pcs:
                try:
                    for top, skeleton in units_at(pc):
                        wanted.setdefault(id(top.cu), (top, skeleton, set()))[2].add(line)
                except FAULTS:
                    self._info.damaged = True
        for top, skeleton, missing in wanted.values():
            try:
                self._read_unit(top, skeleton, missing)
            except FAULTS:
                self._info.damaged = True

    def _read_unit(self, top: DIE, skeleton: DIE, missing: set[Line]) -> None:
        files = _files_of(top, skeleton)
        if {name for name, _ in missing}.isdisjoint(files):
            return
        if self._read > MOST_BYTES:
            self._info.cut = True
            return
        self._read += top.cu.size
        self._walk(top, die_language(top), files, missing)

    def _walk(self, die: DIE, cplusplus: bool, files: Sequence[str], missing: set[Line]) -> None:
        for child in die.iter_children():
            if child.tag == "DW_TAG_variable":
                line = _declared_in(child, files)
                of = bare(target(child)) if line in missing else None
                pointee = _owned(of) if of is not None else None
                if pointee is not None and line is not None:
                    self._targets.setdefault(line, Typed(pointee, type_name(pointee, cplusplus)))
            elif child.tag in WALKED and child.has_children:
                self._walk(child, cplusplus, files, missing)


def _files_of(top: DIE, skeleton: DIE) -> list[str]:
    """Return the names of a unit's source files, by their numbers."""
    program = None
    # A split unit without a table of files uses the skeleton's.
    for unit in (top.cu, skeleton.cu):
        if program is None and isinstance(unit, CompileUnit):
            program = unit.dwarfinfo.line_program_for_CU(unit)
    if program is None:
        return []
    names = [Path(entry.name.decode("utf-8", "replace")).name for entry in program["file_entry"]]
    # Numbers begin with 1 before DWARF 5.
    return names if top.cu["version"] >= 5 else ["", *names]


def _declared_in(die: DIE, files: Sequence[str]) -> Line | None:
    """Return the source line that declares a variable, or None."""
    number, line = (die.attributes.get(f"DW_AT_decl_{part}") for part in ("file", "line"))
    if number is None or line is None or number.value >= len(files):
        return None
    return files[int(number.value)], int(line.value)
