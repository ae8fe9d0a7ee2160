# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage series: the steps as a real `git format-patch` series, and the proof that it is right.

The commits are made from the same changes in memory as the trees of the variants. `git am` of
the written files on an untouched tree must then give, at every step, the tree of that step's
commit, and at the end, file by file, the tree that is built.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedshard.errors import UserError, os_reason
from schedshard.kernel.apply import apply_steps
from schedshard.kernel.base import load_base, require_base, require_fetched
from schedshard.kernel.build import build_tree
from schedshard.kernel.changelog import load_message
from schedshard.kernel.config import resolve
from schedshard.kernel.delta import Delta, deltas
from schedshard.kernel.git import Person, Repository, author, committer
from schedshard.kernel.layout import Layout
from schedshard.kernel.make import Made
from schedshard.kernel.recipe import Recipe, Step, Variant, load_recipe
from schedshard.kernel.tools import call, require
from schedshard.kernel.tree import bring_tree, first_difference
from schedshard.output import read_json, to_json, write_atomic
from schedshard.progress import working

_AM = "am"
_STEPS = "steps"


@dataclass(frozen=True)
class Commit:
    """A step as git has it."""

    step: Step
    commit: str
    tree: str


@dataclass(frozen=True)
class Series:
    """The series as commits and as files."""

    base: str
    commits: tuple[Commit, ...]
    patches: tuple[Path, ...]


def _base_commit(layout: Layout, base_hash: str) -> tuple[Repository, str]:
    """The repository with the base in its first commit, made on first use."""
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
        # -f: files that the base's own .gitignore names are part of it.
        tree.run("add", "-A", "-f", ".", what="adding the base")
        message = f"{base.package} {require_fetched(layout).version}\n"
        written = tree.run("write-tree", what="adding the base")
        commit = repository.commit(written, message, None, 0)
    write_atomic(stamp, to_json({"sha256": base_hash, "commit": commit}))
    return repository, commit


def _modes(layout: Layout, delta: Delta) -> dict[str, str]:
    """Git's mode of the files that are executable."""
    return {
        path: "100755"
        for path in delta
        if (layout.base / path).is_file() and os.access(layout.base / path, os.X_OK)
    }


def _commit_steps(
    layout: Layout, repository: Repository, base: str, steps: Sequence[Step], person: Person
) -> tuple[Commit, ...]:
    commits: list[Commit] = []
    parent = base
    before = repository.run("rev-parse", f"{base}^{{tree}}", what="reading the base")
    for number, (step, delta) in enumerate(zip(steps, deltas(layout, steps), strict=True), 1):
        message = load_message(layout, step, person.signed)
        tree = repository.tree_with(base, delta, _modes(layout, delta))
        if tree == before:
            raise UserError(f"step {step.name} changes nothing")
        before = tree
        parent = repository.commit(tree, message, person, number, parent)
        commits.append(Commit(step, parent, tree))
    return tuple(commits)


def _write(repository: Repository, base: str, head: str, out: Path) -> tuple[Path, ...]:
    """Write the patches beside the old ones and swap; other files in the folder are refused."""
    there = out.glob("*") if out.exists() else ()
    strange = [path.name for path in there if path.suffix != ".patch"]
    if strange:
        raise UserError(f"{out} holds {strange[0]}, which is no patch: give an empty folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temp = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            temp.chmod(0o755)
            repository.run(
                "format-patch",
                "-q",
                "--no-signature",
                "--full-index",
                "--zero-commit",
                "-o",
                temp,
                f"{base}..{head}",
                what="writing the series",
            )
            if out.exists():
                shutil.rmtree(out)
            temp.rename(out)
        finally:
            shutil.rmtree(temp, ignore_errors=True)
    except OSError as error:
        raise UserError(f"cannot write {out}: {os_reason(error)}") from error
    return tuple(sorted(out.glob("*.patch")))


def write_series(layout: Layout, out: Path | None = None) -> Series:
    """Make the commits and write them as patches to a folder (work/series)."""
    require("git")
    base_hash = require_base(layout)
    recipe = load_recipe(layout)
    if not recipe.steps:
        raise UserError(f"{layout.shown(layout.inputs / 'series.toml')} has no step yet")
    person = author(layout.project)
    with layout.locked("series"):
        repository, base = _base_commit(layout, base_hash)
        commits = _commit_steps(layout, repository, base, recipe.steps, person)
        repository.run("update-ref", "refs/heads/base", base, what="naming the base")
        head = commits[-1].commit
        repository.run("update-ref", "refs/heads/series", head, what="naming the series")
        patches = _write(repository, base, head, out or layout.work / "series")
    return Series(base, commits, patches)


def check_am(layout: Layout, series: Series) -> int:
    """`git am` on an untouched tree; returns how many files were compared with the built tree.

    The tree is made of hard links to the base: git replaces files and does not write into them.
    """
    base_hash = require_base(layout)
    person = author(layout.project)
    with layout.locked(_AM), working("git am on an untouched tree"):
        bring_tree(layout, _AM, {}, base_hash)
        tree = layout.source(_AM)
        git_dir = tree / ".git"
        shutil.rmtree(git_dir, ignore_errors=True)
        try:
            return _am(layout, series, Repository(git_dir, tree, committer(person)))
        finally:
            # What git wrote is not in our list of changed files, so the tree is not kept.
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
    # The base's own index: its files are these files, so git need not read a gigabyte again.
    shutil.copy(layout.work / "series.git" / "index", repository.git_dir / "index")
    repository.run("update-index", "-q", "--refresh", what=what)
    repository.run("am", "-q", "--keep-cr", *series.patches, what=what)
    listing = repository.run("log", "--reverse", "--format=%T", f"{series.base}..HEAD", what=what)
    trees = listing.splitlines()
    if trees != [commit.tree for commit in series.commits]:
        raise UserError(f"{what} gives other trees than the steps have")
    built = _built_tree(layout, load_recipe(layout))
    files, path = first_difference(tree, built)
    if path is not None:
        raise UserError(f"{what}: {path} is not as it is built in {layout.shown(built)}")
    return files


def _whole(recipe: Recipe) -> Variant | None:
    """The variant that is the series and nothing else, if there is one."""
    for variant in recipe.variants:
        if recipe.steps_of(variant) == recipe.steps:
            return variant
    return None


def _built_tree(layout: Layout, recipe: Recipe) -> Path:
    """The tree that is built, brought up to date."""
    variant = _whole(recipe)
    name = variant.name if variant else _STEPS
    apply_steps(layout, name, recipe.steps)
    return layout.source(name)


def check_steps(layout: Layout, config: str, jobs: int = 0) -> Iterator[tuple[str, Made]]:
    """Compile the tree after every step, as `git rebase --exec make` would.

    One tree goes through all steps, so that only what a step touches is compiled again.
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
