# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The installed library, as a stranger uses it: headers, pkg-config, shared and static, C and C++.

usage: install.py BUILD_DIR PROGRAM CC CXX

Installs into a temporary directory, compiles one program as C and as C++ against it with
nothing but what pkg-config says, runs it, and compares the symbols that the shared library
shows with the functions that the public headers declare.
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


def call(argv: list[str], env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    if done.returncode:
        sys.exit(f"{shlex.join(argv)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pkg_config(root: Path, libdir: Path, *args: str) -> list[str]:
    """Ask pkg-config about the installed library."""
    env = {
        "PKG_CONFIG_PATH": str(libdir / "pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(root),
    }
    return call(["pkg-config", *args, "schedshard"], env).split()


def compile_and_run(
    compiler: list[str], source: Path, flags: list[str], libs: list[str], libdir: Path
) -> None:
    """Compile one program with warnings as errors, and run it."""
    binary = source.with_suffix(".bin")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    call([*compiler, *warnings, *flags, str(source), *libs, "-o", str(binary)])
    output = call([str(binary)], {"LD_LIBRARY_PATH": str(libdir)})
    if not re.fullmatch(r"\d+ CPUs\n", output):
        sys.exit(f"{source}: printed {output!r}")
    linked = "statically" if "-lstdc++" in libs else "shared"
    print(f"{source.name} {linked}: {output.strip()}")


def declared(headers: Path) -> set[str]:
    """Functions that the headers declare and do not define."""
    names = set()
    for header in headers.glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*(\\\n.*)*", "", text, flags=re.M)
        for match in re.finditer(r"^(?!static)[a-z][\w \n*]*?\b(\w+)\([^{};]*\);", text, re.M):
            names.add(match[1])
    return names


def check_symbols(library: Path, headers: Path) -> None:
    """The shared library shows what the headers declare, no more and no less."""
    lines = call(["nm", "-D", "--defined-only", str(library)]).splitlines()
    shown = {line.split()[-1].split("@")[0] for line in lines if " T " in line}
    expected = declared(headers)
    if shown != expected:
        sys.exit(
            f"{library.name}: not in a header: {sorted(shown - expected)}, "
            f"not in the library: {sorted(expected - shown)}"
        )
    dynamic = call(["readelf", "-d", str(library)])
    if "[libschedshard.so.0]" not in dynamic:
        sys.exit(f"{library.name}: its SONAME must be libschedshard.so.0")
    print(f"{library.name}: {len(shown)} functions")


def main() -> None:
    """Install, compile, run."""
    build, program, c_compiler, cpp_compiler = sys.argv[1:5]
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
        check_symbols(next(libdir.glob("libschedshard.so.*.*")), headers)
        flags = pkg_config(root, libdir, "--cflags")
        shared = pkg_config(root, libdir, "--libs")
        static = pkg_config(root, libdir, "--static", "--libs")
        if "-lstdc++" in shared or "-lstdc++" not in static:
            sys.exit("pkg-config: libstdc++ belongs to static linking, and only there")
        compilers = {"use.c": [c_compiler, "-std=gnu11"], "use.cc": [cpp_compiler, "-std=c++17"]}
        for name, compiler in compilers.items():
            shutil.copyfile(program, Path(folder) / name)
            compile_and_run(compiler, Path(folder) / name, flags, shared, libdir)
        for library in list(libdir.glob("libschedshard.so*")):
            library.unlink()
        for name, compiler in compilers.items():
            compile_and_run(compiler, Path(folder) / name, flags, static, libdir)


if __name__ == "__main__":
    main()
