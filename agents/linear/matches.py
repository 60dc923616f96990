"""Many short matches of two weights each, side by side in one program.

A match is mirrored pairs of hands, as in `agents.arena`: its deals, seats and dealers are those of
the arena's games of the same number. L = lanes, K = matches.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import arena
from agents.lanes import scatter
from agents.linear import linear_es
from agents.linear.linear_es import Params
from agents.linear.weights import Weights
from mjx import score
from mjx.observe import observe
from mjx.rules import DEFAULT, Rules
from mjx.state import State
from mjx.step import advance, init

Array = jax.Array

_STEPS = 6  # decisions between two looks for finished hands
LEAST_LANES = _SHARE = 8  # one of so many lanes is dealt at once: a hand has some 60 decisions


class _Play(NamedTuple):
    """Hands in play, and what came of those that ended."""

    state: State  # [L, ...]
    game: Array  # int32[L]   -1: a lane without a hand
    next_game: Array  # int32[]
    num_done: Array  # int32[]
    leads: Array  # float32[K]  sums over hands of points of a seat of the first weights, less the
    # points of a seat of the second


def leads(
    given: Weights,
    key: Array,
    num_matches: int,
    pairs: int,
    lanes: int = 512,
    rules: Rules = DEFAULT,
) -> Array:
    """Plays weights against weights.

    Args:
      given: leading axis 2K, those of match k at 2k and 2k + 1.
      key: typed key, from which all deals come; no two matches have a deal in common.
      num_matches: K.
      pairs: of hands a match, each wall played twice with the sides exchanged.
      lanes: hands in play at once, 8 or more. What is played does not depend on it.
      rules: the table's rules.

    Returns:
      float32[K]: points a hand of a seat of the first weights, less those of the second.

    Raises:
      ValueError: fewer than one match, one pair or 8 lanes.
    """
    if num_matches < 1 or pairs < 1 or lanes < _SHARE:
        raise ValueError(f"1 match, 1 pair, {_SHARE} lanes: the least that can be played.")
    num_games = 2 * pairs * num_matches

    network = linear_es.network_for(given, rules)

    def one_step(play: _Play) -> _Play:
        state = _decide(Params(given, network), play.state, play.game, pairs, rules)
        return play._replace(state=state)

    def one_round(play: _Play) -> _Play:
        play = jax.lax.fori_loop(0, _STEPS, lambda _, p: one_step(p), play)
        return _deal(play, key, pairs, num_games, rules)

    play = jax.lax.while_loop(
        lambda play: play.num_done < num_games, one_round, _empty(num_matches, lanes, rules)
    )
    return play.leads / np.float32(2 * pairs)


def _decide(params: Params, state: State, game: Array, pairs: int, rules: Rules) -> State:
    """Makes one decision in each lane."""
    seat = state.current_player
    seen = jax.vmap(lambda one, seat: observe(one, seat, rules))(state, seat)
    is_first = jnp.take_along_axis(arena.seats_of_a(game), seat[:, None], axis=1)[:, 0]
    match = jnp.maximum(game, 0) // (2 * pairs)
    own = jax.tree.map(lambda x: x[2 * match + ~is_first], params.weights)
    own = params._replace(weights=own)
    legal = seen.legal_action_mask & ~state.terminated[:, None]
    action = jnp.argmax(linear_es.scores(own, seen, legal, rules), axis=-1).astype(jnp.int32)
    return jax.vmap(lambda one, action: advance(one, action, rules))(state, action)


def _deal(play: _Play, key: Array, pairs: int, num_games: int, rules: Rules) -> _Play:
    """Counts finished hands, as many as are dealt at once, and deals others in their place."""
    lanes = len(play.game)
    is_over = play.state.terminated
    rank = jnp.where(is_over, jnp.where(play.game >= 0, 0, 1), 2)
    lane = jnp.argsort(rank)[: lanes // _SHARE]
    state, game, is_free = (
        jax.tree.map(lambda x: x[lane], x) for x in (play.state, play.game, is_over)
    )
    is_counted = is_free & (game >= 0)
    points = jax.vmap(lambda one: score.settle(one, rules))(state)
    lead = jnp.sum(jnp.where(arena.seats_of_a(game), points, -points), axis=-1) / 2
    match = jnp.maximum(game, 0) // (2 * pairs)
    number = jnp.cumsum(is_free, dtype=jnp.int32) - 1
    dealt = jnp.where(is_free, play.next_game + number, num_games)
    dealt = jnp.where(dealt < num_games, dealt, -1)
    place = jnp.where(is_free, lane, lanes)
    fresh = jax.vmap(lambda game: arena.deal_one(game, key, rules))(dealt)
    return _Play(
        scatter(play.state, place, fresh),
        play.game.at[place].set(dealt, mode="drop"),
        play.next_game + jnp.sum(dealt >= 0, dtype=jnp.int32),
        play.num_done + jnp.sum(is_counted, dtype=jnp.int32),
        play.leads.at[match].add(jnp.where(is_counted, lead, 0)),
    )


def _empty(num_matches: int, lanes: int, rules: Rules) -> _Play:
    """Makes lanes without hands."""
    shapes: Any = jax.eval_shape(lambda key: init(key, rules), jax.random.key(0))
    state = jax.tree.map(lambda leaf: jnp.zeros((lanes, *leaf.shape), leaf.dtype), shapes)
    return _Play(
        state.replace(terminated=jnp.ones(lanes, bool)),
        jnp.full(lanes, -1, jnp.int32),
        jnp.int32(0),
        jnp.int32(0),
        jnp.zeros(num_matches, jnp.float32),
    )


@functools.partial(jax.jit, static_argnames=("num_matches", "pairs", "lanes", "rules"))
def leads_jit(
    given: Weights, key: Array, num_matches: int, pairs: int, lanes: int, rules: Rules
) -> Array:
    """Is `leads`, compiled once for each size."""
    return leads(given, key, num_matches, pairs, lanes, rules)
