# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb sweep: points, rows, resuming, clusters, and files that are whole or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from conftest import FAKES, Cli, assert_refused, assert_user_error
from schedshard.common.errors import UserError
from schedshard.common.paths import ROOT
from schedshard.experiments.experiment import load_experiment
from schedshard.experiments.run import point_argv
from schedshard.experiments.sweep.file import add_rows, is_parquet, parquet, read_rows
from schedshard.experiments.sweep.run import local_cluster
from schedshard.experiments.sweep.sweep import (
    Row,
    SweepMachine,
    SweepRequest,
    cpu_facts,
    current,
    make_row,
    missing,
    plan_sweep,
    united,
)
from schedshard.machines.llc_split import split_llcs, whole_name
from schedshard.machines.presets import load_machine, machine_topology
from schedshard.tables.sweep import swept
from test_process import children_of
from test_report import assert_self_contained

SMALL = ("--experiment", "cpumask-yield", "--machine", "epyc-7763-2s")


def request(**changes: Any) -> SweepRequest:
    machine = load_machine("epyc-7763-2s")
    topology = machine_topology(machine)
    given: dict[str, Any] = {
        "machines": (SweepMachine(machine, "m" * 64, {64: topology, 8: topology}),),
        "experiments": (load_experiment("cpumask-yield"),),
        "variants": ("global", "sbm"),
        "caps": (64,),
        "cpus": (),
        "seeds": 1,
        "simulator_sha256": "s" * 64,
    }
    return SweepRequest(**{**given, **changes})


def raw(cycles: float = 100.0) -> dict[str, Any]:
    return {
        "metrics": {"cycles_per_op": cycles, "ns_per_op": cycles / 2},
        "simulator": {"events": 7, "seconds": 0.5},
    }


def rows_of(points: Any) -> list[Row]:
    return [make_row(point, raw(float(i + 1))) for i, point in enumerate(points)]


def test_every_combination_is_a_point() -> None:
    points, left_out = plan_sweep(request(caps=(64, 8), cpus=(4, 16, 300), seeds=3))
    assert len(points) == 2 * 2 * 2 * 3
    assert len({point.key for point in points}) == len(points)
    assert left_out == ["epyc-7763-2s has 256 CPUs: left out 300"]
    assert {point.known["cpus"] for point in points} == {4, 16}


def test_several_experiments_share_variants_only_where_they_have_them() -> None:
    both = (load_experiment("cpumask-yield"), load_experiment("atomic-inc"))
    points, _ = plan_sweep(request(experiments=both, variants=("sbm", "atomic"), cpus=(4,)))
    assert [(p.known["experiment"], p.known["variant"]) for p in points] == [
        ("cpumask-yield", "sbm"),
        ("atomic-inc", "atomic"),
    ]
    everything, _ = plan_sweep(request(experiments=both, variants=(), cpus=(4,)))
    assert len(everything) == 8


def test_wrong_names_and_nothing_to_run() -> None:
    with pytest.raises(UserError, match="did you mean 'global'"):
        plan_sweep(request(variants=("gobal",)))
    with pytest.raises(UserError, match="nothing to run: epyc-7763-2s has 256 CPUs"):
        plan_sweep(request(cpus=(512,)))


def test_facts_of_the_cpus_in_use() -> None:
    topology = machine_topology(load_machine("epyc-7763-2s"))
    assert cpu_facts(topology, 12) == {
        "llcs": 2, "llc_cpus": 8, "nodes": 1, "packages": 1, "shards": 2,
    }  # fmt: skip
    assert cpu_facts(topology, 256) == {
        "llcs": 16, "llc_cpus": 16, "nodes": 2, "packages": 2, "shards": 16,
    }  # fmt: skip


def test_facts_follow_the_placement() -> None:
    topology = machine_topology(load_machine("epyc-7763-2s"))
    assert cpu_facts(topology, 16, "compact") == {
        "llcs": 1, "llc_cpus": 16, "nodes": 1, "packages": 1, "shards": 1,
    }  # fmt: skip
    assert cpu_facts(topology, 16, "scatter") == {
        "llcs": 16, "llc_cpus": 1, "nodes": 2, "packages": 2, "shards": 16,
    }  # fmt: skip
    (point,) = plan_sweep(request(variants=("sbm",), cpus=(16,), placement="compact"))[0]
    assert (point.known["placement"], point.known["llcs"]) == ("compact", 1)
    argv = point_argv(point.plan, point.point)
    assert argv[argv.index("--placement") + 1] == "compact"


def test_caches_are_cut_and_nothing_else_changes(tmp_path: Path) -> None:
    whole = load_machine("epyc-9654-2s")
    assert split_llcs(whole, 1, tmp_path) is whole
    cut = split_llcs(whole, 4, tmp_path)
    assert whole_name(cut.name) == whole.name != cut.name
    assert whole_name("xeon-llc-by-hand") == "xeon-llc-by-hand"
    before, after = machine_topology(whole), machine_topology(cut)
    assert cpu_facts(before, 384) == {**cpu_facts(after, 384), "llcs": 24, "llc_cpus": 16,
                                      "shards": 24}  # fmt: skip
    assert (cpu_facts(after, 384)["llcs"], cpu_facts(after, 384)["llc_cpus"]) == (96, 4)
    kept = ("cpu", "package", "node", "core", "thread")
    assert [[c[key] for key in kept] for c in before["cpus"]] == [
        [c[key] for key in kept] for c in after["cpus"]
    ]


@pytest.mark.parametrize(
    ("machine", "parts", "words"),
    [
        ("epyc-9654-2s", "3", "has 8 cores, 1 to an L2: they cannot be cut in 3"),
        ("xeon-480", "2", "one last-level cache a node"),
        ("epyc-9654-2s", "0", "--split-llc"),
    ],
)
def test_caches_that_cannot_be_cut(
    cli: Cli, tmp_path: Path, machine: str, parts: str, words: str
) -> None:
    args = ("--machine", machine, "--split-llc", parts, "--out", tmp_path / "s.parquet")
    assert_user_error(cli("sweep", "--experiment", "cpumask-yield", *args), words)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_counts_cannot_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text('name = "odd"\n[topology]\nllc = []\n')
    with pytest.raises(UserError, match="has no cores_per_llc and llcs_per_node"):
        split_llcs(load_machine(str(path)), 2, tmp_path)


def test_rows_that_are_there_are_not_missing() -> None:
    points, _ = plan_sweep(request(cpus=(4, 16)))
    rows = rows_of(points[:1])
    assert [p.known["cpus"] for p in missing(points, rows)] == [16, 16, 4]  # heavy ones first
    for other in ({"simulator_sha256": "t" * 64}, {"seeds": 2}):
        changed, _ = plan_sweep(request(cpus=(4, 16), **other))
        assert len(missing(changed, rows)) == len(changed) - (1 if "seeds" in other else 0)


def test_a_row_has_its_key_facts_and_metrics() -> None:
    (point,) = plan_sweep(request(variants=("sbm",), cpus=(16,)))[0]
    row = make_row(point, raw())
    assert json.loads(row["params"])["yield_ns"] == 1290
    assert (row["events"], row["seconds"], row["cycles_per_op"]) == (7, 0.5, 100.0)
    clash = raw()
    clash["metrics"]["llcs"] = 3.0
    with pytest.raises(UserError, match="'llcs': the name is taken"):
        make_row(point, clash)


def test_file_keeps_rows_and_is_the_same_whatever_came_first(tmp_path: Path) -> None:
    rows = rows_of(plan_sweep(request(cpus=(4, 16), seeds=2))[0])
    extra = {**rows[0], "experiment": "other", "fps": 3.0}
    everything = united(rows, [extra])
    path = tmp_path / "s.parquet"
    path.write_bytes(parquet(everything))
    assert read_rows(path) == everything
    assert is_parquet(path)
    assert parquet(united(reversed(rows), [extra])) == path.read_bytes()
    assert "fps" not in read_rows(path)[0]  # absent, not null


def test_adding_keeps_what_another_sweep_wrote_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    rows = rows_of(plan_sweep(request(cpus=(4, 16)))[0])
    assert add_rows(path, rows[:1]) == rows[:1]
    assert len(add_rows(path, rows[2:])) == 3
    assert len(add_rows(path, rows[1:])) == 4
    assert [p.name for p in tmp_path.iterdir()] == ["s.parquet"]


def test_newer_simulators_replace_older_ones() -> None:
    old = rows_of(plan_sweep(request(cpus=(4,)))[0])
    new = rows_of(plan_sweep(request(cpus=(4,), simulator_sha256="n" * 64, added=2))[0])
    assert current(old + new) == new
    elsewhere = [{**row, "machine": "another"} for row in old]
    assert current(new + elsewhere) == new + elsewhere


def test_sweep_fills_a_file_and_shows_it(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    outcome = cli(
        "sweep", *SMALL, "--variant", "sbm", "--variant", "global", "--cpus", "16", "--cpus", "512",
        "--cap", "8", "--cap", "64", "--seeds", "2", "--out", path,
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert outcome.err.splitlines() == [
        "schedshard: epyc-7763-2s has 256 CPUs: left out 512",
        f"saved {path}",
    ]
    rows = read_rows(path)
    assert len(rows) == 8
    assert {(row["cap"], row["seed"]) for row in rows} == {(8, 1), (8, 2), (64, 1), (64, 2)}
    assert {len(row["simulator_sha256"]) for row in rows} == {64}
    by_key = {(r["variant"], r["cap"], r["seed"]): r["cycles_per_op"] for r in rows}
    assert by_key["sbm", 8, 2] == pytest.approx(520 * 16 / 256 + 0.002 + 8e-6)
    assert "±" in outcome.out


def test_a_sweep_goes_on_where_it_was(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    first = cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--out", path)
    assert first.status == 0
    before = path.read_bytes()
    again = cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--out", path)
    assert again.err.splitlines()[0] == f"1 of 1 points are in {path}"
    assert again.out == first.out
    assert path.read_bytes() == before
    more = cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--seeds", "3", "--out", path)
    assert more.err.splitlines()[0] == f"1 of 3 points are in {path}"
    assert [row["added"] for row in read_rows(path)] == [1, 2, 2]


def test_a_point_that_fails_ends_the_sweep_and_loses_nothing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setenv("FAKE_SIM", "bad-llc")
    path = tmp_path / "s.parquet"
    args = ("sweep", *SMALL, "--cpus", "16", "--out", path)
    assert_user_error(cli(*args), "cpumask-yield llc on 16 CPUs: latency_ns.llc must be positive")
    done = {row["variant"] for row in read_rows(path)}
    assert "llc" not in done
    assert {"global", "node"} <= done
    monkeypatch.delenv("FAKE_SIM")
    outcome = cli(*args)
    assert outcome.status == 0
    assert outcome.err.startswith(f"{len(done)} of 6 points")
    assert len(read_rows(path)) == 6


def test_nothing_is_written_when_nothing_was_done(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_SIM", "crash")
    outcome = cli("sweep", *SMALL, "--cpus", "16", "--out", tmp_path / "s.parquet")
    assert_user_error(outcome, "was ended by SIGABRT", status=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--machine", "epyc-7763"), ("did you mean 'epyc-7763-2s'",)),
        (("--experiment", "cpumask-yeild"), ("did you mean 'cpumask-yield'",)),
        (("--variant", "lcc"), ("did you mean 'llc'",)),
        (("--cap", "65"), ("--cap", "range")),
        (("--seeds", "0"), ("--seeds", "range")),
        (("--cpus", "100000"), ("nothing to run", "256 CPUs")),
        (("--out", "no/such/dir.parquet"), ("no directory",)),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_wrong_input(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    args: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    given = ("sweep", *SMALL, "--out", "s.parquet", *args)
    assert_refused(cli, monkeypatch, tmp_path, given, words)


def test_machines_of_one_name_are_refused(cli: Cli, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(load_machine("epyc-7763-2s").path.read_text())
    outcome = cli("sweep", *SMALL, "--machine", copy, "--out", tmp_path / "s.parquet")
    assert_user_error(outcome, "both called 'epyc-7763-2s'")


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_files_that_are_no_whole_parquet(cli: Cli, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "s.parquet"
    path.write_bytes(parquet(rows_of(plan_sweep(request(cpus=(4,)))[0]))[:keep])
    before = path.read_bytes()
    outcome = cli("sweep", *SMALL, "--out", path)
    assert_user_error(outcome, "s.parquet is no whole Parquet file")
    assert path.read_bytes() == before
    if keep > 0 or keep == -1:
        page = tmp_path / "p.html"
        assert_user_error(cli("report", path, "--out", page), "no whole Parquet file")
        assert_user_error(cli("compare", path, path), "no whole Parquet file")
        assert not page.exists()


def test_parquet_files_of_others(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    assert_user_error(cli("sweep", *SMALL, "--out", path), "is no sweep", "sweep --out")
    pq.write_table(pa.table({"x": [1]}, metadata={"format": "schedshard/sweep/1"}), path)
    assert_user_error(cli("sweep", *SMALL, "--out", path), "damaged: column 'experiment'")
    rows = rows_of(plan_sweep(request(cpus=(4,)))[0])
    rows[1]["seconds"] = None
    path.write_bytes(parquet(rows))
    assert_user_error(cli("report", path, "--out", tmp_path / "p"), "row 1 has no 'seconds'")


def test_relative_figures_are_of_the_same_point_and_seed(figures: Path) -> None:
    points, _ = plan_sweep(
        request(experiments=(load_experiment("figures"),), variants=(), cpus=(4, 8), seeds=2)
    )
    rows: list[Row] = []
    for point in points:
        fps = 10.0 * point.known["seed"] * (2.0 if point.known["variant"] == "pad" else 1.0)
        figure = {"fps": fps, "kernel_share": 0.1, "map_bytes": 64.0, "cycles_per_set": 5.0}
        rows.append(make_row(point, {**raw(), "metrics": figure}))
    (one,) = swept(rows)
    frame = one.frame
    assert set(frame[frame["variant"] == "pad"]["figure fps_relative"]) == {2.0}
    assert set(frame[frame["variant"] == "shard"]["figure fps_relative"]) == {1.0}
    assert one.variants == ("stock", "pad", "shard")
    (alone,) = swept([row for row in rows if row["variant"] == "pad"])
    assert alone.frame["figure fps_relative"].isna().all()


@pytest.mark.slow(reason="plots of a whole sweep")
def test_page_of_a_sweep(cli: Cli, tmp_path: Path, yield_result: Path) -> None:
    path, page = tmp_path / "s.parquet", tmp_path / "p.html"
    args = ["--cpus", "8", "--cpus", "64", "--cap", "8", "--cap", "64", "--seeds", "2"]
    outcome = cli(
        "sweep", *SMALL, "--machine", "xeon-8358-2s", "--variant", "sbm", "--variant", "global",
        *args, "--out", path,
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert cli("report", path, yield_result, "--out", page).status == 0
    parsed = assert_self_contained(page)
    assert sum("sweep" in heading for heading in parsed.headings) == 1
    text = page.read_text()
    for words in ("over CPUs", "over last-level caches in use", "over most CPUs in a shard"):
        assert words in text
    assert "32 points on 2 machines, 2 seeds (predicted)" in text
    second = tmp_path / "q.html"
    cli("report", path, yield_result, "--out", second)
    assert second.read_bytes() == page.read_bytes()


def test_page_of_caches_that_were_cut(cli: Cli, tmp_path: Path) -> None:
    path, page = tmp_path / "s.parquet", tmp_path / "p.html"
    args = ["--split-llc", "1", "--split-llc", "2", "--cpus", "64", "--placement", "compact"]
    outcome = cli("sweep", *SMALL, "--variant", "sbm", *args, "--out", path)
    assert outcome.status == 0, outcome.err
    assert "epyc-7763-2s-llc-by-2, compact" in outcome.out
    assert {row["llcs"] for row in read_rows(path)} == {4, 8}
    assert cli("report", path, "--out", page).status == 0
    text = page.read_text()
    assert "over last-level caches in use" in text
    assert "cycles/op over CPUs" not in text  # nothing varies there
    assert "neighbours, core after core and cache after cache" in text


def test_page_of_one_point_has_no_plot(cli: Cli, tmp_path: Path) -> None:
    path, page = tmp_path / "s.parquet", tmp_path / "p.html"
    cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "8", "--out", path)
    assert cli("report", path, "--out", page).status == 0
    assert "<svg" not in page.read_text()


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A scheduler with one worker that is reached over TCP."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://",
        dashboard_address=":0", memory_limit=0,
    ) as made:  # fmt: skip
        yield made


def test_a_cluster_gives_the_same_file(cli: Cli, cluster: LocalCluster, tmp_path: Path) -> None:
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    args = ("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--seeds", "2")
    assert cli(*args, "--out", here).status == 0
    outcome = cli(*args, "--out", there, "--scheduler", cluster.scheduler_address)
    assert outcome.status == 0, outcome.err
    times = {"seconds": 0.0, "commit": ""}
    assert [{**row, **times} for row in read_rows(there)] == [
        {**row, **times} for row in read_rows(here)
    ]


def test_a_worker_with_another_simulator(
    cli: Cli, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("schedshard.experiments.sweep.prepare.sha256_file", lambda path: "0" * 64)
    out = tmp_path / "s.parquet"
    outcome = cli(
        "sweep", *SMALL, "--cpus", "16", "--out", out, "--scheduler", cluster.scheduler_address
    )
    assert_user_error(outcome, "is another program", "build the same commit there")
    assert not out.exists()


def test_an_error_of_the_simulator_on_a_worker(
    cli: Cli, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_SIM", "refuse")
    outcome = cli(
        "sweep", *SMALL, "--cpus", "16", "--out", tmp_path / "s.parquet",
        "--scheduler", cluster.scheduler_address,
    )  # fmt: skip
    assert_user_error(outcome, "latency_ns.llc must be positive")
    monkeypatch.setenv("FAKE_SIM", "garbage")
    outcome = cli(
        "sweep", *SMALL, "--cpus", "16", "--out", tmp_path / "s.parquet",
        "--scheduler", cluster.scheduler_address,
    )  # fmt: skip
    assert_user_error(outcome, "no result from schedshard-sim", status=1)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there"),
        ("carrier://pigeon:1", "unknown address scheme"),
        ("", "missing port"),
    ],
)
def test_schedulers_that_do_not_answer(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, words: str
) -> None:
    monkeypatch.setattr("schedshard.experiments.sweep.run.CONNECT_SECONDS", 1)
    out = tmp_path / "s.parquet"
    outcome = cli("sweep", *SMALL, "--cpus", "8", "--out", out, "--scheduler", address)
    assert_user_error(outcome, f"--scheduler {address}", words, "tcp://HOST:8786")
    assert not out.exists()


def test_a_scheduler_without_workers(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("schedshard.experiments.sweep.run.CONNECT_SECONDS", 1)
    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0"
    ) as empty:
        outcome = cli(
            "sweep", *SMALL, "--cpus", "8", "--out", tmp_path / "s.parquet",
            "--scheduler", empty.scheduler_address,
        )  # fmt: skip
    assert_user_error(outcome, "the scheduler has no workers")


def test_a_local_sweep_is_not_on_the_network() -> None:
    ours = psutil.Process()
    before = {socket.laddr for socket in ours.net_connections() if socket.status == "LISTEN"}
    with local_cluster():
        opened = [s for s in ours.net_connections() if s.status == "LISTEN"]
        assert {socket.laddr.ip for socket in opened if socket.laddr not in before} <= {"127.0.0.1"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_keeps_what_is_done(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "s.parquet"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "cli"),
        "SCHEDSHARD_BUILD": str(FAKES),
        "FAKE_SIM": "slow-llc",
    }
    code = (
        "import sys, schedshard.experiments.sweep.run as s, schedshard.common.progress as p\n"
        "s.SAVE_EVERY_SECONDS, p.LINE_EVERY_SECONDS = 1e9, 0\n"
        "from schedshard.__main__ import start; sys.exit(start())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "sweep", *SMALL, "--cpus", "16", "--variant", "llc",
         "--variant", "node", "--variant", "global", "--out", str(out)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "2/3" in line:  # variant llc is left, which sleeps
            break
    children = children_of(process.pid)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert (stdout, stderr) == ("", "")
    assert process.returncode == 128 + number
    assert {row["variant"] for row in read_rows(out)} == {"node", "global"}
    assert [p.name for p in tmp_path.iterdir()] == ["s.parquet"]
    for child in children:
        assert not Path(f"/proc/{child}").exists()
