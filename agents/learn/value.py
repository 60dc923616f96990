"""A Q network as the search's value function, and the search as the player of self-play.

N = positions, T = 34 kinds. Networks count in thousands of points, the search in points.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents.learn import features
from agents.learn.features import Table
from agents.learn.networks import QNetwork
from agents.learn.selfplay import POINTS
from agents.search.value import Position, ValueFunction
from mjx import packed, state as st
from mjx.observe import Observation, tiles_in_melds

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
    """Makes the value function of a Q network.

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
