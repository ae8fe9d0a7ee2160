# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The terminal's view of the advice of `machine topology --advise`."""

from rich.console import Group, RenderableType
from rich.text import Text

from common.show.sheet import Sheet
from model.run.shard_sizes import BUSY, SEARCHES, Advice, Size, flags


def _cells(size: Size, rate: float) -> list[str]:
    """Return the text of each cost of a size, its interval on a second line."""
    cells = []
    for name, value in size.figures(rate).items():
        form = "{:.1%}" if name == "lock_busy" else "{:,.0f}"
        cell = "" if value is None else form.format(value)
        if found := size.spread.get(name):
            cell += f"\n{form.format(found.low)} to {form.format(found.high)}"
        cells.append(cell)
    return cells


def _doubt(advice: Advice) -> str:
    if not advice.samples:
        return "One run per size, without intervals."
    return (
        f"Below each cost is its 90% interval, from {advice.samples} samples of all unknown "
        f"inputs. The shard is the best one in {advice.shard_same} of them, the pod in "
        f"{advice.lock_same}."
    )


def advice_view(advice: Advice) -> RenderableType:
    """Return the table of all sizes, and what to set."""
    numbers = ("cores", "set, cycles", "search, cycles", "use, cycles", "lock, ns", "lock busy")
    machine = advice.machine
    table = Sheet(f"CPUs that share a line or a lock: {machine.title}", "CPUs", *numbers,
                  "", right=("CPUs", *numbers))  # fmt: skip
    for each in advice.sizes:
        chosen = [
            name for name, size in (("shard", advice.shard), ("pod", advice.lock)) if size is each
        ]  # fmt: skip
        table.add_row(
            str(each.cpus), str(each.cores), *_cells(each, advice.rate),
            f"<- {', '.join(chosen)}" if chosen else "",
        )  # fmt: skip
    lines = [Text(f"{what}: {flag}") for what, flag in flags(advice)]
    return Group(
        table,
        *lines,
        Text(""),
        Text(f"Predicted on machine file '{machine.name}' ({machine.kind}). {_doubt(advice)}"),
        Text(
            f"A use sets one bit and does {SEARCHES:.0%} of a search (an assumption). The lock's "
            f"busy share is for {advice.rate:,.0f} operations per second and CPU. A pod is the "
            f"largest size inside a last-level cache whose lock is busy for at most {BUSY:.0%}."
        ),
    )
