# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: objects have the types of the pointers that hooks receive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import NEEDED, compiled, each_compiler, record

pytestmark = NEEDED

copied = each_compiler("copied.c")


@pytest.mark.parametrize(
    ("kind", "type_name", "fields"),
    [("fields", "struct message", {"number", "kind"}), ("bytes", "", {""})],
)
def test_a_copy_says_nothing_of_types(
    copied: Path, kind: str, type_name: str, fields: set[str]
) -> None:
    """A copy calls one hook for both sides, whose first argument is the target."""
    line = json.loads(record(copied, kind).stdout)["variants"][0]["lines"][0]
    assert line["object"].startswith("heap: main (")
    assert (line["type"], {access["field"] for access in line["accesses"]}) == (type_name, fields)


WORKERS = """
#include <atomic>
#include <pthread.h>
struct worker { int id; std::atomic<long> done; };
struct job {
	worker *own = new worker();
	__attribute__((noinline)) void run() { for (int i = 0; i < 500; i++) own->done.fetch_add(1); }
};
static void *work(void *it) { static_cast<job *>(it)->run(); return it; }
int main()
{
	pthread_t t[4];
	static job all[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], nullptr, work, &all[i]);
	for (auto &x : t) pthread_join(x, nullptr);
}
"""


def test_a_method_of_a_member_does_not_hide_the_object(tmp_path: Path) -> None:
    """Regression: the hook's register held ``this`` of the inlined fetch_add() as well."""
    source = tmp_path / "workers.cpp"
    source.write_text(WORKERS)
    made = compiled(tmp_path / "workers", "g++", str(source), language="c++")
    line = json.loads(record(made).stdout)["variants"][0]["lines"][0]
    assert (line["type"], line["accesses"][0]["field"]) == ("worker", "done")
