"""The match tables of docs/results.md, out of the files that `eval.py --json` writes.

A file that counts `pairs` is a match of mahjong, one that counts `deals` is one of Dou Dizhu. None
is taken whose version is no commit, or whose figures are incomplete or do not agree.
"""

import dataclasses
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mjx.rules import DEFAULT

Result = dict[str, Any]  # a file that was checked

# What a field is: how a refusal words it, and whether a value is that.
_Kind = tuple[str, Callable[[Any], bool]]


def _is_number(value: Any) -> bool:
    """Tells whether a value is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


_NUMBER: _Kind = ("a number", _is_number)
_SHARE: _Kind = ("a share from 0 to 1", lambda x: _is_number(x) and 0 <= x <= 1)
_COUNT: _Kind = ("a whole number of 2 or more", lambda x: type(x) is int and x >= 2)
_SEED: _Kind = ("a whole number from 0", lambda x: type(x) is int and x >= 0)
_NAME: _Kind = ("the name of an agent", lambda x: isinstance(x, str) and x != "")
_RULES: _Kind = ("the fields of the rules", lambda x: isinstance(x, dict) and bool(x))
_PERHAPS: _Kind = ("a number from 0 or null", lambda x: x is None or (_is_number(x) and x >= 0))
_COMMIT: _Kind = (
    "a commit of 40 hex digits, without files that differ from it",
    lambda x: isinstance(x, str) and re.fullmatch("[0-9a-f]{40}", x) is not None,
)

_INTERVAL = dict.fromkeys(("mean", "low", "high"), _NUMBER)
_SIDE = {
    "name": _NAME,
    **dict.fromkeys(("win_rate", "self_draw_rate", "deal_in_rate"), _SHARE),
    "mean_tai": _PERHAPS,
    "points_per_hand": _NUMBER,
}
_MAHJONG = {
    **{"pairs": _COUNT, "seed": _SEED, "commit": _COMMIT, "rules": _RULES, "drawn_rate": _SHARE},
    **{"a": _SIDE, "b": _SIDE, "diff": {"win_rate": _INTERVAL, "points": _INTERVAL}},
}
_ESTIMATES = {
    "wp": _SHARE,
    **dict.fromkeys(("wp_low", "wp_high", "adp", "adp_low", "adp_high"), _NUMBER),
}
_PLAYER = {"name": _NAME, **_ESTIMATES, "seconds_per_decision": _PERHAPS}
_DOUDIZHU = {
    **{"deals": _COUNT, "seed": _SEED, "commit": _COMMIT},
    "a": {**_PLAYER, "landlord": _ESTIMATES, "peasants": _ESTIMATES},
    "b": _PLAYER,
}


def read(folder: Path) -> list[Result]:
    """Reads all files of a folder, sorted as the rows are.

    Raises:
      ValueError: there is none, or one that is refused; the message names file and field.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ValueError(f"{folder} holds no file NAME.json.")
    return sorted(map(_read, paths), key=_place)


def mahjong(results: list[Result]) -> str:
    """Sets the matches of mahjong as a table in Markdown."""
    return _table(
        "A v B | pairs, seed, version | win rate of A and B, % | self-drawn of A and B, % "
        "| deal-in rate of A and B, % | mean tai of A and B | drawn, % "
        "| win rate, points of a hundred | points a hand",
        [_mahjong_row(result) for result in results if "pairs" in result],
    )


def doudizhu(results: list[Result]) -> str:
    """Sets the matches of Dou Dizhu as a table in Markdown."""
    return _table(
        "A v B | deals, seed, version | WP | as landlord | as peasants | ADP | ms",
        [_doudizhu_row(result) for result in results if "deals" in result],
    )


def _read(path: Path) -> Result:
    """Reads a file and checks it."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(result, dict) or ("pairs" in result) == ("deals" in result):
        raise ValueError(f"{path} is no result of eval.py: that counts either pairs or deals.")
    try:
        _check(result, _MAHJONG if "pairs" in result else _DOUDIZHU)
        _agree(result)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return result


def _check(value: Any, wanted: Any, where: str = "") -> None:
    """Refuses a value that lacks a field, or has one that cannot be."""
    if isinstance(wanted, tuple):
        about, is_that = wanted
        if not is_that(value):
            raise ValueError(f"{where} is {about}, not {value!r}.")
        return
    if not isinstance(value, dict):
        raise ValueError(f"{where} has the fields {', '.join(wanted)}, and is not {value!r}.")
    for name, inner in wanted.items():
        inside = f"{where}.{name}".lstrip(".")
        if name not in value:
            raise ValueError(f"{inside} is missing.")
        _check(value[name], inner, inside)


def _agree(result: Result) -> None:
    """Refuses a mean outside of its interval, or one that the two sides do not give."""
    a, b = result["a"], result["b"]
    if "pairs" in result:
        found = [
            (f"diff.{name}", result["diff"][name], a[rate] - b[rate])
            for name, rate in (("win_rate", "win_rate"), ("points", "points_per_hand"))
        ]
    else:
        found = [
            ("a.wp", _interval(a, "wp"), 1 - b["wp"]),
            ("a.adp", _interval(a, "adp"), -b["adp"]),
        ]
    for where, estimate, mean in found:
        if not estimate["low"] <= estimate["mean"] <= estimate["high"]:
            raise ValueError(f"{where} lies outside of its interval.")
        if not math.isclose(estimate["mean"], mean, rel_tol=1e-6, abs_tol=1e-6):
            raise ValueError(f"{where} is {estimate['mean']}, but the sides give {mean}.")


def _place(result: Result) -> tuple[Any, ...]:
    """Orders rows: by the players, long matches first."""
    number = result.get("pairs") or result["deals"]
    return result["a"]["name"], result["b"]["name"], -number, result["seed"], result["commit"]


def _mahjong_row(result: Result) -> list[str]:
    """Sets one match of mahjong."""
    default = dataclasses.asdict(DEFAULT)
    other = [f"{k}={v}" for k, v in result["rules"].items() if k not in default or default[k] != v]
    win = {name: 100 * value for name, value in result["diff"]["win_rate"].items()}
    return [
        _names(result) + (f", `--rules {','.join(other)}`" if other else ""),
        _circumstances(result, "pairs"),
        _both(result, "win_rate", 100, ".2f"),
        _both(result, "self_draw_rate", 100, ".2f"),
        _both(result, "deal_in_rate", 100, ".2f"),
        _both(result, "mean_tai", 1, ".2f"),
        f"{100 * result['drawn_rate']:.1f}",
        _bold_if_told(win, ".2f"),
        _bold_if_told(result["diff"]["points"], ".1f"),
    ]


def _doudizhu_row(result: Result) -> list[str]:
    """Sets one match of Dou Dizhu."""
    a = result["a"]
    return [
        _names(result),
        _circumstances(result, "deals"),
        "{mean:.3f} ({low:.3f} to {high:.3f})".format(**_interval(a, "wp")),
        f"{a['landlord']['wp']:.3f}",
        f"{a['peasants']['wp']:.3f}",
        "{mean:+.2f} ({low:+.2f} to {high:+.2f})".format(**_interval(a, "adp")),
        _both(result, "seconds_per_decision", 1000, ".1f"),
    ]


def _names(result: Result) -> str:
    """Names the players."""
    return f"`{result['a']['name']}` v `{result['b']['name']}`"


def _circumstances(result: Result, size: str) -> str:
    """Says what plays the match again: how long it is, its seed, and the version."""
    return f"{result[size]:,}, {result['seed']}, {result['commit'][:7]}"


def _both(result: Result, name: str, factor: float, form: str) -> str:
    """Sets a figure of A and of B; - where a side has none."""
    values = (result[side][name] for side in "ab")
    return ", ".join("-" if value is None else format(factor * value, form) for value in values)


def _interval(side: dict[str, float], name: str) -> dict[str, float]:
    """Takes the interval of one figure out of a side of Dou Dizhu."""
    return {"mean": side[name], "low": side[f"{name}_low"], "high": side[f"{name}_high"]}


def _bold_if_told(lead: dict[str, float], form: str) -> str:
    """Sets a difference with its interval, bold where that leaves out zero."""
    mean, low, high = (format(lead[part], "+" + form) for part in ("mean", "low", "high"))
    text = f"{mean} ({low} to {high})"
    return text if lead["low"] <= 0 <= lead["high"] else f"**{text}**"


def _table(head: str, rows: list[list[str]]) -> str:
    """Sets a table in Markdown."""
    lines = [f"| {head} |", "|---" * (head.count("|") + 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
