# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A program's variables have types, from both compilers and from damaged debug information."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from record.names.variables import DebugInfo

SOURCE = """
#include <pthread.h>
struct counts { long alpha; long beta; pthread_mutex_t lock; };
struct counts counts, more[3];
char letter;
int main(void) { return (int)(counts.alpha + more[1].beta); }
"""


def compiled(folder: Path, name: str, compiler: str, *flags: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(SOURCE, encoding="ascii")
    program = folder / name
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    return program


def addresses(program: Path) -> dict[str, int]:
    with program.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {symbol.name: int(symbol["st_value"]) for symbol in table.iter_symbols()}


def types(program: Path) -> tuple[dict[str, str], bool]:
    """The name of each variable's type, and whether something could not be read."""
    known = {addresses(program)[name]: name for name in ("counts", "more")}
    with closing(DebugInfo(program)) as info:
        variables = info.variables(known)
        return {known[at]: typed.name for at, typed in variables.items()}, info.damaged


KNOWN = {"counts": "struct counts", "more": "struct counts[]"}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [("gcc", ("-g",)), ("gcc", ("-gdwarf-4",)), ("clang", ("-g",)), ("clang", ("-gdwarf-5",))],
)
def test_each_compilers_variables_have_types(
    tmp_path: Path, compiler: str, flags: tuple[str, ...]
) -> None:
    """Clang numbers the addresses of variables in DWARF 5."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    assert types(compiled(tmp_path, "program", compiler, *flags)) == (KNOWN, False)


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang here")
def test_a_variable_of_fewer_bytes_than_declared_has_its_type(tmp_path: Path) -> None:
    """Clang stores one byte for a variable that is only 0 or 1, and computes its value."""
    source = tmp_path / "program.c"
    source.write_text(
        "static int ended;\n"
        "__attribute__((noinline)) void ends(void) { ended = 1; }\n"
        "int main(int n, char **v) { if (n > 1) ends(); return ended; }\n",
        encoding="ascii",
    )
    program = tmp_path / "program"
    subprocess.run(["clang", "-O2", "-gdwarf-5", str(source), "-o", str(program)], check=True)
    at = addresses(program)["ended"]
    with closing(DebugInfo(program)) as info:
        assert info.variables([at])[at].name == "int"


@pytest.mark.skipif(shutil.which("dwz") is None, reason="no dwz here")
def test_what_several_files_share_is_found_or_missed_without_an_error(tmp_path: Path) -> None:
    programs = [compiled(tmp_path, name, "gcc", "-g") for name in ("one", "two")]
    common = tmp_path / "common.debug"
    command = ["dwz", "-m", str(common), "-M", str(common), *map(str, programs)]
    subprocess.run(command, check=True)
    assert common.is_file()
    assert types(programs[0]) == (KNOWN, False)
    common.unlink()
    partial, _ = types(programs[0])
    assert partial.items() <= KNOWN.items()


def test_damaged_information_costs_types_and_is_noted(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", "gcc", "-g")
    with program.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".debug_abbrev")
        assert section is not None
        at, size = int(section["sh_offset"]), int(section["sh_size"])
    content = bytearray(program.read_bytes())
    content[at : at + size] = b"\xff" * size
    program.write_bytes(content)
    assert types(program) == ({}, True)


def test_a_lock_is_one_object(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", "gcc", "-g")
    start = addresses(program)["more"]
    with closing(DebugInfo(program)) as info:
        more = info.variables([start])[start]
        assert more.field(56 + 16 + 4) == "[1].lock.__data.__count"
        assert more.whole(56 + 16 + 4) == (56 + 16, 40, "[1].lock")
        assert more.whole(56) is None


def test_accesses_contradict_a_type_that_is_not_theirs(tmp_path: Path) -> None:
    """The line that allocates may declare a pointer to something else, such as a char."""
    program = compiled(tmp_path, "program", "gcc", "-g")
    places = addresses(program)
    with closing(DebugInfo(program)) as info:
        variables = info.variables([places["counts"], places["letter"]])
        counts, letter = variables[places["counts"]], variables[places["letter"]]
        assert counts.agrees([(0, 8), (8, 8), (56, 8), (64 + 56, 8)])
        assert counts.agrees([])
        assert not counts.agrees([(4, 8), (12, 8)])
        assert counts.agrees([(0, 16)])  # a copy of both
        assert letter.agrees([(3, 1), (4, 1)])
        assert not letter.agrees([(0, 8), (8, 8)])


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang here")
def test_only_units_that_have_the_variable_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program mixes units of gcc and clang and of DWARF 4 and 5, in any order."""
    objects = []
    for number, words in enumerate(
        (("gcc", "-gdwarf-4"), ("gcc", "-gdwarf-5"), ("clang", "-gdwarf-4"), ("gcc", "-gdwarf-5"))
    ):
        source = tmp_path / f"unit{number}.c"
        body = f"struct of{number} {{ long first; }} here{number};\n"
        source.write_text(body + ("int main(void) { return 0; }\n" if number == 2 else ""))
        objects.append(tmp_path / f"unit{number}.o")
        subprocess.run([*words, "-c", str(source), "-o", str(objects[-1])], check=True)
    program = tmp_path / "program"
    subprocess.run(["gcc", *map(str, objects), "-o", str(program)], check=True)
    known = {addresses(program)[f"here{number}"]: number for number in range(4)}
    read: list[int] = []
    whole = DebugInfo.whole

    def counted(self: DebugInfo, top: DIE) -> DIE:
        read.append(top.cu.cu_offset)
        return whole(self, top)

    monkeypatch.setattr(DebugInfo, "whole", counted)
    for wanted in ((0,), (1,), (2,), (3,), (3, 0), (0, 1, 2, 3)):
        read.clear()
        info = DebugInfo(program)
        variables = info.variables(at for at, number in known.items() if number in wanted)
        info.close()
        assert {known[at]: typed.name for at, typed in variables.items()} == {
            number: f"struct of{number}" for number in wanted
        }
        assert len(read) == len(wanted)


def test_an_address_that_no_unit_has(tmp_path: Path) -> None:
    info = DebugInfo(compiled(tmp_path, "program", "gcc", "-g"))
    assert info.variables([0x123456789ABC]) == {}
    assert info.variables([]) == {}
    assert not info.damaged
    info.close()
