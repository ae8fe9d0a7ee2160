# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The installed library, as a stranger uses it: headers, pkg-config, shared and static, C and C++.

usage: install.py BUILD_DIR CC CXX

Installs into a temporary directory, compiles one program as C and as C++ against it with
nothing but what pkg-config says, runs it, and compares the symbols that the shared library
shows with the functions that the public headers declare.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# The common subset of C and C++; touches every header and both inline and library functions.
PROGRAM = r"""
#include <stdio.h>
#include <schedshard/schedshard.h>

int main(void)
{
	struct shard_topo *topo = NULL;
	struct shard_plan *plan = NULL;
	struct shard_err err = { "" };
	struct machine *machine = NULL;
	struct shard_counter counter = SHARD_COUNTER_INIT;
	struct bytemap *map;
	struct sbm *set;
	u32 cpu, seen = 0;

	if (machine_load(&machine, "/nonexistent", &err) == 0 || !err.text[0])
		return 1;
	if (shard_topo_from_sysfs(&topo, "/", &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (shard_plan_build(&plan, topo, NULL))
		return 1;
	set = sbm_alloc(plan, SBM_SUMMARY);
	map = bytemap_alloc(plan, 3);
	if (!set || !map || !shard_counter_attach(&counter, plan))
		return 1;
	for (u32 idx = 0; idx < plan->nr_possible; idx++)
		sbm_set(set, plan->idx_to_cpu[idx]);
	sbm_for_each_cpu(cpu, it, set) {
		shard_counter_inc(&counter, cpu);
		bytemap_set(map, cpu, 5);
	}
	sbm_for_each_cpu_wrap(cpu, it, set, plan->idx_to_cpu[0]) {
		if (bytemap_get(map, cpu) == 5)
			seen++;
	}
	if (seen != plan->nr_possible || shard_counter_sum(&counter) != (s64)seen ||
	    sbm_weight(set) != seen)
		return 1;
	printf("%u CPUs\n", seen);
	shard_counter_detach(&counter);
	bytemap_free(map);
	sbm_free(set);
	shard_plan_free(plan);
	shard_topo_free(topo);
	return 0;
}
"""


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
    print(f"{source.name} {libs[0]}: {output.strip()}")


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
    build, c_compiler, cpp_compiler = sys.argv[1:4]
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
        for name, compiler, standard in (
            ("use.c", c_compiler, "-std=gnu11"),
            ("use.cc", cpp_compiler, "-std=c++17"),
        ):
            program = Path(folder) / name
            program.write_text(PROGRAM)
            compile_and_run([compiler, standard], program, flags, shared, libdir)
        for name in list(libdir.glob("libschedshard.so*")):
            name.unlink()
        for name, compiler in (("use.c", c_compiler), ("use.cc", cpp_compiler)):
            compile_and_run([compiler], Path(folder) / name, flags, static, libdir)


if __name__ == "__main__":
    main()
