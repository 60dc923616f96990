"""Hands to the lines of a record."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from mjx import tiles
from mjx.record import replay
from mjx.record.events import Event, events_of, text_of
from mjx.record.schema import FORMAT, VERSION, are_names, does_not_follow
from mjx.rules import DEFAULT, PRESETS, Rules
from mjx.state import State

Array = jax.Array


def lines(
    first: State,
    played: Array | np.ndarray,
    rules: Rules = DEFAULT,
    names: Sequence[Any] | None = None,
) -> Iterator[str]:
    """Writes hands as the lines of a record, without line ends.

    Args:
      first: the states that the hands were dealt as, [B, ...], or one hand.
      played: int[N, B] the decisions of each hand, or int[N] of one; what comes after the end of
        a hand is not looked at.
      rules: the table's rules; with `hand_mode="match"` the hands of a match follow on each other.
      names: four of the seats, or four for each hand.

    Raises:
      ValueError: a hand that is not finished by its decisions, an illegal decision, a state that
        no hand begins with, hands of a match that do not follow.
    """
    first, columns, by_hand = _checked(first, np.asarray(played), names)
    num_hands = len(columns)
    starts = replay.starts_of(first, rules)
    is_same = jax.tree.map(
        lambda a, b: (np.asarray(a) == b).reshape(num_hands, -1).all(axis=1),
        *(first, replay.deal(starts, rules)),
    )
    wrong = np.flatnonzero(~np.all(jax.tree.leaves(is_same), axis=0))
    if len(wrong):
        raise ValueError(f"Hand {wrong[0]}: its state is not the one that a hand begins with.")
    scripts = map(_exactly, columns)
    common = by_hand[0] if len(set(by_hand)) == 1 else None
    yield text_of(_start(rules, common))
    previous: list[Event] | None = None
    hands = zip(starts, replay.play(first, scripts, False, rules), by_hand, strict=True)
    for index, (start, hand, seats) in enumerate(hands):
        _refuse_unfinished(index, hand, columns[index])
        told = events_of(hand, rules)[0]
        opening = _start_hand(index + 1, start, None if common else seats)
        reason = does_not_follow(previous, opening, rules)
        if reason:
            raise ValueError(f"Hand {index}: {reason}.")
        previous = [opening, *told]
        yield from map(text_of, previous)
    yield text_of({"type": "end", "hands": num_hands})


def _checked(
    first: State, played: np.ndarray, names: Sequence[Any] | None
) -> tuple[State, list[np.ndarray], list[tuple[str, ...] | None]]:
    """Brings hands into one shape: states [B, ...], each hand's decisions, each hand's names."""
    first = jax.device_get(first)
    if first.terminated.ndim == 0:
        first, played = jax.tree.map(lambda leaf: np.asarray(leaf)[None], first), played[:, None]
    num_hands = len(first.terminated)
    if num_hands == 0:
        raise ValueError("There are no hands to write.")
    if played.ndim != 2 or played.shape[1] != num_hands:
        raise ValueError(f"Decisions are [N, {num_hands}], a column a hand, not {played.shape}.")
    if names is None or (names and isinstance(names[0], str)):
        names = [names] * num_hands
    by_hand = [None if seats is None else tuple(seats) for seats in names]
    if len(by_hand) != num_hands or not all(seats is None or are_names(seats) for seats in by_hand):
        raise ValueError("names are four texts, or four for each hand.")
    return first, list(played.T), by_hand


def _exactly(played: np.ndarray) -> replay.Script:
    """Makes the script of all decisions, whoever makes them."""
    return replay.filled(np.full(len(played), -1), played, np.zeros(len(played), bool))


def _refuse_unfinished(index: int, hand: replay.Played, column: np.ndarray) -> None:
    """Refuses a hand that its decisions did not bring to its end."""
    if hand.states.terminated[-1]:
        return
    done = len(hand.actions)
    if done >= len(column):
        raise ValueError(f"Hand {index} is not over after its {done} decisions.")
    allowed = replay.legal_at(hand.states, done)
    raise ValueError(
        f"Hand {index}: decision {done} is {int(column[done])}, which is not legal. "
        f"Legal: {', '.join(allowed)}."
    )


def _start(rules: Rules, names: tuple[str, ...] | None) -> Event:
    """Makes the first line."""
    start: Event = {"type": "start", "format": FORMAT, "version": VERSION}
    preset = next((name for name, known in PRESETS.items() if known == rules), None)
    start |= {"preset": preset} if preset else {}
    start["rules"] = {
        field.name: getattr(rules, field.name)
        for field in dataclasses.fields(rules)
        if getattr(rules, field.name) != field.default
    }
    return start | ({"names": list(names)} if names else {})


def _start_hand(number: int, start: dict[str, Any], names: tuple[str, ...] | None) -> Event:
    """Makes the line that a hand begins with."""
    return (
        {"type": "start_hand", "hand": number}
        | start
        | {"round_wind": tiles.WINDS[start["round_wind"]]}
        | {"wall": " ".join(tiles.WALL_NAMES[kind] for kind in start["wall"])}
        | ({"names": list(names)} if names else {})
    )
