#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Tell what the kernel made of this plan. Status 0: every partition is in force; 1: one is not.
set -eu
exec sh "$(dirname -- "$0")/partitions.sh" verify "$@"
