"""The tables of width and depth: what is kept is not played again, and a file is written once."""

import json

import pytest

from benchmarks import tables


def _cell(alpha, depth, commit):
    of = dict(depth=depth, alpha=alpha, b="greedy", pairs=2, seed=3, commit=commit)
    side = {"seconds_per_decision": 0.00125 * depth, "deal_in_rate": 0.125}
    lead = {"mean": alpha / 100, "low": -0.01, "high": 0.25}
    points = {"mean": 1000 * alpha, "low": -5.0, "high": 2000.0}
    return {"of": of, "a": side, "b": side, "diff": {"win_rate": lead, "points": points}}


def test_kept_cells_are_not_played_again(tmp_path, monkeypatch):
    kept = tmp_path / "cells.json"
    cells = [_cell(alpha, depth, "abc") for depth in (1, 2) for alpha in (0.2, 1.0)]
    kept.write_text(json.dumps({"cells": cells[::-1]}))
    monkeypatch.setattr(tables, "commit", lambda: "abc")
    assert tables.play([0.2, 1.0], [1, 2], "greedy", 2, 3, kept) == cells

    def play(*_, **__):
        raise LookupError

    monkeypatch.setattr(tables.arena, "match", play)
    for change in (dict(seed=4), dict(pairs=3), dict(b="random"), dict(alphas=[0.4])):
        asked = dict(alphas=[0.2], depths=[1], b="greedy", pairs=2, seed=3, kept=kept) | change
        with pytest.raises(LookupError):
            tables.play(**asked)
    monkeypatch.setattr(tables, "commit", lambda: "abcd")
    with pytest.raises(LookupError):
        tables.play([0.2], [1], "greedy", 2, 3, kept)


def test_tables_replace_those_before(tmp_path):
    path = tmp_path / "results.md"
    path.write_text("# Results\n\nText.\n")
    cells = [_cell(alpha, depth, "abc-dirty") for depth in (1, 2) for alpha in (0.2, 1.0)]
    text = tables.text(cells)
    assert "commit abc-dirty." in text
    assert "| 0.2 | 1.25e-03 | 2.50e-03 |" in text
    assert "| +0.20 (-1.00 to +25.00); 12.50 and 12.50 |" in text
    assert "| 1.0 | +1000.0 (-5.0 to +2000.0) | +1000.0 (-5.0 to +2000.0) |" in text
    tables.write(path, "old\n")
    path.write_text(path.read_text() + "\nAfter.\n")
    tables.write(path, text)
    once = path.read_text()
    assert once.startswith("# Results\n\nText.\n\n## ") and once.endswith("\nAfter.\n")
    assert text in once and "old" not in once
    tables.write(path, text)
    assert path.read_text() == once
