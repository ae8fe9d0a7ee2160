# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A build keeps make's output and counts files; a failed one gives the first error in one line."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fake_kernel import DATA, fake_program, make_fetched, write, write_series

from common.errors import UserError
from kernel.build.build import BuildRequest, build
from kernel.build.make import cache_counts, first_error, made_file
from kernel.layout import Layout


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    return make_fetched(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("  CC      kernel/sched/rt.o\n", "kernel/sched/rt.o"),
        ("  CC [M]  drivers/net/dummy.o\n", "drivers/net/dummy.o"),
        ("  VDSO2C  arch/x86/entry/vdso/vdso-image-64.c\n", "arch/x86/entry/vdso/vdso-image-64.c"),
        ("  SYSHDR  arch/x86/include/generated/a.h\n", "arch/x86/include/generated/a.h"),
        ("make[1]: Entering directory '/x'\n", None),
        ("kernel/sched/rt.c:1:2: error: x\n", None),
        ("In file included from ../kernel/sched/rt.c:1:\n", None),
    ],
)
def test_files_that_are_made(line: str, file: str | None) -> None:
    assert made_file(line) == file


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            "compile",
            "../kernel/sched/rt.c:12:2: error: implicit declaration of function 'shard_set'",
        ),
        ("link", "ld: kernel/sched/build_policy.o: in function `rt_pull': undefined reference"),
        (
            "interrupted",
            "make[2]: *** [../scripts/Makefile.build:229: kernel/sched/rt.o] Terminated",
        ),
    ],
)
def test_first_error_of_a_log(log: str, words: str) -> None:
    lines = (DATA / f"make-{log}.log").read_text(encoding="utf-8").splitlines(keepends=True)
    assert first_error(lines).startswith(words)


def test_no_output_at_all() -> None:
    assert first_error([]) == "it said nothing"


def test_ccache_counts() -> None:
    text = (DATA / "ccache-stats.log").read_text(encoding="utf-8")
    assert cache_counts(text) == (3, 2)


def test_build_from_series_to_image(layout: Layout) -> None:
    built = build(layout, BuildRequest("shard"))
    assert built.kernel.read_text(encoding="utf-8").startswith("CONFIG_TINY=y\nCONFIG_SMP=y\n")
    assert built.made.files == 2
    log = layout.log("shard-lab").read_text(encoding="utf-8")
    assert "LOCALVERSION=-shard" in log.splitlines()[0]
    assert "  CC      kernel/sched/rt.o" in log


def test_build_that_fails_names_the_first_error_and_the_log(layout: Layout) -> None:
    write(layout.inputs / "overlay/kernel/new.c", "")
    append = 'append = [{ file = "kernel/sched/rt.c", lines = ["broken"] }]'
    write_series(layout, f'[[step]]\nname = "01"\nchangelog = "changelog/01.txt"\n{append}\n')
    words = r"building shard-lab failed: kernel/sched/rt\.c:1:1: error: broken \(whole log: .*log\)"
    with pytest.raises(UserError, match=words) as caught:
        build(layout, BuildRequest("shard"))
    assert caught.value.status == 1


def test_missing_tool(layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "few"
    for name in ("make", "gcc", "ld", "bison", "perl", "ccache"):
        fake_program(programs, name, "exit 1")
    for name in ("find", "cp"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(programs))
    words = r"bc, flex not found: run 'scripts/bootstrap kernel' \(Debian's bc, flex\)"
    with pytest.raises(UserError, match=words) as caught:
        build(layout, BuildRequest("stock"))
    assert caught.value.status == 2


def test_a_tree_in_use_is_waited_for_aloud(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = Layout(tmp_path, tmp_path / "work")
    order = []

    def second() -> None:
        with layout.locked("shard"):
            order.append("second")

    waiter = threading.Thread(target=second)
    with layout.locked("shard"):
        assert not capsys.readouterr().err
        waiter.start()
        waiter.join(0.5)
        assert waiter.is_alive()
        order.append("first")
    waiter.join()
    assert order == ["first", "second"]
    assert capsys.readouterr().err == "waiting: another process uses work/state/shard.lock\n"
    with layout.locked("shard"):
        assert not capsys.readouterr().err
