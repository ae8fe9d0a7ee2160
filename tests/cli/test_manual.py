# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Manual pages and completion: every verb, every option, and no warning of troff."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from calling import call
from cli.commands.groups import NamedGroup
from cli.commands.main import main
from cli.manual import completions, pages, write
from common.paths import ROOT


def verbs(command: click.Command, names: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    yield "-".join(names), command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=names[-1])
        for name in command.list_commands(context):
            each = command.get_command(context, name)
            assert each is not None
            yield from verbs(each, (*names, name))


def test_every_verb_is_in_one_section_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in verbs(main, ("schedshard",)):
        if not isinstance(command, NamedGroup) or command.sections is None:
            continue
        listed = [verb for names in command.sections.values() for verb in names]
        assert sorted(listed) == sorted(command.commands), name
        text = call(capsys, *name.split("-")[1:], "--help").out
        assert all(f"{title}:\n  " in text for title in command.sections), name
        assert "..." not in text.partition("--help")[2], name


def test_every_verb_has_a_page_with_all_of_its_options() -> None:
    made = dict(pages())
    known = dict(verbs(main, ("schedshard",)))
    assert set(made) == {f"{name}.1" for name in known}
    for name, command in known.items():
        text = made[f"{name}.1"].replace("\\-", "-")
        assert f'.TH "{name.upper()}" "1"' in text
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert max(parameter.opts, key=len) in text, (name, parameter.opts)
    doctor = made["schedshard-doctor.1"]
    assert "\\-\\-plan" in doctor
    assert "4 findings" in doctor
    assert "EXIT STATUS" in made["schedshard-run.1"]


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_troff_complains_of_nothing(tmp_path: Path) -> None:
    assert write(tmp_path / "man", tmp_path / "share") == len(dict(pages()))
    for path in sorted((tmp_path / "man/man1").iterdir()):
        done = subprocess.run(["groff", "-man", "-ww", "-z", path], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), path.name


def test_completion_completes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_SCHEDSHARD_COMPLETE", "bash_complete")
    for words, number, expected in (
        ("schedshard doc", "1", "plain,doctor\n"),
        ("schedshard run --vari", "2", "plain,--variant\n"),
        ("schedshard doctor cata", "2", "plain,catalogue\nfile,cata\n"),
        ("schedshard doctor --pl", "2", "plain,--plan\n"),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", number)
        outcome = call(capsys)
        assert (outcome.status, outcome.out) == (0, expected)


def test_scripts_of_the_shells(tmp_path: Path) -> None:
    made = completions()
    assert sorted(path.split("/")[0] for path in made) == ["bash-completion", "fish", "zsh"]
    assert "#compdef schedshard" in made["zsh/site-functions/_schedshard"]
    assert "complete --no-files" in made["fish/vendor_completions.d/schedshard.fish"]
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    program = tmp_path / "schedshard"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m cli "$@"\n')
    program.chmod(0o755)
    script = tmp_path / "completion"
    script.write_text(made["bash-completion/completions/schedshard"])
    asked = (
        f'. "{script}"; COMP_WORDS=(schedshard machine sh); COMP_CWORD=2; '
        f'_schedshard_completion "{program}" 2>/dev/null; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "show\n"), done.stderr
