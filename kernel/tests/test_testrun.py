# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A captured guest passes only if its log agrees with its own report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from common.output import to_json
from kernel.guest.boot import Booted, Ending, Step
from kernel.layout import Layout
from kernel.testing.guestlog import complaint_in, read_log
from kernel.testing.ktap import Status
from kernel.testing.plan import SETS, GuestPlan, chosen, matrix
from kernel.testing.run import GuestResult, TestRequest, as_data, judge, run_matrix
from kernel.testing.view import faults, uncaught
from record.shape import Shape

DATA = Path(__file__).resolve().parent / "data"
HEAD = """\
[    1.000000] # guest release 6.12.117-shard
[    1.000001] # guest cpus 2 nodes 1 llcs 1
[    1.000002] KTAP version 1
[    1.000003] 1..1
[    1.000004] # begin 1 storm
"""
TAIL = """\
[    9.000000] # time storm 8000 ms
[    9.000001] ok 1 storm
[    9.000002] # guest done
"""


def judged(
    text: str, *names: str, ending: Ending = Ending.OFF, suites: bool = False
) -> GuestResult:
    steps = tuple(Step(name, ("/bin/true",), 60) for name in names)
    plan = GuestPlan(Shape(cores=2), steps, (), 10)
    booted = Booted(Path("guest.log"), ending, 5.0, lines=text.splitlines())
    return judge("shard", "lab", plan, booted, "guest.log", suites=suites)


def captured(name: str, *names: str) -> GuestResult:
    return judged((DATA / name).read_text(encoding="utf-8", errors="replace"), *names)


def outcomes(result: GuestResult) -> dict[str, tuple[str, str]]:
    return {test.name: (test.status.value, test.reason) for test in result.tests}


def test_a_clean_guest_passes() -> None:
    result = judged(HEAD + TAIL, "storm")
    assert result.passed
    assert faults(result) == []
    assert (result.release, result.boot_seconds, result.cpus) == ("6.12.117-shard", 1.0, 2)
    assert result.tests[0].milliseconds == 8000


def test_every_outcome_of_a_captured_run() -> None:
    names = ["fine", "fails", "skipped", "hangs", "absent", "killed", "long-line"]
    result = captured("guest-outcomes.log", *names, "leaves-children", "forgotten")
    assert outcomes(result) == {
        "fine": ("passed", ""),
        "fails": ("failed", "exit status 3: it went wrong"),
        "skipped": ("skipped", "SKIP"),
        "hangs": ("failed", "TIMEOUT killed after 3 s: waiting"),
        "absent": (
            "failed",
            "exit status 127: cannot run /bin/nothing-there: No such file or directory",
        ),
        "killed": ("failed", "Segmentation fault"),
        "long-line": ("passed", ""),
        "leaves-children": ("passed", ""),
        "forgotten": ("unfinished", "not started: the guest ended early"),
    }
    assert not result.passed


def test_a_captured_panic() -> None:
    result = captured("guest-panic.log", "fine", "crash", "never")
    panic = "Kernel panic - not syncing: sysrq triggered crash"
    assert outcomes(result)["fine"] == ("passed", "")
    status, reason = outcomes(result)["crash"]
    assert status == "unfinished"
    assert reason.startswith("panic, line ")
    assert panic in reason
    assert outcomes(result)["never"] == ("unfinished", f"not started: {panic}")
    assert result.faults == [f"{panic}, log guest.log"]


def test_a_guest_that_falls_silent() -> None:
    result = judged(HEAD.partition("# begin")[0], "spins", ending=Ending.SILENT)
    assert outcomes(result) == {"spins": ("unfinished", "not started: the guest stopped printing")}
    assert result.faults == ["the guest stopped printing, log guest.log"]


def test_a_guest_that_bails_out_says_why() -> None:
    text = HEAD + "not ok 1 storm # processes are left\nBail out! not fit\n# guest done\n"
    result = judged(text, "storm", "redis")
    assert outcomes(result) == {
        "storm": ("failed", "processes are left"),
        "redis": ("unfinished", "not started: not fit"),
    }


@pytest.mark.parametrize("size", [0, 300, 600])
def test_a_guest_that_did_not_boot(size: int) -> None:
    text = (DATA / "guest-panic.log").read_text(encoding="utf-8")[:size]
    result = judged(text, "fine", ending=Ending.LATE)
    assert result.faults == ["did not boot: the guest ran out of time, log guest.log"]
    assert outcomes(result)["fine"][0] == "unfinished"


def test_a_guest_that_was_booted_again_passes_and_says_so() -> None:
    plan = GuestPlan(Shape(cores=2), (Step("storm", ("/bin/true",), 60),), (), 10)
    booted = Booted(Path("guest.log"), Ending.OFF, 5.0, lines=(HEAD + TAIL).splitlines(), stale=1)
    result = judge("shard", "lab", plan, booted, "guest.log")
    assert result.passed
    assert len(result.known) == 1
    assert "breakpoint" in result.known[0]


def test_fewer_cpus_than_planned_are_a_fault() -> None:
    text = (HEAD + TAIL).replace("cpus 2", "cpus 1")
    assert judged(text, "storm").faults == ["the guest has 1 CPUs online, not 2"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("WARNING: CPU: 0 PID: 211 at kernel/sched/rt.c:265 x+0x480/0x5b0", "WARNING"),
        ("WARNING: possible circular locking dependency detected", "lockdep"),
        ("WARNING: suspicious RCU usage", "lockdep"),
        ("WARNING: inconsistent lock state", "lockdep"),
        ("BUG: sleeping function called from invalid context at mm/slub.c:1", "lockdep"),
        ("[ BUG: Invalid wait context ]", "lockdep"),
        ("BUG: KASAN: slab-out-of-bounds in cpupri_set+0x1/0x2", "KASAN"),
        ("BUG: KCSAN: data-race in a / b", "KCSAN"),
        ("BUG: unable to handle page fault for address: 0000", "oops"),
        ("BUG: kernel NULL pointer dereference, address: 0000", "BUG"),
        ("kernel BUG at kernel/sched/rt.c:1!", "BUG"),
        ("Oops: general protection fault, 0000 [#1] PREEMPT SMP", "oops"),
        ("watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [rt-storm:99]", "lockup"),
        ("INFO: task rt-storm:77 blocked for more than 122 seconds.", "hung task"),
        ("rcu: INFO: rcu_preempt self-detected stall on CPU", "RCU stall"),
        ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "RCU stall"),
        ("UBSAN: array-index-out-of-bounds in kernel/sched/fair.c:1", "UBSAN"),
        ("Kernel panic - not syncing: Fatal exception", "panic"),
        ("schedshard: CPU 3: level of the CPU: 101, expected 100", "schedshard"),
    ],
)
def test_a_complaint_of_the_kernel_fails_the_test_it_came_in(line: str, kind: str) -> None:
    assert complaint_in(line) == kind
    result = judged(f"{HEAD}[    5.000000] {line}\n{TAIL}", "storm")
    (test,) = result.tests
    assert test.status is Status.FAILED
    assert test.reason == f"{kind}, line 6: {line}"
    assert not result.passed


@pytest.mark.parametrize(
    "line",
    [
        "# redis: 455:M # WARNING Memory overcommit must be enabled!",
        "# storm: BUG: this is what a program said",
        "rcu: Hierarchical SRCU implementation.",
        "rcu: RCU calculated value of scheduler-enlistment delay is 10 jiffies.",
        "WARNING: Spectre v2 mitigation leaves CPU vulnerable",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "hrtimer: interrupt took 478369457 ns",
    ],
)
def test_what_is_no_complaint(line: str) -> None:
    assert complaint_in(line) is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("# storm: 1 of 511 deadline rounds forgotten", "forgets deadline tasks"),
        (
            "WARNING: CPU: 0 PID: 3 at kernel/sched/deadline.c:265 inactive_task_timer+0x37c/0x450",
            "ning_bw",
        ),
        (
            "WARNING: CPU: 0 PID: 3 at kernel/sched/deadline.c:265 task_non_contending+0x2ac/0x3a0",
            "ning_bw",
        ),
        (
            "WARNING: CPU: 0 PID: 3 at kernel/cgroup/cpuset.c:3117 cpuset_attach_task+0x6d/0x80",
            "cpusets",
        ),
        (
            "WARNING: kernel/cgroup/cpuset.c:3322 at cpuset_attach_task+0xeb/0x100, CPU#1: a/1",
            "cpusets",
        ),
    ],
)
def test_a_fault_of_linux_itself_is_shown_and_fails_nothing(line: str, word: str) -> None:
    result = judged(HEAD + f"[    5.000000] {line}\n" * 2 + TAIL, "storm")
    assert result.passed
    assert len(result.known) == 1
    assert word in result.known[0]


DYING = """\
[    5.000000] Dying CPU not properly vacated!
[    5.000001] WARNING: CPU: 3 PID: 60 at kernel/sched/core.c:8366 sched_cpu_dying+0x94/0x1e0
[    5.000002] Call Trace:
[    5.000003] ---[ end trace 0000000000000000 ]---
[    5.000004] CPU3 enqueued tasks ({total} total):
{tasks}"""
STOPPER = "[    5.000005] \tpid: 60, name: migration/3\n"
OTHER = "[    5.000006] \tpid: 389, name: rt-storm\n"


@pytest.mark.parametrize(
    ("total", "tasks", "known"),
    [(2, STOPPER, True), (2, STOPPER + OTHER, False), (3, STOPPER, False), (2, "", False)],
)
def test_on_a_dying_cpu_only_the_fair_server_may_be_left(
    total: int, tasks: str, known: bool
) -> None:
    result = judged(HEAD + DYING.format(total=total, tasks=tasks) + TAIL, "storm")
    assert result.passed is known
    assert bool(result.known) is known


RACE = """\
[    5.000000] BUG: KCSAN: data-race in {top} / other
[    5.000001]
[    5.000002] read to 0xffff88801c003818 of 8 bytes by interrupt on cpu 14:
[    5.000003]  __bitmap_and+0x9b/0x100
[    5.000004]  {top}.isra.0+0x31/0x190
[    5.000005]  find_lock_later_rq+0x1c/0x150
[    5.000006]  push_dl_task+0x82/0x1c0
[    5.000007]  pull_rt_task+0x82/0x1c0
[    5.000008]
[    5.000009] Reported by Kernel Concurrency Sanitizer on:
[    5.000010] ==================================================================
"""


@pytest.mark.parametrize(
    ("top", "known"),
    [
        ("cpudl_find", True),
        ("overload_set", False),
        ("pull_rt_task", False),
        ("cache_group_account", False),
    ],
)
def test_a_data_race_is_ours_when_its_innermost_functions_are(top: str, known: bool) -> None:
    result = judged(HEAD + RACE.format(top=top) + TAIL, "storm")
    assert result.passed is known
    assert bool(result.known) is known
    cut = RACE.format(top="cpudl_find").partition("[    5.000010]")[0]
    assert not judged(HEAD + cut + TAIL, "storm").passed


def test_a_complaint_before_the_first_test_is_the_guests() -> None:
    result = judged("[    0.100000] WARNING: CPU: 0 PID: 1 at a.c:1 b\n" + HEAD + TAIL, "storm")
    assert result.faults == ["WARNING, line 1: WARNING: CPU: 0 PID: 1 at a.c:1 b"]
    assert outcomes(result)["storm"] == ("passed", "")
    assert not result.passed


def test_errors_of_the_kernels_check_fail_the_test() -> None:
    good = judged(
        f"{HEAD}[    8.0] # x\n[    8.100000] # check errors 0 checks 99\n{TAIL}", "storm"
    )
    assert good.passed
    assert good.tests[0].checks == 99
    bad = judged(f"{HEAD}[    8.100000] # check errors 2 checks 99\n{TAIL}", "storm")
    assert outcomes(bad)["storm"] == ("failed", "the kernel's check found 2 errors")
    assert uncaught(bad) == []
    assert uncaught(good) == [
        "shard, 2cpu-1x1x1x2x1: no check and no test found an error (log guest.log)"
    ]


def test_a_broken_kernel_without_a_check_is_caught_by_the_test_itself() -> None:
    bad = TAIL.replace("ok 1 storm", "not ok 1 storm # exit status 1")
    counted = f"{HEAD}[    8.000000] # storm: 7 interrupts\n"
    alone = judged(counted + bad, "storm")
    assert uncaught(alone) == []
    check = "# check errors 2 checks 99\n[    8.200000] # storm: check: errors 2 checks 99\n"
    both = judged(f"{counted}[    8.100000] {check}{bad}", "storm")
    assert uncaught(both) == []
    assert outcomes(both)["storm"][1] == (
        "the kernel's check found 2 errors, exit status 1: 7 interrupts"
    )
    unwell = judged(f"{counted}[    8.100000] WARNING: CPU: 0 PID: 1 at a.c:1 b\n{bad}", "storm")
    assert len(uncaught(unwell)) == 1


def test_kunit_in_the_log_is_counted_apart() -> None:
    kunit = "KTAP version 1|1..1|    KTAP version 1|    # Subtest: sbm|    1..2|    ok 1 set|"
    text = kunit.replace("|", "\n")
    good = judged(f"{text}    ok 2 clear\nok 1 sbm\n{HEAD}{TAIL}", "storm")
    assert good.passed
    assert good.kunit == {"passed": 2}
    bad = judged(f"{text}    not ok 2 clear\nnot ok 1 sbm\n{HEAD}{TAIL}", "storm")
    assert bad.kunit_failed == ["sbm.clear: failed"]
    assert not bad.passed
    lost = judged(f"{text}{HEAD}{TAIL}", "storm")
    assert "sbm.test 2: unfinished" in lost.kunit_failed


def test_suites_that_are_built_in_must_run() -> None:
    silent = judged(HEAD + TAIL, "storm", suites=True)
    assert silent.kunit_failed == ["the KUnit suites are built in, but did not run"]
    assert not silent.passed


def test_results_are_json() -> None:
    request = TestRequest(("shard",), "lab", (), "quick")
    data = as_data(request, [captured("guest-outcomes.log", "fine", "fails")])
    assert json.loads(to_json(data))["guests"][0]["tests"][1]["status"] == "failed"
    assert data["passed"] is False


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 5000), st.integers(0, 5000))
def test_damaged_logs_are_judged(junk: bytes, start: int, end: int) -> None:
    raw = (DATA / "guest-outcomes.log").read_bytes()
    text = (raw[:start] + junk + raw[min(start, end) :]).decode("utf-8", "replace")
    result = judged(text, "fine", "fails")
    assert [test.name for test in result.tests] == ["fine", "fails"]
    read_log(text.splitlines())


@pytest.mark.parametrize("which", SETS)
def test_the_matrix_shares_the_time_out(which: str) -> None:
    guests = matrix(SETS[which], chosen([]), [], 7)
    assert [plan.shape.cpus for plan in guests] == [16, 64, 1]
    assert guests[1].shape.split_llc == 4
    for plan in guests:
        assert [step.name for step in plan.steps] == chosen([])
        assert all(step.timeout > 0 for step in plan.steps)
    total = sum(plan.seconds for plan in guests)
    assert total == SETS[which]


def test_an_unusual_test_is_run_when_it_is_asked_for() -> None:
    assert "linux-level" not in chosen([])
    assert chosen(["linux-level"]) == ["linux-level"]
    assert "alloc-fail" not in chosen([])
    with pytest.raises(UserError, match=r"unknown test 'strom': did you mean 'storm'\?"):
        chosen(["strom"])
    assert chosen([], lambda option: option == "CONFIG_FAILSLAB")[-1] == "alloc-fail"
    with pytest.raises(UserError, match="alloc-fail needs a kernel with CONFIG_FAILSLAB: "):
        chosen(["alloc-fail"])


@pytest.fixture
def matrix_of_four(monkeypatch: pytest.MonkeyPatch) -> tuple[TestRequest, list[str]]:
    """Two variants on two machines, and a record of the guests that were run."""
    ran: list[str] = []
    plans = [GuestPlan(Shape(cores=n), (), (), 1) for n in (1, 2)]

    def guest(_: Layout, __: TestRequest, variant: str, plan: GuestPlan, *more: Any) -> GuestResult:
        ran.append(f"{variant}{plan.shape.cpus}")
        if variant == "bad":
            raise UserError("no emulator")
        return GuestResult(variant, "lab", plan.shape.name, "log", "powered off", 1.0)

    monkeypatch.setattr("kernel.testing.run.run_guest", guest)
    return TestRequest(("stock", "shard"), "lab", tuple(plans), "quick"), ran


def test_variants_stand_side_by_side(matrix_of_four: tuple[TestRequest, list[str]]) -> None:
    request, ran = matrix_of_four
    results = run_matrix(Layout(), request, lambda _: None)
    assert [f"{r.variant}{r.machine[0]}" for r in results] == [
        "stock1",
        "shard1",
        "stock2",
        "shard2",
    ]
    assert sorted(ran) == ["shard1", "shard2", "stock1", "stock2"]


def test_a_guest_that_cannot_run_ends_the_matrix(
    matrix_of_four: tuple[TestRequest, list[str]],
) -> None:
    request, _ = matrix_of_four
    with pytest.raises(UserError, match="no emulator"):
        run_matrix(Layout(), replace(request, variants=("bad", "stock")), lambda _: None)
