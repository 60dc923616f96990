"""Paired branches: what became of several discards of one decision, on the same luck.

A hand comes to a decision in play. The discards that the search holds best, with danger counting
for nothing, a half, and double, are thrown in copies of the hand, and each copy is played out by
greedy's rule, with the true hands of all seats and the same draws (`agents.search.playout`). So
what is compared are differences under the same luck; most of them are zero, and those of the hidden
hands need no model, since they are the true ones.

G = groups of hands, N = hands, S = decisions of each in a round, K = 4 branches, P = 4 seats.
Everything random is keyed by the hand's lane, and hands are dealt group by group: what is played
does not depend on how the groups are shared out among devices.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents.learn import selfplay
from agents.policy import Policy
from agents.residual import features
from agents.residual.features import Prior, Seen
from agents.search import playout
from agents.search.value import NEVER
from mjx.observe import Observation, observe
from mjx.rules import DEFAULT
from mjx.state import State
from mjx.step import advance
from mjx.tiles import NUM_KINDS

Array = jax.Array

POINTS = np.float32(1000)  # what points are counted in
DANGERS = np.array([0.5, 0.0, 2.0, 0.5], np.float32)  # weights by which a branch each is the best
NUM_BRANCHES = len(DANGERS)
MARGIN = np.float32(400)  # points behind the search's best, beyond which nothing is branched
_SHARE = 8  # one of so many hands of a group may be dealt anew after a decision
_OWN_WALLS = playout.own_walls(DEFAULT)


class Branches(struct.PyTreeNode):
    """Decisions and what became of their branches. Leading axes S, N; the search's best first."""

    tiles: Array  # float32[K,F]  rows of `features.Seen.tiles`
    context: Array  # float32[C]
    kind: Array  # int32[K]   what was thrown
    value: Array  # float32[K]  points by the search
    is_open: Array  # bool[K]
    points: Array  # float32[K]  thousands, that the seat won
    is_real: Array  # bool[]      a choice


def deal(keys: Array) -> State:
    """Deals a hand for each key."""
    return jax.vmap(selfplay.deal)(keys)


def play(
    walker: Policy,
    walker_params: Any,
    prior: Prior,
    state: State,
    keys: Array,
    groups: int,
    steps: int,
    stride: int,
) -> tuple[State, Branches]:
    """Plays a round.

    Args:
      walker: plays all seats from one decision looked at to the next.
      walker_params: the walker's.
      prior: of `features.prior`.
      state: hands [N]; whole groups, one after another.
      keys: one for each lane, [N].
      groups: G.
      steps: decisions S that are looked at.
      stride: decisions played between them.

    Returns:
      The hands, and the branches [S, N].
    """

    def walk(state: State, keys: Array) -> tuple[State, None]:
        act_keys, deal_keys = _split(keys)
        seen = _seen(state)
        action = walker.act(walker_params, act_keys, seen, seen.legal_action_mask)
        state = jax.vmap(lambda one, act: advance(one, act, DEFAULT))(state, action)
        return _deal(state, deal_keys, groups), None

    def one_step(state: State, step: Array) -> tuple[State, Branches]:
        lane_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, step)
        walk_keys, wall_keys = _split(lane_keys)
        each = jax.vmap(lambda key: jax.random.split(key, stride), out_axes=1)(walk_keys)
        state, _ = jax.lax.scan(walk, state, each)
        return state, branch(prior, state, wall_keys)

    return jax.lax.scan(one_step, state, jnp.arange(steps, dtype=jnp.int32))


def branch(prior: Prior, state: State, keys: Array) -> Branches:
    """Branches the own turns among states [N], with their walls in an order drawn by keys [N]."""
    observation = _seen(state)
    is_turn = (observation.pending < 0) & ~state.terminated
    legal = observation.legal_action_mask & is_turn[:, None]
    seen = features.see(prior, observation, legal)
    kind, is_open = jax.vmap(choose)(seen)
    is_choice = seen.is_choice & (jnp.sum(is_open, axis=-1, dtype=jnp.int32) > 1)
    is_open = is_open & is_choice[:, None]
    walls = jax.vmap(_shuffled)(keys, state)
    lanes = jax.vmap(_begin)(walls, observation, kind)
    lanes = lanes.replace(is_done=~is_open)
    lanes = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), lanes)
    ended = playout.play(lanes, _OWN_WALLS)
    points = playout.paid(ended, _OWN_WALLS).reshape(kind.shape) / POINTS
    return Branches(
        tiles=jnp.take_along_axis(seen.tiles, kind[..., None], axis=1),
        context=seen.context,
        kind=kind,
        value=jnp.take_along_axis(seen.values, kind, axis=1),
        is_open=is_open,
        points=jnp.where(is_open, points, 0),
        is_real=is_choice,
    )


def choose(seen: Seen) -> tuple[Array, Array]:
    """Picks the discards of one decision to branch on: int32[K], and bool[K] whether there is one.

    The search counts half the danger already, so its weight less a half is taken off its values.
    """
    cost = seen.tiles[:, features.COST] * features.SCALE
    values = jnp.where(seen.open, seen.values[:NUM_KINDS], NEVER)
    kinds, there = [], []
    for danger in DANGERS:
        worth = jnp.where(values > NEVER, values - (danger - DANGERS[0]) * cost, NEVER)
        for kind in kinds:
            worth = worth.at[kind].set(NEVER)
        best = jnp.argmax(worth).astype(jnp.int32)
        kinds.append(best)
        there.append((worth[best] > NEVER) & (values[best] >= jnp.max(values) - MARGIN))
    return jnp.stack(kinds), jnp.stack(there)


def _seen(state: State) -> Observation:
    """Shows each state to the seat that decides."""
    return jax.vmap(lambda one: observe(one, one.current_player, DEFAULT))(state)


def _split(keys: Array) -> tuple[Array, Array]:
    """Splits each key in two."""
    pairs = jax.vmap(jax.random.split)(keys)
    return pairs[:, 0], pairs[:, 1]


def _shuffled(key: Array, state: State) -> State:
    """Puts what is left of the wall in random order, and shares it out among the seats."""
    place = np.arange(DEFAULT.num_tiles, dtype=np.int32)
    is_left = (place >= state.head) & (place <= state.tail)
    drawn = jnp.where(is_left, jax.random.uniform(key, place.shape), jnp.inf)
    order = jnp.argsort(drawn)[jnp.clip(place - state.head, 0, len(place) - 1)]
    state = state.replace(wall=jnp.where(is_left, state.wall[order], state.wall))
    return playout.with_own_walls(state, DEFAULT)


def _begin(state: State, observation: Observation, kinds: Array) -> playout.Lane:
    """Puts each discard on a copy of the state: lanes [K]."""
    return jax.vmap(lambda kind: playout.start(state, observation, kind, 0))(kinds)


def _deal(state: State, keys: Array, groups: int) -> State:
    """Deals new hands for some of those that have ended, in each group."""

    def one_group(state: State, keys: Array) -> State:
        size = len(keys)
        place = jnp.argsort(~state.terminated)[: max(1, size // _SHARE)]
        fresh = deal(keys[place])
        place = jnp.where(state.terminated[place], place, size)
        return jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), state, fresh)

    size = len(keys)
    shape = (groups, size // groups)
    grouped = jax.tree.map(lambda x: x.reshape(*shape, *x.shape[1:]), state)
    dealt = jax.vmap(one_group)(grouped, keys.reshape(shape))
    return jax.tree.map(lambda x: x.reshape(size, *x.shape[2:]), dealt)


def keys_of(key: Array, lanes: int) -> Array:
    """Makes a key for each lane."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, np.arange(lanes, dtype=np.int32))
