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


class Residual(nn.Module):
    """What is added to the search's values: one head for all kinds, and a trunk that tells it more.

    The last layer is zero to begin with.
    """

    width: int = 48

    @nn.compact
    def __call__(self, tiles: Array, context: Array, kind: Array) -> Array:
        """Takes float32[..., K, F], float32[..., C] and int32[..., K] to float32[..., K]."""
        trunk = nn.relu(nn.Dense(2 * self.width)(context))
        x = nn.Dense(self.width)(tiles) + nn.Dense(self.width)(trunk)[..., None, :]
        x = nn.relu(x + nn.Embed(NUM_KINDS, self.width)(kind))
        x = nn.relu(nn.Dense(self.width)(x) + nn.Dense(self.width)(trunk)[..., None, :])
        # A bias would change no choice.
        return nn.Dense(1, use_bias=False, kernel_init=nn.initializers.zeros)(x)[..., 0]


def init(key: Array, width: int) -> Params:
    """Draws fresh parameters."""
    tiles = jnp.zeros((NUM_KINDS, features.TILE), jnp.float32)
    context = jnp.zeros(features.CONTEXT, jnp.float32)
    return Residual(width).init(key, tiles, context, jnp.arange(NUM_KINDS, dtype=jnp.int32))


def of_kinds(params: Params, tiles: Array, context: Array, kind: Array) -> Array:
    """Returns what is added to the values of kinds, in `features.SCALE` points: float32[..., K].

    The width is the parameters'.
    """
    width = params["params"]["Embed_0"]["embedding"].shape[-1]
    return jnp.asarray(Residual(width).apply(params, tiles, context, kind))


def residual(params: Params, tiles: Array, context: Array) -> Array:
    """Does so for all kinds: float32[..., T]."""
    kinds = jnp.arange(NUM_KINDS, dtype=jnp.int32)
    return of_kinds(params, tiles, context, jnp.broadcast_to(kinds, tiles.shape[:-1]))


def scaled(params: Params, scale: float) -> Params:
    """Multiplies all that is added by a factor."""
    last = f"Dense_{sum(name.startswith('Dense') for name in params['params']) - 1}"
    changed = jax.tree.map(lambda x: scale * x, params["params"][last])
    return {"params": params["params"] | {last: changed}}


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
