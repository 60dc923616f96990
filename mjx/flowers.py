"""Flowers: exposed at once and replaced from the tail of the wall (Appendix A of the rules).

Exposed flowers are a `uint32` with eight bits a seat, bit = flower - 1. P = 4 seats.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.tiles import FIRST_FLOWER, NONE, NUM_FLOWERS

Array = jax.Array

_NTH = np.arange(NUM_FLOWERS + 1, dtype=np.int32)


class Replaced(NamedTuple):
    """A deal whose flowers are replaced."""

    by_place: Array  # int8[P, hand_tiles]  tiles by place from the dealer
    last: Array  # int32[]   the dealer's last tile
    is_last: Array  # bool[]    that tile came for a flower
    exposed: Array  # uint32[]  flowers
    num: Array  # int32[]   tiles taken from the tail
    num_by_seat: Array  # uint32[]  the same, eight bits a seat
    drawer: Array  # int32[]   who exposed the last flower
    winner: Array  # int32[]   whom the eighth flower gives the hand, else -1


class Chain(NamedTuple):
    """A tile drawn, after the flowers that came before it."""

    kind: Array  # int32[]   the tile that is no flower; means nothing if none came
    exposed: Array  # uint32[]  all flowers exposed so far
    num_replaced: Array  # int32[]
    winner: Array  # int32[]   whom the eighth flower gives the hand, else -1
    is_out: Array  # bool[]    the last drawable tile was a flower


def share_of(words: Array, seat: int | Array) -> Array:
    """Picks a seat's eight bits of a uint32[]: uint32[]."""
    return (words >> _shift(seat)) & 0xFF


def share(number: Array, seat: int | Array) -> Array:
    """Moves a number of 0 to 255 to a seat's eight bits: uint32[]."""
    return number.astype(jnp.uint32) << _shift(seat)


def winner_of_eighth(exposed: Array, drawer: Array, locked: Array, rules: Rules) -> Array:
    """Tells whom the flower just exposed gives the hand, by 八仙過海 or 七搶一.

    Args:
      exposed: uint32[] flowers, the new one included.
      drawer: int32[] who exposed it.
      locked: uint32[] seats that may not win, bit = seat.
      rules: the table's rules.

    Returns:
      int32[] seat, or -1.
    """
    is_eighth = lax.population_count(exposed) == NUM_FLOWERS
    winner = jnp.int32(-1)
    for seat in range(NUM_SEATS):
        num = lax.population_count(share_of(exposed, seat))
        wins = jnp.bool_(False)
        if rules.baxian and rules.baxian >= rules.min_tai:
            wins = wins | (num == NUM_FLOWERS)
        if rules.qiqiangyi and rules.qiqiangyi >= rules.min_tai:
            wins = wins | ((num == NUM_FLOWERS - 1) & (drawer != seat))
        is_locked = (locked >> seat) & 1 > 0
        winner = jnp.where(is_eighth & wins & ~is_locked, seat, winner)
    return winner


def replace_drawn(
    draws: Array,
    kinds: Array,
    num_left: Array,
    exposed: Array,
    drawer: Array,
    locked: Array,
    rules: Rules,
) -> Chain:
    """Exposes the flowers that a draw turns up, one replacement after the other.

    Args:
      draws: bool[] a tile is drawn at all.
      kinds: int32[9] that tile, and the tiles that would replace it in order.
      num_left: int32[] of these replacements, how many may be drawn.
      exposed: uint32[] flowers exposed before.
      drawer: int32[] who draws.
      locked: uint32[] seats that may not win, bit = seat.
      rules: the table's rules.

    Returns:
      What came in the end.
    """
    is_flower = kinds >= FIRST_FLOWER
    num_flowers = jnp.sum(jnp.cumprod(is_flower.astype(jnp.int32)), dtype=jnp.int32)
    num_exposed = jnp.where(draws, jnp.minimum(num_flowers, num_left + 1), 0)
    bits = jnp.uint32(1) << jnp.maximum(kinds - FIRST_FLOWER, 0).astype(jnp.uint32)
    new = jnp.sum(jnp.where(num_exposed > _NTH, bits, jnp.uint32(0)), dtype=jnp.uint32)
    exposed = exposed | share(new, drawer)
    winner = jnp.where(num_exposed > 0, winner_of_eighth(exposed, drawer, locked, rules), -1)
    is_out = draws & (num_flowers > num_left) & (winner < 0)
    return Chain(
        kind=jnp.sum(jnp.where(num_flowers == _NTH, kinds, 0), dtype=jnp.int32),
        exposed=exposed,
        num_replaced=num_exposed - (is_out | (winner >= 0)).astype(jnp.int32),
        winner=winner,
        is_out=is_out,
    )


def replace_dealt(
    wall: Array, by_place: Array, last: Array, dealer: Array, rules: Rules
) -> Replaced:
    """Replaces the flowers of a deal, round by round from the dealer on.

    That is one queue: each seat's flowers in the order dealt, and behind them those that came
    as replacements.

    Args:
      wall: int8[144] kinds in draw order.
      by_place: int8[P, hand_tiles] tiles dealt, by place from the dealer.
      last: int32[] the dealer's last tile.
      dealer: int32[].
      rules: the table's rules.

    Returns:
      The deal without flowers; where the eighth ended the hand, -1 in the place of that tile.
    """
    size = rules.hand_tiles
    dealt = by_place.astype(jnp.int32)
    tiles = jnp.concatenate([dealt[0], last[None], dealt[1:].reshape(-1)])
    place_of_slot = np.repeat(np.arange(NUM_SEATS, dtype=np.int32), [size + 1, *[size] * 3])
    slots = jnp.nonzero(tiles >= FIRST_FLOWER, size=NUM_FLOWERS, fill_value=0)[0]

    def replace_one(nth: Array, carry: tuple) -> tuple:
        tiles, slots, num, exposed, num_by_seat, drawer, winner = carry
        is_real, slot = nth < num, slots[nth]
        seat = (dealer + jnp.asarray(place_of_slot)[slot]) % NUM_SEATS
        flower = jnp.maximum(tiles[slot] - FIRST_FLOWER, 0).astype(jnp.uint32)
        exposed = jnp.where(is_real, exposed | share(jnp.uint32(1) << flower, seat), exposed)
        drawer = jnp.where(is_real, seat, drawer)
        won = winner_of_eighth(exposed, seat, jnp.uint32(0), rules)
        winner = jnp.where(is_real, won, winner)
        replaces = is_real & (winner < 0)
        new = wall[_tail(nth, seat, num_by_seat, rules)].astype(jnp.int32)
        tiles = tiles.at[slot].set(jnp.where(replaces, new, jnp.where(is_real, NONE, tiles[slot])))
        queues = replaces & (new >= FIRST_FLOWER)
        slots = jnp.where(queues & (_NTH[:NUM_FLOWERS] == num), slot, slots)
        num_by_seat = num_by_seat + share(replaces, seat)
        return tiles, slots, num + queues, exposed, num_by_seat, drawer, winner

    num = jnp.sum(tiles >= FIRST_FLOWER, dtype=jnp.int32)
    zero = jnp.uint32(0)
    start = (tiles, slots, num, zero, zero, dealer, jnp.int32(-1))
    tiles, _, num, exposed, num_by_seat, drawer, winner = lax.fori_loop(
        0, NUM_FLOWERS, replace_one, start
    )
    return Replaced(
        by_place=jnp.concatenate([tiles[:size], tiles[size + 1 :]]).reshape(NUM_SEATS, size),
        last=tiles[size],
        is_last=(last >= FIRST_FLOWER) & (tiles[size] >= 0),
        exposed=exposed,
        num=num - (winner >= 0).astype(jnp.int32),
        num_by_seat=num_by_seat,
        drawer=drawer,
        winner=winner,
    )


def _tail(num_taken: Array, seat: Array, num_by_seat: Array, rules: Rules) -> Array:
    """Finds the place of the next replacement while flowers of the deal are replaced: int32[]."""
    if rules.wall_mode == "shared":
        return rules.num_tiles - 1 - num_taken
    last = rules.num_dealt + rules.sub_wall_size * (seat + 1) - 1
    return last - share_of(num_by_seat, seat).astype(jnp.int32)


def _shift(seat: int | Array) -> Array:
    """Finds the lowest of a seat's eight bits: uint32[]."""
    return (NUM_FLOWERS * jnp.asarray(seat)).astype(jnp.uint32)
