# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Another project uses the library alone, in each of the ways that docs/guide names.

usage: take.py SOURCE_DIR [CC...]

The library is configured without the command, installed, and used by pkg-config (shared and
static), by CMake's find_package() and as a meson subproject. It may link only the C library.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_TARGETS = 20
MOST_BYTES = 120 * 1024  # stripped
HERE = Path(__file__).resolve().parent / "take"


def call(*argv: str | Path, **env: str) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    if done.returncode:
        sys.exit(f"{argv}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run(program: Path, how: str, libdir: Path | None = None) -> None:
    """Run a program that was built in one way."""
    printed = call(program, LD_LIBRARY_PATH=str(libdir or ""))
    if printed != "one CPU\n":
        sys.exit(f"{how}: printed {printed!r}")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-d", program))
    if any("schedshard" in name for name in needed) != (libdir is not None):
        sys.exit(f"{how}: is linked with {needed}")
    print(f"{how}: works")


def check_library(library: Path, folder: Path) -> None:
    """Check that a library needs only the C library, is small, and has no symbols of C++."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-d", library))
    if not all(name.startswith(("libc.", "ld-linux")) for name in needed):
        sys.exit(f"{library.name}: needs {needed}")
    stripped = folder / "stripped.so"
    call("strip", "-o", stripped, library)
    if stripped.stat().st_size > MOST_BYTES:
        sys.exit(f"{library.name}: {stripped.stat().st_size} bytes, {MOST_BYTES} at most")
    if re.search(r" _Z|toml", call("nm", library)):
        sys.exit(f"{library.name}: has symbols of C++")
    print(f"{library.name}: {stripped.stat().st_size} bytes")


def targets(build: Path) -> int:
    """Count the targets of a build tree."""
    return len(json.loads(call("meson", "introspect", "--targets", build)))


def by_pkg_config(compiler: list[str], libdir: Path, root: Path, folder: Path) -> None:
    """Link with the shared library, and with the static one, by pkg-config's flags."""
    env = {"PKG_CONFIG_PATH": str(libdir / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    for how in ("shared", "static"):
        program = folder / f"user-{how}"
        flags = call("pkg-config", "--cflags", "--libs", f"--{how}", "schedshard", **env).split()
        if how == "static":
            flags = [f"{libdir}/libschedshard.a" if f == "-lschedshard" else f for f in flags]
        call(*compiler, "-Wall", "-Wextra", "-Werror", HERE / "user.c", *flags, "-o", program)
        run(program, f"pkg-config {how}", libdir if how == "shared" else None)


def by_cmake(compiler: list[str], libdir: Path, version: str, folder: Path) -> None:
    """Link with both CMake targets; CMake refuses a version that is not compatible."""
    if not shutil.which("cmake"):
        print("no cmake here: not tried")
        return
    env = {"CC": " ".join(compiler)}
    build = folder / "cmake"
    place = f"-Dschedshard_DIR={libdir}/cmake/schedshard"
    call("cmake", "-S", HERE, "-B", build, place, f"-DASKED={version}", **env)
    call("cmake", "--build", build)
    run(build / "user-schedshard", "cmake shared", libdir)
    run(build / "user-static", "cmake static")
    for asked in ("0.0.1", "99.0"):
        refused = subprocess.run(
            ["cmake", "-S", HERE, "-B", folder / f"cmake-{asked}", place, f"-DASKED={asked}"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **env},
        )
        if not refused.returncode or "compatible with requested version" not in refused.stderr:
            sys.exit(f"cmake: version {asked} of {version} is found\n{refused.stderr}")


def by_subproject(source: Path, folder: Path) -> None:
    """Meson builds the library alone with the project."""
    project = folder / "project"
    shutil.copytree(HERE, project)
    (project / "subprojects").mkdir()
    (project / "subprojects/schedshard").symlink_to(source)
    shutil.copy(source / "lib/schedshard.wrap", project / "subprojects")
    build = folder / "subproject"
    call("meson", "setup", build, project)
    if targets(build) > MOST_TARGETS:
        sys.exit(f"subproject: {targets(build)} targets, {MOST_TARGETS} at most")
    call("ninja", "-C", build)
    run(build / "user", "meson subproject", build / "subprojects/schedshard/lib")


def main() -> None:
    """Build and install the library, and use it in each way."""
    source, compiler = Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build, root = folder / "build", folder / "root"
        options = ("-Dlibrary_only=true", "--prefix=/usr", "-Dwerror=true")
        call("meson", "setup", build, source, *options)
        call("ninja", "-C", build)
        call("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        libdir = next(root.rglob("schedshard.pc")).parent.parent
        path = "include/schedshard/schedshard.h"
        if not (root / "usr" / path).is_file():
            sys.exit(f"{path}: is not installed")
        check_library(next(libdir.glob("libschedshard.so.*.*.*")), folder)
        by_pkg_config(compiler, libdir, root, folder)
        version = (source / "VERSION").read_text(encoding="ascii").strip()
        by_cmake(compiler, libdir, version, folder)
        by_subproject(source, folder)


if __name__ == "__main__":
    main()
