"""The searching player: every legal action has a value from one equation, the best is played.

B = decisions, A = 110 actions, T = 34 kinds.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents import greedy, options
from agents.policy import Explanation, Policy
from agents.search import completion, handmade, tree
from agents.search import root as roots
from agents.search.root import NUM_TASKS, Root
from agents.search.tree import Contexts, Risk, Settings, Solver, discard_values
from agents.search.value import NEVER, ValueFunction
from agents.worklist import map_where
from mjx import actions
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules

Array = jax.Array

_TASKS_AT_ONCE = (1024, 16, 1, 1, 1)  # by depth: trees of two layers fill the machine alone
_DECISIONS_AT_ONCE = 512  # bounds the memory of a large batch


def make(
    depth: int = 2,
    claim_depth: int = 1,
    alpha: float = 0.6,
    kappa: float = 1.0,
    rules: Rules = DEFAULT,
) -> Policy:
    """Makes the baseline: a search with the hand-made leaf value.

    Args:
      depth: layers of one discard and one draw in the own turn.
      claim_depth: layers of a claim and of the pass it is compared with, which draws first and
        so costs 34 trees.
      alpha: share of the tiles in hand that are tried as discards.
      kappa: weight of the self-draw in the value of a completed hand.
      rules: the table's rules, which price the wins.
    """
    settings = Settings(depth=depth, claim_depth=claim_depth, alpha=alpha, kappa=kappa, rules=rules)
    return policy("expectimax", handmade.value(), handmade.params(), settings)


def policy(
    name: str,
    value: ValueFunction,
    params: Any,
    settings: Settings,
    risk: Risk | None = None,
    risk_params: Any = (),
) -> Policy:
    """Makes a searching player.

    Args:
      name: of the player.
      value: orders and prunes the discards, and values the leaves.
      params: of `value`.
      settings: the tree's shape and its equation.
      risk: rho and sigma of the equation; without it 0 and 1.
      risk_params: of `risk`. The player's params are both.
    """

    def act(params: Any, key: Array, observation: Observation, legal_action_mask: Array) -> Array:
        del key
        solver = Solver(settings, value, risk, *params)
        values = action_values(solver, observation, legal_action_mask)
        return jnp.argmax(values, axis=-1).astype(jnp.int32)

    def explain(params: Any, observation: Observation) -> Explanation:
        legal = observation.legal_action_mask
        solver = Solver(settings, value, risk, *params)
        searched = action_values(solver, observation, legal)
        accepting = greedy.accepting_after(observation, legal)
        return Explanation(root_q(solver, observation, legal), _nan(searched), accepting)

    return Policy(name, (params, risk_params), act, explain)


def action_values(solver: Solver, observation: Observation, legal: Array) -> Array:
    """Values each action of each decision by search.

    Args:
      solver: settings, value function and parameters.
      observation: leading axis B.
      legal: bool[B, A].

    Returns:
      float32[B, A], `NEVER` for what is not legal or beyond the width.
    """
    batch = legal.shape[0]
    if batch <= _DECISIONS_AT_ONCE:
        return _values(solver, observation, legal)
    pieces = -(-batch // _DECISIONS_AT_ONCE)
    padding = pieces * _DECISIONS_AT_ONCE - batch

    def cut(x: Array) -> Array:
        x = jnp.concatenate([x, jnp.zeros((padding, *x.shape[1:]), x.dtype)])
        return x.reshape(pieces, _DECISIONS_AT_ONCE, *x.shape[1:])

    values = jax.lax.map(
        lambda piece: _values(solver, *piece), jax.tree.map(cut, (observation, legal))
    )
    return values.reshape(-1, actions.NUM_ACTIONS)[:batch]


def _values(solver: Solver, observation: Observation, legal: Array) -> Array:
    """Values the actions of a batch that fits the memory: float32[B, A]."""
    batch = legal.shape[0]
    prepared = _prepare(solver, observation, legal)
    wanted = jax.vmap(roots.wanted)(prepared.roots).reshape(-1)
    wins = jax.vmap(roots.winning_draws)(prepared.roots).reshape(-1)

    def solve(depth: int, lanes: Array) -> Array:
        decisions, numbers = lanes // NUM_TASKS, lanes % NUM_TASKS
        here = jax.tree.map(lambda x: x[decisions], prepared)
        tasks = jax.vmap(roots.task)(here.roots, numbers)
        # The last block is filled up with tasks that may make no sense.
        tasks = tasks._replace(tiles=jax.vmap(options.keep)(wanted[lanes], tasks.tiles))
        return discard_values(solver, here.contexts, here.tables, tasks, depth)

    def points(lanes: Array) -> Array:
        here = jax.tree.map(lambda x: x[lanes // NUM_TASKS], prepared.roots)
        one = functools.partial(roots.draw_points, settings=solver.settings)
        return jax.vmap(one)(here, lanes % NUM_TASKS)

    lanes = jnp.arange(batch * NUM_TASKS, dtype=jnp.int32)
    is_asked = jnp.repeat(observation.pending >= 0, NUM_TASKS)
    found = [
        map_where(functools.partial(solve, depth), wanted & here, lanes, _TASKS_AT_ONCE[depth])
        for depth, here in _depths(solver.settings, is_asked)
    ]
    values = functools.reduce(jnp.add, found).reshape(batch, NUM_TASKS, -1)
    won = map_where(points, wins, lanes, 32).reshape(batch, NUM_TASKS)
    combine = functools.partial(roots.action_values, solver=solver)
    return jax.vmap(combine)(prepared.roots, values, won, prepared.contexts)


class _Prepared(NamedTuple):
    """What all tasks of a decision share. Leading axis B."""

    roots: Root
    contexts: Contexts
    tables: completion.Table


def _prepare(solver: Solver, observation: Observation, legal: Array) -> _Prepared:
    """Computes once a decision what its tasks share."""
    return _Prepared(
        jax.vmap(roots.root_of)(observation, legal),
        jax.vmap(functools.partial(tree.prepare, solver))(observation),
        jax.vmap(completion.table_of)(observation),
    )


def root_q(solver: Solver, observation: Observation, legal: Array) -> Array:
    """Values each action without any layer, V_0 = Q in the same equation: float32[B, A].

    A claim is worth its best discard's Q; what draws first, the mean of the best Q over its draws.
    NaN for what is not legal.
    """
    settings = dataclasses.replace(solver.settings, depth=0, claim_depth=0)
    return _nan(action_values(solver._replace(settings=settings), observation, legal))


def _depths(settings: Settings, is_asked: Array) -> list[tuple[int, Array]]:
    """Lists the depths searched to, and which lanes each is for: bool of the same shape."""
    claim_depth = settings.depth if settings.claim_depth is None else settings.claim_depth
    if claim_depth == settings.depth:
        return [(settings.depth, jnp.ones_like(is_asked))]
    return [(settings.depth, ~is_asked), (claim_depth, is_asked)]


def _nan(values: Array) -> Array:
    """Shows what was not valued as NaN."""
    return jnp.where(values == NEVER, jnp.nan, values)
