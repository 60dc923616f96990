"""Cards in two words: each of the n cards held of a rank sets one of the n lowest of its bits.

Four bits a rank and one a joker: ranks 0-7 in the low word, 8-12 and the jokers in the high one.
Cards are held where they have no bit that the hand lacks, and the bits common to a hand and to a
limit on each rank count the cards within it.
"""

from typing import TypeVar

import jax
import numpy as np

from doudizhu.cards import NUM_RANKS

Array = jax.Array
A = TypeVar("A", Array, np.ndarray)

_LOW_RANKS = 8
SHIFT = np.array([4 * rank for rank in range(_LOW_RANKS)] + [0, 4, 8, 12, 16, 20, 21], np.uint32)
JOKERS = np.uint32(0b11 << 20)  # in the high word


def pack(counts: A) -> tuple[A, A]:
    """Packs counts int[..., 15]: two uint32[...]; NumPy or JAX arrays alike."""
    shape = (1,) * (counts.ndim - 1) + (NUM_RANKS,)
    one = np.uint32(1)
    bits = ((one << counts.astype(np.uint32)) - one) << SHIFT.reshape(shape)
    return (
        bits[..., :_LOW_RANKS].sum(axis=-1, dtype=np.uint32),
        bits[..., _LOW_RANKS:].sum(axis=-1, dtype=np.uint32),
    )
