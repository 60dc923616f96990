"""How the tiles of one suit can be read: tables over the complete suit codes.

A reading splits a suit into sets and at most one pair and gives the winning tile a place in one
of them. More triplets never pay less, and only a hand without any can be a pinghu; so of all
readings of a suit it is enough to know the most triplets for each sort of place, and whether a
reading needs none. Suits are then joined by adding numbers of triplets.

Built with NumPy at first use and kept for the life of the process. N = complete codes, with row
0 for all others.
"""

import functools
from typing import NamedTuple

import numpy as np

from mjx import tables

# The fields of an entry. Places (first bit of three) hold one more than the most triplets with
# the winning tile in such a place, 0 if it cannot take one.
TIGHT = 0  # 單吊, 中洞, 邊張: pair, middle of a chow, outer end of 123 or 789
SHANPON = 3  # 雙碰: the triplet that it completes
TWO_SIDED = 6  # 兩面: either end of any other chow
ALL_CHOWS = 9  # bit: no triplet is needed, with the winning tile in a two-sided place
PLACE_MASK = 7
WHOLE = tables.RANKS  # column of a suit without the winning tile: MOST and ALL_CHOWS alone
MOST = 0


class Shapes(NamedTuple):
    """Readings of complete suit codes, in two steps to stay small.

    `rows[key[code], rank]` is the entry for a suit whose winning tile has that rank, and
    `rows[key[code], WHOLE]` that for a suit that does not hold the winning tile.
    """

    key: np.ndarray  # uint16[NUM_CODES]
    rows: np.ndarray  # uint16[N, 10]


class _Group(NamedTuple):
    """A set or pair: its tiles as a code, and the place that it gives to each rank it holds."""

    counts: tuple[int, ...]
    is_triplet: bool
    places: dict[int, int]


@functools.cache
def shapes() -> Shapes:
    """Builds the tables."""
    complete = (1 << tables.COMPLETE) | (1 << tables.COMPLETE_WITH_PAIR)
    codes = np.flatnonzero(tables.wins() & complete)
    key = np.zeros(tables.NUM_CODES, np.uint16)
    key[codes] = np.arange(1, len(codes) + 1)
    split = np.searchsorted(codes, tables.HONOUR_OFFSET)
    suits = _entries(codes[:split], tables.RANKS, _chows())
    honours = _entries(codes[split:] - tables.HONOUR_OFFSET, tables.HONOUR_RANKS, [])
    none = np.zeros((1, tables.RANKS + 1), np.uint16)
    return Shapes(key, np.concatenate([none, suits, honours]))


def _chows() -> list[_Group]:
    """Lists the seven chows of a suit."""
    chows = []
    for low in range(tables.RANKS - 2):
        counts = tuple(int(low <= rank <= low + 2) for rank in range(tables.RANKS))
        first = TIGHT if low == tables.RANKS - 3 else TWO_SIDED
        last = TIGHT if low == 0 else TWO_SIDED
        chows.append(_Group(counts, False, {low: first, low + 1: TIGHT, low + 2: last}))
    return chows


def _same(rank: int, ranks: int, copies: int) -> _Group:
    """Makes the triplet or the pair of a rank."""
    counts = tuple(copies * (other == rank) for other in range(ranks))
    return _Group(counts, copies == 3, {rank: SHANPON if copies == 3 else TIGHT})


def _entries(codes: np.ndarray, ranks: int, chows: list[_Group]) -> np.ndarray:
    """Builds the entries of all complete codes of one sort of suit: uint16[N, 10].

    Args:
      codes: int[N] all complete codes, ascending.
      ranks: the number of ranks of the suit.
      chows: the chows that can be made in it.
    """
    digits = codes[:, None] // 5 ** np.arange(ranks) % 5
    sets = chows + [_same(rank, ranks, 3) for rank in range(ranks)]
    most, all_chows = _most_triplets(codes, digits, sets)
    entries = np.zeros((len(codes), tables.RANKS + 1), np.int64)
    entries[:, WHOLE] = (most[codes] + 1 << MOST) | (all_chows[codes].astype(np.int64) << ALL_CHOWS)
    for group in sets + [_same(rank, ranks, 2) for rank in range(ranks)]:
        held, rest = _without(codes, digits, group)
        is_split = most[rest] >= 0
        held, rest = held[is_split], rest[is_split]
        triplets = most[rest] + group.is_triplet
        for rank, place in group.places.items():
            best = (entries[held, rank] >> place) & PLACE_MASK
            entries[held, rank] += np.maximum(triplets + 1 - best, 0) << place
            if place == TWO_SIDED:
                entries[held, rank] |= all_chows[rest].astype(np.int64) << ALL_CHOWS
    return entries.astype(np.uint16)


def _most_triplets(
    codes: np.ndarray, digits: np.ndarray, sets: list[_Group]
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the most triplets of each code, -1 if incomplete, and whether none is needed.

    Returns:
      int64[5**ranks], bool[5**ranks].
    """
    num_codes = 5 ** digits.shape[1]
    most = np.full(num_codes, -1, np.int64)
    all_chows = np.zeros(num_codes, bool)
    sizes = digits.sum(axis=1)
    without_sets = codes[(sizes == 0) | ((sizes == 2) & (digits.max(axis=1) == 2))]
    most[without_sets], all_chows[without_sets] = 0, True
    for size in np.unique(sizes):
        of_size = sizes == size
        for group in sets:
            held, rest = _without(codes[of_size], digits[of_size], group)
            code = codes[of_size][held]
            is_split = most[rest] >= 0
            code, rest = code[is_split], rest[is_split]
            most[code] = np.maximum(most[code], most[rest] + group.is_triplet)
            if not group.is_triplet:
                all_chows[code] |= all_chows[rest]
    return most, all_chows


def _without(codes: np.ndarray, digits: np.ndarray, group: _Group) -> tuple[np.ndarray, np.ndarray]:
    """Takes a group out: the rows of the codes that hold it, and the codes that are left."""
    held = np.flatnonzero((digits >= np.array(group.counts)).all(axis=1))
    taken = sum(count * 5**rank for rank, count in enumerate(group.counts))
    return held, codes[held] - taken
