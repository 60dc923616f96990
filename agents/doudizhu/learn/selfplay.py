"""Games of the search against itself, and the samples that they give.

Every candidate of every decision is a sample: what was seen, the move, the mean return of its
games, and their number as its weight. G = games at once, S = steps of a chunk, K = candidates,
D = decisions.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import struct
from jax import lax

from agents.doudizhu import planes, root
from agents.doudizhu.forced import play_forced
from agents.doudizhu.learn.config import SelfPlayConfig
from agents.doudizhu.planes import View
from agents.doudizhu.root import Root, Settings
from doudizhu.observe import observe
from doudizhu.state import LANDLORD, State
from doudizhu.step import advance, init

Array = jax.Array

# Of the candidates of a decision; more than any hand was seen to have.
MAX_CANDIDATES = 80


class Samples(struct.PyTreeNode):
    """Decisions with their candidates; leading axes as many as are kept."""

    view: View
    ids: Array  # int16[K]  candidate moves, -1 where there are no more
    mean: Array  # float16[K]  share of its games that the player's side won
    visits: Array  # float16[K]  games, the weight of the sample


class Tally(NamedTuple):
    """What a chunk played."""

    games: Array  # int32[]  finished
    landlord_wins: Array  # int32[]
    candidates: Array  # int32[]  samples


def blank(num: int) -> Samples:
    """Makes room for decisions: none of them has a candidate."""
    shapes = jax.eval_shape(lambda key: planes.view_of(observe(init(key), 0)), jax.random.key(0))
    return Samples(
        view=jax.tree.map(lambda leaf: jnp.zeros((num, *leaf.shape), leaf.dtype), shapes),
        ids=jnp.full((num, MAX_CANDIDATES), -1, jnp.int16),
        mean=jnp.zeros((num, MAX_CANDIDATES), jnp.float16),
        visits=jnp.zeros((num, MAX_CANDIDATES), jnp.float16),
    )


def sample_of(view: View, found: Root) -> Samples:
    """Keeps the children of a decision that was searched without values known beforehand."""
    kept = jax.tree.map(lambda leaf: leaf[:MAX_CANDIDATES], (found.ids, found.total, found.visits))
    ids, total, visits = kept
    mean = total / jnp.maximum(visits, 1.0)
    return Samples(
        view, ids.astype(jnp.int16), mean.astype(jnp.float16), visits.astype(jnp.float16)
    )


def play(
    states: State, key: Array, settings: Settings, config: SelfPlayConfig
) -> tuple[State, Samples, Tally]:
    """Plays a chunk.

    Args:
      states: G games, each with a real choice to make.
      key: typed key.
      settings: of the search.
      config: how many steps, and how often a move is not the best.

    Returns:
      The games to go on with, samples [S, G, ...], and what was played.
    """
    num_games = len(states.terminated)

    def one_step(states: State, key: Array) -> tuple[State, tuple[Samples, Tally]]:
        search_key, move_key, deal_key = jax.random.split(key, 3)
        seen = jax.vmap(lambda one: observe(one, one.current_player))(states)
        start = jax.vmap(lambda one: root.begin(one, settings))(seen)
        found = root.run(jax.random.split(search_key, num_games), seen, start, settings)
        samples = jax.vmap(sample_of)(jax.vmap(planes.view_of)(seen), found)
        move = jax.vmap(lambda key, one: _choose(key, one, settings, config))(
            jax.random.split(move_key, num_games), found
        )
        reached = play_forced(jax.vmap(advance)(states, move))
        is_over = reached.terminated
        tally = Tally(
            games=jnp.sum(is_over, dtype=jnp.int32),
            landlord_wins=jnp.sum(is_over & (reached.winner == LANDLORD), dtype=jnp.int32),
            candidates=jnp.sum(samples.ids >= 0, dtype=jnp.int32),
        )
        fresh = jax.vmap(init)(jax.random.split(deal_key, num_games))
        states = jax.vmap(_where)(is_over, fresh, reached)
        return states, (samples, tally)

    states, (samples, tally) = lax.scan(one_step, states, jax.random.split(key, config.steps))
    return states, samples, jax.tree.map(lambda x: jnp.sum(x, dtype=jnp.int32), tally)


def _choose(key: Array, found: Root, settings: Settings, config: SelfPlayConfig) -> Array:
    """Picks the best move, or at times one by its visits: int32[]."""
    coin_key, move_key = jax.random.split(key)
    child = jax.random.categorical(move_key, jnp.log(found.visits))
    strays = (jax.random.uniform(coin_key) < config.epsilon) & (found.num > 1)
    return jnp.where(strays, found.ids[child], root.decide(found, settings))


def _where(condition: Array, one: State, other: State) -> State:
    """Picks one of two states: bool[]."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)
