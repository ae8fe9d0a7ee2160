# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a sweep's points: on this host's CPUs, or on the workers of a Dask cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from distributed import Client, Future, as_completed

from common.errors import UserError
from common.progress import Ticker, silent
from common.tool import run_many
from model.run.run import point_argv
from model.run.sweep.file import add_rows
from model.run.sweep.sweep import Row, SweepPoint, make_row

SAVE_EVERY_SECONDS = 5.0
CONNECT_SECONDS = 10
Done = Callable[[SweepPoint, Any], None]


def run_point(argv: list[str], machine: bytes, sha256: str) -> dict[str, Any]:
    """Run the simulator on a worker with this machine file.

    Return {"raw": its JSON} or {"error": a sentence}. The sweep sends this function as code, so
    that workers need not have this package: it uses only the standard library. The simulator must
    be at the same path with the same contents, else rows of two programs would have one name.
    """
    import hashlib
    import json
    import pathlib
    import socket
    import subprocess
    import tempfile

    binary = pathlib.Path(argv[0])
    host = socket.gethostname()
    try:
        digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    except OSError as error:
        return {"error": f"worker {host} has no {binary}: {error.strerror}", "status": 2}
    if digest != sha256:
        return {
            "error": f"{binary} of worker {host} is another program (sha256 {digest[:12]}, "
            f"here {sha256[:12]}): build the same commit there",
            "status": 2,
        }
    with tempfile.TemporaryDirectory(prefix="schedshard-") as directory:
        place = argv.index("--machine") + 1
        copy = pathlib.Path(directory) / pathlib.Path(argv[place]).name
        copy.write_bytes(machine)
        call = [*argv[:place], str(copy), *argv[place + 1 :]]
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        words = lines[-1] if lines else f"exit status {done.returncode}"
        return {"error": f"worker {host}: {words}", "status": 2 if done.returncode == 2 else 1}
    try:
        raw = json.loads(done.stdout)
        return {"raw": {"metrics": raw["metrics"], "simulator": raw["simulator"]}}
    except (ValueError, KeyError, TypeError) as error:
        return {"error": f"worker {host}: no result from {binary.name}: {error}", "status": 1}


# Functions of the main program are pickled with their code. All others are pickled by the name of a
# module, which workers would need.
run_point.__module__ = "__main__"


def _connected(address: str) -> Client:
    """Return a client of a user's cluster that has a worker."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    hint = "give the address that dask scheduler prints, as tcp://HOST:8786"
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError) as error:
        raise UserError(
            f"--scheduler {address}: no Dask scheduler answers there; {hint}"
        ) from error
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"--scheduler {address}: {error}; {hint}") from error
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError as error:
        client.close()
        raise UserError(f"--scheduler {address}: the scheduler has no workers") from error
    return client


def _there(points: Sequence[SweepPoint], address: str, done: Done) -> None:
    """Run points on a cluster. Points that still run are cancelled at the end."""
    with _connected(address) as client:
        paths = [point.plan.request.machine.flat for point in points]
        files = {path: path.read_bytes() for path in set(paths)}
        futures = client.map(
            run_point,
            [point_argv(point.plan, point.point) for point in points],
            [files[path] for path in paths],
            [point.known["simulator_sha256"] for point in points],
            pure=False,
        )
        pending = {future.key: point for future, point in zip(futures, points, strict=True)}
        for future in as_completed(futures):
            point = pending[future.key]
            done(point, _outcome(future, point))


def execute(
    points: Sequence[SweepPoint], out: Path, scheduler: str | None, tick: Ticker = silent
) -> list[Row]:
    """Run points and add their rows to ``out`` as they arrive. Return the rows.

    The first failed point ends the sweep. Finished rows are kept in any case.
    """
    rows: list[Row] = []
    unsaved: list[Row] = []
    saved_at = time.monotonic()

    def done(point: SweepPoint, raw: Any) -> None:
        nonlocal saved_at
        unsaved.append(make_row(point, raw))
        rows.append(unsaved[-1])
        tick(
            f"{point.known['machine']} {point.known['experiment']} "
            f"{point.known['variant']} on {point.known['cpus']} CPUs"
        )
        if time.monotonic() - saved_at >= SAVE_EVERY_SECONDS:
            add_rows(out, unsaved)
            unsaved.clear()
            saved_at = time.monotonic()

    try:
        if scheduler is not None:
            _there(points, scheduler, done)
        else:
            argv = [point_argv(point.plan, point.point) for point in points]
            run_many(argv, on_result=lambda index, raw: done(points[index], raw))
    finally:
        if unsaved:
            add_rows(out, unsaved)
    return rows


def _outcome(future: Future[Any], point: SweepPoint) -> Any:
    """Return the simulator's JSON. Raise a UserError for a failure or a worker lost repeatedly."""
    name = f"{point.known['experiment']} {point.known['variant']} on {point.known['cpus']} CPUs"
    if future.status != "finished":
        error = future.exception() if future.status == "error" else None
        raise UserError(f"{name}: {type(error).__name__}: {error or future.status}", status=1)
    outcome = future.result()
    if "error" in outcome:
        raise UserError(f"{name}: {outcome['error']}", status=int(outcome["status"]))
    return outcome["raw"]
