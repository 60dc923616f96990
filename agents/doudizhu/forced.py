"""Moves that are no decision: where one move only is legal, nobody has to be asked. L = lanes."""

import jax
import jax.numpy as jnp
from jax import lax

from doudizhu import legal
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import State
from doudizhu.step import advance
from mjx.stage import stage

Array = jax.Array


def play_forced(state: State, rules: Rules = DEFAULT) -> State:
    """Plays in states [L, ...] until more than one move is legal, or the game is over."""

    def look(state: State) -> tuple[Array, Array]:
        words = stage(lambda one: legal.legal_words(one, rules), state)
        only, num = legal.list_words(words, 1)
        return only[0], (num == 1) & ~state.terminated

    def one_ply(carry: tuple) -> tuple:
        state, move, is_forced = carry
        state = jax.vmap(
            lambda one, move, forced: jax.tree.map(
                lambda new, old: jnp.where(forced, new, old), advance(one, move), one
            )
        )(state, move, is_forced)
        return state, *jax.vmap(look)(state)

    carry = (state, *jax.vmap(look)(state))
    return lax.while_loop(lambda carry: jnp.any(carry[2]), one_ply, carry)[0]
