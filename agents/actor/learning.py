"""How the actor learns: a policy gradient whose baseline knows the truth.

For a choice between discards a, with policy pi and a critic V that sees all hands and the wall,

    Q(a) = -cost(a) if somebody wins on a, else V
    gradient = grad sum_a pi(a) Q(a)  +  grad log pi(a_t) (G - Q(a_t))

where a_t was thrown and G is what came of it. The first sum knows for every discard, not only for
the one thrown, whether it deals in; the second makes the whole unbiased whatever V is, but for the
targets' trace (Gu et al., Q-Prop, 2017; the critic of the truth as in Pinto et al., 2018). Ratios
are clipped (Schulman et al., PPO, 2017), since a round is learned from several times.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from agents.actor import network
from agents.actor.selfplay import Samples

Array = jax.Array

_MOST = 3.0  # thousands of points: larger surprises count as much as this


class Told(NamedTuple):
    """What is watched of a batch: sums over its real decisions."""

    number: Array  # float32[]
    entropy: Array  # float32[]
    away: Array  # float32[]  of the policy from the prior, nats
    divergence: Array  # float32[]  of the policy from that of the round, nats
    surprise: Array  # float32[]  |G - Q|
    error: Array  # float32[]  squared, of the critic; where nobody wins on the discard
    outcome: Array  # float32[]  of these, and squared, and how many
    outcome_squared: Array  # float32[]
    number_valued: Array  # float32[]


def loss(params: dict, batch: Samples, stay: float, clip: float) -> tuple[Array, Told]:
    """Returns the sum of the losses of actor and critic over a batch, and what is watched.

    Args:
      params: of `network.init`.
      batch: leading axis N; what is not real counts nothing.
      stay: cost of a nat away from the prior, in thousands of points.
      clip: how far a ratio may go from 1.
    """
    is_real = batch.is_real.astype(jnp.float32)
    found = batch.prior + network.residual(params["actor"], batch.tiles, batch.context)
    log_policy = jax.nn.log_softmax(jnp.where(batch.open, found, batch.prior))
    policy = jnp.exp(log_policy)
    q = jnp.where(batch.deals_in, -batch.cost, batch.value[:, None])
    thrown = batch.action[:, None]

    def of_thrown(x: Array) -> Array:
        return jnp.take_along_axis(x, thrown, axis=1)[:, 0]

    surprise = jnp.clip(batch.target - of_thrown(q), -_MOST, _MOST)
    ratio = jnp.exp(of_thrown(log_policy) - of_thrown(batch.log_policy))
    clipped = jnp.clip(ratio, 1 - clip, 1 + clip)
    gain = jnp.minimum(ratio * surprise, clipped * surprise)
    mean = jax.lax.stop_gradient(jnp.sum(policy * q, axis=-1, keepdims=True))
    gain += jnp.sum(jnp.where(batch.open, policy * (q - mean), 0), axis=-1)
    nats = -jnp.sum(jnp.where(batch.open, policy * log_policy, 0), axis=-1)
    apart = jnp.exp(batch.log_policy) * (batch.log_policy - log_policy)
    apart = jnp.sum(jnp.where(batch.open, apart, 0), axis=-1)
    is_valued = is_real * ~of_thrown(batch.deals_in)
    error = jnp.square(network.value(params["critic"], batch.told) - batch.outcome) * is_valued
    away = policy * (log_policy - jax.nn.log_softmax(batch.prior))
    away = jnp.sum(jnp.where(batch.open, away, 0), axis=-1)
    total = jnp.sum(error) - jnp.sum(is_real * (gain - stay * away))
    outcome = batch.outcome * is_valued
    told = (is_real, is_real * nats, is_real * away, is_real * apart, is_real * jnp.abs(surprise))
    told += (error, outcome, outcome * batch.outcome, is_valued)
    return total, Told(*(jnp.sum(x) for x in told))


def explained(told: Told) -> Array:
    """Returns the share of the outcomes' variance that the critic explains."""
    number = jnp.maximum(told.number_valued, 1)
    variance = told.outcome_squared / number - jnp.square(told.outcome / number)
    return 1 - told.error / number / jnp.maximum(variance, 1e-6)
