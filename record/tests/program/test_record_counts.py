# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A program recorded once for each of several numbers of threads."""

from __future__ import annotations

import json
from pathlib import Path

from recording import MACHINE, PROGRAMS, needs, run

KNOWN = PROGRAMS / "record-known"

pytestmark = needs(KNOWN)


def test_each_number_has_a_row_and_the_page_a_plot(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run(
        *("record", "--machine", MACHINE, "--uncertainty", "0", "--threads", "1,2,4", "--json"),
        *("--html", str(page), "--", str(KNOWN), "one", "{}", "300", "40"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    variants = report["variants"]
    assert [each["threads"] for each in variants] == [1, 2, 4]
    assert variants[0]["name"] == f"{MACHINE}, 1 thread"
    assert report["experiment"] == "record-known one {} 300 40"
    # All threads add to one word.
    hitm = [each["hitm_total"] for each in variants]
    assert hitm[0] < hitm[1] < hitm[2]
    text = page.read_text(encoding="utf-8")
    assert "predicted ms of the program" in text
    # The page's first sentence is about the run with most transfers.
    answer = text.partition("most often that of")[2].partition("</")[0]
    assert f"{MACHINE}, 4 threads" in answer


def test_wrong_words_are_refused(tmp_path: Path) -> None:
    for words, said in (
        (("--threads", "2", "--", str(KNOWN), "one", "2"), "no argument of the program contains"),
        (("--threads", "2,x", "--", str(KNOWN), "one", "{}"), "not a list of numbers"),
        (("--threads", "2", "--trace", "t", "--", str(KNOWN), "{}"), "--trace is for one run"),
    ):
        done = run("record", "--machine", MACHINE, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
