"""What a match says: how often and how high a wins, on both sides and on each.

The two games of a deal share it and are not independent: their mean is one observation, and
intervals come from the spread of these. WP is the share of games won; ADP the points of a's side
against the other, 2 doubled by each bomb and the rocket.
"""

from typing import Any

import numpy as np

from agents.doudizhu.arena import Match
from agents.results import interval
from doudizhu.state import LANDLORD


def figures(match: Match, names: tuple[str, str]) -> dict[str, Any]:
    """Sums a match up.

    Args:
      match: what was played.
      names: of a and of b.

    Returns:
      `deals`, `plies`, and for `a` and `b`: `wp` and `adp`, means of both sides, with
      `wp_low`, `wp_high`, `adp_low`, `adp_high`; the same figures for each side under `landlord`
      and `peasants`; `seconds_per_decision`, None without a clock. Plain numbers, ready for JSON.
    """
    games = match.games
    landlord_won = games.winner == LANDLORD
    won = np.stack([landlord_won[:, 0], ~landlord_won[:, 1]], axis=1)  # by a
    points = np.stack([games.points[:, 0], -games.points[:, 1]], axis=1)
    result: dict[str, Any] = {"deals": len(won), "plies": float(games.plies.mean())}
    seconds = match.seconds_per_decision or (None, None)
    for side, name, took in zip("ab", names, seconds, strict=True):
        wins, gains = (won, points) if side == "a" else (~won[:, ::-1], -points[:, ::-1])
        result[side] = {
            "name": name,
            **_of(wins.mean(axis=1), gains.mean(axis=1)),
            "landlord": _of(wins[:, 0], gains[:, 0]),
            "peasants": _of(wins[:, 1], gains[:, 1]),
            "seconds_per_decision": took,
        }
    return result


def _of(wins: np.ndarray, points: np.ndarray) -> dict[str, float]:
    """Estimates both means of observations float[N]."""
    found = {}
    for name, values in (("wp", wins), ("adp", points)):
        estimate = interval(values.astype(np.float64))
        found |= {name: estimate["mean"], f"{name}_low": estimate["low"]}
        found[f"{name}_high"] = estimate["high"]
    return found


def table(result: dict[str, Any]) -> str:
    """Sets the figures of `figures` as text."""
    a, b = result["a"], result["b"]
    lines = [f"{a['name']} v {b['name']}, {result['deals']} deals, each played by both sides"]
    lines.append(f"{'':16}{'WP of a':^26}{'ADP of a':^30}")
    for label, part in (
        ("both", a),
        ("as landlord", a["landlord"]),
        ("as peasants", a["peasants"]),
    ):
        wp = f"{part['wp']:.3f} ({part['wp_low']:.3f} to {part['wp_high']:.3f})"
        adp = f"{part['adp']:+.3f} ({part['adp_low']:+.3f} to {part['adp_high']:+.3f})"
        lines.append(f"{label:16}{wp:<26}{adp:<30}")
    lines.append("95 % intervals over deals.")
    if a["seconds_per_decision"] is not None:
        took = [side["seconds_per_decision"] for side in (a, b)]
        lines.append(f"seconds a decision: a {took[0]:.2e}, b {took[1]:.2e}")
    return "\n".join(lines)
