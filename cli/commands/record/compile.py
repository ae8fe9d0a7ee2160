# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The commands cc and c++."""

import shlex

import click

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
    """Compile C so that 'record --exact' runs the program on a simulated machine.

    ARGUMENTS go to the compiler that CC names. '--flags' alone prints the flags that a build system
    has to add for compiling and linking. '--rustflags' alone prints RUSTFLAGS: set
    RUSTC_BOOTSTRAP=1 as well, and call cargo with '--target' so that only the program gets them.
    """
    _compile("c", arguments)


@click.command("c++", context_settings=_AS_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cxx_command(arguments: tuple[str, ...]) -> None:
    """Compile C++ so that 'record --exact' runs the program on a simulated machine.

    The arguments are those of 'cc'. CXX names the compiler.
    """
    _compile("c++", arguments)
