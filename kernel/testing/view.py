# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the results of the guests' tests as tables: a row per test, a column per variant."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernel.testing.ktap import Status
from kernel.testing.run import GuestResult, Verdict

_WORDS = {
    Status.PASSED: ("ok", "green"),
    Status.FAILED: ("FAILED", "bold red"),
    Status.SKIPPED: ("skipped", "yellow"),
    Status.UNFINISHED: ("UNFINISHED", "bold red"),
}


def _cell(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("-")
    word, style = _WORDS[verdict.status]
    time = f" {verdict.milliseconds / 1000:.0f} s" if verdict.milliseconds is not None else ""
    checks = f", {verdict.checks:,} checks" if verdict.checks else ""
    return Text(f"{word}{time}{checks}", style)


def _boot_cell(result: GuestResult) -> Text:
    if result.faults:
        return Text("FAULT", "bold red")
    clock = f" {result.boot_seconds:.1f} s" if result.boot_seconds is not None else ""
    llcs = f"{result.llcs} LLC{'s' if result.llcs != 1 else ''}"
    nodes = f"{result.nodes} node{'s' if result.nodes != 1 else ''}"
    return Text(f"ok{clock}, {llcs}, {nodes}", "green")


def _kunit_cell(result: GuestResult) -> Text:
    passed = result.kunit.get(Status.PASSED.value, 0)
    if result.kunit_failed:
        return Text(f"{len(result.kunit_failed)} FAILED, {passed} ok", "bold red")
    return Text(f"{passed} ok" if passed else "none built in", "green" if passed else "")


def _machine_table(machine: str, results: Sequence[GuestResult]) -> Table:
    table = Table(title=machine, title_justify="left")
    table.add_column("test")
    for result in results:
        table.add_column(result.variant)
    table.add_row("boot", *(_boot_cell(result) for result in results))
    table.add_row("KUnit", *(_kunit_cell(result) for result in results))
    names = list(dict.fromkeys(test.name for result in results for test in result.tests))
    for name in names:
        verdicts = [{test.name: test for test in result.tests}.get(name) for result in results]
        table.add_row(name, *(_cell(verdict) for verdict in verdicts))
    return table


def faults(result: GuestResult) -> list[str]:
    """Return every reason why a guest did not pass, one line each, with its log."""
    where = f"{result.variant}, {result.machine}"
    good = (Status.PASSED, Status.SKIPPED)
    lines = [f"{where}: {fault}" for fault in result.faults]
    lines += [f"{where}: KUnit: {failed}" for failed in result.kunit_failed]
    lines += [
        f"{where}: {test.name}: {test.status.value}: {test.reason or 'no reason given'} "
        f"(log {result.log})"
        for test in result.tests
        if test.status not in good
    ]
    return lines


def uncaught(result: GuestResult) -> list[str]:
    """Return why the tests missed a deliberately broken variant, or nothing if they caught it."""
    if result.caught:
        return []
    why = f"{result.variant}, {result.machine}: no check and no test found an error"
    return [f"{why} (log {result.log})"]


def test_tables(results: Sequence[GuestResult], wrong: Sequence[str]) -> RenderableType:
    """Return all results: a table per machine, then what went wrong."""
    machines = list(dict.fromkeys(result.machine for result in results))
    parts: list[RenderableType] = []
    for machine in machines:
        parts.append(_machine_table(machine, [r for r in results if r.machine == machine]))
    known = [f"{r.variant}, {r.machine}: known: {why}" for r in results for why in r.known]
    parts += [Text(line, "yellow") for line in known]
    parts += [Text(line, "red") for line in wrong]
    return Group(*parts)


test_tables.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's
