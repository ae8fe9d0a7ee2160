# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the guest's root file system from programs of this host, their libraries, and our programs.

The file system consists of parts. A boot takes only the parts that its tests need. ffmpeg alone has
200 libraries, and unpacking them takes an emulated machine longer than booting. Archives are cached
under the hash of their contents.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, telling
from common.programs import call, libraries
from common.progress import working
from kernel.guest.cpio import Entry, archive, character_device, content, link, plain
from kernel.guest.programs import build_guest
from kernel.layout import SUITE, Layout
from kernel.source.archive import Wanted, download

# The programs of each part, with the Debian package that contains each program.
PARTS: Mapping[str, Mapping[str, str]] = {
    "base": {"busybox": "busybox-static", "chrt": "util-linux", "taskset": "util-linux"},
    "rt-tests": {"cyclictest": "rt-tests", "pi_stress": "rt-tests", "hackbench": "rt-tests"},
    "stress-ng": {"stress-ng": "stress-ng"},
    "redis": {
        "redis-server": "redis-server",
        "redis-cli": "redis-tools",
        "redis-benchmark": "redis-tools",
    },
    "ffmpeg": {"ffmpeg": "ffmpeg"},
}


@dataclass(frozen=True)
class Initramfs:
    """An archive in the cache."""

    path: Path
    files: int


def _find(program: str, package: str) -> Path:
    path = shutil.which(program)
    if path is None:
        raise UserError(
            f"{program} is not on this host, and the guest's tests need it: "
            f"run 'scripts/bootstrap kernel' (Debian's {package})"
        )
    return Path(path)


def _part(name: str) -> dict[str, Entry]:
    files: dict[str, Entry] = {}
    for program, package in PARTS[name].items():
        path = _find(program, package)
        files[f"/bin/{program}"] = plain(path, executable=True)
        # Libraries keep the host's paths, where the loader and the run paths search.
        for library in libraries(path):
            files[str(library)] = plain(library, executable=True)
    return files


def _applets(busybox: Path) -> list[str]:
    listing = call([busybox, "--list"], what=f"asking {busybox} for its applets")
    return listing.decode("ascii", "replace").split()


def _foreign_base(layout: Layout) -> dict[str, Entry]:
    """Return the Debian part for a guest of another architecture: only static busybox."""
    package = PARTS["base"]["busybox"]
    folder = layout.make_folder(layout.work / "foreign") / f"{package}-{layout.arch.debian}"
    program = folder / "bin" / "busybox"
    with layout.locked(folder.name):
        if not program.is_file():
            with tempfile.TemporaryDirectory(prefix=".deb.", dir=folder.parent) as temp:
                wanted = Wanted(package, "debian", (SUITE,), layout.arch.debian)
                with working(f"downloading {package} for {layout.arch.name}"):
                    deb = download(wanted, Path(temp))
                call(["dpkg-deb", "-x", deb, folder], what=f"unpacking {deb.name}")
    return {"/bin/busybox": plain(program, executable=True)}


def contents(layout: Layout, parts: Iterable[str]) -> dict[str, Entry]:
    """Return the files of a guest with these parts, by their paths in the guest."""
    files: dict[str, Entry] = {"/dev/console": character_device(5, 1)}
    wanted = ["base", *(part for part in parts if part != "base")]
    if not layout.arch.own_programs:
        if others := wanted[1:]:
            raise UserError(f"guests of {layout.arch.name} have no {', '.join(others)}")
        files |= _foreign_base(layout)
        wanted = []
    for part in wanted:
        files |= _part(part)
    for applet in _applets(_find("busybox", "busybox-static")):
        # Another architecture's busybox has the same applets. Real programs take precedence.
        files.setdefault(f"/bin/{applet}", link("/bin/busybox"))
    for name, path in build_guest(layout).items():
        files["/init" if name == "init" else f"/bin/{name}"] = plain(path, executable=True)
    return files


def _digest(files: Mapping[str, Entry]) -> str:
    digest = hashlib.sha256()
    for path, entry in sorted(files.items()):
        digest.update(f"{path}\0{entry.mode:o}\0{entry.device}\0".encode())
        digest.update(hashlib.sha256(content(entry)).digest())
    return digest.hexdigest()


def make_initramfs(layout: Layout, parts: Iterable[str]) -> Initramfs:
    """Return the archive with these parts, from the cache if its content is the same."""
    names = sorted(set(parts) | {"base"})
    files = contents(layout, names)
    folder = layout.make_folder(layout.work / "initramfs")
    suffix = "" if layout.arch.own_programs else f"+{layout.arch.name}"
    path = folder / f"{'+'.join(names)}{suffix}-{_digest(files)[:16]}.cpio"
    with layout.locked("initramfs"):
        if not path.is_file():
            _write(layout, path, files)
    return Initramfs(path, len(files))


def _write(layout: Layout, path: Path, files: Mapping[str, Entry]) -> None:
    """Write the archive, and remove older archives of the same parts."""
    old = list(path.parent.glob(f"{path.name.rpartition('-')[0]}-*.cpio"))
    with telling(f"cannot write {layout.shown(path)}"):
        fd, temp = tempfile.mkstemp(prefix=".making.", dir=path.parent)
        try:
            with os.fdopen(fd, "wb") as out:
                out.writelines(archive(files))
            os.replace(temp, path)
        finally:
            Path(temp).unlink(missing_ok=True)
        for other in old:
            other.unlink(missing_ok=True)
