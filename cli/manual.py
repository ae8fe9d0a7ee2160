# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes manual pages of all commands, and completions for three shells, from Click's descriptions.

python -m cli.manual MAN_DIRECTORY COMPLETION_DIRECTORY

Both directories get the usual folders: man1; bash-completion/completions, zsh/site-functions and
fish/vendor_completions.d.
"""

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from click.shell_completion import FishComplete, ShellComplete, ZshComplete

from cli.commands.main import main
from cli.entry import COMPLETE
from common.paths import VERSION

NAME = "schedshard"
_STATUSES = (
    ("0", "success"),
    ("1", "a tool of schedshard failed on good input"),
    ("2", "bad usage or bad input, in one line on standard error"),
)
# Click's script for bash runs bash to find out its version. This one works without bash here.
_BASH = """\
_schedshard_completion() {
    local IFS=$'\\n' response kind value
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        _SCHEDSHARD_COMPLETE=bash_complete "$1")
    for completion in $response; do
        kind=${completion%%,*}
        value=${completion#*,}
        case $kind in
        dir) compopt -o dirnames ;;
        file) compopt -o default ;;
        plain) COMPREPLY+=("$value") ;;
        esac
    done
}
complete -o nosort -F _schedshard_completion schedshard
"""


def _escaped(text: str) -> str:
    """Return text escaped for troff, so that it prints as it is, with plain hyphens."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"(?m)^\.", r"\\&.", text)


def _paragraphs(text: str) -> list[str]:
    """Return the troff lines of a description, one per paragraph."""
    lines: list[str] = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        filled = " ".join(part.replace("\b", "").split())
        if filled:
            lines += [".PP" if lines else "", _escaped(filled)]
    return [line for line in lines if line]


def _options(command: click.Command, context: click.Context) -> list[str]:
    lines = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            lines += [".TP", f"\\fB{_escaped(record[0])}\\fR", _escaped(record[1]) or "\\&"]
    return lines


def visible(command: click.Command, context: click.Context) -> list[tuple[str, click.Command]]:
    """Return the visible subcommands of a command with their names."""
    if not isinstance(command, click.Group):
        return []
    found = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
    return [(name, each) for name, each in found if each is not None and not each.hidden]


def page(names: Sequence[str], command: click.Command, context: click.Context) -> str:
    """Return the manual page of one command."""
    dashed, spaced = "-".join(names), " ".join(names)
    short = command.get_short_help_str(limit=200).rstrip(".")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        '.\\" SPDX-License-Identifier: (MIT OR GPL-2.0-only)',
        f'.TH "{dashed.upper()}" "1" "" "schedshard {VERSION}" "User Commands"',
        ".SH NAME",
        f"{_escaped(dashed)} \\- {_escaped(short)}",
        ".SH SYNOPSIS",
        f"\\fB{_escaped(spaced)}\\fR {_escaped(usage)}",
        ".SH DESCRIPTION",
        *(_paragraphs(command.help or short)),
    ]
    # A group may have an unnamed command, whose options its page shows.
    shown = getattr(command, "unnamed", command)
    options = _options(shown, context)
    if options:
        lines += [".SH OPTIONS", *options]
    below = visible(command, context)
    if below:
        lines.append(".SH COMMANDS")
        for name, each in below:
            own = f"\\fB{_escaped(name)}\\fR (\\fB{_escaped(f'{dashed}-{name}')}\\fR(1))"
            lines += [".TP", own, _escaped(each.get_short_help_str(limit=200))]
    if "Exit status" not in (command.help or ""):
        lines.append(".SH EXIT STATUS")
        for status, meaning in _STATUSES:
            lines += [".TP", f"\\fB{status}\\fR", _escaped(meaning)]
    if len(names) > 1:
        lines += [".SH SEE ALSO", f"\\fB{_escaped('-'.join(names[:-1]))}\\fR(1)"]
    return "\n".join(lines) + "\n"


def verbs() -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    """Yield the words, the command and the context of every visible command."""

    def below(
        names: tuple[str, ...], command: click.Command, parent: click.Context | None
    ) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
        context = click.Context(command, info_name=names[-1], parent=parent)
        yield names, command, context
        for name, each in visible(command, context):
            yield from below((*names, name), each, context)

    return below((NAME,), main, None)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each page's file and its text."""
    for names, command, context in verbs():
        yield f"{'-'.join(names)}.1", page(names, command, context)


def completions() -> dict[str, str]:
    """Return the completion scripts by their path below the directory of shared files."""

    def source(kind: type[ShellComplete]) -> str:
        return kind(main, {}, NAME, COMPLETE).source().strip() + "\n"

    return {
        f"bash-completion/completions/{NAME}": _BASH,
        f"zsh/site-functions/_{NAME}": source(ZshComplete),
        f"fish/vendor_completions.d/{NAME}.fish": source(FishComplete),
    }


def write(man: Path, shared: Path) -> int:
    """Write all files, and return the number of manual pages."""
    directory = man / "man1"
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, text in pages():
        (directory / name).write_text(text, encoding="utf-8")
        count += 1
    for name, text in completions().items():
        (shared / name).parent.mkdir(parents=True, exist_ok=True)
        (shared / name).write_text(text, encoding="utf-8")
    return count


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]), Path(sys.argv[2]))} manual pages")
