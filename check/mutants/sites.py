# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Small changes of a C file, by place: the mutants of make mutants.

Three groups. "ordering": a barrier is removed or becomes a weaker one, an acquire or a release
becomes a plain access; the settings name these calls. "sequence": a call of the scheduler's is
removed or does less. "logic": a comparison changes by one (< and <=, > and >=) or into its opposite
(== and !=).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import tree_sitter_c
from tree_sitter import Language, Node, Parser

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Mutant:
    """One change of one file. Lines count from 1; start and end are byte offsets."""

    path: str
    group: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str
    number: int = 1

    @property
    def change(self) -> str:
        """The change in words; equal changes in a function have the same words."""
        return f"{self.before} -> {self.after}"

    @property
    def name(self) -> str:
        """A name that does not depend on the line."""
        return f"{self.path} {self.function}() {self.change} #{self.number}"

    def apply(self, source: bytes) -> bytes:
        """Return the changed file."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def text(node: Node) -> str:
    """Return a node's source on one line."""
    return " ".join((node.text or b"").decode().split())


def function_of(node: Node) -> str:
    """Return the name of the function that a node is in, or nothing."""
    up: Node | None = node
    while up is not None and up.type != "function_definition":
        up = up.parent
    declarator = up.child_by_field_name("declarator") if up is not None else None
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator) if declarator is not None else ""


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the source."""
    yield node
    for child in node.children:
        yield from walk(child)


def call_changes(
    node: Node, always: Mapping[str, Sequence[str]], unused: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return a call's replacements; {0} and {1} of a setting are its arguments."""
    called, arguments = (node.child_by_field_name(name) for name in ("function", "arguments"))
    if called is None or arguments is None:
        return []
    templates = list(always.get(text(called), ()))
    if node.parent is not None and node.parent.type == "expression_statement":
        templates += unused.get(text(called), ())
    values = [text(child) for child in arguments.named_children if child.type != "comment"]
    return [template.format(*values) for template in templates]


def find(
    path: str,
    source: bytes,
    always: Mapping[str, Sequence[str]],
    unused: Mapping[str, Sequence[str]],
    calls: str = "ordering",
) -> list[Mutant]:
    """Return the mutants of one file, in the order of the source; @calls: the group of calls."""
    found: list[Mutant] = []
    parser = Parser(Language(tree_sitter_c.language()))
    for node in walk(parser.parse(source).root_node):
        changed, group, changes = node, calls, list[str]()
        if node.type == "call_expression":
            changes = call_changes(node, always, unused)
        elif node.type == "binary_expression":
            operator = node.child_by_field_name("operator")
            if operator is not None and text(operator) in COMPARISONS:
                changed, group, changes = operator, "logic", [COMPARISONS[text(operator)]]
        function = function_of(node) if changes else ""
        if not function:
            continue
        shown = text(node)
        found += [
            Mutant(
                path=path,
                group=group,
                function=function,
                line=changed.start_point[0] + 1,
                start=changed.start_byte,
                end=changed.end_byte,
                before=shown if group == calls else f"{shown}: {text(changed)}",
                after=after,
            )
            for after in changes
        ]
    return numbered(found)


def numbered(found: Sequence[Mutant]) -> list[Mutant]:
    """Number the mutants that would have the same name."""
    seen: Counter[tuple[str, str]] = Counter()
    result = []
    for mutant in found:
        key = (mutant.function, mutant.change)
        seen[key] += 1
        result.append(replace(mutant, number=seen[key]))
    return result
