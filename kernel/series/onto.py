# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks that the series applies to a git tree of Linux, and names that commit in the series.

The series itself is made from Debian's source package, which corresponds to no public commit.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError, telling
from common.programs import call
from kernel.series.series import patches_in


def current_commit(tree: Path) -> str:
    """Return the tree's current commit."""
    if not tree.is_dir():
        raise UserError(f"--onto {tree}: no such folder")
    git = ["git", "-C", str(tree)]
    commit = call([*git, "rev-parse", "--verify", "HEAD^{commit}"], what=f"--onto {tree}")
    return commit.decode().strip()


def _check_applies(tree: Path, commit: str, patches: Sequence[Path]) -> None:
    """Raise a UserError if the patches do not apply to this commit of the tree."""
    git = ["git", "-C", str(tree)]
    # Changes in the tree or its index are not in the commit.
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        call([*git, "read-tree", commit], env=env, what=f"--onto {tree}")
        call(
            [*git, "apply", "--cached", "--check", *(path.resolve() for path in patches)],
            env=env,
            what=f"the series does not apply to {commit[:12]} of {tree}",
        )


def name_base(folder: Path, tree: Path, commit: str) -> None:
    """Name the base commit in the first mail of a folder, as git format-patch --base does.

    Raise a UserError if the patches do not apply to that commit of the tree.
    """
    _check_applies(tree, commit, patches_in(folder))
    first = min(folder.glob("*.patch"))
    with telling(f"cannot write {first}"), first.open("a", encoding="utf-8") as mail:
        mail.write(f"\nbase-commit: {commit}\n")
