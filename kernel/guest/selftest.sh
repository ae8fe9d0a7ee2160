#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# selftest.sh FOLDER PROGRAM [ARG...]: runs one of the kernel's own tests, in its folder. Exit
# status 4, skip: this series of Linux does not have it.
set -u
cd "/selftests/$1" || exit 4
shift
[ -e "$1" ] || exit 4
# The tests of rseq register it themselves, so glibc must not do it before.
[ "${PWD##*/}" != rseq ] || export GLIBC_TUNABLES=glibc.pthread.rseq=0
# Some tests write to the console, which would break the report's lines.
mount --bind /dev/null /dev/console || exit 1
"$@"
status=$?
umount /dev/console
exit "$status"
