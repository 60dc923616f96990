"""Records of discards: an agent plays all four seats, and what it saw and threw is kept.

The one module of supervised learning that touches the disk. N = discards, L = lanes (hands in
play).
"""

import functools
import os
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import lanes as side_by_side
from agents.lanes import Batch
from agents.learn import features, selfplay
from agents.learn.features import View
from agents.policy import Policy
from mjx import actions
from mjx.observe import observe
from mjx.rules import DEFAULT, Rules
from mjx.state import State
from mjx.step import step

Array = jax.Array

MAX_LANES = 256
_PARTS = 5  # of which three are learned from, one is for validation, one is the test


class Records(NamedTuple):
    """Discards in no particular order."""

    view: View  # int8[N, ...]
    action: Array | np.ndarray  # int8[N]   kind discarded
    hand: Array | np.ndarray  # int32[N]  number of the hand it is from


class Split(NamedTuple):
    """Records in three parts that share no hand."""

    train: Records
    validation: Records
    test: Records


def collect(
    player: Policy,
    num_hands: int,
    seed: int,
    rules: Rules = DEFAULT,
    report: Callable[[int], object] | None = None,
) -> Records:
    """Plays hands with one agent in all seats and keeps every discard of them.

    Each lane plays a number of hands that is fixed before, so short hands are no likelier to be
    kept than long ones.

    Args:
      player: a pure player.
      num_hands: whole hands.
      seed: 0 or more; the same seed gives the same records.
      rules: the table's rules.
      report: called with the number of hands finished.

    Raises:
      ValueError: the player cannot be traced.
    """
    if not player.is_pure:
        raise ValueError(f"{player.name!r} cannot be traced, so it cannot be recorded.")
    num_lanes = min(num_hands, MAX_LANES)
    deal_key, key = jax.random.split(jax.random.key(seed))
    states = jax.jit(jax.vmap(lambda one: selfplay.deal(one, rules)))(
        jax.random.split(deal_key, num_lanes)
    )
    hand = jnp.arange(num_lanes, dtype=jnp.int32)
    params = jax.tree.map(jnp.asarray, jax.device_get(player.params))  # of no device in particular
    see, go_on = (jax.jit(functools.partial(each, rules)) for each in (_see, _step))
    parts: list[Records] = []
    count = 0
    while int(hand.min()) < num_hands:
        act_key, deal_key = jax.random.split(jax.random.fold_in(key, count))
        batch = see(states, act_key)
        action = side_by_side.act_jit(params, batch, act=player.act)
        states, hand, (records, is_discard) = go_on(states, hand, batch, action, deal_key)
        records, is_discard = jax.device_get((records, is_discard))
        kept = is_discard & (records.hand < num_hands)
        parts.append(_rows(records, kept))
        count += 1
        if report is not None:
            report(min(int((hand // num_lanes).sum()), num_hands))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _see(rules: Rules, states: State, key: Array) -> Batch:
    """Shows each lane's decision to who decides."""
    num_lanes = states.current_player.shape[0]
    seen = jax.vmap(lambda state: observe(state, state.current_player, rules))(states)
    lane = jnp.arange(num_lanes, dtype=jnp.int32)
    return Batch(lane, jnp.ones(num_lanes, bool), jax.random.split(key, num_lanes), seen)


def _step(
    rules: Rules, states: State, hand: Array, batch: Batch, action: Array, key: Array
) -> tuple[State, Array, tuple[Records, Array]]:
    """Carries decisions out, and deals anew where they end a hand.

    Returns:
      The tables and the numbers of their hands; each decision's record, [L, ...], and whether it
      is a discard.
    """
    num_lanes = hand.shape[0]
    after = jax.vmap(lambda state, one: step(state, one, rules))(states, action)
    fresh = jax.vmap(lambda one: selfplay.deal(one, rules))(jax.random.split(key, num_lanes))
    ended = after.terminated

    def next_hand(new: Array, old: Array) -> Array:
        return jnp.where(ended.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    views = jax.vmap(features.view_of)(batch.observation)
    records = Records(views, action.astype(jnp.int8), hand)
    is_discard = action < actions.CONCEALED_KONG
    next_number = hand + ended * np.int32(num_lanes)
    return jax.tree.map(next_hand, fresh, after), next_number, (records, is_discard)


def _rows(records: Records, kept: np.ndarray) -> Records:
    """Takes the rows kept, bool[N]."""
    return jax.tree.map(lambda x: x[kept], records)


def split(records: Records) -> Split:
    """Splits records 3 : 1 : 1 by the numbers of their hands, so that no hand is in two parts."""
    part = np.asarray(records.hand) % _PARTS

    train, validation, test = part < 3, part == 3, part == 4
    return Split(_rows(records, train), _rows(records, validation), _rows(records, test))


def save(path: str | os.PathLike[str], records: Records) -> None:
    """Writes records into a file of NumPy's, whole or not at all."""
    path = pathlib.Path(path)
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    with beside.open("wb") as file:
        np.savez_compressed(file, *jax.tree.leaves(records))
    os.replace(beside, path)


def load(path: str | os.PathLike[str]) -> Records:
    """Reads the records of `save`."""
    blank = Records(features.blank_view(), np.zeros(0, np.int8), np.zeros(0, np.int32))
    with np.load(path) as stored:
        leaves = [stored[f"arr_{i}"] for i in range(len(stored.files))]
    return jax.tree.unflatten(jax.tree.structure(blank), leaves)
