"""Games of random play, as states before every ply. S = plies, B = games."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import doudizhu
from doudizhu import legal
from doudizhu.state import MAX_PLIES
from mjx.stage import stage

NUM_GAMES = 96
init_jit = jax.jit(doudizhu.init)
step_jit = jax.jit(doudizhu.step, static_argnames="rules")
words_jit = jax.jit(legal.words_of, static_argnames="rules")


@jax.jit
def _play(key):
    deal_key, play_key = jax.random.split(key)
    states = jax.vmap(doudizhu.init)(jax.random.split(deal_key, NUM_GAMES))

    def one_ply(states, bits):
        words = jax.vmap(lambda s: stage(doudizhu.legal_words, s))(states)
        chosen = jax.vmap(legal.nth_legal)(bits, words)
        return jax.vmap(lambda s, m: doudizhu.step(s, m))(states, chosen), (states, chosen)

    bits = jax.random.bits(play_key, (MAX_PLIES, NUM_GAMES))
    last, (states, chosen) = jax.lax.scan(one_ply, states, bits)
    states = jax.tree.map(lambda x, y: jnp.concatenate([x, y[None]]), states, last)
    return states, chosen


@functools.cache
def games():
    """Gives states [S + 1, B] of whole games, and the moves int32[S, B]."""
    return jax.device_get(_play(jax.random.key(0)))


@functools.cache
def midgame(num=1000):
    """Gives states [num] before plies of running games, in random order."""
    states, _ = games()
    running = np.argwhere(~states.terminated)
    chosen = np.random.default_rng(0).permutation(running)[:num]
    return jax.tree.map(lambda x: x[chosen[:, 0], chosen[:, 1]], states)


def one(states, index):
    """Picks one state of a batch, as arrays of JAX."""
    return jax.tree.map(lambda x: jnp.asarray(x[index]), states)


def facing(hand, to_beat=None):
    """Gives a state in which the landlord holds a hand and leads, or has a move to beat."""
    state = init_jit(jax.random.key(0))
    hands = state.hands.at[0].set(jnp.asarray(doudizhu.parse(hand), jnp.int8))
    move = doudizhu.PASS if to_beat is None else doudizhu.moves.from_text(to_beat)
    return state.replace(hands=hands, to_beat=jnp.int32(move))
