# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The shared library's binary interface is the one that abi.txt describes.

usage: abi.py [--write] LIBRARY DESCRIPTION

Programs contain the library's inline functions, which read its structures. So a moved member breaks
them as much as a removed function. The description has a line per exported function with its types,
and one per structure and enumeration that these reach, with each member's offset in bytes. All is
from the debug information. Integers are s32, u64 and so on, whatever their name in the source.
--write makes a new description, for an intended change.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HEAD = "# SPDX-License-Identifier: (MIT OR GPL-2.0-only)\n"
WIDTH, INDENT = 100, "    "
DIE = re.compile(r" *<([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
ATTRIBUTE = re.compile(r" +<[0-9a-f]+> +DW_AT_(\w+) *: *(.*)")
SYMBOL = re.compile(r".* (?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)@+(\w+)$")
WORDS = {"structure_type": "struct", "union_type": "union", "enumeration_type": "enum"}
QUALIFIERS = ("const_type", "volatile_type", "restrict_type", "atomic_type")


def readelf(*args: str | Path) -> list[str]:
    """Return the lines that readelf prints."""
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(["readelf", *args], capture_output=True, text=True, check=True, env=env)
    return done.stdout.splitlines()


@dataclass
class Die:
    """An entry of the debug information."""

    tag: str
    says: dict[str, str] = field(default_factory=dict)
    parts: list[Die] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name, '' without one."""
        return re.sub(r"^\(.*\): ", "", self.says.get("name", ""))

    def number(self, attribute: str) -> int:
        """Return a number, 0 if there is none."""
        return int(self.says.get(attribute, "0").split()[0], 0)

    def word(self) -> str:
        """Return a type's name as the description has it."""
        if self.tag in WORDS:
            return f"{WORDS[self.tag]} {self.name}"
        kind, bits = self.says["encoding"], 8 * self.number("byte_size")
        if "boolean" in kind or "float" in kind or self.name == "char":
            return self.name.lstrip("_").lower()
        return f"{'u' if 'unsigned' in kind else 's'}{bits}"

    def size(self) -> str:
        """Return an array's bounds in brackets."""
        counts = [
            each.number("count") or each.number("upper_bound") + ("upper_bound" in each.says)
            for each in self.parts
        ]
        return "".join(f"[{count or ''}]" for count in counts)


class Description:
    """What a library's debug information says about its exported functions."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.dies: dict[str, Die] = {}
        self.bodies: set[str] = set()
        self.seen: set[int] = set()
        path: list[Die] = []
        for line in readelf("--debug-dump=info", library):
            if entry := DIE.match(line):
                die = self.dies[entry[2]] = Die(entry[3])
                del path[int(entry[1], 16) :]
                if path:
                    path[-1].parts.append(die)
                path.append(die)
            elif path and (said := ATTRIBUTE.match(line)):
                path[-1].says.setdefault(said[1], said[2].rstrip())

    def target(self, entry: Die) -> Die | None:
        """Return the type that an entry names, None for void."""
        if "type" not in entry.says:
            return None
        die = self.dies[entry.says["type"].strip("<>").removeprefix("0x")]
        return self.target(die) if die.tag == "typedef" else die

    def spelled(self, entry: Die, inner: str = "") -> str:
        """Return the declaration, as in C, of `inner` with the type that an entry names."""
        die = self.target(entry)
        if die is None:
            return f"void {inner}".rstrip()
        if die.tag in QUALIFIERS:
            word = die.tag.removesuffix("_type")
            below = self.target(die)
            if below is not None and below.tag == "pointer_type":
                return self.spelled(die, f"{word} {inner}".rstrip())
            return f"{word} {self.spelled(die, inner)}"
        if die.tag == "pointer_type":
            return self.spelled(die, f"*{inner}")
        if die.tag == "array_type":
            return self.spelled(die, (f"({inner})" if inner[:1] == "*" else inner) + die.size())
        if die.tag == "subroutine_type":
            return self.function(die, f"({inner})")
        if die.tag in WORDS and not die.name:
            return f"{WORDS[die.tag]} {{{self.body(die)}}} {inner}".rstrip()
        self.reach(die)
        return f"{die.word()} {inner}".rstrip()

    def function(self, entry: Die, name: str) -> str:
        """Return a function's declaration."""
        types = [self.spelled(each) for each in entry.parts if each.tag == "formal_parameter"]
        types += ["..." for each in entry.parts if each.tag == "unspecified_parameters"]
        return self.spelled(entry, f"{name}({', '.join(types) or 'void'})")

    def reach(self, die: Die) -> None:
        """Note a type that a program sees."""
        if die.tag not in WORDS or "declaration" in die.says or id(die) in self.seen:
            return
        self.seen.add(id(die))
        size = f"{die.number('byte_size')} bytes"
        if "alignment" in die.says:
            size += f" aligned to {die.number('alignment')}"
        self.bodies.add(f"{die.word()}, {size}: {self.body(die)}")

    def body(self, die: Die) -> str:
        """Return a type's members with their offsets, or its enumerators."""
        parts = []
        for part in die.parts:
            if part.tag == "enumerator":
                parts.append(f"{part.name}={part.number('const_value')}")
            elif part.tag == "member":
                start = part.number("data_member_location") * 8 + part.number("data_bit_offset")
                bits = f":{part.number('bit_size')}" if "bit_size" in part.says else ""
                at = f"{start // 8}.{start % 8}" if bits else f"{start // 8}"
                parts.append(f"{at} {self.spelled(part, part.name)}{bits}")
        return ", ".join(parts)

    def lines(self) -> list[str]:
        """Return each symbol version with its functions, then all types that these reach."""
        declared = {
            die.name: die
            for die in self.dies.values()
            if die.tag == "subprogram" and "external" in die.says
        }
        symbols = sorted(
            (found[2], found[1])
            for line in readelf("--dyn-syms", "-W", self.library)
            if (found := SYMBOL.match(line))
        )
        lines = []
        for version, names in itertools.groupby(symbols, lambda symbol: symbol[0]):
            lines.append(f"{version}:")
            for _, name in names:
                if name not in declared:
                    sys.exit(f"{self.library}: no debug information about {name}")
                lines.append(self.function(declared[name], name))
        return lines + sorted(self.bodies)


def folded(lines: Sequence[str]) -> str:
    """Return lines as a text of at most WIDTH columns; what follows a break is indented."""
    kept = (re.sub("(?<![,:]) ", "\xa0", line) for line in lines)
    texts = [textwrap.fill(line, WIDTH, subsequent_indent=INDENT) for line in kept]
    return "".join(f"{text}\n" for text in texts).replace("\xa0", " ")


def unfolded(text: str) -> list[str]:
    """Return the lines that folded() got."""
    return text.replace(f"\n{INDENT}", " ").splitlines()


def compare(old: Sequence[str], new: Sequence[str]) -> int:
    """Show what changed; return the exit status."""
    changes = [line for line in difflib.ndiff(old, new) if line[0] in "-+"]
    if not changes:
        print("the interface is the one described")
        return 0
    print("\n".join(changes))
    if any(line[0] == "-" for line in changes):
        print("Programs that were linked before break: a new minor version, or another change.")
    else:
        print("Programs that were linked before still run.")
    again = ["python3", sys.argv[0], "--write", *sys.argv[1:]]
    print(f"If the change is meant, update the description:\n{shlex.join(again)}")
    return 1


def main() -> int:
    """Compare, or write."""
    args = sys.argv[1:]
    write = args[:1] == ["--write"]
    library, description = (Path(arg) for arg in args[write:])
    lines = Description(library).lines()
    if write:
        description.write_text(HEAD + folded(lines), encoding="utf-8")
        return 0
    return compare(unfolded(description.read_text(encoding="utf-8").removeprefix(HEAD)), lines)


if __name__ == "__main__":
    sys.exit(main())
