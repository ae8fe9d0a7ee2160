# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the compiler and its flags, for programs that run on the exact recorder."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError, telling
from common.paths import build_dir, remake

LIBRARY = "libschedshard-exact.so"
# Functions of the C library that access the program's memory.
_WRAPPED = ("memcpy", "memmove", "memset", "memcmp")
# The recorder's library has no checked variants, such as __read_chk() for read().
_PLAIN = "-U_FORTIFY_SOURCE"
_DRIVERS = {"c": ("CC", ("cc", "gcc", "clang")), "c++": ("CXX", ("c++", "g++", "clang++"))}


def library() -> Path:
    """Return the path of the library that such a program loads."""
    path = (build_dir() / "record" / "exact" / LIBRARY).resolve()
    if not path.is_file():
        raise UserError(f"{path} is missing: {remake()}")
    return path


def _version(compiler: str) -> str:
    with telling(f"cannot run {compiler}"):
        done = subprocess.run(
            [compiler, "--version"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    return done.stdout


def _knows_volatile(version: str) -> bool:
    """Whether gcc distinguishes volatile accesses from others, as version 11 and later do."""
    match = re.search(r"\) (\d+)\.", version)
    return match is not None and int(match[1]) >= 11


def find_compiler(language: str) -> list[str]:
    """Return the compiler that CC or CXX names, or the system's."""
    variable, usual = _DRIVERS[language]
    named = os.environ.get(variable, "").split()
    # With 'make CC="schedshard cc"' CC names this command itself.
    if named and Path(named[0]).name == "schedshard":
        named = []
    for name in named[:1] or usual:
        if shutil.which(name) is not None:
            return named or [name]
    wanted = named[0] if named else " or ".join(usual)
    raise UserError(f"no compiler {wanted}: install gcc or clang, or set {variable}")


def flags(compiler: Sequence[str]) -> list[str]:
    """Return flags for both compiling and linking, because build systems pass the same to both."""
    at = library().parent
    options = ["-fsanitize=thread", _PLAIN]
    version = _version(compiler[0])
    if "clang" in version:
        options += ["-fsanitize-coverage=bb,no-prune,trace-pc", "-fno-sanitize-link-runtime"]
        options += ["-mllvm", "-tsan-distinguish-volatile=1"]
        options += ["-Wno-unused-command-line-argument", f"-L{at}", f"-l:{LIBRARY}"]
    else:
        # gcc adds -ltsan, so beside the library there is a symbolic link with that name.
        options += ["-fsanitize-coverage=trace-pc", "-Wno-tsan", f"-L{at}"]
        if _knows_volatile(version):
            options.append("--param=tsan-distinguish-volatile=1")
    wrapped = ",".join(f"--wrap={name}" for name in _WRAPPED)
    return [*options, f"-Wl,-rpath,{at},{wrapped}"]


def rust_flags() -> list[str]:
    """Return the words of RUSTFLAGS. As nightly options they need RUSTC_BOOTSTRAP=1."""
    compiler, at = os.environ.get("RUSTC") or "rustc", library().parent
    if shutil.which(compiler) is None:
        raise UserError(f"no compiler {compiler}: install Rust, or set RUSTC")
    linked = ("-Wl,--no-as-needed", f"-L{at}", f"-l:{LIBRARY}", f"-Wl,-rpath,{at}")
    options = [
        *("-Zsanitizer=thread", "-Zexternal-clangrt", "-Cunsafe-allow-abi-mismatch=sanitizer"),
        *("-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=3"),
        "-Cllvm-args=-sanitizer-coverage-trace-pc",
        # Linked before the C library, because this library replaces some of its functions.
        *(f"-Zpre-link-arg={word}" for word in linked),
    ]
    with telling(f"cannot run {compiler}"):
        asked = subprocess.run(
            [compiler, *options, "--print", "cfg"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            env={**os.environ, "RUSTC_BOOTSTRAP": "1"},
        )  # fmt: skip
    if asked.returncode:
        why = (asked.stderr.splitlines() or ["it failed"])[0]
        raise UserError(f"{compiler} lacks an option (Rust 1.95 has all of them): {why}")
    return options


def compile_exact(language: str, arguments: Sequence[str]) -> int:
    """Run the compiler with the flags, and return its exit status."""
    if "-static" in arguments or "-static-pie" in arguments:
        raise UserError("-static: the simulated machine is in a shared library; leave it out")
    compiler = find_compiler(language)
    # These come again at the end, because of contradicting flags the last one counts.
    command = [*compiler, *flags(compiler), *arguments, _PLAIN]
    with telling(f"cannot run {compiler[0]}"):
        return subprocess.run(command, check=False).returncode
