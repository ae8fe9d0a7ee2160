# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The trees of variants have the right content, and survive steps that fail or are interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_kernel import (
    BASE_FILES,
    LINUX,
    RULE,
    STEP,
    VARIANTS,
    contents,
    make_fetched,
    needs_spatch,
    times,
    write,
    write_series,
)

from common.errors import UserError
from kernel.layout import Layout
from kernel.source import tree as tree_module
from kernel.source.apply import apply

BASE = {name: text.encode() for name, text in BASE_FILES.items()}


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    return make_fetched(tmp_path, monkeypatch)


def edit(sites: int, cocci: str = "set.cocci", file: str = "kernel/sched/rt.c") -> str:
    """A table of series.toml that makes a step of one edit."""
    return f"""
[[step]]
name = "02-edit"
changelog = "changelog/01.txt"
[[step.edit]]
cocci = "{cocci}"
file = "{file}"
sites = {sites}
"""


def refused(layout: Layout, pattern: str, variant: str = "shard") -> None:
    """The stage fails with one line and these words, and no tree differs from before."""
    trees = layout.work / "src"
    before = contents(trees), times(trees)
    with pytest.raises(UserError, match=pattern) as caught:
        apply(layout, variant)
    assert caught.value.status == 2
    assert "\n" not in str(caught.value)
    assert (contents(trees), times(trees)) == before


def test_stock_is_the_base(layout: Layout) -> None:
    assert apply(layout, "stock").differing == 0
    assert contents(layout.source("stock")) == BASE


def test_core_overlay_and_append(layout: Layout) -> None:
    done = apply(layout, "shard")
    assert (done.differing, done.changed) == (4, 4)
    assert contents(layout.source("shard")) == {
        **BASE,
        "include/linux/sbm.h": b"struct sbm;\n",
        "lib/schedshard/sbm.c": b"int sbm;\n",
        "lib/schedshard/Makefile": b"obj-y += sbm.o\n",
        "kernel/sched/Makefile": b"obj-y += rt.o cpupri.o\nobj-y += shard.o\n",
    }
    assert contents(layout.base) == BASE
    assert (layout.source("shard") / "scripts/run.sh").stat().st_mode & 0o777 == 0o755


def test_only_changed_files_get_a_new_time(layout: Layout) -> None:
    apply(layout, "shard")
    before = times(layout.source("shard"))
    assert apply(layout, "shard").changed == 0
    assert times(layout.source("shard")) == before
    write(layout.project / "core/sbm.c", "int sbm2;\n")
    assert apply(layout, "shard").changed == 1
    after = times(layout.source("shard"))
    assert {path for path in after if after[path] != before[path]} == {"lib/schedshard/sbm.c"}


def test_a_file_that_goes_back_to_the_base_is_newer_than_before(layout: Layout) -> None:
    apply(layout, "shard")
    before = times(layout.source("shard"))
    write_series(layout, "", VARIANTS)
    apply(layout, "shard")
    assert contents(layout.source("shard")) == BASE
    assert not (layout.source("shard") / "lib").exists()
    after = times(layout.source("shard"))
    # The base's own time is years older: make would keep the object of the changed file.
    assert after["kernel/sched/Makefile"] >= before["kernel/sched/Makefile"]
    assert after["kernel/sched/rt.c"] == before["kernel/sched/rt.c"]


def test_remove_and_bring_back(layout: Layout) -> None:
    step = 'remove = ["kernel/sched/cpupri.c"]\n'
    write_series(layout, STEP + step)
    apply(layout, "shard")
    assert not (layout.source("shard") / "kernel/sched/cpupri.c").exists()
    write_series(layout)
    apply(layout, "shard")
    assert (layout.source("shard") / "kernel/sched/cpupri.c").read_bytes() == b"int cpupri;\n"
    # The tree has a copy, not a hard link: touching the copy leaves the base's timestamp alone.
    assert (layout.base / "kernel/sched/cpupri.c").stat().st_nlink == 1


def test_a_changed_file_in_the_tree_is_put_right(layout: Layout) -> None:
    apply(layout, "shard")
    path = layout.source("shard") / "lib/schedshard/sbm.c"
    path.write_text("int mine;\n", encoding="ascii")
    assert apply(layout, "shard").changed == 1
    assert path.read_bytes() == b"int sbm;\n"


def test_an_interrupted_update_is_finished(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(layout, "shard")
    write(layout.project / "core/sbm.h", "struct sbm2;\n")
    write(layout.inputs / "overlay/lib/schedshard/new.c", "int new;\n")
    write_series(layout, STEP.replace('"]\nappend', '", "lib/schedshard/new.c"]\nappend'))
    real = tree_module._replace

    def stop_at_second(path: Path, content: bytes, mode: int) -> None:
        if path.name == "new.c":
            real(path, content, mode)
            raise KeyboardInterrupt
        real(path, content, mode)

    monkeypatch.setattr(tree_module, "_replace", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        apply(layout, "shard")
    monkeypatch.setattr(tree_module, "_replace", real)
    # Another series runs before the finished one: the tree must not keep the killed run's files.
    write_series(layout, "", VARIANTS)
    apply(layout, "shard")
    assert contents(layout.source("shard")) == BASE


def test_an_interrupted_creation_leaves_no_tree(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, mode: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tree_module, "_replace", full)
    refused(layout, "no space left on device")


def test_overlay_that_would_replace_a_file_of_the_base(layout: Layout) -> None:
    write(layout.inputs / "overlay/kernel/sched/rt.c", "int rt;\n")
    write_series(layout, STEP.replace("lib/schedshard/Makefile", "kernel/sched/rt.c"))
    refused(layout, r"would replace kernel/sched/rt\.c, which is in the kernel source")


CREDITS = "/*\n * set.c\n * Copyright (C) 1 N.\n *\n * Author: A\n"


@pytest.mark.parametrize(
    ("base", "ours", "made"),
    [
        ("// {}: A\nint a;\n", "// {}: B\nint b;\n", "// {}: A\nint b;\n"),
        ("// {}: A\n/* Author: a */\n", "// {}: B\n/*\n * b\n */\n", "// {}: A\n/*\n * b\n */\n"),
        (
            f"// {{}}: A\n{CREDITS} *\n * It sets.\n */\n",
            "// {}: B\n/*\n * It resets.\n */\n",
            f"// {{}}: A\n{CREDITS} *\n * It resets.\n */\n",
        ),
        (
            f"// {{}}: A\n{CREDITS} */\n",
            "// {}: B\nint b;\n",
            f"// {{}}: A\n{CREDITS} */\nint b;\n",
        ),
    ],
)
def test_licence_and_credits_of_a_replaced_file_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, ours: str, made: str
) -> None:
    tag = "SPDX-License-Identifier"
    monkeypatch.setitem(BASE_FILES, "kernel/sched/cpupri.c", base.format(tag))
    layout = make_fetched(tmp_path, monkeypatch)
    write(layout.inputs / "overlay/kernel/sched/cpupri.c", ours.format(tag))
    step = STEP.replace("lib/schedshard/Makefile", "kernel/sched/cpupri.c")
    write_series(layout, step.replace("append =", 'remove = ["kernel/sched/cpupri.c"]\nappend ='))
    apply(layout, "shard")
    path = layout.source("shard") / "kernel/sched/cpupri.c"
    assert path.read_text(encoding="utf-8") == made.format(tag)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("core/sbm.c", "core/sbn.c", r"cannot read core/sbn\.c"),
        ("lib/schedshard/Makefile", "lib/none.c", r"cannot read kernel/overlay/lib/none\.c"),
        (
            "kernel/sched/Makefile",
            "lib/Makefile",
            "appends to lib/Makefile, which the base does not contain",
        ),
        ("obj-y += shard.o", "obj-y += rt.o cpupri.o", "already contains the lines"),
        ("append =", 'remove = ["kernel/none.c"]\nappend =', r"removes kernel/none\.c, which"),
    ],
)
def test_step_that_does_not_fit(layout: Layout, old: str, new: str, words: str) -> None:
    write_series(layout, STEP.replace(old, new))
    refused(layout, f"step 01-shard: .*{words}")


@needs_spatch
def test_semantic_patch(layout: Layout) -> None:
    write(layout.inputs / "cocci/set.cocci", RULE)
    write_series(layout, STEP + edit(sites=1))
    apply(layout, "shard")
    text = (layout.source("shard") / "kernel/sched/rt.c").read_text(encoding="utf-8")
    assert text == BASE_FILES["kernel/sched/rt.c"].replace("\tset_overload(", "\tshard_set(")
    assert contents(layout.base) == BASE


@needs_spatch
def test_the_result_of_a_rule_is_tidied(layout: Layout) -> None:
    write(layout.inputs / "cocci/set.cocci", RULE)
    write_series(layout, STEP + edit(sites=1) + 'tidy = { "\\tshard_set(" = "\\t\\tshard_set(" }\n')
    apply(layout, "shard")
    text = (layout.source("shard") / "kernel/sched/rt.c").read_text(encoding="utf-8")
    assert "\t\tshard_set(" in text
    write_series(layout, STEP + edit(sites=1) + 'tidy = { "not there" = "" }\n')
    refused(layout, r"set\.cocci on .*rt\.c: the result has 'not there' 0 times, 1 expected")


INCREASE = "@@\nexpression x;\n@@\n- atomic_inc(x)\n+ inc(x)\n"


@needs_spatch
@pytest.mark.parametrize(
    ("rule", "sites", "words"),
    [
        (RULE, 2, "changes 1 places, 2 expected: the rule matches too little"),
        (RULE.replace("set_overload", "unset"), 1, "changes 0 places, 1 expected"),
        (RULE + INCREASE, 1, "changes 2 places, 1 expected: the rule matches too much"),
    ],
)
def test_rule_that_matches_another_number(
    layout: Layout, rule: str, sites: int, words: str
) -> None:
    write(layout.inputs / "cocci/set.cocci", rule)
    write_series(layout, STEP + edit(sites))
    refused(layout, rf"set\.cocci on .*rt\.c {words}")


@needs_spatch
def test_rule_that_is_wrong_or_missing(layout: Layout) -> None:
    write_series(layout, STEP + edit(sites=1))
    refused(layout, r"step 02-edit: kernel/cocci/set\.cocci does not exist")
    write(layout.inputs / "cocci/set.cocci", "@@\nexpresion rq;\n@@\n- f(rq)\n")
    refused(layout, r"step 02-edit: kernel/cocci/set\.cocci on kernel/sched/rt\.c: ")


@needs_spatch
def test_a_later_step_that_fails_leaves_the_tree_as_it_was(layout: Layout) -> None:
    write(layout.inputs / "cocci/set.cocci", RULE)
    apply(layout, "shard")
    write(layout.project / "core/sbm.c", "int other;\n")
    write_series(layout, STEP + edit(sites=7))
    refused(layout, "changes 1 places, 7 expected")


@needs_spatch
def test_outcome_of_a_rule_is_remembered_by_content(layout: Layout) -> None:
    rule = write(layout.inputs / "cocci/set.cocci", RULE)
    write_series(layout, STEP + edit(sites=1))
    apply(layout, "shard")
    cached = list((layout.work / "cache/spatch").iterdir())
    assert len(cached) == 1
    rule.write_text(RULE.replace("shard_set", "other_set"), encoding="ascii")
    apply(layout, "shard")
    text = (layout.source("shard") / "kernel/sched/rt.c").read_text(encoding="utf-8")
    assert "other_set" in text
    assert len(list((layout.work / "cache/spatch").iterdir())) == 2


def hidden(layout: Layout, texts: str) -> None:
    """Let texts of rt.c be hidden from spatch."""
    path = layout.inputs / "base.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}hide = [{texts}]\n", encoding="utf-8")


@needs_spatch
def test_what_spatch_cannot_parse_is_hidden_and_stays(layout: Layout) -> None:
    rule = "@@\n@@\n struct rq {\n \t...\n-\tint wide;\n+\tlong wide;\n \t...\n };\n"
    declared = "struct rq {\n\tint\todd;\n\tint wide;\n\tend_of_fields\n} __one __two;\n"
    write(layout.inputs / "overlay/kernel/sched/odd.h", declared)
    write(layout.inputs / "cocci/odd.cocci", rule)
    step = STEP.replace("lib/schedshard/Makefile", "kernel/sched/odd.h")
    write_series(layout, step + edit(1, "odd.cocci", "kernel/sched/odd.h"))
    refused(layout, r"changes 0 places, 1 expected|odd\.cocci on kernel/sched/odd\.h: ")
    file = '{ file = "kernel/sched/odd.h", text = "%s" }'
    hidden(layout, f"{file % 'end_of_fields'}, {file % '__one'}, {file % '__two'}")
    apply(layout, "shard")
    text = (layout.source("shard") / "kernel/sched/odd.h").read_text(encoding="utf-8")
    assert text == declared.replace("int wide", "long wide")


@needs_spatch
def test_nothing_is_left_of_what_a_rule_removes(layout: Layout) -> None:
    text = (
        "#ifdef CONFIG_NONE\n\n#endif\n"
        "static void gone(int x)\n{\n#ifdef CONFIG_A\n\tint a, b;\n\n\tif (!x)\n\t\tgoto out;\n"
        "\ta = b = x;\n\treturn;\nout:\n#endif\n\tuse(x);\n}\n"
        "\nstatic void stays(void)\n{\n#ifdef CONFIG_A\n\tstart(1);\n#endif\n}\n"
    )
    rule = "@@\n@@\n-static void gone(...)\n-{\n-\t...\n-}\n\n@@\n@@\n-start(1);\n"
    write(layout.inputs / "overlay/kernel/sched/odd.h", text)
    write(layout.inputs / "cocci/odd.cocci", rule)
    step = STEP.replace("lib/schedshard/Makefile", "kernel/sched/odd.h")
    write_series(layout, step + edit(2, "odd.cocci", "kernel/sched/odd.h"))
    apply(layout, "shard")
    after = (layout.source("shard") / "kernel/sched/odd.h").read_text(encoding="utf-8")
    # An empty #ifdef that the file had before stays.
    assert after.startswith("#ifdef CONFIG_NONE\n\n#endif\n")
    assert after.count("#") == 2
    assert "int;" not in after
    assert "static void stays(void)\n{\n}\n" in after
    # Leftovers in a cache entry that another version wrote do not reach the tree.
    (cached,) = (layout.work / "cache/spatch").iterdir()
    cached.write_bytes(after.encode() + b"int;\n")
    apply(layout, "shard")
    assert (layout.source("shard") / "kernel/sched/odd.h").read_text(encoding="utf-8") == after


@needs_spatch
def test_a_rule_must_leave_what_is_hidden(layout: Layout) -> None:
    write(layout.inputs / "cocci/set.cocci", "@@\n@@\n-static void set_overload(...) { ... }\n")
    write_series(layout, STEP + edit(1))
    hidden(layout, '{ file = "kernel/sched/rt.c", text = "atomic_inc(&rq->rd->rto_count);" }')
    refused(layout, r"the rule removes 'atomic_inc\(.*', which is hidden from spatch")


def replacing(file: str, sites: int) -> str:
    """Tables that replace a text for a series of Linux."""
    return (
        f'[[step.on]]\nlinux = "{LINUX}"\n'
        f'replace = [{{ file = "{file}", text = "sbm", by = "abc", sites = {sites} }}]\n'
    )


def test_a_file_grows_over_two_steps(layout: Layout) -> None:
    last = (
        'name = "02-last"\nchangelog = "changelog/01.txt"\noverlay = ["lib/schedshard/Makefile"]\n'
    )
    swap = 'replace = [{ file = "lib/schedshard/Makefile", text = "sbm", by = "abc", sites = 1 }]\n'
    first = '[[variant]]\nname = "first"\nup_to = "01-shard"\n'
    write_series(layout, f"{STEP}{swap}[[step]]\n{last}", VARIANTS + first)
    for variant, text in (("first", "obj-y += abc.o\n"), ("shard", "obj-y += sbm.o\n")):
        apply(layout, variant)
        made = layout.source(variant) / "lib/schedshard/Makefile"
        assert made.read_text(encoding="ascii") == text


@pytest.mark.parametrize(
    ("file", "sites", "words"),
    [
        ("lib/schedshard/Makefile", 2, "has 'sbm' 1 times, 2 expected"),
        ("kernel/sched/rt.c", 1, r"rt\.c is in the base: change it by a semantic patch"),
        (
            "kernel/sched/none.c",
            1,
            r"replaces 'sbm' in kernel/sched/none\.c, which the base does not contain",
        ),
    ],
)
def test_texts_that_are_not_replaced(layout: Layout, file: str, sites: int, words: str) -> None:
    apply(layout, "shard")
    write_series(layout, STEP + replacing(file, sites))
    refused(layout, words)
