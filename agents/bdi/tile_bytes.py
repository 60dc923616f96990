"""Tiles as the paper writes them: a byte, suit in the high four bits, value in the low four.

Suits are 0 characters, 1 bamboo, 2 dots, 3 honours; values 1-9, and 1-7 for E S W N C F P. The game
numbers dots before bamboo: here is the only place that knows. T = 34 kinds, S = 4 suits.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjx.packed import RANKS
from mjx.tiles import NUM_KINDS, NUM_SUITS

Array = jax.Array

HONOURS = 3
GAME_SUIT = np.array([0, 2, 1, 3], np.int32)  # by suit of the paper; its own inverse
IS_NUMBER = np.arange(NUM_SUITS) < HONOURS

_kinds = np.arange(NUM_KINDS)
SUIT = GAME_SUIT[_kinds // RANKS]  # int32[T]  the paper's suit of each kind
RANK = (_kinds % RANKS).astype(np.int32)  # int32[T]  from 0


def to_byte(kind: Array) -> Array:
    """Writes a kind as a byte (section 3.1): uint8 of the same shape."""
    suit = jnp.asarray(GAME_SUIT)[kind // RANKS]
    return (16 * suit + kind % RANKS + 1).astype(jnp.uint8)


def from_byte(byte: Array) -> Array:
    """Reads a byte as a kind (section 3.1): int32 of the same shape."""
    byte = jnp.asarray(byte).astype(jnp.int32)
    return RANKS * jnp.asarray(GAME_SUIT)[byte >> 4] + (byte & 15) - 1


def by_suit(kinds: Array) -> Array:
    """Sorts what is known of each kind [T] by the paper's suits: [S, 9], zero where no tile is."""
    padded = jnp.concatenate([kinds, jnp.zeros_like(kinds[:2])])
    return padded.reshape(NUM_SUITS, RANKS)[GAME_SUIT]


def by_kind(suits: Array) -> Array:
    """Sorts what is known by suit and rank [S, 9] by kind: [T]; the inverse of `by_suit`."""
    return suits[GAME_SUIT].reshape(-1)[:NUM_KINDS]
