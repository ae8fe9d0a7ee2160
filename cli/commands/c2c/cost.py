# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The commands bench record, cc and c++."""

import shlex
from pathlib import Path

import click
from rich.console import Group

from cli.commands.options import JSON, OUT, deliver, number_option


@click.command("record")
@number_option("--threads", high=256, default=16)
@number_option("--rounds", default=200, help="How often each thread sorts its array.")
@number_option("--repeats", default=5)
@click.option("--machine", default="epyc-9654-2s", show_default=True, metavar="M")
@JSON
@OUT
def cost_command(machine: str, as_json: bool, out: Path | None, **options: int) -> None:
    """Measure how much 'c2c record' slows a program down, beside valgrind's drd.

    In a checkout with a compiler the command also measures the program with the sanitizer's runtime
    (libtsan), and compiled for --exact on 16, 128 and 384 CPUs of the machine. The program's
    threads share little. With the defaults this takes minutes.
    """
    from common.progress import working
    from model.machines.presets import load_machine
    from record.program.cost import CostRequest, cost, cost_tables

    load_machine(machine)
    with working("measuring what recording costs"):
        data = cost(CostRequest(machine=machine, **options))
    deliver(data, as_json, out, Group(*cost_tables(data)))


# All arguments go to the compiler.
_AS_IS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


def _compile(language: str, arguments: tuple[str, ...]) -> None:
    from record.exact.flags import compile_exact, find_compiler, flags, rust_flags

    if arguments == ("--rustflags",):
        click.echo(" ".join(rust_flags()))
        return
    if arguments == ("--flags",):
        click.echo(shlex.join(flags(find_compiler(language))))
        return
    raise click.exceptions.Exit(compile_exact(language, arguments))


@click.command("cc", context_settings=_AS_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cc_command(arguments: tuple[str, ...]) -> None:
    """Compile C so that 'c2c record --exact' runs the program on a simulated machine.

    ARGUMENTS go to the compiler that CC names. '--flags' alone prints the flags that a build system
    has to add for compiling and linking. '--rustflags' alone prints RUSTFLAGS: set
    RUSTC_BOOTSTRAP=1 as well, and call cargo with '--target' so that only the program gets them.
    """
    _compile("c", arguments)


@click.command("c++", context_settings=_AS_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cxx_command(arguments: tuple[str, ...]) -> None:
    """Compile C++ so that 'c2c record --exact' runs the program on a simulated machine.

    The arguments are those of 'cc'. CXX names the compiler.
    """
    _compile("c++", arguments)
