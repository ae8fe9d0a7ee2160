# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Downloads Debian's package of a kernel source, from the mirror that the system uses.

apt works in a separate folder, with its own lists, cache and a single line of sources. Other
settings of the system, such as a proxy and time-outs, stay in force. The system's sources and lists
are only read. apt checks the signature of the suite and the hash of the package.
"""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.programs import call, require

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_MADISON = re.compile(r"^ *(\S+) +\| +(\S+) +\| +(.+)$")


@dataclass(frozen=True)
class Wanted:
    """A package and where Debian provides it: the archive's folder, and the suites in order."""

    package: str
    archive: str
    suites: tuple[str, ...]
    arch: str = ""  # Debian's name; "": this host's


class NotThereError(UserError):
    """The mirror does not have the package, or no longer has it."""


def mirror(archive: str) -> str:
    """Return the address of an archive ("debian") on the mirror that the system's sources name.

    A mirror has Debian's archives beside each other. So if the sources do not name the archive, its
    address follows from that of "debian".
    """
    require("apt-get")
    listing = call(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        what="reading the system's package sources",
    )
    addresses = [
        line.rstrip("/") for line in listing.decode("utf-8", "replace").splitlines() if line
    ]
    places = [address.rpartition("/") for address in addresses]
    for wanted in (archive, "debian"):
        for place, _, last in places:
            if last == wanted:
                return f"{place}/{archive}"
    raise UserError(
        f"the system's package sources name no mirror of Debian's archive '{archive}': "
        "give the kernel source with --base"
    )


def apt_options(folder: Path, source: str, arch: str) -> list[str | Path]:
    """Return options with which apt-get and apt-cache write only to one folder."""
    for part in ("lists/partial", "cache/archives/partial", "parts"):
        (folder / part).mkdir(parents=True)
    sources = folder / "sources.list"
    sources.write_text(f"{source}\n", encoding="ascii")
    # This file is read last, because hooks of the system would clean or fill its own caches.
    last = folder / "apt.conf"
    last.write_text(
        "#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n"
        "#clear Acquire::IndexTargets::deb::DEP-11;\n#clear APT::Default-Release;\n"
        f'Dir::Etc::SourceList "{sources}";\nDir::Etc::SourceParts "{folder}/parts";\n'
        f'Dir::Etc::Preferences "{folder}/none";\nDir::Etc::PreferencesParts "{folder}/parts";\n'
        f'Dir::State::Lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
        'Acquire::Languages "none";\nAcquire::GzipIndexes "true";\nAPT::Sandbox::User "root";\n'
        'Acquire::Retries "2";\nDebug::NoLocking "true";\n'
        + (f'APT::Architecture "{arch}";\nAPT::Architectures "{arch}";\n' if arch else ""),
        encoding="utf-8",
    )
    return ["-c", last]


def newest(listing: str, package: str) -> str | None:
    """Return the newest version that apt-cache madison lists. The list goes from new to old."""
    for line in listing.splitlines():
        match = _MADISON.match(line)
        if match and match[1] == package and " Sources" not in match[3]:
            return match[2]
    return None


def _download(wanted: Wanted, suite: str, address: str, folder: Path, out: Path) -> Path | None:
    """Return the package from one suite, or None if the suite does not have it."""
    source = f"deb [signed-by={KEYRING}] {address} {suite} main"
    options = apt_options(folder, source, wanted.arch)
    # apt omits a suite that it cannot verify, and then finds no package in it.
    call(["apt-get", *options, "-qq", "update"], good=(0, 100), what=f"reading {suite}")
    listed = call(["apt-cache", *options, "madison", wanted.package], what=f"reading {suite}")
    version = newest(listed.decode("utf-8", "replace"), wanted.package)
    if version is None:
        return None
    call(
        ["apt-get", *options, "-qq", "download", f"{wanted.package}={version}"],
        cwd=out,
        what=f"downloading {wanted.package} {version}",
    )
    packages = list(out.glob(f"{wanted.package}_*.deb"))
    if len(packages) != 1:
        raise UserError(f"apt-get downloaded no {wanted.package} {version}", status=1)
    return packages[0]


def download(wanted: Wanted, out: Path) -> Path:
    """Download the newest package of the first suite that has it, and return its path."""
    require("apt-get", "apt-cache")
    if not KEYRING.is_file():
        raise UserError(f"no {KEYRING}: install Debian's debian-archive-keyring")
    address = mirror(wanted.archive)
    for suite in wanted.suites:
        with tempfile.TemporaryDirectory(prefix="schedshard-apt-") as folder:
            package = _download(wanted, suite, address, Path(folder), out)
        if package is not None:
            return package
    raise NotThereError(
        f"{address} has no {wanted.package} in {', '.join(wanted.suites)}: give the kernel source "
        "with --base"
    )
