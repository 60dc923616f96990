"""The tai of a won hand and the points that are paid for it (台數與付款)."""

from mjx.score.items import ITEMS, NAMES, NUM_ITEMS, Name, capped, dealers_items
from mjx.score.payments import Result, payments, points, result_of, settle
from mjx.score.tai import tai, total
from mjx.score.win import Win, win_if, win_of

__all__ = [
    "ITEMS",
    "NAMES",
    "NUM_ITEMS",
    "Name",
    "Result",
    "Win",
    "capped",
    "dealers_items",
    "payments",
    "points",
    "result_of",
    "settle",
    "tai",
    "total",
    "win_if",
    "win_of",
]
