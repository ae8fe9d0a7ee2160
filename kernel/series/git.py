# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes commits for the series without a work tree, with reproducible hashes.

Dates are fixed and the user's configuration is ignored. The same base, steps and author give the
same commits, byte for byte.
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common.errors import UserError
from common.programs import call
from kernel.source.delta import Delta

# No setting of the user or the system may change a byte of the result.
_CLEAN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C", "TZ": "UTC"}
# With these settings a commit of 86,000 files takes a quarter of the time. A repository that breaks
# is made again.
_FAST = ("-c", "core.fsync=none", "-c", "core.looseCompression=0", "-c", "core.autocrlf=false")
# A new hard link changes only the time of the file's inode.
_LINKED = ("-c", "core.trustctime=false", "-c", "core.checkStat=minimal")
_BASE_DATE = 1767225600  # 2026-01-01; step n follows n minutes later


@dataclass(frozen=True)
class Person:
    """Author and committer of the steps."""

    name: str
    mail: str

    @property
    def signed(self) -> str:
        """Return the person as git writes names."""
        return f"{self.name} <{self.mail}>"


# The author of patches that nobody has signed off yet.
UNSIGNED = Person("schedshard", "schedshard@localhost")
_PERSON = re.compile(r"([^<>\n]*[^<>\s]) <([^<>\s]+@[^<>\s]+)>")


def parse_person(text: str) -> Person:
    """Return the person in "Name <mail>"."""
    match = _PERSON.fullmatch(text)
    if match is None:
        raise UserError(f"'{text}' is not of the form 'Name <mail>'")
    return Person(match[1], match[2])


@dataclass(frozen=True)
class Repository:
    """A repository, and the work tree for calls that need one."""

    git_dir: Path
    work_tree: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        *args: str | Path,
        what: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run one git command, and return the output without the last newline."""
        full = {**_CLEAN, "GIT_DIR": str(self.git_dir), **self.env, **(env or {})}
        if self.work_tree is not None:
            full["GIT_WORK_TREE"] = str(self.work_tree)
        argv = ["git", *_FAST, *_LINKED, *args]
        output = call(argv, cwd=self.work_tree, env=full, stdin=stdin, what=what)
        return output.decode("utf-8", "replace").removesuffix("\n")

    def commit(
        self, tree: str, message: str, person: Person | None, minute: int, *parents: str
    ) -> str:
        """Make a commit of a tree, and return its hash."""
        who = person or Person("base", "base@localhost")
        date = f"{_BASE_DATE + 60 * minute} +0000"
        env = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", who.name), ("EMAIL", who.mail), ("DATE", date))
        }
        args = [arg for parent in parents for arg in ("-p", parent)]
        return self.run(
            "commit-tree", tree, *args, stdin=message.encode(), env=env, what="making a commit"
        )

    def tree_with(self, commit: str, delta: Delta, modes: Mapping[str, str]) -> str:
        """Return the hash of a commit's tree with other contents for some files."""
        with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            what = "making the tree of a step"
            self.run("read-tree", commit, env=env, what=what)
            lines = []
            for path, content in sorted(delta.items()):
                if content is None:
                    lines.append(f"0 {'0' * 40}\t{path}\n")
                    continue
                blob = self.run("hash-object", "-w", "--stdin", stdin=content, what=what)
                lines.append(f"{modes.get(path, '100644')} {blob}\t{path}\n")
            info = "".join(lines).encode()
            self.run("update-index", "--index-info", stdin=info, env=env, what=what)
            return self.run("write-tree", env=env, what=what)


def committer(person: Person) -> dict[str, str]:
    """Return the environment in which git commits under a name, at a fixed time."""
    return {
        "GIT_COMMITTER_NAME": person.name,
        "GIT_COMMITTER_EMAIL": person.mail,
        "GIT_COMMITTER_DATE": f"{_BASE_DATE} +0000",
    }
