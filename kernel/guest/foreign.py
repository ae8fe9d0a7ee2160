# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests of other projects: Debian's rt-tests, stress-ng's scheduler class, the kernel's selftests.

In an emulated machine or in a small configuration some of them fail with any kernel. So the results
are compared: a test must have the same outcome in all variants.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, os_reason
from common.programs import require
from common.progress import working
from kernel.build.make import Make, run_make
from kernel.guest.cpio import Entry, plain
from kernel.layout import Layout
from kernel.source.base import require_base

# Parts of the guest's root file system.
SELFTESTS = "selftests"
EXTENSIBLE = "selftests-ext"
_TARGETS: Mapping[str, Sequence[str]] = {
    SELFTESTS: ("cgroup", "cpu-hotplug", "membarrier", "rseq", "sched"),
    EXTENSIBLE: ("sched_ext",),
}
# Debian 12's tools that support enough of BPF.
BPF_TOOLS = {"CLANG": "clang-19", "LLVM_STRIP": "llvm-strip-19"}


@dataclass(frozen=True)
class Foreign:
    """A test of another project: the parts that it needs in the guest, and its command line."""

    parts: tuple[str, ...]
    argv: tuple[str, ...]
    seconds: int  # expected duration; it replaces "{s}" in argv
    option: str = ""  # of the kernel's configuration; without it the test is omitted


def _rt(program: str, *options: str, seconds: int = 5) -> Foreign:
    return Foreign(("rt-more",), (f"/bin/{program}", *options), seconds)


def _self(target: str, program: str, *options: str, seconds: int = 20) -> Foreign:
    return Foreign((SELFTESTS,), ("/bin/selftest.sh", target, program, *options), seconds)


def _ext(name: str, seconds: int = 20) -> Foreign:
    argv = ("/bin/selftest.sh", "sched_ext", "./runner", "-q", "-t", name)
    return Foreign((EXTENSIBLE,), argv, seconds, "CONFIG_SCHED_CLASS_EXT")


# Tests of Linux 7.3 that load BPF schedulers. The runner takes all whose names contain the text.
_SCHEDULERS = (
    "allowed_cpus", "create_dsq", "cyclic_kick_wait", "ddsp_bogus_dsq_fail",
    "ddsp_vtimelocal_fail", "dequeue", "dsp_local_on", "enable_cmask", "enq_last_no_enq_fails",
    "enq_select_cpu", "exit", "hotplug", "init_enable_count", "maximal", "maybe_null", "minimal",
    "nohz_tick", "non_scx_kfunc_deny", "numa", "peek_dsq", "prog_run", "reload_loop", "rt_stall",
    "select_cpu", "total_bw",
)  # fmt: skip
# The stressors of stress-ng 0.15.06 in its class "scheduler".
_STRESSORS = (
    "affinity", "clone", "close", "cyclic", "daemon", "dnotify", "eventfd", "exec", "exit-group",
    "fanotify", "fault", "fifo", "fork", "forkheavy", "futex", "hrtimers", "inotify", "kill",
    "loadavg", "mmapfork", "mq", "msg", "mutex", "nanosleep", "netlink-proc", "netlink-task",
    "nice", "poll", "pthread", "race-sched", "resched", "schedpolicy", "sem", "sem-sysv",
    "session", "sleep", "softlockup", "spawn", "switch", "tee", "vfork", "vforkmany", "wait",
    "yield", "zombie",
)  # fmt: skip


def _stressor(name: str, seconds: int = 2) -> Foreign:
    argv = ("/bin/stress-ng", f"--{name}", "2", "--seed", "1", "-t", "{s}")
    return Foreign(("stress-ng",), argv, seconds)


# sigwaittest and cyclicdeadline are omitted: on a busy host they failed in stock and passed in
# shard, only because of their timing.
FOREIGN: Mapping[str, Foreign] = {
    "rt-migrate-test": _rt("rt-migrate-test", "-q", "-l", "20"),
    "rt-ptsematest": _rt("ptsematest", "-q", "-S", "-p", "80", "-D", "{s}"),
    "rt-svsematest": _rt("svsematest", "-q", "-S", "-p", "80", "-D", "{s}"),
    "rt-signaltest": _rt("signaltest", "-q", "-t", "4", "-p", "80", "-D", "{s}"),
    "rt-pmqtest": _rt("pmqtest", "-q", "-S", "-p", "80", "-D", "{s}"),
    "rt-cyclictest": _rt("cyclictest", "-q", "-S", "-p", "80", "-D", "{s}"),
    "rt-pi_stress": _rt("pi_stress", "-q", "-g", "4", "-D", "{s}"),
    "rt-pip_stress": _rt("pip_stress"),
    "rt-ssdd": _rt("ssdd", "-q", "-i", "50"),
    **{f"ng-{name}": _stressor(name) for name in _STRESSORS},
    "self-sched-core": _self("sched", "./cs_prctl_test"),
    "self-membarrier-one": _self("membarrier", "./membarrier_test_single_thread"),
    "self-membarrier-many": _self("membarrier", "./membarrier_test_multi_thread"),
    "self-rseq-basic": _self("rseq", "./basic_test"),
    "self-rseq-errors": _self("rseq", "./syscall_errors_test"),
    **{
        f"self-rseq-param-{kind}": _self(
            "rseq", "./param_test", "-T", kind, "-r", "200", "-t", "32", seconds=30
        )
        for kind in "slbmir"
    },
    "self-cpuset": _self("cgroup", "./test_cpuset", seconds=60),
    "self-hotplug": _self("cpu-hotplug", "./cpu-on-off-test.sh", "-a", seconds=60),
    **{f"ext-{name}": _ext(name) for name in _SCHEDULERS},
    "ext-reload_loop": _ext("reload_loop", seconds=120),  # on a busy host 1,050 loads took 320 s
    "self-cpuset-partition": _self("cgroup", "./test_cpuset_prs.sh", seconds=600),
}


def argv_of(test: Foreign) -> Sequence[str]:
    """Return the test's arguments, in which its number of seconds replaces "{s}"."""
    return [word.replace("{s}", str(test.seconds)) for word in test.argv]


def build_selftests(layout: Layout, part: str, types: Path | None = None) -> Path:
    """Compile the base's selftests of a part, once per base. Return where they are installed.

    ``types`` is a kernel with BTF. Programs of BPF are compiled with its types.
    """
    folder = layout.work / part
    with layout.locked(part):
        built = folder / require_base(layout)[:16]
        if built.is_dir():
            return built
        shutil.rmtree(folder, ignore_errors=True)
        objects, temp = layout.make_folder(folder / "objects"), folder / "installed"
        # This series' headers, because the distribution's may be older.
        headers = Make(layout.base, objects, part)
        variables = [f"TARGETS={' '.join(_TARGETS[part])}", f"KSFT_INSTALL_PATH={temp}"]
        if types:
            require(*BPF_TOOLS.values())
            # The kernel's make skips this target unless SKIP_TARGETS is empty.
            variables += ["SKIP_TARGETS=", f"VMLINUX_BTF={types}"]
            variables += [f"{name}={program}" for name, program in BPF_TOOLS.items()]
        make = Make(
            layout.base / "tools" / "testing" / "selftests",
            objects,
            part,
            variables=tuple(variables),
        )
        with working("compiling the kernel's selftests"):
            run_make(layout, headers, ["headers"])
            run_make(layout, make, ["install"], append=True)
        try:
            temp.rename(built)
        except OSError as error:
            raise UserError(
                f"the kernel's selftests were not installed: {os_reason(error)} "
                f"(whole log: {layout.shown(layout.log(part))})",
                status=1,
            ) from error
        shutil.rmtree(objects, ignore_errors=True)
    return built


def selftest_files(folder: Path) -> dict[str, Entry]:
    """Return installed selftests by their paths in the guest."""
    return {
        f"/selftests/{path.relative_to(folder)}": plain(
            path, executable=bool(path.stat().st_mode & 0o100)
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
