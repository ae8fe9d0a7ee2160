# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run unmodified programs of Debian with `c2c record --exact` and natively: docs/exact.md.

exact_programs.py [NAME...]

Sources come from the mirror that the system uses, in the version of the first suite that offers it;
a suite that lists a package without its files is skipped. Each program is compiled for both runs,
and must write the same bytes in both. Exit status 1: one did not. The table is Markdown.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from exact_loads import ANSWERS, PATIENCE, load  # noqa: E402

from kernel.source.archive import KEYRING, apt_options, mirror  # noqa: E402

SUITES = ("bookworm", "trixie", "sid")
MACHINE = "epyc-9654-2s"
CPUS = "16"
ME = str(ROOT / "schedshard")


@dataclass(frozen=True)
class Program:
    """How to build a program in its folder, with F for flags, and how to run it on a file."""

    package: str
    build: str
    run: str  # the program, from its folder, and options; IN is the input, OUT what it writes
    kilobytes: int = 0
    input: str = "input"  # its name; what ends in .ppm is an image
    needs: str = ""  # the source of a library, in the folder "needed"
    load: str = ""  # a server: who asks it (exact_loads.py), at the socket SOCKET


PROGRAMS = {
    "pigz": Program("pigz", 'make CFLAGS="$F" LDFLAGS="$F"', "pigz -p4 -b128 -c -k IN", 3000),
    "xz": Program(
        "xz-utils",
        "./configure -q --disable-shared --disable-nls --disable-doc "
        'CFLAGS="$F" LDFLAGS="$F" && make',
        "src/xz/xz -1 -T4 --block-size=300KiB -c -k IN",
        2000,
    ),
    "zstd": Program(
        "libzstd",
        "make -C programs zstd HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 "
        'CC="$CC" CFLAGS="$F" LDFLAGS="$F"',
        "programs/zstd -T4 -B1MB -q -c IN",
        3000,
    ),
    "pbzip2": Program(
        "pbzip2",
        'make pbzip2 CXXFLAGS="-pthread $F" LDFLAGS="$F"',
        "pbzip2 -p4 -b1 -c -k -q IN",
        3000,
    ),
    # CMake builds it with five libraries: openjp2, z, png, tiff and lcms2.
    "openjpeg": Program(
        "openjpeg2",
        "cmake -S . -B made -DBUILD_THIRDPARTY=ON -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=None "
        '-DCMAKE_C_FLAGS="$F" -DCMAKE_EXE_LINKER_FLAGS="$F" && '
        "cmake --build made --target opj_compress",
        "made/bin/opj_compress -threads 4 -i IN -o OUT.j2k",
        300,
        "input.ppm",
    ),
    "memcached": Program(
        "memcached",
        # Debian's patch makes automake's sources newer than its output, so automake is disabled.
        "(cd needed && ./configure -q --disable-shared --disable-openssl --disable-samples "
        "--disable-libevent-regress --prefix=$PWD/made ACLOCAL=: AUTOCONF=: AUTOMAKE=: "
        'AUTOHEADER=: CFLAGS="$F" && make install) && '
        "./configure -q --with-libevent=$PWD/needed/made ACLOCAL=: AUTOCONF=: AUTOMAKE=: "
        'AUTOHEADER=: CFLAGS="$F" LDFLAGS="$F" && '
        "make memcached",
        "memcached -t 4 -A -u root -s SOCKET",
        needs="libevent",
        load="memcached",
    ),
    "redis": Program(
        "redis",
        'make -C src redis-server MALLOC=libc USE_SYSTEMD=no CFLAGS="$F" LDFLAGS="$F"',
        "src/redis-server --port 0 --save '' --io-threads 4 --io-threads-do-reads yes "
        "--unixsocket SOCKET",
        load="redis",
    ),
}


def silent(*words: str | Path, at: Path) -> bool:
    """Run a command in a folder, and return whether it succeeded."""
    return subprocess.run(words, cwd=at, capture_output=True, check=False).returncode == 0


def fetch(package: str, folder: Path) -> tuple[Path, str]:
    """Return the folder of the unpacked source, and its version."""
    address = mirror("debian")
    for suite in SUITES:
        with tempfile.TemporaryDirectory() as own:
            line = f"deb-src [signed-by={KEYRING}] {address} {suite} main"
            options = apt_options(Path(own), line, "")
            silent("apt-get", *options, "-qq", "update", at=folder)
            got = silent("apt-get", *options, "-qq", "source", package, at=folder)
        found = [each for each in folder.iterdir() if each.is_dir()]
        if got and len(found) == 1:
            return found[0], next(folder.glob("*.dsc")).stem.partition("_")[2]
        shutil.rmtree(folder)
        folder.mkdir()
    sys.exit(f"exact_programs: no suite of {', '.join(SUITES)} has the source of {package}")


def build(program: Program, source: Path, flags: str) -> None:
    """Build a program silently; end with the compiler's message if that fails."""
    words = {**os.environ, "CC": "gcc", "CXX": "g++", "F": f"-O2 -g {flags}"}
    done = subprocess.run(
        program.build, shell=True, cwd=source, env=words, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"exact_programs: {program.package}: {done.stderr.decode()[-800:]}")


def timed(words: list[str], out: Path, asked: tuple[str, Path] | None) -> tuple[float, str]:
    """Run a program; return its CPU seconds, with those of its children, and its standard error.

    For a server, ``out`` gets the number of right answers instead of its output.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with out.open("wb") as file, tempfile.TemporaryFile() as errors:
        done = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if asked else file,
            stderr=errors,
            start_new_session=True,
        )
        try:
            if asked:
                file.write(b"%d right answers\n" % load(*asked, done))
            done.wait(PATIENCE if asked else None)
        except subprocess.TimeoutExpired:
            sys.exit(f"exact_programs: {words[0]} did not end {PATIENCE} s after the last command")
        finally:
            if done.poll() is None:
                os.killpg(done.pid, signal.SIGKILL)
                done.wait()
        errors.seek(0)
        told = errors.read().decode("utf-8", "replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"exact_programs: {words[0]} ended with status {done.returncode}: {told[-800:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, told


def contents(program: Program) -> bytes:
    """Return the input: lines of numbers, or an image of a hundred lines with the same bytes."""
    numbers = b"".join(b"%d\n" % n for n in range(program.kilobytes * 1000 // 7))
    if not program.input.endswith(".ppm"):
        return numbers
    width = len(numbers) // 300
    return b"P6\n%d 100\n255\n" % width + numbers[: width * 300]


def row(name: str, program: Program, folder: Path) -> tuple[str, bool]:
    """Return a program's row of the table, and whether the outputs are the same."""
    folder.mkdir()
    source, version = fetch(program.package, folder)
    data = folder / program.input
    data.write_bytes(contents(program))
    if program.needs:
        (folder / "library").mkdir()
        shutil.move(fetch(program.needs, folder / "library")[0], source / "needed")
    other = folder / "exact-build"
    shutil.copytree(source, other)
    flags = subprocess.run([ME, "cc", "--flags"], capture_output=True, text=True, check=True).stdout
    with ThreadPoolExecutor() as pool:
        list(pool.map(build, [program] * 2, [source, other], ["", flags.strip()]))
    tool, *options = shlex.split(program.run)

    def words(built: Path, out: str) -> list[str]:
        names = {
            "IN": str(data),
            "OUT.j2k": str(folder / f"{out}.j2k"),
            "SOCKET": str(folder / f"{out}.socket"),
        }
        return [str(built / tool), *(names.get(option, option) for option in options)]

    def asked(out: str) -> tuple[str, Path] | None:
        return (program.load, folder / f"{out}.socket") if program.load else None

    native, _ = timed(words(source, "native"), folder / "native", asked("native"))
    report = folder / "report.json"
    record = [ME, "c2c", "record", "--exact", "--no-advice", "--machine", MACHINE, "--cpus", CPUS]
    exact, told_beside = timed(
        [*record, "--out", str(report), "--", *words(other, "exact")],
        folder / "exact",
        asked("exact"),
    )
    written = ".j2k" if "OUT.j2k" in options else ""
    first, second = ((folder / f"{name}{written}").read_bytes() for name in ("native", "exact"))
    same = first == second
    if program.load:
        same &= first == b"%d right answers\n" % ANSWERS
    told = json.loads(report.read_text(encoding="utf-8"))
    # "... ran 0.410 s, 99% of that and ...": what was not compiled with the flags.
    found = re.search(r"without instrumentation ran ([\d.]+ s, \d+%)", told_beside)
    share = found[1] if found else "none"
    variant = told["variants"][0]
    said = "yes" if same else "NO"
    return (
        f"| `{name}` {version} `{shlex.join(options)}` | {said} | {variant['hitm_total']:,} in "
        f"{variant['lines_total']:,} lines | {native:.2f}, {exact:.2f} | {share} |",
        same,
    )


def main() -> int:
    """Run all programs, or those named; return the exit status."""
    names = sys.argv[1:] or list(PROGRAMS)
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        print(f"exact_programs: no program {unknown[0]!r}, only {', '.join(PROGRAMS)}")
        return 2
    print("| program | same output | HITM | CPU s natively, whole command | not compiled so |")
    print("|---|---|---|---|---|")
    good = True
    for name in names:
        with tempfile.TemporaryDirectory(prefix="schedshard-others-") as folder:
            told, same = row(name, PROGRAMS[name], Path(folder) / name)
        print(told, flush=True)
        good &= same
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
