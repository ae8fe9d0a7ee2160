// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Trees of /sys: the input is the text of lib/tests/tree.h, written as files and read back. */
#include <stdio.h>
#include <stdlib.h>
#include "fuzz.h"
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shard_topo *topo = NULL;
	struct shard_err err = { "" };
	char root[64];
	int ret;

	FUZZ_CHECK(tree_make(root));
	tree_write(root, (const char *)data, size, 400);
	ret = shard_topo_from_sysfs(&topo, root, &err);
	tree_remove(root);
	if (ret)
		fuzz_check_refusal(ret, &err);
	else
		fuzz_check_topo(topo);
	shard_topo_free(topo);
	return 0;
}
