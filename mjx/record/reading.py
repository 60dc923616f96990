"""The lines of a record to hands, by playing them again."""

import itertools
import json
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mjx import actions, tiles
from mjx.record import replay
from mjx.record.events import Event, events_of, text_of
from mjx.record.schema import Draft, RecordError, does_not_follow, parse
from mjx.rules import Rules
from mjx.state import State


class Hand(NamedTuple):
    """One hand of a record."""

    rules: Rules
    names: tuple[str, ...] | None  # of the seats
    states: State  # [N + 1, ...]  NumPy: before every decision, and the last one
    actions: np.ndarray  # int32[N]    passes included
    events: list[Event]  # from `start_hand` to `end_hand`, as written
    upto: list[int]  # how many of the events had happened at each of the states


def read(source: str | Iterable[str]) -> list[Hand]:
    """Reads a record and plays it again.

    Args:
      source: its text, or its lines.

    Returns:
      All its hands.

    Raises:
      RecordError: anything that is not exactly a record of legal play, with the line.
    """
    rules, drafts = parse(source)
    if not drafts:
        return []
    first = replay.deal([draft.start for draft in drafts], rules)
    scripts = map(_script, drafts)
    hands = []
    for draft, played in zip(drafts, replay.play(first, scripts, True, rules), strict=True):
        upto = [number + 1 for number in _compare(draft, played, rules)]  # and `start_hand`
        written = [event for _, event in draft.events]
        hands.append(Hand(rules, draft.names, played.states, played.actions, written, upto))
    for before, draft in itertools.pairwise(drafts):
        told = [event for _, event in before.events]
        reason = does_not_follow(told, draft.events[0][1], rules)
        if reason:
            raise RecordError(draft.events[0][0], "start_hand", reason)
    return hands


def _script(draft: Draft) -> replay.Script:
    """Turns the events of a hand into what its seats do."""
    rows, drawn = [], False
    for line, event in draft.events[1:]:
        kind = event["type"]
        if kind in ("draw", "flower"):
            drawn = True
        elif kind != "end_hand":
            rows.append((event["seat"], _action(line, event), drawn))
            drawn = False
    return replay.filled(*zip(*rows, strict=True)) if rows else replay.filled([], [], [])


def _action(line: int, event: Event) -> int:
    """Returns the id of the action that an event tells."""
    kind = event["type"]
    tile = tiles.NAMES.index(event["tile"]) if kind in ("discard", "kong") else 0
    if kind == "kong":
        if ("from" in event) != (event["form"] == "open"):
            raise RecordError(line, kind, "an open kong, and no other, is `from` a seat")
        firsts = {"concealed": actions.CONCEALED_KONG + tile, "added": actions.ADDED_KONG + tile}
        return firsts.get(event["form"], actions.OPEN_KONG)
    if kind == "chow":
        return _chow(line, event)
    calls = {"pong": actions.PONG, "win": actions.WIN, "ready": actions.DECLARE_READY}
    return calls.get(kind, tile)


def _chow(line: int, event: Event) -> int:
    """Returns the id of a chow: where its claimed tile stands in the run."""
    claimed, *others = (tiles.NAMES.index(name) for name in (event["tile"], *event["with"]))
    low = min(claimed, *others)
    is_run = (
        low < tiles.EAST and low % 9 <= 6 and sorted((claimed, *others)) == [low, low + 1, low + 2]
    )
    if not is_run:
        raise RecordError(line, "chow", f"{event['tile']} with {' '.join(event['with'])} is no run")
    return actions.CHOW_LOW + claimed - low


def _compare(draft: Draft, played: replay.Played, rules: Rules) -> list[int]:
    """Refuses a hand whose events are not those of its replay; returns as `events_of`."""
    told, upto = events_of(played, rules)
    written = draft.events[1:]
    for place, (line, event) in enumerate(written):
        if place < len(told) and told[place] == event:
            continue
        kind = event["type"]
        if place < len(told) and told[place]["type"] == kind:
            raise RecordError(line, kind, _difference(told[place], event))
        legal = _alternatives(played, upto, place, event.get("seat"))
        if place < len(told):
            reason = f"not what comes here: {text_of(told[place])}"
        else:
            over = bool(played.states.terminated[-1])
            reason = (
                "the hand is over" if over else "the hand is not over, and nothing else was done"
            )
        raise RecordError(line, kind, reason + legal)
    return upto


def _difference(told: Event, written: Event) -> str:
    """Words the first field in which two events of a type differ."""
    for name in told | written:
        if told.get(name) != written.get(name):
            break
    if name not in written:
        return f"`{name}` is missing: {json.dumps(told[name])}"
    if name not in told:
        return f"`{name}` has no place here"
    if told["type"] == "draw" and name == "tile":
        return f"the wall's next tile is {told[name]}, not {written[name]}"
    return f"`{name}` is {json.dumps(told[name])} in this hand, not {json.dumps(written[name])}"


def _alternatives(played: replay.Played, upto: list[int], place: int, seat: int | None) -> str:
    """Lists what a seat could have done at some place of the events."""
    states = played.states
    if seat is None:
        seat = int(states.current_player[-1])
    at = [
        index
        for index, number in enumerate(upto)
        if number == place and states.current_player[index] == seat and not states.terminated[index]
    ]
    words = [action for index in at for action in replay.legal_at(states, index)]
    if not words:
        return f"; seat {seat} has nothing to decide here"
    return f"; legal for seat {seat}: {', '.join(dict.fromkeys(words))}"
