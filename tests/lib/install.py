# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The installed library, as a new user sees it: headers, pkg-config, shared and static, C and C++.

usage: install.py BUILD_DIR CC CXX PROGRAM EXAMPLE...

Installs into a temporary directory. Compiles one program as C and as C++ against it with only
pkg-config's flags, and runs it. Compares the symbols that the shared library exports with the
functions that the public headers declare. Each of these and each inline function has a manual page,
and troff finds no fault in the pages. Examples are compiled and run as well.
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

# Helpers without a manual page, which only the headers' macros and inline functions call.
WITHOUT_PAGE = {
    f"schedshard_{name}"
    for name in (
        *("sbm_chunk", "sbm_chunk_next", "sbm_iter_begin", "sbm_iter_begin_wrap", "sbm_iter_load"),
        *("sbm_iter_next", "sbm_iter_next_all", "sbm_iter_take", "sbm_read_shard"),
        *("near_wider", "summary_mark", "visited_enter", "cpu_counter_flush", "cpu_counter_note"),
        *(
            "summary_cleaning",
            "summary_occupied",
            "summary_word",
            "occupancy_epoch",
            "occupancy_ns",
        ),
        # port.h: types and atomics, which Linux documents
        "cpu_relax",
    )
}


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
    env = {
        "PKG_CONFIG_PATH": str(libdir / "pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(root),
    }
    return call(["pkg-config", *args], env).split()


def compile_and_run(
    compiler: list[str],
    source: Path,
    flags: list[str],
    libs: list[str],
    libdir: Path,
    printed: str = r"\d+ CPUs\n",
) -> None:
    """Compile one program with warnings as errors, and run it."""
    binary = source.with_suffix(".bin")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    call([*compiler, *warnings, *flags, str(source), *libs, "-o", str(binary)])
    output = call([str(binary)], {"LD_LIBRARY_PATH": str(libdir)})
    if not re.fullmatch(printed, output, re.S):
        sys.exit(f"{source}: printed {output!r}")
    linked = "statically" if "-lstdc++" in libs else "shared"
    print(f"{source.name} {linked}: {output.splitlines()[-1]}")


def declared(headers: Path) -> set[str]:
    """Functions that the headers declare and do not define."""
    names = set()
    for header in headers.glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*(\\\n.*)*", "", text, flags=re.M)
        for match in re.finditer(r"^(?!static)[a-z][\w \n*]*?\b(\w+)\([^{};]*\);", text, re.M):
            names.add(match[1])
    return names


def inlined(headers: Path) -> set[str]:
    """Functions and macros with arguments that the headers define, port.h's primitives apart."""
    names = set()
    for header in headers.glob("*.h"):
        if header.name != "gcc_atomics.h":
            text = header.read_text()
            names |= set(re.findall(r"^static [\w \n*]*?\b(\w+)\([^{};]*\)\n\{", text, re.M))
            names |= set(re.findall(r"^#define (\w*for_each\w*)\(", text, re.M))
    return names


def check_pages(pages: Path, headers: Path) -> None:
    """Check that every function has a page, that one is complete, and that troff warns of none."""
    written = {page.stem for page in pages.glob("*.3")}
    functions = declared(headers) | inlined(headers)
    if functions - written != WITHOUT_PAGE:
        sys.exit(f"without a page: {sorted((functions - written) ^ WITHOUT_PAGE)}")
    overviews = {"schedshard"} | {f"schedshard-{header.stem}" for header in headers.glob("*.h")}
    if written - functions - overviews:
        sys.exit(f"a page of nothing: {sorted(written - functions - overviews)}")
    text = (pages / "schedshard_sbm_near_cpu.3").read_text()
    for part in (
        ".SH NAME\n",
        "\\fIallowed\\fR\nCpumask that",
        ".SH RETURN VALUE\nIts CPU number",
    ):
        if part not in text:
            sys.exit(f"schedshard_sbm_near_cpu.3 has no {part!r}:\n{text}")
    if shutil.which("groff"):
        paths = [str(page) for page in sorted(pages.glob("*.3"))]
        said = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", *paths], capture_output=True, check=False
        )
        if said.stderr or said.returncode:
            sys.exit(f"groff: {said.stderr.decode()}")
    print(f"man3: {len(written)} pages")


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
    """The shared libraries export what the headers declare, no more and no less, each once."""
    core = exported(next(libdir.glob("libschedshard.so.*.*.*")))
    machine = exported(next(libdir.glob("libschedshard-machine.so.*.*.*")))
    pages = {page.stem for page in (headers.parent.parent / "share" / "man" / "man3").glob("*.3")}
    expected = declared(headers) | {
        name for name in inlined(headers) & pages if "for_each" not in name
    }
    if core | machine != expected or core & machine:
        sys.exit(
            f"not in a header: {sorted((core | machine) - expected)}, "
            f"not in a library: {sorted(expected - core - machine)}, "
            f"in both: {sorted(core & machine)}"
        )


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
        check_pages(headers.parent.parent / "share" / "man" / "man3", headers)
        flags = pkg_config(root, libdir, "--cflags", "schedshard")
        alone = pkg_config(root, libdir, "--libs", "schedshard")
        shared = pkg_config(root, libdir, "--libs", "schedshard-machine")
        static = pkg_config(root, libdir, "--static", "--libs", "schedshard-machine")
        if "-lstdc++" in shared or "-lstdc++" not in static:
            sys.exit("pkg-config: libstdc++ belongs to static linking, and only there")
        compilers = {"use.c": [c_compiler, "-std=gnu11"], "use.cc": [cpp_compiler, "-std=c++17"]}
        for name, compiler in compilers.items():
            shutil.copyfile(program, Path(folder) / name)
            compile_and_run(compiler, Path(folder) / name, flags, shared, libdir)
        for example in map(Path, examples):
            copy = Path(shutil.copy(example, folder))
            compiler = compilers["use.cc" if example.suffix == ".cc" else "use.c"]
            compile_and_run(compiler, copy, flags, alone, libdir, r".+\n")
        for library in list(libdir.glob("libschedshard*.so*")):
            library.unlink()
        for name, compiler in compilers.items():
            compile_and_run(compiler, Path(folder) / name, flags, static, libdir)


if __name__ == "__main__":
    main()
