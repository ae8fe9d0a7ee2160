# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""No file of a patch includes a header that only a later patch adds.

Kernels with a part of the steps are built without most KUnit suites. So only this test notices a
suite that comes too early.
"""

import re
from pathlib import PurePosixPath

import pytest

from kernel.layout import Layout
from kernel.source.recipe import Step, load_recipe

INCLUDE = re.compile(r'^#include (?:"|<linux/sched/)([\w./]+)[">]', re.MULTILINE)


def files_of(layout: Layout, step: Step) -> dict[str, str]:
    """Paths in Linux of the step's files in C, and their texts there."""
    project = layout.project
    sources = dict(step.copy)
    sources |= {f"kernel/overlay/{name}": name for name in step.overlay}
    texts = {
        path: (project / source).read_text(encoding="utf-8")
        for source, path in sources.items()
        if path.endswith((".c", ".h")) and (project / source).is_file()
    }
    for replacement in step.replace:
        texts[replacement.file] = texts[replacement.file].replace(replacement.text, replacement.by)
    return texts


@pytest.mark.parametrize("linux", ["7.3", "6.12"])
def test_no_step_includes_a_header_of_a_later_one(linux: str) -> None:
    layout = Layout(linux=linux)
    steps = [files_of(layout, step) for step in load_recipe(layout).steps]
    first: dict[str, int] = {}
    for number, texts in enumerate(steps):
        for path in texts:
            first.setdefault(PurePosixPath(path).name, number)
    assert first["rto.h"] > first["cpu_slot.h"]
    early = [
        f"{path} of step {number + 1} includes {name} of step {first[name] + 1}"
        for number, texts in enumerate(steps)
        for path, text in texts.items()
        for name in (PurePosixPath(header).name for header in INCLUDE.findall(text))
        if first.get(name, 0) > number
    ]
    assert early == []
