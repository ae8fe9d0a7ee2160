# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Types of allocations, by what the allocating functions are made for.

A container of C++ or Rust allocates by a function for its element's or its node's type. The debug
information has that function also where it was inlined, and the type as its parameter.
"""

import re
from collections.abc import Sequence

from elftools.dwarf.die import DIE

from schedshard.lines.dwarf import die_name, template_type
from schedshard.lines.references import defined, referred

# Functions between such a function and the allocator.
_BETWEEN = re.compile(
    r"operator new.*|__libcpp_.*|__rustc?.*|__r(dl|g)_.*|exchange_malloc|box_new(_uninit)?"
    r"|(try_)?(re)?alloc(ate)?(_zeroed|_impl|_runtime|_in)*|(finish_)?grow(_\w+)?|with_capacity_in|try_reserve\w*"
)
# Functions of the program's units that are made for a type; to read other units takes long.
_MAKES = re.compile(
    r".*llocator::allocate|std::make_unique|alloc::(raw_vec::RawVec::\w+|boxed::Box::(try_)?new\w*)"
)
_RUST = 28


def may_say(functions: Sequence[str]) -> bool | None:
    """Whether functions at a call, the innermost first, say what is allocated.

    None: those that have called them may.
    """
    for name in functions:
        if _MAKES.fullmatch(name):
            # Rust's library comes without types.
            return not (name.startswith("alloc::") and functions[-1].startswith("std::"))
        if not _BETWEEN.fullmatch(name.rpartition("::")[2]):
            return False
    return None


def content(calls: Sequence[DIE]) -> DIE | None:
    """What lies in an allocation, by the functions at the call, the outermost first."""
    for call in reversed(calls):
        function = _origin(call)
        name = die_name(function).partition("<")[0]
        owner = function.get_parent()
        of = defined(owner) if owner is not None else None
        top = call.cu.get_top_DIE().attributes.get("DW_AT_language")
        rust = top is not None and top.value == _RUST
        found = (_in_rust if rust else _in_cplusplus)(name, function, of)
        if found is not None or not _BETWEEN.fullmatch(name):
            return found
    return None


def _origin(die: DIE) -> DIE:
    """The declaration of a function that is inlined, or defined outside of its class."""
    for name in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if name in die.attributes:
            die = referred(die, name)
    return die


def _in_cplusplus(name: str, function: DIE, owner: DIE | None) -> DIE | None:
    if name == "make_unique":
        of = template_type(function)
        # Of an array its elements.
        return referred(of, "DW_AT_type") if of and of.tag == "DW_TAG_array_type" else of
    if name != "allocate" or owner is None:
        return None
    # Not allocator_traits, which is made for an allocator.
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
