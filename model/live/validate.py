# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage validate: measures this host, or reads the measurement of one (docs/validate.md)."""

import sys
from collections.abc import Mapping
from typing import Any

from common.errors import UserError
from common.extra import need_sweep
from common.formats import LIVE, VALIDATE
from common.output import check_writable, write_atomic
from common.provenance import tool_versions
from model.live.agreement import Verdict, saved_verdict
from model.live.cpus import allowed_cpus
from model.live.host import known_machine, live_topology
from model.live.measure import Host, LiveRequest, bench_ping_pong, bench_primitives
from model.machines.hostfile import host_path, make_parent
from model.machines.making.measure import MeasureRequest, measure_machine
from model.machines.presets import load_machine

PAIRS_A_CLASS = 3
# Ping-pong gets one part in this many of the time.
PAIRS_SHARE = 4
ONCE = ("format", "machine_file", "host", "provenance")


def measure_host(limit: int) -> dict[str, Any]:
    """Measure this host within ``limit`` seconds, after its machine file if that does not exist."""
    topology = live_topology()
    machine = known_machine(topology)
    if machine is None:
        _make_machine_file()
        machine = load_machine("host")
    host = Host(topology, allowed_cpus(topology), machine, known=True)
    for_pairs = max(1, limit // PAIRS_SHARE)
    results = []
    if host.allowed.most > 1:
        request = LiveRequest(limit=for_pairs, pairs_a_class=PAIRS_A_CLASS)
        results.append(bench_ping_pong(request, host))
    else:
        print(f"schedshard: no ping-pong, which needs two CPUs: {host.allowed.reason}",
              file=sys.stderr)  # fmt: skip
    results.append(bench_primitives(LiveRequest(limit=max(1, limit - for_pairs)), host))
    return whole(results)


def _make_machine_file() -> None:
    path = host_path()
    print(f"schedshard: no {path} yet: this host is measured first", file=sys.stderr)
    make_parent(path)
    check_writable(path)
    need_sweep("to measure this host's machine file")
    write_atomic(path, measure_machine(MeasureRequest()).text)


def whole(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of one host as the content of one file. Their common part appears once."""
    first = results[0]
    return {
        "format": VALIDATE,
        "host": first["host"],
        "machine_file": first["machine_file"],
        "measured": [_without(result, ONCE) for result in results],
        "provenance": first["provenance"],
    }


def _without(result: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in keys}


def judged(data: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Return a file's content, of either format, with the verdict of this version of the model."""
    if data["format"] == LIVE:
        data = whole([dict(data)])
    if data["format"] != VALIDATE:
        raise UserError(f"format is {data['format']!r}, which cannot be judged", status=1)
    return {
        **_without(data, ("verdict", "judged_by")),
        "verdict": saved_verdict(verdict).to_data(),
        "judged_by": tool_versions(),
    }
