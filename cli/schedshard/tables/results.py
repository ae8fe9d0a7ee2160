# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Results as tables for a terminal: rich renderables, no printing."""

from typing import Any

from rich.console import Group as Together
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from schedshard.common.result import is_curve, is_pairs
from schedshard.experiments.figures import is_figures
from schedshard.machines.topo import Group, plan_rows, plan_sentence, ranges, tree
from schedshard.show.format import line_place, nanoseconds, percent, signed_percent, significant
from schedshard.show.sheet import Sheet
from schedshard.tables.figures import figure_misses, figure_tables
from schedshard.tables.intervals import interval_notes, interval_view
from schedshard.tables.primitives import FEW_CURVES, pairs_table, scaling_table

ESTIMATES_SHOWN = 3


def machine_label(machine: dict[str, Any]) -> str:
    """What kind of prediction a machine allows: its numbers may be guesses themselves."""
    return "predicted" if machine["kind"] == "measured" else f"predicted, {machine['kind']} machine"


def run_tables(result: dict[str, Any]) -> RenderableType:
    """A result of `run`: predicted, published, error, and the meaning of each word."""
    body: RenderableType
    if is_figures(result):
        body = figure_tables(result)
    elif is_pairs(result):
        body = pairs_table(result)
    elif is_curve(result):
        few = len(result["variants"]) <= FEW_CURVES
        body = _curve(result) if few else scaling_table(result)
    else:
        body = _bars(result)
    parts = [_heading(result), body]
    if "uncertainty" in result:
        parts.append(interval_view(result))
    return Together(*parts, notes_view(_short_notes(result)))


def _short_notes(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The notes for a terminal: many estimates are only named."""
    notes = run_notes(result)
    guesses = [said.partition(" = ")[0] for word, said in notes if word == "estimate"]
    if len(guesses) > ESTIMATES_SHOWN:
        first = next(i for i, (word, _) in enumerate(notes) if word == "estimate")
        notes = [note for note in notes if note[0] != "estimate"]
        said = f"{len(guesses)} inputs: {', '.join(guesses)}; the page of 'report' has the reasons"
        notes.insert(first, ("estimate", said))
    return notes


def notes_view(notes: list[tuple[str, str]]) -> Table:
    """Notes below a table: a word and its sentence, wrapped beside it."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for word, said in notes:
        made.add_row(word, said)
    return made


def _heading(result: dict[str, Any]) -> Text:
    machine = result["machine"]
    text = Text(result["title"], style="bold")
    where = f"\n{machine['title']}"
    if not is_pairs(result):
        where += f", {result['cpus']} of {machine['cpus']} CPUs"
    if result.get("hold_ns"):
        where += f", held for {result['hold_ns']:g} ns"
    if result.get("work_ns"):
        where += f", {result['work_ns']:g} ns of work between operations"
    if result.get("cap") is not None:
        where += f", at most {result['cap']} CPUs per shard"
    return text.append(where, style="not bold")


def _verdict(row: dict[str, Any]) -> Text:
    if "accepted" not in row:
        return Text("")
    if row["accepted"]:
        return Text(row["accept"], style="green")
    return Text(f"not {row['accept']}", style="bold red")


def _bars(result: dict[str, Any]) -> Sheet:
    published = any(row.get("published") is not None for row in result["variants"])
    reads = any("cycles_per_read" in row for row in result["variants"])
    numbers = ["cycles/op", "ns/op", "predicted", "cycles/walk", "published", "error"]
    columns = ["variant", "", *numbers[:3], *(numbers[3:4] if reads else ())]
    columns += numbers[4:] if published else []
    columns += ["band"] if published else []
    made = Sheet(None, *columns, right=numbers, optional=("",))
    for row in result["variants"]:
        relative = row["relative"]
        cells: list[str | Text] = [
            row["name"], row["title"], significant(row["cycles_per_op"]),
            significant(row["ns_per_op"]), percent(relative) if relative is not None else "-",
        ]  # fmt: skip
        if reads:
            cells.append(significant(row["cycles_per_read"]) if "cycles_per_read" in row else "")
        if published:
            figure = row.get("published")
            error = row.get("error")
            cells.append(percent(figure) if figure is not None else "")
            is_base = row["name"] == result["baseline"]
            cells.append(signed_percent(error) if error is not None and not is_base else "")
            cells.append(_verdict(row))
        made.add_row(*cells)
    return made


def _curve(result: dict[str, Any]) -> Sheet:
    variants = result["variants"]
    published = any("published" in point for v in variants for point in v["points"])
    columns = ["threads"]
    for variant in variants:
        columns.append(f"{variant['name']} ns/op")
        if any("published" in point for point in variant["points"]):
            columns += ["published", "error"]
    made = Sheet(None, *columns, right=columns)
    counts = sorted({point["threads"] for v in variants for point in v["points"]})
    for count in counts:
        cells = [str(count)]
        for variant in variants:
            point = next((p for p in variant["points"] if p["threads"] == count), None)
            cells.append(significant(point["ns_per_op"]) if point else "")
            if published and any("published" in p for p in variant["points"]):
                known = point is not None and "published" in point
                cells.append(significant(point["published"]) if point and known else "")
                cells.append(signed_percent(point["error"]) if point and known else "")
        made.add_row(*cells)
    return made


def run_notes(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The sentences under a result: labels, errors, sources, and what is outside its band."""
    machine = result["machine"]
    notes = [("predicted", f"simulated on machine file '{machine['name']}' ({machine['kind']})")]
    published = result.get("published")
    if published:
        calibration = published["role"] == "calibration"
        notes.append(("published", published["source"]))
        notes.append(
            ("calibration", "the model's constants were chosen on these very figures")
            if calibration
            else ("prediction", _fitted(result))
        )
    for error in result.get("model_error", ()):
        many = len(result["model_error"]) > 1
        about = f"{', '.join(error['variants'])}: " if many else ""
        notes.append(("validation", about + error["said"]))
    if "uncertainty" in result:
        notes += interval_notes(result)
    for name, about in result["param_sources"].items():
        kind, _, said = about["source"].partition(":")
        if kind in ("calibrated", "estimate"):
            used = f"{name} = {result['params'].get(name, 0):,g}"
            notes.append((kind, f"{used}: {said.strip()}"))
    for variant in result["variants"]:
        if "median_error" in variant:
            notes.append(("error", curve_verdict(result, variant)))
        if not is_figures(result) and variant.get("accepted") is False and "accept" in variant:
            why = variant.get("lacks", "docs/model.md tells what the model lacks")
            notes.append(("outside", f"{variant['name']} is not {variant['accept']}: {why}"))
    if is_figures(result):
        notes += [("outside", said) for said in figure_misses(result)]
    provenance = result["provenance"]
    notes.append(
        (
            "provenance",
            f"seed {provenance['seed']}, machine file sha256 {provenance['machine_sha256'][:12]}, "
            f"schedshard {provenance['version']} commit {provenance['commit'][:12]}; "
            f"{result['simulator']['events']:,} memory events in "
            f"{result['simulator']['seconds']:.1f} CPU seconds",
        )
    )
    return notes


def _fitted(result: dict[str, Any]) -> str:
    """The figures that were calibrated on published ones, and those that were not."""
    chosen = [
        f"{metric['title']} of '{variant['name']}'"
        for variant in result["variants"]
        for metric in result.get("metrics", ())
        if metric["name"] in variant.get("calibrated", ())
    ]
    if chosen:
        return f"only {' and '.join(chosen)} was used to choose a parameter; the rest is predicted"
    return "nothing in the model was fitted to the published figures"


def curve_verdict(result: dict[str, Any], variant: dict[str, Any]) -> str:
    """How near a predicted curve is to the published one."""
    accept = result.get("published", {}).get("accept")
    holds = "inside" if variant.get("accepted") else "OUTSIDE"
    if is_pairs(result):
        said = f"{variant['name']}: worst {variant['worst_error']:.1%}"
        return f"{said}, {holds} the band (each within {accept['within']:.0%})" if accept else said
    start = accept["from_threads"] if accept else 1
    said = (
        f"{variant['name']}, {start} threads and more: median {variant['median_error']:.1%}, "
        f"worst {variant['worst_error']:.1%}"
    )
    if accept:
        said += f", {holds} the band (median {accept['median']:.0%}, worst {accept['worst']:.0%})"
    return said


def machines_table(rows: list[dict[str, Any]]) -> Sheet:
    """The list of machine files."""
    numbers = ("CPUs", "packages", "nodes", "LLCs", "GHz")
    made = Sheet(
        None,
        "machine",
        "kind",
        *numbers,
        "",
        right=numbers,
        rigid=("kind",),
        optional=("packages",),
    )
    for row in rows:
        if "error" in row:
            made.add_row(row["name"], Text("broken", style="red"), "", "", "", "", "", row["error"])
            continue
        counts = [str(row[key]) for key in ("cpus", "packages", "nodes", "llcs")]
        made.add_row(row["name"], row["kind"], *counts, f"{row['clock_ghz']:g}", row["title"])
    return made


def experiments_table(rows: list[dict[str, Any]]) -> Sheet:
    """The list of experiments."""
    made = Sheet(None, "experiment", "", "its machine", "variants", right=("variants",))
    for row in rows:
        made.add_row(row["name"], row["title"], row["machine"], str(len(row["variants"])))
    return made


def topo_view(data: dict[str, Any], shards_shown: int = 64) -> RenderableType:
    """The tree and the shard plan."""
    root = tree(data)
    drawn = Tree(Text(root.label, style="bold"), guide_style="dim")

    def grow(branch: Tree, group: Group) -> None:
        for child in group.children:
            text = Text(child.label)
            text.append(f"  CPUs {ranges(sorted(child.cpus))}", style="dim")
            grow(branch.add(text), child)

    grow(drawn, root)
    rows = plan_rows(data)
    numbers = ("shard", "package", "node", "LLC", "CPUs")
    made = Sheet("Shard plan", *numbers, "CPU numbers in position order", right=numbers)
    for row in rows[:shards_shown]:
        place = [str(row[key]) if row[key] >= 0 else "?" for key in ("package", "node", "llc")]
        made.add_row(str(row["shard"]), *place, str(row["cpus"]), row["positions"])
    parts: list[RenderableType] = [drawn, Text(""), made]
    if len(rows) > shards_shown:
        parts.append(Text(f"... and {len(rows) - shards_shown} more shards: --json has them all"))
    parts.append(Text(plan_sentence(data)))
    return Together(*parts)


_HEADLINES = {
    ("set", "set+clear"): (None,),
    ("set", "iterate"): ("1/16", "full"),
    ("contended", "set+clear"): (None,),
    ("contended", "inc"): (None,),
}


def bench_headlines(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The few most informative operations of a bench; all rows when it has none of them."""
    chosen = [
        row for row in rows if row.get("density") in _HEADLINES.get((row["group"], row["op"]), ())
    ]
    return chosen or rows


def bench_rows(data: dict[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """The rows of a bench by group, as text; a cell that repeats the one above it is empty."""
    groups = []
    for group in dict.fromkeys(row["group"] for row in data["rows"]):
        rows = []
        last: tuple[Any, ...] = ()
        for row in data["rows"]:
            if row["group"] != group:
                continue
            key = (row["op"], row.get("plan"), row.get("density"))
            head = ["" if key == last else str(part or "") for part in key]
            last = key
            spread = ""
            if row.get("ratio_low") is not None and row["variant"] != row.get("reference"):
                spread = f"{row['ratio_low']:.2f}-{row['ratio_high']:.2f}"
            rows.append(
                [
                    *head,
                    row["variant"],
                    _number(row.get("ns")),
                    _ratio(row.get("ratio")),
                    spread,
                    _number(row.get("instructions")),
                    _ratio(row.get("instructions_ratio")),
                ]
            )
        groups.append((group, rows))
    return groups


BENCH_COLUMNS = (
    "op", "plan", "density", "variant", "ns", "ratio", "p10-p90", "instructions", "ratio ",
)  # fmt: skip


def bench_host(data: dict[str, Any]) -> str:
    """The host in words."""
    host = data["host"]
    known = [f"{key.replace('_', ' ')} {_plain(value)}" for key, value in host.items() if value]
    return "measured on this host: " + ", ".join(known)


def _plain(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def bench_tables(data: dict[str, Any]) -> RenderableType:
    """Operations on this host's CPUs, one table a group; ratios are to the group's reference."""
    parts: list[RenderableType] = []
    for group, rows in bench_rows(data):
        made = Sheet(
            group,
            *BENCH_COLUMNS,
            right=BENCH_COLUMNS[4:],
            rigid=BENCH_COLUMNS,
            optional=("p10-p90",),
        )
        for row in rows:
            made.add_row(*row)
        parts.append(made)
    parts.append(Text(bench_host(data)))
    return Together(*parts)


def _number(value: Any) -> str:
    return significant(float(value)) if value is not None else ""


def _ratio(value: Any) -> str:
    return f"{float(value):.2f}x" if value is not None else ""


ACCESSES_SHOWN = 12


def c2c_tables(report: dict[str, Any]) -> RenderableType:
    """The report of stage c2c: lines, then the accesses of each."""
    parts: list[RenderableType] = []
    for variant in report["variants"]:
        parts.append(_c2c_lines(report, variant))
        for number, line in enumerate(variant["lines"]):
            parts.append(_c2c_accesses(number, line))
    if not report["names_resolved"]:
        parts.append(
            Text("no symbols: another simulator made this result, run the experiment again")
        )
    return Together(*parts)


def _c2c_lines(report: dict[str, Any], variant: dict[str, Any]) -> Sheet:
    numbers = (
        "#", "home", "HITM", "rmt HITM", "lcl HITM", "records", "loads", "stores", "load cycles",
        "max",
    )  # fmt: skip
    title = (
        f"Shared cache lines of '{variant['name']}', {variant['cpus']} CPUs of "
        f"{report['machine']['name']} ({len(variant['lines'])} of {variant['lines_total']} lines, "
        f"{variant['hitm_total']:,} HITM)"
    )
    columns = (numbers[0], "object", *numbers[1:])
    made = Sheet(title, *columns, right=numbers, rigid=columns, optional=("loads", "stores"))
    for index, line in enumerate(variant["lines"]):
        made.add_row(
            str(index),
            line_place(line),
            str(line["home"]),
            f"{line['hitm_share']:.2%}",
            *(
                f"{line[key]:,}"
                for key in ("hitm_remote", "hitm_local", "records", "loads", "stores")
            ),
            significant(line["avg_load_cycles"]),
            significant(line["max_load_cycles"]),
        )
    return made


def _c2c_accesses(number: int, line: dict[str, Any]) -> Sheet:
    numbers = ("rmt HITM", "lcl HITM", "store", "offset", "load cycles", "records", "CPUs")
    made = Sheet(
        f"line {number}: {line_place(line)}, {line['type'] or 'no type'}",
        *numbers[:4], "field", "kind", *numbers[4:], "symbol", "source", right=numbers,
        rigid=("kind", "source"), optional=("kind", "source", "records", "CPUs"),
    )  # fmt: skip
    for access in line["accesses"][:ACCESSES_SHOWN]:
        made.add_row(
            f"{access['hitm_remote_share']:.2%}",
            f"{access['hitm_local_share']:.2%}",
            f"{access['store_share']:.2%}",
            f"{access['offset']:#x}",
            access["field"] or "-",
            f"{access['kind']} {access['size']}",
            significant(access["avg_load_cycles"]),
            f"{access['records']:,}",
            str(access["cpus"]),
            access["symbol"],
            access["source"],
        )
    hidden = len(line["accesses"]) - ACCESSES_SHOWN
    if hidden > 0:
        made.caption = f"and {hidden} more accesses: --json has them all"
    return made


def summary_row(result: dict[str, Any]) -> list[str]:
    """One machine of a comparison: cost of the baseline and every variant relative to it."""
    cells = [result["machine"]["name"], str(result["cpus"]), machine_label(result["machine"])]
    for variant in result["variants"]:
        is_base = variant["name"] == result["baseline"]
        relative = variant["relative"]
        cells.append(
            nanoseconds(variant["ns_per_op"]) if is_base or relative is None else percent(relative)
        )
    return cells


def comparison_table(title: str, results: list[dict[str, Any]]) -> Sheet:
    """Machines below each other: the baseline in time, the other variants relative to it."""
    names = [variant["name"] for variant in results[0]["variants"]]
    numbers = ("CPUs", *names)
    made = Sheet(title, "machine", "CPUs", "label", *names, right=numbers, optional=("CPUs",))
    for result in results:
        made.add_row(*summary_row(result))
    return made


def machine_view(described: dict[str, Any]) -> RenderableType:
    """A machine file: a summary, then every number with its source."""
    heading = (
        f"{described['title']} ({described['kind']}): {described['packages']} packages, "
        f"{described['nodes']} nodes, {described['llcs']} LLCs, {described['cpus']} CPUs"
    )
    made = Sheet(heading, "key", "value", "source", right=("value",))
    last = ""
    for number in described["numbers"]:
        source = number["source"]
        key = f"{number['key']} ({number['joins']})" if "joins" in number else number["key"]
        limits = f" ({number['low']:g}-{number['high']:g})" if "low" in number else ""
        made.add_row(key, f"{number['value']}{limits}", '"' if source == last else source)
        last = source
    return Together(made, Text(f"{described['file']}, sha256 {described['sha256']}"))
