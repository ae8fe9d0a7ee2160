# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record --exact: locals of functions that start threads or wait for them have names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import COMPILERS, NEEDED, compiled, record

pytestmark = NEEDED

SOURCE = """
#include <pthread.h>

static void *work(void *at)
{
	for (int i = 0; i < 500; i++)
		__atomic_fetch_add((long *)at, 1, __ATOMIC_RELAXED);
	return 0;
}

int main(void)
{
	struct counts {
		long alpha, beta;
	} __attribute__((aligned(64))) local = { 0, 0 };
	pthread_t first, second;

	pthread_create(&first, 0, work, &local.alpha);
	pthread_create(&second, 0, work, &local.beta);
	pthread_join(first, 0);
	pthread_join(second, 0);
	return local.alpha + local.beta != 1000;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_local_of_main_has_its_name(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "local.c"
    source.write_text(SOURCE)
    done = record(compiled(tmp_path / "local", compiler, str(source)))
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout)["variants"][0]["lines"][0]
    assert (line["object"], line["offset"]) == ("main::local", 0)
    fields = {each["field"] for each in line["accesses"] if each["kind"] == "rmw"}
    assert fields == {"main::local.alpha", "main::local.beta"}
