# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check the messages of commits that main does not contain against the rules of CONTRIBUTING.md.

commits.py [BASE]    BASE instead of origin/main, or of main where there is none
"""

from __future__ import annotations

import re
import subprocess
import sys

LONGEST = 75
SUBJECT = re.compile(r"[\w./+,* -]+: \S")
SIGNED = re.compile(r"^Signed-off-by: \S.* <\S+@\S+>$", re.MULTILINE)
TRAILER = re.compile(r"([A-Z][a-z]+(-[a-z]+)*-by|Fixes|Closes|Link|Cc): ")


def git(*arguments: str) -> str:
    """Return what git prints; nothing if it fails."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout


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


def main(bases: list[str]) -> int:
    """Check the commits after the first base that exists; print faults; return the exit status."""
    base = next((name for name in bases if git("rev-parse", "--verify", "--quiet", name)), "")
    listed = git("rev-list", "--no-merges", "--reverse", "HEAD", f"^{base}") if base else ""
    bad = []
    for commit in listed.split():
        message = git("log", "-1", "--format=%B", commit)
        bad += [f"{commit[:12]} ({message.partition(chr(10))[0]}): {f}" for f in faults(message)]
    print("\n".join(bad) if bad else f"new commits: {len(listed.split())}, nothing found")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["origin/main", "main"]))
