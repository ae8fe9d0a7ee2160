# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the installed library as a new user sees it, shared and static, from C and C++.

usage: install.py BUILD_DIR CC CXX PROGRAM EXAMPLE...

Installs into a temporary directory. Compiles one program as C and as C++ against it with only
pkg-config's flags, and runs it. Compares the symbols that the shared library exports with the
functions that the public headers declare or define. Examples are compiled and run as well.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PRIVATE = re.compile(
    r"schedshard_(sbm_(iter|chunk|read_shard|near_search)\w*|sbm_(bit|pos|word)|slot_own_\w+"
    r"|near_wider|cpu_counter_(flush|note)|summary_(mark|test|cleaning|occupied|word|note)"
    r"|cpu_relax|port_light_barrier|slot_put_any|watch\w*)"
)
MOST = 110  # public functions


def call(argv: list[str], env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    if done.returncode:
        sys.exit(f"{shlex.join(argv)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pkg_config(root: Path, libdir: Path, *args: str) -> list[str]:
    """Ask pkg-config about an installed library."""
    env = {"PKG_CONFIG_PATH": str(libdir / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    return call(["pkg-config", *args], env).split()


def compile_and_run(
    compiler: list[str],
    source: Path,
    flags: list[str],
    libs: list[str],
    libdir: Path,
    printed: str = r"4 passed, 0 failed\n",
) -> None:
    """Compile one program with warnings as errors, and run it."""
    binary = source.with_suffix(".bin")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    call([*compiler, *warnings, *flags, str(source), *libs, "-o", str(binary)])
    output = call([str(binary)], {"LD_LIBRARY_PATH": str(libdir)})
    if not re.fullmatch(printed, output, re.S):
        sys.exit(f"{source}: printed {output!r}")
    print(f"{source.name}: {output.splitlines()[-1]}")


def declared(headers: Path) -> set[str]:
    """Functions that the headers declare and do not define."""
    names = set()
    for header in headers.glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*(\\\n.*)*", "", text, flags=re.M)
        for match in re.finditer(
            r"^(?!static)[a-z][\w \n*]*?\b(?!__tsan_)(\w+)\([^{};]*\);", text, re.M
        ):
            names.add(match[1])
    return names


def inlined(headers: Path) -> set[str]:
    """Functions that the headers define, without port.h's primitives and those for macros alone."""
    names = set()
    for header in headers.glob("*.h"):
        if header.name != "gcc_atomics.h":
            text = header.read_text()
            names |= set(re.findall(r"^static [\w \n*]*?\b(\w+)\([^{};]*\)\n\{", text, re.M))
    return {name for name in names if not PRIVATE.fullmatch(name)}


def exported(library: Path) -> set[str]:
    """Functions that a shared library exports. Before 1.0 its SONAME has the minor version."""
    lines = call(["nm", "-D", "--defined-only", str(library)]).splitlines()
    shown = {line.split()[-1].split("@")[0] for line in lines if " T " in line}
    name = re.sub(r"(\.so\.0\.\d+|\.so\.[1-9]\d*)\..*", r"\1", library.name)
    if f"[{name}]" not in call(["readelf", "-d", str(library)]):
        sys.exit(f"{library.name}: its SONAME must be {name}")
    print(f"{library.name}: {len(shown)} functions")
    return shown


def check_symbols(libdir: Path, headers: Path) -> None:
    """The shared library exports what the headers declare, no more and no less."""
    symbols = exported(next(libdir.glob("libschedshard.so.*.*.*")))
    expected = declared(headers) | inlined(headers)
    if symbols != expected:
        sys.exit(
            f"not in a header: {sorted(symbols - expected)}, "
            f"not in the library: {sorted(expected - symbols)}"
        )
    if (public := sum(not PRIVATE.fullmatch(name) for name in symbols)) > MOST:
        sys.exit(f"{public} public functions: at most {MOST}")


def main() -> None:
    """Install, compile, run."""
    build, c_compiler, cpp_compiler, program, *examples = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        # everything that is built is installed: no rebuild, which could race with meson test
        call(
            [
                *("meson", "install", "-C", build, "--no-rebuild", "--quiet"),
                *("--destdir", str(root)),
            ]
        )
        pc_file = next(root.rglob("schedshard.pc"))
        libdir = pc_file.parent.parent
        prefix = re.search(r"^prefix=(.*)$", pc_file.read_text(), re.M)
        assert prefix is not None
        headers = root / prefix[1].lstrip("/") / "include" / "schedshard"
        check_symbols(libdir, headers)
        flags = pkg_config(root, libdir, "--cflags", "schedshard")
        flags.append(f"-I{Path(program).parent}")
        shared = pkg_config(root, libdir, "--libs", "schedshard")
        static = pkg_config(root, libdir, "--static", "--libs", "schedshard")
        compilers = {"use.c": [c_compiler, "-std=gnu11"], "use.cc": [cpp_compiler, "-std=c++17"]}
        for name, compiler in compilers.items():
            shutil.copyfile(program, Path(folder) / name)
            compile_and_run(compiler, Path(folder) / name, flags, shared, libdir)
        for example in map(Path, examples):
            copy = Path(shutil.copy(example, folder))
            compiler = compilers["use.cc" if example.suffix == ".cc" else "use.c"]
            compile_and_run(compiler, copy, flags, shared, libdir, r".+\n")
        for library in list(libdir.glob("libschedshard*.so*")):
            library.unlink()
        for name, compiler in compilers.items():
            compile_and_run(compiler, Path(folder) / name, flags, static, libdir)


if __name__ == "__main__":
    main()
