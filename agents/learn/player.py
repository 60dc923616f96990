"""A Q network in the search: its value function, and the players made of both.

`ddqn` is the equation with no layer, V_0 = Q: a claim is worth the best discard after it, a pass
or a kong the mean of the best Q over the draws that follow. `expectimax_ddqn` searches the own
turn `depth` layers deep, and claims against passes `claim_depth` layers; a pass is 34 trees, so a
layer there costs 34 times what it costs in the own turn. B = decisions, N = positions, T = 34.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents.learn import features
from agents.learn.config import SearchConfig
from agents.learn.features import Table
from agents.learn.networks import QNetwork
from agents.learn.selfplay import POINTS, Decide, Decision
from agents.policy import Policy
from agents.search import expectimax
from agents.search.tree import Settings, Solver
from agents.search.value import Position, ValueFunction
from mjx import packed
from mjx import state as st
from mjx.observe import Observation, tiles_in_melds
from mjx.rules import DEFAULT, Rules

Array = jax.Array
Params = Any


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
    value, settings = value_function(network), settings_of(search)

    def decide(params: Params, observation: Observation, legal: Array) -> Decision:
        values = expectimax.action_values(Solver(settings, value, None, params), observation, legal)
        return Decision(jnp.argmax(values, axis=-1).astype(jnp.int32), jnp.max(values, axis=-1))

    return decide


def policy(
    name: str, network: QNetwork, params: Params, search: SearchConfig, rules: Rules = DEFAULT
) -> Policy:
    """Makes a player of a network and a search, which may have no layer at all."""
    return expectimax.policy(name, value_function(network), params, settings_of(search, rules))


def settings_of(search: SearchConfig, rules: Rules = DEFAULT) -> Settings:
    """Returns a search's settings as the tree takes them."""
    return Settings(
        depth=search.depth, claim_depth=search.claim_depth, alpha=search.alpha, rules=rules
    )
