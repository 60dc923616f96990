"""The searching player: every legal action has a value from one equation, the best is played.

B = decisions, A = 110 actions, T = 34 kinds.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from agents import greedy
from agents.policy import Explanation, Policy
from agents.search import budget, handmade, tree
from agents.search import root as roots
from agents.search.tree import Contexts, Leaves, Risk, Settings, Solver
from agents.search.value import NEVER, ValueFunction
from agents.worklist import is_real, map_where
from mjx import actions
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules

Array = jax.Array

DEPTH, CLAIM_DEPTH = 1, 1  # of the baseline: two layers are no stronger (docs/results.md)
_DECISIONS_AT_ONCE = 512  # bounds the memory of a large batch


def make(
    depth: int = DEPTH,
    claim_depth: int = CLAIM_DEPTH,
    alpha: float = 0.6,
    spread: float = 0.0,
    kappa: float = 1.0,
    move_time: float = 0.0,
    rules: Rules = DEFAULT,
    clock: Callable[[], float] | None = None,
) -> Policy:
    """Makes the baseline: a search with the hand-made leaf value.

    Args:
      depth: layers of one discard and one draw in the own turn.
      claim_depth: layers of a claim and of the pass it is compared with, which draws first and
        so costs 34 trees.
      alpha: share of the tiles in hand that are tried as discards.
      spread: of those, tries none whose Q lies further below the best, in standard deviations of Q
        at the node; 0 tries all.
      kappa: weight of the self-draw in the value of a completed hand.
      move_time: seconds for a decision; depth and alpha are then picked to fit, whatever they are.
      rules: the table's rules, which price the wins.
      clock: tells the time in seconds, where there is a `move_time`.

    Raises:
      ValueError: a value out of range, or a time without a clock.
    """
    settings = Settings(
        depth=depth,
        claim_depth=claim_depth,
        alpha=alpha,
        spread=spread,
        kappa=kappa,
        rules=rules,
    )
    value, params = handmade.value(), handmade.params()
    if move_time:
        if clock is None:
            raise ValueError("move_time needs a clock, which nobody gave.")
        settings = budget.pick(move_time, clock, action_values, settings, value, params)
    return policy("expectimax", value, params, settings)


def policy(
    name: str,
    value: ValueFunction,
    params: Any,
    settings: Settings,
    risk: Risk | None = None,
    risk_params: Any = (),
    search: Callable[[Solver, Observation, Array], Array] | None = None,
) -> Policy:
    """Makes a searching player.

    Args:
      name: of the player.
      value: orders and prunes the discards, and values the leaves.
      params: of `value`.
      settings: the tree's shape and its equation.
      risk: rho and sigma of the equation; without it 0 and 1.
      risk_params: of `risk`. The player's params are `params`, with a risk the pair of both.
      search: values the actions; `action_values` without it.
    """
    search = search or action_values

    def solver_of(given: Any) -> Solver:
        if risk is None:
            return Solver(settings, value, None, given)
        return Solver(settings, value, risk, *given)

    def act(params: Any, key: Array, observation: Observation, legal_action_mask: Array) -> Array:
        del key
        values = search(solver_of(params), observation, legal_action_mask)
        return jnp.argmax(values, axis=-1).astype(jnp.int32)

    def explain(params: Any, observation: Observation) -> Explanation:
        legal = observation.legal_action_mask
        solver = solver_of(params)
        searched = search(solver, observation, legal)
        accepting = greedy.accepting_after(observation, legal)
        return Explanation(root_q(solver, observation, legal), _nan(searched), accepting)

    return Policy(name, params if risk is None else (params, risk_params), act, explain)


def action_values(
    solver: Solver, observation: Observation, legal: Array, contexts: Contexts | None = None
) -> Array:
    """Values each action of each decision by search.

    Args:
      solver: settings, value function and parameters.
      observation: leading axis B.
      legal: bool[B, A]; where nothing is legal nothing is searched.
      contexts: of `tree.prepare`, where they are wanted for something else, too.

    Returns:
      float32[B, A], `NEVER` for what is not legal or beyond the width.

    Raises:
      ValueError: `merge` is set for a value function that values all draws together.
    """
    if solver.settings.merge and solver.value.after_draws is not None:
        raise ValueError("merge saves nothing where a value function values all draws together.")
    batch = legal.shape[0]
    if batch <= _DECISIONS_AT_ONCE:
        return _values(solver, observation, legal, contexts)
    pieces = -(-batch // _DECISIONS_AT_ONCE)
    padding = pieces * _DECISIONS_AT_ONCE - batch

    def cut(x: Array) -> Array:
        x = jnp.concatenate([x, jnp.zeros((padding, *x.shape[1:]), x.dtype)])
        return x.reshape(pieces, _DECISIONS_AT_ONCE, *x.shape[1:])

    values = jax.lax.map(
        lambda piece: _values(solver, *piece), jax.tree.map(cut, (observation, legal, contexts))
    )
    return values.reshape(-1, actions.NUM_ACTIONS)[:batch]


def _values(
    solver: Solver, observation: Observation, legal: Array, contexts: Contexts | None
) -> Array:
    """Values the actions of a batch that fits the memory: float32[B, A]."""
    root = jax.vmap(roots.root_of)(observation, legal)
    if contexts is None:
        contexts = tree.prepare(solver, observation, jnp.any(legal, axis=-1))
    settings = solver.settings
    depth = jnp.where(observation.pending >= 0, settings.asked_depth, settings.depth)
    # By layers below the first draw; what draws first has tasks of its own by draw from depth 2 on.
    below = [_repeat(depth - 1, roots.DISCARDS), _repeat(jnp.minimum(depth, 1), roots.AT_REST)]
    if max(settings.depth, settings.asked_depth) > 1:
        below.append(_repeat(jnp.where(depth > 1, depth - 1, _NEVER), roots.DRAWN))
    below = jnp.concatenate(below, axis=1)
    num_tasks = below.shape[1]
    wanted = jax.vmap(roots.wanted)(root)[:, :num_tasks]

    def solve(layers: int) -> Array:
        searched = (wanted & (below == layers)).reshape(-1)

        def block(lanes: Array) -> Array:
            here = jax.tree.map(lambda x: x[lanes // num_tasks], (root, contexts))
            is_wanted = searched[lanes] & is_real(lanes)
            tasks = jax.vmap(roots.task)(here[0], lanes % num_tasks, is_wanted)
            return tree.values(solver, here[1], tasks, layers)

        lanes = jnp.arange(wanted.size, dtype=jnp.int32)
        return map_where(block, searched, lanes, tree.TASKS_AT_ONCE[max(layers, 0)])

    found = functools.reduce(jnp.add, map(solve, _layers(settings)))
    values = found.reshape(*wanted.shape, -1)
    combine = functools.partial(roots.action_values, solver=solver)
    return jax.vmap(combine)(root, values, depth > 1, contexts)


_NEVER = -2  # layers of a task that is not searched


def _repeat(layers: Array, tasks: slice) -> Array:
    """Repeats int32[B] for a group of tasks."""
    return jnp.broadcast_to(layers[:, None], (len(layers), tasks.stop - tasks.start))


def _layers(settings: Settings) -> list[int]:
    """Lists the numbers of layers below the first draw that searches may need."""
    depths = {settings.depth, settings.asked_depth}
    return sorted({layers for depth in depths for layers in (depth - 1, min(depth, 1))})


def count_leaves(solver: Solver, observation: Observation, legal: Array) -> Leaves:
    """Counts the leaves of own turns searched one or two layers deep, leading axis B.

    Args:
      solver: settings, value function and parameters.
      observation: of own turns, leading axis B.
      legal: bool[B, A].

    Returns:
      int32[B] each: leaves evaluated and distinct.
    """
    root = jax.vmap(roots.root_of)(observation, legal)
    own_turn = jax.vmap(roots.wanted)(root)[:, 0]
    tasks = jax.vmap(roots.task, (0, None, 0))(root, jnp.int32(0), own_turn)
    contexts = tree.prepare(solver, observation, own_turn)
    return tree.count_leaves(solver, contexts, tasks)


def root_q(solver: Solver, observation: Observation, legal: Array) -> Array:
    """Values each action without any layer, V_0 = Q in the same equation: float32[B, A].

    A claim is worth its best discard's Q; what draws first, the mean of the best Q over its draws.
    NaN for what is not legal.
    """
    settings = dataclasses.replace(solver.settings, depth=0, claim_depth=0)
    return _nan(action_values(solver._replace(settings=settings), observation, legal))


def _nan(values: Array) -> Array:
    """Shows what was not valued as NaN."""
    return jnp.where(values == NEVER, jnp.nan, values)
