"""A hand as events in the style of mjai.

An event is a dict of plain values with a `type`, ready for JSON; `docs/records.md` lists them.
Passes are no events: they follow from who is asked. N = decisions of a hand.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from mjx import actions, score, tiles
from mjx import state as st
from mjx.record.replay import Played, scores_before, settle
from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.tiles import WALL_NAMES

Event = dict[str, Any]

ENDINGS = {
    st.DRAWN: "drawn",
    st.SELF_DRAW: "self_draw",
    st.ON_DISCARD: "discard",
    st.ROBBED_KONG: "rob_kong",
    st.FOUR_KONGS: "four_kongs",
    st.EIGHT_FLOWERS: "eight_flowers",
    st.EIGHTH_FLOWER_ROBBED: "eighth_flower",
}
_BY_ANOTHER = (st.ON_DISCARD, st.ROBBED_KONG, st.EIGHTH_FLOWER_ROBBED)


class _View(NamedTuple):
    """What the events of a decision are read from, as plain numbers."""

    current_player: int
    drawn: int
    pending: int
    actor: int
    head: int
    tail: int
    terminated: bool
    flowers: int | None
    sub_draws: int | None
    sub_replacements: int | None


def events_of(played: Played, rules: Rules) -> tuple[list[Event], list[int]]:
    """Tells a replayed hand as events, from the deal on; without `start_hand`.

    Returns:
      The events, with `win` and `end_hand` if the hand is over; and for each state of
      `played.states` how many of them had happened by then.
    """
    views, wall = _views(played.states), played.states.wall[0].tolist()
    events = _dealt_flowers(views[0], wall, int(played.states.dealer[0]), rules)
    upto = [len(events)]
    for before, action, after in zip(views, played.actions.tolist(), views[1:], strict=False):
        events += _decision(before, action, after, wall, rules)
        upto.append(len(events))
    if views[-1].terminated:
        first, last = (jax.tree.map(lambda x, i=i: x[i], played.states) for i in (0, -1))
        events += _end(first, last, played.settled, events[-1] if events else None, rules)
    return events, upto


def events_between(before: State, action: int, after: State, rules: Rules) -> list[Event]:
    """Tells one decision as events, the draws that follow it included, but not the end."""
    one, other = (_views(jax.tree.map(lambda x: np.asarray(x)[None], s)) for s in (before, after))
    return _decision(one[0], action, other[0], np.asarray(before.wall).tolist(), rules)


def end_of(first: State, last: State, told: Event | None, rules: Rules) -> list[Event]:
    """Tells the wins and the end of one finished hand.

    Args:
      first: the state that it was dealt as.
      last: the state that it ended in.
      told: the event before, None without one.
      rules: the table's rules.
    """
    settled = jax.device_get(settle(jax.tree.map(lambda leaf: leaf[None], last), rules=rules))
    return _end(first, jax.device_get(last), [part[0] for part in settled], told, rules)


def text_of(event: Event) -> str:
    """Writes an event as one line."""
    return json.dumps(event, ensure_ascii=False, allow_nan=False)


def _views(states: State) -> list[_View]:
    """Turns states [N, ...] into plain numbers."""
    num = len(states.terminated)
    columns = (getattr(states, name) for name in _View._fields)
    return [
        _View(*row)
        for row in zip(
            *([None] * num if column is None else column.tolist() for column in columns),
            strict=True,
        )
    ]


def _decision(
    before: _View, action: int, after: _View, wall: list[int], rules: Rules
) -> list[Event]:
    """Tells what was done, and what was drawn then."""
    seat = before.current_player
    events = _act(before, action)
    giver = before.actor if action == actions.PASS else seat
    plain = _num_plain(after) > _num_plain(before)
    replacements = _num_replacements(after) - _num_replacements(before)
    drawer = (giver + 1) % NUM_SEATS if plain else giver
    kinds = [wall[_head(before, drawer, rules)]] if plain else []
    kinds += [wall[_tail(before, drawer, rules) - i] for i in range(replacements)]
    for kind in kinds:
        events.append({"type": "draw", "seat": drawer, "tile": WALL_NAMES[kind]})
        if kind >= tiles.NUM_KINDS:
            events.append({"type": "flower", "seat": drawer, "tile": WALL_NAMES[kind]})
    return events


def _act(before: _View, action: int) -> list[Event]:
    """Tells an action: one event, or none for a pass and a win, which is told at the end."""
    seat, kind = before.current_player, action % tiles.NUM_KINDS
    if action < actions.CONCEALED_KONG:
        is_drawn = kind == before.drawn
        return [{"type": "discard", "seat": seat, "tile": WALL_NAMES[kind], "drawn": is_drawn}]
    if action < actions.CHOW_LOW:
        form = "concealed" if action < actions.ADDED_KONG else "added"
        return [{"type": "kong", "form": form, "seat": seat, "tile": WALL_NAMES[kind]}]
    if action == actions.DECLARE_READY:
        return [{"type": "ready", "seat": seat}]
    if action > actions.OPEN_KONG:
        return []
    claimed = {"seat": seat, "from": before.actor, "tile": WALL_NAMES[before.pending]}
    if action == actions.OPEN_KONG:
        return [{"type": "kong", "form": "open", **claimed}]
    if action == actions.PONG:
        return [{"type": "pong", **claimed}]
    lowest = before.pending - (action - actions.CHOW_LOW)
    others = [WALL_NAMES[k] for k in range(lowest, lowest + 3) if k != before.pending]
    return [{"type": "chow", **claimed, "with": others}]


def _num_plain(view: _View) -> int:
    """Counts, up to a constant, the tiles drawn from the head."""
    return view.head if view.sub_draws is None else sum(_fields(view.sub_draws))


def _num_replacements(view: _View) -> int:
    """Counts, up to a constant, the tiles drawn from the tail."""
    return -view.tail if view.sub_replacements is None else sum(_fields(view.sub_replacements))


def _head(view: _View, seat: int, rules: Rules) -> int:
    """Finds where in the wall a seat draws next."""
    if view.sub_draws is None:
        return view.head
    return rules.num_dealt + rules.sub_wall_size * seat + _fields(view.sub_draws)[seat]


def _tail(view: _View, seat: int, rules: Rules) -> int:
    """Finds where in the wall a seat's next replacement is."""
    if view.sub_replacements is None:
        return view.tail
    return (
        rules.num_dealt
        + rules.sub_wall_size * (seat + 1)
        - 1
        - _fields(view.sub_replacements)[seat]
    )


def _fields(packed: int) -> list[int]:
    """Takes apart eight bits a seat."""
    return [packed >> 8 * seat & 0xFF for seat in range(NUM_SEATS)]


def _dealt_flowers(first: _View, wall: list[int], dealer: int, rules: Rules) -> list[Event]:
    """Tells how the flowers of the deal were replaced: round by round from the dealer on."""
    if not rules.n_flowers:
        return []
    events: list[Event] = []
    hands = _dealt(wall, dealer, rules)
    order = [(dealer + turn) % NUM_SEATS for turn in range(NUM_SEATS)]
    shared = rules.wall_mode == "shared"
    replaced, exposed = [0] * NUM_SEATS, 0
    while any(kind >= tiles.NUM_KINDS for row in hands for kind in row):
        for seat in order:
            row = hands[seat]
            for place in [i for i, kind in enumerate(row) if kind >= tiles.NUM_KINDS]:
                kind = row[place]
                events.append({"type": "flower", "seat": seat, "tile": WALL_NAMES[kind]})
                exposed |= 1 << (8 * seat + kind - tiles.NUM_KINDS)
                if first.terminated and exposed == first.flowers:
                    return events
                part = rules.num_dealt + rules.sub_wall_size * (seat + 1) - 1 - replaced[seat]
                row[place] = wall[rules.num_tiles - 1 - sum(replaced) if shared else part]
                replaced[seat] += 1
                events.append({"type": "draw", "seat": seat, "tile": WALL_NAMES[row[place]]})
    return events


def _dealt(wall: list[int], dealer: int, rules: Rules) -> list[list[int]]:
    """Deals in blocks of four and then single tiles: the kinds of each seat as they came."""
    hands: list[list[int]] = [[] for _ in range(NUM_SEATS)]
    top = 0
    for size in [4] * (rules.hand_tiles // 4) + [1] * (rules.hand_tiles % 4):
        for turn in range(NUM_SEATS):
            hands[(dealer + turn) % NUM_SEATS] += wall[top : top + size]
            top += size
    hands[dealer].append(wall[top])
    return hands


def _end(
    first: State,
    last: State,
    settled: Sequence[np.ndarray],
    told: Event | None,
    rules: Rules,
) -> list[Event]:
    """Tells the wins and the end, from the values of `settle`."""
    ending = int(last.ending)
    robbed_flower = ending == st.EIGHTH_FLOWER_ROBBED and told
    giver = told["seat"] if robbed_flower else int(last.actor)
    winners = [seat for seat in range(NUM_SEATS) if _has_won(last, seat)]
    winners.sort(key=lambda seat: (seat - giver) % NUM_SEATS)
    wins = []
    for seat in winners:
        payer = giver if ending in _BY_ANOTHER else seat
        values = [part[seat] for part in settled]
        wins.append(_win(last, seat, payer, values, told, rules))
    points = [sum(win["payments"][seat] for win in wins) for seat in range(NUM_SEATS)]
    end: Event = {"type": "end_hand", "how": ENDINGS[ending], "points": points}
    if first.scores is not None:
        before = scores_before(first)
        end["scores"] = [old + new for old, new in zip(before, points, strict=True)]
    return [*wins, end]


def _has_won(last: State, seat: int) -> bool:
    """Tells whether a seat is among the winners of a finished hand."""
    others = 0 if last.winners is None or last.winner < 0 else int(last.winners)
    return int(last.winner) == seat or bool(others >> seat & 1)


def _win(
    last: State,
    seat: int,
    giver: int,
    values: Sequence[np.ndarray],
    told: Event | None,
    rules: Rules,
) -> Event:
    """Tells one win."""
    tai, points = values
    ending, dealer = int(last.ending), int(last.dealer)
    items = {item: int(n) for item, n in zip(score.ITEMS, tai.tolist(), strict=True) if n}
    total = score.capped(items, rules)
    dealer_items = score.dealers_items(dealer in (seat, giver), int(last.streak), rules)
    win: Event = {"type": "win", "seat": seat, "from": giver}
    if ending in (st.EIGHT_FLOWERS, st.EIGHTH_FLOWER_ROBBED):
        win |= {"tile": told["tile"]} if told else {}
    elif ending != st.FOUR_KONGS:
        win["tile"] = WALL_NAMES[int(last.drawn if ending == st.SELF_DRAW else last.pending)]
    return win | {
        "tai": items | dealer_items,
        "total": total + sum(dealer_items.values()),
        "payments": [int(n) for n in points.tolist()],
    }
