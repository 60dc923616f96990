"""Take-out pairs (出取對): how far a suit is from complete sets. Elementwise, any shape."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array

WEIGHT = 2  # in the order of two pairs, a tile to obtain counts as two to throw
HIGHEST = 14  # both parts of the pair of what cannot be


class TakeOut(NamedTuple):
    """So many tiles must leave and so many be obtained for complete sets (section 3.2)."""

    out: Array  # int32[...]
    take: Array  # int32[...]


def cost(pair: TakeOut, weight: int = WEIGHT) -> Array:
    """Puts pairs in order: int32[...], smaller is nearer.

    Section 4.2 compares `out + 2 * take` (its printed formula is cut short), section 4.3 adds the
    two up, which is weight 1.
    """
    return pair.out + weight * pair.take


def add(a: TakeOut, b: TakeOut) -> TakeOut:
    """Adds two pairs (section 3.3)."""
    return jax.tree.map(jnp.add, a, b)


def subtract(a: TakeOut, b: TakeOut) -> TakeOut:
    """Takes one pair from another (section 3.3)."""
    return jax.tree.map(jnp.subtract, a, b)
