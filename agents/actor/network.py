"""The actor's and the critic's network; the only module here that knows Flax.

T = 34 kinds, K, C = numbers of a kind and of a decision, F = numbers of the truth.
"""

import importlib.resources
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization

from agents.actor import features, truth
from mjx.tiles import NUM_KINDS

Array = jax.Array
Params = Any  # a pytree of arrays


class Actor(nn.Module):
    """What is added to the prior's logits: one head for all kinds, and a trunk that tells it more.

    The last layer is zero to begin with.
    """

    width: int = 48

    @nn.compact
    def __call__(self, tiles: Array, context: Array) -> Array:
        """Takes float32[..., T, K] and float32[..., C] to float32[..., T]."""
        trunk = nn.relu(nn.Dense(2 * self.width)(context))
        of_kind = nn.Embed(NUM_KINDS, self.width)(jnp.arange(NUM_KINDS))
        x = nn.Dense(self.width)(tiles) + nn.Dense(self.width)(trunk)[..., None, :]
        x = nn.relu(x + jnp.broadcast_to(of_kind, x.shape))
        x = nn.relu(nn.Dense(self.width)(x) + nn.Dense(self.width)(trunk)[..., None, :])
        # A bias would change no choice.
        return nn.Dense(1, use_bias=False, kernel_init=nn.initializers.zeros)(x)[..., 0]


class Critic(nn.Module):
    """The points that a seat will have won, in thousands, from the whole truth."""

    width: int = 96

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """Takes float32[..., F] to float32[...]."""
        for _ in range(2):
            x = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(1)(x)[..., 0]


def init(key: Array, width: int) -> dict[str, Params]:
    """Draws fresh parameters: `actor` and `critic`."""
    keys = jax.random.split(key)
    tiles = jnp.zeros((NUM_KINDS, features.TILE), jnp.float32)
    context = jnp.zeros(features.CONTEXT, jnp.float32)
    return {
        "actor": Actor(width).init(keys[0], tiles, context),
        "critic": Critic().init(keys[1], jnp.zeros(truth.SIZE, jnp.float32)),
    }


def residual(params: Params, tiles: Array, context: Array) -> Array:
    """Returns what is added to the logits: float32[..., T]; the width is the parameters'."""
    width = params["params"]["Embed_0"]["embedding"].shape[-1]
    return jnp.asarray(Actor(width).apply(params, tiles, context))


def value(params: Params, told: Array) -> Array:
    """Returns thousands of points: float32[...]."""
    return jnp.asarray(Critic().apply(params, told))


def to_bytes(params: Params) -> bytes:
    """Packs parameters, nested dicts of arrays."""
    return serialization.msgpack_serialize(jax.tree.map(np.asarray, params))


def from_bytes(packed: bytes) -> Params:
    """Unpacks them."""
    return jax.tree.map(jnp.asarray, serialization.msgpack_restore(packed))


def shipped() -> Params:
    """Loads the actor that comes with the package."""
    file = importlib.resources.files("agents.actor").joinpath("weights.msgpack")
    return from_bytes(file.read_bytes())
