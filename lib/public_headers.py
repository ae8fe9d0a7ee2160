# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the public headers, whose names all have one prefix, from headers in the kernel's style.

public_headers.py DIRECTORY PUBLIC... -- PRIVATE...

The library's own sources use the names of the simulation: sbm_set(), u64, READ_ONCE(). A program
may define the same names. So this script writes to DIRECTORY each public header with schedshard_
before every name that it defines, also in comments: schedshard_sbm_set(), uint64_t,
SCHEDSHARD_READ_ONCE(). In names that begin with shard_ it replaces shard_: schedshard_plan_build().

The script also writes names.h, with which the library is compiled: names.h renames the library's
functions, including those of the private headers, to their public names. exports.c makes symbols of
the inline functions, for other languages.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TYPES = {
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"int{bits}_t" for bits in (32, 64)},
}
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
TAG = re.compile(r"\b(?:struct|union|enum) (\w+)")
ENUMERATION = re.compile(r"\benum \w+ \{([^}]*)\}")
INCLUDE = re.compile(r'^#include "(\w+\.h)"\n', re.M)
# Functions that only macros and inline functions of the headers call.
PRIVATE = re.compile(
    r"sbm_(iter|chunk|read_shard|near_search)\w*|sbm_(bit|pos|word)|slot_own_\w+|near_wider"
    r"|shard_summary_(mark|test|cleaning|occupied|word|note)|cpu_counter_(flush|note)"
)
# Functions that only the library's own files call; their declarations are left out.
INSIDE = re.compile(
    r"(?:^/\*(?:(?!\*/).)*\*/\n)?^\w[\w *]*\b(?:port_(?:alloc|free|(?:has_)?heavy_barrier)"
    r"|shard_summary_(?:alloc|free|next)|shard_near_rank|sbm_next_idx)\([^{};]*\);\n\n?",
    re.M | re.S,
)

PEDANTIC = r"""#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
\g<0>
#pragma GCC diagnostic pop"""


def public(name: str) -> str:
    """Return the name that a program sees."""
    if name.lower().startswith(("schedshard_", "__tsan_")):
        return name
    bare = name.strip("_")
    for begin, instead in (("shard_", "schedshard_"), ("SHARD_", "SCHEDSHARD_")):
        if bare.startswith(begin):
            return instead + bare.removeprefix(begin)
    return ("SCHEDSHARD_" if bare == bare.upper() else "schedshard_") + bare


def code(text: str) -> str:
    """Return a header's text without comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def declarations(text: str) -> list[str]:
    """Return the declarations outside all braces, each up to its body or semicolon."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", code(text), flags=re.M)
    text = re.sub(r'extern "C" \{', "", text)
    texts, depth, begin = [], 0, 0
    for match in re.finditer(r"[{};]", text):
        if match[0] == "}":
            depth = max(depth - 1, 0)
        elif depth == 0:
            texts.append(text[begin : match.start()])
        if match[0] == "{":
            depth += 1
        if depth == 0:
            begin = match.end()
    return texts


def functions(text: str) -> dict[str, str]:
    """Return the functions that a header declares, with the prototype of each that is inline."""
    prototypes = {}
    for declared in declarations(text):
        plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", declared)
        match = re.search(r"\b(\w+)\s*\(", plain)
        if match and match[1] != "static_assert" and not plain.strip().startswith("typedef"):
            inline = plain.strip().startswith("static")
            prototype = re.sub(r"\bstatic |\b(port_always_)?inline ", "", " ".join(plain.split()))
            prototypes[match[1]] = prototype if inline else ""
    return prototypes


class Names:
    """Every name that the public headers define, and what programs see instead."""

    def __init__(self, texts: list[str]) -> None:
        bare = [code(text) for text in texts]
        words = {name for text in bare for name in MACRO.findall(text)}
        words |= {name for text in texts for name in functions(text)}
        for text in bare:
            for inside in ENUMERATION.findall(text):
                words |= set(re.findall(r"\b([A-Z]\w+)\b(?=\s*(?:[=,}]|$))", inside))
        self.words = {name: public(name) for name in words} | TYPES
        self.tags = {name: public(name) for text in bare for name in TAG.findall(text)}
        # "likely" is also an English word.
        called = "|".join(sorted(name for name in self.words if name.isalpha()))
        others = "|".join(sorted(name for name in self.words if not name.isalpha()))
        tags = "|".join(sorted(self.tags))
        self.pattern = re.compile(
            rf"\b(?P<kind>struct|union|enum) (?P<tag>{tags})\b|\b(?P<other>{others})\b"
            rf"|\b(?P<called>{called})\b(?=\()|(?<=def )(?P<asked>{called})\b"
            rf"|(?<=define )(?P<defined>{called})\b"
        )

    def rename(self, text: str) -> str:
        """Return text with the names that programs see."""

        def instead(match: re.Match[str]) -> str:
            if match["tag"]:
                return f"{match['kind']} {self.tags[match['tag']]}"
            return self.words[match[0]]

        return self.pattern.sub(instead, text)

    def header(self, text: str, public_names: set[str]) -> str:
        """Return a header as programs see it, without what only the library itself needs."""
        text = re.sub(r"^typedef \w+ (?:" + "|".join(TYPES) + r");\n", "", text, flags=re.M)
        text = re.sub(
            r"^#if [^\n]*static_assert[^\n]*\n.*?#endif\n\n?", "", text, flags=re.M | re.S
        )
        text = re.sub(r"^static_assert\([^;]*\);\n\n?", "", text, flags=re.M)
        text = INSIDE.sub("", text)
        text = INCLUDE.sub(lambda match: match[0] if match[1] in public_names else "", text)
        # C++ has no flexible array members: compilers that accept them warn with -Wpedantic.
        text = re.sub(r"^\t[\w *]+\[\][^\n;]*;[^\n]*", PEDANTIC, text, flags=re.M)
        return self.rename(text)

    def cpp_header(self, text: str) -> str:
        """Return the C++ header, which names types without "struct"."""
        tags = "|".join(sorted(self.tags, key=len, reverse=True))
        text = re.sub(rf"(?<=[(<])({tags})\b(?=[ ,>*])", lambda m: self.tags[m[1]], text)
        return self.rename(text)


def exports(paths: list[Path], names: Names) -> str:
    """Return a C file that makes symbols of the inline functions for programs."""
    lines = [
        "/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */",
        "/* Made by public_headers.py: inline functions as symbols, for callers without C. */",
        "#include <schedshard.h>",
    ]
    for path in sorted(paths):
        for name, prototype in functions(path.read_text("utf-8")).items():
            if not prototype or PRIVATE.fullmatch(name):
                continue
            given = re.findall(r"(\w+)(?=[,)])", prototype.partition("(")[2])
            given = [] if given == ["void"] else given
            exported = re.sub(rf"\b{name}\(", f"{names.words[name]}(", prototype)
            returns = "" if prototype.startswith("void ") else "return "
            call = f"\t{returns}{name}({', '.join(given)});"
            lines += ["", f"{exported};", exported, "{", call, "}"]
    return "\n".join(lines) + "\n"


def renamed(texts: list[str]) -> str:
    """Return a header that gives functions their public names."""
    called = {n for text in texts for n, inline in functions(text).items() if not inline}
    lines = ["/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */"]
    lines += ["/* Made by public_headers.py: the names of the library's symbols. */"]
    lines += ["#define SCHEDSHARD_INSIDE /* for checked.h: these calls are the library's own */"]
    for name in sorted(called):
        if public(name) != name:
            lines.append(f"#define {name} {public(name)}")
    return "\n".join(lines) + "\n"


def main(directory: Path, paths: list[Path], private: list[Path]) -> None:
    """Write all files."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    headers = [path for path in paths if path.suffix == ".h"]
    names = Names([texts[path] for path in headers])
    file_names = {path.name for path in headers}
    directory.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        made = names.header(text, file_names) if path in headers else names.cpp_header(text)
        (directory / path.name).write_text(made, encoding="utf-8")
    inside = [path.read_text(encoding="utf-8") for path in private]
    (directory / "names.h").write_text(renamed([*texts.values(), *inside]), encoding="utf-8")
    own = ("port.h", "gcc_atomics.h", "checked.h")
    exported = [path for path in headers if path.name not in own]
    (directory / "exports.c").write_text(exports(exported, names), encoding="utf-8")


if __name__ == "__main__":
    split = sys.argv.index("--")
    main(Path(sys.argv[1]), [*map(Path, sys.argv[2:split])], [*map(Path, sys.argv[split + 1 :])])
