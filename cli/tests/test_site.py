# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the links, files, make targets and versions in all pages, and the generated tables."""

from __future__ import annotations

import posixpath
import re
import subprocess
from pathlib import Path

import pytest
import result_tables as results

from common.paths import ROOT
from model.run.common_entries import read_experiment

TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT, check=True, capture_output=True, text=True,
).stdout.splitlines()  # fmt: skip
MARKDOWN = sorted(name for name in TRACKED if name.endswith(".md"))
FENCE = re.compile(r"(?ms)^[ ]*(```+).*?^[ ]*\1[ ]*$")
SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
# Pages whose claims about files are checked; other pages' claims about their own folders are not.
PAGES = sorted(
    name
    for name in TRACKED
    if name in ("README.md", "DESIGN.md", "CONTRIBUTING.md")
    or (name.startswith("docs/") and name.endswith(".md"))
)
TABLES = results.all_tables()


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    heads = re.findall(r"(?m)^#+ (.*)$", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", MARKDOWN)
def test_links_lead_to_a_file_and_a_heading(page: str) -> None:
    prose = SPAN.sub("", FENCE.sub("", (ROOT / page).read_text(encoding="utf-8")))
    for target in re.findall(r"\]\(([^()\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        assert (ROOT / file).exists(), target
        assert not anchor or anchor in anchors(file), target


def test_targets_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^ {4}|`)(?:\./)?make ([a-z-]+)", text, re.MULTILINE))
    assert len(named) > 8
    assert named <= rules


def test_every_place_has_the_version() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    heading = re.search(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] in (version, "Unreleased")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    for name in re.findall(r"schedshard[-_](\d[\d.]*)[-_]", (ROOT / "docs/install.md").read_text()):
        assert name == version


def test_files_that_pages_name_exist() -> None:
    known = TRACKED
    folders = {str(parent) for name in known for parent in Path(name).parents} - {"."}
    tops = {name.split("/")[0] for name in known if "/" in name}
    gone = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for name in re.findall(r"`([\w.-]+/[\w./-]*\w/?)`", text):
            stands_for_others = re.search(r"\b(NAME|STEP|V|VARIANT)\b|^kernel/sched", name)
            exists = name in known or name.rstrip("/") in folders
            if name.split("/")[0] in tops and not exists and not stands_for_others:
                gone.append(f"{page}: {name}")
    assert gone == []


@pytest.mark.parametrize("table", TABLES, ids=[table["name"] for table in TABLES])
def test_pages_have_the_rows_of_each_table(table: results.Spec) -> None:
    for page in table["pages"]:
        match = results.place(table["name"]).search((ROOT / page).read_text(encoding="utf-8"))
        assert match, page
        rows = [line.split("|")[1].strip() for line in match[0].splitlines()[3:-1]]
        assert rows == [row["title"] for row in table["row"]]
        columns = table["kinds"] if "kinds" in table else table["variants"]
        assert {line.count("|") for line in match[0].splitlines()[1:-1]} == {len(columns) + 2}


@pytest.mark.parametrize("table", TABLES, ids=[table["name"] for table in TABLES])
def test_tables_name_what_there_is(table: results.Spec) -> None:
    """Check machines, variants and figures; else a mistake shows after minutes of simulation."""
    bodies = "".join(
        path.read_text(encoding="utf-8") for path in ROOT.glob("model/experiments/*.c")
    )

    def names(of: results.Spec, what: str) -> set[str]:
        return {entry["name"] for entry in of.get(what, [])}

    experiments = {}
    for name, run in table["run"].items():
        experiments[name] = read_experiment(ROOT / f"model/experiments/{run['experiment']}.toml")
        assert (ROOT / f"machines/{run['machine']}.toml").is_file()
        assert set(run.get("variants", table["variants"])) <= names(experiments[name], "variant")
        assert {setting.split("=")[0] for setting in run.get("set", [])} <= names(
            experiments[name], "param"
        )
    for row in table["row"]:
        assert row.get("samples", row["run"]) in table["run"]
        assert row.get("against", table["variants"][0]) in table["variants"]
        figures = names(experiments[row["run"]], "metric") or {"relative"}
        assert row["figure"] in figures or f'"{row["figure"]}"' in bodies


@pytest.mark.long
@pytest.mark.usefixtures("real")
def test_a_table_is_what_the_simulator_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make the table `yield`, in a second. Compilers differ by a few accesses, so by 0.1%."""
    monkeypatch.setattr(results, "KEPT", tmp_path)
    table = next(table for table in TABLES if table["name"] == "yield")
    match = results.place("yield").search((ROOT / "docs/results.md").read_text(encoding="utf-8"))
    assert match
    shown = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in match[0].splitlines()}
    cells = results.Cells(table)
    for row in table["row"]:
        if row["variant"] != "sbm":
            made = [results.cell(cells, row, row["variant"], k) for k in table["kinds"][:2]]
            published, predicted = shown[row["title"]][1:3]
            assert published == made[0]
            assert float(predicted.strip("%")) == pytest.approx(float(made[1].strip("%")), rel=0.01)
