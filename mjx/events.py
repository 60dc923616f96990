"""A hand as events in the style of mjai, and the replay that they are made from.

An event is a dict of plain values with a `type`, ready for JSON; `docs/records.md` lists them.
Passes are no events: they follow from who is asked.

B = hands at once, N = decisions of a hand, E = length of a script, P = 4 seats.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, score, tiles
from mjx import state as st
from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.step import init_from_wall, step

Array = jax.Array
Event = dict[str, Any]

BLOCK = 64  # hands at once: one program a table, whatever the number of hands
CHUNK = 32  # steps at once
LONGEST = 1024  # more decisions than a hand can have

FLOWERS = tuple(f"f{i}" for i in range(1, 9))  # kinds 34-41 of a wall with flowers
TILES = tiles.NAMES + FLOWERS
WINDS = tiles.HONOURS[:4]
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


class Script(NamedTuple):
    """What is to be done in a hand, in order; the rest is filled with action -1."""

    seat: np.ndarray  # int32[E]  who does it; -1: whoever acts
    action: np.ndarray  # int32[E]
    drawn: np.ndarray  # bool[E]   a tile was drawn since the one before: it answers no question


class Played(NamedTuple):
    """A hand that was replayed."""

    states: State  # [N + 1, ...]  NumPy: before each decision, and the last one
    actions: np.ndarray  # int32[N]
    settled: tuple[np.ndarray, np.ndarray]  # of each seat as winner: tai, points; see `_settle`


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
        fields["scores"] = np.array(_scores_before(first))
    columns = (np.asarray(value).tolist() for value in fields.values())
    return [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)]


def start_fields(rules: Rules) -> tuple[str, ...]:
    """Names the fields of a state that say which hand was dealt, beside its rules."""
    fields = ("wall", "dealer", "round_wind", "streak")
    fields += ("dice_sum",) if rules.seat_wind_mode == "wall_break" else ()
    return fields + (("first_dealer", "scores") if rules.hand_mode == "match" else ())


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
def _settle(final: State, rules: Rules) -> tuple[Array, Array]:
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
        settled = jax.device_get(_settle(states, rules=rules))
        shown, done = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        for lane in range(len(block)):
            num = int((done[:, lane] >= 0).sum())
            yield Played(
                jax.tree.map(lambda leaf, n=num, i=lane: leaf[: n + 1, i].copy(), shown),
                done[:num, lane].copy(),
                (settled[0][lane], settled[1][lane]),
            )


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
        events.append({"type": "draw", "seat": drawer, "tile": TILES[kind]})
        if kind >= tiles.NUM_KINDS:
            events.append({"type": "flower", "seat": drawer, "tile": TILES[kind]})
    return events


def _act(before: _View, action: int) -> list[Event]:
    """Tells an action: one event, or none for a pass and a win, which is told at the end."""
    seat, kind = before.current_player, action % tiles.NUM_KINDS
    if action < actions.CONCEALED_KONG:
        is_drawn = kind == before.drawn
        return [{"type": "discard", "seat": seat, "tile": TILES[kind], "drawn": is_drawn}]
    if action < actions.CHOW_LOW:
        form = "concealed" if action < actions.ADDED_KONG else "added"
        return [{"type": "kong", "form": form, "seat": seat, "tile": TILES[kind]}]
    if action == actions.DECLARE_READY:
        return [{"type": "ready", "seat": seat}]
    if action > actions.OPEN_KONG:
        return []
    claimed = {"seat": seat, "from": before.actor, "tile": TILES[before.pending]}
    if action == actions.OPEN_KONG:
        return [{"type": "kong", "form": "open", **claimed}]
    if action == actions.PONG:
        return [{"type": "pong", **claimed}]
    lowest = before.pending - (action - actions.CHOW_LOW)
    others = [TILES[k] for k in range(lowest, lowest + 3) if k != before.pending]
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
    return rules.num_dealt + _sub_wall(rules) * seat + _fields(view.sub_draws)[seat]


def _tail(view: _View, seat: int, rules: Rules) -> int:
    """Finds where in the wall a seat's next replacement is."""
    if view.sub_replacements is None:
        return view.tail
    return (
        rules.num_dealt + _sub_wall(rules) * (seat + 1) - 1 - _fields(view.sub_replacements)[seat]
    )


def _sub_wall(rules: Rules) -> int:
    """Counts the tiles of one seat's part of a wall drawn in parts."""
    return (rules.num_tiles - rules.num_dealt) // NUM_SEATS


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
                events.append({"type": "flower", "seat": seat, "tile": TILES[kind]})
                exposed |= 1 << (8 * seat + kind - tiles.NUM_KINDS)
                if first.terminated and exposed == first.flowers:
                    return events
                part = rules.num_dealt + _sub_wall(rules) * (seat + 1) - 1 - replaced[seat]
                row[place] = wall[rules.num_tiles - 1 - sum(replaced) if shared else part]
                replaced[seat] += 1
                events.append({"type": "draw", "seat": seat, "tile": TILES[row[place]]})
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


def end_of(first: State, last: State, told: Event | None, rules: Rules) -> list[Event]:
    """Tells the wins and the end of one finished hand.

    Args:
      first: the state that it was dealt as.
      last: the state that it ended in.
      told: the event before, None without one.
      rules: the table's rules.
    """
    settled = jax.device_get(_settle(jax.tree.map(lambda leaf: leaf[None], last), rules=rules))
    return _end(first, jax.device_get(last), [part[0] for part in settled], told, rules)


def _end(
    first: State,
    last: State,
    settled: Sequence[np.ndarray],
    told: Event | None,
    rules: Rules,
) -> list[Event]:
    """Tells the wins and the end, from the values of `_settle`."""
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
        before = _scores_before(first)
        end["scores"] = [old + new for old, new in zip(before, points, strict=True)]
    return [*wins, end]


def _scores_before(first: State) -> list[int]:
    """Gives the scores that a hand began with: its deal may have been paid for already."""
    assert first.scores is not None
    return (np.asarray(first.scores) - np.asarray(first.rewards, np.int64)).tolist()


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
    total = total_of(items, rules)
    dealer_items = dealers_items(dealer in (seat, giver), int(last.streak), rules)
    win: Event = {"type": "win", "seat": seat, "from": giver}
    if ending in (st.EIGHT_FLOWERS, st.EIGHTH_FLOWER_ROBBED):
        win |= {"tile": told["tile"]} if told else {}
    elif ending != st.FOUR_KONGS:
        win["tile"] = TILES[int(last.drawn if ending == st.SELF_DRAW else last.pending)]
    return win | {
        "tai": items | dealer_items,
        "total": total + sum(dealer_items.values()),
        "payments": [int(n) for n in points.tolist()],
    }


def total_of(items: dict[str, int], rules: Rules) -> int:
    """Adds up the tai of a hand, without the dealer's; the cap holds for these."""
    total = sum(items.values())
    return total if rules.tai_cap is None else min(total, rules.tai_cap)


def dealers_items(is_dealer_in: bool, streak: int, rules: Rules) -> dict[str, int]:
    """Gives the dealer's items of a win: empty unless the winner or the one payer deals."""
    if rules.streak_cap is not None:
        streak = min(streak, rules.streak_cap)
    items = {"dealer": 1, "dealer_streak": 2 * streak} if is_dealer_in else {}
    return {item: tai for item, tai in items.items() if tai}


def _blocks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Splits rows into blocks, the last one filled up with its last row."""
    for start in range(0, len(rows), BLOCK):
        block = list(rows[start : start + BLOCK])
        yield block + block[-1:] * (BLOCK - len(block))
