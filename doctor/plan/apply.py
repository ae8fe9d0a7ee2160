# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the partitions of a plan on this host, takes them back, and reads what the kernel made.

Each write is in a journal before it is done, with the value that was there. So undo restores the
state after an interruption at any point. It writes the old values in the opposite order, also those
that were never changed. The journal belongs to root alone, has a hash, and is in /run, so a boot
clears it like all partitions.

The kernel decides. It checks cpuset.cpus.exclusive before it takes a CPU from anybody. So apply
first writes that file of all partitions, then makes the partitions, and reads each back. After a
refusal apply takes back everything. A partition ends with its cgroup, so apply may make partitions
again whose cgroups a manager made anew. One rule is checked here: no cgroup beside the partitions
loses its last CPU.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError, os_reason, telling
from common.inputs import read_input
from common.output import to_json, write_atomic
from common.paths import typed
from doctor.facts.load import AUXILIARY
from doctor.facts.values import clean, cpu_list
from model.machines.topo import label

JOURNAL = Path("/run/schedshard-doctor.json")
FORMAT = "schedshard-doctor-plan/1"
# Where libvirt and systemd keep the threads of a guest that run no virtual CPU.
EMULATOR = "/libvirt/emulator"
# Nobody reviews more partitions than this.
MOST = 200
_JOURNAL_FORMAT = "schedshard-doctor-journal/1"
_LIMIT = 8 << 20
_CPUS, _EXCLUSIVE = "cpuset.cpus", "cpuset.cpus.exclusive"
_PARTITION, _EFFECTIVE = "cpuset.cpus.partition", "cpuset.cpus.effective"
_CONTROL, _THREADS, _TYPE = "cgroup.subtree_control", "cgroup.threads", "cgroup.type"
_NAME = re.compile(r"(/[^/\0\n]{1,255}){1,64}")
_DOMAIN = re.compile(r"domain[0-9]+ (?:[A-Z]+ )?([0-9a-f,]+)")


class Kernel:
    """The cgroup files of this host, by their path from the mount, and its scheduling domains."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def path(self, file: str) -> Path:
        """Return the path of a cgroup's file."""
        return self.place / file.lstrip("/")

    def read(self, file: str) -> str:
        """Return a file's text."""
        return self.path(file).read_text(encoding="utf-8", errors="replace").strip()

    def write(self, file: str, value: str) -> None:
        """Write a value in one system call. An OSError is the kernel's refusal."""
        held = os.open(self.path(file), os.O_WRONLY | os.O_NOFOLLOW)
        try:
            os.write(held, f"{value}\n".encode())
        finally:
            os.close(held)

    def make(self, cgroup: str) -> None:
        """Make a cgroup."""
        self.path(cgroup).mkdir()

    def remove(self, cgroup: str) -> None:
        """Remove a cgroup."""
        self.path(cgroup).rmdir()

    def cgroups(self, below: str = "") -> Iterator[str]:
        """Yield all cgroups but the root, or only the cgroup ``below`` and those inside it."""
        for folder, _, _ in os.walk(self.path(below)):
            if name := folder[len(str(self.place)) :]:
                yield name

    def affinity(self, thread: int) -> frozenset[int]:
        """Return the CPUs on which a thread may run."""
        return frozenset(os.sched_getaffinity(thread))

    def domains(self) -> dict[int, frozenset[int]]:
        """Return by CPU the CPUs of its scheduling domains; empty if the kernel does not say."""
        nodes: dict[int, frozenset[int]] = {}
        cpu = -1
        with contextlib.suppress(OSError):
            for line in Path("/proc/schedstat").read_text(encoding="ascii").split("\n"):
                if line.startswith("cpu"):
                    cpu = int(line[3:].split(" ")[0])
                    nodes[cpu] = frozenset()
                elif match := _DOMAIN.match(line):
                    bits = int(match[1].replace(",", ""), 16)
                    nodes[cpu] |= {n for n in range(bits.bit_length()) if bits >> n & 1}
        return nodes


@dataclass(frozen=True)
class Wanted:
    """A partition of a plan: see plan_data()."""

    cgroup: str
    base: str
    cpus: frozenset[int]
    was: str
    masks: tuple[str, ...]
    emulator: int | None

    @property
    def chain(self) -> list[str]:
        """Return the cgroups from the one below the base to the partition's own."""
        parts = self.cgroup[len(self.base) + 1 :].split("/")
        return [f"{self.base}/{'/'.join(parts[: n + 1])}" for n in range(len(parts))]


def _wanted(row: dict[str, Any]) -> Wanted:
    made = Wanted(
        row["cgroup"], row["base"], cpu_list(row["cpus"]), row["was"],
        tuple(label(cpu_list(mask)) for mask in row["masks"]), row["emulator"],
    )  # fmt: skip
    names = [made.cgroup, *([made.base] if made.base else [])]
    whole = all(_NAME.fullmatch(name) and ".." not in name.split("/") for name in names)
    below = made.cgroup.startswith(f"{made.base}/")
    if not (whole and below and made.cpus and made.was in ("-", "member", "isolated")):
        raise ValueError
    if made.emulator is not None and made.emulator not in made.cpus:
        raise ValueError
    return made


def read_plan(path: Path, release: str) -> list[Wanted]:
    """Return the partitions of a plan that --plan wrote for this kernel, or raise a UserError."""
    raw = read_input(path, "plan", _LIMIT)
    try:
        data = json.loads(raw)
        rows = [_wanted(row) for row in data["rows"]]
        if data["format"] != FORMAT or not 0 < len(rows) <= MOST:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"{path} is not a plan made by '{typed('doctor HOST.tar --plan')}'"
        ) from error
    if data["release"] != release:
        shown = clean(str(data["release"])[:60])
        raise UserError(f"{path} is for a host with Linux {shown}, but this host has {release}")
    return rows


class Journal:
    """What was written, and the value before, in the order of the writes."""

    def __init__(self, path: Path, rows: Iterable[dict[str, Any]] = ()) -> None:
        self.path = path
        self.rows = list(rows)
        self.writes: list[list[str]] = []
        self.done: list[list[str]] = []

    def note(self, kind: str, file: str, old: str) -> None:
        """Add a write that is about to be done, unless undo does the same already."""
        self.done.append([kind, file, old])
        if [kind, file, old] not in self.writes:
            self.writes.append([kind, file, old])
            self.save()

    def save(self) -> None:
        """Replace the journal atomically."""
        body = {"format": _JOURNAL_FORMAT, "rows": self.rows, "writes": self.writes}
        write_atomic(self.path, to_json({**body, "sha256": _hash(body)}))
        self.path.chmod(0o600)

    @staticmethod
    def read(path: Path) -> Journal:
        """Return the journal of an earlier apply; refuse a journal that others may have written."""
        if not path.exists() and not path.is_symlink():
            raise UserError(f"no plan is applied: {path} does not exist")
        with telling(f"cannot read {path}"):
            facts = path.lstat()
        own = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid()
        if not own or facts.st_mode & 0o077:
            raise UserError(f"{path} may have been changed by other users, so it is not used")
        raw = read_input(path, "journal", _LIMIT, links=False)
        try:
            data = json.loads(raw)
            written = data.pop("sha256")
            if data["format"] != _JOURNAL_FORMAT or written != _hash(data):
                raise ValueError
            made = Journal(path, data["rows"])
            made.writes = data["writes"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is damaged: reboot, which clears all partitions") from error
        return made


def _hash(body: dict[str, Any]) -> str:
    return hashlib.sha256(to_json(body).encode()).hexdigest()


class _RefusedError(Exception):
    """The kernel refused a write, or the write made a partition that the kernel calls invalid."""


class _Apply:
    """The steps for one partition, each in the journal first."""

    def __init__(self, kernel: Kernel, journal: Journal) -> None:
        self.kernel, self.journal = kernel, journal

    def write(self, cgroup: str, name: str, value: str, old: str | None = None) -> None:
        """Write a file of a cgroup; ``old`` is what undo writes, the current value if None."""
        file = f"{cgroup}/{name}"
        try:
            self.journal.note("write", file, self.kernel.read(file) if old is None else old)
            self.kernel.write(file, value)
        except OSError as error:
            raise _RefusedError(f"{file}: '{value}': {os_reason(error)}") from error

    def split(self, row: Wanted) -> None:
        """Make a threaded cgroup, and move into it the threads with one of these CPU lists."""
        above = row.cgroup.rpartition("/")[0]
        self.journal.note("make", row.cgroup, "")
        try:
            self.kernel.make(row.cgroup)
            self.kernel.write(f"{row.cgroup}/{_TYPE}", "threaded")
            for thread in self.kernel.read(f"{above}/{_THREADS}").split():
                with contextlib.suppress(ProcessLookupError):
                    if label(self.kernel.affinity(int(thread))) in row.masks:
                        self.kernel.write(f"{row.cgroup}/{_THREADS}", thread)
        except OSError as error:
            raise _RefusedError(f"{row.cgroup}: {os_reason(error)}") from error

    def claim(self, row: Wanted) -> None:
        """Do all that a partition needs. No other cgroup loses a CPU."""
        if row.masks:
            self.split(row)
        for cgroup in row.chain:
            above = cgroup.rpartition("/")[0]
            if "cpuset" not in self.kernel.read(f"{above}/{_CONTROL}").split():
                self.write(above, _CONTROL, "+cpuset", "-cpuset")
        now = "-" if row.masks else self.kernel.read(f"{row.cgroup}/{_PARTITION}")
        if " invalid" in now:
            self.write(row.cgroup, _PARTITION, "member", now.split(" ")[0])
            now = "member"
        if now not in (row.was, "member"):
            raise _RefusedError(f"{row.cgroup} is '{now}' now, but '{row.was}' in the plan")
        if row.emulator is not None:
            there = filter(AUXILIARY.search, self.kernel.cgroups(row.cgroup))
            for cgroup in sorted(there) or [f"{row.cgroup}{EMULATOR}"]:
                self.write(cgroup, _CPUS, str(row.emulator))
        for cgroup in row.chain if now != "isolated" else ():
            if self.kernel.path(f"{cgroup}/{_EXCLUSIVE}").exists():
                held = cpu_list(self.kernel.read(f"{cgroup}/{_EXCLUSIVE}"))
                if not row.cpus <= held:
                    self.write(cgroup, _EXCLUSIVE, label(held | row.cpus))
            elif cgroup == row.cgroup:
                self.write(cgroup, _CPUS, label(row.cpus))

    def partition(self, row: Wanted) -> None:
        """Make the partition, and read back what the kernel made of it."""
        self.write(row.cgroup, _PARTITION, "root")
        made = self.kernel.read(f"{row.cgroup}/{_PARTITION}")
        if made != "root":
            raise _RefusedError(f"{row.cgroup}: {made}")
        # The kernel calls a partition valid whose CPUs are offline in part.
        if off := row.cpus - cpu_list(self.kernel.read(f"{row.cgroup}/{_EFFECTIVE}")):
            raise _RefusedError(f"{row.cgroup}: CPUs {label(off)} are offline")


def _starved(kernel: Kernel, rows: list[Wanted]) -> str | None:
    """Return a cgroup beside the partitions whose list has no other CPU, if there is one."""
    taken = frozenset[int]().union(*(row.cpus for row in rows))
    own = tuple(f"{row.cgroup}/" for row in rows)
    for cgroup in kernel.cgroups():
        inside = f"{cgroup}/".startswith(own) or any(path.startswith(f"{cgroup}/") for path in own)
        with contextlib.suppress(OSError, ValueError):
            cpus = cpu_list(kernel.read(f"{cgroup}/{_CPUS}"))
            if not inside and cpus and cpus <= taken:
                return cgroup
    return None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let no other apply or undo run: a manager may start several services at once."""
    held = os.open(path.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(held, "w"):
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _missing(row: Wanted, kernel: Kernel) -> bool:
    """Whether a row's cgroup or threads are there, but not its partition."""
    exists = kernel.path(row.cgroup).exists()
    with contextlib.suppress(OSError):
        if exists and not row.masks:
            made = kernel.path(f"{row.cgroup}/{_PARTITION}")
            return not made.exists() or made.read_text().strip() in ("member", row.was)
        if row.masks and not exists:
            threads = kernel.read(f"{row.cgroup.rpartition('/')[0]}/{_THREADS}").split()
            return {label(kernel.affinity(int(thread))) for thread in threads}.issuperset(row.masks)
    return False


def apply(rows: list[Wanted], kernel: Kernel, path: Path = JOURNAL, again: bool = False) -> str:
    """Make the partitions, and return what was done. After a refusal nothing has changed.

    ``again``: leave alone what is made, and rows whose cgroups or threads are not there.
    """
    with _locked(path):
        journal = Journal(path, [{"cgroup": row.cgroup, "cpus": label(row.cpus)} for row in rows])
        applied = path.exists() or path.is_symlink()
        if applied:
            held = Journal.read(path) if again else None
            if held is None or held.rows != journal.rows:
                raise UserError(f"a plan is applied ({path}): run '{typed('doctor undo')}' first")
            journal = held
        if (starved := _starved(kernel, rows)) is not None:
            raise UserError(f"{clean(starved)} would have no CPU left: give it another CPU first")
        todo = [row for row in rows if not again or _missing(row, kernel)]
        work, before = _Apply(kernel, journal), list(journal.writes)
        try:
            for row in todo:
                work.claim(row)
            for row in todo:
                work.partition(row)
        except (_RefusedError, OSError, KeyboardInterrupt) as error:
            why = f"refused: {clean(str(error)) or 'interrupted'}; "
            _take_back(kernel, journal.done, why)
            journal.writes = before
            if applied:
                journal.save()
            else:
                path.unlink(missing_ok=True)
            raise UserError(f"{why}nothing was changed", status=1) from error
    made = f"made {len(todo)} of {len(rows)} partitions"
    return f"{made}; '{typed('doctor verify')}' compares them with the kernel's state"


def undo(kernel: Kernel, path: Path = JOURNAL) -> str:
    """Restore the state before apply, even if apply was interrupted. Return what was done."""
    with _locked(path):
        _take_back(kernel, Journal.read(path).writes)
        path.unlink()
    return "the previous state is restored"


def _take_back(kernel: Kernel, writes: list[list[str]], why: str = "") -> None:
    """Restore the values before these writes. ``why`` begins the message of an error."""
    failed = []
    for kind, file, old in reversed(writes):
        try:
            if kind == "make":
                above = file.rpartition("/")[0]
                for thread in kernel.read(f"{file}/{_THREADS}").split():
                    with contextlib.suppress(ProcessLookupError):
                        kernel.write(f"{above}/{_THREADS}", thread)
                kernel.remove(file)
            else:
                kernel.write(file, old)
        except FileNotFoundError:
            continue  # The cgroup is gone, and its partition with it.
        except OSError as error:
            failed.append(f"{file}: {os_reason(error)}")
    if failed:
        raise UserError(f"{why}not all is restored, run undo again: {clean(failed[0])}", status=1)


def verify(kernel: Kernel, path: Path = JOURNAL) -> list[str]:
    """Return how the kernel's state differs from apply's partitions, a line for each difference."""
    domains = kernel.domains()
    wrong = []
    for row in Journal.read(path).rows:
        cgroup, cpus = str(row["cgroup"]), cpu_list(row["cpus"])
        try:
            made = clean(kernel.read(f"{cgroup}/{_PARTITION}"))
            effective = cpu_list(kernel.read(f"{cgroup}/{_EFFECTIVE}"))
        except OSError as error:
            wrong.append(f"{clean(cgroup)}: {os_reason(error)}")
            continue
        balanced = frozenset[int]().union(*(domains.get(cpu, frozenset()) for cpu in cpus))
        if made != "root":
            wrong.append(f"{cgroup} is {made}")
        elif effective != cpus:
            wrong.append(f"{cgroup} has CPUs {label(effective)}, not {label(cpus)}")
        elif not balanced <= cpus:
            wrong.append(f"{cgroup}: the kernel balances its CPUs with {label(balanced - cpus)}")
        elif domains and len(cpus) > 1 and not balanced:
            wrong.append(f"{cgroup}: the kernel made no scheduling domain of its CPUs")
    return wrong


def this_host() -> Kernel:
    """Return the cgroup files of this host, for root."""
    if os.geteuid() != 0:
        raise UserError("only root can change partitions")
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    for line in mounts.split("\n"):
        if " - cgroup2 " in line:
            return Kernel(Path(line.split(" ")[4]))
    raise UserError("no cgroup of version 2 is mounted")
