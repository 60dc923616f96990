"""The replay that records are written from and checked by: hands dealt and played by a script.

B = hands at once, N = decisions of a hand, E = length of a script, P = 4 seats.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, score
from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.step import init_from_wall, step

Array = jax.Array

BLOCK = 64  # hands at once: one program a table, whatever the number of hands
CHUNK = 32  # steps at once
LONGEST = 1024  # more decisions than a hand can have


class Script(NamedTuple):
    """What is to be done in a hand, in order; the rest is filled with action -1."""

    seat: np.ndarray  # int32[E]  who does it; -1: whoever acts
    action: np.ndarray  # int32[E]
    drawn: np.ndarray  # bool[E]   a tile was drawn since the one before: it answers no question


class Played(NamedTuple):
    """A hand that was replayed."""

    states: State  # [N + 1, ...]  NumPy: before each decision, and the last one
    actions: np.ndarray  # int32[N]
    settled: tuple[np.ndarray, np.ndarray]  # of each seat as winner: tai, points; see `settle`


def filled(seat: Any, action: Any, drawn: Any) -> Script:
    """Fills a script up."""

    def column(values: Any, fill: int, dtype: type) -> np.ndarray:
        row = np.full(LONGEST, fill, dtype)
        known = np.asarray(values, dtype)[:LONGEST]
        row[: len(known)] = known
        return row

    return Script(column(seat, -1, np.int32), column(action, -1, np.int32), column(drawn, 0, bool))


def starts_of(first: State, rules: Rules) -> list[dict[str, Any]]:
    """Lists what each hand of states [B, ...] was dealt from: the values of `start_fields`.

    Raises:
      ValueError: the states were dealt by other rules.
    """
    fields = {name: getattr(first, name) for name in start_fields(rules)}
    missing = [name for name, value in fields.items() if value is None]
    if missing:
        raise ValueError(f"The states were dealt by other rules: they have no {missing[0]}.")
    if first.scores is not None:
        fields["scores"] = np.array(scores_before(first))
    columns = (np.asarray(value).tolist() for value in fields.values())
    return [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)]


def start_fields(rules: Rules) -> tuple[str, ...]:
    """Names the fields of a state that say which hand was dealt, beside its rules."""
    fields = ("wall", "dealer", "round_wind", "streak")
    fields += ("dice_sum",) if rules.seat_wind_mode == "wall_break" else ()
    return fields + (("first_dealer", "scores") if rules.hand_mode == "match" else ())


def deal(starts: Sequence[dict[str, Any]], rules: Rules) -> State:
    """Deals hands from the values of `start_fields`: states [len(starts), ...], NumPy."""
    parts = []
    for block in _blocks(starts):
        columns = {
            name: np.array(
                [start[name] for start in block], np.int8 if name == "wall" else np.int32
            )
            for name in start_fields(rules)
        }
        parts.append(jax.device_get(_deal(columns, rules=rules)))
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    return jax.tree.map(lambda leaf: leaf[: len(starts)], joined)


def play(first: State, scripts: Iterable[Script], may_pass: bool, rules: Rules) -> Iterator[Played]:
    """Replays hands by their scripts.

    Args:
      first: dealt hands [B, ...].
      scripts: what is done in each.
      may_pass: whether a seat passes where the script has nothing for it; otherwise the replay of
        a hand ends there.
      rules: the table's rules.

    Yields:
      Each hand in turn. One that could not be played to its end does not end terminated.
    """
    left = iter(scripts)
    for start in itertools.count(0, BLOCK):
        block = list(itertools.islice(left, BLOCK))
        if not block:
            return
        rows = np.minimum(np.arange(BLOCK), len(block) - 1)
        columns = Script(*(np.stack(column)[rows] for column in zip(*block, strict=True)))
        states = jax.tree.map(lambda leaf, r=rows + start: np.asarray(leaf)[r], first)
        places, parts, done = np.zeros(BLOCK, np.int32), [], None
        while done is None or (done[-1] >= 0).any():
            states, places, shown, done = _play(
                states, places, columns, np.bool_(may_pass), rules=rules
            )
            shown, done = jax.device_get((shown, done))
            parts.append((shown, done))
        settled = jax.device_get(settle(states, rules=rules))
        shown, done = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        for lane in range(len(block)):
            num = int((done[:, lane] >= 0).sum())
            yield Played(
                jax.tree.map(lambda leaf, n=num, i=lane: leaf[: n + 1, i].copy(), shown),
                done[:num, lane].copy(),
                (settled[0][lane], settled[1][lane]),
            )


def legal_at(states: State, index: int) -> list[str]:
    """Names what was legal before a decision."""
    words = np.stack([word[index] for word in states.legal])
    return [actions.NAMES[action] for action in np.flatnonzero(actions.unpack(jnp.asarray(words)))]


@functools.partial(jax.jit, static_argnames="rules")
def _deal(starts: dict[str, Array], rules: Rules) -> State:
    """Deals B hands from the values of `start_fields`."""
    return jax.vmap(lambda start: init_from_wall(rules=rules, **start))(starts)


@functools.partial(jax.jit, static_argnames="rules")
def _play(
    states: State, places: Array, script: Script, may_pass: Array, rules: Rules
) -> tuple[State, Array, State, Array]:
    """Plays a chunk of steps of B hands by their scripts.

    Returns:
      States and places to go on from; the states before each step [CHUNK, B, ...] and what was
      done, -1 where the hand is over or can go no further.
    """

    def one(state: State, place: Array, script: Script) -> tuple[State, Array, Array]:
        wanted = jax.tree.map(lambda column: column[place], script)
        is_asked = actions.is_legal(state.legal, jnp.int32(actions.PASS))
        is_ours = (wanted.seat < 0) | (wanted.seat == state.current_player)
        takes = is_ours & actions.is_legal(state.legal, wanted.action) & ~(is_asked & wanted.drawn)
        passes = ~takes & is_asked & may_pass
        goes_on = ~state.terminated & (takes | passes)
        action = jnp.where(takes, wanted.action, actions.PASS)
        after = step(state, action, rules)
        after = jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), after, state)
        return after, place + (takes & goes_on), jnp.where(goes_on, action, -1)

    def one_step(carry: tuple[State, Array], _: None) -> tuple:
        states, places = carry
        after, places, action = jax.vmap(one)(states, places, script)
        return (after, places), (states, action)

    carry, shown = jax.lax.scan(one_step, (states, places), None, length=CHUNK)
    return *carry, *shown


@functools.partial(jax.jit, static_argnames="rules")
def settle(final: State, rules: Rules) -> tuple[Array, Array]:
    """Scores each seat as if it were the winner, the only one, of each of B hands.

    Returns:
      int[B, P, items] tai, float32[B, P, P] points by seat.
    """

    def one(state: State, seat: Array) -> tuple[Array, Array]:
        alone = state.replace(winner=seat)
        if state.winners is not None:
            alone = alone.replace(winners=jnp.uint32(1) << seat.astype(jnp.uint32))
        return score.tai(score.win_of(alone, rules), rules), score.settle(alone, rules)

    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(final, jnp.arange(NUM_SEATS))


def scores_before(first: State) -> list[int]:
    """Gives the scores that a hand began with: its deal may have been paid for already."""
    assert first.scores is not None
    return (np.asarray(first.scores) - np.asarray(first.rewards, np.int64)).tolist()


def _blocks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Splits rows into blocks, the last one filled up with its last row."""
    for start in range(0, len(rows), BLOCK):
        block = list(rows[start : start + BLOCK])
        yield block + block[-1:] * (BLOCK - len(block))
