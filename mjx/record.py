"""Played hands as JSON Lines, and back: `docs/records.md` describes the format.

A record is read by playing it again: who passed, every draw, tai and payments are computed anew
and compared with what is written, so a record that reads without an error is a record of legal
play. B = hands, N = decisions of a hand.
"""

import dataclasses
import itertools
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, events, tiles
from mjx.events import TILES, WINDS, Event, Script
from mjx.rules import DEFAULT, PRESETS, Rules
from mjx.seats import NUM_SEATS
from mjx.state import State

Array = jax.Array

FORMAT, VERSION = "mjx-record", 1
_Check = tuple[Callable[[Any], bool], str]


class Hand(NamedTuple):
    """One hand of a record."""

    rules: Rules
    names: tuple[str, ...] | None  # of the seats
    states: State  # [N + 1, ...]  NumPy: before every decision, and the last one
    actions: np.ndarray  # int32[N]    passes included
    events: list[Event]  # from `start_hand` to `end_hand`, as written
    upto: list[int]  # how many of the events had happened at each of the states


class RecordError(ValueError):
    """A record that cannot be read: `line` (from 1), `event` (its type or None) and `reason`."""

    def __init__(self, line: int, event: str | None, reason: str) -> None:
        """Words the error."""
        self.line, self.event, self.reason = line, event, reason
        super().__init__(f"line {line}{f' ({event})' if event else ''}: {reason}")


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
    starts = events.starts_of(first, rules)
    is_same = jax.tree.map(
        lambda a, b: (np.asarray(a) == b).reshape(num_hands, -1).all(axis=1),
        *(first, events.deal(starts, rules)),
    )
    wrong = np.flatnonzero(~np.all(jax.tree.leaves(is_same), axis=0))
    if len(wrong):
        raise ValueError(f"Hand {wrong[0]}: its state is not the one that a hand begins with.")
    scripts = map(_exactly, columns)
    common = by_hand[0] if len(set(by_hand)) == 1 else None
    yield _text(_start(rules, common))
    previous: list[Event] | None = None
    hands = zip(starts, events.play(first, scripts, False, rules), by_hand, strict=True)
    for index, (start, hand, seats) in enumerate(hands):
        _refuse_unfinished(index, hand, columns[index])
        told = events.events_of(hand, rules)[0]
        opening = _start_hand(index + 1, start, None if common else seats)
        reason = _does_not_follow(previous, opening, rules)
        if reason:
            raise ValueError(f"Hand {index}: {reason}.")
        previous = [opening, *told]
        yield from map(_text, previous)
    yield _text({"type": "end", "hands": num_hands})


def read(source: str | Iterable[str]) -> list[Hand]:
    """Reads a record and plays it again.

    Args:
      source: its text, or its lines.

    Returns:
      All its hands.

    Raises:
      RecordError: anything that is not exactly a record of legal play, with the line.
    """
    rules, drafts = _parse(source)
    if not drafts:
        return []
    first = events.deal([draft.start for draft in drafts], rules)
    scripts = map(_script, drafts)
    hands = []
    for draft, played in zip(drafts, events.play(first, scripts, True, rules), strict=True):
        upto = [number + 1 for number in _compare(draft, played, rules)]  # and `start_hand`
        written = [event for _, event in draft.events]
        hands.append(Hand(rules, draft.names, played.states, played.actions, written, upto))
    for before, draft in itertools.pairwise(drafts):
        told = [event for _, event in before.events]
        reason = _does_not_follow(told, draft.events[0][1], rules)
        if reason:
            raise RecordError(draft.events[0][0], "start_hand", reason)
    return hands


def read_file(path: str | pathlib.Path) -> list[Hand]:
    """Reads a record from disk.

    Raises:
      OSError: the file cannot be read.
      RecordError: as `read`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = pathlib.Path(path).read_bytes()[: error.start].count(b"\n") + 1
        raise RecordError(line, None, "the text is not UTF-8") from None
    return read(text)


def write_file(path: str | pathlib.Path, texts: Iterable[str] | None) -> None:
    """Writes lines to disk in one piece: other readers see the old file or the new one.

    Args:
      path: the file; its folder must exist.
      texts: the lines, taken one at a time; None only makes sure that the file can be written.

    Raises:
      OSError: the file cannot be written.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            for text in texts or ():
                file.write(text + "\n")
        if texts is not None:
            os.chmod(name, 0o644)
            os.replace(name, path)
    finally:
        pathlib.Path(name).unlink(missing_ok=True)


# Writing.


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
    if len(by_hand) != num_hands or not all(
        seats is None or _are_names(seats) for seats in by_hand
    ):
        raise ValueError("names are four texts, or four for each hand.")
    return first, list(played.T), by_hand


def _exactly(played: np.ndarray) -> Script:
    """Makes the script of all decisions, whoever makes them."""
    return _filled(np.full(len(played), -1), played, np.zeros(len(played), bool))


def _filled(seat: Any, action: Any, drawn: Any) -> Script:
    """Fills a script up."""

    def column(values: Any, fill: int, dtype: type) -> np.ndarray:
        row = np.full(events.LONGEST, fill, dtype)
        known = np.asarray(values, dtype)[: events.LONGEST]
        row[: len(known)] = known
        return row

    return Script(column(seat, -1, np.int32), column(action, -1, np.int32), column(drawn, 0, bool))


def _refuse_unfinished(index: int, hand: events.Played, column: np.ndarray) -> None:
    """Refuses a hand that its decisions did not bring to its end."""
    if hand.states.terminated[-1]:
        return
    done = len(hand.actions)
    if done >= len(column):
        raise ValueError(f"Hand {index} is not over after its {done} decisions.")
    allowed = _legal(hand.states, done)
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
        | {"round_wind": WINDS[start["round_wind"]]}
        | {"wall": " ".join(TILES[kind] for kind in start["wall"])}
        | ({"names": list(names)} if names else {})
    )


def _text(event: Event) -> str:
    """Writes an event as one line."""
    return json.dumps(event, ensure_ascii=False, allow_nan=False)


# Reading: lines to events.


class _Draft(NamedTuple):
    """A hand as it is written."""

    names: tuple[str, ...] | None
    start: dict[str, Any]  # values of `events.start_fields`
    events: list[tuple[int, Event]]  # with their lines, from `start_hand` to `end_hand`


def _is_int(value: object, low: int, high: int) -> bool:
    """Tells a whole number in a range; true and false are none."""
    return type(value) is int and low <= value <= high


def _are_ints(value: object) -> bool:
    """Tells a whole number for each seat."""
    far = 2**31 - 1
    return (
        type(value) is list
        and len(value) == NUM_SEATS
        and all(_is_int(x, -far, far) for x in value)
    )


def _are_names(value: Any) -> bool:
    """Tells a text for each seat."""
    return len(value) == NUM_SEATS and all(isinstance(name, str) for name in value)


# What each field may hold: a test, and how it is worded.
_IS_SEAT = (lambda v: _is_int(v, 0, 3), "a seat, 0 to 3")
_IS_TILE = (lambda v: type(v) is str and v in tiles.NAMES, "a tile such as 5m or E")
_IS_ANY_TILE = (lambda v: type(v) is str and v in TILES, "a tile such as 5m, E or f1")
_IS_FLOWER = (lambda v: type(v) is str and v in events.FLOWERS, "a flower, f1 to f8")
_IS_COUNT = (lambda v: _is_int(v, 0, 2**31 - 1), "a whole number, 0 or more")
_IS_BOOL = (lambda v: type(v) is bool, "true or false")
_IS_TEXT = (lambda v: type(v) is str, "a text")
_IS_DICT = (lambda v: type(v) is dict, "an object")
_IS_POINTS = (_are_ints, "four whole numbers")
_IS_NAMES = (lambda v: type(v) is list and _are_names(v), "four texts")
_IS_PAIR = (
    lambda v: type(v) is list and len(v) == 2 and all(_IS_TILE[0](tile) for tile in v),
    "two tiles",
)
_IS_TAI = (
    lambda v: type(v) is dict and all(_is_int(tai, 1, 10_000) for tai in v.values()),
    "tai by item",
)


def _one_of(*allowed: object) -> _Check:
    """Makes the test for one of a few values."""
    words = ", ".join(json.dumps(value) for value in allowed)
    return (lambda v: type(v) in (str, int) and v in allowed), words


_CLAIM: dict[str, _Check] = {"seat": _IS_SEAT, "from": _IS_SEAT, "tile": _IS_TILE}
_FIELDS: dict[str, dict[str, _Check]] = {
    "start": {"format": _one_of(FORMAT), "version": _one_of(VERSION), "rules": _IS_DICT},
    "start_hand": {
        **{"hand": _IS_COUNT, "dealer": _IS_SEAT, "round_wind": _one_of(*WINDS)},
        **{"streak": _IS_COUNT, "wall": _IS_TEXT},
    },
    "draw": {"seat": _IS_SEAT, "tile": _IS_ANY_TILE},
    "flower": {"seat": _IS_SEAT, "tile": _IS_FLOWER},
    "discard": {"seat": _IS_SEAT, "tile": _IS_TILE, "drawn": _IS_BOOL},
    "chow": {**_CLAIM, "with": _IS_PAIR},
    "pong": _CLAIM,
    "kong": {
        "form": _one_of("open", "added", "concealed"),
        **{"seat": _IS_SEAT, "tile": _IS_TILE},
    },
    "ready": {"seat": _IS_SEAT},
    "win": {
        **{"seat": _IS_SEAT, "from": _IS_SEAT, "tai": _IS_TAI, "total": _IS_COUNT},
        "payments": _IS_POINTS,
    },
    "end_hand": {"how": _one_of(*events.ENDINGS.values()), "points": _IS_POINTS},
    "end": {"hands": _IS_COUNT},
}
# Fields that only some tables or events of the type have.
_OPTIONAL: dict[str, dict[str, _Check]] = {
    "start": {"preset": _one_of(*PRESETS), "names": _IS_NAMES},
    "start_hand": {"names": _IS_NAMES},
    "kong": {"from": _IS_SEAT},
    "win": {"tile": _IS_ANY_TILE},
}
_BY_RULES = {
    "dice_sum": (lambda v: _is_int(v, 3, 18), "a throw of 3 to 18"),
    "first_dealer": _IS_SEAT,
    "scores": _IS_POINTS,
}


def _parse(source: str | Iterable[str]) -> tuple[Rules, list[_Draft]]:
    """Reads a record as far as each line by itself and their order tell."""
    rows = source.split("\n") if isinstance(source, str) else [row.rstrip("\n") for row in source]
    if rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise RecordError(1, None, "the record is empty")
    start = _event(1, rows[0])
    _refuse_other_type(1, start, "start")
    rules = _rules(start)
    names = tuple(start["names"]) if "names" in start else None
    drafts: list[_Draft] = []
    is_open = False
    for line, row in enumerate(rows[1:], 2):
        event = _event(line, row, rules)
        kind = event["type"]
        if kind == "end" and not is_open:
            if event["hands"] != len(drafts):
                raise RecordError(line, kind, f"hands is {len(drafts)} here, not {event['hands']}")
            if line < len(rows):
                raise RecordError(line + 1, None, "nothing may follow `end`")
            return rules, drafts
        if is_open:
            if kind in ("start", "start_hand", "end"):
                raise RecordError(line, kind, "the hand before has no `end_hand`")
            drafts[-1].events.append((line, event))
            is_open = kind != "end_hand"
        else:
            _refuse_other_type(line, event, "start_hand")
            drafts.append(_draft(line, event, len(drafts) + 1, names, rules))
            is_open = True
    raise RecordError(len(rows) + 1, None, "the record stops before `end`")


def _event(line: int, row: str, rules: Rules | None = None) -> Event:
    """Reads one line as an event of known type and fields."""
    try:
        event = _JSON.decode(row)
    except (ValueError, RecursionError) as error:
        raise RecordError(line, None, f"not JSON: {error}") from None
    if type(event) is not dict or type(event.get("type")) is not str:
        raise RecordError(line, None, "not an object with a `type`")
    kind = event["type"]
    if kind not in _FIELDS:
        raise RecordError(line, kind, f"unknown event; known: {', '.join(_FIELDS)}")
    needed = dict(_FIELDS[kind])
    if rules is not None and kind == "start_hand":
        needed |= {name: _BY_RULES[name] for name in events.start_fields(rules)[4:]}
    elif rules is not None and kind == "end_hand" and rules.hand_mode == "match":
        needed["scores"] = _IS_POINTS
    for name in needed:
        if name not in event:
            raise RecordError(line, kind, f"`{name}` is missing")
    allowed = needed | _OPTIONAL.get(kind, {})
    for name, value in event.items():
        if name == "type":
            continue
        if name not in allowed:
            raise RecordError(line, kind, f"unknown field `{name}`; known: {', '.join(allowed)}")
        is_right, words = allowed[name]
        if not is_right(value):
            raise RecordError(line, kind, f"`{name}` is {words}, not {json.dumps(value)}")
    return event


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes a dict, and refuses keys that come twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice in one object")
    return found


def _refuse_constant(name: str) -> None:
    """Refuses NaN and the infinities, which JSON does not have."""
    raise ValueError(f"{name} is no JSON")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


def _refuse_other_type(line: int, event: Event, wanted: str) -> None:
    """Refuses an event in the place of another."""
    if event["type"] != wanted:
        raise RecordError(line, event["type"], f"a `{wanted}` is expected here")


def _rules(start: Event) -> Rules:
    """Reads the rules."""
    try:
        rules = Rules(**start["rules"])
    except (TypeError, ValueError, NotImplementedError) as error:
        raise RecordError(1, "start", f"rules: {error}") from None
    if "preset" in start and PRESETS[start["preset"]] != rules:
        raise RecordError(1, "start", f"preset {start['preset']!r} has other rules than `rules`")
    return rules


def _draft(
    line: int, event: Event, number: int, names: tuple[str, ...] | None, rules: Rules
) -> _Draft:
    """Begins a hand."""
    if event["hand"] != number:
        raise RecordError(line, "start_hand", f"hand is {number} here, not {event['hand']}")
    start = {name: event[name] for name in events.start_fields(rules)}
    start["round_wind"] = WINDS.index(event["round_wind"])
    start["wall"] = _wall(line, event["wall"], rules)
    return _Draft(tuple(event["names"]) if "names" in event else names, start, [(line, event)])


def _wall(line: int, text: str, rules: Rules) -> list[int]:
    """Reads a wall, and refuses one that does not hold the right tiles."""
    written = text.split(" ")
    known = {name: kind for kind, name in enumerate(TILES[: tiles.NUM_KINDS + rules.n_flowers])}
    for place, name in enumerate(written):
        if name not in known:
            raise RecordError(
                line, "start_hand", f"wall: {name!r} at place {place} is no tile here"
            )
    if len(written) != rules.num_tiles:
        reason = f"wall: {len(written)} tiles, not {rules.num_tiles}"
        raise RecordError(line, "start_hand", reason)
    for name, kind in known.items():
        copies = tiles.NUM_COPIES if kind < tiles.NUM_KINDS else 1
        if written.count(name) != copies:
            reason = f"wall: {written.count(name)} of {name}, not {copies}"
            raise RecordError(line, "start_hand", reason)
    return [known[name] for name in written]


# Reading: events to play.


def _script(draft: _Draft) -> Script:
    """Turns the events of a hand into what its seats do."""
    rows, drawn = [], False
    for line, event in draft.events[1:]:
        kind = event["type"]
        if kind in ("draw", "flower"):
            drawn = True
        elif kind != "end_hand":
            rows.append((event["seat"], _action(line, event), drawn))
            drawn = False
    return _filled(*zip(*rows, strict=True)) if rows else _filled([], [], [])


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


def _compare(draft: _Draft, played: events.Played, rules: Rules) -> list[int]:
    """Refuses a hand whose events are not those of its replay; returns as `events.events_of`."""
    told, upto = events.events_of(played, rules)
    written = draft.events[1:]
    for place, (line, event) in enumerate(written):
        if place < len(told) and told[place] == event:
            continue
        kind = event["type"]
        if place < len(told) and told[place]["type"] == kind:
            raise RecordError(line, kind, _difference(told[place], event))
        legal = _alternatives(played, upto, place, event.get("seat"))
        if place < len(told):
            reason = f"not what comes here: {_text(told[place])}"
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


def _alternatives(played: events.Played, upto: list[int], place: int, seat: int | None) -> str:
    """Lists what a seat could have done at some place of the events."""
    states = played.states
    if seat is None:
        seat = int(states.current_player[-1])
    at = [
        index
        for index, number in enumerate(upto)
        if number == place and states.current_player[index] == seat and not states.terminated[index]
    ]
    words = [action for index in at for action in _legal(states, index)]
    if not words:
        return f"; seat {seat} has nothing to decide here"
    return f"; legal for seat {seat}: {', '.join(dict.fromkeys(words))}"


def _legal(states: State, index: int) -> list[str]:
    """Names what was legal before a decision."""
    words = np.stack([word[index] for word in states.legal])
    return [actions.NAMES[action] for action in np.flatnonzero(actions.unpack(jnp.asarray(words)))]


def _does_not_follow(previous: list[Event] | None, start: Event, rules: Rules) -> str | None:
    """Says why a hand of a match neither follows on the one before nor begins a match."""
    if previous is None or rules.hand_mode != "match":
        return None
    if start["scores"] == [0] * NUM_SEATS and start["streak"] == 0:
        return None
    before, end = previous[0], previous[-1]
    dealer, wind, streak = before["dealer"], WINDS.index(before["round_wind"]), before["streak"]
    winners = [event["seat"] for event in previous if event["type"] == "win"]
    if not winners or dealer in winners:
        streak += 1
    else:
        dealer, streak = (dealer + 1) % NUM_SEATS, 0
        wind += dealer == before["first_dealer"]
    if wind == len(WINDS):
        return "the match before is over, and this hand does not begin one"
    wanted = {"dealer": dealer, "round_wind": WINDS[wind], "streak": streak}
    wanted |= {"first_dealer": before["first_dealer"], "scores": end["scores"]}
    return next(
        (
            f"`{name}` is {json.dumps(value)} in this match, not {json.dumps(start[name])}"
            for name, value in wanted.items()
            if start[name] != value
        ),
        None,
    )
