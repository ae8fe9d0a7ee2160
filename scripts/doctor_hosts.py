# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Print what doctor says of the archives and profiles in a folder, as the tables of a page.

PYTHONPATH=. .venv/bin/python scripts/doctor_hosts.py FOLDER > docs/results/doctor-hosts.md

Costs are left out: they are predictions, and change with the model. `doctor fleet` has them.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

from common.errors import UserError
from doctor.facts.archive import read_tar
from doctor.facts.facts import DEADLINE, Facts, read_facts
from doctor.fleet.host import machine_of
from doctor.judge.finding import count_of
from doctor.judge.verdict import CANNOT_TELL, FOUND, Verdict, judge
from doctor.plan.plan import make_plan
from doctor.profiles.perf_file import read_profile

ARCHIVES = (".tar", ".tar.gz", ".tgz")
LONGEST = 160
HEAD = """\
<!-- SPDX-License-Identifier: (MIT OR GPL-2.0-only) -->
# Hosts of public reports

doctor finds something to change in {hosts}, and in {profiles}. These archives and profiles have the
shape of public reports, and their names are invented. No host was measured: an archive contains
what such a host shows.

`scripts/doctor_hosts.py FOLDER` makes this page. [doctor.md](../doctor.md) explains the verdicts.
Costs are left out, because they are predictions that change with the model: `doctor fleet FOLDER`
has them. A host with nothing to gain has a plan all the same, when one is asked for.
"""
OUTCOMES = ("something found", "nothing found", "cannot tell", "refused")
FOLD = '\n<details markdown="1">\n<summary>{}</summary>\n{}\n</details>\n'


def cell(text: str, most: int = LONGEST) -> str:
    """Return a text as a table cell: one line, with Markdown's characters escaped."""
    text = " ".join(text.split())
    text = text if len(text) <= most else f"{text[: most - 3]}..."
    return re.sub(r"([|<>*_`\\])", r"\\\1", text)


def kind_of(facts: Facts) -> str:
    """Return what kind of host this is, by its facts."""
    paths = {each.cgroup or "" for each in facts.threads}
    kinds = {
        "PREEMPT_RT": facts.config.get("PREEMPT_RT") == "y" or "rt" in re.split(
            r"[^a-z]", facts.release
        ),
        "cgroup v1": facts.cpusets.version == 1,
        "isolcpus": bool(facts.boot_isolated),
        "pods": any("kubepods" in path for path in paths),
        "guests": any("/machine" in path or "qemu" in path for path in paths),
        "services": any(path.endswith(".service") for path in paths),
        "partitions": any(
            each.root_partition or each.isolated_partition
            for path, each in facts.cpusets.sets.items() if path != "/"
        ),
        "deadline threads": any(each.policy == DEADLINE for each in facts.threads),
        "throttling off": "-1"
        in facts.settings.get("proc/sys/kernel/sched_rt_runtime_us", "").split(),
        "a virtual machine": facts.hypervisor is not None,
    }  # fmt: skip
    return ", ".join(name for name, has in kinds.items() if has) or "plain"


def verdict_words(verdict: Verdict) -> str:
    """Return the verdict in words, without costs."""
    if verdict.status == FOUND:
        return "; ".join(f"{each.entry.id} ({each.severity})" for each in verdict.findings)
    if verdict.status == CANNOT_TELL:
        # The file's name is in the first column.
        doubt = verdict.doubts[0]
        return f"cannot tell: {doubt.partition('): ')[2] or doubt}"
    return "nothing found"


def plan_words(facts: Facts, verdict: Verdict) -> str:
    """Return how many partitions a plan makes, or why there is none."""
    assert verdict.domains is not None
    try:
        plan = make_plan(facts, verdict.domains, verdict.loads)
    except UserError as error:
        return str(error).removeprefix("no plan: ")
    if not plan.partitions:
        return "no group to part"
    return (
        f"{count_of(len(plan.partitions), 'partition')}, {count_of(len(plan.warnings), 'warning')}"
    )


def host_row(path: Path) -> tuple[str, ...]:
    """Return the cells of an archive's row."""
    try:
        facts = read_facts(read_tar(path), path.name)
    except UserError as error:
        why = str(error).replace(str(path), "it", 1)
        return path.name, "", "", f"refused: {why.partition(': make it')[0]}", ""
    verdict = judge(path.name, facts, [])
    machine = f"{machine_of(facts)}; {facts.release}"
    return path.name, machine, kind_of(facts), verdict_words(verdict), plan_words(facts, verdict)


def profile_row(path: Path) -> tuple[str, ...]:
    """Return the cells of a profile's row."""
    try:
        profile = read_profile(path)
    except UserError as error:
        return path.name, "", f"refused: {str(error).replace(str(path), 'it')}"
    return path.name, profile.kind, verdict_words(judge("profile", None, [profile]))


def table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table, or nothing if there are no rows."""
    if not rows:
        return ""
    lines = [names, tuple("---" for _ in names), *(tuple(map(cell, row)) for row in rows)]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def outcome(verdict: str) -> str:
    """Return the outcome to which a verdict belongs."""
    return next((each for each in OUTCOMES[1:] if verdict.startswith(each)), OUTCOMES[0])


def page(hosts: list[tuple[str, ...]], profiles: list[tuple[str, ...]]) -> str:
    """Return the page of these rows: counts of the outcomes, and each row, folded."""
    counts = [Counter(outcome(row[at]) for row in rows) for rows, at in ((hosts, 3), (profiles, 2))]
    found = (
        f"{of[OUTCOMES[0]]} of {count_of(sum(of.values()), what)}"
        for of, what in zip(counts, ("archive", "profile"), strict=True)
    )
    head = HEAD.format(**dict(zip(("hosts", "profiles"), found, strict=True)))
    counted = [(each, *(str(of[each]) for of in counts)) for each in OUTCOMES]
    archives = table(("archive", "machine and kernel", "kind", "verdict", "plan"), hosts)
    return (
        head
        + table(("outcome", "archives", "profiles"), counted)
        + FOLD.format("Each archive, its verdict and its plan", archives)
        + FOLD.format("Each profile and its verdict", table(("profile", "is", "verdict"), profiles))
    )


def main(folder: Path) -> int:
    """Print the page."""
    os.chdir(folder)  # so that no sentence names the folder
    files = sorted(path for path in Path().iterdir() if path.is_file())
    hosts = [host_row(path) for path in files if path.name.endswith(ARCHIVES)]
    profiles = [profile_row(path) for path in files if path.suffix in (".txt", ".out", ".data")]
    print(page(hosts, profiles), end="")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: doctor_hosts.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
