"""Rearrangement (section 4.1): a suit's tiles in the order in which they are kept.

The paper's list `Ar` grows step by step: runs, triplets, pairs, and what is left. Here each step
keeps its own word of `mjx.packed`, which says where its groups start, so that one expression
rearranges any number of suits at once; `sequence` writes the list out. *Obtainable* ranks, a mark
word, are those of which a copy is not yet seen. Elementwise on words of any shape unless it says
otherwise; ranks from 0.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.bdi.take_out import TakeOut
from mjx import packed
from mjx.packed import BITS, MARKS, RANKS

Array = jax.Array

RUN = np.uint32(0o111)
LENGTH = 17  # tiles of the longest suit
ASIDE = 0  # the step of tiles that are no part of `Ar`: those of the pair
SINGLE = 8  # the last step
_PLACES = 32  # within a step and suit
_SUITS = 4
_BY_SUIT = _PLACES
_BY_COPIES = _SUITS * _BY_SUIT
_BY_STEP = 8 * _BY_COPIES


class Rearranged(NamedTuple):
    """The steps of `Ar`, first kept longest, and `p`. Words are uint32[...]."""

    lone_runs: Array  # marks at the starts of runs of ranks held once
    triplets: Array  # marks
    runs: Array  # counts at the starts of further runs
    pairs: Array  # marks, of which a third copy is obtainable
    neighbours: Array  # counts at the starts of 2-3, if partial runs are kept
    gaps: Array  # counts at the starts of 2-4, likewise
    dead_pairs: Array  # marks
    singles: Array  # marks
    need: TakeOut  # int32[...]


def rearrange(
    word: Array, obtainable: Array, is_number: Array, partial_runs: bool = False
) -> Rearranged:
    """Rearranges the tiles of one suit (section 4.1).

    Args:
      word: uint32[...] tiles of the suit.
      obtainable: uint32[...] marks.
      is_number: bool[...] false for honours, which make no runs.
      partial_runs: whether neighbours and gaps that an obtainable tile completes are kept like
        pairs; as printed the paper throws both tiles.

    Returns:
      The steps and what is still to throw and to obtain.
    """
    starts = jnp.where(is_number, MARKS, jnp.uint32(0))
    lone_runs, word = _lone_runs(word, starts)
    triplets = packed.at_least(word, 3)
    word = word - 3 * triplets
    runs, word = _groups(word, starts, (0, 1, 2))
    pairs = _twice(word) & obtainable
    word = word - 2 * pairs
    neighbours = gaps = jnp.zeros_like(word)
    if partial_runs:
        outside = obtainable << BITS | obtainable >> 2 * BITS
        neighbours, word = _groups(word, starts & outside, (0, 1))
        gaps, word = _groups(word, starts & (obtainable >> BITS), (0, 2))
    dead_pairs = _twice(word)
    singles = word - 2 * dead_pairs
    need = TakeOut(packed.num_tiles(word), packed.num_tiles(pairs + neighbours + gaps))
    return Rearranged(lone_runs, triplets, runs, pairs, neighbours, gaps, dead_pairs, singles, need)


def completing(kept: Rearranged) -> Array:
    """Marks the ranks that complete a group of two, obtainable or not: uint32[...]."""
    neighbours, gaps = (packed.at_least(word, 1) for word in (kept.neighbours, kept.gaps))
    around = neighbours >> BITS | neighbours << 2 * BITS
    return (kept.pairs | around | gaps << BITS) & MARKS


def thrown(kept: Rearranged) -> Array:
    """Collects the last `need.out` tiles of `Ar`: uint32[...], a word of tiles."""
    return kept.singles + 2 * kept.dead_pairs


def urgency(kept: Rearranged, unseen: Array, suit: Array) -> Array:
    """Says how soon the tiles of one suit are thrown (section 4.2).

    Args:
      kept: one suit, words uint32[].
      unseen: int32[9] copies not yet seen of each rank.
      suit: int32[] 0-3.

    Returns:
      int32[9], higher goes first: by the step that put the rank's last copy into `Ar`; singles by
      fewer copies unseen; of several suits the last, then the place in `Ar`. Ranks that are not
      in `Ar` (those of the pair) are kept longest.
    """
    ranks = np.arange(RANKS, dtype=np.int32)
    placed = [jnp.full(RANKS, ASIDE, jnp.int32) + ranks]
    for step, (word, offsets) in enumerate(_layout(kept), ASIDE + 1):
        starts = packed.at_least(word, 1)
        for place, offset in enumerate(offsets):
            # A group's place is that of its start; within it tiles follow each other.
            is_part = _bits(starts << BITS * offset)
            at = len(offsets) * (ranks - offset) + place + step * _BY_STEP
            placed.append(jnp.where(is_part, at, 0))
    rarer = jnp.where(_bits(kept.singles), _BY_COPIES * (4 - unseen), 0)
    placed[-1] = placed[-1] + rarer
    latest = jnp.max(jnp.stack(placed), axis=0)
    return latest + _BY_SUIT * jnp.asarray(suit, jnp.int32)


def sequence(kept: Rearranged, unseen: Array) -> Array:
    """Writes out `Ar` of one suit, as the paper shows it (section 4.1).

    Args:
      kept: one suit, words uint32[].
      unseen: int32[9] copies not yet seen of each rank.

    Returns:
      int8[17] ranks from 0, -1 after the last tile.
    """
    flags, ranks = [], []
    for word, offsets in _layout(kept)[:-1]:
        counts = (word >> np.arange(0, BITS * RANKS, BITS, dtype=np.uint32)) & 7
        for start in range(RANKS - max(offsets)):
            for copy in range(2):
                flags += [counts[start] > copy] * len(offsets)
                ranks += [start + offset for offset in offsets]
    singles = _bits(kept.singles)
    for copies in range(4, -1, -1):
        flags += [singles[rank] & (unseen[rank] == copies) for rank in range(RANKS)]
        ranks += range(RANKS)
    held = jnp.stack(flags)
    place = jnp.where(held, jnp.cumsum(held, dtype=jnp.int32) - 1, LENGTH)
    return jnp.full(LENGTH, -1, jnp.int8).at[place].set(np.array(ranks, np.int8), mode="drop")


def _layout(kept: Rearranged) -> list[tuple[Array, tuple[int, ...]]]:
    """Lists the steps: a word of group starts, and each tile's rank counted from the start."""
    return [
        (kept.lone_runs, (0, 1, 2)),
        (kept.triplets, (0, 0, 0)),
        (kept.runs, (0, 1, 2)),
        (kept.pairs, (0, 0)),
        (kept.neighbours, (0, 1)),
        (kept.gaps, (0, 2)),
        (kept.dead_pairs, (0, 0)),
        (kept.singles, (0,)),
    ]


def _lone_runs(word: Array, starts: Array) -> tuple[Array, Array]:
    """Takes out the runs of three ranks held once each, lowest first; returns them and the rest."""
    once = packed.at_least(word, 1) & ~packed.at_least(word, 2)
    found = jnp.zeros_like(word)
    for rank in range(RANKS - 2):
        start = once & once >> BITS & once >> 2 * BITS & starts & _at(rank)
        found = found | start
        once = once & ~(start * RUN)
    return found, word - found * RUN


def _groups(word: Array, starts: Array, offsets: tuple[int, ...]) -> tuple[Array, Array]:
    """Takes out groups from a word of counts 0-2, lowest first, each start as often as it goes.

    Returns:
      Counts at the starts, and the rest.
    """
    found = jnp.zeros_like(word)
    tiles = np.uint32(sum(1 << BITS * offset for offset in offsets))
    for rank in range(RANKS - max(offsets)):
        once, twice = word | word >> 1, word >> 1
        for offset in offsets[1:]:
            once = once & (word | word >> 1) >> BITS * offset
            twice = twice & word >> (BITS * offset + 1)
        here = starts & _at(rank)
        number = (once & here) + (twice & here)
        found = found + number
        word = word - number * tiles
    return found, word


def _twice(word: Array) -> Array:
    """Marks the ranks held twice in a word of counts 0-2."""
    return word >> 1 & MARKS


def _at(rank: int) -> np.uint32:
    """Marks one rank."""
    return np.uint32(1 << BITS * rank)


def _bits(marks: Array) -> Array:
    """Unpacks the marks of one word: bool[9]."""
    return (marks >> np.arange(0, BITS * RANKS, BITS, dtype=np.uint32)) & 1 > 0
