# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads a captured tree of /sys in a tar file, as in the test suites of hwloc and util-linux.

A capture contains CPUs, caches and nodes, but neither threads nor cgroups. Doctor judges what is
there, and reports the rest as unknown. `topo --sysfs` reads the same files.
"""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.errors import UserError, telling
from doctor.facts.values import CPU_LIMIT, clean

# In a capture "./" may precede the names, or a folder with the name of the machine.
_PLACE = re.compile(r"(?:\./)?(?:[^/]+/)?((?:sys|proc)/.+)")
_KEPT = re.compile(
    r"sys/devices/system/cpu/(?:possible|present|online|offline|isolated|nohz_full)"
    r"|sys/devices/system/cpu/cpu[0-9]{1,6}/topology/[a-z_]{1,40}"
    r"|sys/devices/system/cpu/cpu[0-9]{1,6}/cache/index[0-9]{1,2}/[a-z_]{1,40}"
    r"|sys/devices/system/node/node[0-9]{1,6}/(?:cpulist|cpumap)"
    r"|proc/sys/kernel/osrelease"
)
_LINK = re.compile(r"sys/devices/system/cpu/cpu[0-9]{1,6}/node[0-9]{1,6}")
_MOST_MEMBERS = 200_000
# The longest list, every second CPU of 8,192, has 19,000 characters.
_MOST_BYTES = 32 << 10
_KEPT_BYTES = 24 << 20
_RELEASE = "proc/sys/kernel/osrelease"
_CPU = "sys/devices/system/cpu"
# The setting that marks lists made from a capture.
MARK = "collector/capture"


class _Steps(io.BytesIO):
    """A tar file that refuses long reads, because a header may claim any size."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, or raise a ReadError for more than _MOST_BYTES at once."""
        if size is None or not 0 <= size <= _MOST_BYTES:
            raise tarfile.ReadError("a long header")
        return super().read(size)


def _place(name: str) -> str | None:
    found = _PLACE.fullmatch(name)
    return found[1] if found else None


def is_capture(name: str) -> bool:
    """Whether a tar file whose first file has this name is a capture."""
    return _place(name) is not None


def capture_files(path: Path, data: bytes | bytearray) -> dict[str, str]:
    """Return the files of CPUs and nodes in a tar file; all others are skipped."""
    files: dict[str, str] = {}
    held = 0
    try:
        with tarfile.open(fileobj=_Steps(data), mode="r:") as tar:
            for _ in range(_MOST_MEMBERS):
                member = tar.next()
                if member is None:
                    break
                # tarfile would otherwise keep every member in memory.
                tar.members.clear()  # type: ignore[attr-defined]
                name = _place(member.name)
                if name is not None and _LINK.fullmatch(name):
                    # The node of a CPU: a link in sysfs, but any type of file in a capture.
                    files[name] = ""
                    continue
                if name is None or not _KEPT.fullmatch(name) or not member.isreg():
                    continue
                if member.issparse() or member.size > _MOST_BYTES:
                    shown = clean(member.name[:80])
                    raise UserError(f"{path}: '{shown}' is too long for a file of sysfs")
                text = data[member.offset_data : member.offset_data + member.size]
                held += len(text)
                files[name] = text.decode("utf-8", "replace").replace("\0", "")
                if held > _KEPT_BYTES:
                    raise UserError(f"{path} has more than {_KEPT_BYTES >> 20} MiB of such files")
            else:
                raise UserError(f"{path} holds more than {_MOST_MEMBERS:,} members")
    except (tarfile.TarError, ValueError, EOFError, OSError, OverflowError) as error:
        raise UserError(f"{path} is not a whole tar file") from error
    if not any(name.startswith(f"{_CPU}/") for name in files):
        raise UserError(f"{path} holds no file of {_CPU}")
    return files


def _shown(files: dict[str, str]) -> set[str]:
    """Return the files that the collector would have written: masks only where lists are absent."""
    lists = {"shared_cpu_map": "shared_cpu_list", "cpumap": "cpulist"}
    shown = set()
    for name in files:
        folder, _, last = name.rpartition("/")
        if f"{folder}/{lists.get(last, '')}" not in files:
            shown.add(name)
    return shown


def capture_lists(files: dict[str, str]) -> dict[str, str]:
    """Return the lists of a collector that saw these files and nothing else."""
    files = dict(files)
    online = f"{_CPU}/online"
    if online not in files:
        numbers = {
            int(found[1]) for name in files if (found := re.match(rf"{_CPU}/cpu([0-9]+)/", name))
        }
        known = files.get(f"{_CPU}/present") or files.get(f"{_CPU}/possible")
        files[online] = known or ",".join(str(each) for each in sorted(numbers) if each < CPU_LIMIT)
    release = files.pop(_RELEASE, "").strip()
    settings = f"{MARK}:yes\n" + (f"{_RELEASE}:{release}\n" if release else "")
    lines = [
        f"{name}:{line}\n"
        for name in sorted(_shown(files))
        for line in files[name].split("\n")
        if line or _LINK.fullmatch(name)
    ]
    return {"cpus": "".join(lines), "settings": settings}


@contextmanager
def unpacked(path: Path, files: dict[str, str]) -> Iterator[Path]:
    """Yield a temporary folder with the files of a capture. Errors name the tar file instead."""
    with telling(f"cannot unpack {path}"):
        temporary = tempfile.TemporaryDirectory(prefix="schedshard-capture-")
    with temporary as made:
        with telling(f"cannot unpack {path}"):
            for name, text in files.items():
                file = Path(made) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        try:
            yield Path(made)
        except UserError as error:
            raise UserError(str(error).replace(made, str(path)), error.status) from error
