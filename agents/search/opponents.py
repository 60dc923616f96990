"""Expectimax with opponents: rho and sigma of the equation, read from what is visible.

*Danger*: a discard that an opponent wins on costs its price and ends the hand. *Tempo*: before our
next draw the hand may also end by what the opponents draw and throw themselves; a self-drawn win
costs us its share, a discard of another seat nothing. Both follow from what the reading network
says once a decision (`agents.reading`). O = 3 opponents in turn order, T = 34 kinds, N =
positions.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.policy import Policy
from agents.reading import network, prices
from agents.reading.features import NUM_OPPONENTS
from agents.reading.network import Reading
from agents.search import expectimax, handmade
from agents.search.tree import Risk, Settings
from agents.search.value import Position
from agents.worklist import map_where
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.score.payments import ALL_PAY
from mjx.stage import stage

Array = jax.Array

_OPPONENTS = np.arange(1, NUM_OPPONENTS + 1, dtype=np.int32)
_IS_OTHER = ~np.eye(NUM_OPPONENTS, dtype=bool)
_SELF_DRAW_TAI = 1  # that a self-drawn win has more


class Context(NamedTuple):
    """Rho and sigma of one decision, and what they come from."""

    reading: Reading
    rho: Array  # float32[T]  of each discard
    sigma: Array  # float32[T]
    rho_pass: Array  # float32[]
    sigma_pass: Array  # float32[]


def make(
    depth: int = expectimax.DEPTH,
    claim_depth: int = expectimax.CLAIM_DEPTH,
    alpha: float = 0.6,
    kappa: float = 1.0,
    danger: float = 0.5,
    tempo: float = 1.0,
    rules: Rules = DEFAULT,
) -> Policy:
    """Makes the player: the hand-made leaf value, with danger and tempo.

    Args:
      depth, claim_depth, alpha, kappa: as of `expectimax`.
      danger: weight of deal-ins; 1 as the equation has it, 0 leaves them out.
      tempo: weight of the chance that the hand ends without us; 0 leaves it out.
      rules: the table's rules.

    Raises:
      ValueError: a weight below 0, or a game whose hands the network was not trained to read.
    """
    network.check_rules(rules)
    settings = Settings(depth=depth, claim_depth=claim_depth, alpha=alpha, kappa=kappa, rules=rules)
    return expectimax.policy(
        "expectimax_opp",
        handmade.value(),
        handmade.params(),
        settings,
        risk(rules),
        network.shipped() | weights(danger, tempo),
    )


def weights(danger: float, tempo: float) -> dict[str, Array]:
    """Makes the two weights as parameters of the risk, so that a sweep compiles once.

    Raises:
      ValueError: a weight below 0.
    """
    found = {"danger": danger, "tempo": tempo}
    for name, weight in found.items():
        if not weight >= 0:
            raise ValueError(f"{name} is a weight of 0 or more, not {weight}.")
    return {name: jnp.float32(weight) for name, weight in found.items()}


def risk(rules: Rules) -> Risk:
    """Makes rho and sigma; the params are those of `make`: its `network`, and of `context_of`."""

    def prepare(params: Any, observation: Observation, wanted: Array) -> Context:
        def read(seen: Observation) -> Reading:
            return network.read(params["network"], seen)

        reading = map_where(read, wanted, observation, network.AT_ONCE)
        each = jax.vmap(lambda one, seen: context_of(params, one, seen, rules))
        return stage(each, reading, observation)

    def discards(params: Any, context: Context, positions: Position) -> tuple[Array, Array]:
        del params
        shape = (positions.draws.shape[0], *context.rho.shape)
        return jnp.broadcast_to(context.rho, shape), jnp.broadcast_to(context.sigma, shape)

    def passing(params: Any, context: Context) -> tuple[Array, Array]:
        del params
        return context.rho_pass, context.sigma_pass

    return Risk(prepare, discards, passing)


def context_of(params: Any, reading: Reading, observation: Observation, rules: Rules) -> Context:
    """Turns what is read into rho and sigma of one decision.

    Args:
      params: how often a ready seat wins at its `draw` and on another seat's `discard`, and the
        `weights`.
      reading: of the opponents.
      observation: the decision.
      rules: the table's rules.
    """
    cost, ends = prices.deal_in(reading, observation, rules)
    all_act = jnp.ones(NUM_OPPONENTS, bool)
    rho, sigma = _gap(params, reading, observation, all_act, rules)
    acts = (_OPPONENTS > observation.pending_seat) | (
        observation.robbing & (_OPPONENTS == observation.pending_seat)
    )
    rho_pass, sigma_pass = _gap(params, reading, observation, acts, rules)
    danger = params["danger"]
    goes_on = 1 - jnp.minimum(danger, 1) * ends
    return Context(reading, goes_on * rho - danger * cost, goes_on * sigma, rho_pass, sigma_pass)


def _gap(
    params: Any, reading: Reading, observation: Observation, acts: Array, rules: Rules
) -> tuple[Array, Array]:
    """Tells what the opponents' own turns bring us: float32[] points, float32[] hand goes on.

    Args:
      params: of the risk.
      reading: of this decision.
      observation: the decision.
      acts: bool[O] opponents that draw and discard before us.
      rules: the table's rules.
    """
    draws = params["tempo"] * params["draw"] * reading.ready * acts
    throwers = jnp.sum(acts[None] & _IS_OTHER, axis=-1, dtype=jnp.int32)  # that feed each opponent
    fed = params["tempo"] * params["discard"] * reading.ready * throwers
    weight = reading.wins / jnp.maximum(jnp.sum(reading.wins, axis=-1, keepdims=True), 1e-6)
    tai = jnp.sum(weight * reading.tai, axis=-1) + _SELF_DRAW_TAI
    price = prices.price(observation, jnp.int32(ALL_PAY), rules) + rules.unit * tai
    goes_on = jnp.prod(jnp.clip(1 - draws, 0, 1) * jnp.clip(1 - fed, 0, 1))
    return -jnp.sum(draws * price), goes_on
