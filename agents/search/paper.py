"""The baseline of the paper: Expectimax over the whole tree with a leaf value of deficiency alone.

After Lei et al., Computer Engineering 47(3), 2021, whose own leaf value stood in a picture that is
lost. A leaf that lacks d tiles is worth

    V = -c d,    c = 1,000 points: the base that each payer of a win pays.

One tile nearer is thus worth c, and the step from ready to a win drawn in the tree c and the win's
true points, 3,000 and more: at two layers the player lowers the deficiency it expects and prefers
hands that win, the dearer ones among hands that win as often. One tai more on a win weighs as much
as one and a half tiles in the hands where it comes, so it is rarely worth a detour.

Questions are not searched: a chow, pong or kong is called exactly when it lowers the deficiency,
the one that lowers it most, of equals the first. Wins are always taken, and whoever may declare
itself ready does. T = 34 kinds, A = 110 actions, N = positions, B = decisions.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from agents.policy import Policy
from agents.search import expectimax
from agents.search.tree import Settings, Solver
from agents.search.value import NEVER, AfterDraws, Position, ValueFunction
from mjx import actions, distance, draws
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules

Array = jax.Array

POINTS_A_TILE = 1000.0
_CLAIMS = np.array((*options.CLAIMS, actions.OPEN_KONG))


def make(depth: int = 2, alpha: float = 1.0, rules: Rules = DEFAULT) -> Policy:
    """Makes the player.

    Args:
      depth: layers of one discard and one draw.
      alpha: share of the tiles in hand that are tried as discards.
      rules: the table's rules, which price the wins.

    Raises:
      ValueError: a value out of range.
    """
    settings = Settings(depth=depth, alpha=alpha, rules=rules)
    return expectimax.policy("expectimax_paper", value(), params(), settings, search=action_values)


def params() -> Array:
    """Returns c: float32[] points."""
    return jnp.float32(POINTS_A_TILE)


def action_values(solver: Solver, observation: Observation, legal: Array) -> Array:
    """Values the actions: by search in the own turn, by the rule in a question.

    Args:
      solver: settings, value function and parameters.
      observation: leading axis B.
      legal: bool[B, A].

    Returns:
      float32[B, A], `NEVER` for what is not legal or beyond the width.
    """
    is_turn = legal[:, : actions.CONCEALED_KONG].any(axis=-1, keepdims=True)
    searched = expectimax.action_values(solver, observation, legal & is_turn)
    asked = jax.vmap(_by_deficiency, (None, 0))(solver.params, observation)
    values = jnp.where(is_turn, searched, asked)
    wins = np.arange(actions.NUM_ACTIONS) == actions.WIN
    values = jnp.where(wins[None], jnp.maximum(values, _WIN), values)
    return jnp.where(legal & (values > NEVER), values, NEVER)


_WIN = np.float32(1e6)  # more than any value


def _by_deficiency(points: Array, observation: Observation) -> Array:
    """Values the answers to a question by what each leaves missing: float32[A]."""
    own, pending = options.own(observation), observation.pending
    claimed = options.after_claims(own, pending)
    konged = options.after_open_kong(own, pending)
    hands = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), claimed, konged)
    legal = observation.legal_action_mask[_CLAIMS]
    hands = jax.vmap(options.keep)(legal, hands)
    lacks = jax.vmap(distance.deficiency)(hands.hand, hands.num_melds)
    lacks = jnp.maximum(lacks, 1)  # a hand that is complete throws a tile of it
    now = distance.deficiency(own.hand, own.num_melds)
    calls = -points * lacks.astype(jnp.float32)
    passing = -points * (now.astype(jnp.float32) - 0.5)  # before any call that brings no nearer
    rest = jnp.stack([jnp.float32(0), passing, passing + 1])
    unused = jnp.full(actions.CHOW_LOW, NEVER)
    return jnp.concatenate([unused, calls, rest])


def value() -> ValueFunction:
    """Makes the leaf value; its parameter is `params()`."""

    def q_values(points: Array, context: Any, positions: Position) -> Array:
        del context
        after = jax.vmap(distance.deficiency_after_discards)
        return _value(points, after(positions.hand, positions.num_melds))

    def best(points: Array, context: Any, positions: Position) -> Array:
        del context
        return _value(points, jax.vmap(distance.deficiency)(positions.hand, positions.num_melds))

    def one(points: Array, contexts: Any, rests: Position) -> Array:
        del contexts
        return _value(points, draws.one(rests.hand, rests.num_melds, _nothing(rests, 1)).deficiency)

    def two(points: Array, contexts: Any, rests: Position) -> Array:
        del contexts
        return _value(points, draws.two(rests.hand, rests.num_melds, _nothing(rests, 2)).deficiency)

    def back(points: Array, contexts: Any, rests: Position) -> Array:
        left = best(points, contexts, rests)
        return jnp.broadcast_to(left[None], (len(draws.PLACE), len(left)))

    return ValueFunction(lambda params, seen: (), q_values, best, AfterDraws(one, two, back))


def _value(points: Array, deficiency: Array) -> Array:
    """Values what lacks so many tiles, one at least, since a tile must be thrown: float32."""
    return -points * jnp.maximum(deficiency, 1).astype(jnp.float32)


def _nothing(rests: Position, num_draws: int) -> Array:
    """Weighs no tile: uint16[1 + num_draws, T, N]."""
    return jnp.zeros((num_draws + 1, len(draws.PLACE), len(rests.num_melds)), jnp.uint16)
