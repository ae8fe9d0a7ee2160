# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the linters, builds, tests, sanitizers and cross build of `make check` and `make check-all`.

check.py             before a commit: all but the stages of REST
check.py all         everything
check.py NAME...     only the stages or groups with these names (lint, build)
check.py quick       what an edit usually breaks

Each stage keeps its build tree in build/check-NAME and its log in build/check-logs. Quick uses the
build tree of `make build`.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hygiene import tracked
from runner import Command, Count, Stage, count_junit, count_meson, run_stages

BUILD = Path("build")
RELEASE = BUILD / "release"
LOGS = BUILD / "check-logs"
JOBS = str(os.cpu_count() or 1)
# Tests of one file share what they make, so they run in one process.
AT_ONCE = ("-n", JOBS, "--dist", "loadfile")
# The threads of these tests' programs must run at the same time, so no other tests run beside them.
ALONE = ("record/tests/program",)
# Only `make check-all` runs these: another compiler, another architecture, and what takes minutes.
REST = ("clang-tidy", "clang", "aarch64", "pytest-slow", "pytest-record")
# Stages of "quick": linters that take seconds, the core's suites, tests not marked slow or long.
QUICK_LINTERS = ("environment", "hygiene", "clang-format", "ruff", "mypy", "structure", "sparse")
QUICK_SUITES = ("unit", "model", "lib", "plugin", "rd")
QUICK_TESTS = (
    "cli/tests", "doctor/tests", "model/tests", "record/tests/command",
    "kernel/tests/test_kernel_compare.py", "report/tests/test_report.py",
)  # fmt: skip
# States that clang's analyzer looks at in a function. Its own bound of 225,000 takes 3 times as
# long for long functions.
ANALYZER_NODES = 50000
# The asan stage leaves these out, because it has no simulator (fibers) and no libFuzzer.
UNSANITIZED = ("sim", "scan", "plugin", "fuzz")
PYTHON = ".venv/bin/python"
ROOMS = ("cli", "common", "doctor", "kernel", "model", "record", "report", "trial")
CONFIGURE = "scripts/configure.py"

CLANG = {"CC": "clang", "CXX": "clang++"}
HALT = "halt_on_error=1:abort_on_error=1"
SANITIZER_ENV = {
    "ASAN_OPTIONS": f"detect_leaks=1:detect_stack_use_after_return=0:{HALT}",
    "UBSAN_OPTIONS": f"print_stacktrace=1:{HALT}",
    "TSAN_OPTIONS": HALT,
}


def shell_scripts() -> list[str]:
    """Return the files whose first line names a shell."""
    scripts = []
    for name in tracked():
        with Path(name).open("rb") as file:
            first = file.readline(64)
        if first.startswith(b"#!") and first.rstrip().endswith((b"sh", b"bash")):
            scripts.append(name)
    return scripts


def setup(directory: Path, options: Sequence[str], env: dict[str, str]) -> Command:
    """Return the command that configures a build tree when it runs."""
    key = hashlib.sha256(repr((list(options), sorted(env.items()))).encode()).hexdigest()
    return Command([sys.executable, CONFIGURE, str(directory), key, *options], env)


def meson_test(directory: Path, tests: Sequence[str]) -> Command:
    """Return the command that runs the selected tests of a build tree."""
    test = ["meson", "test", "-C", str(directory), "--print-errorlogs", "--num-processes", JOBS]
    return Command([*test, *tests], SANITIZER_ENV)


def test_log(directory: Path) -> tuple[Path, Callable[[Path], Count]]:
    """Return the file with meson's test results, and the function that counts them."""
    return directory / "meson-logs" / "testlog.json", count_meson


def build_and_test(
    name: str,
    options: Sequence[str],
    *,
    env: dict[str, str] | None = None,
    tests: Sequence[str] = (),
    build_all: bool = True,
) -> Stage:
    """Make the stage that builds one configuration and runs its tests, or those selected."""
    directory = BUILD / f"check-{name}"
    commands = [setup(directory, ["-Dwerror=true", *options], env or {})]
    if build_all:
        commands.append(Command(["ninja", "-C", str(directory)]))
    # Without build_all, meson builds only what the selected tests need.
    commands.append(meson_test(directory, tests))
    return Stage(name, "build", commands, [test_log(directory)])


def lint_stages() -> list[Stage]:
    """Return the stages that only read the source."""
    c_files = tracked("*.c", "*.h", "*.cc", "*.hh", "*.inc")
    # core/sched/ is in Linux's form, with its headers.
    core = tracked(":(glob)core/*.c")
    python = [PYTHON, "-m"]
    # Scripts import their neighbours; pyproject.toml finds the package.
    typed = tracked("*.py")
    beside = {
        str(Path(name).parent)
        for name in typed
        if name.split("/")[0] not in ROOMS or "tests" in Path(name).parts
    }
    mypy = Command([*python, "mypy", *typed], {"MYPYPATH": ":".join(sorted(beside))})
    tools = [Command(["cli/environment", "--dev"])]
    # Warnings off: an attribute of glibc's headers unknown to sparse, and two habits of this code.
    off = [
        "-Wno-unknown-attribute",
        "-Wno-declaration-after-statement",
        "-Wno-flexible-array-sizeof",
    ]
    sparse = ["sparse", "-Wsparse-error", "-Wsparse-all", *off, "-Icore", "-Iport/user", "-Iport"]
    return [
        Stage("environment", "lint", tools),
        Stage("hygiene", "lint", [Command([sys.executable, "scripts/hygiene.py"])]),
        Stage("commits", "lint", [Command([sys.executable, "scripts/commits.py"])]),
        Stage(
            "clang-format", "lint", [Command(["clang-format", "--dry-run", "-Werror", *c_files])]
        ),
        Stage("shellcheck", "lint", [Command(["shellcheck", "-x", *shell_scripts()])]),
        Stage(
            "ruff",
            "lint",
            [
                Command([*python, "ruff", "check", "--no-cache", "."]),
                Command([*python, "ruff", "format", "--check", "--no-cache", "."]),
            ],
        ),
        Stage("mypy", "lint", [mypy]),
        Stage(
            "structure",
            "lint",
            [
                Command([sys.executable, "scripts/structure.py"]),
                Command([".venv/bin/lint-imports", "--no-cache", "--no-logo"], {"PYTHONPATH": "."}),
            ],
        ),
        Stage("sparse", "lint", [Command([*sparse, *core])]),
        tidy_stage(),
    ]


def tidy_stage() -> Stage:
    """Return the clang-tidy stage; it needs the compile commands of a configured clang build."""
    clang = clang_stage()
    directory = BUILD / "check-clang"
    configure = [command for command in clang.commands if CONFIGURE in command.argv]
    folders = "core|lib|model|bench|record|check|kernel/guest"
    sources = f"^{re.escape(str(Path.cwd()))}/({folders})/"
    reduced = str(BUILD / "check-tidy")
    reduce = [sys.executable, "scripts/tidy_commands.py", str(directory), reduced]
    bound = ["-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={ANALYZER_NODES}"]
    words = [f"-extra-arg={word}" for word in bound]
    run = ["run-clang-tidy", "-quiet", "-p", reduced, "-j", JOBS, *words, sources]
    refresh = ["ninja", "-C", str(directory), "build.ninja"]
    headers = ["ninja", "-C", str(directory), "lib/public/schedshard/names.h"]
    commands = [*configure, *map(Command, (refresh, headers, reduce, run))]
    return Stage("clang-tidy", "lint", commands)


def clang_stage() -> Stage:
    """Return the stage that compiles the simulator and the fuzzers with clang.

    The asan stage compiles and tests the rest with clang. Neither the explorer's answers nor the
    figures depend on the compiler: gcc's stage has both.
    """
    suites = [word for suite in UNSANITIZED for word in ("--suite", suite)]
    suites += ["--no-suite", "figures"]
    return build_and_test("clang", [], env=CLANG, tests=suites, build_all=False)


def test_stages() -> list[Stage]:
    """Return the stages that build and run."""
    folders = sorted({str(Path(name).parent) for name in tracked(":(glob)**/tests/**/test_*.py")})
    together = [name for name in folders if name not in ALONE]
    return [
        build_and_test("gcc", []),
        clang_stage(),
        build_and_test(
            "asan",
            ["-Dbuildtype=debugoptimized", "-Db_sanitize=address,undefined", "-Db_lundef=false"],
            env=CLANG,
            tests=["--no-suite", "bench", "--timeout-multiplier", "4"],
        ),
        build_and_test(
            "tsan",
            ["-Dbuildtype=debugoptimized", "-Db_sanitize=thread"],
            tests=["--suite", "stress", "--timeout-multiplier", "4"],
            build_all=False,
        ),
        build_and_test(
            "aarch64",
            ["--cross-file", "scripts/aarch64-linux-gnu.ini"],
            # What these suites compare with simple models is the same on all architectures.
            tests=["--no-suite", "model", "--no-suite", "rd", "--timeout-multiplier", "4"],
        ),
        pytest_stage("pytest", [*AT_ONCE, "-m", "not slow", *together]),
        pytest_stage("pytest-slow", [*AT_ONCE, "-m", "slow", *together]),
        pytest_stage("pytest-record", ALONE),
    ]


def all_stages() -> list[Stage]:
    """Return all stages. A stage that leaves a CPU idle has another stage beside it.

    Messages of commits are left out: `make lint` checks them while they can still be changed.
    """
    stages = {stage.name: stage for stage in (*lint_stages(), *test_stages())}
    del stages["commits"]
    # The environment stage waits for the network, and fetches what the linters need.
    environment, tidy = stages.pop("environment"), stages.pop("clang-tidy")
    gcc = replace(stages.pop("gcc"), beside=environment)
    stages["pytest-record"] = replace(stages["pytest-record"], beside=tidy)
    return [gcc, *stages.values()]


def pytest_stage(name: str, arguments: Sequence[str], build: Path = BUILD / "check-gcc") -> Stage:
    """Return a stage of Python tests that use the tools of a build tree."""
    report = BUILD / f"check-{name}.xml"
    command = [PYTHON, "-m", "pytest", f"--junitxml={report}", *arguments]
    env = {"SCHEDSHARD_BUILD": str(build.resolve())}
    return Stage(name, "build", [Command(command, env)], [(report, count_junit)])


def quick_stages() -> list[Stage]:
    """Return stages that find most mistakes in little time; all_stages() covers all of it."""
    linters = {stage.name: stage for stage in lint_stages() if stage.name in QUICK_LINTERS}
    suites = [word for suite in QUICK_SUITES for word in ("--suite", suite)]
    suites_of_c = Stage(
        "suites",
        "build",
        [Command(["scripts/build", str(RELEASE)]), meson_test(RELEASE, suites)],
        [test_log(RELEASE)],
    )
    words = [*AT_ONCE, "-m", "not slow and not long", *QUICK_TESTS]
    return [*linters.values(), suites_of_c, pytest_stage("pytest-quick", words, RELEASE)]


def main(names: Sequence[str]) -> int:
    """Run the named stages, or without names those before a commit; return the exit status."""
    os.chdir(Path(__file__).resolve().parent.parent)
    # A background job of a script ignores Ctrl-C, and programs that tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if list(names) == ["quick"]:
        return run_stages(quick_stages(), LOGS)
    if list(names) == ["all"]:
        return run_stages(all_stages(), LOGS)
    stages = [*lint_stages(), *test_stages()]
    known = {stage.name for stage in stages} | {stage.group for stage in stages}
    for name in names:
        if name not in known:
            print(f"check: no stage {name!r}, only {', '.join(sorted(known))}", file=sys.stderr)
            return 2
    if names:
        stages = [stage for stage in stages if stage.name in names or stage.group in names]
    else:
        stages = [stage for stage in stages if stage.name not in REST]
    return run_stages(stages, LOGS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
