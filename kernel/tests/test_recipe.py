# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Every mistake in series.toml gives one line that names the place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_kernel import STEP, VARIANTS, write, write_base, write_other_base, write_series

from common.errors import UserError
from kernel.layout import Layout
from kernel.source.base import layout_for, load_bases
from kernel.source.recipe import Append, Replace, load_recipe

EDIT = '[[step.edit]]\ncocci = "a.cocci"\nfile = "a.c"\nsites = 2\n'


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "project", tmp_path / "work")
    write_base(made, write(tmp_path / "linux-fake.tar.xz", ""))
    return made


def test_reads_steps_and_variants(layout: Layout) -> None:
    write_series(layout, STEP + EDIT, f'{VARIANTS}config = ["shard"]\n')
    recipe = load_recipe(layout)
    (step,) = recipe.steps
    assert step.copy[1] == ("core/sbm.c", "lib/schedshard/sbm.c")
    assert step.append == (Append("kernel/sched/Makefile", ("obj-y += shard.o",)),)
    assert step.edits[0].sites == 2
    assert recipe.steps_of(recipe.variant("stock")) == ()
    assert recipe.steps_of(recipe.variant("shard")) == (step,)
    assert recipe.variant("shard").config == ("shard",)


@pytest.mark.parametrize(
    ("steps", "variants", "words"),
    [
        (STEP, "[variant", "is not TOML"),
        (STEP + "colour = 1\n", "", r"step 01-shard: unknown key 'colour'"),
        (STEP + EDIT.replace("2", "0"), "", r"a\.cocci: 'sites' must be given, as a number from 1"),
        (STEP + EDIT.replace("2", '"2"'), "", "'sites' must be given"),
        (STEP + EDIT.replace("2", '{ "1.0" = 2 }'), "", "'sites' must be given"),
        (STEP + EDIT.replace("sites = 2", ""), "", "'sites' must be given"),
        (STEP + EDIT.replace('a.c"', '../a.c"'), "", r"'\.\./a\.c' is not a plain relative path"),
        (STEP + EDIT.replace('a.c"', '/a.c"'), "", r"'/a\.c' is not a plain relative path"),
        (STEP + EDIT + "x = 1\n", "", "unknown key 'x'"),
        (STEP.replace("changelog = ", "log = "), "", "'changelog' must be given"),
        (STEP.replace('"obj-y += shard.o"', '"a\\nb"'), "", "must be single lines"),
        (STEP.replace('["obj-y += shard.o"]', "[]"), "", "must be single lines, one at least"),
        (STEP.replace('"lib/schedshard/sbm.c"', "1"), "", "'copy' must be a table"),
        (STEP + "edit = 1\n", "", "'edit' must be a list of tables"),
        (STEP + STEP, "", "steps: '01-shard' appears twice"),
        (STEP, VARIANTS + VARIANTS, "variants: 'stock' appears twice"),
        (STEP, '[[variant]]\nname = "base"\n', "this name belongs to a tree"),
        (STEP, '[[variant]]\nname = "a-deb"\n', "this name belongs to a tree"),
        (STEP, '[[variant]]\nname = "a/b"\n', "a name has letters"),
        (STEP, '[[variant]]\nname = ".a"\n', "a name has letters"),
        (STEP, '[[variant]]\nname = "a"\nsteps = ["01-shart"]\n', "did you mean '01-shard'"),
        (STEP, '[[variant]]\nname = "a"\nup_to = "01-shart"\n', "did you mean '01-shard'"),
        (STEP, '[[variant]]\nname = "a"\nedit = []\n', "unknown key 'edit'"),
        ("step = 1\n", "", "'step' must be a list of tables"),
    ],
)
def test_mistakes(layout: Layout, steps: str, variants: str, words: str) -> None:
    write_series(layout, steps, variants)
    with pytest.raises(UserError, match=words) as caught:
        load_recipe(layout)
    assert "\n" not in str(caught.value)
    assert "series.toml" in str(caught.value) or "variant 'a'" in str(caught.value)


@pytest.mark.parametrize(
    ("variant", "names"),
    [
        ('steps = ["04-step", "01-step"]', ["01-step", "04-step"]),
        ('up_to = "02-step"\nsteps = ["04-step"]', ["01-step", "02-step", "04-step"]),
        ('steps = "series"', ["01-step", "02-step", "03-step", "04-step"]),
        ('steps = "all"\nremove = ["a.c"]',
         ["01-step", "02-step", "03-step", "04-step", "05-check", "variant some"]),
    ],
)  # fmt: skip
def test_steps_of_a_variant(layout: Layout, variant: str, names: list[str]) -> None:
    """They keep the order of the series. Steps for tests and a variant's own changes come last."""
    steps = "".join(STEP.replace("01-shard", f"0{number}-step") for number in range(1, 5))
    steps += STEP.replace("01-shard", "05-check") + "test = true\n"
    write_series(layout, steps, f'[[variant]]\nname = "some"\n{variant}\n')
    recipe = load_recipe(layout)
    assert [step.name for step in recipe.steps_of(recipe.variant("some"))] == names


def test_other_schema(layout: Layout) -> None:
    write_series(layout)
    path = layout.inputs / "series.toml"
    write(path, path.read_text(encoding="utf-8").replace("= 1", "= 2", 1))
    with pytest.raises(UserError, match="schema is 2, must be 1"):
        load_recipe(layout)


def test_what_is_for_one_series_of_linux(layout: Layout) -> None:
    write_other_base(layout)
    only = STEP.replace("01-shard", "02-only") + 'linux = "2.1"\n'
    edits = EDIT + '[[step.edit]]\nlinux = "2.1"\ncocci = "b.cocci"\nfile = "a.c"\nsites = 1\n'
    first = STEP.replace('lines = ["', 'linux = "1.0", lines = ["') + edits
    on = """[[step.on]]
linux = "{}"
overlay = ["more.h"]
append = [{{ file = "Kconfig", lines = ["x"] }}]
edit = [{{ cocci = "c.cocci", file = "c.c", sites = 1 }}]
replace = [{{ file = "more.h", text = "old", by = "new", sites = 4 }}]
"""
    write_series(layout, first + on.format("2.1") + only)
    (old,) = load_recipe(layout).steps
    assert [(edit.cocci, edit.sites) for edit in old.edits] == [("a.cocci", 2)]
    assert ([add.file for add in old.append], old.replace) == (["kernel/sched/Makefile"], ())
    new, last = load_recipe(replace(layout, linux="2.1")).steps
    sites = [(edit.cocci, edit.sites) for edit in new.edits]
    assert sites == [("a.cocci", 2), ("b.cocci", 1), ("c.cocci", 1)]
    assert ([add.file for add in new.append], new.overlay[-1]) == (["Kconfig"], "more.h")
    assert new.replace == (Replace("more.h", "old", "new", 4),)
    assert last.name == "02-only"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (STEP + 'linux = "1.1"\n', r"unknown series of Linux .*'1\.1': did you mean '1\.0'"),
        (STEP + "[[step.on]]\noverlay = []\n", "on: 'linux' must be given, as text"),
        (STEP + '[[step.on]]\nlinux = "1.0"\nx = 1\n', "on: unknown key 'x'"),
    ],
)
def test_mistakes_about_series_of_linux(layout: Layout, steps: str, words: str) -> None:
    write_series(layout, steps)
    with pytest.raises(UserError, match=words):
        load_recipe(layout)


def test_the_projects_own_series_has_the_same_variants_on_every_linux() -> None:
    default, bases = load_bases(Layout())
    assert default in bases
    for linux in bases:
        recipe = load_recipe(layout_for(linux))
        assert {"stock", "shard", "broken-store"} <= {variant.name for variant in recipe.variants}


def test_files_of_the_project_have_the_texts_that_steps_replace() -> None:
    _, bases = load_bases(Layout())
    for layout in map(layout_for, bases):
        recipe = load_recipe(layout)
        for variant in recipe.variants:
            files: dict[str, str] = {}
            for step in recipe.steps_of(variant):
                files |= {path: (layout.project / source).read_text() for source, path in step.copy}
                overlay = layout.inputs / "overlay"
                files |= {path: (overlay / path).read_text() for path in step.overlay}
                for swap in step.replace:
                    assert files[swap.file].count(swap.text) == swap.sites, (variant.name, swap)
                    files[swap.file] = files[swap.file].replace(swap.text, swap.by)
