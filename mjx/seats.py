"""A packed hand for each seat, kept as sixteen separate words.

Separate, because a batch of games then holds each word as one contiguous row, which XLA turns
into vector code on a CPU; an array [P, S] of words a game gives it inner loops of four. P = 4
seats, S = 4 suits. Row = the S words of one seat; column = the P words of one suit.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from mjx.packed import choose
from mjx.tiles import NUM_SUITS

Array = jax.Array
Words = tuple[Array, ...]

NUM_SEATS = 4


class SeatHands(struct.PyTreeNode):
    """Words `rows[seat][suit]`, each uint32[]."""

    rows: tuple[Words, ...]

    @classmethod
    def from_array(cls, words: Array) -> SeatHands:
        """Takes uint32[P, S] apart."""
        return cls(tuple(tuple(words[p, s] for s in range(NUM_SUITS)) for p in range(NUM_SEATS)))

    def to_array(self) -> Array:
        """Puts the words together: uint32[..., P, S]."""
        return jnp.stack([jnp.stack(row, axis=-1) for row in self.rows], axis=-2)

    def row(self, seat: Array) -> Words:
        """Picks the hand of a seat int32[]."""
        return tuple(choose(seat, column) for column in zip(*self.rows, strict=True))

    def column(self, suit: Array) -> Words:
        """Picks each seat's word of a suit int32[]."""
        return tuple(choose(suit, row) for row in self.rows)

    def plus(self, place: Array, word: Array) -> SeatHands:
        """Adds a word at a place int32[]; its negative takes tiles away."""
        return self.map(
            lambda p, s, old: old + jnp.where(place == NUM_SUITS * p + s, word, np.uint32(0))
        )

    def with_row(self, seat: Array, row: Words) -> SeatHands:
        """Puts a new row in the place of one seat's."""
        return self.map(lambda p, s, old: jnp.where(seat == p, row[s], old))

    def any_bits(self) -> Array:
        """Joins the bits of all words: uint32[], zero if no seat has any."""
        return functools.reduce(operator.or_, (word for row in self.rows for word in row))

    def map(self, function: Callable[[int, int, Array], Array]) -> SeatHands:
        """Applies `function(seat, suit, word)` to each word."""
        return SeatHands(
            tuple(
                tuple(function(p, s, word) for s, word in enumerate(row))
                for p, row in enumerate(self.rows)
            )
        )


def place_of(seat: Array, suit: Array) -> Array:
    """Numbers the words: int32[] from seat and suit int32[]."""
    return NUM_SUITS * seat + suit
