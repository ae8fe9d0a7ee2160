# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the kernel's complaints, machine, checks and times in a guest's log, but no KTAP report.

The kernel's messages and the guest's own pass through one buffer of the kernel, a record per line.
So lines are in the order of events. A complaint belongs to the test between whose lines it stands.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kernel.testing.ktap import strip_stamp

# Messages of a kernel that has detected a fault. Lines that begin with "# " are output of the
# guest's programs and are not searched.
_COMPLAINTS: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("panic", r"Kernel panic - not syncing"),
        ("KASAN", r"BUG: KASAN: "),
        ("KCSAN", r"BUG: KCSAN: "),
        ("KFENCE", r"BUG: KFENCE: "),
        ("UBSAN", r"UBSAN: "),
        (
            "lockdep",
            r"WARNING: (?:possible (?:circular|recursive|irq lock inversion)|suspicious RCU|"
            r"inconsistent lock|bad unlock|held lock freed|lock held when returning|"
            r"Nested lock was not taken|HARDIRQ|SOFTIRQ)|\*\*\* DEADLOCK \*\*\*|"
            r"\[ BUG: (?:Invalid wait context|bad contention) \]|BUG: MAX_LOCK|"
            r"DEBUG_LOCKS_WARN_ON|BUG: sleeping function called|BUG: scheduling while atomic",
        ),
        ("lockup", r"watchdog: BUG: (?:soft|hard) lockup|Watchdog detected hard LOCKUP"),
        (
            "RCU stall",
            r"rcu(?:_\w+)?: INFO: .*(?:stall|self-detected)|rcu_\w+ kthread starved|"
            r"rcu: .*detected stalls",
        ),
        ("hung task", r"INFO: task .* blocked for more than \d+ seconds"),
        ("oops", r"Oops: |general protection fault|Unable to handle kernel|unable to handle page"),
        ("BUG", r"kernel BUG at |BUG: "),
        ("WARNING", r"WARNING: "),
        ("leak", r"kmemleak: \d+ new suspected memory leaks"),
        ("list corruption", r"list_(?:add|del) corruption"),
        ("schedshard", r"schedshard: CPU \d+: "),
    )
)
# Messages about the emulated processor or the configuration, not about the kernel's state.
_HARMLESS = re.compile(
    r"WARNING: (?:Spectre|L1TF|unable to determine|hardware|PCI)|"
    r"Warning: unable to open an initial console"
)
# Faults of Linux itself: (where, what). They are shown and fail no test. Only faults that also
# occur in the stock variant belong here. 6.12 prints "WARNING: CPU: 3 PID: 60 at FILE:LINE
# FUNCTION+0x1/0x2", 7.3 "WARNING: FILE:LINE at FUNCTION+0x1/0x2, CPU#3: ...". Entries for both
# versions match both forms.
_KNOWN: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(
            r"WARNING: .* at kernel/sched/deadline\.c:\d+ (?:inactive_task_timer|"
            r"task_non_contending|task_contending|dequeue_dl_entity|migrate_task_rq_dl|"
            r"(?:__)?sub_running_bw)\b"
        ),
        "Linux miscounts deadline bandwidth (running_bw) when root domains are rebuilt",
    ),
    (
        re.compile(
            r"WARNING: (?:CPU: .* at )?kernel/cgroup/cpuset\.c:\d+ (?:at )?cpuset_attach_task\b"
        ),
        "Linux finds no CPU for a task that changes cpusets while its requested CPUs are offline",
    ),
)
# sched_cpu_dying() counts the fair class's deadline server as a task while the server is queued,
# and stops it just afterwards. No task was left on the CPU if the list after the warning names only
# the stopper that runs this function.
_DYING = re.compile(r"WARNING: .* at kernel/sched/core\.c:\d+ sched_cpu_dying\b")
_DYING_LIST = re.compile(r"CPU\d{1,6} enqueued tasks \(2 total\):$", re.ASCII)
_DYING_TASK = re.compile(r"pid: \d{1,10}, name: (.+)$", re.ASCII)
_DYING_WHY = "Linux 6.12 counts the fair server as a task that is left on a CPU that goes offline"
# The list follows within this many lines of the warning: registers, code, call trace.
_DYING_LINES = 80
_BEGIN = re.compile(r"# begin (\d{1,4}) (\S+)$", re.ASCII)
_CHECK = re.compile(r"# check errors (\d{1,20}) checks (\d{1,20})$", re.ASCII)
_TIME = re.compile(r"# time (\S+) (\d{1,12}) ms$", re.ASCII)
_CPUS = re.compile(r"# guest cpus (\d{1,6}) nodes (\d{1,6}) llcs (\d{1,6})$", re.ASCII)
_RELEASE = re.compile(r"# guest release (\S+)$")
_OUTPUT = re.compile(r"# (\S+): (.*)$")
_FORGOTTEN = re.compile(r"# \S+: \d{1,9} of \d{1,9} deadline rounds forgotten$", re.ASCII)
_DONE = "# guest done"
_CLOCK = re.compile(r"\[\s*(\d{1,9}\.\d{6})\]", re.ASCII)


@dataclass(frozen=True)
class Complaint:
    """A fault that the kernel reported."""

    kind: str
    text: str
    line: int  # of the log, from 1
    known: str = ""  # why it is not a fault of the variant


@dataclass
class Section:
    """The log from the beginning of one test to that of the next."""

    name: str
    line: int
    complaints: list[Complaint] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    check_errors: int | None = None
    checks: int | None = None
    milliseconds: int | None = None


@dataclass
class GuestLog:
    """The content of a guest's log."""

    release: str = ""
    cpus: int = 0
    nodes: int = 0
    llcs: int = 0
    boot_seconds: float | None = None  # until the first process printed, in guest time
    before: list[Complaint] = field(default_factory=list)  # before the first test
    sections: list[Section] = field(default_factory=list)
    done: bool = False

    @property
    def complaints(self) -> list[Complaint]:
        """Return all complaints in order."""
        return [*self.before, *(c for section in self.sections for c in section.complaints)]

    @property
    def known(self) -> list[str]:
        """Return the faults of Linux itself that occurred, once each."""
        return list(dict.fromkeys(c.known for c in self.complaints if c.known))

    @property
    def panic(self) -> str:
        """Return the kernel's panic message, or '' without a panic."""
        return next((c.text for c in self.complaints if c.kind == "panic"), "")


def complaint_in(text: str) -> str | None:
    """Return the kind of fault that a line of the kernel reports, or None."""
    if text.startswith("#") or _HARMLESS.search(text):
        return None
    return next((kind for kind, pattern in _COMPLAINTS if pattern.search(text)), None)


# A data race is ours if one of the innermost functions of either access is ours. That is a function
# of our files, or of a class or a subject that the series changes. Inlined functions do not appear.
# Linux itself has many other races, and accepts them.
_RACE = re.compile(r"BUG: KCSAN: ")
_RACE_END = "=" * 10
_RACE_LINES = 100
_ACCESS = re.compile(r"(?:race at unknown origin|(?:read|write)\b.* to 0x)")
_FRAME = re.compile(r"\s+(\S+?)(?:\.\w+)*\+0x")
_INNERMOST = 4
_OURS = re.compile(
    r"shard|overload|cpupri|rt_walk|rt_wide|rq_level|"
    r"(?<!tick_)nohz_|_ilb|root_?domain|(?:^|_)rt(?:$|_(?!mutex|spin|read|write|lock))|lowest_rq|"
    r"sched_cache|cache_group"
)
_RACE_WHY = "Linux has data races of its own, in functions that the series does not touch"


def _race_of_others(after: Sequence[str]) -> bool:
    """Whether the rest of a race's report names no function of ours."""
    depth = _INNERMOST
    for line in after:
        if line.startswith(_RACE_END):
            return True
        if _ACCESS.match(line):
            depth = 0
        elif (frame := _FRAME.match(line)) and depth < _INNERMOST:
            depth += 1
            if _OURS.search(frame[1]):
                return False
    # The report is cut off, so the answer is unknown.
    return False


def _only_the_server_left(after: Sequence[str]) -> bool:
    """Whether the list of tasks after the warning names the stopper and no other task."""
    lines = iter(after)
    if not any(_DYING_LIST.match(line) for line in lines):
        return False
    names = []
    for line in lines:
        match = _DYING_TASK.match(line.strip())
        if match is None:
            break
        names.append(match[1])
    return len(names) == 1 and names[0].startswith("migration/")


def known_fault(text: str, after: Sequence[str] = ()) -> str:
    """Return why a complaint is about Linux itself, from its text and the lines after it, or ''."""
    if _DYING.search(text):
        return _DYING_WHY if _only_the_server_left(after[:_DYING_LINES]) else ""
    if _RACE.search(text):
        return _RACE_WHY if _race_of_others(after[:_RACE_LINES]) else ""
    return next((why for pattern, why in _KNOWN if pattern.search(text)), "")


def _machine(log: GuestLog, raw: str, text: str) -> bool:
    if match := _RELEASE.match(text):
        log.release = match[1]
        clock = _CLOCK.match(raw)
        log.boot_seconds = float(clock[1]) if clock else None
    elif match := _CPUS.match(text):
        log.cpus, log.nodes, log.llcs = (int(number) for number in match.groups())
    elif text == _DONE:
        log.done = True
    else:
        return False
    return True


def _of_section(section: Section, number: int, text: str) -> None:
    if match := _CHECK.match(text):
        section.check_errors, section.checks = int(match[1]), int(match[2])
    elif match := _TIME.match(text):
        section.milliseconds = int(match[2])
    elif (match := _OUTPUT.match(text)) and match[1] == section.name:
        section.output.append(match[2])
        if _FORGOTTEN.match(text):
            why = "Linux forgets deadline tasks that were throttled when they left the class"
            section.complaints.append(Complaint("forgotten", match[2], number, why))


def read_log(lines: Iterable[str]) -> GuestLog:
    """Return the content of a log. Any text is accepted."""
    log = GuestLog()
    raws = list(lines)
    texts = [strip_stamp(raw).rstrip() for raw in raws]
    for number, (raw, text) in enumerate(zip(raws, texts, strict=True), 1):
        if text.startswith("# "):
            if match := _BEGIN.match(text):
                log.sections.append(Section(match[2], number))
            elif not _machine(log, raw, text) and log.sections:
                _of_section(log.sections[-1], number, text)
        elif (kind := complaint_in(text)) is not None:
            complaints = log.sections[-1].complaints if log.sections else log.before
            known = known_fault(text, texts[number : number + _RACE_LINES])
            complaints.append(Complaint(kind, text.strip(), number, known))
    return log
