# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The systemd unit that watches this host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError

# Paths that systemd takes literally, without quotes, specifiers or variables.
_PLAIN = re.compile(r"/[A-Za-z0-9/._+@-]*")

_UNIT = """\
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# ./schedshard doctor unit > /etc/systemd/system/schedshard-doctor.service
# systemctl enable --now schedshard-doctor
[Unit]
Description=What shared cache lines of the scheduler cost this machine

[Service]
ExecStart={command} --watch --every 60 --threshold 5 --rounds 3 --out {out}
Restart=on-failure
RestartSec=60
# systemctl stop ends it with this status.
SuccessExitStatus=143
Nice=10
# It reads /proc and /sys, and writes one file. root may read the scheduler's features, and count
# wake-ups with perf; no other right is needed. bpftrace 0.17 wants CAP_SYS_ADMIN as well.
CapabilityBoundingSet=CAP_PERFMON CAP_BPF
ProtectSystem=strict
ReadWritePaths={folder}
# Each look writes its lists there. bpftrace locks memory before Linux 5.11.
PrivateTmp=yes
LimitMEMLOCK=infinity
PrivateNetwork=yes
NoNewPrivileges=yes
MemoryMax=512M
CPUQuota=50%

[Install]
WantedBy=multi-user.target
"""


def unit_text(command: Sequence[str], out: Path) -> str:
    """Return the unit's text. ``command`` runs doctor by absolute paths; doctor writes ``out``."""
    paths = [("the program", word) for word in command if "/" in word]
    for what, value in (*paths, ("--out", str(out))):
        if _PLAIN.fullmatch(value) is None:
            raise UserError(
                f"{what} is '{value}': a unit needs an absolute path of letters, digits and "
                "/ . _ + @ -"
            )
    return _UNIT.format(command=" ".join(command), out=out, folder=out.parent)
