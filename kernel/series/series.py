# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage series: writes the steps as a `git format-patch` series, and checks it.

The commits come from the same changes in memory as the trees of the variants. `git am` of the
written files on an untouched tree must give the tree of each step's commit. At the end the tree
must be, file by file, the tree that is built.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from common.errors import UserError
from common.output import read_json, to_json, write_atomic
from common.programs import call, require
from common.progress import working
from kernel.build.build import build_tree
from kernel.build.config import resolve
from kernel.build.make import Made
from kernel.layout import Layout
from kernel.series.changelog import load_cover, load_message
from kernel.series.folders import check_folders, replace_folders
from kernel.series.git import UNSIGNED, Person, Repository, committer
from kernel.source.apply import apply_steps
from kernel.source.base import load_base, require_base, require_fetched
from kernel.source.delta import Delta, deltas
from kernel.source.recipe import Recipe, Step, Variant, load_recipe
from kernel.source.tree import bring_tree, first_difference

_AM = "am"
_HEAD = "series"
_COVER = "0000-"
_STEPS = "steps"
_TEST = "test"  # the part for tests


@dataclass(frozen=True)
class Sender:
    """Who signs the patches off, and what assisted. Without a person nobody signs."""

    person: Person | None = None
    assisted_by: str = ""

    @property
    def author(self) -> Person:
        """Return the author of the commits."""
        return self.person or UNSIGNED

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the last lines of each message."""
        assisted = (f"Assisted-by: {self.assisted_by}",) if self.assisted_by else ()
        signed = (f"Signed-off-by: {self.person.signed}",) if self.person else ()
        return (*assisted, *signed)


@dataclass(frozen=True)
class Commit:
    """The commit of a step."""

    step: Step
    commit: str
    tree: str


@dataclass(frozen=True)
class Series:
    """The series as commits and as files."""

    base: str
    commits: tuple[Commit, ...]
    parts: tuple[tuple[str, tuple[Path, ...]], ...]  # the series, other parts, those for tests

    @property
    def patches(self) -> tuple[Path, ...]:
        """Return the patches of the series itself."""
        return self.parts[0][1]

    @property
    def all(self) -> tuple[Path, ...]:
        """Return all patches, one per commit."""
        return tuple(patch for _, patches in self.parts for patch in patches)


def _base_commit(layout: Layout, base_hash: str) -> tuple[Repository, str]:
    """Return the repository, made on first use, and its first commit, which is the base."""
    git_dir = layout.work / "series.git"
    repository = Repository(git_dir)
    stamp = layout.state("series-base.json")
    if git_dir.is_dir() and stamp.is_file():
        known = read_json(stamp, "state")
        if known["sha256"] == base_hash:
            return repository, str(known["commit"])
    stamp.unlink(missing_ok=True)
    shutil.rmtree(git_dir, ignore_errors=True)
    base = load_base(layout)
    with working("committing the base (once, half a minute)"):
        call(["git", "init", "-q", "--bare", git_dir], what="making a repository")
        tree = Repository(git_dir, layout.base)
        # -f: the base contains files that its own .gitignore names.
        tree.run("add", "-A", "-f", ".", what="adding the base")
        message = f"{base.package} {require_fetched(layout).version}\n"
        written = tree.run("write-tree", what="adding the base")
        commit = repository.commit(written, message, None, 0)
    write_atomic(stamp, to_json({"sha256": base_hash, "commit": commit}))
    return repository, commit


def _modes(layout: Layout, delta: Delta) -> dict[str, str]:
    """Return git's mode of each executable file."""
    return {
        path: "100755"
        for path in delta
        if (layout.base / path).is_file() and os.access(layout.base / path, os.X_OK)
    }


def _commit_steps(
    layout: Layout, repository: Repository, base: str, steps: Sequence[Step], sender: Sender
) -> tuple[Commit, ...]:
    commits: list[Commit] = []
    parent = base
    before = repository.run("rev-parse", f"{base}^{{tree}}", what="reading the base")
    for number, (step, delta) in enumerate(zip(steps, deltas(layout, steps), strict=True), 1):
        message = load_message(layout, step, sender.tags)
        tree = repository.tree_with(base, delta, _modes(layout, delta))
        if tree == before:
            raise UserError(f"step {step.name} changes nothing")
        before = tree
        parent = repository.commit(tree, message, sender.author, number, parent)
        commits.append(Commit(step, parent, tree))
    return tuple(commits)


@dataclass(frozen=True)
class Letter:
    """The text that git writes before the patches of a branch, and its author."""

    text: str
    person: Person

    @property
    def config(self) -> tuple[str, ...]:
        """Return git options with the text as the branch's description, from which git takes it."""
        return ("-c", f"branch.{_HEAD}.description={self.text}")


def _format(repository: Repository, base: str, head: str, letter: Letter | None, out: Path) -> None:
    """Write the patches of some commits into a folder."""
    cover = ("--cover-letter", "--cover-from-description=subject") if letter else ()
    repository.run(
        *(letter.config if letter else ()), "format-patch", *cover, "-q",
        "--no-signature", "--full-index", "--zero-commit", "-o", out, f"{base}..{head}",
        env=committer(letter.person) if letter else None, what="writing the series",
    )  # fmt: skip


def patches_in(folder: Path) -> tuple[Path, ...]:
    """Return the patches of a folder, without the letter."""
    return tuple(
        sorted(path for path in folder.glob("*.patch") if not path.name.startswith(_COVER))
    )


def _folders(steps: Sequence[Step], out: Path) -> dict[str, Path]:
    """Return the folder of each part, in order: the first part gets ``out``."""
    if out.name in ("", ".."):
        raise UserError(f"cannot write {out}: give the folder's name")
    first, *others = dict.fromkeys(_part(step) for step in steps)
    return {first: out, **{part: out.with_name(f"{out.name}-{part}") for part in others}}


def write_series(
    layout: Layout,
    out: Path | None = None,
    finish: Callable[[Path], object] = lambda _: None,
    sender: Sender = Sender(),
) -> Series:
    """Make the commits and write them as patches to a folder: work/series or work/send-NAME.

    ``finish`` gets the new folder before it replaces the old one.
    """
    recipe = load_recipe(layout)
    require("git", *(("spatch", "diff") if any(step.edits for step in recipe.steps) else ()))
    base_hash = require_base(layout)
    if all(step.test for step in recipe.steps):
        raise UserError(f"{layout.shown(layout.inputs / 'series.toml')} has no step yet")
    name = f"send-{layout.send}" if layout.send else "series"
    folders = _folders(recipe.steps, out or layout.work / name)
    check_folders(tuple(folders.values()))
    with layout.locked("series"):
        repository, base = _base_commit(layout, base_hash)
        commits = _commit_steps(layout, repository, base, recipe.steps, sender)
        repository.run("update-ref", "refs/heads/base", base, what="naming the base")
        fill: dict[Path, Callable[[Path], None]] = {}
        head = base
        for part, folder in folders.items():
            own = [commit for commit in commits if _part(commit.step) == part]
            parent, head = head, own[-1].commit
            letter = None
            if not fill:
                repository.run("update-ref", f"refs/heads/{_HEAD}", head, what="naming the series")
                if recipe.cover:
                    letter = Letter(load_cover(layout, recipe.cover), sender.author)
            # git takes the letter from the description of the branch.
            tip = head if fill else _HEAD
            fill[folder] = partial(_format, repository, parent, tip, letter)
        replace_folders(fill, finish)
    return Series(base, commits, tuple((part, patches_in(path)) for part, path in folders.items()))


def _part(step: Step) -> str:
    return _TEST if step.test else step.part


@dataclass(frozen=True)
class Lines:
    """The lines that a patch adds and removes, without those of KUnit suites."""

    step: Step
    added: int
    removed: int


_SUITES = "/tests/"


def _lines_of(patch: Path) -> tuple[int, int]:
    added = removed = 0
    counted = in_hunk = False
    for line in patch.read_text(encoding="utf-8", errors="surrogateescape").split("\n"):
        if line.startswith("diff --git "):
            counted, in_hunk = _SUITES not in line, False
        elif line.startswith("@@ "):
            in_hunk = True
        elif counted and in_hunk:
            added += line.startswith("+")
            removed += line.startswith("-")
    return added, removed


def count_lines(series: Series) -> tuple[Lines, ...]:
    """Return the lines of each patch, counted in the written patches."""
    return tuple(
        Lines(commit.step, *_lines_of(patch))
        for commit, patch in zip(series.commits, series.all, strict=True)
    )


def check_lines(layout: Layout, lines: Sequence[Lines]) -> None:
    """Raise a UserError if a series for the default Linux adds more lines than 'most_lines'."""
    if layout.linux is not None:
        return
    for part, most in load_recipe(layout).most_lines:
        added = sum(line.added for line in lines if not line.step.test and line.step.part == part)
        if added > most:
            raise UserError(f"part '{part}' of the series adds {added} lines, more than {most}", 1)


def check_am(layout: Layout, series: Series) -> int:
    """Run `git am` on an untouched tree. Return how many files were compared with the built tree.

    The tree consists of hard links to the base. That is safe because git replaces files and does
    not write into them.
    """
    base_hash = require_base(layout)
    with layout.locked(_AM), working("git am on an untouched tree"):
        bring_tree(layout, _AM, {}, base_hash)
        tree = layout.source(_AM)
        git_dir = tree / ".git"
        shutil.rmtree(git_dir, ignore_errors=True)
        try:
            return _am(layout, series, Repository(git_dir, tree, committer(UNSIGNED)))
        finally:
            # Files that git wrote are not in the list of changed files, so the tree is removed.
            shutil.rmtree(tree, ignore_errors=True)
            layout.state(f"{_AM}.json").unlink(missing_ok=True)


def _am(layout: Layout, series: Series, repository: Repository) -> int:
    what = "git am of the series"
    tree = repository.work_tree
    assert tree is not None
    call(["git", "init", "-q", tree], what=what)
    objects = layout.work / "series.git" / "objects"
    alternates = repository.git_dir / "objects" / "info" / "alternates"
    alternates.write_text(f"{objects}\n", encoding="utf-8")
    repository.run("update-ref", "HEAD", series.base, what=what)
    # The base's own index lists the same files, so git need not read a gigabyte again.
    shutil.copy(layout.work / "series.git" / "index", repository.git_dir / "index")
    repository.run("update-index", "-q", "--refresh", what=what)
    repository.run("am", "-q", "--keep-cr", *series.all, what=what)
    listing = repository.run("log", "--reverse", "--format=%T", f"{series.base}..HEAD", what=what)
    trees = listing.splitlines()
    if trees != [commit.tree for commit in series.commits]:
        raise UserError(f"{what} makes trees that differ from those of the steps")
    built = _built_tree(layout, load_recipe(layout))
    files, path = first_difference(tree, built)
    if path is not None:
        raise UserError(f"{what}: {path} differs from the one in {layout.shown(built)}")
    return files


def _whole(recipe: Recipe) -> Variant | None:
    """Return the variant that contains exactly the series, or None."""
    whole = (variant for variant in recipe.variants if recipe.steps_of(variant) == recipe.steps)
    return next(whole, None)


def _built_tree(layout: Layout, recipe: Recipe) -> Path:
    """Bring the built tree up to date and return it."""
    variant = _whole(recipe)
    name = variant.name if variant else _STEPS
    apply_steps(layout, name, recipe.steps)
    return layout.source(name)


def check_steps(layout: Layout, config: str, jobs: int = 0) -> Iterator[tuple[str, Made]]:
    """Compile the tree after every step, as `git rebase --exec make` would.

    One tree gets all steps in turn, so that make compiles only what a step changes.
    """
    recipe = load_recipe(layout)
    variant = _whole(recipe)
    configuration = resolve(layout, config, variant.config if variant else ())
    for number, step in enumerate(recipe.steps, 1):
        apply_steps(layout, _STEPS, recipe.steps[:number])
        try:
            made = build_tree(layout, _STEPS, configuration, jobs=jobs, strict=False)
        except UserError as error:
            raise UserError(f"step {step.name} does not build: {error}", error.status) from error
        yield step.name, made
