#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Make the partitions of this plan, as root. undo.sh puts everything back.
set -eu
exec sh "$(dirname -- "$0")/partitions.sh" apply "$@"
