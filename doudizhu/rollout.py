"""Whole batches of games inside one jit.

Dealing costs more than a move, so a spare game is dealt for each lane and chunk of steps, and a
lane takes it when its game ends. A lane that ends a second game within a chunk waits for the next.
B = lanes, P = players.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from doudizhu import legal, score
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import LANDLORD, NUM_PLAYERS, State
from doudizhu.step import advance, init
from mjx.stage import stage

Array = jax.Array
Choose = Callable[[Array, State], Array]

CHUNK = 56  # steps a spare game has to last for; a game of random play has 61 plies


class Tally(NamedTuple):
    """What a simulation played."""

    plies: Array  # int32[B]    by lane
    games: Array  # int32[B]    finished, by lane
    landlord_wins: Array  # int32[B]
    rewards: Array  # float32[B,P]  sum over the games


def simulate(
    key: Array,
    state: State,
    num_chunks: int,
    rules: Rules = DEFAULT,
    choose: Choose | None = None,
) -> tuple[State, Tally]:
    """Plays at the full speed of the simulator: nobody observes.

    Args:
      key: typed key.
      state: B games, such as `jax.vmap(doudizhu.init)(keys)`.
      num_chunks: of `CHUNK` steps each.
      rules: the table's rules.
      choose: `choose(bits uint32[], state) -> move` for one lane, a rule that may look at the
        state; by default a legal move with equal chances.

    Returns:
      The state after the last step, and what was played.

    Raises:
      ValueError: no chunks, or a state that is not a batch.
    """
    if num_chunks < 1:
        raise ValueError(f"num_chunks is 1 or more, not {num_chunks}.")
    if jnp.ndim(state.terminated) != 1:
        raise ValueError("A batch of games is needed: make it with jax.vmap(doudizhu.init)(keys).")
    num_lanes = state.terminated.shape[0]

    def uniform(bits: Array, state: State) -> Array:
        return legal.nth_legal(bits, stage(lambda s: legal.legal_words(s, rules), state))

    choose = choose or uniform

    def one_lane(
        bits: Array, state: State, has_spare: Array, spare: State, tally: Tally
    ) -> tuple[State, Array, Tally]:
        move = stage(choose, bits, state)
        reached = stage(advance, state, move)
        ended = reached.terminated & ~state.terminated
        tally = _counted(tally, reached, ~state.terminated, ended, rules)
        takes = reached.terminated & has_spare
        return _where(takes, spare, reached), has_spare & ~takes, tally

    def one_chunk(carry: tuple[State, Tally], chunk_key: Array) -> tuple:
        deal_key, bits_key = jax.random.split(chunk_key)
        spare = jax.vmap(init)(jax.random.split(deal_key, num_lanes))

        def one_step(carry: tuple, bits: Array) -> tuple:
            state, has_spare, tally = carry
            return jax.vmap(one_lane)(bits, state, has_spare, spare, tally), None

        state, tally = carry
        bits = jax.random.bits(bits_key, (CHUNK, num_lanes), jnp.uint32)
        (state, _, tally), _ = lax.scan(one_step, (state, jnp.ones(num_lanes, bool), tally), bits)
        return (state, tally), None

    zero = jnp.zeros(num_lanes, jnp.int32)
    tally = Tally(zero, zero, zero, jnp.zeros((num_lanes, NUM_PLAYERS), jnp.float32))
    return lax.scan(one_chunk, (state, tally), jax.random.split(key, num_chunks))[0]


def _counted(tally: Tally, reached: State, moved: Array, ended: Array, rules: Rules) -> Tally:
    """Adds a ply, and a game where it ended with it."""
    paid = jnp.where(ended, score.rewards(reached, rules), jnp.float32(0))
    return Tally(
        plies=tally.plies + moved.astype(jnp.int32),
        games=tally.games + ended.astype(jnp.int32),
        landlord_wins=tally.landlord_wins
        + (ended & (reached.winner == LANDLORD)).astype(jnp.int32),
        rewards=tally.rewards + paid,
    )


def _where(condition: Array, one: State, other: State) -> State:
    """Picks one of two states: bool[]."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)
