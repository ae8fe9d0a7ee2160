# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predicts the ratios of two kernels' figures on a measured machine, on any host."""

from collections.abc import Iterator, Mapping

from common.errors import UserError
from common.progress import Ticker, silent
from model.run.run import execute, merge, plan_run
from model.run.run_options import RunOptions, make_request
from trial.form import Trial

# For each workload of the trial: the experiment that predicts it, its inputs, and the figure.
_PREDICTED: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "stress-ng-cyclic": ("cyclic", ("push_ipi=0",), "wakeups_per_second"),
    "stress-ng-mutex": ("mutex", ("push_ipi=0",), "ops_per_second"),
    "pi-stress": ("pi", (), "inversions_per_second"),
    "encode-aligned": ("ffmpeg-rt", ("push_ipi=0",), "fps"),
    "encode-straddling": ("ffmpeg-rt", ("push_ipi=0", "offset=4"), "fps"),
    "encode-unpinned": ("ffmpeg-rt", ("push_ipi=0", "pinned=0"), "fps"),
}
# The layouts of the model that stand for the trial's kernels.
_LAYOUTS = {"stock": "stock", "series": "shard"}


def can_predict(trial: Trial) -> bool:
    """Whether the model has both kernels of a trial."""
    return [kernel.name for kernel in trial.kernels] == list(_LAYOUTS)


def predicted_ratios(
    trial: Trial, machine: str | None, tick: Ticker = silent
) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield workload and part, and the ratio that the model predicts, for one seed.

    ``machine`` names a machine file.
    """
    if not can_predict(trial):
        raise UserError(
            f"the model predicts {' against '.join(_LAYOUTS)} only, and this trial compares "
            f"{' and '.join(kernel.name for kernel in trial.kernels)}"
        )
    if machine is None:
        raise UserError(
            "give the machine's file with --machine: './schedshard machine list' lists known ones, "
            "and './schedshard machine import' makes one from a trial with costs"
        )
    measured = {figure.name for figure in trial.figures if not figure.part}
    cpus = len(trial.host.cpus)
    for name in sorted(measured & set(_PREDICTED)):
        experiment, settings, metric = _PREDICTED[name]
        layouts = tuple(_LAYOUTS.values())
        options = RunOptions(experiment, machine, cpus, variants=layouts, settings=settings)
        plan = plan_run(make_request(options))
        made = merge(plan, execute(plan, tick)).to_data()
        values = {v["name"]: float(v["metrics"][metric]) for v in made["variants"]}
        first, second = (values[layout] for layout in layouts)
        if first > 0:
            yield (name, ""), second / first
