"""What the tiles of one suit can become: tables indexed by the suit's base-5 code.

`packed.code` numbers the contents of a suit. Honours make no runs, so their codes follow the
suits' in the same tables, from `HONOUR_OFFSET` on. Built with NumPy in about a second at first
use and kept for the life of the process; nothing is stored on disk. G = sets 0-5, with or
without the pair.
"""

import functools
from typing import NamedTuple

import numpy as np

from mjx.tiles import NUM_COPIES

MAX_SETS = 5
RANKS, HONOUR_RANKS = 9, 7
HONOUR_OFFSET = 5**RANKS
NUM_CODES = HONOUR_OFFSET + 5**HONOUR_RANKS

# The fields of a `wins` entry.
COMPLETE, COMPLETE_WITH_PAIR = 0, 1  # bit positions
WAITS, WAITS_WITH_PAIR = 2, 11  # first bit of the nine ranks that would complete it


class Missing(NamedTuple):
    """Tiles missing from a suit for given numbers of sets, in two steps to stay small.

    `rows[key[code]]` holds, for 0 to 5 sets without the pair and then 0 to 5 sets with it, how
    many tiles the suit still lacks.
    """

    key: np.ndarray  # uint8[NUM_CODES]
    rows: np.ndarray  # uint8[R, 12]


@functools.cache
def wins() -> np.ndarray:
    """Says of each suit code whether it is complete, and which ranks would complete it.

    Returns:
      uint32[NUM_CODES]: bit 0, only complete sets; bit 1, sets and one pair; bits 2-10, ranks
      that make it the former; bits 11-19, ranks that make it the latter.
    """
    table = np.zeros(NUM_CODES, np.uint32)
    for offset, ranks, melds in (
        (0, RANKS, _suit_sets()),
        (HONOUR_OFFSET, HONOUR_RANKS, _triplets(HONOUR_RANKS)),
    ):
        bare = _sums_of_sets(melds, ranks)
        paired = _add_one_of(bare, [2 * 5**r for r in range(ranks)], ranks)
        for codes, flag, waits in (
            (bare, COMPLETE, WAITS),
            (paired, COMPLETE_WITH_PAIR, WAITS_WITH_PAIR),
        ):
            table[offset + codes] |= np.uint32(1 << flag)
            for rank in range(ranks):
                with_rank = codes[codes // 5**rank % 5 > 0]
                table[offset + with_rank - 5**rank] |= np.uint32(1 << (waits + rank))
    return table


@functools.cache
def missing() -> Missing:
    """Says of each suit code how many tiles it lacks for 0 to 5 sets, without and with a pair.

    A target is a code made of exactly those sets (and pair). The tiles missing are the least sum
    of max(0, target - held) over the ranks: zero at a target, one more for each tile taken away,
    and never more for a tile added, so two sweeps along each rank's axis find it.
    """
    packed = np.empty(NUM_CODES, np.uint64)
    for offset, ranks, melds in (
        (0, RANKS, _suit_sets()),
        (HONOUR_OFFSET, HONOUR_RANKS, _triplets(HONOUR_RANKS)),
    ):
        part = np.zeros(5**ranks, np.uint64)
        bare = np.zeros(1, np.int64)
        for sets in range(MAX_SETS + 1):
            paired = _add_one_of(bare, [2 * 5**r for r in range(ranks)], ranks)
            part |= _sweep(bare, ranks).astype(np.uint64) << np.uint64(5 * sets)
            part |= _sweep(paired, ranks).astype(np.uint64) << np.uint64(5 * (sets + 6))
            bare = _add_one_of(bare, melds, ranks)
        packed[offset : offset + 5**ranks] = part
    distinct, key = np.unique(packed, return_inverse=True)
    shifts = np.arange(12, dtype=np.uint64) * np.uint64(5)
    rows = ((distinct[:, None] >> shifts) & np.uint64(31)).astype(np.uint8)
    return Missing(key.astype(np.uint8), rows)


class Joins(NamedTuple):
    """How the missing tiles of two parts of a hand combine: a few hundred rows, closed under it.

    The rows of `missing` come first, so that a suit's key is also its row here. J = rows.
    """

    pair: np.ndarray  # uint16[J, J]     the row of two parts together
    lacks: np.ndarray  # uint8[6, J, J]  tiles missing from two parts, by melds laid down
    rows: np.ndarray  # uint8[J, 12]    as in `Missing`


@functools.cache
def joins() -> Joins:
    """Joins all rows of `missing`, and the rows so made, until no new one appears."""
    rows = missing().rows.astype(np.uint64)
    places = {number: place for place, number in enumerate(_as_numbers(rows).tolist())}
    pair = np.zeros((0, 0), np.int64)
    while len(pair) < len(rows):
        joined = _as_numbers(_min_plus(rows[:, None], rows[None]))
        distinct, inverse = np.unique(joined, return_inverse=True)
        for number in distinct.tolist():
            places.setdefault(number, len(places))
        pair = np.array([places[n] for n in distinct.tolist()])[inverse].reshape(joined.shape)
        rows = np.array(list(places), np.uint64)[:, None] >> _ROW_SHIFTS & np.uint64(31)
    with_pair = rows[:, MAX_SETS + 1 :]  # by sets wanted
    lacks = np.stack([with_pair[pair, MAX_SETS - melds] for melds in range(MAX_SETS + 1)])
    return Joins(pair.astype(np.uint16), lacks.astype(np.uint8), rows.astype(np.uint8))


class Steps(NamedTuple):
    """Which ways to share out sets and pair are best, and which of them one more tile serves.

    A *way* e, 0 to 11, gives a suit the sets and the pair of entry e of its row; the rest of the
    hand makes what is left. A tile lowers the deficiency if and only if it lowers an entry that
    a best way uses: `(best[melds, suit, rest] & lower[suit, suit with the tile]) > 0`.
    """

    best: np.ndarray  # uint16[6, R, J]  by melds laid down, row of the suit, row of the rest: bit e
    lower: np.ndarray  # uint16[R, R]     by row before and after: bit e


@functools.cache
def steps() -> Steps:
    """Compares the rows of `missing` with one another and with all that the rest may lack."""
    suits, rest = missing().rows.astype(np.int32), joins().rows.astype(np.int32)
    bits = (1 << np.arange(12)).astype(np.uint16)
    sets = MAX_SETS + 1
    best = []
    for melds in range(sets):
        num_ways = sets - melds  # sets of the suit, 0 to those still to make
        ways = np.arange(num_ways)
        of_suit = np.concatenate([ways, ways + sets])
        of_rest = np.concatenate([ways[::-1] + sets, ways[::-1]])
        lacks = suits[:, None, of_suit] + rest[None, :, of_rest]
        is_best = lacks == lacks.min(axis=-1, keepdims=True)
        best.append(np.sum(is_best * bits[of_suit], axis=-1, dtype=np.uint16))
    lower = np.sum((suits[None] < suits[:, None]) * bits, axis=-1, dtype=np.uint16)
    return Steps(np.stack(best), lower)


_ROW_SHIFTS = np.arange(12, dtype=np.uint64) * np.uint64(5)


def _as_numbers(rows: np.ndarray) -> np.ndarray:
    """Writes rows uint64[..., 12], which stay below 32, as one number each: uint64[...]."""
    return np.asarray(np.sum(rows << _ROW_SHIFTS, axis=-1, dtype=np.uint64))


def _min_plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Shares sets and pair out between two parts at best: [..., 12] from the parts' rows."""
    sets = MAX_SETS + 1
    bare = [[a[..., i] + b[..., n - i] for i in range(n + 1)] for n in range(sets)]
    paired = [
        [a[..., sets + i] + b[..., n - i] for i in range(n + 1)]
        + [a[..., i] + b[..., sets + n - i] for i in range(n + 1)]
        for n in range(sets)
    ]
    return np.stack([np.minimum.reduce(ways) for ways in bare + paired], axis=-1)


def _triplets(ranks: int) -> list[int]:
    """Lists the codes of the triplets."""
    return [3 * 5**r for r in range(ranks)]


def _suit_sets() -> list[int]:
    """Lists the codes of the triplets and runs of a suit."""
    return _triplets(RANKS) + [31 * 5**r for r in range(RANKS - 2)]


def _digits(codes: np.ndarray, ranks: int) -> np.ndarray:
    """Writes codes as counts: int64[N, ranks]."""
    return codes[:, None] // 5 ** np.arange(ranks) % 5


def _add_one_of(codes: np.ndarray, parts: list[int], ranks: int) -> np.ndarray:
    """Adds each part to each code, and keeps the sums that hold at most four of a rank."""
    counts = _digits(codes, ranks)
    sums = []
    for part in parts:
        fits = (counts + _digits(np.array([part]), ranks) <= NUM_COPIES).all(axis=1)
        sums.append(codes[fits] + part)
    return np.unique(np.concatenate(sums))


def _sums_of_sets(melds: list[int], ranks: int) -> np.ndarray:
    """Lists the codes made of 0 to 5 sets."""
    level = np.zeros(1, np.int64)
    levels = [level]
    for _ in range(MAX_SETS):
        level = _add_one_of(level, melds, ranks)
        levels.append(level)
    return np.unique(np.concatenate(levels))


def _sweep(targets: np.ndarray, ranks: int) -> np.ndarray:
    """Counts the tiles missing to the nearest target, for every code: uint8[5**ranks]."""
    far = 31  # no such target (more sets than the honours hold)
    lacks = np.full(5**ranks, far, np.uint8)
    lacks[targets] = 0
    for rank in range(ranks):
        view = lacks.reshape(-1, 5, 5**rank)
        for held in range(1, 5):
            np.minimum(view[:, held], view[:, held - 1], out=view[:, held])
        for held in range(3, -1, -1):
            np.minimum(view[:, held], np.minimum(view[:, held + 1] + 1, far), out=view[:, held])
    return lacks
