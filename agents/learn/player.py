"""A Q network in the search: its value function, and the players made of both.

`ddqn` is the equation with no layer, V_0 = Q: a claim is worth the best discard after it, a pass
or a kong the mean of the best Q over the draws that follow. `expectimax_ddqn` searches the own
turn `depth` layers deep, and claims against passes `claim_depth` layers; a pass is 34 trees, so a
layer there costs 34 times what it costs in the own turn. B = decisions, N = positions, T = 34.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents import greedy, options
from agents.learn import features
from agents.learn.config import SearchConfig
from agents.learn.features import Table
from agents.learn.networks import QNetwork
from agents.learn.selfplay import POINTS, Decide, Decision
from agents.policy import Explanation, Policy
from agents.search import root as roots
from agents.search.expectimax import action_values
from agents.search.tree import Settings, Solver
from agents.search.value import NEVER, Position, ValueFunction, masked_q
from agents.worklist import map_where
from mjx import packed
from mjx import state as st
from mjx.observe import Observation, tiles_in_melds

Array = jax.Array
Params = Any

_POSITIONS_AT_ONCE = 1024


class Context(NamedTuple):
    """What all positions of a decision share."""

    table: Table
    shared: Any  # the network's share of it
    turn: Array  # int32[]  own discards so far
    drawable: Array  # int32[]
    locked: Array  # bool[]


def value_function(network: QNetwork) -> ValueFunction:
    """Makes the value function of a Q network, in points.

    A position later in the tree keeps the table of the root; only the own hand, the turn and
    the tiles left move on, the latter by four for each own draw.
    """

    def prepare(params: Params, observation: Observation) -> Context:
        table = features.table_of(observation)
        return Context(
            table=table,
            shared=network.table(params, table),
            turn=features.turn_of(observation),
            drawable=observation.drawable,
            locked=observation.locked,
        )

    def one(params: Params, context: Context, position: Position) -> Array:
        sets = packed.to_counts(position.sets)
        melds = tiles_in_melds(
            packed.to_counts(position.chows),
            sets == st.PONG,
            sets == st.KONG,
            sets == st.CONCEALED_KONG,
        )
        hand = features.hand_of(
            context.table,
            counts=packed.to_counts(position.hand),
            melds=melds,
            num_melds=position.num_melds,
            turn=context.turn + position.draws,
            drawable=jnp.maximum(context.drawable - st.NUM_SEATS * position.draws, 0),
            locked=context.locked,
        )
        return POINTS * network.values(params, context.shared, hand)

    def q_values(params: Params, context: Context, positions: Position) -> Array:
        return jax.vmap(one, in_axes=(None, None, 0))(params, context, positions)

    return ValueFunction(prepare, q_values)


def decide_with(network: QNetwork, search: SearchConfig) -> Decide:
    """Makes the player of self-play; its value of a decision is that of its best action."""

    def decide(params: Params, observation: Observation, legal: Array) -> Decision:
        values = searched_values(network, search, params, observation, legal)
        return Decision(jnp.argmax(values, axis=-1).astype(jnp.int32), jnp.max(values, axis=-1))

    return decide


def policy(name: str, network: QNetwork, params: Params, search: SearchConfig) -> Policy:
    """Makes a player of a network and a search, which may have no layer at all."""

    def act(
        params: Params, key: Array, observation: Observation, legal_action_mask: Array
    ) -> Array:
        del key
        values = searched_values(network, search, params, observation, legal_action_mask)
        return jnp.argmax(values, axis=-1).astype(jnp.int32)

    def explain(params: Params, observation: Observation) -> Explanation:
        legal = observation.legal_action_mask
        q = shallow_values(network, params, observation, legal)
        value = searched_values(network, search, params, observation, legal)
        hide = functools.partial(jnp.where, legal)
        return Explanation(
            hide(q, jnp.nan),
            jnp.where(value == NEVER, jnp.nan, value),
            greedy.accepting_after(observation, legal),
        )

    return Policy(name, params, act, explain)


def searched_values(
    network: QNetwork, search: SearchConfig, params: Params, observation: Observation, legal: Array
) -> Array:
    """Values each action, own turns by `depth` layers and questions by `claim_depth`.

    Args:
      network: the Q network.
      search: depths and width.
      params: the network's.
      observation: [B, ...].
      legal: bool[B,A].

    Returns:
      float32[B,A] points, `NEVER` for what is not legal or beyond the width.
    """
    asked = (observation.pending >= 0)[:, None]
    values = jnp.full(legal.shape, NEVER)
    for depth, here in ((search.depth, ~asked), (search.claim_depth, asked)):
        if depth == 0:
            found = shallow_values(network, params, observation, legal & here)
        else:
            settings = Settings(depth=depth, alpha=search.alpha)
            solver = Solver(settings, value_function(network), None, params)
            found = action_values(solver, observation, legal & here)
        values = jnp.where(here, found, values)
    return values


def shallow_values(
    network: QNetwork, params: Params, observation: Observation, legal: Array
) -> Array:
    """Values each action with no layer of search: float32[B,A], `NEVER` if not legal."""
    value = value_function(network)
    solver = Solver(Settings(depth=1), value, None, params)
    root = jax.vmap(roots.root_of)(observation, legal)
    contexts = jax.vmap(value.prepare, in_axes=(None, 0))(params, observation)
    wanted = jax.vmap(roots.wanted)(root)
    wins = jax.vmap(roots.winning_draws)(root)

    def best_of(lanes: Array) -> Array:
        decisions, numbers = lanes // roots.NUM_TASKS, lanes % roots.NUM_TASKS
        here, context = jax.tree.map(lambda x: x[decisions], (root, contexts))
        tasks = jax.vmap(roots.task)(here, numbers)
        is_real = wanted.reshape(-1)[lanes]  # the last block is filled up with others
        positions = roots.positions(
            tasks._replace(tiles=jax.vmap(options.keep)(is_real, tasks.tiles))
        )
        alone = jax.tree.map(lambda x: x[:, None], positions)
        q = jax.vmap(functools.partial(masked_q, value, params))(context, alone)
        return q[:, 0]

    def points_of(lanes: Array) -> Array:
        here = jax.tree.map(lambda x: x[lanes // roots.NUM_TASKS], root)
        one = functools.partial(roots.draw_points, settings=solver.settings)
        return jax.vmap(one)(here, lanes % roots.NUM_TASKS)

    lanes = jnp.arange(wanted.size, dtype=jnp.int32)
    q = map_where(best_of, wanted.reshape(-1), lanes, _POSITIONS_AT_ONCE)
    points = map_where(points_of, wins.reshape(-1), lanes, 32)
    combine = functools.partial(roots.action_values, solver=solver)
    return jax.vmap(combine)(
        root, q.reshape(*wanted.shape, -1), points.reshape(wanted.shape), contexts
    )
