# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A copy of the project with its own build tree, in which mutants are built and judged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from results import Verdict
from settings import Settings, Stage
from sites import Mutant

NOT_REBUILT = "Could not rebuild"


class TestsFailError(Exception):
    """A test fails, or the project does not build, without any mutant."""


def files_of(root: Path) -> list[str]:
    """Return all files of the project, tracked or about to be."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(name for name in listing.stdout.split("\0") if (root / name).is_file())


def fingerprint(root: Path) -> str:
    """Return a hash over all files that can change a verdict: not prose, nor this folder."""
    total = hashlib.sha256()
    for name in files_of(root):
        if not name.endswith((".md", ".svg")) and not name.startswith("check/mutants/"):
            content = hashlib.sha256((root / name).read_bytes()).hexdigest()
            total.update(f"{name} {content}\n".encode())
    return total.hexdigest()


@dataclass
class Worker:
    """One copy and its build tree."""

    source: Path
    build: Path
    settings: Settings

    def run(self, stage: Stage, path: str | None = None) -> Verdict | None:
        """Run a stage for a mutant of one file, or for all files; None: no test noticed it."""
        tests = self.settings.tests_of(stage, path)
        if not tests:
            return None
        build = self.build
        if stage.options:
            build = build.with_name(f"build-{stage.name}")
            if not (build / "build.ninja").exists():
                configure(self.source, build, (*self.settings.options, *stage.options))
        command = ["meson", "test", "-C", str(build), "--maxfail", "1", *tests]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=stage.seconds)
        except subprocess.TimeoutExpired:
            self.end(process)
            return Verdict("killed", f"{stage.name}: no end after {stage.seconds:.0f} s")
        if process.returncode == 0:
            return None
        if NOT_REBUILT in output:
            return Verdict("unbuilt", "does not compile")
        return Verdict("killed", f"{stage.name}: {self.failed_test(build)}")

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        """End meson, which ends its tests: each of them has its own session."""
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    @staticmethod
    def failed_test(build: Path) -> str:
        """Return the first test that failed, from meson's log."""
        log = build / "meson-logs" / "testlog.json"
        for line in log.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
                return str(test["name"]).rsplit(" ", 1)[-1]
        return "?"

    def judge(self, mutant: Mutant) -> Verdict:
        """Build one mutant and run stage by stage until one notices."""
        path = self.source / mutant.path
        original = path.read_bytes()
        try:
            path.write_bytes(mutant.apply(original))
            for stage in self.settings.stages[mutant.group]:
                verdict = self.run(stage, mutant.path)
                if verdict:
                    return verdict
            return Verdict("survived", "")
        finally:
            path.write_bytes(original)

    def check_unchanged(self, groups: Sequence[str]) -> None:
        """Check that all stages pass without a mutant; otherwise verdicts would mean nothing."""
        stages = {s.name: s for group in groups for s in self.settings.stages[group]}
        for stage in stages.values():
            verdict = self.run(stage)
            if verdict:
                raise TestsFailError(f"without any mutant: {verdict.how}; fix that first")


def make_worker(root: Path, where: Path, settings: Settings) -> Worker:
    """Bring a worker's copy up to date, touching only files that differ, and configure its tree."""
    source, build = where / "source", where / "build"
    names = files_of(root)
    for name in names:
        target = source / name
        content = (root / name).read_bytes()
        if target.is_symlink() or not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(root / name, target)
    keep = set(names)
    for path in [p for p in source.rglob("*") if p.is_file()]:
        if str(path.relative_to(source)) not in keep and "__pycache__" not in path.parts:
            path.unlink()
    if not (build / "build.ninja").exists():
        shutil.rmtree(build, ignore_errors=True)
        configure(source, build, settings.options)
    return Worker(source, build, settings)


def configure(source: Path, build: Path, options: Sequence[str]) -> None:
    """Make a build tree."""
    command = ["meson", "setup", str(build), str(source), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise TestsFailError(f"meson setup fails: {''.join(last)}")
