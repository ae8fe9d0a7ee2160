#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# selftest.sh FOLDER PROGRAM [ARG...]: one of the kernel's own tests, in the folder where it lies.
# 4, skip: this series of Linux does not have it.
set -u
cd "/selftests/$1" || exit 4
shift
[ -e "$1" ] || exit 4
# Those of rseq register it themselves; else glibc does before them.
[ "${PWD##*/}" != rseq ] || export GLIBC_TUNABLES=glibc.pthread.rseq=0
# Some write to the console, in the middle of the report's lines.
mount --bind /dev/null /dev/console || exit 1
"$@"
status=$?
umount /dev/console
exit "$status"
