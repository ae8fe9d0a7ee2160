# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The function that a cluster's worker runs for one point.

The sweep sends the function to workers as code, so that they need not have this package. So it uses
only the standard library. The sweep also sends the machine file. The simulator must be at the same
path with the same contents. Otherwise rows of two programs would have one name.
"""

from typing import Any


def run_point(argv: list[str], machine: bytes, sha256: str) -> dict[str, Any]:
    """Run the simulator with this machine file.

    Return {"raw": its JSON} or {"error": a sentence}.
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
        found = hashlib.sha256(binary.read_bytes()).hexdigest()
    except OSError as error:
        return {"error": f"worker {host} has no {binary}: {error.strerror}", "status": 2}
    if found != sha256:
        return {
            "error": f"{binary} of worker {host} is another program (sha256 {found[:12]}, "
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
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        words = said[-1] if said else f"exit status {done.returncode}"
        return {"error": f"worker {host}: {words}", "status": 2 if done.returncode == 2 else 1}
    try:
        raw = json.loads(done.stdout)
        return {"raw": {"metrics": raw["metrics"], "simulator": raw["simulator"]}}
    except (ValueError, KeyError, TypeError) as error:
        return {"error": f"worker {host}: no result from {binary.name}: {error}", "status": 1}


# Functions of the main program are pickled with their code. All others are pickled by the name of a
# module, which workers would need.
run_point.__module__ = "__main__"
