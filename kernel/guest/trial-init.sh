#!/bin/busybox sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# shellcheck shell=dash
# The first process of a trial's system, which lives in memory. It mounts what the kernel provides, and no disk. When
# the trial has ended, whatever the reason, it starts the machine anew: firmware then boots what was there before.
export PATH=/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
for pair in proc:/proc sysfs:/sys devtmpfs:/dev tmpfs:/tmp debugfs:/sys/kernel/debug; do
	/bin/busybox mkdir -p "${pair#*:}"
	/bin/busybox mount -t "${pair%%:*}" none "${pair#*:}"
done
/bin/busybox mkdir -p /dev/shm /dev/mqueue
/bin/busybox mount -t tmpfs none /dev/shm
/bin/busybox mount -t mqueue none /dev/mqueue
cd /lib/schedshard || exec /bin/busybox reboot -f
/bin/python3 -S -m kernel.trial.inside </dev/null >/dev/console 2>&1
echo "trial: the machine restarts" >/dev/kmsg
/bin/busybox sleep 2
/bin/busybox reboot -f
