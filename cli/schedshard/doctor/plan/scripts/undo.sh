#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Put back what apply.sh changed.
set -eu
exec sh "$(dirname -- "$0")/partitions.sh" undo "$@"
