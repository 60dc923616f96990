"""A Q network in the search: its value function, and the players made of both.

`ddqn` is the equation with no layer, V_0 = Q: a claim is worth the best discard after it, a pass
or a kong the mean of the best Q over the draws that follow. `expectimax_ddqn` searches the own
turn `depth` layers deep, and claims against passes `claim_depth` layers; a pass is 34 trees, so a
layer there costs 34 times what it costs in the own turn. B = decisions, N = positions, T = 34.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents.learn import features
from agents.learn.config import SearchConfig
from agents.learn.features import Hand, Table, Whole
from agents.learn.networks import Leaves, QNetwork
from agents.learn.selfplay import POINTS, Decide, Decision
from agents.learn.state_value import PAIRS, PLACES, Rest
from agents.policy import Policy
from agents.search import expectimax
from agents.search.tree import Settings, Solver
from agents.search.value import Position, ValueFunction
from mjx import packed
from mjx import state as st
from mjx.observe import Observation, tiles_in_melds
from mjx.rules import DEFAULT, Rules
from mjx.tiles import NUM_COPIES, NUM_KINDS

Array = jax.Array
Params = Any
AfterDraws = Callable[[Params, "Context", Position], Array]


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

    return ValueFunction(prepare, q_values, best)


def after_draws(leaves: Leaves) -> tuple[AfterDraws, AfterDraws]:
    """Makes the functions that value rests after one draw and after any two, in points.

    `after_one_draw(params, contexts, rests) -> float32[T, N]` takes rests of 16 - 3M tiles,
    `after_two_draws(params, contexts, rests) -> float32[T, T, N]` rests of 15 - 3M; the latter is
    symmetric. Contexts and rests have a leading axis N; the rests' `draws` are those of the leaf.
    Draws of a fifth copy are worth something finite.
    """

    def one_draw(params: Params, contexts: Context, rests: Position) -> Array:
        whole = _whole_after(contexts, rests, jnp.arange(NUM_KINDS, dtype=jnp.int32))
        return POINTS * leaves.after_one_draw(
            params, contexts.shared, _rest(contexts, rests), whole
        )

    def two_draws(params: Params, contexts: Context, rests: Position) -> Array:
        first, second = jnp.divmod(jnp.asarray(PAIRS.reshape(-1)), NUM_KINDS)
        whole = _whole_after(contexts, rests, first, second)
        grid = jax.tree.map(lambda x: x[jnp.asarray(PLACES)], whole)
        return POINTS * leaves.after_two_draws(
            params, contexts.shared, _rest(contexts, rests), grid
        )

    return one_draw, two_draws


def _whole_after(contexts: Context, rests: Position, *draws: Array) -> Whole:
    """Counts what rests lack and accept after draws, int32[X] each: int32[X,N]."""

    def one(context: Context, rest: Position, *kinds: Array) -> Whole:
        hand = rest.hand
        for kind in kinds:
            word = packed.in_suit(packed.suit_of(kind), packed.tile(kind))
            hand += jnp.where(packed.to_counts(hand)[kind] < NUM_COPIES, word, jnp.uint32(0))
        return features.whole_of(hand, rest.num_melds, context.table.unseen, context.held)

    by_draw = jax.vmap(one, (None, None, *(0 for _ in draws)))
    return jax.vmap(by_draw, (0, 0, *(None for _ in draws)), out_axes=-1)(contexts, rests, *draws)


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
