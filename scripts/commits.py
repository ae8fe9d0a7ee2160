# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check the messages of unpublished commits against the rules of CONTRIBUTING.md.

commits.py [BASE]    check the commits of HEAD that BASE does not contain

Without BASE: those that the branch's upstream does not contain, else those that origin/main or main
does not contain. Merges are left out, and so is all history up to FIRST. Published commits stay as
they are, so that no later run fails because of them.
"""

from __future__ import annotations

import re
import subprocess
import sys

BASES = ("@{upstream}", "origin/main", "main")
FIRST = "24e3b565d59d9bf9b85108f7716230e07b79b1b2"
LONGEST = 75
SUBJECT = re.compile(r"[\w./+,* -]+: \S")
SIGNED = re.compile(r"^Signed-off-by: \S.* <\S+@\S+>$", re.MULTILINE)
TRAILER = re.compile(r"([A-Z][a-z]+(-[a-z]+)*-by|Fixes|Closes|Link|Cc): ")


def git(*arguments: str) -> str | None:
    """Return what git prints, or None if it cannot."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout


def commit_of(name: str) -> str:
    """Return the id of a commit by any of its names; empty if there is none."""
    return (git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or "").strip()


def faults(message: str) -> list[str]:
    """Return what is wrong with one commit's message."""
    subject, _, rest = message.strip().partition("\n")
    body = [line for line in rest.splitlines() if line.strip() and not TRAILER.match(line)]
    checks = (
        (len(subject) > LONGEST, f"its subject has {len(subject)} characters, {LONGEST} at most"),
        (not SUBJECT.match(subject), 'its subject does not begin with a part, such as "core: "'),
        (";" in subject, 'its subject has a ";": one thing per commit'),
        (not body, "it has no body that says why"),
        (not SIGNED.search(rest), "it is not signed off (git commit -s)"),
    )
    return [text for wrong, text in checks if wrong]


def main(bases: tuple[str, ...]) -> int:
    """Check the commits after the first base that exists; print faults; return the exit status."""
    if not commit_of("HEAD"):
        print("no commits here: nothing to check")
        return 0
    base = next((found for base in bases if (found := commit_of(base))), None)
    if base is None:
        print(f"no {', '.join(bases)} to compare with: nothing to check")
        return 2 if bases != BASES else 0
    without = [f"^{old}" for old in (base, commit_of(FIRST)) if old]
    commits = (git("rev-list", "--no-merges", "--reverse", "HEAD", *without) or "").split()
    bad = []
    for commit in commits:
        message = git("log", "-1", "--format=%B", commit) or ""
        subject = message.partition("\n")[0]
        bad += [f"{commit[:12]} ({subject}): {fault}" for fault in faults(message)]
    print("\n".join(bad) if bad else f"new commits: {len(commits)}, nothing found")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or BASES))
