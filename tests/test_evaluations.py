"""Matches that are kept: the tables of docs/results.md are theirs, and bad files are refused."""

import copy
import json
import pathlib
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import evaluations

ROOT = pathlib.Path(__file__).parent.parent
COMMIT = "0123456789abcdef0123456789abcdef01234567"
MAHJONG = {
    "pairs": 1250,
    "drawn_rate": 0.0312,
    "a": {
        "name": "expectimax:depth=2",
        "win_rate": 0.25,
        "self_draw_rate": 0.0612,
        "deal_in_rate": 0.18,
        "mean_tai": 1.257,
        "points_per_hand": 20.25,
    },
    "b": {
        "name": "random",
        "win_rate": 0.2375,
        "self_draw_rate": 0.0598,
        "deal_in_rate": 0.2001,
        "mean_tai": None,
        "points_per_hand": -20.25,
    },
    "diff": {
        "win_rate": {"mean": 0.0125, "low": 0.0012, "high": 0.0238},
        "points": {"mean": 40.5, "low": -1.26, "high": 82.26},
    },
    "seed": 7,
    "commit": COMMIT,
    "rules": {"unit": 500, "n_flowers": 8},
}
MAHJONG_ROW = (
    "| `expectimax:depth=2` v `random`, `--rules n_flowers=8` | 1,250, 7, 0123456 | 25.00, 23.75 "
    "| 6.12, 5.98 | 18.00, 20.01 | 1.26, - | 3.1 | **+1.25 (+0.12 to +2.38)** "
    "| +40.5 (-1.3 to +82.3) |"
)
_A = {"wp": 0.6, "wp_low": 0.57, "wp_high": 0.63, "adp": 0.42, "adp_low": 0.3, "adp_high": 0.54}
DOUDIZHU = {
    "deals": 1000,
    "a": {
        "name": "cnn",
        **_A,
        "landlord": _A | {"wp": 0.7123},
        "peasants": _A | {"wp": 0.4877},
        "seconds_per_decision": 0.01234,
    },
    "b": {
        "name": "random",
        **{"wp": 0.4, "wp_low": 0.37, "wp_high": 0.43},
        **{"adp": -0.42, "adp_low": -0.54, "adp_high": -0.3},
        "seconds_per_decision": None,
    },
    "seed": 4242,
    "commit": COMMIT,
}
DOUDIZHU_ROW = (
    "| `cnn` v `random` | 1,000, 4242, 0123456 | 0.600 (0.570 to 0.630) | 0.712 | 0.488 "
    "| +0.42 (+0.30 to +0.54) | 12.3, - |"
)


def _changed(result, where, value):
    """Copies a result with one field changed; without it where the value is `...`."""
    result = copy.deepcopy(result)
    *path, last = where.split(".")
    inner = result
    for name in path:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return result


def _kept(folder, **results):
    """Writes results as files."""
    for name, result in results.items():
        (folder / f"{name}.json").write_text(json.dumps(result))
    return folder


def test_the_documented_tables_are_those_of_the_files(tmp_path, monkeypatch, capsys):
    """After a change: `python -m benchmarks results --write docs/results.md`."""
    documented, copied = ROOT / "docs/results.md", tmp_path / "results.md"
    copied.write_text(documented.read_text(encoding="utf-8"), encoding="utf-8")
    kept = str(ROOT / "docs/evaluations")
    given = ["benchmarks", "results", "--from", kept, "--write", str(copied)]
    monkeypatch.setattr(sys, "argv", given)
    assert command.main() == 0
    assert copied.read_text(encoding="utf-8") == documented.read_text(encoding="utf-8")
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert len(rows) == len(list((ROOT / "docs/evaluations").iterdir()))
    # Had the document no such tables, they would have been put at its end.
    copied.write_text("# Results\n", encoding="utf-8")
    assert command.main() == 0
    assert [line for line in copied.read_text().splitlines() if line.startswith("| `")] == rows


def test_rows_number_by_number(tmp_path):
    found = evaluations.read(_kept(tmp_path, one=MAHJONG, other=DOUDIZHU))
    tables = evaluations.mahjong(found), evaluations.doudizhu(found)
    for table, row in zip(tables, (MAHJONG_ROW, DOUDIZHU_ROW), strict=True):
        head, line, *rows = table.splitlines()
        assert rows == [row]
        assert head.count("|") == line.count("|") == row.count("|")


def test_rows_are_sorted(tmp_path):
    """By the players, then the longest first, then by seed."""
    later = _changed(MAHJONG, "seed", 8)
    longer = _changed(later, "pairs", 1251)
    first = _changed(MAHJONG, "a.name", "bdi")
    found = evaluations.read(_kept(tmp_path, a=later, b=MAHJONG, c=longer, d=first))
    assert found == [first, longer, MAHJONG, later]


@pytest.mark.parametrize("low, high", [(-0.01, 0.0125), (0.0125, 0.03)])
def test_bold_leaves_out_zero(tmp_path, low, high):
    result = _changed(MAHJONG, "diff.win_rate", {"mean": 0.0125, "low": low, "high": high})
    text = evaluations.mahjong(evaluations.read(_kept(tmp_path, one=result)))
    assert (f"**+1.25 ({100 * low:+.2f} to {100 * high:+.2f})**" in text) == (low > 0)


@pytest.mark.parametrize("result", [MAHJONG, DOUDIZHU], ids=["mahjong", "doudizhu"])
@pytest.mark.parametrize(
    "where, value, message",
    [
        ("commit", COMMIT + "-dirty", "commit is a commit of 40 hex digits, without files that"),
        ("commit", None, "commit is a commit of 40 hex digits, .* not None"),
        ("commit", ..., "commit is missing"),
        ("seed", -1, "seed is a whole number from 0, not -1"),
        ("seed", True, "seed is a whole number"),
        ("b.name", ..., r"b\.name is missing"),
        ("a", [], r"a has the fields name, "),
    ],
)
def test_incomplete_files_are_refused(tmp_path, result, where, value, message):
    folder = _kept(tmp_path, good=result, wrong=_changed(result, where, value))
    with pytest.raises(ValueError, match=rf"wrong\.json: {message}"):
        evaluations.read(folder)


@pytest.mark.parametrize(
    "result, where, value, message",
    [
        (MAHJONG, "pairs", 1.5, ": pairs is a whole number of 2 or more, not 1.5"),
        (MAHJONG, "pairs", ..., " is no result of eval.py"),
        (MAHJONG, "deals", 4, " is no result of eval.py"),
        (MAHJONG, "rules", {}, ": rules is the fields of the rules"),
        (MAHJONG, "drawn_rate", 3.12, ": drawn_rate is a share from 0 to 1, not 3.12"),
        (MAHJONG, "a.mean_tai", "1.2", r": a\.mean_tai is a number from 0 or null"),
        (MAHJONG, "diff.points.low", ..., r": diff\.points\.low is missing"),
        (MAHJONG, "diff.points.low", float("nan"), r": diff\.points\.low is a number, not nan"),
        (MAHJONG, "diff.points.high", 40.4, r": diff\.points lies outside of its interval"),
        (MAHJONG, "a.points_per_hand", 20, r": diff\.points is 40.5, but the sides give 40.25"),
        (MAHJONG, "b.win_rate", 0.235, r": diff\.win_rate is 0.0125, but the sides give 0.015"),
        (DOUDIZHU, "a.landlord.wp", ..., r": a\.landlord\.wp is missing"),
        (DOUDIZHU, "a.adp_low", 0.43, r": a\.adp lies outside of its interval"),
        (DOUDIZHU, "b.wp", 0.39, r": a\.wp is 0.6, but the sides give 0.61"),
        (DOUDIZHU, "b.adp", 0.42, r": a\.adp is 0.42, but the sides give -0.42"),
    ],
)
def test_wrong_figures_are_refused(tmp_path, result, where, value, message):
    folder = _kept(tmp_path, good=result, wrong=_changed(result, where, value))
    with pytest.raises(ValueError, match=rf"wrong\.json{message}"):
        evaluations.read(folder)


@pytest.mark.parametrize("text, message", [("{", "is no JSON"), ("[]", "is no result"), (None, "")])
def test_what_is_no_evaluation_is_refused_by_the_command(
    tmp_path, text, message, monkeypatch, capsys
):
    path = tmp_path / "wrong.json"
    if text is not None:
        path.write_text(text)
    written = tmp_path / "results.md"
    given = ["benchmarks", "results", "--from", str(tmp_path), "--write", str(written)]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as stop:
        command.main()
    expected = f"{tmp_path} holds no file NAME.json" if text is None else f"{path} {message}"
    assert stop.value.code == 2 and expected in capsys.readouterr().err
    assert not written.exists()
