"""A Q network in the search: its value function, and the players made of both.

`ddqn` is the equation with no layer, V_0 = Q: a claim is worth the best discard after it, a pass
or a kong the mean of the best Q over the draws that follow. `expectimax_ddqn` searches the own
turn `depth` layers deep, and claims against passes `claim_depth` layers; a pass is 34 trees, so a
layer there costs 34 times what it costs in the own turn. Where the calls are `greedy`'s, the
network and the search choose discards alone. B = decisions, N = positions, T = 34.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import greedy, options
from agents.learn import features
from agents.learn.config import SearchConfig
from agents.learn.features import Hand, Table, Whole
from agents.learn.networks import Leaves, QNetwork
from agents.learn.selfplay import POINTS, Decide, Decision
from agents.learn.state_value import Rest
from agents.policy import Policy
from agents.search import expectimax
from agents.search.tree import Settings, Solver
from agents.search.value import NEVER, AfterDraws, Position, ValueFunction
from mjx import actions, packed
from mjx import state as st
from mjx.observe import Observation, tiles_in_melds
from mjx.rules import DEFAULT, Rules

Array = jax.Array
Params = Any


class Context(NamedTuple):
    """What all positions of a decision share."""

    table: Table
    shared: Any  # the network's share of it
    held: Array  # int8[T]  own concealed tiles at the root
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
            held=observation.hand,
            turn=features.turn_of(observation),
            drawable=observation.drawable,
            locked=observation.locked,
        )

    def one(params: Params, context: Context, position: Position) -> Array:
        return POINTS * network.values(params, context.shared, _hand(context, position))

    def q_values(params: Params, context: Context, positions: Position) -> Array:
        number, block = positions.hand.shape[0], network.block
        many = jax.vmap(functools.partial(one, params, context))
        if block is None or number <= block or jax.default_backend() != "cpu":
            return many(positions)
        padding = -number % block

        def cut(x: Array) -> Array:
            x = jnp.concatenate([x, jnp.zeros((padding, *x.shape[1:]), x.dtype)])
            return x.reshape(-1, block, *x.shape[1:])

        found = jax.lax.map(many, jax.tree.map(cut, positions))
        return found.reshape(-1, found.shape[-1])[:number]

    leaves = network.leaves
    if leaves is None:
        return ValueFunction(prepare, q_values)

    def best(params: Params, context: Context, positions: Position) -> Array:
        hands = jax.vmap(_hand, (None, 0))(context, positions)
        value = jax.vmap(leaves.of_hand, (None, None, 0))(params, context.shared, hands)
        return POINTS * value

    return ValueFunction(prepare, q_values, best, _after_draws(leaves))


def _after_draws(leaves: Leaves) -> AfterDraws:
    """Makes the functions that value all draws of many rests at once."""

    def whole(num_draws: int, contexts: Context, rests: Position) -> Whole:
        seen = (contexts.table.unseen, contexts.held)
        return features.whole_after(num_draws, rests.hand, rests.num_melds, *seen)

    def one(params: Params, contexts: Context, rests: Position) -> Array:
        rest = _rest(contexts, rests)
        return POINTS * leaves.after_one_draw(
            params, contexts.shared, rest, whole(1, contexts, rests)
        )

    def two(params: Params, contexts: Context, rests: Position) -> Array:
        rest = _rest(contexts, rests)
        return POINTS * leaves.after_two_draws(
            params, contexts.shared, rest, whole(2, contexts, rests)
        )

    return AfterDraws(one, two)


def _rest(context: Context, position: Position) -> Rest:
    """Describes positions, or what is left of them: any leading axes, the same in both."""
    sets = packed.to_counts(position.sets)
    melds = tiles_in_melds(
        packed.to_counts(position.chows),
        sets == st.PONG,
        sets == st.KONG,
        sets == st.CONCEALED_KONG,
    )
    small = jnp.int8
    return Rest(
        counts=packed.to_counts(position.hand),
        melds=melds,
        num_melds=position.num_melds.astype(small),
        turn=(context.turn + position.draws).astype(small),
        drawable=jnp.maximum(context.drawable - st.NUM_SEATS * position.draws, 0).astype(small),
        locked=context.locked,
    )


def _hand(context: Context, position: Position) -> Hand:
    """Describes one position."""
    rest = _rest(context, position)
    return features.hand_of(context.table, held=context.held, **vars(rest))


_ACTIONS = np.arange(actions.NUM_ACTIONS)


def discard_values(solver: Solver, observation: Observation, legal: Array) -> Array:
    """Values discards by search where `greedy` would discard, else its choice alone, at 0.

    Args:
      solver: settings, value function and parameters.
      observation: leading axis B.
      legal: bool[B, A].

    Returns:
      float32[B, A], `NEVER` for what is not legal, not chosen or beyond the width.
    """
    called = greedy.choose(observation, legal)[:, None]
    discards = legal & (_ACTIONS < actions.CONCEALED_KONG)[None]
    is_discard = called < actions.CONCEALED_KONG
    wanted = discards & is_discard
    if solver.settings.depth > 0:
        searched = expectimax.action_values(solver, observation, wanted)
    else:  # the same, but a program without any tree
        q = jax.vmap(functools.partial(_root_q, solver))(observation)
        searched = jnp.where(wanted, jnp.pad(q, ((0, 0), (0, len(_ACTIONS) - q.shape[1]))), NEVER)
    return jnp.where(is_discard | (called != _ACTIONS[None]), searched, np.float32(0))


def _root_q(solver: Solver, observation: Observation) -> Array:
    """Returns Q of each discard of the hand as it is: float32[T]."""
    own, value = options.own(observation), solver.value
    position = Position(own.hand, own.chows, own.sets, own.num_melds, jnp.int32(0))
    context = value.prepare(solver.params, observation)
    return value.q_values(solver.params, context, jax.tree.map(lambda x: x[None], position))[0]


def _search_of(search: SearchConfig) -> Callable[[Solver, Observation, Array], Array]:
    """Returns what values the actions."""
    return discard_values if search.calls == "greedy" else expectimax.action_values


def decide_with(network: QNetwork, search: SearchConfig) -> Decide:
    """Makes the player of self-play; its value of a decision is that of its best action."""
    value, settings, find = value_function(network), settings_of(search), _search_of(search)

    def decide(params: Params, observation: Observation, legal: Array) -> Decision:
        values = find(Solver(settings, value, None, params), observation, legal)
        return Decision(jnp.argmax(values, axis=-1).astype(jnp.int32), jnp.max(values, axis=-1))

    return decide


def policy(
    name: str, network: QNetwork, params: Params, search: SearchConfig, rules: Rules = DEFAULT
) -> Policy:
    """Makes a player of a network and a search, which may have no layer at all."""
    settings = settings_of(search, rules)
    return expectimax.policy(
        name, value_function(network), params, settings, search=_search_of(search)
    )


def settings_of(search: SearchConfig, rules: Rules = DEFAULT) -> Settings:
    """Returns a search's settings as the tree takes them."""
    return Settings(
        depth=search.depth, claim_depth=search.claim_depth, alpha=search.alpha, rules=rules
    )


def alone(search: SearchConfig) -> SearchConfig:
    """Returns the search of no layer with the same calls: the network alone."""
    return dataclasses.replace(search, depth=0, claim_depth=0)
