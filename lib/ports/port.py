#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fetch a program, build it as it is, port it to the library, and build it again.

usage: port.py wasmtime[=VERSION]|onetbb[=RELEASE]|peers FOLDER BUILD [exact]

BUILD is a build of this project. FOLDER gets the programs "before" and "after"; for wasmtime also
"published", which is the crate as it is ("before" lacks the crate's own change). For peers FOLDER
gets one program, "peers", with pools of other crates. "exact" makes programs for record --exact.

cargo fetches the crates, and apt the source of oneTBB; none of them is in this repository. Servers
drop old versions, so another version of wasmtime or release of Debian can be named. If its text
lacks a place that a port changes, the port is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Changes of oneTBB's private_server.cpp. "@N TEXT": the lines that follow replace N lines, of
# which the first is the only line with this TEXT. With 0 they are inserted after that line.
EDITS = """\
@0 #include "misc.h"
#include <schedshard/schedshard.h>
@3 //! Link for list of workers
@1 my_next()
        my_handle()
@2 Can be lowered asynchronously
        Whoever raises it looks for sleeping threads afterwards. */
@6 //! List of workers that are asleep
    //! Slot i is free while worker i is asleep, committed to that, or has no thread.
    schedshard_slot_set* my_asleep;
@1 if( my_asleep_list_root
        if( my_slack.load(std::memory_order_relaxed)>0 )
@1 Thread monitor missed
@1 while it's still in
@1 my_asleep_list_root(nullptr)
    my_asleep(nullptr)
@0 allocate( my_n_thread );
    schedshard_create_opts opts{};
    opts.follow = true;
    my_asleep = schedshard_slot_set_create_opts(my_n_thread, &opts);
    if( !my_asleep )
        handle_perror(errno, "schedshard_slot_set_create_opts");
@3 private_worker* t = new(
        new( &my_thread_array[i] ) padded_private_worker( *this, client, i );
@0 poison_pointer( my_thread_array );
    schedshard_slot_set_destroy(my_asleep);
@5 scoped_lock lock;
    // First the slot, then the slack; wake_some() first returns slack, then looks for slots.
    const std::uint32_t slot(t.my_index);
    schedshard_slot_put_near(my_asleep, slot, schedshard_this_cpu());
    std::atomic_thread_fence(std::memory_order_seq_cst);
@7 t.my_next = my_asleep_list_root
            return true;
        }
    }
    if( schedshard_slot_take(my_asleep, slot) )
        return false;
    // Somebody wakes us, and took a unit of slack for that, but we have ours.
    wake_some(1);
    return true;
@0 int allotted_slack = 0;
again:
@3 scoped_lock lock(my_asleep_list_mutex);
        while( w<wakee+2 && allotted_slack) {
            auto slot = schedshard_slot_claim_near(my_asleep, schedshard_this_cpu());
            if( slot<0 )
                break;
@4 *w++ = root;
            *w++ = &my_thread_array[slot];
        }
@0 my_slack += allotted_slack;
            allotted_slack = 0;
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if( w<wakee+2 && schedshard_slot_set_nr_free(my_asleep) )
                goto again; // a worker came that has not seen this slack
@1 ww->my_next = nullptr;
"""
MANIFEST = """[package]
name = "port"
version = "0.0.0"
edition = "2021"

[dependencies]
schedshard = { path = "RUST" }
DEPENDENCIES

[profile.release]
debug = true

[workspace]
""".replace("RUST", str(ROOT / "rust"))
POOLED = """hashbrown = "0.17"
smallvec = "1"
wasmtime-internal-core = "=VERSION"
wasmtime = { version = "=VERSION", default-features = false, optional = true }"""
POOLING = """use core::sync::atomic::{AtomicUsize, Ordering};
#[path = "index_allocator.rs"]
pub mod index_allocator;
"""
PEERS = 'crossbeam-queue = "=0.3.11"\nsharded-slab = "=0.1.7"'
DEBIAN = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SERVER = "private_server address_waiter allocator dynamic_link exception misc misc_ex"


def run(*argv: str | Path, cwd: Path) -> str:
    """Run a command without showing its output, and return its standard output.

    If it fails, exit with the end of its output as the message.
    """
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"port.py: {argv[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def edit(source: Path, edits: str) -> int:
    """Change a file; return how many lines are new or gone."""
    lines = source.read_text(encoding="utf-8").splitlines()
    count = 0
    for change in ("\n" + edits.rstrip("\n")).split("\n@")[1:]:
        (first, *ours), gone = change.splitlines(), int(change[0])
        matches = [at for at, line in enumerate(lines) if first[2:] in line]
        if len(matches) != 1:
            sys.exit(f'port.py: {len(matches)} lines of {source.name} have "{first[2:]}", not one')
        at = matches[0] + (gone == 0)
        lines[at : at + gone] = ours
        count += len(ours) + gone
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return count


def library(folder: Path, build: Path, exact: bool) -> Path:
    """Return the folder of the static library; for exact runs, compile it for them."""
    if not exact:
        return build / "lib"
    os.environ["SCHEDSHARD_BUILD"] = str(build)
    os.environ["CC"] = f"{ROOT / 'schedshard'} cc"
    run("meson", "setup", "-Dlibrary_only=true", folder / "library", cwd=ROOT)
    run("ninja", "-C", folder / "library", "lib/libschedshard.a", cwd=ROOT)
    del os.environ["CC"]
    return folder / "library/lib"


def cargo(folder: Path, lib: Path, exact: bool, names: tuple[str, ...]) -> None:
    """Build the programs NAME.src/main.rs of a folder, and put them into the folder."""
    os.environ |= {"SCHEDSHARD_LIB_DIR": str(lib), "SCHEDSHARD_STATIC": "1"}
    argv, made = ["cargo", "build", "--release", "--quiet"], folder / "target/release"
    if exact:
        flags = run(ROOT / "schedshard", "cc", "--rustflags", cwd=folder).strip()
        os.environ |= {"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": flags}
        argv += ["--target", "x86_64-unknown-linux-gnu"]
        made = folder / "target/x86_64-unknown-linux-gnu/release"
    with (folder / "Cargo.toml").open("a", encoding="utf-8") as manifest:
        for name in names:
            manifest.write(f'\n[[bin]]\nname = "{name}"\npath = "{name}.src/main.rs"\n')
    for name in names:
        run(*argv, "--bin", name, cwd=folder)
        shutil.copy(made / name, folder / name)


def peers(folder: Path, build: Path, version: str, exact: bool) -> int:
    """Build a program that measures pools of crates beside the library's; it changes nothing."""
    (folder / "Cargo.toml").write_text(MANIFEST.replace("DEPENDENCIES", PEERS), encoding="utf-8")
    (folder / "peers.src").mkdir()
    shutil.copy(HERE / "peers.rs", folder / "peers.src/main.rs")
    cargo(folder, library(folder, build, exact), exact, ("peers",))
    return 0


def wasmtime(folder: Path, build: Path, version: str, exact: bool) -> int:
    """Build programs that use the numbers of wasmtime's pooling allocator."""
    needed = POOLED.replace("VERSION", version or "48.0.8")
    (folder / "Cargo.toml").write_text(MANIFEST.replace("DEPENDENCIES", needed), encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "src/lib.rs").touch()
    metadata = run("cargo", "metadata", "--format-version=1", "--all-features", cwd=folder)
    (crate,) = (p for p in json.loads(metadata)["packages"] if p["name"] == "wasmtime")
    pooling = Path(crate["manifest_path"]).parent / "src/runtime/vm/instance/allocator/pooling"
    whole = pooling.with_suffix(".rs").read_text(encoding="utf-8")
    # What index_allocator.rs uses of that file.
    begin = whole.index("/// Pad a value out to a full cache line")
    end = whole.index('#[cfg(feature = "async")]\nuse stack_pool', begin)
    text = POOLING + whole[begin:end]
    numbers = pooling / "index_allocator.rs"
    for name in ("before", "published", "after"):
        source = folder / f"{name}.src"
        source.mkdir()
        shutil.copy(HERE / "pooled.rs", source / "main.rs")
        shutil.copy(HERE / "slots.rs" if name == "after" else numbers, source / numbers.name)
        (source / "pooling.rs").write_text(text, encoding="utf-8")
    edit(folder / "before.src/pooling.rs", "@1 .min(16);\n        .min(1);")
    cargo(folder, library(folder, build, exact), exact, ("before", "published", "after"))
    return 1  # of pooling.rs, which names slots.rs instead of index_allocator.rs


def onetbb(folder: Path, build: Path, version: str, exact: bool) -> int:
    """Build a program whose workers sleep in oneTBB's list, and in slots of the library."""
    (folder / "lists/partial").mkdir(parents=True)
    release = version or "bookworm"
    (folder / "list").write_text(f"deb-src [signed-by={KEYS}] {DEBIAN} {release} main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder / 'list'}"]
    apt += ["-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={folder / 'lists'}"]
    run(*apt, "update", cwd=folder)
    run(*apt, "source", "--download-only", f"onetbb/{release}", cwd=folder)
    (archive,) = folder.glob("onetbb_*.orig.tar.*")
    (folder / "tree").mkdir()
    run("tar", "-xf", archive, "--strip-components=1", cwd=folder / "tree")
    lib, source = library(folder, build, exact), folder / "tree/src/tbb"
    compiler = [str(ROOT / "schedshard"), "c++"] if exact else ["c++"]
    compiler += ["-std=c++17", "-O2", "-g", "-pthread", "-mrtm", "-mwaitpkg", "-D__TBB_BUILD"]
    compiler += ["-Itree/include", "-Itree/src", "-iquotetree/src/tbb", f"-I{build / 'lib/public'}"]
    server, *others = (source / f"{name}.cpp" for name in SERVER.split())
    run(*compiler, "-c", HERE / "idle.cc", *others, cwd=folder)
    made = [f"{file.stem}.o" for file in (HERE / "idle.cc", *others)]
    parts: list[str | Path] = [*made, lib / "libschedshard.a", "-ldl"]
    run(*compiler, server, *parts, "-o", "before", cwd=folder)
    lines = edit(server, EDITS)
    run(*compiler, server, *parts, "-o", "after", cwd=folder)
    return lines


PORTS = {"wasmtime": wasmtime, "onetbb": onetbb, "peers": peers}

if __name__ == "__main__":
    asked, _, wanted = (sys.argv[1] if len(sys.argv) > 1 else "").partition("=")
    if len(sys.argv) not in (4, 5) or asked not in PORTS or sys.argv[4:] not in ([], ["exact"]):
        sys.exit("usage: port.py wasmtime[=VERSION]|onetbb[=RELEASE]|peers FOLDER BUILD [exact]")
    target, built = (Path(word).resolve() for word in sys.argv[2:4])
    target.mkdir(parents=True, exist_ok=True)
    print(f"{PORTS[asked](target, built, wanted, len(sys.argv) == 5)} lines changed")
