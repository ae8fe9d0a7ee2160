# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the trial's file: GRUB with a menu, two kernels, and a system that lives in memory.

trial.efi is one program for UEFI, which contains everything. trial.iso boots with UEFI and BIOS,
from a stick or a disc. The file kexec.sh on it starts the trial from a running system.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, telling
from common.output import replacing
from common.programs import call, require
from common.progress import working
from kernel.build.config import resolve
from kernel.guest.cpio import Entry, archive, content, plain
from kernel.guest.initramfs import contents
from kernel.layout import Layout
from kernel.trial.python import python_files
from kernel.trial.workloads import chosen

STOCK = "stock"
CONFIG = "trial"
_PARTS = ("rt-tests", "stress-ng")
_OWN = ("trial-encode", "rt-groups", "push-ipi.sh")
# The kernel looks at no disk, and prints every message on the screen and the serial line.
PARAMETERS = (
    "rdinit=/init", "retain_initrd", "console=tty0", "console=ttyS0,115200", "loglevel=6",
    "printk.devkmsg=on", "panic=10",
)  # fmt: skip
_MODULES = "normal linux configfile echo test serial terminal reboot minicmd all_video gfxterm"
_EFI = "efi_gop efi_uga"


@dataclass(frozen=True)
class TrialRequest:
    """Both variants and their configuration, and how the trial runs."""

    kernels: tuple[str, str] = (STOCK, "series")
    config: str = CONFIG
    minutes: int = 10
    pairs: int = 4
    version: str = "0"
    workloads: tuple[str, ...] = ()  # (): all
    parameters: tuple[str, ...] = ()  # additional, for both kernels


def kernel_paths(layout: Layout, request: TrialRequest) -> dict[str, Path]:
    """Return the built kernels. The UserError names the command that builds a missing one."""
    name = resolve(layout, request.config).name
    paths = {v: layout.objects(v, name) / layout.arch.image for v in request.kernels}
    for variant, path in paths.items():
        if not path.is_file():
            raise UserError(
                f"variant '{variant}' is not built in configuration '{request.config}': run "
                f"'./schedshard kernel build --variant {variant} --config {request.config}'"
            )
        options = (path.parents[3] / ".config").read_text(encoding="utf-8").splitlines()
        if missing := [
            o for o in ("CONFIG_KEXEC_FILE", "CONFIG_RD_ZSTD") if f"{o}=y" not in options
        ]:
            raise UserError(f"{request.config} lacks {missing[0]}=y, which a trial needs")
    return paths


def menu(request: TrialRequest, folder: str) -> str:
    """Return GRUB's configuration. ``folder`` is where it finds the kernels and trial.img."""
    kernels = request.kernels
    entries = [(f"Measure {' and '.join(kernels)}, unattended", kernels[0], "")]
    for name in kernels:
        entries.append((f"Measure only {name}, without kexec", name, " trial.kexec=off"))
    entries.append(("Say what would run, and run nothing", kernels[0], " trial.dry=1"))
    lines = [
        "set timeout=5",
        "if serial --unit=0 --speed=115200; then",
        "  terminal_input console serial",
        "  terminal_output console serial",
        "fi",
        "set gfxpayload=keep",
    ]
    for title, name, more in entries:
        words = f"{' '.join((*PARAMETERS, *request.parameters))} trial.kernel={name}{more}"
        lines += [
            f'menuentry "{title}" {{',
            f"  linux {folder}/{name} {words}",
            f"  initrd {folder}/trial.img",
            "}",
        ]
    return "\n".join((*lines, 'menuentry "Restart the machine" {', "  reboot", "}", ""))


_KEXEC = """#!/bin/sh
# Starts the trial from a running Linux. Nothing is installed, and the running system ends as in a
# restart without its own shutdown: stop what must be stopped, and unmount what must be unmounted.
cd "$(dirname "$0")/boot" || exit 1
case "$(cat /sys/kernel/security/lockdown 2>/dev/null)" in
*"[integrity]"* | *"[confidentiality]"*)
	echo "this kernel is locked down (Secure Boot) and starts no other: boot from the file" >&2
	exit 1 ;;
esac
if [ "$(cat /proc/sys/kernel/kexec_load_disabled 2>/dev/null)" = 1 ]; then
	echo "kexec is forbidden here (kernel.kexec_load_disabled): boot from the file" >&2
	exit 1
fi
kexec -s -l KERNEL --initrd=trial.img --command-line="PARAMETERS" || exit 1
sync
exec kexec -e
"""


def kexec_script(request: TrialRequest) -> str:
    """Return the script that starts the trial from a running system with kexec-tools."""
    first = request.kernels[0]
    words = " ".join((*PARAMETERS, *request.parameters, f"trial.kernel={first}"))
    return _KEXEC.replace("KERNEL", first, 1).replace("PARAMETERS", words, 1)


def system_files(layout: Layout, request: TrialRequest) -> dict[str, Entry]:
    """Return the files of the trial's system, by their paths there."""
    paths = kernel_paths(layout, request)
    files = contents(layout, _PARTS)
    own = {f"/bin/{name}": files[f"/bin/{name}"] for name in _OWN}
    init = files["/bin/trial-init.sh"]
    for name in [*files]:
        entry = files[name]
        if isinstance(entry.data, Path) and entry.data.is_relative_to(layout.work):
            del files[name]
    files |= own | {"/init": init} | python_files(layout.project)
    files |= {f"/boot/{name}": plain(path) for name, path in paths.items()}
    digest = hashlib.sha256(repr(request).encode())
    for path, entry in sorted(files.items()):
        digest.update(path.encode() + hashlib.sha256(content(entry)).digest())
    settings = {
        "id": digest.hexdigest()[:32], "kernels": request.kernels, "minutes": request.minutes,
        "pairs": request.pairs, "version": request.version, "workloads": request.workloads,
    }  # fmt: skip
    return files | {"/etc/trial.json": plain(json.dumps(settings).encode())}


def _image(files: Mapping[str, Entry], folder: Path) -> Path:
    whole, packed = folder / "trial.cpio", folder / "trial.img"
    with telling(f"cannot write {whole}"), whole.open("wb") as out:
        out.writelines(archive(files))
    call(["zstd", "-q", "-12", "-T0", whole, "-o", packed], what="compressing the trial's system")
    whole.unlink()
    return packed


def _efi(request: TrialRequest, paths: Mapping[str, Path], folder: Path, out: Path) -> None:
    grub = folder / "grub.cfg"
    grub.write_text(menu(request, "(memdisk)/boot"), encoding="ascii")
    places = {f"boot/{name}": path for name, path in paths.items()}
    places |= {"boot/grub/grub.cfg": grub, "boot/trial.img": folder / "trial.img"}
    modules = f"{_MODULES} {_EFI}"
    call(
        [
            "grub-mkstandalone", "-O", "x86_64-efi", "-o", out, f"--install-modules={modules}",
            "--fonts=", "--themes=", "--locales=",
            *(f"{place}={path}" for place, path in places.items()),
        ],
        what="making the program for UEFI",
    )  # fmt: skip


def _iso(request: TrialRequest, paths: Mapping[str, Path], folder: Path, out: Path) -> None:
    root = folder / "iso"
    boot = root / "boot"
    (boot / "grub").mkdir(parents=True)
    (boot / "grub" / "grub.cfg").write_text(menu(request, "/boot"), encoding="ascii")
    (root / "kexec.sh").write_text(kexec_script(request), encoding="ascii")
    for name, path in {**paths, "trial.img": folder / "trial.img"}.items():
        shutil.copyfile(path, boot / name)
    call(
        ["grub-mkrescue", "-o", out, root, "--", "-volid", "SCHEDSHARD"],
        what="making the image for BIOS and UEFI",
    )


_MAKERS = {".efi": _efi, ".iso": _iso}


def make_trial(layout: Layout, request: TrialRequest, outs: Sequence[Path]) -> None:
    """Make each of the files, by its suffix. Each appears when it is complete."""
    for out in outs:
        if out.suffix not in _MAKERS:
            raise UserError(f"--out {out}: the name must end in {' or '.join(_MAKERS)}")
    chosen((), request.workloads)  # an unknown name
    require("zstd", "grub-mkstandalone", "grub-mkrescue", "xorriso", "mformat")
    paths = kernel_paths(layout, request)
    with tempfile.TemporaryDirectory(prefix="trial.", dir=layout.make_folder(layout.work)) as name:
        folder = Path(name)
        with working("making the trial's system"):
            _image(system_files(layout, request), folder)
        for out in outs:
            made = folder / out.name
            with working(f"making {out.name}"):
                _MAKERS[out.suffix](request, paths, folder, made)
            with replacing(out) as part, telling(f"cannot write {out}"):
                shutil.copyfile(made, part)
