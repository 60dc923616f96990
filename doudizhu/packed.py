"""Cards in two words: each of the n cards held of a rank sets one of the n lowest of its bits.

Four bits a rank and one a joker: ranks 0-7 in the low word, 8-12 and the jokers in the high one.
Cards fit into a hand where they have no bit that the hand lacks, and taking a rank's cards away
leaves its count of bits.
"""

from typing import NamedTuple, TypeVar

import jax
import numpy as np

from doudizhu.cards import NUM_RANKS

Array = jax.Array
A = TypeVar("A", Array, np.ndarray)

_LOW_RANKS = 8
_SHIFT = np.array([4 * rank for rank in range(_LOW_RANKS)] + [0, 4, 8, 12, 16, 20, 21], np.uint32)
_WIDTH = np.array([0xF] * 13 + [1, 1], np.uint32)
JOKERS = np.uint32(0b11 << 20)  # in the high word


class Cards(NamedTuple):
    """Any cards as two words."""

    low: Array  # uint32[...]
    high: Array  # uint32[...]


def pack(counts: A) -> tuple[A, A]:
    """Packs counts int[..., 15]: two uint32[...]; NumPy or JAX arrays alike."""
    shape = (1,) * (counts.ndim - 1) + (NUM_RANKS,)
    one = np.uint32(1)
    bits = ((one << counts.astype(np.uint32)) - one) << _SHIFT.reshape(shape)
    return (
        bits[..., :_LOW_RANKS].sum(axis=-1, dtype=np.uint32),
        bits[..., _LOW_RANKS:].sum(axis=-1, dtype=np.uint32),
    )


def counts_of(cards: Cards) -> Array:
    """Counts the cards of each rank in two words uint32[]: int8[15]."""
    word = jax.numpy.where(np.arange(NUM_RANKS) < _LOW_RANKS, cards.low, cards.high)
    return jax.lax.population_count(word >> _SHIFT & _WIDTH).astype(np.int8)
