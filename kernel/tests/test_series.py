# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The series has the same bytes every time, and `git am` gives the built tree."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_kernel import (
    BASE_FILES,
    LINUX,
    STEP,
    contents,
    make_fetched,
    write,
    write_other_base,
    write_series,
)

from common.errors import UserError
from kernel.layout import Layout
from kernel.series.changelog import message_of
from kernel.series.git import UNSIGNED, parse_person
from kernel.series.onto import current_commit, name_base
from kernel.series.series import Sender, Series, check_am, check_lines, check_steps, count_lines
from kernel.series.series import write_series as write_patches
from kernel.source.apply import apply
from kernel.source.base import fetch

SECOND = """
[[step]]
name = "02-more"
changelog = "changelog/02.txt"
remove = ["kernel/sched/cpupri.c"]
append = [{ file = "scripts/run.sh", lines = ["exit 0"] }]
"""


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    made = make_fetched(tmp_path, monkeypatch)
    write(made.inputs / "changelog/02.txt", "# a comment\n\nsched: more\n\nAnd why: \u00b5s.\n\n")
    write_series(made, STEP + SECOND)
    return made


def patches(series: Series) -> dict[str, str]:
    """The files of a series."""
    return {path.name: path.read_text(encoding="utf-8") for path in series.patches}


def test_one_patch_a_step(layout: Layout) -> None:
    sender = Sender(parse_person("A. Uthor <a@example>"), "LLM coccinelle")
    made = patches(write_patches(layout, sender=sender))
    assert list(made) == ["0001-lib-add-shard.patch", "0002-sched-more.patch"]
    second = made["0002-sched-more.patch"]
    tags = "Assisted-by: LLM coccinelle\nSigned-off-by: A. Uthor <a@example>\n"
    assert f"\nAnd why: \u00b5s.\n\n{tags}---\n" in second
    assert '\nFrom: "A. Uthor" <a@example>\n' in second
    second = patches(write_patches(layout))["0002-sched-more.patch"]
    assert "Subject: [PATCH 2/2] sched: more\n" in second
    assert "\nAnd why: \u00b5s.\n---\n" in second
    assert f"\nFrom: {UNSIGNED.signed}\n" in second
    assert "a comment" not in second
    assert "deleted file mode 100644" in second
    assert "new mode" not in second


def test_same_bytes_in_another_work_folder(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = patches(write_patches(layout))
    # Neither the user's settings nor the time zone may change the patches.
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(tmp_path / "home/.gitconfig", "[diff]\nnoprefix = true\n[format]\nsignature = hello\n")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    other = Layout(layout.project, tmp_path / "other")
    fetch(other)
    assert patches(write_patches(other)) == first


def test_git_am_gives_the_built_tree(layout: Layout) -> None:
    made = write_patches(layout)
    apply(layout, "shard")
    # Two files of core and one of the overlay were added; one was removed.
    assert check_am(layout, made) == len(BASE_FILES) + 3 - 1
    assert not layout.source("am").exists()


@pytest.mark.parametrize(
    ("patch", "old", "new", "words"),
    [
        (0, "+int sbm;", "+int sbn;", "makes trees that differ from those of the steps"),
        (1, "-int cpupri;", "-int cpupro;", "git am of the series: "),
    ],
)
def test_git_am_notices_a_patch_that_was_changed(
    layout: Layout, patch: int, old: str, new: str, words: str
) -> None:
    made = write_patches(layout)
    path = made.patches[patch]
    write(path, path.read_text(encoding="utf-8").replace(old, new))
    with pytest.raises(UserError, match=words):
        check_am(layout, made)
    assert not layout.source("am").exists()


def test_git_am_notices_a_built_tree_that_differs(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_patches(layout)
    apply(layout, "shard")
    (layout.source("shard") / "scripts/extra.sh").write_text("x\n", encoding="ascii")
    with pytest.raises(UserError, match=r"scripts/extra\.sh differs from the one in"):
        check_am(layout, made)


def test_each_step_is_compiled(layout: Layout) -> None:
    results = list(check_steps(layout, "lab"))
    assert [name for name, _ in results] == ["01-shard", "02-more"]
    assert all(made.files == 2 for _, made in results)
    broken = SECOND.replace("scripts/run.sh", "kernel/sched/rt.c").replace("exit 0", "broken")
    write_series(layout, STEP + broken)
    with pytest.raises(UserError, match="step 02-more does not build: building steps-lab failed"):
        list(check_steps(layout, "lab"))


NOTHING = '[[step]]\nname = "03"\nchangelog = "changelog/02.txt"\n'


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (STEP + SECOND + NOTHING, "step 03 changes nothing"),
        (NOTHING, "step 03 changes nothing"),
        ("", r"series\.toml has no step yet"),
    ],
)
def test_steps_of_nothing(layout: Layout, steps: str, words: str) -> None:
    write_series(layout, steps)
    with pytest.raises(UserError, match=words):
        write_patches(layout)


def test_missing_changelog_leaves_the_old_series(layout: Layout) -> None:
    before = patches(write_patches(layout))
    (layout.inputs / "changelog/02.txt").unlink()
    with pytest.raises(UserError, match=r"step 02-more: cannot read kernel/changelog/02\.txt"):
        write_patches(layout)
    kept = layout.work / "series"
    assert {path.name for path in kept.iterdir()} == set(before)


def test_folder_with_other_files_is_refused(layout: Layout, tmp_path: Path) -> None:
    for name, text in (("notes.txt", "mine\n"), ("0001-mine.patch", f"From {'0' * 40} Mon\n")):
        mine = write(tmp_path / name / name, text)
        with pytest.raises(UserError, match=f"{name}, which this command did not write"):
            write_patches(layout, mine.parent)
        assert mine.read_text(encoding="utf-8") == text
    # That is known before the long work.
    assert not (layout.work / "series.git").exists()
    with pytest.raises(UserError, match="it is not a folder"):
        write_patches(layout, mine)


def test_patches_that_are_no_longer_there_go(layout: Layout, tmp_path: Path) -> None:
    write_patches(layout, tmp_path / "out")
    write_series(layout, STEP)
    made = write_patches(layout, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [made.patches[0].name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "needs a subject, an empty line and a reason"),
        ("subject\n", "needs a subject"),
        ("subject\nreason\nmore\n", "needs a subject"),
        ("s\n\nr\n\nSigned-off-by: me\n", "only --signoff adds"),
        ("s" * 76 + "\n\nr\n", "the subject has 76 characters, 75 at most"),
    ],
)
def test_messages_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        message_of(text, "changelog/x.txt", ())


TEST_STEP = """
[[step]]
name = "03-checks"
test = true
changelog = "changelog/03.txt"
append = [{ file = "scripts/run.sh", lines = ["exit 1", "exit 2"] }]
"""


def test_steps_for_tests_come_after_the_series(layout: Layout) -> None:
    write(layout.inputs / "changelog/03.txt", "sched: checks\n\nWhy.\n")
    write_series(layout, STEP + SECOND + TEST_STEP)
    made = write_patches(layout)
    ((_, tests),) = made.parts[1:]
    assert [f"{path.parent.name}/{path.name}" for path in tests] == [
        "series-test/0001-sched-checks.patch"
    ]
    assert len(made.patches) == 2
    apply(layout, "shard")
    assert check_am(layout, made) == len(BASE_FILES) + 3 - 1
    write_series(layout, STEP + SECOND)
    assert len(write_patches(layout).parts) == 1
    write_series(layout, STEP + TEST_STEP + SECOND)
    with pytest.raises(
        UserError, match="step 02-more of the series must come before the steps for tests"
    ):
        write_patches(layout)


def test_another_part_has_a_folder_of_its_own(layout: Layout) -> None:
    write(layout.inputs / "changelog/03.txt", "sched: checks\n\nWhy.\n")
    write(layout.inputs / "changelog/cover.txt", "sched: Shards\n\nWhy.\n")
    limits = 'cover = "changelog/cover.txt"\n[most_lines]\nrt = 99\nidle = 99\n'
    steps = [STEP, SECOND]
    for i, part in enumerate(("rt", "idle")):
        steps[i] = steps[i].replace("[[step]]\n", f'[[step]]\npart = "{part}"\n', 1)
    write_series(layout, limits + "".join(steps) + TEST_STEP)
    made = write_patches(layout)
    assert [[path.parent.name for path in patches] for _, patches in made.parts] == [
        ["series"], ["series-idle"], ["series-test"],
    ]  # fmt: skip
    assert [path.name for path in made.all] == [
        "0001-lib-add-shard.patch", "0001-sched-more.patch", "0001-sched-checks.patch",
    ]  # fmt: skip
    letter = (layout.work / "series/0000-cover-letter.patch").read_text(encoding="utf-8")
    assert "schedshard (1):\n  lib: add shard\n" in letter
    assert not (layout.work / "series-idle/0000-cover-letter.patch").exists()
    apply(layout, "shard")
    check_am(layout, made)


def _parts(layout: Layout, first: str, second: str) -> str:
    write(layout.inputs / "changelog/03.txt", "sched: checks\n\nWhy.\n")
    parts = zip((STEP, SECOND), (first, second), strict=True)
    named = (f'[[step]]\npart = "{part}"' + step.split("[[step]]")[1] for step, part in parts)
    return "".join(named)


def test_folder_of_a_part_that_was_renamed_goes(layout: Layout, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_series(layout, _parts(layout, "rt", "idle") + TEST_STEP)
    write_patches(layout, out)
    shutil.copytree(tmp_path / "out-idle", tmp_path / "out-v1")
    write_series(layout, _parts(layout, "rt", "nohz") + TEST_STEP)
    write_patches(layout, out)
    assert {path.name for path in tmp_path.glob("out*")} == {
        "out", "out-nohz", "out-test", "out-v1",
    }  # fmt: skip
    # A folder with a file of the user stays, and so do all others.
    notes = write(tmp_path / "out-nohz/notes.txt", "mine\n")
    before = contents(tmp_path)
    write_series(layout, _parts(layout, "rt", "rt"))
    with pytest.raises(UserError, match=r"out-nohz contains notes\.txt"):
        write_patches(layout, out)
    assert _outs(contents(tmp_path)) == _outs(before)
    notes.unlink()
    shutil.rmtree(out)
    write_patches(layout, out)
    assert {path.name for path in tmp_path.glob("out*")} == {"out", "out-v1"}
    assert len([*out.iterdir()]) == 2


def _outs(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.lstrip(".").startswith("out")}


def test_patches_that_somebody_edited_stay(layout: Layout, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first, _ = write_patches(layout, out).patches
    first.write_text(first.read_text("utf-8") + "note\n", encoding="utf-8")
    before = contents(out)
    with pytest.raises(UserError, match=f"{first.name}, which this command did not write"):
        write_patches(layout, out)
    assert contents(out) == before


def test_file_that_came_during_the_work_stays(layout: Layout, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_patches(layout, out)
    before = contents(out)
    with pytest.raises(UserError, match=r"notes\.txt, which this command did not write"):
        write_patches(layout, out, lambda _: write(out / "notes.txt", "mine\n"))
    assert contents(out) == {**before, "notes.txt": b"mine\n"}
    assert not [*tmp_path.glob(".out.*/*")]


def test_folders_are_put_back_if_one_cannot_be_replaced(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_series(layout, _parts(layout, "rt", "idle"))
    write_patches(layout, out)
    before = _outs(contents(tmp_path))
    write(layout.inputs / "changelog/01.txt", "lib: add shard\n\nAnother reason.\n")
    write_series(layout, _parts(layout, "rt", "nohz"))
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if target == tmp_path / "out-nohz":
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises(UserError, match=r"cannot write .*out: no space left"):
        write_patches(layout, out)
    assert _outs(contents(tmp_path)) == before
    monkeypatch.undo()


@pytest.mark.parametrize("text", ["{", "[]", "[1]", '{"out": 1}', '{"a/b": {}}', "\xff"])
def test_damaged_list_is_reported_before_the_work(
    layout: Layout, tmp_path: Path, text: str
) -> None:
    out = tmp_path / "out"
    write_patches(layout, out)
    before = contents(out)
    (tmp_path / ".out.written.json").write_bytes(text.encode("latin-1"))
    shutil.rmtree(layout.work / "series.git")
    with pytest.raises(UserError, match=r"\.out\.written\.json is damaged: remove it and "):
        write_patches(layout, out)
    assert contents(out) == before
    assert not (layout.work / "series.git").exists()


@pytest.mark.parametrize("out", [".", "..", "/", "../.."])
def test_folder_without_a_name(layout: Layout, out: str) -> None:
    write_series(layout, _parts(layout, "rt", "idle"))
    with pytest.raises(UserError, match=f"cannot write {out}: give the folder's name"):
        write_patches(layout, Path(out))


def test_missing_program_is_reported_before_the_long_work(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = '[[step.edit]]\ncocci = "x.cocci"\nfile = "kernel/sched/rt.c"\nsites = 1\n'
    write_series(layout, STEP + edit)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "spatch" else name)
    with pytest.raises(UserError, match="spatch not found"):
        write_patches(layout)
    assert not (layout.work / "series.git").exists()


def test_letter_before_the_patches(layout: Layout) -> None:
    text = "# a comment\nsched: Shards\n\nWhy: \u00b5s.\n\n  table  1\n"
    write(layout.inputs / "changelog/cover.txt", text)
    write_series(layout, 'cover = "changelog/cover.txt"\n' + STEP + SECOND)
    made = write_patches(layout)
    letter = (layout.work / "series/0000-cover-letter.patch").read_text(encoding="utf-8")
    assert "Subject: [PATCH 0/2] sched: Shards\n" in letter
    assert "\nWhy: \u00b5s.\n\n  table  1\n" in letter
    assert "schedshard (2):\n  lib: add shard\n  sched: more\n" in letter
    assert "a comment" not in letter
    # It is not a patch, and has the same contents at any time.
    assert list(patches(made)) == ["0001-lib-add-shard.patch", "0002-sched-more.patch"]
    apply(layout, "shard")
    check_am(layout, made)
    write_patches(layout)
    assert (layout.work / "series/0000-cover-letter.patch").read_text("utf-8") == letter
    write(layout.inputs / "changelog/cover.txt", "sched: Shards\n")
    with pytest.raises(UserError, match="needs a subject, an empty line and a reason"):
        write_patches(layout)


def test_lines_are_counted_and_limited(layout: Layout) -> None:
    write(layout.inputs / "changelog/03.txt", "sched: checks\n\n-- no line\n+ nor this\n")
    write_series(
        layout,
        "[most_lines]\nsched = 1\n"
        + (STEP + SECOND).replace("changelog =", 'part = "sched"\nchangelog =')
        + TEST_STEP,
    )
    lines = count_lines(write_patches(layout))
    more, checks = lines[1:]
    old = len(BASE_FILES["kernel/sched/cpupri.c"].splitlines())
    assert (more.step.name, more.added, more.removed) == ("02-more", 1, old)
    assert (checks.step.test, checks.added, checks.removed) == (True, 2, 0)
    added = lines[0].added + 1
    with pytest.raises(
        UserError, match=f"part 'sched' of the series adds {added} lines, more than 1"
    ):
        check_lines(layout, lines)
    # The limit is for the Linux that the series is sent for.
    check_lines(replace(layout, linux="6.12"), lines)
    write_series(layout, "[most_lines]\nsched = 99\n" + STEP)
    with pytest.raises(UserError, match="'most_lines' has no part ''"):
        write_patches(layout)


def _git_tree(folder: Path, files: dict[str, str]) -> str:
    """A git tree with these files; returns its commit."""
    for name, text in files.items():
        write(folder / name, text)
    git = ("git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@example")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_first_mail_names_the_commit_that_the_series_applies_to(
    layout: Layout, tmp_path: Path
) -> None:
    tree = tmp_path / "linux"
    commit = _git_tree(tree, {**BASE_FILES, "another": "x\n"})
    # Only the commit counts.
    write(tree / "kernel/sched/cpupri.c", "changed\n")
    assert current_commit(tree) == commit
    made = write_patches(layout, finish=lambda folder: name_base(folder, tree, commit))
    mail = made.patches[0].read_text(encoding="utf-8")
    assert mail.endswith(f"\n\nbase-commit: {commit}\n")
    # The next call knows the mail as its own.
    again = write_patches(layout, finish=lambda folder: name_base(folder, tree, commit))
    assert again.patches[0].read_text(encoding="utf-8") == mail
    # git am takes it still.
    apply(layout, "shard")
    assert check_am(layout, made) == len(BASE_FILES) + 3 - 1


def test_a_tree_that_the_series_does_not_apply_to(layout: Layout, tmp_path: Path) -> None:
    before = patches(write_patches(layout))
    tree = tmp_path / "linux"
    commit = _git_tree(tree, {**BASE_FILES, "kernel/sched/cpupri.c": "int other;\n"})
    with pytest.raises(UserError, match=f"does not apply to {commit[:12]} of .*cpupri"):
        write_patches(layout, finish=lambda folder: name_base(folder, tree, commit))
    assert contents(layout.work / "series") == {
        name: text.encode() for name, text in before.items()
    }
    with pytest.raises(UserError, match=r"--onto .*nowhere: no such folder"):
        current_commit(tmp_path / "nowhere")
    (tmp_path / "plain").mkdir()
    with pytest.raises(UserError, match=r"--onto .*plain: .*not a git repository"):
        current_commit(tmp_path / "plain")


SEND = """
[[send]]
name = "b"
cover = "changelog/cover.txt"
steps = ["own", "02-more"]
[[send.step]]
name = "own"
changelog = "changelog/02.txt"
append = [{ file = "scripts/run.sh", lines = ["# own"] }]
"""


def test_a_send_has_some_steps_and_its_own(layout: Layout) -> None:
    write(layout.inputs / "changelog/cover.txt", "sched: b\n\nAlone.\n")
    write_series(layout, STEP + SECOND + SEND)
    whole = write_patches(layout)
    assert len(whole.patches) == 2
    part = replace(layout, send="b")
    made = write_patches(part)
    assert [commit.step.name for commit in made.commits] == ["own", "02-more"]
    assert made.patches[0].parent == layout.work / "send-b"
    assert "Alone." in (layout.work / "send-b/0000-cover-letter.patch").read_text()
    assert "+# own\n" in made.patches[0].read_text()
    check_am(part, made)  # against the tree of the variant send-b
    assert (layout.source("send-b") / "scripts/run.sh").read_text().endswith("# own\nexit 0\n")
    assert patches(write_patches(layout)) == patches(whole)


def test_a_send_for_another_linux(layout: Layout) -> None:
    write_other_base(layout)
    text = SEND.replace('cover = "changelog/cover.txt"', 'linux = "2.1"')
    write_series(layout, STEP + SECOND + text)
    with pytest.raises(UserError, match="send 'b'"):
        write_patches(replace(layout, send="b"))
    write_series(layout, STEP + SECOND + text.replace("2.1", LINUX))
    assert len(write_patches(replace(layout, send="b")).patches) == 2  # and no cover letter


def test_a_send_that_is_not_there(layout: Layout) -> None:
    write_series(layout, STEP + SECOND + SEND)
    with pytest.raises(UserError, match="send 'c'"):
        write_patches(replace(layout, send="c"))
