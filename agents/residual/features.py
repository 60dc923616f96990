"""What the residual looks at: the search's values, what is read, and the linear player's facts.

B = decisions, T = 34 kinds, K = `TILE`, C = `CONTEXT`, A = 110 actions.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.linear import linear_es
from agents.linear.features import TILE as LINEAR_TILE
from agents.linear.linear_es import Look
from agents.reading import prices
from agents.reading.network import Reading
from agents.search import expectimax, handmade, opponents, tree
from agents.search.tree import Settings, Solver
from agents.search.value import NEVER
from mjx import actions
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.tiles import NUM_KINDS

Array = jax.Array

TILE = len(LINEAR_TILE) + 18  # numbers of a kind
COST = len(LINEAR_TILE) + 6  # the place among them of what a discard is expected to cost
CONTEXT = 29  # numbers of the decision
SCALE = np.float32(100)  # points, in which values are shown
_STEPS = 7  # tiles missing that are told apart
_FAR = np.float32(10)  # of these units: what lies further behind the best is as bad
_SAFE = np.float32(10)  # points to be paid on average, below which a discard is called safe


class Prior(NamedTuple):
    """The parameters of what the residual is added to, and of what it is shown."""

    search: Any  # of the search with opponents
    linear: linear_es.Params


class Seen(NamedTuple):
    """Decisions as the residual sees them. Leading axis B."""

    values: Array  # float32[A]    points by the search; `NEVER` for what is not legal
    is_choice: Array  # bool[]        several discards are open: the residual has a say
    open: Array  # bool[T]       these discards
    tiles: Array  # float32[T,K]
    context: Array  # float32[C]


def prior(rules: Rules = DEFAULT) -> Prior:
    """Loads the parameters of the search with opponents and of the linear player."""
    search = opponents.make(rules=rules).params
    return Prior(search, linear_es.make(rules=rules).params)


def see(prior: Prior, observation: Observation, legal: Array, rules: Rules = DEFAULT) -> Seen:
    """Looks at decisions.

    Args:
      prior: shared by all decisions.
      observation: leading axis B.
      legal: bool[B, A]; what has no legal action is not looked at.
      rules: the table's rules.
    """
    settings = Settings(depth=1, claim_depth=1, alpha=1.0, rules=rules)
    solver = Solver(settings, handmade.value(), opponents.risk(rules), *prior.search)
    contexts = tree.prepare(solver, observation, jnp.any(legal, axis=-1))
    values = expectimax.action_values(solver, observation, legal, contexts)
    look = linear_es.look(linear_es.for_each(prior.linear, len(legal)), observation, legal, rules)
    is_turn = (observation.pending < 0) & ~legal[:, actions.WIN]
    is_open = (values[:, :NUM_KINDS] > NEVER) & is_turn[:, None]
    is_choice = jnp.sum(is_open, axis=-1, dtype=jnp.int32) > 1
    tiles, context = stage(
        jax.vmap(lambda *each: _in_order(*each, rules=rules)),
        observation,
        look,
        contexts.risk.reading,
        values,
        is_open,
    )
    return Seen(values, is_choice, is_open, tiles, context)


def _in_order(
    observation: Observation,
    look: Look,
    reading: Reading,
    values: Array,
    is_open: Array,
    rules: Rules,
) -> tuple[Array, Array]:
    """Lists the numbers of one decision: float32[T, K], float32[C]."""
    first, table = look.first, look.table
    cost, ends = prices.deal_in(reading, observation, rules)
    values = jnp.where(is_open, values[:NUM_KINDS], 0)
    highest = jnp.max(jnp.where(is_open, values, NEVER))
    behind = jnp.where(is_open, jnp.maximum((values - highest) / SCALE, -_FAR), 0)
    score = look.scores[:NUM_KINDS]
    is_best, is_next = first.is_best & is_open, first.is_next & is_open
    top_score = jnp.max(jnp.where(is_best, score, NEVER))
    score = jnp.where(is_best & (score > NEVER), score - top_score, 0)
    accepting = jnp.where(is_best, first.accepting, 0)
    most = jnp.max(accepting)
    held = observation.hand.astype(jnp.float32)
    rows = [
        cost / SCALE,
        observation.unseen / 4,
        held / 4,
        is_best,
        is_next,
        score / 10,
        jnp.exp(score / 3),
        accepting / 20,
        accepting - most * is_best,
        behind,
        jnp.exp(behind),
        ends * jnp.clip(values, -1000, 4000) / SCALE,
    ]
    rows = jnp.stack([row.astype(jnp.float32) for row in rows])
    wins = reading.wins
    tiles = jnp.concatenate([look.tiles, 5 * wins, 1.2 * wins * reading.tai, rows])

    def one_hot(number: Array, size: int) -> Array:
        return (number == np.arange(size)).astype(jnp.float32)

    numbers = [
        table.late,
        table.late**2,
        observation.streak / 3,
        jnp.sum(reading.ready),
        table.open_melds / 5,
        jnp.sum(is_best, dtype=jnp.int32) / 8,
        most / 30,
        jnp.sum(cost * held) / 1000,
        jnp.min(jnp.where(is_open, cost, 10 * SCALE)) / SCALE,
        jnp.sum(jnp.where(is_open & (cost < _SAFE), held, 0)) / 5,
        jnp.clip(highest, -2000, 4000) / 1000,
    ]
    context = [
        one_hot(jnp.clip(first.lacks, 0, _STEPS - 1), _STEPS),
        reading.ready,
        (5 - observation.num_concealed // 3) / 5,
        one_hot(observation.dealer, 4),
        jnp.stack([number.astype(jnp.float32) for number in numbers]),
    ]
    return jnp.where(is_open, tiles, 0).T, jnp.concatenate(context)
