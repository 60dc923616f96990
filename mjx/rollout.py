"""Whole batches of hands inside one jit: any policy with auto-reset, and the bare simulator.

Dealing costs many times a decision, so both deal one spare hand a lane and chunk of steps, and a
lane takes it when its hand ends. A lane that ends a second hand within a chunk waits for the
next. B = lanes, N = steps.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mjx import actions, chance, match, score
from mjx.match import where
from mjx.observe import Observation, observe
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS, Words
from mjx.state import State
from mjx.step import advance, step

Array = jax.Array
Act = Callable[[Any, Array, Observation, Array], Array]
Choose = Callable[[Array, State], Array]

CHUNK = 78  # steps a spare hand has to last for; a hand of random play has 79 decisions
BLOCK = 13  # steps between two looks for finished hands in the simulator


class Transition(NamedTuple):
    """One step of a lane."""

    player: Array  # int32[]      who decided
    observation: Observation  # what the player saw
    action: Array  # int32[]
    rewards: Array  # float32[P]   points of all seats
    terminated: Array  # bool[]       this step ended the hand, or with flowers its deal did
    is_real: Array  # bool[]       false: the lane waited for a new hand


class Tally(NamedTuple):
    """What a simulation played."""

    decisions: Array  # int32[B]    by lane
    hands: Array  # int32[B]    finished and settled, by lane
    wins: Array  # int32[B]    of these, won by somebody
    points: Array  # float32[B,P]  sum over the hands


def auto_reset_step(
    key: Array, state: State, action: Array, rules: Rules = DEFAULT
) -> tuple[State, State]:
    """Carries out one decision, and deals the next hand where it was the last.

    After the last hand of a match a new match begins.

    Args:
      key: typed key of the next hand; unused unless the hand ends.
      state: one hand.
      action: int32[] a legal id.
      rules: the table's rules.

    Returns:
      The state to go on from, and the state that the action led to: it holds the rewards and
      `terminated`, and shows the last observation, so that bootstrapping sees what was reached.
    """
    reached = step(state, action, rules)
    fresh = match.deal_after(key, reached, match.holds_on(reached), rules)
    return where(reached.terminated, fresh, reached), reached


def rollout(
    act: Act,
    params: Any,
    key: Array,
    state: State,
    num_steps: int,
    rules: Rules = DEFAULT,
) -> tuple[State, Transition]:
    """Plays steps of a batch of hands with one policy for all seats; matches follow each other.

    Args:
      act: `act(params, keys, observations, masks) -> actions` for B decisions (agents' protocol).
      params: its parameters.
      key: typed key.
      state: B hands, such as `jax.vmap(mjx.init)(keys)`.
      num_steps: N, 1 or more.
      rules: the table's rules.

    Returns:
      The state after the last step, and transitions [N, B, ...].

    Raises:
      ValueError: no steps, or a state that is not a batch.
    """
    if num_steps < 1:
        raise ValueError(f"num_steps is 1 or more, not {num_steps}.")
    num_lanes = _num_lanes(state)

    def one_step(carry: tuple, step_key: Array) -> tuple:
        state, has_spare, spare = carry
        takes = state.terminated & has_spare
        state = _taken(takes, state, spare, rules)
        seen = jax.vmap(lambda s: observe(s, s.current_player, rules))(state)
        keys = jax.random.split(jax.random.fold_in(step_key, 0), num_lanes)
        action = act(params, keys, seen, seen.legal_action_mask)
        reached = jax.vmap(lambda s, a: step(s, a, rules))(state, action)
        ended = reached.terminated & ~state.terminated
        rewards = reached.rewards
        if rules.n_flowers:  # the hand taken may have ended at the deal
            ended = ended | (takes & state.terminated)
            rewards = jnp.where(takes[:, None], state.rewards, 0) + rewards
        transition = Transition(
            player=state.current_player,
            observation=seen,
            action=action,
            rewards=rewards,
            terminated=ended,
            is_real=~state.terminated,
        )
        return (reached, has_spare & ~takes, spare), transition

    def one_chunk(state: State, step_keys: Array) -> tuple:
        has_spare = jnp.ones(num_lanes, bool)
        carry = (state, has_spare, _spares(jax.random.fold_in(step_keys[0], 1), state, rules))
        carry, transitions = lax.scan(one_step, carry, step_keys)
        return carry[0], transitions

    keys = jax.random.split(key, num_steps)
    in_chunks = num_steps - num_steps % CHUNK
    parts = []
    if in_chunks:
        state, part = lax.scan(one_chunk, state, keys[:in_chunks].reshape(-1, CHUNK))
        parts.append(jax.tree.map(lambda x: x.reshape(in_chunks, *x.shape[2:]), part))
    if in_chunks < num_steps:
        state, part = one_chunk(state, keys[in_chunks:])
        parts.append(part)
    return state, jax.tree.map(lambda *xs: jnp.concatenate(xs), *parts)


def simulate(
    key: Array,
    state: State,
    num_chunks: int,
    rules: Rules = DEFAULT,
    choose: Choose | None = None,
) -> tuple[State, Tally]:
    """Plays at the full speed of the simulator: nobody observes, and tai are counted once a chunk.

    The points are in the tally alone: `State.scores` of matches stay as they were.

    Args:
      key: typed key.
      state: B hands.
      num_chunks: of `CHUNK` steps each.
      rules: the table's rules.
      choose: `choose(bits uint32[], state) -> action` for one lane, a rule that may look at the
        state; by default a legal action with equal chances.

    Returns:
      The state after the last step, and what was played.

    Raises:
      ValueError: no chunks, or a state that is not a batch.
    """
    if num_chunks < 1:
        raise ValueError(f"num_chunks is 1 or more, not {num_chunks}.")
    num_lanes = _num_lanes(state)
    choose = choose or (lambda bits, state: nth_legal(bits, state.legal))

    def one_step(carry: tuple[State, Array], bits: Array) -> tuple:
        state, decisions = carry
        decisions = decisions + ~state.terminated
        action = jax.vmap(choose)(bits, state)
        return (jax.vmap(lambda s, a: advance(s, a, rules))(state, action), decisions), None

    def one_block(carry: tuple, bits: Array) -> tuple:
        state, decisions, has_spare, result, spare = carry
        (state, decisions), _ = lax.scan(one_step, (state, decisions), bits)
        takes = state.terminated & has_spare
        ended = jax.vmap(lambda s: score.result_of(s, rules))(state)
        result = jax.vmap(where)(takes, ended, result)
        state = _taken(takes, state, spare, rules)
        return (state, decisions, has_spare & ~takes, result, spare), None

    def one_chunk(carry: tuple[State, Tally], chunk_key: Array) -> tuple:
        state, tally = carry
        deal_key, bits_key = jax.random.split(chunk_key)
        bits = jax.random.bits(bits_key, (CHUNK // BLOCK, BLOCK, num_lanes), jnp.uint32)
        result = jax.vmap(lambda s: score.result_of(s, rules))(state)
        blank = (jnp.ones(num_lanes, bool), result, _spares(deal_key, state, rules))
        (state, decisions, has_spare, result, _), _ = lax.scan(
            one_block, (state, tally.decisions, *blank), bits
        )
        points = jax.vmap(lambda r: score.points(r, rules))(result)
        tally = Tally(
            decisions=decisions,
            hands=tally.hands + ~has_spare,
            wins=tally.wins + (~has_spare & result.is_won),
            points=tally.points + jnp.where(has_spare[:, None], 0, points),
        )
        return (state, tally), None

    zero = jnp.zeros(num_lanes, jnp.int32)
    tally = Tally(zero, zero, zero, jnp.zeros((num_lanes, NUM_SEATS), jnp.float32))
    return lax.scan(one_chunk, (state, tally), jax.random.split(key, num_chunks))[0]


def nth_legal(bits: Array, legal: Words) -> Array:
    """Picks a legal action from random bits, each with equal chance up to 110 parts in 2^16.

    Args:
      bits: uint32[] uniformly random; the upper half is used.
      legal: five uint32[] legal words, not all zero.

    Returns:
      int32[] action id.
    """
    counts = [lax.population_count(word).astype(jnp.int32) for word in legal]
    total = functools.reduce(jnp.add, counts)
    index = ((bits >> 16) * total.astype(jnp.uint32) >> 16).astype(jnp.int32)
    word, word_index, before, upto = legal[0], jnp.int32(0), jnp.int32(0), counts[0]
    for i, count in enumerate(counts[1:], start=1):
        is_later = index >= upto
        word = jnp.where(is_later, legal[i], word)
        word_index = jnp.where(is_later, i, word_index)
        before = jnp.where(is_later, upto, before)
        upto = upto + count
    return actions.id_at(word_index, chance.nth_bit(word, index - before))


def _spares(key: Array, state: State, rules: Rules) -> State:
    """Deals the next hand of every lane."""
    keys = jax.random.split(key, state.terminated.shape[0])
    return jax.vmap(lambda k, s: match.deal_ahead(k, s, rules))(keys, state)


def _taken(takes: Array, state: State, spare: State, rules: Rules) -> State:
    """Goes on to the spare hand in the lanes bool[B] that take it."""
    fresh = jax.vmap(lambda ended, dealt: match.take_dealt(ended, dealt, rules))(state, spare)
    return jax.vmap(where)(takes, fresh, state)


def _num_lanes(state: State) -> int:
    """Returns B, and refuses a single hand."""
    if jnp.ndim(state.terminated) != 1:
        raise ValueError("A batch of hands is needed: make it with jax.vmap(mjx.init)(keys).")
    return state.terminated.shape[0]
