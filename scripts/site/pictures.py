# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The pictures of docs/model.md: python3 scripts/site/pictures.py writes docs/pictures/*.svg.

Times are those of one machine file, by the rules of model/sim/model_tiers.c. A transfer has a
request, a snoop and a data leg, which together take the latency between two cores.
"""

from __future__ import annotations

import html
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
MACHINE = "epyc-7763-2s"
INK, RED, BLUE, GREEN, GREY = "#222222", "#b3261e", "#1a5fb4", "#26733b", "#888888"


@dataclass(frozen=True)
class Legs:
    """The three legs of a transfer, in core cycles."""

    request: float
    snoop: float
    data: float

    @property
    def whole(self) -> float:
        """Return all three."""
        return self.request + self.snoop + self.data


def value(number: float | dict[str, float]) -> float:
    """Return a number of a machine file without its range."""
    return number["value"] if isinstance(number, dict) else number


def legs(name: str, level: str) -> Legs:
    """Return the legs between two cores of one package whose distance is `level`."""
    machine = tomllib.loads((ROOT / f"machines/{name}.toml").read_text(encoding="utf-8"))
    cycles = value(machine["latency_ns"][level]) * value(machine["clock_ghz"])
    share = value(machine["protocol"]["data_leg"])
    request = cycles * (1 - share) / 2
    return Legs(request, request, cycles * share)


class Drawing:
    """Lines and words, as SVG."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="13">',
            "<!-- SPDX-License-Identifier: (MIT OR GPL-2.0-only) -->",
            f"<title>{html.escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = INK,
        anchor: str = "start",
        weight: str = "normal",
    ) -> None:
        """Write words at a place."""
        self.parts.append(
            f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(words)}</text>'
        )

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = INK, arrow: bool = False
    ) -> None:
        """Draw a line, or an arrow."""
        tip = ' marker-end="url(#tip)"' if arrow else ""
        self.parts.append(
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{colour}" '
            f'stroke-width="1.5"{tip}/>'
        )

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a filled box."""
        self.parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" '
            f'fill="{colour}" fill-opacity="0.25" stroke="{colour}"/>'
        )

    def svg(self) -> str:
        """Return the picture."""
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def life() -> str:
    """A load finds the line modified elsewhere; then a write asks for it exclusively."""
    one = legs(MACHINE, "node")
    scale, top = 0.62, 70
    made = Drawing(900, 540, "A load and a write of a contended cache line")
    lanes = {"CPU 0, in LLC 0": 230, "ordering point of the line": 450, "CPU 8, in LLC 1": 670}
    for name, x in lanes.items():
        made.text(x, 24, name, anchor="middle", weight="bold")
        made.line(x, 34, x, 500, GREY)
    owner, point, asker = lanes.values()

    def at(cycles: float) -> float:
        return top + cycles * scale

    start = 0.0
    steps = (
        ("load", "request", "snoop", "data: HITM", BLUE),
        ("locked operation", "request for ownership", "invalidate", "acknowledged, data", RED),
    )
    for what, request, snoop, data, colour in steps:
        a, b = start + one.request, start + one.request + one.snoop
        end = start + one.whole
        made.line(asker, at(start), point, at(a), colour, arrow=True)
        made.text(asker - 6, at(start) + 44, f"{request}: {one.request:.0f}", colour, "end")
        made.line(point, at(a), owner, at(b), colour, arrow=True)
        made.text(point - 6, at(a) + 40, f"{snoop}: {one.snoop:.0f}", colour, "end")
        made.line(owner, at(b), asker, at(end), colour, arrow=True)
        made.text(point + 8, at((b + end) / 2) - 8, f"{data}: {one.data:.0f}", colour)
        made.text(asker + 12, at(start) + 5, what, colour, weight="bold")
        made.text(880, at(end) - 6, f"{one.whole:.0f} cycles", colour, "end")
        start = end
    for cycles, words in ((0.0, "modified"), (one.whole, "shared"), (2 * one.whole, "no copy")):
        made.text(owner - 12, at(cycles) + 5, words, GREEN, "end")
    for cycles, words in ((one.whole, "shared"), (2 * one.whole, "modified")):
        made.text(asker + 12, at(cycles) + 22, words, GREEN)
    made.text(20, at(0) + 5, "0 cycles", GREY)
    made.text(20, at(one.whole) + 5, f"{one.whole:.0f}", GREY)
    made.text(20, at(2 * one.whole) + 5, f"{2 * one.whole:.0f}", GREY)
    made.text(
        20, 528, f"machines/{MACHINE}.toml: latency_ns.node, protocol.data_leg, clock_ghz", GREY
    )
    return made.svg()


def rounds() -> str:
    """Next: writes of the group that has the line, then the next group; loads in order."""
    made = Drawing(900, 250, "Who gets a contended cache line next")
    near, far = legs(MACHINE, "llc").whole, legs(MACHINE, "node").whole
    made.text(20, 24, "Twelve CPUs of three last-level caches wait to write. Schematic.", GREY)
    x, widths = 110.0, (34, 64)
    for index in range(3):
        made.text(20, 75 + 50 * index, f"LLC {index}", weight="bold")
        made.line(100, 92 + 50 * index, 880, 92 + 50 * index, GREY)
    order = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    last = None
    for cpu, llc in enumerate(order):
        crossed = last is not None and last != llc
        if crossed:
            made.line(x, 80 + 50 * (llc - 1), x + widths[1], 80 + 50 * llc - 12, RED, arrow=True)
            x += widths[1] + 4
        made.box(x, 58 + 50 * llc, widths[0], 28, BLUE)
        made.text(x + widths[0] / 2, 77 + 50 * llc, f"{cpu}", BLUE, "middle")
        x += widths[0] + 8
        last = llc
    made.text(20, 222, f"to the next core of the cache: {near:.0f} cycles", BLUE)
    made.text(350, 222, f"to another cache: {far:.0f} cycles", RED)
    made.text(
        20,
        242,
        f"machines/{MACHINE}.toml. A later request waits for the next round.",
        GREY,
    )
    return made.svg()


def shards() -> str:
    """One line for all, and a line for each last-level cache."""
    made = Drawing(900, 300, "One cache line for all CPUs, or one for each last-level cache")
    for side, words in ((0, "one line for all CPUs"), (460, "a line for each last-level cache")):
        made.text(side + 210, 24, words, anchor="middle", weight="bold")
        for llc in range(4):
            x = side + 20 + llc * 102
            made.box(x, 190, 92, 80, GREY)
            made.text(x + 46, 262, f"LLC {llc}", GREY, "middle")
            for cpu in range(3):
                made.box(x + 8 + cpu * 27, 206, 22, 26, BLUE)
                target = side + 210 if not side else x + 46
                made.line(x + 19 + cpu * 27, 204, target, 112, RED if not side else BLUE, True)
            if side:
                made.box(x + 16, 84, 60, 26, GREEN)
        if not side:
            made.box(side + 150, 84, 120, 26, RED)
            made.text(side + 210, 102, "a cache line", RED, "middle")
        else:
            made.text(side + 210, 66, "lines that stay in their cache", GREEN, "middle")
    made.text(20, 292, "A search reads the lines of near caches first.", GREY)
    return made.svg()


def pictures() -> dict[str, str]:
    """Return all pictures by the names of their files."""
    return {"life.svg": life(), "rounds.svg": rounds(), "shards.svg": shards()}


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
