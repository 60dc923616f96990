"""What legality asks of all moves at once, as tables; built at first use.

W = 864 words of 32 bits hold one bit a move, id = 32 word + bit. A = moves, G = groups.
"""

import functools
from typing import NamedTuple

import numpy as np

from doudizhu import packed
from doudizhu.cards import BLACK_JOKER, NUM_RANKS, RED_JOKER
from doudizhu.moves import FIRST_BOMB, NUM_MOVES, PASS, ROCKET, all_moves

NUM_WORDS = 864
BITS = 32
NUM_GROUPS = 309
_SECOND_CARD = np.uint32(0x22222222)  # of each rank; a hand holds it only with the first


class Ranges(NamedTuple):
    """What beats a move: two ranges of ids. The pass stands for leading: all beats it."""

    start: np.ndarray  # int32[A]  first id of its class that is higher
    stop: np.ndarray  # int32[A]  end of its class
    bombs: np.ndarray  # int32[A]  first bomb, or the rocket, that beats it; up to the pass


class GroupTable(NamedTuple):
    """The groups, in the order of their first ids."""

    main: tuple[np.ndarray, np.ndarray]  # uint32[G] each: the main cards
    kickers: tuple[np.ndarray, np.ndarray]  # uint32[G] each: a bit for each kicker of a hand
    num_kickers: np.ndarray  # int32[G]
    takes_joker: np.ndarray  # bool[G]  one of the jokers may be a kicker
    first: np.ndarray  # int32[G]  id of its first move


@functools.cache
def affordable(strict: bool) -> np.ndarray:
    """Lists for each rank, and each number held of it, the moves that need no more of it.

    What a hand can make is in the rows of all its ranks. A pass, and what `strict` bars, are in no
    row of the first rank.

    Returns:
      uint32[15,5,W].
    """
    moves = all_moves()
    needed = np.full((BITS * NUM_WORDS, NUM_RANKS), np.iinfo(np.int8).max)
    is_allowed = moves.is_strict | (not strict)
    is_allowed[PASS] = False
    needed[:NUM_MOVES][is_allowed] = moves.counts[is_allowed]
    is_enough = needed.T[:, None, :] <= np.arange(5)[None, :, None]  # [15, 5, 32 W]
    return np.packbits(is_enough, axis=-1, bitorder="little").view("<u4").astype(np.uint32)


@functools.cache
def ranges() -> Ranges:
    """Finds what beats each move."""
    moves = all_moves()
    # Ascending with the ids, since these go by category, length and head.
    rank_of = (moves.category.astype(np.int32) * 16 + moves.length) * 16 + moves.head
    start = np.searchsorted(rank_of, rank_of, side="right")
    stop = np.searchsorted(rank_of // 16, rank_of // 16, side="right")
    bombs = np.full(NUM_MOVES, FIRST_BOMB)
    bombs[FIRST_BOMB:ROCKET] = start[FIRST_BOMB:ROCKET]
    bombs[ROCKET] = PASS
    start[PASS], stop[PASS] = 0, FIRST_BOMB
    return Ranges(*(x.astype(np.int32) for x in (start, stop, bombs)))


@functools.cache
def group_table(strict: bool) -> GroupTable:
    """Packs the groups."""
    moves = all_moves()
    is_pair = np.array([group.kicker == 2 for group in moves.groups])
    caps = np.array([group.caps for group in moves.groups])
    takes_joker = caps[:, RED_JOKER] > 0
    caps[:, BLACK_JOKER:] = 0
    if strict:
        caps = np.minimum(caps, 1)
    solos = packed.pack(caps)
    pairs = packed.pack(2 * caps * is_pair[:, None])
    low, high = (np.where(is_pair, pair & _SECOND_CARD, solo)
                 for pair, solo in zip(pairs, solos, strict=True))  # fmt: skip
    return GroupTable(
        main=packed.pack(np.array([group.main for group in moves.groups])),
        kickers=(low, high),
        num_kickers=np.array([group.num_kickers for group in moves.groups], np.int32),
        takes_joker=takes_joker,
        first=np.searchsorted(moves.group, np.arange(NUM_GROUPS)).astype(np.int32),
    )
