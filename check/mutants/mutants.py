#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make mutants: change one thing in the code, build, and see whether a test notices.

Every worker has its own copy of the project and its own build tree below build/mutants; the
project's files stay unchanged. mutants.toml contains the changes, the tests that judge them, and
the known survivors. Results are saved: a second run continues where the first one ended, and starts
over when any file has changed.

Exit status: 0 if every survivor has a reason, 1 if one has none, 2 for bad usage or a test that
fails without a mutant.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path, PurePath
from queue import SimpleQueue

from results import Results, Verdict, report
from settings import BadSettingsError, Settings, read_settings
from sites import Mutant, find
from worker import TestsFailError, Worker, fingerprint, make_worker

GROUPS = ("ordering", "sequence", "logic")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    root = Path(__file__).resolve().parent.parent.parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=root, help="the project (default: this one)")
    parser.add_argument("--settings", type=Path, help="default: check/mutants/mutants.toml in it")
    parser.add_argument("--group", choices=GROUPS, help="only these (default: all)")
    parser.add_argument("--file", action="append", default=[], help="only this file; repeatable")
    parser.add_argument("--jobs", type=int, default=0, help="workers (default: one per CPU)")
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    return parser.parse_args(argv)


def find_in(path: Path, name: str, settings: Settings) -> list[Mutant]:
    """Return a file's mutants, by the calls that the settings name for it, and comparisons."""
    if not any(PurePath(name).match(pattern) for pattern in settings.sequences):
        return find(name, path.read_bytes(), settings.always, settings.unused)
    found = find(name, path.read_bytes(), settings.sequence, {}, "sequence")
    return [m for m in found if m.group == "sequence" or not name.startswith("tests/")]


def wanted(root: Path, settings: Settings, group: str | None, files: Sequence[str]) -> list[Mutant]:
    """Return the requested mutants: ordering first, then in the order of the source."""
    patterns = (*settings.sources, *settings.sequences)
    paths = sorted({p for pattern in patterns for p in root.glob(pattern)})
    names = [str(path.relative_to(root)) for path in paths]
    for name in files:
        if name not in names:
            raise BadSettingsError(f"--file {name}: not one of {', '.join(patterns)}")
    found: list[Mutant] = []
    for path, name in zip(paths, names, strict=True):
        if not files or name in files:
            found += find_in(path, name, settings)
    found = [mutant for mutant in found if group in (None, mutant.group)]
    return sorted(found, key=lambda mutant: GROUPS.index(mutant.group))


def run_all(
    root: Path, settings: Settings, mutants: Sequence[Mutant], jobs: int
) -> dict[str, Verdict]:
    """Judge all mutants that have no verdict yet; return all verdicts by name."""
    where = root / "build" / "mutants"
    where.mkdir(parents=True, exist_ok=True)
    results = Results(where / "results.jsonl", fingerprint(root))
    todo = [mutant for mutant in mutants if mutant.name not in results.verdicts]
    done = len(mutants) - len(todo)
    print(f"mutants: {len(mutants)}, {done} from before", file=sys.stderr, flush=True)
    idle: SimpleQueue[Worker] = SimpleQueue()

    def judge(mutant: Mutant) -> Verdict:
        worker = idle.get()
        try:
            return worker.judge(mutant)
        finally:
            idle.put(worker)

    if todo:
        for number in range(min(jobs, len(todo))):
            idle.put(make_worker(root, where / f"worker-{number}", settings))
        groups = sorted({mutant.group for mutant in todo} - results.sound)
        if groups:
            worker = idle.get()
            worker.check_unchanged(groups)
            results.keep_sound(groups)
            idle.put(worker)
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(judge, mutant): mutant for mutant in todo}
        for future in as_completed(running):
            mutant, verdict = running[future], future.result()
            results.keep(mutant.name, verdict)
            done += 1
            line = f"{done}/{len(mutants)} {verdict} {mutant.path}:{mutant.line} {mutant.change}"
            print(f"mutants: {line}", file=sys.stderr, flush=True)
    return results.verdicts


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return the exit status."""
    options = arguments(argv)
    root: Path = options.root.resolve()
    try:
        settings = read_settings(options.settings or root / "check" / "mutants" / "mutants.toml")
        mutants = wanted(root, settings, options.group, options.file)
        if options.list:
            print("\n".join(f"{m.path}:{m.line} {m.group} {m.name}" for m in mutants))
            return 0
        verdicts = run_all(root, settings, mutants, options.jobs or settings.jobs)
    except (BadSettingsError, TestsFailError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutants: stopped; the same command goes on from here", file=sys.stderr)
        return 2
    return report(mutants, verdicts, settings.survivors)


if __name__ == "__main__":
    sys.exit(main())
