"""What values a position of the tree: the protocol, and what every value function shares.

N = positions of one decision, T = 34 kinds, S = 4 suits, D = 595 unordered pairs of draws.

A position is a hand that must discard: 17 - 3M concealed tiles and M melds. Everything else stays
as the player sees it at the root, except the turn: `draws` says how many tiles the player has
drawn since. Positions reached in different orders are thus one position, and what does not depend
on the hand is computed once a decision, by `prepare`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mjx import packed
from mjx.observe import Observation

Array = jax.Array
Params = Any  # a pytree of arrays
Context = Any  # a pytree of arrays

NEVER = float("-inf")  # the value of what cannot be done


class Position(NamedTuple):
    """Hands that must discard."""

    hand: Array  # uint32[N,S]  concealed tiles, 17 - 3M (mjx.packed)
    chows: Array  # uint32[N,S]  own chows, counted at their lowest tile
    sets: Array  # uint32[N,S]  own pongs and kongs: state.PONG, KONG, CONCEALED_KONG at the kind
    num_melds: Array  # int32[N]
    draws: Array  # int32[N]     own draws since the root


class AfterDraws(NamedTuple):
    """What a value function can do faster for all draws of a hand at once.

    The tree grows hands from *rests*, hands that have yet to draw: N of them, each with its own
    decision's context, so `contexts` and `rests` have leading axis N and the results have it last,
    which is how vectors fill. `rests.draws` counts the draws of the grown hand. Entries of tiles
    that cannot come, fifth copies among them, may hold anything finite.

    `one(params, contexts, rests) -> float32[T, N]`: max_a Q of each rest with each tile more.
    `two(params, contexts, rests) -> float32[D, N]`: likewise with two tiles more, the pairs
    `mjx.draws.FIRST` and `SECOND`.
    `back(params, contexts, rests) -> float32[T, N]`, or None. Where it is given, discards can be
    ordered without their Q: `one` then also takes rests a tile shorter and says what a discard
    left, the larger the better, and `back` says so of the rest itself, the tile drawn having been
    thrown away again. Otherwise the tree asks for `q_values` of the inner nodes.
    """

    one: Callable[[Params, Context, Position], Array]
    two: Callable[[Params, Context, Position], Array]
    back: Callable[[Params, Context, Position], Array] | None = None


class ValueFunction(NamedTuple):
    """A way to value discards, in points to the player.

    `prepare(params, observation) -> context` runs once a decision, unbatched: all that the
    positions of this decision have in common. The search calls it under vmap.

    `q_values(params, context, positions) -> float32[N, T]` values each discard at each position.
    Kinds not held may hold anything finite; they are ignored.

    `best(params, context, positions) -> float32[N]` is for those who can tell
    `max_a Q(position, a)` over the kinds held more cheaply than by all the Q values; None for the
    rest. The search then calls it at the leaves, where nothing else is asked for.

    `after_draws` is for those who can value many leaves together faster than one by one.
    """

    prepare: Callable[[Params, Observation], Context]
    q_values: Callable[[Params, Context, Position], Array]
    best: Callable[[Params, Context, Position], Array] | None = None
    after_draws: AfterDraws | None = None


def masked_q(value: ValueFunction, params: Params, context: Context, positions: Position) -> Array:
    """Values each discard at each position, `NEVER` for kinds not held: float32[N, T]."""
    held = jax.vmap(packed.to_counts)(positions.hand) > 0
    return jnp.where(held, value.q_values(params, context, positions), NEVER)


def leaf_values(
    value: ValueFunction, params: Params, context: Context, positions: Position
) -> Array:
    """Values positions by their best discard: float32[N]."""
    if value.best is not None:
        return value.best(params, context, positions)
    return jnp.max(masked_q(value, params, context, positions), axis=-1)
