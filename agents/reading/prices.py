"""What a win of an opponent costs us. O = 3 opponents in turn order, T = 34 kinds."""

import jax
import jax.numpy as jnp
import numpy as np

from agents.reading.features import NUM_OPPONENTS
from agents.reading.network import Reading
from mjx import score
from mjx.observe import Observation
from mjx.rules import Rules

Array = jax.Array

_OPPONENTS = np.arange(1, NUM_OPPONENTS + 1, dtype=np.int32)


def deal_in(reading: Reading, observation: Observation, rules: Rules) -> tuple[Array, Array]:
    """Prices each discard: float32[T] points to be paid, float32[T] chance of any win."""
    cost = price(observation, jnp.int32(0), rules)[:, None] + rules.unit * reading.tai
    others_pass = jnp.cumprod(1 - reading.wins, axis=0)
    first = jnp.concatenate([jnp.ones_like(others_pass[:1]), others_pass[:-1]])
    if rules.multi_ron:  # all who can win are paid
        first = jnp.ones_like(first)
    return jnp.sum(first * reading.wins * cost, axis=0), 1 - others_pass[-1]


def price(observation: Observation, payer: Array, rules: Rules) -> Array:
    """Returns what we pay each opponent for a win without tai: float32[O]."""

    def one(winner: Array) -> Array:
        table = (observation.dealer, observation.streak)
        return -score.payments(jnp.int32(0), winner, payer, *table, rules)[0]

    return jax.vmap(one)(jnp.asarray(_OPPONENTS)).astype(jnp.float32)
