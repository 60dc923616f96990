"""The reading network, behind `init` and `read`; the only module here that knows Flax.

One head, shared by the opponents and the kinds, sees a kind and its neighbours in the suit as this
opponent has met them; a trunk for each opponent tells it how far the hand seems to be. Rows of
the output never depend on each other. O = 3 opponents, T = 34 kinds, R = rows a kind, C = numbers
an opponent.
"""

import importlib.resources
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization

from agents.reading.features import (
    NUM_KINDS,
    NUM_OPPONENTS,
    NUMBERS,
    ROWS,
    Features,
)
from mjx import tiles
from mjx.packed import RANKS

Array = jax.Array
Params = Any  # a pytree of arrays

_REACH = 3  # ranks up and down that a kind's neighbours go


class Logits(NamedTuple):
    """What the network says of one decision."""

    wins: Array  # float32[O,T]  log odds that the opponent wins on the kind
    tai: Array  # float32[O,T]  of such a win, without the dealer's
    ready: Array  # float32[O]    log odds that it wins on any kind


class Network(nn.Module):
    """Log odds for each opponent and kind, from features of one decision."""

    width: int = 48

    @nn.compact
    def __call__(self, features: Features) -> Logits:
        """Returns the logits of the decision."""
        # No gradient flows into features, so the gather costs nothing backwards.
        padded = jnp.pad(features.tiles, ((0, 0), (0, 1), (0, 0)))
        near = padded[:, _neighbours()].reshape(NUM_OPPONENTS, NUM_KINDS, -1)
        trunk = nn.relu(nn.Dense(self.width)(features.table))
        of_kind = nn.Embed(NUM_KINDS, self.width)(jnp.arange(NUM_KINDS))
        x = nn.Dense(self.width)(near) + nn.Dense(self.width, use_bias=False)(trunk)[:, None]
        x = nn.relu(x + of_kind[None])
        pooled = jnp.concatenate([trunk, jnp.mean(x, axis=1), jnp.max(x, axis=1)], axis=-1)
        trunk = nn.relu(nn.Dense(self.width)(pooled))
        x = nn.relu(nn.Dense(self.width)(x) + nn.Dense(self.width)(trunk)[:, None])
        out = nn.Dense(2)(x)
        return Logits(out[..., 0], out[..., 1], nn.Dense(1)(trunk)[:, 0])


def init(key: Array, width: int = 48) -> Params:
    """Draws fresh parameters."""
    blank = Features(
        jnp.zeros((NUM_OPPONENTS, NUM_KINDS, ROWS), jnp.float32),
        jnp.zeros((NUM_OPPONENTS, NUMBERS), jnp.float32),
    )
    return Network(width).init(key, blank)


def apply(params: Params, features: Features) -> Logits:
    """Reads the opponents of one decision; the width is the parameters'."""
    width = params["params"]["Dense_0"]["bias"].shape[0]
    found = Network(width).apply(params, features)
    assert isinstance(found, Logits)
    return found


class Reading(NamedTuple):
    """What is believed of the opponents' hands."""

    wins: Array  # float32[O,T]  chance to win on the kind if we discard it now
    tai: Array  # float32[O,T]  of that win, without the dealer's
    ready: Array  # float32[O]    chance to win on any kind


def chances(params: Params, features: Features) -> Reading:
    """Reads the opponents of one decision."""
    logits = apply(params, features)
    return Reading(
        jax.nn.sigmoid(logits.wins),
        jnp.maximum(logits.tai, np.float32(0)),
        jax.nn.sigmoid(logits.ready),
    )


def to_bytes(weights: Any) -> bytes:
    """Packs weights, nested dicts of arrays."""
    return serialization.msgpack_serialize(jax.tree.map(np.asarray, weights))


def shipped() -> Any:
    """Loads the weights that come with the package: `network` and what else training has found."""
    packed = importlib.resources.files("agents.reading").joinpath("weights.msgpack").read_bytes()
    return jax.tree.map(jnp.asarray, serialization.msgpack_restore(packed))


def _neighbours() -> np.ndarray:
    """Lists each kind's neighbours in its suit, itself amid them; `NUM_KINDS` for none."""
    kinds = np.arange(NUM_KINDS)[:, None]
    near = kinds + np.arange(-_REACH, _REACH + 1)[None]
    same_suit = near // RANKS == kinds // RANKS
    is_there = (near == kinds) | (same_suit & (kinds < tiles.EAST))
    return np.where(is_there, near, NUM_KINDS)
