# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""With collect.sh -a the names of a host stay there, and the verdict is the same."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from doctor.collector.script import script_text
from doctor.facts.archive import read_tar
from doctor_cli import call
from doctor_tree import KTHREAD, SHELLS, Machine, Task, build

Capture = pytest.CaptureFixture[str]
ROOT = "/sys/fs/cgroup"
GUEST = "/machine.slice/machine-qemu\\x2d1\\x2dsecretvm.scope/libvirt/emulator"
POD = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12xy.slice/crio-77yz.scope"
PATHS = (
    "/secret.slice/secret-a.slice/secretd@7.service",
    GUEST,
    POD,
    "/qemu.slice/981045677.scope",
)
SECRET = re.compile(r"secret|12xy|77yz|981045677")


def tasks(slept: int) -> list[Task]:
    workers = [
        Task(
            100 + n, f"secret worker {n // 4}", allowed=str(n), cgroup=PATHS[n // 4],
            voluntary=slept,
        )
        for n in range(16)
    ]  # fmt: skip
    workers.append(Task(90, "CPU 0/KVM", allowed="4-7", cgroup=GUEST, voluntary=slept))
    # It begins like the name of a virtual CPU.
    workers.append(Task(91, "CPU 0/KVM secret", allowed="4-7", cgroup=GUEST, voluntary=slept))
    return [*workers, Task(60, "psimon", priority=1, flags=KTHREAD, voluntary=3)]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host at two times, early and late."""
    base = tmp_path_factory.mktemp("host")
    machine = Machine(
        tasks=tasks(0),
        cgroups={
            ROOT: {"cpuset.cpus.effective": "0-15"},
            f"{ROOT}/secret.slice": {
                "cpuset.cpus": "0-3", "cpuset.cpus.partition": "root invalid (no, really)",
            },
            f"{ROOT}/a:secret/b": {"cpuset.cpus": "0-3"},
        },
    )  # fmt: skip
    later = replace(machine, tasks=tasks(200_000), uptime=101.0)
    build(base / "early", machine)
    return build(base / "late", later).parent


@pytest.fixture(autouse=True)
def trees(host: Path, tmp_path: Path) -> None:
    for name in ("early", "late"):
        (tmp_path / name).symlink_to(host / name)


def run(base: Path, out: str, *options: str, shell: str = "sh") -> Path:
    script = base / "collect.sh"
    script.write_text(script_text(), encoding="ascii")
    argv = [*shell.split(), str(script), "-r", str(base / "early"), "-R", str(base / "late")]
    done = subprocess.run(
        [*argv, "-o", str(base / out), *options], capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(base)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return base / out


def named(key: str, text: str) -> str:
    """The text with the names back, by the key of the host."""
    names = ["secret", "a", "b", "secretd", "secretvm", "12xy", "77yz", "CPU 0/KVM secret"]
    names += [
        "1\\x2dsecretvm",
        "a:secret",
        "CPU 0/KVM secret",
        *(f"secret worker {n}" for n in range(4)),
    ]
    for name in names:
        text = text.replace("x" + sha256(f"{key}\n{name}".encode()).hexdigest()[:12], name)
    for number in ("7", "981045677"):
        digits = int(sha256(f"{key}\n{number}".encode()).hexdigest()[:7], 16) + 1
        text = text.replace(str(digits), number)
    return text


@pytest.mark.parametrize("shell", SHELLS)
def test_the_names_stay_on_the_host(tmp_path: Path, shell: str) -> None:
    plain = read_tar(run(tmp_path, "plain.tar"))
    hidden = read_tar(run(tmp_path, "hidden.tar", "-a", shell=shell))
    assert not SECRET.search(json.dumps(hidden))
    key = (tmp_path / ".schedshard-doctor.key").read_text().split()[0]
    assert key not in json.dumps(hidden)
    for name in ("threads", "cgroups", "mounts", "places"):
        back = [named(key, line) for line in hidden[name].split("\n")]
        assert back == plain[name].split("\n"), name
    assert "CPU 0/KVM" in hidden["threads"]
    assert "/machine.slice/machine-qemu\\x2dx" in hidden["places"]
    assert re.search(r"kubepods-besteffort-podx\w{12}\.slice/crio-x\w{12}\.scope", hidden["places"])
    assert re.search(r"/qemu\.slice/\d+\.scope", hidden["places"])


def test_two_archives_of_a_host_have_the_same_names(tmp_path: Path) -> None:
    first = read_tar(run(tmp_path, "1.tar", "-a"))
    assert read_tar(run(tmp_path, "2.tar", "-a")) == first
    assert (tmp_path / ".schedshard-doctor.key").stat().st_mode & 0o777 == 0o600
    other = read_tar(run(tmp_path, "3.tar", "-a", "-k", str(tmp_path / "other")))
    assert other["threads"] != first["threads"]


def test_the_verdict_is_the_same(capsys: Capture, tmp_path: Path) -> None:
    plain = call(capsys, "doctor", run(tmp_path, "host.tar"), "--json")
    run(tmp_path, "a.tar", "-a")
    (tmp_path / "a.tar").replace(tmp_path / "host.tar")
    hidden = call(capsys, "doctor", tmp_path / "host.tar", "--json")
    key = (tmp_path / ".schedshard-doctor.key").read_text().split()[0]
    note = "names of threads and cgroups are pseudonyms (collect.sh -a)"
    back = json.loads(named(key, json.dumps(hidden.json, ensure_ascii=False).replace("\\\\", "\\"))
                      .replace("\\x2d", "\\\\x2d"))  # fmt: skip
    assert note in back["notes"]
    back["notes"].remove(note)
    assert hidden.status == plain.status == 4
    finding = back["findings"][0]
    assert "No plan is possible now: names of cgroups are pseudonyms" in finding["remedy"]
    finding |= {name: plain.json["findings"][0][name] for name in ("remedy", "command")}
    assert back == plain.json


def test_the_readme_says_which(tmp_path: Path) -> None:
    for options, words in (((), "as they are on the host"), (("-a",), "pseudonyms")):
        out = run(tmp_path, f"{len(options)}.tar", *options)
        told = subprocess.run(
            ["tar", "xOf", str(out), "schedshard-doctor/README"], capture_output=True, text=True
        ).stdout
        assert words in told


def test_the_key_is_never_a_link_or_another_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("no key\n")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    script = tmp_path / "collect.sh"
    script.write_text(script_text(), encoding="ascii")
    refusals = {"link": "is a link", "secret": "is not a key", "no/k": "cannot be made"}
    for name, words in refusals.items():
        argv = ["sh", str(script), "-r", str(tmp_path / "early"), "-o", str(tmp_path / "o.tar")]
        done = subprocess.run(
            [*argv, "-s", "0", "-a", "-k", str(tmp_path / name)], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert secret.read_text() == "no key\n"
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "o.tar").exists()


def test_an_interrupted_run_leaves_no_key_and_no_name(tmp_path: Path) -> None:
    run(tmp_path, "a.tar", "-a")
    for program in ("awk", "sha256sum"):
        folder, temporary = tmp_path / program, tmp_path / f"tmp-{program}"
        folder.mkdir()
        temporary.mkdir()
        (folder / program).write_text("#!/bin/sh\nkill -TERM 0\nsleep 5\n")
        (folder / program).chmod(0o755)
        done = subprocess.run(
            ["sh", tmp_path / "collect.sh", "-a", "-r", tmp_path / "early", "-s", "0"],
            capture_output=True, start_new_session=True, cwd=temporary,
            env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path),
                 "TMPDIR": str(temporary)},
        )  # fmt: skip
        assert done.returncode != 0
        assert list(temporary.iterdir()) == []


def test_exported_functions_do_not_run(tmp_path: Path) -> None:
    run(tmp_path, "a.tar")
    names = ("cat", "grep", "sort", "uniq", "tr", "dd", "wc", "mkdir")
    hostile = {f"BASH_FUNC_{name}%%": f"() {{  echo ran >>{tmp_path}/ran; }}" for name in names}
    done = subprocess.run(
        ["bash", tmp_path / "collect.sh", "-r", tmp_path / "early", "-s", "0",
         "-o", tmp_path / "b.tar"],
        capture_output=True, env={"PATH": "/usr/bin:/bin", **hostile},
    )  # fmt: skip
    assert (done.returncode, (tmp_path / "ran").exists()) == (0, False)
