# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the tests and examples of rust/ without a network, and checks its declarations.

usage: rust.py SOURCE_DIR HEADERS LIBRARY

src/sys.rs declares functions of C by hand. Each declaration must agree with the public headers,
because rustc cannot see that an argument is missing or has another size.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
SAME = {
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 32, 64)},
    **{"int64_t": "i64", "int": "c_int", "bool": "bool", "void": "()", "char": "c_char"},
}
OPAQUE = {"Plan", "Sbm", "CpuCounter", "Counter", "SlotSet", "Wait", "CreateOpts"}


def rust_type(declared: str) -> str:
    """Return the type of Rust for one of C."""
    declared = declared.strip()
    if declared.endswith("*"):
        inner = declared[:-1].strip()
        if inner.endswith("*"):
            return f"*mut {rust_type(inner)}"
        constant = inner.startswith("const ")
        return f"*{'const' if constant else 'mut'} {rust_type(inner.removeprefix('const '))}"
    if declared.startswith("const "):
        return rust_type(declared.removeprefix("const "))
    tag = re.fullmatch(r"struct schedshard_(\w+)", declared)
    if tag:
        name = "".join(part.capitalize() for part in tag[1].split("_"))
        return name if name in OPAQUE else "c_void"
    return SAME.get(declared, "c_void")


def in_c(headers: Path) -> dict[str, str]:
    """Return each function of the headers as Rust would declare it."""
    signatures = {}
    for header in headers.glob("*.h"):
        text = re.sub(r"/\*.*?\*/|^[ \t]*#[^\n]*", "", header.read_text("utf-8"), flags=re.M | re.S)
        text = re.sub(r"\b(static|schedshard_port_always_inline|inline)\b", "", text)
        pattern = (
            r"^\s*(?!return)((?:const )?(?:struct )?\w+[ \n]\**)\s*"
            r"(schedshard_\w+)\(([^{};()]*)\)\s*[;{]"
        )
        for returns, name, arguments in re.findall(pattern, text, re.M):
            types = [re.sub(r"\w+$", "", part.strip()) for part in arguments.split(",")]
            given = [] if arguments == "void" else [rust_type(" ".join(t.split())) for t in types]
            signatures[name] = f"({', '.join(given)}) -> {rust_type(' '.join(returns.split()))}"
    return signatures


def in_rust(source: Path) -> dict[str, str]:
    """Return each function that sys.rs declares, without names of arguments."""
    signatures = {}
    pattern = r"pub fn (schedshard_\w+)\(([^)]*)\)(?: -> ([^;]+))?;"
    for name, arguments, returns in re.findall(pattern, source.read_text("utf-8")):
        types = [part.partition(":")[2].strip() for part in arguments.split(",") if part.strip()]
        signatures[name] = f"({', '.join(types)}) -> {returns or '()'}"
    return signatures


def main() -> int:
    """Compare the declarations, then build and test the crate."""
    source, headers, library = Path(sys.argv[1]) / "rust", Path(sys.argv[2]), Path(sys.argv[3])
    c, rust = in_c(headers), in_rust(source / "src/sys.rs")
    wrong = [
        f"{name}: {rust[name]}, in C {c.get(name)}" for name in rust if rust[name] != c.get(name)
    ]
    if wrong or len(rust) < 30:
        sys.exit("\n".join(wrong) or "sys.rs: too few functions are found")
    if not shutil.which("cargo"):
        print("skipped: there is no cargo (Debian packages cargo, rustc)")
        return SKIPPED
    folder = str(library.resolve().parent)
    with tempfile.TemporaryDirectory() as target:
        env = {"CARGO_TARGET_DIR": target, "SCHEDSHARD_LIB_DIR": folder, "LD_LIBRARY_PATH": folder}
        done = subprocess.run(
            ["cargo", "test", "--offline", "--manifest-path", source / "Cargo.toml"],
            env={**os.environ, **env, "RUSTFLAGS": "-D warnings"},
            check=False,
        )
    print(f"{len(rust)} functions are declared as in C")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
