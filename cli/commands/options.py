# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the options that several commands share, and outputs a result."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from rich.console import RenderableType

from common.output import check_writable, to_json, write_atomic
from common.show import terminal

if TYPE_CHECKING:
    from model.results.saved import Saved

_PLAIN_WIDTH = 160
_NARROWEST = 60

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Decorator(Protocol):
    """A decorator that adds an option to a command."""

    def __call__(self, verb: Verb, /) -> Verb:
        """Return the command with the option."""


def _writable(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Raise a UserError for a file that cannot be written, before the long work."""
    if path is not None and not context.resilient_parsing:
        check_writable(path)
    return path


def path_option(*names: str, metavar: str | None = "FILE", **more: Any) -> Decorator:
    """Return an option that takes a path."""
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, **more)


def target_option(*names: str, metavar: str | None = "FILE", **more: Any) -> Decorator:
    """Return an option that names a file to write, and checks that it can be written."""
    return path_option(*names, metavar=metavar, callback=_writable, **more)


def number_option(
    *names: str,
    low: int | None = 1,
    high: int | None = None,
    metavar: str | None = "N",
    **more: Any,
) -> Decorator:
    """Return an option that takes a whole number from ``low`` to ``high``."""
    limits = click.IntRange(low, high)
    return click.option(*names, type=limits, metavar=metavar, **{"show_default": True, **more})


def choice_option(*names: str, choices: Sequence[str], help: str) -> Decorator:
    """Return an option that takes one of several values. The first one is the default."""
    kind = click.Choice(choices)
    return click.option(*names, type=kind, default=choices[0], show_default=True, help=help)


def many_option(*names: str, metavar: str, help: str, **more: Any) -> Decorator:
    """Return an option that may be repeated."""
    return click.option(*names, multiple=True, metavar=metavar, help=help, **more)


OUT = target_option("--out", help="Save the result as JSON.")
PLACEMENT = choice_option(
    "--placement",
    choices=["os", "compact", "scatter"],
    help="Order in which CPUs are used: by their numbers, close together, or far apart.",
)
LIMIT = number_option(
    "--limit",
    high=86400,
    default=50,
    metavar="SECONDS",
    help="Do not start a measurement after this time.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
JSON_OR_TABLE = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of a table."
)
SEED = number_option("--seed", low=0, high=2**32 - 1, metavar=None, default=1)
CAP = number_option("--cap", high=64, help="At most N CPUs per shard [64].")
PARAMETERS = many_option(
    "--append", "parameters", metavar="P", help="Boot with this kernel parameter; repeatable."
)
BZIMAGE = path_option("--bzimage", help="The kernel image that belongs to --vmlinux.")


def show(renderable: RenderableType) -> None:
    """Print to stdout, as wide as the terminal. A file gets the width that a table needs."""
    terminal.show([renderable], _PLAIN_WIDTH, _NARROWEST)


def with_options(verb: Verb, options: Sequence[Decorator]) -> Verb:
    """Add options to a command. Its help shows them in this order."""
    for option in reversed(options):
        verb = option(verb)
    return verb


def gathered(into: Callable[..., Any], name: str) -> Callable[[Verb], Verb]:
    """Pass the parameters that are fields of the dataclass ``into`` as one argument, ``name``."""
    names = [field.name for field in fields(into)]  # type: ignore[arg-type]

    def gather(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def call(*args: Any, **values: Any) -> Any:
            given = {name: values.pop(name) for name in names}
            return verb(*args, **{name: into(**given)}, **values)

        return call  # type: ignore[return-value]

    return gather


def deliver(
    result: dict[str, Any] | Saved, as_json: bool, out: Path | None, view: RenderableType | None
) -> None:
    """Save the result to ``out`` if given, then print it as JSON, or the view."""
    text = to_json(result)
    if out is not None:
        write_atomic(out, text)
    if as_json:
        sys.stdout.write(text)
    elif view is not None:
        show(view)
    if out is not None and not as_json:
        print(f"saved {out}", file=sys.stderr)
