# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Calls the kernel's own make. Keeps the output in a log, and counts objects as they appear."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, telling
from common.programs import require
from kernel.arch import X86, Arch
from kernel.layout import Layout

# "  CC      kernel/sched/rt.o": a quiet build prints such a line per file.
_MADE = re.compile(r"^  (?:\[M\] )?([A-Z][A-Z0-9_+]*)(?: \[M\])? +(\S+)")
_ERROR = re.compile(r"(?:error|Error|undefined reference|multiple definition)\b|\*\*\* ")
_MAKE_ERROR = re.compile(r"^make(?:\[\d+\])?: ")
_HITS = ("direct_cache_hit", "preprocessed_cache_hit")

TOOLS = ("make", "gcc", "ld", "bc", "flex", "bison", "perl", "ccache")


def tools(arch: Arch) -> tuple[str, ...]:
    """Return the programs that a build needs. The host's compiler makes the build's own tools."""
    return (*TOOLS, *({arch.compiler, f"{arch.cross}ld"} - {*TOOLS}))


@dataclass(frozen=True)
class Made:
    """The result of one call of make. Hits and misses are ccache's, of compilations only."""

    seconds: float
    files: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        """Return the share of the compilations that ccache answered; 0 if there were none."""
        total = self.hits + self.misses
        return self.hits / total if total else 0.0


def made_file(line: str) -> str | None:
    """Return the file that a line of the build's output names, or None."""
    match = _MADE.match(line)
    return match[2] if match else None


def first_error(lines: Sequence[str]) -> str:
    """Return the line with a failed build's reason: the first error that is not make's own."""
    errors = [line.strip() for line in lines if _ERROR.search(line)]
    own = [line for line in errors if not _MAKE_ERROR.match(line)]
    if own:
        return own[0]
    if errors:
        return errors[0]
    messages = [line.strip() for line in lines if line.strip()]
    return messages[-1] if messages else "it said nothing"


def cache_counts(text: str) -> tuple[int, int]:
    """Return the hits and misses in a statistics log of ccache."""
    results = [line for line in text.splitlines() if line and not line.startswith("#")]
    hits = sum(line in _HITS for line in results)
    return hits, sum(line == "cache_miss" for line in results)


def _environment(layout: Layout, stats: Path) -> dict[str, str]:
    """Return make's environment, with fixed dates, users and hosts for reproducible builds."""
    cache = os.environ.get("CCACHE_DIR") or str(layout.work / "ccache")
    return {
        **os.environ,
        "CCACHE_DIR": cache,
        # Debug information contains the build's folder, which would keep variants from sharing
        # objects.
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_MAXSIZE": os.environ.get("CCACHE_MAXSIZE") or "5G",
        "CCACHE_STATSLOG": str(stats),
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
        "KBUILD_BUILD_USER": "schedshard",
        "KBUILD_BUILD_HOST": "schedshard",
        "KBUILD_BUILD_VERSION": "1",
        "LC_ALL": "C",
    }


@dataclass(frozen=True)
class Make:
    """A call of make: source, build folder, and the name of the log."""

    source: Path
    objects: Path
    log: str
    jobs: int = 0  # 0: one per CPU
    variables: tuple[str, ...] = ()
    arch: Arch = X86

    def argv(self, targets: Sequence[str]) -> list[str]:
        """Return the command line."""
        jobs = self.jobs or os.cpu_count() or 1
        where = ["-C", str(self.source), f"O={self.objects}", f"-j{jobs}"]
        # One argument for the compiler with its cache: make passes it to a shell.
        which = [f"CC=ccache {self.arch.compiler}"]
        if self.arch is not X86:
            which += [f"ARCH={self.arch.name}", f"CROSS_COMPILE={self.arch.cross}"]
        return ["make", *where, *which, *self.variables, *targets]


def run_make(
    layout: Layout,
    call: Make,
    targets: Sequence[str],
    on_file: Callable[[str], None] = lambda file: None,
    *,
    append: bool = False,
) -> Made:
    """Run make. ``on_file`` gets the name of every file that make makes."""
    require(*tools(call.arch))
    log = layout.log(call.log)
    layout.make_folder(log.parent)
    stats = layout.make_folder(layout.work / "state") / f"{call.log}.ccache"
    stats.unlink(missing_ok=True)
    started = time.monotonic()
    lines: list[str] = []
    files = 0
    with (
        telling(f"cannot run make for {call.log}"),
        log.open("a" if append else "w", encoding="utf-8", buffering=1) as kept,
    ):
        argv = call.argv(targets)
        kept.write(f"$ {' '.join(argv)}\n")
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(layout, stats),
            text=True,
            errors="replace",
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                kept.write(line)
                if (file := made_file(line)) is not None:
                    files += 1
                    on_file(file)
                else:
                    lines.append(line)
            status = child.wait()
        except BaseException:
            # make ends its own children on SIGTERM, but a killed make leaves them running.
            child.terminate()
            child.wait()
            raise
    if status != 0:
        raise UserError(
            f"building {call.log} failed: {first_error(lines)} (whole log: {layout.shown(log)})",
            status=1,
        )
    counts = stats.read_text(encoding="utf-8") if stats.is_file() else ""
    return Made(time.monotonic() - started, files, *cache_counts(counts))
