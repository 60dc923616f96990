"""What the lines of a record may hold, each by itself and in their order.

`parse` goes as far as that tells; whether the events are those of a hand, its replay shows.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from mjx import match, tiles
from mjx.record.events import ENDINGS, Event
from mjx.record.replay import start_fields
from mjx.rules import PRESETS, Rules
from mjx.seats import NUM_SEATS
from mjx.tiles import WINDS

FORMAT, VERSION = "mjx-record", 1
_Check = tuple[Callable[[Any], bool], str]


class RecordError(ValueError):
    """A record that cannot be read: `line` (from 1), `event` (its type or None) and `reason`."""

    def __init__(self, line: int, event: str | None, reason: str) -> None:
        """Words the error."""
        self.line, self.event, self.reason = line, event, reason
        super().__init__(f"line {line}{f' ({event})' if event else ''}: {reason}")


class Draft(NamedTuple):
    """A hand as it is written."""

    names: tuple[str, ...] | None
    start: dict[str, Any]  # values of `replay.start_fields`
    events: list[tuple[int, Event]]  # with their lines, from `start_hand` to `end_hand`


def parse(source: str | Iterable[str]) -> tuple[Rules, list[Draft]]:
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
    drafts: list[Draft] = []
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
        needed |= {name: _BY_RULES[name] for name in start_fields(rules)[4:]}
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


def refuse_constant(name: str) -> None:
    """Refuses NaN and the infinities, which JSON does not have."""
    raise ValueError(f"{name} is no JSON")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=refuse_constant)


def _refuse_other_type(line: int, event: Event, wanted: str) -> None:
    """Refuses an event in the place of another."""
    if event["type"] != wanted:
        raise RecordError(line, event["type"], f"a `{wanted}` is expected here")


def _rules(start: Event) -> Rules:
    """Reads the rules."""
    try:
        rules = Rules(**start["rules"])
    except (TypeError, ValueError) as error:
        raise RecordError(1, "start", f"rules: {error}") from None
    if "preset" in start and PRESETS[start["preset"]] != rules:
        raise RecordError(1, "start", f"preset {start['preset']!r} has other rules than `rules`")
    return rules


def _draft(
    line: int, event: Event, number: int, names: tuple[str, ...] | None, rules: Rules
) -> Draft:
    """Begins a hand."""
    if event["hand"] != number:
        raise RecordError(line, "start_hand", f"hand is {number} here, not {event['hand']}")
    start = {name: event[name] for name in start_fields(rules)}
    start["round_wind"] = WINDS.index(event["round_wind"])
    start["wall"] = _wall(line, event["wall"], rules)
    return Draft(tuple(event["names"]) if "names" in event else names, start, [(line, event)])


def _wall(line: int, text: str, rules: Rules) -> list[int]:
    """Reads a wall, and refuses one that does not hold the right tiles."""
    written = text.split(" ")
    names = tiles.WALL_NAMES[: tiles.NUM_KINDS + rules.n_flowers]
    known = {name: kind for kind, name in enumerate(names)}
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


def does_not_follow(previous: list[Event] | None, start: Event, rules: Rules) -> str | None:
    """Says why a hand of a match neither follows on the one before nor begins a match."""
    if previous is None or rules.hand_mode != "match":
        return None
    if start["scores"] == [0] * NUM_SEATS and start["streak"] == 0:
        return None
    before, end = previous[0], previous[-1]
    winners = [event["seat"] for event in previous if event["type"] == "win"]
    after = match.place_after(
        before["dealer"],
        WINDS.index(before["round_wind"]),
        before["streak"],
        before["first_dealer"],
        not winners or before["dealer"] in winners,
    )
    if after.changes == match.NUM_CHANGES:
        return "the match before is over, and this hand does not begin one"
    wanted = {"dealer": after.dealer, "round_wind": WINDS[after.round_wind], "streak": after.streak}
    wanted |= {"first_dealer": before["first_dealer"], "scores": end["scores"]}
    return next(
        (
            f"`{name}` is {json.dumps(value)} in this match, not {json.dumps(start[name])}"
            for name, value in wanted.items()
            if start[name] != value
        ),
        None,
    )


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


def are_names(value: Any) -> bool:
    """Tells a text for each seat."""
    return len(value) == NUM_SEATS and all(isinstance(name, str) for name in value)


# What each field may hold: a test, and how it is worded.
_IS_SEAT = (lambda v: _is_int(v, 0, 3), "a seat, 0 to 3")
_IS_TILE = (lambda v: type(v) is str and v in tiles.NAMES, "a tile such as 5m or E")
_IS_ANY_TILE = (lambda v: type(v) is str and v in tiles.WALL_NAMES, "a tile such as 5m, E or f1")
_IS_FLOWER = (lambda v: type(v) is str and v in tiles.FLOWERS, "a flower, f1 to f8")
_IS_COUNT = (lambda v: _is_int(v, 0, 2**31 - 1), "a whole number, 0 or more")
_IS_STREAK = (lambda v: _is_int(v, 0, 1_000_000), "a whole number, 0 to 1000000")
_IS_BOOL = (lambda v: type(v) is bool, "true or false")
_IS_TEXT = (lambda v: type(v) is str, "a text")
_IS_DICT = (lambda v: type(v) is dict, "an object")
_IS_POINTS = (_are_ints, "four whole numbers")
_IS_NAMES = (lambda v: type(v) is list and are_names(v), "four texts")
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
        **{"streak": _IS_STREAK, "wall": _IS_TEXT},
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
    "end_hand": {"how": _one_of(*ENDINGS.values()), "points": _IS_POINTS},
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
