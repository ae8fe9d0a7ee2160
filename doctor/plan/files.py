# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The files of a plan: scripts and their input, systemd units, and a README."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from common.errors import UserError, telling
from doctor.judge.verdict import Verdict
from doctor.plan.plan import Plan, make_plan
from doctor.plan.steps import by_setting, late_units, steps_of
from doctor.plan.text import only_text, readme
from doctor.plan.units import units_of
from model.machines.topo import label

SCRIPTS = files("doctor.plan") / "scripts"
# The files that apply.sh writes.
_WRITTEN = ("found", "affinities")


def _facts(plan: Plan, units: dict[str, str]) -> str:
    """Return the facts that the scripts read, one per line."""
    lines = [
        ["place", plan.place], ["version", str(plan.version)], ["prefix", plan.prefix],
        ["manager", "none" if plan.systemd is None else "systemd"], ["rest", label(plan.rest)],
        ["throttled", "yes" if plan.throttled else "no"],
    ]  # fmt: skip
    lines += [["boot", word] for word in plan.boot_words]
    for each in plan.partitions:
        state = ["found", each.found.partition] if each.found is not None else ["new", "-"]
        mems = label(each.mems) if each.mems else "-"
        lines.append(["partition", each.path, label(each.cpus), mems, *state])
    lines += [["unit", name] for name in sorted(units)]
    lines += [["service", name] for name in sorted(late_units(plan)) if name.endswith(".service")]
    settings = by_setting(plan)
    lines += [
        ["hand", unit] for each in plan.partitions if each.found is None
        for unit in each.units if unit not in settings
    ]  # fmt: skip
    return "".join("\t".join(line) + "\n" for line in lines)


def plan_files(plan: Plan, hot: bool = True) -> dict[str, str]:
    """Return all files of a plan by their path below its directory."""
    units = units_of(plan)
    made = {name: (SCRIPTS / name).read_text(encoding="ascii") for name in sorted(
        path.name for path in SCRIPTS.iterdir() if path.name.endswith(".sh")
    )}  # fmt: skip
    made["partitions"] = _facts(plan, units)
    made["steps"] = "".join(f"{step.line}\n" for step in steps_of(plan))
    made["README.txt"] = readme(plan, hot)
    made.update({f"units/{name}": text for name, text in units.items()})
    return made


def _same(directory: Path, files: dict[str, str]) -> bool:
    there = {
        str(path.relative_to(directory)): path
        for path in directory.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    for name in _WRITTEN:
        there.pop(name, None)
    return set(there) == set(files) and all(
        path.is_file() and path.read_bytes() == files[name].encode("utf-8")
        for name, path in there.items()
    )


def check_directory(directory: Path) -> None:
    """Refuse a directory that cannot be made, before the long work."""
    if directory.exists() and not directory.is_dir():
        raise UserError(f"--plan {directory} is not a directory: name one that does not exist")
    if not directory.exists() and not directory.parent.is_dir():
        raise UserError(f"--plan {directory}: no directory {directory.parent}")


def write_plan(directory: Path, files: dict[str, str]) -> bool:
    """Write the files into a directory. Return False if it already contains the same files.

    The directory appears complete or not at all. One that contains other files is a UserError.
    """
    check_directory(directory)
    with telling(f"--plan {directory}: cannot write"):
        if directory.exists() and any(directory.iterdir()):
            if _same(directory, files):
                return False
            raise UserError(f"--plan {directory} holds other files: name an empty directory")
        making = directory.parent / f".{directory.name}.making"
        making.mkdir()
        try:
            for name, text in files.items():
                (making / name).parent.mkdir(parents=True, exist_ok=True)
                (making / name).write_text(text, encoding="utf-8")
            making.replace(directory)
        except BaseException:
            _remove(making, files)
            raise
    return True


def _remove(making: Path, files: dict[str, str]) -> None:
    for name in files:
        (making / name).unlink(missing_ok=True)
    for path in sorted(making.rglob("*"), reverse=True):
        path.rmdir()
    making.rmdir()


def plan_of(verdict: Verdict, directory: Path) -> str:
    """Write the plan for a verdict, and return one line that says so or why there is none."""
    if verdict.facts is None or verdict.domains is None:
        raise UserError("no plan: a plan needs the facts of a machine")
    plan = make_plan(verdict.facts, verdict.domains, verdict.loads)
    reason = "no real-time threads are in groups of CPUs"
    if any(load.done and load.wakeups for load in verdict.loads):
        reason = "each group has a partition that cannot be cut further"
    reason = plan.left[0] if plan.left else reason
    if not plan.partitions and not (plan.pods or plan.proxmox):
        return f"no plan: {reason}"
    hot = any(each.entry.id in ("rd-shared", "rd-isolated") for each in verdict.findings)
    made = plan_files(plan, hot) if plan.partitions else {"README.txt": only_text(plan)}
    if not write_plan(directory, made):
        return f"the plan in {directory} is the same as before"
    return f"wrote the plan to {directory}: read {directory / 'README.txt'} first"
