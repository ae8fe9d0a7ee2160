#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# storm SECONDS SEED: runs the RT storm while CPUs go offline and online and partitions come and go.
set -u
seconds=$1

/bin/churn "$seconds" rt-storm &
churn=$!
/bin/rt-storm "$seconds" 0 "$2"
storm=$?
wait "$churn"
churned=$?
# 4: one CPU, nothing to take away; the storm itself has run.
[ "$churned" -eq 4 ] && churned=0
[ "$storm" -eq 0 ] && [ "$churned" -eq 0 ]
