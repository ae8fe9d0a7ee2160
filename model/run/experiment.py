# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads model/experiments/NAME.toml, the declarative part of an experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from common.errors import UserError, check_names
from common.paths import EXPERIMENTS
from model.run.common_entries import read_experiment

CALIBRATION = (
    "calibration"  # the role of a published curve on which numbers of the model were chosen
)


@dataclass(frozen=True)
class Band:
    """How close a prediction must be to the published figure.

    ``within``: |predicted - published| / published is at most this.
    ``factor``: predicted / published is between 1 / factor and factor.
    """

    within: float | None = None
    factor: float | None = None

    def holds(self, predicted: float, published: float) -> bool:
        """Whether the prediction is inside the band."""
        ratio = predicted / published
        if self.within is not None and abs(ratio - 1.0) > self.within:
            return False
        return self.factor is None or 1.0 / self.factor <= ratio <= self.factor

    def words(self) -> str:
        """Return the band as text for a table."""
        if self.within is not None:
            return f"within {self.within:.0%}"
        return f"within a factor of {self.factor:g}"


@dataclass(frozen=True)
class Metric:
    """One figure of an experiment that has several.

    ``reported`` is its name in the simulator's output. With ``relative`` it is divided by the
    baseline's figure. With unit "percent" it is a fraction, with errors in points.
    """

    name: str
    title: str
    unit: str
    reported: str
    relative: bool = False


@dataclass(frozen=True)
class Variant:
    """One layout under test.

    ``published_metrics`` and ``accept_metrics`` map a metric to its published figure, and to the
    largest accepted difference. ``calibrated`` lists metrics on which a parameter was chosen.
    ``hold``: it has a time between acquire and release (--hold). ``on_request``: the variant runs
    only if it is named. ``kind``: the kind of operation, which selects the model's error.
    """

    name: str
    title: str
    published: float | None = None
    published_var: float | None = None
    published_points: bool = False
    accept: Band | None = None
    lacks: str | None = None
    params: tuple[tuple[str, float], ...] = ()
    published_pairs: bool = False
    hold: bool = False
    published_metrics: Mapping[str, float] = field(default_factory=dict)
    accept_metrics: Mapping[str, float] = field(default_factory=dict)
    calibrated: tuple[str, ...] = ()
    on_request: bool = False
    kind: str = "workload"


@dataclass(frozen=True)
class CalibratedOn:
    """The published figure on which a parameter is chosen: a metric of a variant."""

    variant: str
    metric: str


# "switch": 1 is on, 0 is off. "whole": a whole number, because the C body uses it as a count and
# would drop a fraction.
TAKES = ("number", "switch", "whole")


@dataclass(frozen=True)
class Param:
    """One input of the body, with its source.

    The true value may lie between ``low`` and ``high``. Both are None for a design choice.
    ``whole``: all three are whole numbers. ``takes`` says which values make sense: one of TAKES.
    """

    name: str
    value: float
    unit: str
    source: str
    low: float | None = None
    high: float | None = None
    whole: bool = False
    calibrated_on: CalibratedOn | None = None
    takes: str = "number"


@dataclass(frozen=True)
class PublishedPoint:
    """A published figure at a number of threads, in nanoseconds per operation."""

    threads: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PublishedPair:
    """Published nanoseconds per operation for two CPUs of one latency class: median and spread."""

    variant: str
    latency_class: str
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class CurveBand:
    """The largest median error and single error of a curve, from a number of threads on."""

    median: float
    worst: float
    from_threads: int


@dataclass(frozen=True)
class PublishedLine:
    """Published cycles per load of one line of an object, lowest and highest.

    Lines count from 1.
    """

    variant: str
    object: str
    line: int
    low: float
    high: float


@dataclass(frozen=True)
class Published:
    """Figures that others measured on one machine, and whether the model was fitted to them.

    ``pairs`` are of CPU ``from_cpu`` with others, and ``accept_pairs`` is the band of each pair.
    """

    machine: str
    role: str
    source: str
    points: tuple[PublishedPoint, ...] = ()
    accept: CurveBand | None = None
    lines: tuple[PublishedLine, ...] = ()
    pairs: tuple[PublishedPair, ...] = ()
    from_cpu: int = 0
    accept_pairs: Band | None = None


@dataclass(frozen=True)
class Experiment:
    """Everything about an experiment except its C body.

    ``sweep``: "threads" makes a curve, "pairs" has points of two CPUs. ``published`` has one entry
    per machine, of this experiment or of ``published_from``. ``options`` are options of `run` that
    only some experiments have.
    """

    name: str
    title: str
    path: Path
    machine: str
    baseline: str
    sweep: str | None
    variants: tuple[Variant, ...]
    params: tuple[Param, ...]
    published: tuple[Published, ...]
    metrics: tuple[Metric, ...] = ()
    published_from: str | None = None
    options: tuple[str, ...] = ()

    def published_on(self, machine: str) -> Published | None:
        """Return the figures that others measured on a machine, or None."""
        return next((known for known in self.published if known.machine == machine), None)

    @property
    def calibrated(self) -> Param | None:
        """Return the parameter whose value was fitted to a published figure, or None."""
        return next((param for param in self.params if param.calibrated_on is not None), None)

    def variant(self, name: str) -> Variant:
        """Return the variant with a name. Raise a UserError for an unknown name."""
        by_name = {variant.name: variant for variant in self.variants}
        check_names(f"variant of {self.name}", [name], by_name)
        return by_name[name]


def experiment_names() -> list[str]:
    """Return the names of the project's experiments."""
    return sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))


def load_experiment(name: str) -> Experiment:
    """Return the experiment in model/experiments/NAME.toml."""
    check_names("experiment", [name], experiment_names())
    return parse_experiment(EXPERIMENTS / f"{name}.toml")


def _with_calibration() -> list[str]:
    """Return the experiments whose files contain the word, as reading all takes a while."""
    names = experiment_names()
    return [name for name in names if CALIBRATION in (EXPERIMENTS / f"{name}.toml").read_text()]


def protocol_calibration() -> str:
    """Return the published curves on which the simulator's constants were chosen, with sources."""
    curves = [
        f"{experiment.name} on {known.machine} ({known.source})"
        for experiment in map(load_experiment, _with_calibration())
        if experiment.published_from is None
        for known in experiment.published
        if known.role == CALIBRATION
    ]
    return "; ".join(curves) or "none"


def parse_experiment(path: Path) -> Experiment:
    """Return the experiment in a file. Raise a UserError that names a wrong key."""
    try:
        return _experiment(path, read_experiment(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path}: {what}") from error


def _experiment(path: Path, data: dict[str, Any]) -> Experiment:
    if data["schema"] != 1:
        raise ValueError(f"schema is {data['schema']}, this version reads schema 1")
    variants = tuple(_variant(entry) for entry in data["variant"])
    names = [variant.name for variant in variants]
    if not names or len(set(names)) != len(names):
        raise ValueError("variants must exist and have different names")
    baseline = str(data.get("baseline", names[0]))
    if baseline not in names:
        raise ValueError(f"baseline '{baseline}' is not one of the variants")
    sweep = data.get("sweep")
    if sweep not in (None, "threads", "pairs"):
        raise ValueError(f'sweep is \'{sweep}\': it must be "threads" or "pairs"')
    options = tuple(str(name) for name in data.get("options", ()))
    if not set(options) <= OPTIONS:
        known = ", ".join(sorted(OPTIONS))
        raise ValueError(f"options are {', '.join(options)}: known are {known}")
    params = tuple(_param(entry) for entry in data.get("param", ()))
    metrics = tuple(_metric(entry) for entry in data.get("metric", ()))
    published_from = data.get("published_from")
    published = (
        _published_list(data.get("published", ()))
        if published_from is None
        else load_experiment(str(published_from)).published
    )
    _check_metrics(metrics, variants, published)
    _check_calibrations(params, variants, metrics)
    if metrics and sweep is not None:
        raise ValueError("an experiment with [[metric]] cannot sweep threads or pairs")
    return Experiment(
        name=str(data["name"]),
        title=str(data["title"]),
        path=path,
        machine=str(data["machine"]),
        baseline=baseline,
        sweep=sweep,
        variants=variants,
        params=params,
        published=published,
        metrics=metrics,
        published_from=None if published_from is None else str(published_from),
        options=options,
    )


# Options of `run` that only some experiments have.
OPTIONS = frozenset(["op", "from", "home", "hold", "work", "lines", "threads"])


def _param(entry: dict[str, Any]) -> Param:
    name = str(entry["name"])
    given = [key for key in ("low", "high") if key in entry]
    if len(given) == 1:
        raise ValueError(f"param '{name}' has '{given[0]}' alone: a range has low and high")
    value, low, high = (_optional(entry.get(key)) for key in ("value", "low", "high"))
    if value is None:
        raise KeyError("value")
    if low is not None and high is not None and not low <= value <= high:
        raise ValueError(
            f"param '{name}' is {value:g} with the range {low:g} to {high:g}: "
            "give low <= value <= high"
        )
    takes = str(entry.get("takes", "number"))
    if takes not in TAKES:
        raise ValueError(
            f"param '{name}' has takes = '{takes}': give {', '.join(TAKES[:-1])} or {TAKES[-1]}"
        )
    if takes == "switch" and (value not in (0, 1) or low is not None):
        raise ValueError(f"param '{name}' is a switch: its value is 0 or 1, without a range")
    whole = all(isinstance(entry.get(key, 0), int) for key in ("value", "low", "high"))
    if takes == "whole" and not whole:
        raise ValueError(f"param '{name}' takes whole numbers: write each without a decimal point")
    chosen = entry.get("calibrated_on")
    return Param(
        name=name,
        value=value,
        unit=str(entry.get("unit", "")),
        source=str(entry["source"]),
        low=low,
        high=high,
        whole=whole,
        calibrated_on=_made(CalibratedOn, chosen) if chosen is not None else None,
        takes=takes,
    )


def _check_calibrations(
    params: tuple[Param, ...], variants: tuple[Variant, ...], metrics: tuple[Metric, ...]
) -> None:
    chosen = [param for param in params if param.calibrated_on is not None]
    if len(chosen) > 1:
        raise ValueError("only one param can have calibrated_on")
    absolute = {metric.name for metric in metrics if not metric.relative}
    for param in chosen:
        on = param.calibrated_on
        known = {v.name: v.published_metrics for v in variants}
        if on is not None and on.metric not in absolute.intersection(known.get(on.variant, ())):
            raise ValueError(
                f"param '{param.name}' is calibrated on '{on.metric}' of '{on.variant}': "
                "name a published metric that is not relative"
            )
        if param.low is None or param.low <= 0:
            raise ValueError(f"param '{param.name}' is calibrated: give low > 0 and high")


def _metric(entry: dict[str, Any]) -> Metric:
    name, title, unit = (str(entry[key]) for key in ("name", "title", "unit"))
    relative = bool(entry.get("relative_to_baseline", False))
    return Metric(name, title, unit, str(entry.get("from", name)), relative)


# The keys of a variant in a run's JSON: a metric with such a name would hide the key.
RESERVED = frozenset([
    "name", "title", "published", "error", "accept", "accepted", "calibrated", "lacks", "metrics",
    "lines", "interval", "intervals", "published_inside",
])  # fmt: skip


def _check_metrics(
    metrics: tuple[Metric, ...], variants: tuple[Variant, ...], published: tuple[Published, ...]
) -> None:
    names = [metric.name for metric in metrics]
    if len(set(names)) != len(names):
        raise ValueError("metrics must have different names")
    for name in names:
        if name in RESERVED:
            raise ValueError(f"a metric cannot be called '{name}'")
    for variant in variants:
        given = {*variant.published_metrics, *variant.accept_metrics, *variant.calibrated}
        for name in sorted(given.difference(names)):
            raise ValueError(f"variant '{variant.name}' names '{name}', which is not a [[metric]]")
    known = {variant.name for variant in variants}
    for entry in published:
        of = [("line", line.variant) for line in entry.lines]
        of += [("pair", pair.variant) for pair in entry.pairs]
        for what, name in of:
            if name not in known:
                raise ValueError(f"a published {what} names '{name}', which is not a variant")


def _variant(entry: dict[str, Any]) -> Variant:
    published = entry.get("published")
    accept = entry.get("accept")
    return Variant(
        name=str(entry["name"]),
        title=str(entry["title"]),
        published=None if published in (None, "points", "pairs") else float(published),
        published_var=_optional(entry.get("published_var")),
        published_points=published == "points",
        published_pairs=published == "pairs",
        hold=bool(entry.get("hold", False)),
        accept=None if accept is None else Band(*(_optional(accept.get(key)) for key in _BAND)),
        lacks=str(entry["lacks"]) if "lacks" in entry else None,
        params=tuple((str(k), float(v)) for k, v in entry.get("params", {}).items()),
        published_metrics=_numbers(entry.get("published_metrics", {})),
        accept_metrics=_numbers(entry.get("accept_metrics", {})),
        calibrated=tuple(str(name) for name in entry.get("calibrated", ())),
        on_request=bool(entry.get("on_request", False)),
        kind=str(entry.get("kind", "workload")),
    )


_BAND = ("within", "factor")
# The published figures at a number of threads, in nanoseconds.
_SPREAD = ("mean", "min", "max")
Made = TypeVar("Made")


def _numbers(entry: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in entry.items()}


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def _published_list(entries: Any) -> tuple[Published, ...]:
    """Return the published figures, of one [published] table or of a [[published]] per machine."""
    published = tuple(map(_published, [entries] if isinstance(entries, dict) else entries))
    machines = [known.machine for known in published]
    if len(set(machines)) != len(machines):
        raise ValueError("two [[published]] tables are of one machine")
    return published


def _published(entry: dict[str, Any]) -> Published:
    accept = entry.get("accept")
    pairs = tuple(
        _made(PublishedPair, {**pair, **pair["ns"], "latency_class": pair["class"]})
        for pair in entry.get("pair", ())
    )
    points = tuple(
        PublishedPoint(int(point["threads"]), *(float(point["ns"][key]) for key in _SPREAD))
        for point in entry.get("point", ())
    )
    return Published(
        machine=str(entry["machine"]),
        role=str(entry["role"]),
        source=str(entry["source"]),
        points=points,
        accept=_made(CurveBand, accept) if accept is not None and not pairs else None,
        lines=tuple(_made(PublishedLine, line) for line in entry.get("line", ())),
        pairs=pairs,
        from_cpu=int(entry.get("from", 0)),
        accept_pairs=Band(within=float(accept["within"])) if accept and pairs else None,
    )


def _made(kind: type[Made], entry: Mapping[str, Any]) -> Made:
    """Return a record with an entry's values for its fields, converted to the fields' types."""
    return kind(**{name: type_(entry[name]) for name, type_ in get_type_hints(kind).items()})
