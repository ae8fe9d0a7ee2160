# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Two processes that want one tree: the second one waits, and says so."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kernel.layout import Layout


def test_a_tree_in_use_is_waited_for_aloud(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = Layout(tmp_path, tmp_path / "work")
    order = []

    def second() -> None:
        with layout.locked("shard"):
            order.append("second")

    waiter = threading.Thread(target=second)
    with layout.locked("shard"):
        assert not capsys.readouterr().err
        waiter.start()
        waiter.join(0.5)
        assert waiter.is_alive()
        order.append("first")
    waiter.join()
    assert order == ["first", "second"]
    assert capsys.readouterr().err == "waiting: another process uses work/state/shard.lock\n"
    with layout.locked("shard"):
        assert not capsys.readouterr().err
