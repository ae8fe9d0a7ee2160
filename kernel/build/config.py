# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage config: merges the .config of a variant from fragments with the kernel's own script.

The kernel's configuration silently drops options whose dependencies are missing. So this stage
looks up every option of a fragment in the result, and a missing one is an error.
"""

import gzip
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from common.errors import UserError, telling, unknown_name
from common.output import write_atomic
from common.programs import call, require
from kernel.arch import X86
from kernel.build.make import Make, run_make, tools
from kernel.layout import Layout
from kernel.source.base import load_base

LAB = "lab"
HOST = "host"
_LOADED = Path("/proc/modules")
_SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
_UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")


@dataclass(frozen=True)
class Configuration:
    """A named configuration: fragments, on top of tinyconfig or of a file of the user's.

    Of the file's modules only those remain that the file ``modules`` lists, as lsmod prints them.
    """

    name: str
    fragments: tuple[Path, ...] = ()
    user_file: Path | None = None
    modules: Path | None = None


def fragment_names(layout: Layout) -> list[str]:
    """Return the names of the fragments that the project contains."""
    return sorted(path.stem for path in (layout.inputs / "config").glob("*.config"))


def fragments_of(layout: Layout, name: str) -> Iterator[Path]:
    """Yield a fragment, then its additions for the architecture and the series of Linux."""
    folder = layout.inputs / "config"
    path = folder / f"{name}.config"
    if not path.is_file():
        raise unknown_name("kernel configuration", name, fragment_names(layout))
    yield path
    for part in (layout.arch.name, f"linux-{load_base(layout).linux}"):
        if (own := folder / part / path.name).is_file():
            yield own


def _of_host(layout: Layout, modules: Path | None) -> Configuration:
    files = (Path(f"/boot/config-{platform.release()}"), Path("/proc/config.gz"))
    file = next((path for path in files if path.is_file()), None)
    if file is None:
        raise UserError(
            f"no {' and no '.join(map(str, files))}: give another configuration with --config"
        )
    if modules is None and not _LOADED.is_file():
        raise UserError(f"no {_LOADED}: give lsmod's output in a file with --modules")
    return Configuration(HOST, tuple(fragments_of(layout, HOST)), file, modules or _LOADED)


def resolve(
    layout: Layout, text: str, of_variant: Sequence[str] = (), modules: Path | None = None
) -> Configuration:
    """Return the configuration that --config names.

    The name may be 'lab', 'lockdep' (lab and one more), 'kasan+no-numa', a file, or 'host': that of
    the running kernel, with the loaded modules, or those in the file ``modules``. The variant's own
    fragments come after lab and before the others, which may override them.
    """
    if modules is not None and not modules.is_file():
        raise UserError(f"no file {modules} with the modules")
    modules = modules and modules.resolve()
    if text == HOST:
        return _of_host(layout, modules)
    # Build trees of all architectures are in one source tree.
    suffix = "" if layout.arch is X86 else f"-{layout.arch.name}"
    if "/" in text or text.endswith(".config"):
        path = Path(text)
        if not path.is_file():
            raise UserError(f"no configuration file {text}")
        name = re.sub(r"[^\w.-]", "-", path.name.removesuffix(".config").lstrip("."))
        base = tuple(fragments_of(layout, HOST)) if modules else ()
        return Configuration(f"user-{name}{suffix}", base, path.resolve(), modules)
    if modules is not None:
        raise UserError(f"--modules is for --config {HOST} or a file, not {text}")
    more = [name for name in text.split("+") if name != LAB]
    names = [LAB, *of_variant, *more]
    fragments = tuple(chain(*(fragments_of(layout, name) for name in names)))
    return Configuration(f"{text}{suffix}", fragments)


def options(text: str) -> dict[str, str]:
    """Return the options that a fragment or a .config sets; "n" for those it lists as not set."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.match(line.rstrip()):
            values[match[1]] = match[2]
        elif match := _UNSET.match(line.rstrip()):
            values[match[1]] = "n"
    return values


# The value of an option that depends on an option that is off.
_NONE = {'""': "n"}


def ineffective(asked: Mapping[str, str], outcome: Mapping[str, str]) -> list[str]:
    """Return the options that differ from the request, as "NAME=asked, is other"."""
    return [
        f"{name}={value}, is {outcome.get(name, 'n')}"
        for name, value in asked.items()
        if outcome.get(name, "n") not in (value, _NONE.get(value))
    ]


# For each option: the program with which the kernel's build compresses the image.
_COMPRESSORS = {
    "CONFIG_KERNEL_BZIP2": "bzip2",
    "CONFIG_KERNEL_LZ4": "lz4",
    "CONFIG_KERNEL_LZO": "lzop",
    "CONFIG_KERNEL_XZ": "xz",
    "CONFIG_KERNEL_ZSTD": "zstd",
}


def _asked(configuration: Configuration) -> dict[str, str]:
    asked: dict[str, str] = {}
    for path in configuration.fragments:
        asked |= options(path.read_text(encoding="utf-8"))
    return asked


def configure(
    layout: Layout, tree: str, configuration: Configuration, *, strict: bool = True
) -> Path:
    """Bring work/src/TREE/build-NAME/.config up to date and return its path.

    The file is written only if it changed, because a new time would cause a full build. The caller
    holds the lock of the tree. Without ``strict`` the tree may lack options that a later step adds.
    """
    require(*tools(layout.arch))
    source = layout.source(tree)
    scratch = layout.make_folder(source / "build-kconfig")
    merged = scratch / ".config"
    name = f"{tree}-{configuration.name}"
    make = Make(source, scratch, f"{name}.config", jobs=1, arch=layout.arch)
    if configuration.user_file is not None:
        with telling(f"cannot read {configuration.user_file}"):
            parts = [
                path.read_bytes() for path in (configuration.user_file, *configuration.fragments)
            ]
        if configuration.user_file.suffix == ".gz":
            parts[0] = gzip.decompress(parts[0])
        merged.write_bytes(b"\n".join(parts))
        run_make(layout, make, ["olddefconfig"])
        if configuration.modules is not None:
            make = replace(make, variables=(f"LSMOD={configuration.modules}",))
            run_make(layout, make, ["localmodconfig"], append=True)
    else:
        run_make(layout, make, ["tinyconfig"])
        script = source / "scripts" / "kconfig" / "merge_config.sh"
        argv: list[str | Path] = [script, "-m", "-Q", "-O", scratch, merged]
        argv += configuration.fragments
        call(argv, cwd=source, env={"KCONFIG_CONFIG": str(merged)}, what="merging fragments")
        run_make(layout, make, ["olddefconfig"], append=True)
    text = merged.read_text(encoding="utf-8")
    chosen = options(text)
    wrong = ineffective(_asked(configuration), chosen)
    if wrong and strict:
        raise UserError(
            f"configuration {configuration.name} of {tree}: the kernel does not take "
            f"{'; '.join(wrong)}: each depends on an option that is off, or is selected by another"
        )
    # Otherwise the build would fail minutes later, after everything was compiled.
    require(*(tool for option, tool in _COMPRESSORS.items() if chosen.get(option) == "y"))
    path = layout.make_folder(layout.objects(tree, configuration.name)) / ".config"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_atomic(path, text)
    _link(layout, tree, configuration.name)
    return path


def _link(layout: Layout, tree: str, name: str) -> None:
    link = layout.objects_link(tree, name)
    layout.make_folder(link.parent)
    if not link.is_symlink():
        link.symlink_to(Path("..") / "src" / tree / f"build-{name}")
