"""The reading network, behind `init` and `read`; the only module here that knows Flax.

One head, shared by the opponents and the kinds, sees a kind and its neighbours in the suit as this
opponent has met them; a trunk for each opponent tells it how far the hand seems to be. Rows of
the output never depend on each other. O = 3 opponents, T = 34 kinds, R = rows a kind, C = numbers
an opponent.
"""

import functools
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
    features_of,
)
from mjx import tiles
from mjx.observe import Observation
from mjx.packed import RANKS
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage

Array = jax.Array
Params = Any  # a pytree of arrays

AT_ONCE = 64  # decisions whose opponents are read together
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
        trunk = nn.relu(nn.Dense(self.width)(features.table))
        of_kind = nn.Embed(NUM_KINDS, self.width)(jnp.arange(NUM_KINDS))
        x = Near(self.width)(features.tiles) + nn.Dense(self.width, use_bias=False)(trunk)[:, None]
        x = nn.relu(x + of_kind[None])
        pooled = jnp.concatenate([trunk, jnp.mean(x, axis=1), jnp.max(x, axis=1)], axis=-1)
        trunk = nn.relu(nn.Dense(self.width)(pooled))
        x = nn.relu(nn.Dense(self.width)(x) + nn.Dense(self.width)(trunk)[:, None])
        out = nn.Dense(2)(x)
        return Logits(out[..., 0], out[..., 1], nn.Dense(1)(trunk)[:, 0])


class Near(nn.Module):
    """A dense layer that sees each kind amid its neighbours in the suit; honours have none."""

    width: int

    @nn.compact
    def __call__(self, rows: Array) -> Array:
        """Takes float32[O,T,R] to float32[O,T,width]."""
        size = rows.shape[-1]
        shape = ((2 * _REACH + 1) * size, self.width)
        kernel = self.param("kernel", nn.initializers.lecun_normal(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.width,))
        by_place = kernel.reshape(-1, size, self.width)
        suits = rows[:, : tiles.EAST].reshape(-1, RANKS, size)
        suits = jax.lax.conv_general_dilated(
            suits, by_place, (1,), [(_REACH, _REACH)], dimension_numbers=("NWC", "WIO", "NWC")
        ).reshape(len(rows), tiles.EAST, self.width)
        honours = rows[:, tiles.EAST :] @ by_place[_REACH]
        joined = jnp.concatenate([suits, honours], axis=1)
        return joined + jnp.broadcast_to(bias, joined.shape)


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


def read(params: Params, observations: Observation) -> Reading:
    """Reads the opponents of a block of decisions, leading axis B; `AT_ONCE` are fastest."""
    features = stage(jax.vmap(features_of), observations)
    return stage(jax.vmap(functools.partial(chances, params)), features)


def check_rules(rules: Rules) -> None:
    """Refuses games whose hands the network has not seen.

    Raises:
      ValueError: another form of hands.
    """
    if rules.hand_tiles != DEFAULT.hand_tiles or rules.ligu:
        raise ValueError(
            "Hands are read of 16 tiles, five sets and a pair: "
            "hand_tiles=13 and ligu are games that the reading network has not seen."
        )


def to_bytes(weights: Any) -> bytes:
    """Packs weights, nested dicts of arrays."""
    return serialization.msgpack_serialize(jax.tree.map(np.asarray, weights))


def shipped() -> Any:
    """Loads the weights that come with the package: `network` and what else training has found."""
    packed = importlib.resources.files("agents.reading").joinpath("weights.msgpack").read_bytes()
    return jax.tree.map(jnp.asarray, serialization.msgpack_restore(packed))
