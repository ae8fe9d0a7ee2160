# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a sweep's points through Dask: on this host's CPUs, or on a cluster's workers."""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, LocalCluster, as_completed

from common.errors import UserError
from common.progress import Ticker, silent
from common.tool import Running, run_tool
from model.run.run import point_argv
from model.run.sweep.file import add_rows
from model.run.sweep.remote import run_point
from model.run.sweep.sweep import Row, SweepPoint, make_row

SAVE_EVERY_SECONDS = 5.0
CONNECT_SECONDS = 10
_LOOPBACK = "127.0.0.1:0"
Submit = Callable[[SweepPoint], Future[Any]]


# The running simulators of local sweeps, by sweep. Tasks contain only the name, because Dask
# pickles its arguments, also for workers in this process.
_RUNNING: dict[str, Running] = {}


def _here(argv: list[str], sweep: str) -> dict[str, Any]:
    """Run one point on this host.

    Errors are returned: Dask would print an exception's traceback.
    """
    try:
        return {"raw": run_tool(argv, _RUNNING[sweep])}
    except UserError as error:
        return {"error": str(error), "status": error.status}
    except KeyboardInterrupt:
        return {"error": "interrupted", "status": 1}


@contextmanager
def local_cluster() -> Iterator[Submit]:
    """Yield the submit function of threads in this process, one per CPU. Each runs a simulator."""
    sweep = uuid4().hex
    running = _RUNNING[sweep] = Running()
    with ExitStack() as stack:
        stack.callback(_RUNNING.pop, sweep)
        scratch = stack.enter_context(TemporaryDirectory(prefix="schedshard-dask-"))
        stack.enter_context(
            dask.config.set(
                {
                    "temporary-directory": scratch,
                    "distributed.scheduler.http.routes": [],
                    "distributed.worker.http.routes": [],
                }
            )
        )
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=1,
                threads_per_worker=os.cpu_count() or 1,
                processes=False,
                # Scheduler and worker always listen for HTTP, by default on every interface.
                scheduler_kwargs={"dashboard_address": _LOOPBACK, "dashboard": False},
                dashboard_address=None,
                worker_dashboard_address=_LOOPBACK,
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
        )
        client = stack.enter_context(Client(cluster))
        # This ends the simulators before the cluster is closed, which would wait for them.
        stack.callback(running.stop)
        yield lambda point: client.submit(
            _here, point_argv(point.plan, point.point), sweep, pure=False
        )


@contextmanager
def _cluster(address: str) -> Iterator[Submit]:
    """Yield the submit function of a user's cluster.

    Points that still run are cancelled at the end.
    """
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
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise UserError(f"--scheduler {address}: the scheduler has no workers") from error
        files: dict[Path, bytes] = {}

        def submit(point: SweepPoint) -> Future[Any]:
            path = point.plan.request.machine.path
            if path not in files:
                files[path] = path.read_bytes()
            return client.submit(
                run_point,
                point_argv(point.plan, point.point),
                files[path],
                point.known["simulator_sha256"],
                pure=False,
            )

        yield submit


def execute(
    points: Sequence[SweepPoint], out: Path, scheduler: str | None, tick: Ticker = silent
) -> list[Row]:
    """Run points and add their rows to ``out`` as they arrive. Return the rows.

    The first failed point ends the sweep. Finished rows are kept in any case.
    """
    rows: list[Row] = []
    unsaved: list[Row] = []
    saved_at = time.monotonic()
    try:
        with _cluster(scheduler) if scheduler is not None else local_cluster() as submit:
            pending = {submit(point): point for point in points}
            for future in as_completed(list(pending)):
                point = pending.pop(future)
                unsaved.append(make_row(point, _outcome(future, point)))
                rows.append(unsaved[-1])
                tick(
                    f"{point.known['machine']} {point.known['experiment']} "
                    f"{point.known['variant']} on {point.known['cpus']} CPUs"
                )
                if time.monotonic() - saved_at >= SAVE_EVERY_SECONDS:
                    add_rows(out, unsaved)
                    unsaved, saved_at = [], time.monotonic()
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
