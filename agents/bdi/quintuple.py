"""The state of a suit (sections 3.2 and 4.2): what it lacks without and with the hand's pair."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.bdi import take_out
from agents.bdi.rearrange import Rearranged
from agents.bdi.take_out import HIGHEST, TakeOut
from mjx import packed
from mjx.packed import BITS, RANKS

Array = jax.Array
Rearrange = Callable[[Array, Array, Array], Rearranged]  # word, obtainable, is_number

_CHOICES = 32  # more than there are ways to set a pair aside
_WAYS = 2 * RANKS


class Quintuple(NamedTuple):
    """A suit as the robot sees it, `(A, Ar, p, Ar', p')`. Words of any one shape."""

    tiles: Array  # uint32[...]  A
    kept: Rearranged  # Ar, and p in its `need`
    kept_with_pair: Rearranged  # Ar' and p': this suit holds the pair
    pair: Array  # uint32[...]  one or two tiles set aside for it; no tile where none can be


def quintuple(word: Array, obtainable: Array, is_number: Array, rearrange: Rearrange) -> Quintuple:
    """Finds the state of a suit.

    Args:
      word: uint32[...] tiles of the suit.
      obtainable: uint32[...] marks of the ranks of which a copy is not yet seen.
      is_number: bool[...] false for honours.
      rearrange: the strategy, elementwise.
    """
    pair = find_pair(word, obtainable, is_number, rearrange)
    with_pair = rearrange(jnp.where(pair > 0, word - pair, 0), obtainable, is_number)
    with_pair = with_pair._replace(need=need_with_pair(word, pair, with_pair.need))
    return Quintuple(word, rearrange(word, obtainable, is_number), with_pair, pair)


def find_pair(word: Array, obtainable: Array, is_number: Array, rearrange: Rearrange) -> Array:
    """Chooses the tiles that are set aside for the pair (section 4.2): uint32[...], a word.

    Each rank held is tried: one tile set aside, if it is not the last one to be had (its second
    is then to be obtained), and two where two are held. The least `out + 2 * take` wins, the first
    of equals, if it is less than that of (14, 14).
    """

    def try_one(way: Array, best: Array) -> Array:
        shift = (BITS * (way // 2)).astype(jnp.uint32)
        number = (way % 2 + 1).astype(jnp.uint32)
        held = word >> shift & 7
        is_left = (held > 1) | (obtainable >> shift & 1 > 0)
        can_be = (held >= number) & ((number > 1) | is_left)
        need = rearrange(word - jnp.where(can_be, number << shift, 0), obtainable, is_number).need
        need = need._replace(take=need.take + jnp.where(number == 1, 1, 0))
        here = _CHOICES * take_out.cost(need) + way + 1
        return jnp.where(can_be, jnp.minimum(best, here), best)

    none = _CHOICES * (HIGHEST + take_out.WEIGHT * HIGHEST)
    best = jax.lax.fori_loop(0, _WAYS, try_one, jnp.full(word.shape, none, jnp.int32))
    way = best % _CHOICES - 1
    number = jnp.where(way < 0, 0, way % 2 + 1).astype(jnp.uint32)
    return number << (BITS * (jnp.maximum(way, 0) // 2)).astype(jnp.uint32)


def need_with_pair(word: Array, pair: Array, rest: TakeOut) -> TakeOut:
    """Returns p' of a suit with a pair set aside and the p of its other tiles (section 4.2).

    It is (0, 0) for a suit without tiles, as printed, and (14, 14) where no pair can be.
    """
    is_one = (packed.num_tiles(pair) == 1).astype(jnp.int32)
    none = jnp.where(word == 0, 0, np.int32(HIGHEST))
    can_be = pair > 0
    return TakeOut(jnp.where(can_be, rest.out, none), jnp.where(can_be, rest.take + is_one, none))
