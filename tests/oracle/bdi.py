"""The BDI robot of Xu and Zhu (2017) in plain Python: lists of tiles, as the paper writes them.

A tile is (suit, value): suits 0 characters, 1 bamboo, 2 dots, 3 honours, values from 1. A list `Ar`
holds (value, step): the step that put the tile there says how dear it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracle import actions
from tests.oracle.tiles import NUM_KINDS

Tile = tuple[int, int]
TakeOut = tuple[int, int]
Arranged = list[tuple[int, int]]

HONOURS = 3
PAIR, LONE_RUN, TRIPLET, RUN, LIVE_PAIR, NEIGHBOURS, GAP, DEAD_PAIR, SINGLE = range(9)
NEVER = (14, 14)
NO_GAIN = -99
_PAPER_SUIT = (0, 2, 1, 3)  # of the game's characters, dots, bamboo, honours


@dataclass(frozen=True)
class Robot:
    """The readings of the paper, and the temperament."""

    partial_runs: bool = False
    filter_weight: int = 1
    empty_goals: bool = False
    temper: float = 0.0


@dataclass(frozen=True)
class Decision:
    """What the robot sees: counts by the game's kinds."""

    hand: Sequence[int]
    unseen: Sequence[int]
    on_table: Sequence[int]
    pending: int
    drawable: int
    legal: frozenset[int]


@dataclass
class State:
    """One suit."""

    tiles: list[int]
    ar: Arranged
    p: TakeOut
    ar_pair: Arranged
    p_pair: TakeOut
    pair: list[int]  # what was set aside


@dataclass
class Thought:
    """All that the robot went through."""

    states: list[State]
    bits: int
    pwin: list[TakeOut]
    goal: int  # -1 without one
    throw: list[list[int]]
    take: list[int]
    wanted: list[set[int]]
    gains: dict[int, int] = field(default_factory=dict)
    action: int = -1


def tile_of(kind: int) -> Tile:
    """Writes one of the game's kinds as suit and value."""
    return _PAPER_SUIT[kind // 9], kind % 9 + 1


def kind_of(tile: Tile) -> int:
    """Writes suit and value as one of the game's kinds."""
    suit, value = tile
    return 9 * _PAPER_SUIT.index(suit) + value - 1


def rearrange(
    tiles: list[int], unseen: dict[int, int], is_number: bool, partial_runs: bool
) -> tuple[Arranged, TakeOut]:
    """Orders the tiles of a suit and counts what must leave and what is needed."""
    left = sorted(tiles)
    ar: Arranged = []
    out = take = 0

    def move(group: Sequence[int], step: int) -> None:
        for value in group:
            left.remove(value)
            ar.append((value, step))

    if is_number:
        for low in range(1, 8):
            if all(left.count(low + i) == 1 for i in range(3)):
                move((low, low + 1, low + 2), LONE_RUN)
    for value in range(1, 10):
        if left.count(value) >= 3:
            move([value] * 3, TRIPLET)
    if is_number:
        for low in range(1, 8):
            while all(low + i in left for i in range(3)):
                move((low, low + 1, low + 2), RUN)
    for value in range(1, 10):
        if left.count(value) == 2 and unseen[value]:
            move([value] * 2, LIVE_PAIR)
            take += 1
    if is_number and partial_runs:
        for step, width in ((NEIGHBOURS, 1), (GAP, 2)):
            for low in range(1, 10 - width):
                around = (low - 1, low + 2) if width == 1 else (low + 1,)
                if any(unseen.get(value, 0) for value in around):
                    while low in left and low + width in left:
                        move((low, low + width), step)
                        take += 1
    for value in range(1, 10):
        if left.count(value) == 2:
            move([value] * 2, DEAD_PAIR)
            out += 2
    for value in sorted(left, key=lambda value: (-unseen[value], value)):
        move([value], SINGLE)
        out += 1
    return ar, (out, take)


def state_of(suit: int, tiles: list[int], unseen: dict[int, int], robot: Robot) -> State:
    """Finds the quintuple of a suit."""
    is_number = suit != HONOURS
    ar, p = rearrange(tiles, unseen, is_number, robot.partial_runs)
    best: tuple[Arranged, TakeOut, list[int]] = ([], NEVER if tiles else (0, 0), [])
    for value in sorted(set(tiles)):
        held = tiles.count(value)
        if held == 1 and not unseen[value]:
            continue
        for aside in range(1, min(held, 2) + 1):
            rest = list(tiles)
            for _ in range(aside):
                rest.remove(value)
            ar_rest, (out, take) = rearrange(rest, unseen, is_number, robot.partial_runs)
            candidate = (out, take + 2 - aside)
            if _is_greater(best[1], candidate):
                best = (ar_rest, candidate, [value] * aside)
    return State(tiles, ar, p, best[0], best[1], best[2])


def _is_greater(one: TakeOut, other: TakeOut) -> bool:
    """Compares two take-out pairs."""
    return one[0] + 2 * one[1] > other[0] + 2 * other[1]


def think(seen: Decision, robot: Robot) -> Thought:
    """Goes through a whole decision."""
    unseen = _unseen_by_suit(seen.unseen)
    states = _states(seen.hand, unseen, robot)
    pwin = _pwin(states)
    bits = 0
    for suit in range(4):
        is_kept = bool(states[suit].tiles) or robot.empty_goals
        if robot.temper < 0 and -robot.temper * sum(pwin[suit]) > seen.drawable // 4:
            is_kept = False
        bits |= is_kept << suit
    goal = -1
    for suit in range(4):
        if bits >> suit & 1 and (goal < 0 or _far(pwin[suit], robot) < _far(pwin[goal], robot)):
            goal = suit
    thought = Thought(states, bits, pwin, goal, *_intentions(states, goal, unseen))
    thought.gains = {
        action: _gain(seen, action, thought, robot)
        for action in seen.legal
        if actions.CONCEALED_KONG <= action < actions.WIN
    }
    thought.action = _act(seen, thought, robot)
    return thought


def _far(pair: TakeOut, robot: Robot) -> int:
    """Measures how far a goal is."""
    return pair[0] + robot.filter_weight * pair[1]


def _unseen_by_suit(unseen: Sequence[int]) -> list[dict[int, int]]:
    """Sorts the uncertain tiles by suit and value."""
    by_suit: list[dict[int, int]] = [{}, {}, {}, {}]
    for kind in range(NUM_KINDS):
        suit, value = tile_of(kind)
        by_suit[suit][value] = unseen[kind]
    return by_suit


def _states(hand: Sequence[int], unseen: list[dict[int, int]], robot: Robot) -> list[State]:
    """Finds the state set of a hand."""
    tiles: list[list[int]] = [[], [], [], []]
    for kind in range(NUM_KINDS):
        suit, value = tile_of(kind)
        tiles[suit] += [value] * hand[kind]
    return [state_of(suit, tiles[suit], unseen[suit], robot) for suit in range(4)]


def _pwin(states: list[State]) -> list[TakeOut]:
    """Adds up what each goal still takes."""
    found = []
    for goal in range(4):
        pairs = [s.p_pair if suit == goal else s.p for suit, s in enumerate(states)]
        found.append((sum(out for out, _ in pairs), sum(take for _, take in pairs)))
    return found


def _intentions(
    states: list[State], goal: int, unseen: list[dict[int, int]]
) -> tuple[list[list[int]], list[int], list[set[int]]]:
    """Lists what to throw, how many tiles to obtain, and which would do."""
    throw: list[list[int]] = [[], [], [], []]
    take = [0, 0, 0, 0]
    wanted: list[set[int]] = [set(), set(), set(), set()]
    if goal < 0:
        return throw, take, wanted
    for suit, state in enumerate(states):
        ar, p = (state.ar_pair, state.p_pair) if suit == goal else (state.ar, state.p)
        tail = ar[max(len(ar) - p[0], 0) :]
        throw[suit] = sorted(value for value, _ in tail)
        take[suit] = p[1]
        wishes = {value for value, step in ar if step == LIVE_PAIR}
        for step in (NEIGHBOURS, GAP):
            group = [value for value, where in ar if where == step]
            for low, high in zip(group[::2], group[1::2], strict=True):
                wishes |= {low - 1, high + 1} if step == NEIGHBOURS else {low + 1}
        if suit == goal and len(state.pair) == 1:
            wishes |= set(state.pair)
        wanted[suit] = {value for value in wishes if unseen[suit].get(value, 0)}
    return throw, take, wanted


def _gain(seen: Decision, action: int, thought: Thought, robot: Robot) -> int:
    """Says by how much a chow, pong or kong lowers what the chosen goal takes."""
    if thought.goal < 0:
        return NO_GAIN
    hand = list(seen.hand)
    if action < actions.CHOW_LOW:
        hand[action % NUM_KINDS] = 0
    elif action >= actions.PONG:
        hand[seen.pending] -= 2 if action == actions.PONG else 3
    else:
        low = actions.chow_lowest(action, seen.pending)
        for kind in range(low, low + 3):
            hand[kind] -= kind != seen.pending
    states = _states(hand, _unseen_by_suit(seen.unseen), robot)
    if not states[thought.goal].tiles and not robot.empty_goals:
        return NO_GAIN
    before, after = thought.pwin[thought.goal], _pwin(states)[thought.goal]
    return _far(before, robot) - _far(after, robot)


def _act(seen: Decision, thought: Thought, robot: Robot) -> int:
    """Matches what is wanted with what is legal."""
    for always in (actions.WIN, actions.DECLARE):
        if always in seen.legal:
            return always
    good = [
        action
        for action, gain in thought.gains.items()
        if gain > NO_GAIN and gain >= 1 - robot.temper
    ]
    if good:
        return min(good, key=lambda action: (-thought.gains[action], action))
    if actions.PASS in seen.legal:
        return actions.PASS
    discards = [tile_of(action) for action in sorted(seen.legal) if action < NUM_KINDS]
    if thought.goal < 0:
        return min(map(kind_of, discards), key=lambda kind: (_danger(seen, kind), kind))
    wishes = [tile for tile in discards if tile[1] in thought.throw[tile[0]]]
    order = _order(thought, _unseen_by_suit(seen.unseen))
    return kind_of(max(wishes or discards, key=lambda tile: order[tile]))


def _order(thought: Thought, unseen: list[dict[int, int]]) -> dict[Tile, tuple[int, ...]]:
    """Ranks the tiles of the whole hand: what is highest is thrown first."""
    order: dict[Tile, tuple[int, ...]] = {}
    for suit, state in enumerate(thought.states):
        for value in state.tiles:  # unless `Ar` says otherwise below
            order[suit, value] = (PAIR, 0, suit, value)
        for place, (value, step) in enumerate(state.ar_pair if suit == thought.goal else state.ar):
            rarer = 4 - unseen[suit][value] if step == SINGLE else 0
            order[suit, value] = (step, rarer, suit, place)
    return order


def _danger(seen: Decision, kind: int) -> int:
    """Counts the pairs of uncertain tiles that the tile would complete, less if it was passed."""
    copies = seen.unseen[kind]
    ways = copies * (copies - 1) // 2
    for low in range(kind - 2, kind + 1):
        others = [k for k in range(low, low + 3) if k != kind]
        if kind < 27 and low >= 0 and low // 9 == (low + 2) // 9 == kind // 9:
            ways += seen.unseen[others[0]] * seen.unseen[others[1]]
    return 8 * ways // 2 ** seen.on_table[kind]
