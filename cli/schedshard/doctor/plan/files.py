# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The files of a plan: input of the scripts, systemd's units, and a text for people."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

from schedshard.common.errors import UserError, telling
from schedshard.doctor.judge.verdict import Verdict
from schedshard.doctor.plan.plan import CPUSET_PARTITION, Partition, Plan, label, make_plan
from schedshard.doctor.plan.text import readme

SCRIPTS = files("schedshard.doctor.plan") / "scripts"
# What apply.sh writes.
_WRITTEN = ("found", "affinities")
ONESHOT = "schedshard-partitions.service"
_DROP_IN = "50-schedshard.conf"


def _is_unit(partition: Partition) -> bool:
    """Whether the cgroup is one of systemd's top slices, whose settings a unit file can hold."""
    return partition.path.count("/") == 1 and partition.path.endswith(".slice")


def movable(plan: Plan) -> dict[str, Partition]:
    """Return the services that move to a partition by a setting, each with its partition."""
    held = Counter(unit for each in plan.partitions for unit in each.units)
    found = {}
    for each in plan.partitions:
        for unit in each.units:
            top = unit.strip("/").partition("/")[0]
            known = unit.endswith(".service") and top.endswith(".slice")
            if (
                each.found is None and plan.systemd is not None and known and held[unit] == 1
                and top not in ("user.slice", "machine.slice") and not top.startswith("kubepods")
            ):  # fmt: skip
                found[unit] = each
    return found


def _slice(partition: Partition, version: int) -> str:
    lines = [
        "[Unit]",
        f"Description=CPUs {label(partition.cpus)}, a cpuset partition of their own",
        "",
        "[Slice]",
        f"AllowedCPUs={label(partition.cpus)}",
    ]
    if partition.mems:
        lines.append(f"AllowedMemoryNodes={label(partition.mems)}")
    if version >= CPUSET_PARTITION:
        lines.append("CPUSetPartition=root")
    return "\n".join(lines) + "\n"


def _escaped(path: str) -> str:
    """Return a path as systemd and the shell that it runs take it between single quotes."""
    return path.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$")


def _oneshot(plan: Plan) -> str:
    slices = " ".join(each.name for each in plan.partitions if _is_unit(each))
    lines = ["[Unit]", "Description=CPUs of some slices as cpuset partitions of type root"]
    if slices:
        lines += [f"Requires={slices}", f"After={slices}"]
    lines += ["", "[Service]", "Type=oneshot", "RemainAfterExit=yes"]
    for each in plan.partitions:
        file = _escaped(f"{plan.place}{each.path}/cpuset.cpus.partition")
        lines.append(
            f"ExecStart=/bin/sh -c \"echo root >'{file}' && read -r state <'{file}' "
            f'&& test \\"$$state\\" = root"'
        )
    for each in reversed(plan.partitions):
        file = _escaped(f"{plan.place}{each.path}/cpuset.cpus.partition")
        before = each.found.partition if each.found is not None else "member"
        lines.append(f"ExecStop=/bin/sh -c \"echo {before} >'{file}'\"")
    lines += ["", "[Install]", "WantedBy=multi-user.target"]
    return "\n".join(lines) + "\n"


def _units(plan: Plan) -> dict[str, str]:
    """Return systemd's files by their path below /etc/systemd/system."""
    if plan.systemd is None:
        return {}
    units = {}
    for each in plan.partitions:
        if each.found is None:
            units[each.name] = _slice(each, plan.systemd)
        elif _is_unit(each) and plan.systemd >= CPUSET_PARTITION:
            units[f"{each.name}.d/{_DROP_IN}"] = (
                f"[Slice]\nAllowedCPUs={label(each.cpus)}\nCPUSetPartition=root\n"
            )
    for narrow in plan.narrowed:
        name = narrow.found.path.strip("/")
        if name.endswith((".slice", ".scope")):
            kind = "Slice" if name.endswith(".slice") else "Scope"
            units[f"{name}.d/{_DROP_IN}"] = (
                f"[{kind}]\nAllowedCPUs=\nAllowedCPUs={label(narrow.cpus)}\n"
            )
    for unit, partition in movable(plan).items():
        service = unit.rpartition("/")[2]
        units[f"{service}.d/{_DROP_IN}"] = f"[Service]\nSlice={partition.name}\n"
    if plan.systemd < CPUSET_PARTITION:
        units[ONESHOT] = _oneshot(plan)
    return units


def _facts(plan: Plan, units: dict[str, str]) -> str:
    lines = [["place", plan.place], ["manager", "none" if plan.systemd is None else "systemd"]]
    lines.append(["rest", label(plan.rest)])
    lines += [["boot", word] for word in plan.boot_words]
    for each in plan.partitions:
        state = ["found", each.found.partition] if each.found is not None else ["new", "-"]
        mems = label(each.mems) if each.mems else "-"
        lines.append(["partition", each.path, label(each.cpus), mems, *state])
    lines += [["narrow", each.found.path, label(each.cpus)] for each in plan.narrowed]
    lines += [["unit", name] for name in sorted(units)]
    if plan.systemd is not None:
        lines += [["slice", each.name] for each in plan.partitions if each.found is None]
    if ONESHOT in units:
        lines.append(["service", ONESHOT])
    moved = movable(plan)
    for each in plan.partitions:
        for unit in each.units if each.found is None else ():
            name = unit.rpartition("/")[2]
            what = f"systemctl restart {name}" if unit in moved else f"move {unit}"
            lines.append(["move", what, each.path])
    return "".join("\t".join(line) + "\n" for line in lines)


def plan_files(plan: Plan) -> dict[str, str]:
    """Return all files of a plan by their path below its directory."""
    units = _units(plan)
    made = {name: (SCRIPTS / name).read_text(encoding="ascii") for name in sorted(
        path.name for path in SCRIPTS.iterdir() if path.name.endswith(".sh")
    )}  # fmt: skip
    made["partitions"] = _facts(plan, units)
    made["README.txt"] = readme(plan, set(units), movable(plan))
    made |= {f"units/{name}": text for name, text in units.items()}
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
        raise UserError(f"--plan {directory}: is no directory: name one that does not exist")
    if not directory.exists() and not directory.parent.is_dir():
        raise UserError(f"--plan {directory}: no directory {directory.parent}")


def write_plan(directory: Path, files: dict[str, str]) -> bool:
    """Write the files into a directory; False when the very same ones are there already.

    The directory appears whole or not at all. One with other files in it is left alone.
    """
    check_directory(directory)
    with telling(f"--plan {directory}: cannot write"):
        if directory.exists() and any(directory.iterdir()):
            if _same(directory, files):
                return False
            raise UserError(f"--plan {directory}: holds other files: name an empty directory")
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
    """Write the plan for the verdict, and summarise it in one line."""
    if verdict.facts is None or verdict.domains is None:
        raise UserError("no plan: a machine has to be judged")
    plan = make_plan(verdict.facts, verdict.domains, verdict.loads)
    if not plan.partitions:
        reason = plan.left[0] if plan.left else "no real-time threads are in groups of CPUs"
        return f"no plan: {reason}"
    if not write_plan(directory, plan_files(plan)):
        return f"the plan in {directory} is the same as before"
    return f"wrote the plan to {directory}: read {directory / 'README.txt'} first"
