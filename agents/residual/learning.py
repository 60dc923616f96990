"""How the residual learns: differences between branches of one decision.

With q = the search's values + the residual, and G what became of the branches, all less their means
over the open branches of a decision,

    loss = sum over branches of (q - G)^2

so what all branches share, most of a hand's luck, counts nothing.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents.residual import network
from agents.residual.branches import POINTS, Branches

Array = jax.Array


class Told(NamedTuple):
    """What is watched of a batch: sums over its real decisions."""

    number: Array  # float32[]
    error: Array  # float32[]  the loss
    begun: Array  # float32[]  the loss of the search alone


class Gain(NamedTuple):
    """What another choice than the search's brings: sums over real decisions."""

    number: Array  # float32[]
    other: Array  # float32[]  decisions in which another branch is chosen
    points: Array  # float32[]  thousands more than the search's branch
    squared: Array  # float32[]


def values(params: Any, batch: Branches) -> Array:
    """Values the branches, thousands of points: float32[..., K]; 0 where not open."""
    base = jnp.where(batch.is_open, batch.value, 0)
    added = network.of_kinds(params, batch.tiles, batch.context, batch.kind)
    return (base + added) / POINTS


def loss(params: Any, batch: Branches) -> tuple[Array, Told]:
    """Returns the sum of the losses over a batch, leading axis N, and what is watched."""
    is_real = batch.is_real.astype(jnp.float32)
    begin = jnp.where(batch.is_open, batch.value, 0) / POINTS
    target = _centred(batch.points, batch.is_open)

    def error(found: Array) -> Array:
        apart = jnp.square(_centred(found, batch.is_open) - target)
        return jnp.sum(is_real * jnp.sum(apart, axis=-1))

    total = error(values(params, batch))
    return total, Told(jnp.sum(is_real), total, error(begin))


def gain(params: Any, batch: Branches) -> Gain:
    """Compares the branch that the residual chooses with the search's own, the first."""
    is_real = batch.is_real.astype(jnp.float32)
    found = jnp.where(batch.is_open, values(params, batch), -jnp.inf)
    chosen = jnp.argmax(found, axis=-1)
    points = jnp.take_along_axis(batch.points, chosen[..., None], axis=-1)[..., 0]
    more = is_real * (points - batch.points[..., 0])
    other = is_real * (chosen > 0)
    return Gain(*(jnp.sum(x) for x in (is_real, other, more, more * more)))


def _centred(numbers: Array, is_open: Array) -> Array:
    """Takes the mean over open branches off: float32[..., K], 0 where not open."""
    count = jnp.maximum(jnp.sum(is_open, axis=-1, keepdims=True), 1)
    mean = jnp.sum(jnp.where(is_open, numbers, 0), axis=-1, keepdims=True) / count
    return jnp.where(is_open, numbers - mean, 0)
