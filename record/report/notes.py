# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes the notes below a report: what the recording lacks, and how to get it."""

from collections.abc import Mapping, Sequence
from typing import Any

from model.results.raw import Line
from record.names.memory import Memory
from record.names.variables import MOST_BYTES
from record.program.program import debug_package_of

_HOW_TO_NAME = {
    "Java": "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit name it (Java 17)",
    "Node": "--perf-basic-prof names it",
}


def notes(
    dynamic: bool, meta: Mapping[str, Any], memory: Memory, lines: Sequence[Line]
) -> list[str]:
    """Return a sentence per part that the recording lacks, and the way to get it if known."""
    gaps = []
    if not dynamic:
        gaps.append("the program is linked statically, so its allocations are not known")
    if meta.get("children"):
        count = meta["children"]
        gaps.append(f"{count} child process{'es' if count > 1 else ''} ran without being recorded")
    if meta.get("executes"):
        gaps.append("the program executed another program, which only --follow records")
    silent = sum(not reported for _, _, _, reported in meta["images"])
    if silent:
        whole = len(meta["images"])
        gaps.append(f"{silent} of {whole} processes were killed before they reported their names")
    if meta["lost_accesses"]:
        lost = meta["lost_accesses"]
        gaps.append(f"{lost:,} accesses were not seen: the program uses too many pages")
    if meta.get("lost_sites"):
        gaps.append("only 1,024 call paths per instruction are kept; other paths show no calls")
    for path in memory.damaged:
        gaps.append(f"the debug information of {path} could not be read whole: types are missing")
    for path in memory.cut:
        most = MOST_BYTES >> 20
        gaps.append(f"{path} has more than {most} MB of debug information: types may be missing")
    pcs = {access.instruction for line in lines[:10] for access in line.accesses}
    for module in memory.modules_at(pcs):
        if module.debug is not None:
            continue
        names = "addresses only" if not module.functions else "functions, no source lines"
        package = debug_package_of(module.path)
        hint = f": the package {package} may have it" if package else ": compile with -g"
        gaps.append(f"no debug information for {module.path.name} ({names}){hint}")
    for runtime in memory.made_code(pcs):
        if runtime in _HOW_TO_NAME:
            gaps.append(f"code compiled by {runtime} has no names here: {_HOW_TO_NAME[runtime]}")
    if meta.get("unseen_blocks"):
        gaps.append(f"{meta['unseen_blocks']:,} blocks of code were not seen: threads shared a CPU")
    return gaps
