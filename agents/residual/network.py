"""The residual's network; the only module here that knows Flax.

T = 34 kinds, K = kinds that are looked at, F, C = numbers of a kind and of a decision.
"""

import importlib.resources
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization

from agents.residual import features
from mjx.tiles import NUM_KINDS

Array = jax.Array
Params = Any  # a pytree of arrays

UNIT = np.float32(30)  # points that a weight of 1 is worth


class Residual(nn.Module):
    """What is added to the search's values, in points: one head for all kinds.

    The numbers of a kind are weighed, and the numbers of the decision say how much each weighs. All
    weights are zero to begin with; so nothing is added, and what is learned is convex.
    """

    @nn.compact
    def __call__(self, tiles: Array, context: Array, kind: Array) -> Array:
        """Takes float32[..., K, F], float32[..., C] and int32[..., K] to float32[..., K]."""
        weighed = nn.Dense(tiles.shape[-1], kernel_init=nn.initializers.zeros)(context)
        of_kind = self.param("kind", nn.initializers.zeros, (NUM_KINDS,))
        return UNIT * (jnp.sum(tiles * weighed[..., None, :], axis=-1) + of_kind[kind])


def init() -> Params:
    """Makes fresh parameters."""
    tiles = jnp.zeros((NUM_KINDS, features.TILE), jnp.float32)
    context = jnp.zeros(features.CONTEXT, jnp.float32)
    kinds = jnp.arange(NUM_KINDS, dtype=jnp.int32)
    return Residual().init(jax.random.key(0), tiles, context, kinds)


def of_kinds(params: Params, tiles: Array, context: Array, kind: Array) -> Array:
    """Returns the points that are added to the values of kinds: float32[..., K]."""
    return jnp.asarray(Residual().apply(params, tiles, context, kind))


def to_bytes(params: Params) -> bytes:
    """Packs parameters, nested dicts of arrays."""
    return serialization.msgpack_serialize(jax.tree.map(np.asarray, params))


def from_bytes(packed: bytes) -> Params:
    """Unpacks them."""
    return jax.tree.map(jnp.asarray, serialization.msgpack_restore(packed))


def shipped() -> Params:
    """Loads the residual that comes with the package."""
    file = importlib.resources.files("agents.residual").joinpath("weights.msgpack")
    return from_bytes(file.read_bytes())
