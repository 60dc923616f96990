"""What a match says: rates of each side, and differences with their intervals.

Everything is a mean over hands and over the two seats of a side, so a side's win rate is that of
one seat. The two hands of a pair share their wall and are not independent: the pair's mean is one
observation, and intervals come from the spread of these. N = pairs, P = 4 seats.
"""

from typing import Any

import numpy as np

from agents.arena import Hands, Match
from mjx import state as st

LEVEL = 0.95  # of the intervals
_SEATS = np.arange(st.NUM_SEATS)
_ROWS = (
    ("win rate", "win_rate", "{:.2%}"),
    ("  self-drawn", "self_draw_rate", "{:.2%}"),
    ("deal-in rate", "deal_in_rate", "{:.2%}"),
    ("mean tai of a win", "mean_tai", "{:.3f}"),
    ("points a hand", "points_per_hand", "{:+.1f}"),
    ("seconds a decision", "seconds_per_decision", "{:.2e}"),
)


def figures(match: Match, names: tuple[str, str]) -> dict[str, Any]:
    """Sums a match up.

    Args:
      match: what was played.
      names: of a and of b.

    Returns:
      `pairs` and `drawn_rate`; for `a` and `b` the figures of one seat of the side (`mean_tai` is
      None without a win, `seconds_per_decision` without a clock); `diff` with the interval of
      a - b for `win_rate` and `points`. Plain numbers, ready for JSON.
    """
    hands = match.hands
    won = hands.winner[..., None] == _SEATS  # bool[N,2,P], as the next ones
    self_drawn = won & (hands.ending == st.SELF_DRAW)[..., None]
    on_other = np.isin(hands.ending, (st.ON_DISCARD, st.ROBBED_KONG))
    dealt_in = (hands.actor[..., None] == _SEATS) & on_other[..., None]
    seconds = match.seconds_per_decision or (None, None)
    result: dict[str, Any] = {
        "pairs": len(hands.winner),
        "drawn_rate": float((hands.ending == st.DRAWN).mean()),
    }
    for side, name, took, seats in zip("ab", names, seconds, _sides(hands), strict=True):
        tai = hands.tai[(won & seats).any(axis=-1)]
        result[side] = {
            "name": name,
            "win_rate": float(_per_seat(won, seats).mean()),
            "self_draw_rate": float(_per_seat(self_drawn, seats).mean()),
            "deal_in_rate": float(_per_seat(dealt_in, seats).mean()),
            "mean_tai": float(tai.mean()) if len(tai) else None,
            "points_per_hand": float(_per_seat(hands.points, seats).mean()),
            "seconds_per_decision": took,
        }
    result["diff"] = {
        "win_rate": interval(_lead(won, hands)),
        "points": interval(_lead(hands.points, hands)),
    }
    return result


def interval(observations: np.ndarray, level: float = LEVEL) -> dict[str, float]:
    """Estimates a mean with Student's t interval.

    Args:
      observations: float[N] independent observations, two or more.
      level: how often the interval covers the mean.

    Raises:
      ValueError: fewer than two observations.
    """
    from scipy import stats

    if len(observations) < 2:
        raise ValueError(f"An interval needs two observations or more, not {len(observations)}.")
    mean, error = float(np.mean(observations)), float(stats.sem(observations))
    margin = error * float(stats.t.ppf((1 + level) / 2, len(observations) - 1))
    return {"mean": mean, "low": mean - margin, "high": mean + margin}


def table(result: dict[str, Any]) -> str:
    """Sets the figures of `figures` as text."""
    a, b = result["a"], result["b"]
    width = max(12, len(a["name"]), len(b["name"])) + 2
    lines = [f"{'':20}{a['name']:>{width}}{b['name']:>{width}}"]
    for label, key, form in _ROWS:
        cells = ("-" if side[key] is None else form.format(side[key]) for side in (a, b))
        lines.append(f"{label:20}" + "".join(f"{cell:>{width}}" for cell in cells))
    win, points = result["diff"]["win_rate"], result["diff"]["points"]
    return "\n".join(
        [
            *lines,
            "",
            "a - b, one seat, 95 % interval over pairs:",
            f"  win rate  {100 * win['mean']:+.2f} points of a hundred "
            f"({100 * win['low']:+.2f} to {100 * win['high']:+.2f})",
            f"  points    {points['mean']:+.1f} a hand "
            f"({points['low']:+.1f} to {points['high']:+.1f})",
            f"{result['pairs']} pairs of hands, {result['drawn_rate']:.1%} drawn",
        ]
    )


def _sides(hands: Hands) -> tuple[np.ndarray, np.ndarray]:
    """Returns the seats of a and of b: bool[N,2,P] each."""
    return hands.is_a, ~hands.is_a


def _per_seat(values: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Averages values [N,2,P] over the two seats of a side: float64[N,2]."""
    return np.where(seats, values, 0).sum(axis=-1, dtype=np.float64) / (st.NUM_SEATS // 2)


def _lead(values: np.ndarray, hands: Hands) -> np.ndarray:
    """Returns by how much a is ahead of b, per seat, in each pair: float64[N]."""
    a, b = (_per_seat(values, seats) for seats in _sides(hands))
    return (a - b).mean(axis=-1)
