"""How far hands are from winning after each discard and each draw, from small tables.

Each suit's contents have one of a few hundred *rows* (`tables.joins`), rows join by a table, and
the tiles that two joined parts lack stand in another. A discard and a draw change one or two
suits; the join of the others is shared. M = melds, T = 34 kinds, S = 4 suits.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import hand as hands
from mjx import packed, tables
from mjx.stage import stage
from mjx.tiles import NUM_KINDS, NUM_SUITS

Array = jax.Array

FAR = 99  # the deficiency after a discard that cannot be made

_KINDS = np.arange(NUM_KINDS, dtype=np.int32)
_SUIT = _KINDS // packed.RANKS
_STEP = (5 ** (_KINDS % packed.RANKS)).astype(np.int32)  # one tile more in a suit's code
_SIZES = (9, 9, 9, 7)


class AtRest(NamedTuple):
    """A hand of 16 - 3M tiles."""

    deficiency: Array  # int32[]
    accepting: Array  # bool[T]  drawing this kind lowers it


class AfterDiscards(NamedTuple):
    """A hand of 17 - 3M tiles, after each of its discards."""

    deficiency: Array  # int32[T]   FAR for kinds not held
    accepting: Array  # bool[T,T]  by discard, then draw; false for kinds not held


def deficiency(hand: Array, num_melds: Array) -> Array:
    """Counts the tiles a hand still lacks for five sets and a pair: int32[].

    Args:
      hand: uint32[S] concealed tiles, any number.
      num_melds: int32[] melds laid down, 0-5.
    """
    rows = _rows(hands.suit_codes(hand))
    return _lacks(_pair(rows[0], rows[1]), _pair(rows[2], rows[3]), num_melds)


def at_rest(hand: Array, num_melds: Array) -> AtRest:
    """Finds the deficiency of a hand, and the kinds that lower it.

    Kinds of which the hand itself holds four are not accepted; copies in melds are not known
    here. A hand of 17 - 3M tiles may be asked as well: which kinds bring it nearer, were it to
    discard afterwards.

    Args:
      hand: uint32[S] concealed tiles.
      num_melds: int32[] melds laid down, 0-5.
    """
    now, by_suit = _draws(hand, num_melds)
    return AtRest(now, jnp.concatenate(by_suit) < now)


def count_accepting(hand: Array, num_melds: Array, weights: Array) -> tuple[Array, Array]:
    """Adds up weights int32[T] over the kinds that lower a hand's deficiency.

    The same as a sum over `at_rest`, and faster: nothing but the sum is written to memory.

    Returns:
      The deficiency and the sum, int32[] each.
    """
    now, by_suit = _draws(hand, num_melds)
    total = jnp.int32(0)
    for suit, then in enumerate(by_suit):
        kinds = slice(9 * suit, 9 * suit + _SIZES[suit])
        total += jnp.sum(jnp.where(then < now, weights[kinds], 0), dtype=jnp.int32)
    return now, total


def _draws(hand: Array, num_melds: Array) -> tuple[Array, list[Array]]:
    """Finds the deficiency now, int32[], and after each draw, int32[9 or 7] by suit."""
    codes = hands.suit_codes(hand)
    rows = stage(_rows, codes)
    others = stage(lambda rows: _others(rows)[0], rows)
    then = []
    for suit, size in enumerate(_SIZES):
        ranks = np.arange(size, dtype=np.uint32)
        counts = (hand[suit] >> (packed.BITS * ranks)) & 7
        steps = jnp.where(counts < 4, _STEP[:size], 0)
        then.append(_lacks(_rows(codes[suit] + steps), others[suit], num_melds))
    return _lacks(rows[0], others[0], num_melds), then


def after_discards(hand: Array, num_melds: Array) -> AfterDiscards:
    """Finds deficiency and accepting kinds after each discard.

    Args:
      hand: uint32[S] concealed tiles, 17 - 3M of them.
      num_melds: int32[] melds laid down, 0-5.
    """
    counts = packed.to_counts(hand)
    rows = stage(_rows, hands.suit_codes(hand))
    others, both_others = stage(_others, rows)
    codes = _spread(hands.suit_codes(hand))
    held, room = counts > 0, counts < 4
    less = jnp.where(held, codes - _STEP, codes)
    without = _rows(less)  # [T]: the suit's row after the discard
    lacks = _lacks(without, _spread(others), num_melds)
    with_tile = _rows(codes + jnp.where(room, _STEP, 0))
    # By discard and suit of the draw: the row of all but that suit.
    rest = _pair(without[:, None], _spread(both_others))
    then = []
    for suit, size in enumerate(_SIZES):
        draws = slice(9 * suit, 9 * suit + size)
        same = (_SUIT == suit)[:, None]
        gap = held[draws, None] & (_KINDS[draws, None] == _KINDS[None, draws])
        steps = jnp.where(room[None, draws] | gap, _STEP[None, draws], 0)
        changed = _rows(less[draws, None] + steps)  # [size, size]
        parts = [jnp.broadcast_to(with_tile[None, draws], (n, size)) for n in _SIZES]
        parts[suit] = changed
        drawn_into = jnp.concatenate(parts)
        against = jnp.where(same, _spread(others)[:, None], rest[:, suit : suit + 1])
        then.append(_lacks(drawn_into, against, num_melds))
    accepting = (jnp.concatenate(then, axis=1) < lacks[:, None]) & held[:, None]
    return AfterDiscards(jnp.where(held, lacks, FAR), accepting)


def deficiency_after_discards(hand: Array, num_melds: Array) -> Array:
    """Finds the deficiency alone after each discard, as `after_discards` does: int32[T]."""
    held = packed.to_counts(hand) > 0
    codes = hands.suit_codes(hand)
    others = stage(lambda codes: _others(_rows(codes))[0], codes)
    without = _rows(_spread(codes) - jnp.where(held, _STEP, 0))
    return jnp.where(held, _lacks(without, _spread(others), num_melds), FAR)


def _spread(by_suit: Array) -> Array:
    """Repeats each suit's entry for its kinds: [S, ...] to [T, ...]."""
    shape = by_suit.shape[1:]
    parts = [jnp.broadcast_to(by_suit[s], (n, *shape)) for s, n in enumerate(_SIZES)]
    return jnp.concatenate(parts)


def _others(rows: Array) -> tuple[Array, Array]:
    """Joins all suits but one, int32[S], and but two, int32[S,S] (diagonal: but one)."""
    pairs = {}
    for a in range(NUM_SUITS):
        for b in range(a + 1, NUM_SUITS):
            pairs[a, b] = pairs[b, a] = _pair(rows[a], rows[b])
    others = [_pair(rows[1], pairs[2, 3]), _pair(rows[0], pairs[2, 3])]
    others += [_pair(rows[3], pairs[0, 1]), _pair(rows[2], pairs[0, 1])]
    both = []
    for a in range(NUM_SUITS):
        for b in range(NUM_SUITS):
            left = [s for s in range(NUM_SUITS) if s not in (a, b)]
            both.append(others[a] if a == b else pairs[left[0], left[1]])
    return jnp.stack(others), jnp.stack(both).reshape(NUM_SUITS, NUM_SUITS)


def _rows(codes: Array) -> Array:
    """Looks up the rows of suit codes, int32 of any shape."""
    return _tables()[0].at[codes].get(mode="promise_in_bounds").astype(jnp.int32)


def _pair(a: Array, b: Array) -> Array:
    """Joins rows, int32 of shapes that broadcast."""
    _, pair, _, size = _tables()
    return pair.at[a * size + b].get(mode="promise_in_bounds").astype(jnp.int32)


def _lacks(a: Array, b: Array, num_melds: Array) -> Array:
    """Counts the tiles that two parts lack, int32 of shapes that broadcast."""
    _, _, lacks, size = _tables()
    index = (jnp.asarray(num_melds, jnp.int32) * size + a) * size + b
    return lacks.at[index].get(mode="promise_in_bounds").astype(jnp.int32)


@functools.cache
def _tables() -> tuple[Array, Array, Array, int]:
    """Holds the tables on the device, flat: rows of codes, joins, tiles missing; and J."""
    with jax.ensure_compile_time_eval():
        joins = tables.joins()
        key = jnp.asarray(tables.missing().key)
        size = len(joins.pair)
        return key, jnp.asarray(joins.pair.reshape(-1)), jnp.asarray(joins.lacks.reshape(-1)), size
