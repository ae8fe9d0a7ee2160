# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/commits.py finds what is wrong with new commits, and leaves published ones alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import commits
import pytest

from common.paths import ROOT

SIGNED = "Signed-off-by: A Name <a@example.org>"
GOOD = f"core: walk: less work\n\nA sparse set took 115 instructions; now 102.\n\n{SIGNED}"
# Git reads neither the user's settings nor variables that name another repository.
ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(root: Path, *arguments: str) -> None:
    """Run git in a folder, with a made-up author."""
    who = ["-c", "user.name=A Name", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True, env=ENV)


def repository(root: Path, *messages: str) -> Path:
    """Make a branch with these messages, on a branch main whose one commit breaks the rules."""
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "old and wrong; twice")
    git(root, "checkout", "-q", "-b", "work")
    for message in messages:
        git(root, "commit", "-q", "--allow-empty", "-m", message)
    return root


def check(root: Path, *arguments: str, path: str | None = None) -> tuple[int, str]:
    """Run the check; return its status and what it printed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "commits.py"), *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={**ENV, "GIT_CEILING_DIRECTORIES": str(root.parent)} | ({"PATH": path} if path else {}),
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_good_commits_on_an_old_one(tmp_path: Path) -> None:
    assert check(repository(tmp_path, GOOD, GOOD)) == (0, "new commits: 2, nothing found\n")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (GOOD.replace("less work", "x" * 64), "its subject has 76 characters, 75 at most"),
        (GOOD.replace("core: walk: ", ""), 'its subject does not begin with a part, such as "cor'),
        (GOOD.replace("less", "half; more"), 'its subject has a ";": one thing per commit'),
        (f"core: walk: less work\n\n{SIGNED}", "it has no body that says why"),
        (GOOD.replace(SIGNED, ""), "it is not signed off (git commit -s)"),
        (GOOD.replace(SIGNED, "Signed-off-by: nobody"), "it is not signed off (git commit -s)"),
    ],
)
def test_a_bad_commit_is_named(tmp_path: Path, message: str, said: str) -> None:
    status, text = check(repository(tmp_path, GOOD, message, GOOD))
    assert status == 1
    assert len(text.splitlines()) == 1
    assert f"({message.partition(chr(10))[0]}): {said}" in text


def test_a_subject_of_75_characters_passes(tmp_path: Path) -> None:
    message = GOOD.replace("less work", "x" * 63)
    assert check(repository(tmp_path, message)) == (0, "new commits: 1, nothing found\n")


def test_published_commits_and_merges_stay_as_they_are(tmp_path: Path) -> None:
    root = repository(tmp_path, GOOD)
    git(root, "checkout", "-q", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "wrong too")
    git(root, "checkout", "-q", "work")
    git(root, "merge", "-q", "--no-edit", "main")
    assert check(root) == (0, "new commits: 1, nothing found\n")
    assert check(root, "main~1")[0] == 1


def test_nothing_to_compare_with(tmp_path: Path) -> None:
    """An archive without history, a clone of a detached commit, a base that does not exist."""
    assert check(tmp_path) == (0, "no commits here: nothing to check\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    without = (0, "no commits here: nothing to check\n")
    assert check(tmp_path, path=str(empty)) == without
    root = repository(empty, GOOD)
    git(root, "branch", "-q", "-D", "main")
    said = "no @{upstream}, origin/main, main to compare with: nothing to check\n"
    assert check(root) == (0, said)
    assert check(root, "nowhere") == (2, "no nowhere to compare with: nothing to check\n")


def test_the_branch_is_compared_with_its_upstream(tmp_path: Path) -> None:
    root = repository(tmp_path, "wrong", GOOD)
    git(root, "branch", "published", "HEAD~1")
    git(root, "branch", "-q", "--set-upstream-to", "published")
    assert check(root) == (0, "new commits: 1, nothing found\n")


def test_history_before_the_check_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository(tmp_path, "wrong", GOOD))
    assert commits.main(("main",)) == 1
    monkeypatch.setattr(commits, "FIRST", "HEAD~1")
    capsys.readouterr()
    assert commits.main(("main",)) == 0
    assert capsys.readouterr().out == "new commits: 1, nothing found\n"
