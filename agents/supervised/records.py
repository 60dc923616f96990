"""Records of discards: an agent plays all four seats, and what it saw and threw is kept.

The one module of supervised learning that touches the disk. N = discards, L = lanes (hands in
play), S = decisions of each lane in one call.
"""

import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import lanes as side_by_side
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
_STEPS = 16
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
    play = jax.jit(functools.partial(_play, player, rules))
    parts: list[Records] = []
    count = 0
    while int(hand.min()) < num_hands:
        play_key = jax.random.fold_in(key, count)
        (states, hand), (records, wanted) = play(params, play_key, states, hand)
        wanted = np.asarray(wanted) & (np.asarray(records.hand) < num_hands)
        parts.append(jax.tree.map(lambda x, kept=wanted: np.asarray(x)[kept], records))
        count += 1
        if report is not None:
            report(min(int((hand // num_lanes).sum()), num_hands))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _play(
    player: Policy, rules: Rules, params: Any, key: Array, states: State, hand: Array
) -> tuple[tuple[State, Array], tuple[Records, Array]]:
    """Plays S decisions: tables and hand numbers [L]; records [S, L], which are discards."""
    num_lanes = hand.shape[0]

    def decide(params: Any, rows: Any) -> Array:
        keys, seen = rows
        return player.act(params, keys, seen, seen.legal_action_mask)

    def one_step(carry: tuple[State, Array], key: Array) -> tuple:
        states, hand = carry
        act_key, deal_key = jax.random.split(key)
        seen = jax.vmap(lambda state: observe(state, state.current_player, rules))(states)
        rows = (jax.random.split(act_key, num_lanes), seen)
        action = side_by_side.spread(decide, side_by_side.ROWS_EACH)(params, rows)
        after = jax.vmap(lambda state, one: step(state, one, rules))(states, action)
        fresh = jax.vmap(lambda one: selfplay.deal(one, rules))(
            jax.random.split(deal_key, num_lanes)
        )
        ended = after.terminated

        def next_hand(new: Array, old: Array) -> Array:
            return jnp.where(ended.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        records = Records(jax.vmap(features.view_of)(seen), action.astype(jnp.int8), hand)
        carry = jax.tree.map(next_hand, fresh, after), hand + ended * np.int32(num_lanes)
        return carry, (records, action < actions.CONCEALED_KONG)

    return jax.lax.scan(one_step, (states, hand), jax.random.split(key, _STEPS))


def split(records: Records) -> Split:
    """Splits records 3 : 1 : 1 by the numbers of their hands, so that no hand is in two parts."""
    part = np.asarray(records.hand) % _PARTS

    def take(kept: np.ndarray) -> Records:
        return jax.tree.map(lambda x: x[kept], records)

    return Split(take(part < 3), take(part == 3), take(part == 4))


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
