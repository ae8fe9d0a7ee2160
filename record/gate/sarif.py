# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes a verdict in SARIF, the Static Analysis Results Interchange Format 2.1.0 (OASIS)."""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from common.paths import VERSION
from record.gate.judge import APPEARED, GREW, UNSURE, Judged, Row
from record.gate.words import name_of, plain, sentence

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
_LEVELS = {APPEARED: "error", GREW: "error", UNSURE: "note"}
_RULES = {
    APPEARED: ("line-appeared", "A contended cache line is not in the baseline."),
    GREW: ("line-grew", "A contended cache line costs more than in the baseline."),
    UNSURE: ("line-may-have-grown", "A line may cost more, but there were too few runs to decide."),
}


def _artifact(file: str) -> dict[str, str]:
    """Return the location of a file: relative to the repository, or an absolute URI."""
    uri = quote(file.encode("utf-8", "surrogatepass"), safe="/")
    if PurePath(file).is_absolute():
        return {"uri": f"file://{uri}"}
    return {"uri": uri, "uriBaseId": _ROOT}


def _location(row: Row) -> dict[str, Any]:
    logical = [{"name": name_of(row), "kind": "variable"}]
    if row.place is None:
        return {"logicalLocations": logical}
    logical.append({"name": plain(row.place.function), "kind": "function"})
    return {
        "physicalLocation": {
            "artifactLocation": _artifact(row.place.file),
            "region": {"startLine": max(row.place.line, 1)},
        },
        "logicalLocations": logical,
    }


def _result(row: Row, per: str) -> dict[str, Any]:
    names = "\0".join([row.machine, *sorted(row.names)])
    digest = hashlib.sha256(names.encode("utf-8", "backslashreplace")).hexdigest()
    return {
        "ruleId": _RULES[row.verdict][0], "level": _LEVELS[row.verdict],
        "message": {"text": f"{sentence(row, per)}."}, "locations": [_location(row)],
        "partialFingerprints": {"contendedLine/v1": digest},
    }  # fmt: skip


def sarif(judged: Judged | None, status: int = 0) -> dict[str, Any]:
    """Return a SARIF log with one result per row that appeared, grew, or may have grown.

    ``judged`` is None if nothing was judged. ``status`` is the command's exit status.
    """
    rows = judged.those(*_LEVELS) if judged is not None else []
    per = judged.per if judged is not None else ""
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "schedshard record",
                        "version": VERSION,
                        "rules": [
                            {"id": name, "shortDescription": {"text": text}}
                            for name, text in _RULES.values()
                        ],
                    }
                },
                "originalUriBaseIds": {
                    _ROOT: {"description": {"text": "The folder in which the command ran."}}
                },
                "invocations": [{"executionSuccessful": judged is not None, "exitCode": status}],
                "results": [_result(row, per) for row in rows],
            }
        ],
    }
