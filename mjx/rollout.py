"""Whole batches of hands."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjx import actions
from mjx.seats import Words

Array = jax.Array


def nth_legal(bits: Array, legal: Words) -> Array:
    """Picks a legal action uniformly from 32 random bits: int32[].

    Args:
      bits: uint32[] uniformly random.
      legal: five uint32[] legal words, not all zero.
    """
    counts = [lax.population_count(word).astype(jnp.int32) for word in legal]
    total = sum(counts)
    # The high half of a product of 16-bit numbers: index = bits * total / 2^16.
    index = ((bits >> 16) * total.astype(jnp.uint32) >> 16).astype(jnp.int32)
    word, word_index, before = legal[0], jnp.int32(0), jnp.int32(0)
    upto = jnp.int32(0)
    for i, count in enumerate(counts):
        here = (index >= upto) & (index < upto + count)
        word = jnp.where(here, legal[i], word)
        word_index = jnp.where(here, i, word_index)
        before = jnp.where(here, upto, before)
        upto = upto + count
    bit = _nth_bit(word, index - before)
    kind = 9 * word_index + bit // 3
    return jnp.where(word_index == 4, actions.CHOW_LOW + bit, 34 * (bit % 3) + kind)


def _nth_bit(word: Array, n: Array) -> Array:
    """Finds the place of the n-th set bit, counted from zero: int32[]."""
    place = jnp.int32(0)
    for width in (16, 8, 4, 2, 1):
        low = (word >> place.astype(jnp.uint32)) & np.uint32((1 << width) - 1)
        count = lax.population_count(low).astype(jnp.int32)
        skip = n >= count
        n = n - jnp.where(skip, count, 0)
        place = place + jnp.where(skip, width, 0)
    return place
