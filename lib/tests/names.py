# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""All names that a program gets by including or linking the library have its prefix.

usage: names.py HEADERS OWN_NAMES LIBRARY... -- CC... -- CXX...

Each header alone compiles with -Wpedantic in C11 and C++11. All headers together compile from C99
to C++20, in a program that itself uses names of Linux (OWN_NAMES). All macros, types, tags,
enumerators and functions that the headers define begin with schedshard_, and so do the symbols that
a shared or static library exports.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = re.compile(r"schedshard_|SCHEDSHARD_")
USED = ("cerrno", "cstring", "memory", "system_error", "utility")
STANDARD = "".join(f"#include <{header}>\n" for header in USED)


def call(argv: list[str | Path], text: str = "") -> str:
    """Run a command that must succeed; return what it printed."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{argv}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiles(compiler: list[str | Path], language: str, own: Path, headers: Path) -> int:
    """Compile each header alone after the program's names, and all together also before them."""
    count = 0
    for header in sorted(headers.glob("schedshard/*.h*")):
        # gcc_atomics.h is a part of port.h
        if (header.suffix == ".hh" and language == "c") or header.name == "gcc_atomics.h":
            continue
        whole = header.stem == "schedshard"
        if language == "c":
            standards = ["c99", "c11", "gnu17"] if whole else ["c11"]
        else:
            standards = ["c++11", "c++17", "c++20"] if whole else ["c++11"]
        ours, theirs = f"#include <schedshard/{header.name}>\n", f'#include "{own}"\n'
        for standard in standards:
            strict: list[str | Path] = ["-fno-exceptions"] if standard == "c++17" else []
            strict += [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic"]
            strict += ["-Wno-unused-function", "-Werror", "-fsyntax-only", "-I", headers, "-x"]
            for text in (theirs + ours, ours + theirs) if whole else (theirs + ours,):
                if header.suffix == ".hh":
                    text = STANDARD + text
                call([*compiler, *strict, language, "-"], text)
                count += 1
    return count


def own_text(compiler: list[str | Path], headers: Path) -> str:
    """Return what the preprocessor leaves of the headers themselves."""
    text = "".join(f"#include <schedshard/{p.name}>\n" for p in headers.glob("schedshard/*.h"))
    text = text.replace("#include <schedshard/gcc_atomics.h>\n", "")
    kept, keep = [], False
    for line in call([*compiler, "-E", "-I", headers, "-x", "c", "-"], text).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            keep = marker[1].startswith(str(headers))
        elif keep:
            kept.append(line)
    return "\n".join(kept)


def names_of(text: str) -> set[str]:
    """Return the types, tags, enumerators and functions that preprocessed code declares."""
    while "__attribute__" in text:
        text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    names = set(re.findall(r"\b(?:struct|union|enum)\s+(\w+)", text))
    names |= set(re.findall(r"\btypedef\b[^;{]*?\b(\w+)\s*;", text))
    for inside in re.findall(r"\benum\s+\w+\s*\{([^}]*)\}", text):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", inside))
    outside, depth = "", 0
    for char in text:
        depth += char == "{"
        outside += char if depth == 0 else ""
        if char == "}":
            depth -= 1
            outside += ";" if depth == 0 else ""
    for declared in outside.split(";"):
        match = re.search(r"\b(\w+)\s*\(", declared)
        if match:
            names.add(match[1])
    return names


def macros_of(headers: Path) -> set[str]:
    """Return the macros that the headers define."""
    texts = [p.read_text("utf-8") for p in headers.glob("schedshard/*.h*")]
    return {name for text in texts for name in re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M)}


def symbols_of(library: Path) -> set[str]:
    """Return the symbols that a library exports."""
    shared = ["-D"] if ".so" in library.name else []
    lines = call(["nm", *shared, "--defined-only", "--extern-only", library]).splitlines()
    return {line.split()[2].split("@")[0] for line in lines if len(line.split()) == 3}


def main() -> None:
    """Check all headers and libraries, and print how many checks there were."""
    headers, own, *rest = sys.argv[1:]
    libraries, compiler, cpp_compiler = (part.split() for part in " ".join(rest).split(" -- "))
    with tempfile.TemporaryDirectory() as folder:
        # a copy where the compiler finds the headers, without the internal names.h and exports.c
        place = Path(folder) / "schedshard"
        place.mkdir()
        for header in Path(headers).glob("schedshard/*.h*"):
            (place / header.name).write_bytes(header.read_bytes())
        (place / "names.h").unlink(missing_ok=True)
        compiled = compiles([*compiler], "c", Path(own), Path(folder))
        compiled += compiles([*cpp_compiler], "c++", Path(own), Path(folder))
        names = names_of(own_text([*compiler], Path(folder))) | macros_of(Path(folder))
    foreign = {name for name in names if not OURS.match(name)}
    if foreign or len(names) < 200:
        sys.exit(f"{len(names)} names in headers, not ours: {sorted(foreign)}")
    for library in map(Path, libraries):
        shown = symbols_of(library)
        strange = {name for name in shown if not name.startswith("schedshard_")}
        if strange - {"SCHEDSHARD_0"} or len(shown) < 5:
            sys.exit(f"{library.name}: not ours: {sorted(strange)}")
        print(f"{library.name}: {len(shown)} names")
    print(f"{compiled} programs, {len(names)} names in headers")


if __name__ == "__main__":
    main()
