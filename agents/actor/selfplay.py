"""Rounds of decisions of the actor, against itself or the linear player, and what became of them.

G = groups of hands, L = hands of a group, N = G L, S = decisions of a round, P = 4 seats.
Everything random is keyed by the hand's lane, and hands are dealt group by group: what is played
does not depend on how the groups are shared out among devices.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents.actor import features, network, player, truth
from agents.actor.truth import POINTS, Truth
from agents.linear import linear_es
from mjx import score
from mjx import state as st
from mjx.observe import observe
from mjx.rules import DEFAULT
from mjx.seats import NUM_SEATS
from mjx.stage import stage
from mjx.state import State
from mjx.step import advance, init

Array = jax.Array

_SHARE = 16  # one of so many hands of a group may be dealt anew after a decision


class Samples(struct.PyTreeNode):
    """Decisions and what became of them. Leading axes S, N."""

    tiles: Array  # float32[T,K]
    context: Array  # float32[C]
    open: Array  # bool[T]
    prior: Array  # float32[T]
    log_policy: Array  # float32[T]  when it was made
    action: Array  # int32[]
    told: Array  # float32[F]  for the critic
    cost: Array  # float32[T]  of dealing in
    deals_in: Array  # bool[T]
    value: Array  # float32[]    by the critic when it was made
    outcome: Array  # float32[]    points of the seat in the end, in thousands
    target: Array  # float32[]    a mean of it and of later values
    is_real: Array  # bool[]       a choice, the end of whose hand is known


class Tally(NamedTuple):
    """What was counted in a round."""

    hands: Array  # int32[]
    drawn: Array  # int32[]
    deal_ins: Array  # int32[]
    decisions: Array  # int32[]


def deal(keys: Array) -> State:
    """Deals a hand for each key."""
    return jax.vmap(lambda key: init(key, DEFAULT))(keys)


class _Made(NamedTuple):
    """One decision of each lane, before its outcome is known."""

    sample: Samples
    seat: Array  # int32[N]
    ended: Array  # bool[N]  with it the hand ended
    points: Array  # float32[N,P]  if so


def play(
    params: dict,
    prior: linear_es.Params,
    state: State,
    keys: Array,
    groups: int,
    steps: int,
    trace: float,
    ours: Array,
) -> tuple[State, Samples, Tally]:
    """Plays a round.

    Args:
      params: of `network.init`.
      prior: of `features.prior`.
      state: hands [N]; whole groups, one after another.
      keys: one for each lane, [N].
      groups: G.
      steps: decisions S.
      trace: lambda of the targets, 1 for outcomes alone.
      ours: bool[N, P] seats that the actor plays; the others are `linear_es`.

    Returns:
      The hands, the samples [S, N], and what was counted.
    """

    def one_step(state: State, step: Array) -> tuple[State, tuple[_Made, Tally]]:
        lane_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, step)
        choice_keys, deal_keys = jnp.moveaxis(jax.vmap(jax.random.split)(lane_keys), 1, 0)
        is_ours = jnp.take_along_axis(ours, state.current_player[:, None], axis=1)[:, 0]
        seen = stage(_look, prior, state, is_ours)
        told = stage(lambda state: truth.truth_of(state, DEFAULT), state)
        chosen, action, log_policy, value = stage(_choose, params, seen, told, is_ours, choice_keys)
        after = stage(jax.vmap(lambda one, act: advance(one, act, DEFAULT)), state, action)
        points = stage(jax.vmap(lambda one: score.settle(one, DEFAULT)), after)
        unknown = jnp.zeros_like(value)
        sample = Samples(
            tiles=seen.tiles,
            context=seen.context,
            open=seen.open,
            prior=seen.prior,
            log_policy=log_policy,
            action=chosen,
            told=told.told,
            cost=told.cost,
            deals_in=told.deals_in,
            value=value,
            outcome=unknown,
            target=unknown,
            is_real=seen.is_choice & is_ours & ~state.terminated,
        )
        ended = after.terminated & ~state.terminated
        made = _Made(sample, state.current_player, ended, points.astype(jnp.float32) / POINTS)
        return _deal(after, deal_keys, groups), (made, _tally(after, ended, sample.is_real))

    steps_made = jnp.arange(steps, dtype=jnp.int32)
    state, (made, tally) = jax.lax.scan(one_step, state, steps_made)
    return state, _with_outcomes(made, trace), jax.tree.map(lambda x: jnp.sum(x, axis=0), tally)


def _look(prior: linear_es.Params, state: State, is_ours: Array) -> features.Seen:
    """Shows each state to the seat that decides."""
    seen = jax.vmap(lambda one: observe(one, one.current_player, DEFAULT))(state)
    return features.see(prior, seen, seen.legal_action_mask, reads=is_ours)


def _choose(
    params: dict, seen: features.Seen, told: Truth, is_ours: Array, keys: Array
) -> tuple[Array, Array, Array, Array]:
    """Draws discards by the policy: int32[N], the actions, the log of the policy, the values."""
    logits = player.logits(params["actor"], seen)
    discard = jax.vmap(jax.random.categorical)(keys, logits).astype(jnp.int32)
    other = jnp.argmax(seen.scores, axis=-1).astype(jnp.int32)
    action = jnp.where(seen.is_choice, discard, other)
    action = jnp.where(is_ours, action, jnp.argmax(seen.plain, axis=-1).astype(jnp.int32))
    value = network.value(params["critic"], told.told)
    return discard, action, jax.nn.log_softmax(logits), value


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


def _with_outcomes(made: _Made, trace: float) -> Samples:
    """Fills in what became of each decision, from the last one back."""
    number = made.seat.shape[1]
    lanes = jnp.arange(number, dtype=jnp.int32)

    def one_step(later: tuple, one: _Made) -> tuple:
        outcome, target, value, is_known = later  # of each lane and seat
        ended = one.ended[:, None]
        outcome = jnp.where(ended, one.points, outcome)
        target = jnp.where(ended, one.points, target)
        value = jnp.where(ended, one.points, value)
        is_known = is_known | one.ended
        sample, here = one.sample, (lanes, one.seat)
        aim = (1 - trace) * value[here] + trace * target[here]
        filled = sample.replace(
            outcome=outcome[here], target=aim, is_real=sample.is_real & is_known
        )
        target = target.at[here].set(jnp.where(sample.is_real, aim, target[here]))
        value = value.at[here].set(jnp.where(sample.is_real, sample.value, value[here]))
        return (outcome, target, value, is_known), filled

    nothing = jnp.zeros((number, NUM_SEATS), jnp.float32)
    start = (nothing, nothing, nothing, jnp.zeros(number, bool))
    return jax.lax.scan(one_step, start, made, reverse=True)[1]


def _tally(after: State, ended: Array, is_choice: Array) -> Tally:
    """Counts one step."""

    def count(marks: Array) -> Array:
        return jnp.sum(marks, dtype=jnp.int32)

    return Tally(
        hands=count(ended),
        drawn=count(ended & (after.ending == st.DRAWN)),
        deal_ins=count(ended & (after.ending == st.ON_DISCARD)),
        decisions=count(is_choice),
    )


def keys_of(key: Array, lanes: int) -> Array:
    """Makes a key for each lane."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, np.arange(lanes, dtype=np.int32))
