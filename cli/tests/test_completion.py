# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the sections of the help, and completion."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from calling import call
from cli.commands.groups import NamedGroup
from cli.commands.main import main


def verbs(
    command: click.Command, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=names[-1])
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from verbs(subcommand, (*names, name))


def test_every_verb_is_in_one_section_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in verbs(main, ("schedshard",)):
        if not isinstance(command, NamedGroup) or command.sections is None:
            continue
        listed = [verb for names in command.sections.values() for verb in names]
        assert sorted(listed) == sorted(command.commands), name
        text = call(capsys, *name[1:], "--help").out
        assert all(f"{title}:\n  " in text for title in command.sections), name
        assert "..." not in text.partition("--help")[2], name


# A compiler's own --help follows cc and c++.
VERBS = [name for name, _ in verbs(main, ("schedshard",)) if name[-1] not in ("cc", "c++")]


@pytest.mark.parametrize("name", VERBS, ids=" ".join)
def test_help_of_every_verb(capsys: pytest.CaptureFixture[str], name: tuple[str, ...]) -> None:
    outcome = call(capsys, *name[1:], "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: {' '.join(name)}")


def test_completion_completes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_SCHEDSHARD_COMPLETE", "bash_complete")
    for words, number, expected in (
        ("schedshard doc", "1", "plain,doctor\n"),
        ("schedshard run --vari", "2", "plain,--variant\n"),
        ("schedshard doctor cata", "2", "plain,catalogue\nfile,cata\n"),
        ("schedshard doctor --pred", "2", "plain,--predict\n"),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", number)
        outcome = call(capsys)
        assert (outcome.status, outcome.out) == (0, expected)
