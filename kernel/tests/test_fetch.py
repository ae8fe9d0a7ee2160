# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage fetch takes the base from a package, the mirror or a path, as a whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_kernel import (
    BASE_FILES,
    RULE,
    STEP,
    VERSION,
    contents,
    fake_program,
    make_fetched,
    make_project,
    needs_spatch,
    say_version,
    write,
    write_base,
    write_other_base,
    write_series,
)

from calling import call
from common.errors import UserError
from kernel.layout import Layout
from kernel.source import archive
from kernel.source import base as base_module
from kernel.source.base import Fetched, fetch, fetch_any, layout_for, load_base, require_base

TREE = {name: text.encode() for name, text in BASE_FILES.items()}


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    return make_project(tmp_path, monkeypatch)


def refused(layout: Layout, pattern: str, path: Path | None = None) -> None:
    """The stage fails with these words and leaves nothing that could pass for a base."""
    with pytest.raises(UserError, match=pattern) as caught:
        fetch(layout, path)
    assert caught.value.status == 2
    assert "\n" not in str(caught.value)
    sources = layout.work / "src"
    assert not sources.exists() or list(sources.iterdir()) == []
    with pytest.raises(UserError, match="kernel fetch"):
        require_base(layout)


def other_tarball(layout: Layout, folder: Path) -> Path:
    """The same source in a tarball with another hash."""
    tarball = folder / "linux-fake.tar.xz"
    tarball.write_bytes(tarball.read_bytes() + b"\0" * 4)  # padding that xz allows
    return tarball


def package(folder: Path, version: str, tarball: Path) -> Path:
    """A Debian package with the tarball where Debian puts it."""
    tree = folder / "deb"
    control = f"Package: linux-fake\nVersion: {version}\nArchitecture: all\n"
    write(tree / "DEBIAN/control", f"{control}Maintainer: A <a@b>\nDescription: no\n")
    (tree / "usr/src").mkdir(parents=True)
    shutil.copy(tarball, tree / "usr/src/linux-fake.tar.xz")
    path = folder / f"linux-fake_{version}_all.deb"
    subprocess.run(["dpkg-deb", "-b", tree, path], check=True, capture_output=True)
    return path


def test_unpacks_once(layout: Layout) -> None:
    sha256 = hashlib.sha256((layout.work.parent / "linux-fake.tar.xz").read_bytes()).hexdigest()
    assert fetch(layout) == (Fetched(VERSION, sha256, tested=True), True)
    assert contents(layout.base) == TREE
    assert fetch(layout) == (Fetched(VERSION, sha256, tested=True), False)


def test_a_newer_package_is_taken(layout: Layout, tmp_path: Path) -> None:
    other_tarball(layout, tmp_path)
    say_version(tmp_path / "bin", version="1.0.5-1")
    source, fresh = fetch(layout)
    assert (source.version, source.tested, fresh) == ("1.0.5-1", False, True)
    again, fresh = fetch(layout)
    assert (again, fresh) == (source, False)


def test_a_tarball_that_is_not_whole_or_not_the_tested_one(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = tmp_path / "linux-fake.tar.xz"
    with monkeypatch.context() as patch:
        patch.setattr(base_module, "free_mb", lambda path: 1)
        refused(layout, "no room to unpack the kernel: 1 MB free in .*, 2 MB needed")
    write_base(layout, tarball, sha256="0" * 64)
    refused(layout, rf"has sha256 [0-9a-f]{{16}}\.\.\., and is not what was tested as .*{VERSION}")
    tarball.write_bytes(tarball.read_bytes()[:100])
    write_base(layout, tarball)
    refused(layout, r"unpacking .*linux-fake\.tar\.xz: ")
    for name in ("tar", "find", "rm"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    refused(layout, r"xz not found: run 'scripts/bootstrap series' \(Debian's xz-utils\)")


# From a path that the user gives.


def test_a_tarball_of_the_users(layout: Layout, tmp_path: Path) -> None:
    other_tarball(layout, tmp_path)
    say_version(tmp_path / "bin", status="not-installed")
    source, fresh = fetch(layout, tmp_path / "linux-fake.tar.xz")
    assert (source.version, source.tested, fresh) == ("1.0.4", False, True)
    assert contents(layout.base) == TREE


def test_a_tree_of_the_users(layout: Layout, tmp_path: Path) -> None:
    tree = tmp_path / "tarball/linux-fake"
    write(tree / ".git/config", "[core]\n")
    source, _ = fetch(layout, tree)
    assert (source.version, source.tested) == ("1.0.4", False)
    assert contents(layout.base) == TREE
    assert (tree / ".git/config").is_file()
    write(tree / "kernel/sched/rt.c", "int other;\n")
    other, _ = fetch(layout, tree)
    assert other.sha256 != source.sha256
    assert contents(layout.base)["kernel/sched/rt.c"] == b"int other;\n"


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_a_package_of_the_users(layout: Layout, tmp_path: Path) -> None:
    path = package(tmp_path, "1.0.9-2", other_tarball(layout, tmp_path))
    source, _ = fetch(layout, path)
    assert (source.version, source.tested) == ("1.0.9-2", False)
    assert contents(layout.base) == TREE


def test_paths_that_are_no_source(layout: Layout, tmp_path: Path) -> None:
    refused(layout, "there is no such file or folder", tmp_path / "none")
    tree = tmp_path / "empty"
    tree.mkdir()
    refused(layout, "has no Makefile: it is not kernel source", tree)
    write(tree / "Makefile", "all:\n")
    refused(layout, "Makefile names no version: it is not kernel source", tree)
    tarball = tmp_path / "two.tar.xz"
    subprocess.run(["tar", "-C", tmp_path, "-cJf", tarball, "empty", "bin"], check=True)
    refused(layout, "is not kernel source: one folder with a Makefile is expected", tarball)
    write(tree / "Makefile", "VERSION = 1\nPATCHLEVEL = 01\nSUBLEVEL = 2\n")
    refused(layout, r"empty is Linux 1\.01\.2, but a 1\.0 is needed", tree)


# From the mirror.

INDEX = "echo http://mirror/extra; echo http://mirror/debian/"


def fake_apt(folder: Path, has: str, deb: Path) -> None:
    """An apt that knows the package in one suite, and records its requests."""
    log = f"""sources=$(sed -n 's/.*SourceList "\\(.*\\)";/\\1/p' "$2")
echo "$@" >> {folder}/asked
cat "$sources" >> {folder}/asked
"""
    listing = f'case "$(cat "$sources")" in *" {has} main") {{}};; esac'
    fake_program(
        folder / "bin",
        "apt-get",
        f'if [ "$1" = indextargets ]; then {INDEX}; exit; fi\n{log}'
        + listing.format(f'[ "$4" = update ] || cp {deb} .'),
    )
    lines = "\n".join(
        f" linux-fake | {version} | http://mirror/debian second/main amd64 Packages"
        for version in ("1.0.9-2", "1.0.8-1")
    )
    fake_program(folder / "bin", "apt-cache", log + listing.format(f"echo '{lines}'"))


@pytest.fixture
def mirrored(layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A project whose source package is not installed; a mirror and its keys are there."""
    say_version(tmp_path / "bin", status="not-installed")
    monkeypatch.setattr(archive, "KEYRING", write(tmp_path / "keys.gpg", ""))
    return layout


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_the_newest_of_the_mirror(mirrored: Layout, tmp_path: Path) -> None:
    deb = package(tmp_path, "1.0.9-2", other_tarball(mirrored, tmp_path))
    fake_apt(tmp_path, "second", deb)
    source, _ = fetch(mirrored)
    assert (source.version, source.tested) == ("1.0.9-2", False)
    assert contents(mirrored.base) == TREE
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    keys = f"[signed-by={tmp_path}/keys.gpg]"
    assert f"deb {keys} http://mirror/debian first main" in asked
    assert f"deb {keys} http://mirror/debian second main" in asked
    assert "download linux-fake=1.0.9-2" in asked


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
@pytest.mark.parametrize(("suite", "linux"), [("second", "1.0"), ("third", "1.0.4")])
def test_any_takes_the_first_series_that_the_mirror_has(
    mirrored: Layout, tmp_path: Path, suite: str, linux: str
) -> None:
    write_other_base(mirrored, "1.0.4")
    bases = mirrored.inputs / "base.toml"
    bases.write_text(bases.read_text(encoding="utf-8").replace("linux-other", "linux-fake"))
    deb = package(tmp_path, "1.0.9-2", other_tarball(mirrored, tmp_path))
    fake_apt(tmp_path, "nowhere", deb)
    with pytest.raises(UserError, match="has no linux-fake in third"):
        fetch_any(mirrored, lambda line: None)
    fake_apt(tmp_path, suite, deb)
    messages: list[str] = []
    taken, source = fetch_any(mirrored, messages.append)
    assert (load_base(taken).linux, source.version) == (linux, "1.0.9-2")
    dropped = "http://mirror/debian has no linux-fake in first, second: give the kernel source "
    assert messages == [f"{dropped}with --base; taking Linux 1.0.4"] * (linux != "1.0")
    assert contents(taken.base) == TREE


def test_a_mirror_without_the_package_or_the_keys(
    mirrored: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_apt(tmp_path, "third", tmp_path / "none")
    refused(mirrored, "http://mirror/debian has no linux-fake in first, second: give .* --base")
    fake_program(tmp_path / "bin", "apt-get", "echo http://mirror/other")
    refused(mirrored, "name no mirror of Debian's archive 'debian': give .* --base")
    monkeypatch.setattr(archive, "KEYRING", tmp_path / "none.gpg")
    refused(mirrored, "no .*none.gpg: install Debian's debian-archive-keyring")


@pytest.mark.parametrize(
    ("output", "updates"),
    [
        ("http://other/linux; echo http://mirror/debian/", "http://mirror/debian-security"),
        ("http://mirror/debian/; echo http://safe/debian-security/", "http://safe/debian-security"),
    ],
)
def test_an_archive_beside_another(layout: Layout, output: str, updates: str) -> None:
    """A bare Debian has no source of security updates."""
    fake_program(layout.work.parent / "bin", "apt-get", f"echo {output}")
    assert archive.mirror("debian-security") == updates
    assert archive.mirror("debian") == "http://mirror/debian"


def test_the_newest_of_a_listing() -> None:
    text = " a | 2-1 | http://m trixie/main amd64 Packages\n a | 1-1 | http://m sid/main Sources\n"
    assert archive.newest(text, "a") == "2-1"
    assert archive.newest(text, "b") is None
    assert archive.newest(" a | 3-1 | http://m trixie/main Sources\n" + text, "a") == "2-1"


# Series of Linux.


def test_another_series_has_its_own_work(layout: Layout) -> None:
    write_other_base(layout)
    assert layout_for("1.0", layout) == layout == layout_for(None, layout)
    other = layout_for("2.1", layout)
    assert other.work == layout.work.with_name("work-2.1")
    assert (load_base(other).package, load_base(layout).package) == ("linux-other", "linux-fake")
    with pytest.raises(UserError, match=r"unknown series of Linux '2\.2': did you mean '2\.1'"):
        layout_for("2.2", layout)
    with pytest.raises(UserError, match=r"kernel --linux 2\.1 fetch"):
        require_base(other)


@needs_spatch
def test_edits_are_tried_on_what_was_not_tested(
    layout: Layout,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(base_module, "Layout", lambda: layout)
    write(layout.inputs / "cocci/set.cocci", RULE)
    edit = '[[step.edit]]\ncocci = "set.cocci"\nfile = "kernel/sched/rt.c"\nsites = {}\n'
    write_series(layout, STEP + edit.format(1))
    ran = call(capsys, "kernel", "fetch")
    assert (ran.status, ran.out) == (0, f"{layout.base}: {VERSION}, unpacked\n")
    ran = call(capsys, "kernel", "fetch", "--base", tmp_path / "tarball/linux-fake")
    assert ran.status == 0
    assert "this version was not tested: 1 of 1 edits of the series apply" in ran.out
    write_series(layout, STEP + edit.format(2))
    ran = call(capsys, "kernel", "fetch")
    assert ran.status == 2
    assert "changes 1 places, 2 expected: the rule matches too little" in ran.err


# base.toml.


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("schema = 2", "schema = 1", "schema is 1, must be 2"),
        ('default = "1.0"', 'default = "1.1"', r"the default is '1\.1', which is not one of 1\.0"),
        ('default = "1.0"', "", "'default' must be given, as text"),
        ("unpacked_mb = 1", "unpacked_mb = true", "'unpacked_mb' must be given, as a number"),
        ("unpacked_mb = 1", 'unpacked_mb = "1"', "'unpacked_mb' must be given, as a number"),
        ("unpacked_mb = 1", "unpacked_mb = 1\ncolour = 1", r"linux 1\.0: unknown key 'colour'"),
        ('["first", "second"]', "[]", "'suites' must be a list of texts"),
        ('["first", "second"]', "[1]", "'suites' must be a list of texts"),
        ('archive = "debian"', "archive = 1", "'archive' must be given, as text"),
        ("tested = [{ version", "tested = [{ versions", "tested: 'version' must be given, as text"),
        ("tested = [", "hide = [1]\ntested = [", "hide: expected a table"),
        ("tested = [", "hide = 1\ntested = [", "'hide' must be a list of tables"),
        ("[[linux]]", "[linux]", "'linux' must be a list of tables"),
        ("package = ", "package = =", "is not TOML"),
    ],
)
def test_broken_base_toml(layout: Layout, old: str, new: str, words: str) -> None:
    path = layout.inputs / "base.toml"
    text = path.read_text(encoding="ascii")
    assert old in text
    path.write_text(text.replace(old, new), encoding="ascii")
    with pytest.raises(UserError, match=words):
        fetch(layout)
    assert not layout.work.joinpath("src").exists()


def test_base_that_somebody_wrote_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = make_fetched(tmp_path, monkeypatch)
    (layout.base / "kernel/sched/rt.c").write_text("int mine;\n", encoding="ascii")
    with pytest.raises(UserError, match=r"kernel/sched/rt\.c was written to"):
        require_base(layout)


def test_another_series_replaces_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = make_fetched(tmp_path, monkeypatch)
    path = layout.inputs / "base.toml"
    path.write_text(path.read_text(encoding="ascii").replace('"1.0"', '"1.0.4"'), encoding="ascii")
    with pytest.raises(UserError, match="kernel fetch"):
        require_base(layout)
    assert fetch(layout)[1]
    assert not fetch(layout)[1]
