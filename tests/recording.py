"""A hand of the reference written down decision by decision, for comparing it in bulk.

N = decisions and the end, P = 4 seats, T = 34 kinds, A = 110 actions. Imports no JAX, so that what
is written here cannot come from the game that is compared.
"""

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tests.oracle import actions, legal, walls
from tests.oracle.game import Game
from tests.oracle.players import PLAIN, STYLES, Style, choose
from tests.oracle.rules import Rules
from tests.oracle.score import ITEM_ORDER, Items

NUM_ACTIONS = 110
FORMS = ("chow", "pong", "kong", "ankong")
DRAWN_AS = {"draw": 0, "own_kong": 1, "open_kong": 2, "flower": 3}
# Wins that need no complete hand, told apart from others by their only item.
SPECIAL = ("sigangpai", "baxian", "qiqiangyi")
DEFAULT_RULES = Rules()

Snapshot = dict[str, np.ndarray]


class Recording(NamedTuple):
    """One hand."""

    seed: int
    rules: Rules
    wall: list[int]
    dealer: int
    round_wind: int
    streak: int
    dice_sum: int
    first_dealer: int  # of the match
    scores: list[int]  # of the match so far
    actions: list[int]
    snapshots: Snapshot  # each [N, ...], before each action and after the last
    history: list[tuple[int, int, bool]]  # seat, kind, drawn just before
    claimed_at: dict[int, int]  # which entries of the history were claimed, by which decision
    rewards: list[int]
    winners: list[int]  # the first in turn order first
    ending: str | None  # how it was won, or one of `SPECIAL`
    items: dict[int, Items]  # of each winner
    events: Counter

    @property
    def winner(self) -> int:
        """The first winner, -1 without one."""
        return self.winners[0] if self.winners else -1


def record(seed: int, rules: Rules = DEFAULT_RULES) -> Recording:
    """Plays one hand: of ten seeds five on random and rich walls by seats that play to win.

    The other half brings about what play by itself hardly meets: a kong that can be robbed (seeds
    that end in 7), and the walls and players of `_rare`.
    """
    rng = random.Random(seed)
    dealer, opening = rng.randrange(4), []
    styles: Sequence[Style] = [dataclasses.replace(PLAIN, win=rng.choice((0.2, 0.6, 1.0)))] * 4
    turn = seed % 10
    if turn == 7:
        wall, first = walls.robbery_wall(rng, dealer, rules)
        opening = [first]
    elif turn in (1, 4, 5, 8):
        wall, opening, styles = _rare(rng, dealer, rules)
    else:
        wall = walls.rich_wall(seed, rules) if seed % 2 else walls.random_wall(seed, rules)
    numbers = rng.randrange(4), rng.choice((0, 0, 1, 2, 3, 12))
    game = Game(wall, dealer, *numbers, rules, dice_sum=sum(rng.choices(range(1, 7), k=3)))
    first_dealer = rng.randrange(4)
    scores = [100 * rng.randrange(-99, 100) for _ in range(4)]

    def choose_action(game: Game) -> int:
        if opening and not game.has_call and opening[0] in game.legal_actions():
            return opening.pop()
        return choose(game, rng, styles[game.current_player])

    hand = record_game(seed, wall, game, choose_action)
    return hand._replace(first_dealer=first_dealer, scores=scores)


def _rare(
    rng: random.Random, dealer: int, rules: Rules
) -> tuple[list[int], list[int], list[Style]]:
    """Draws a wall and players for what is rare: a wall, first discards, a style for each seat."""
    kinds = ["ready", "ready", "end", "end", "shared wait", "four kongs", "random", "rich"]
    if rules.n_flowers:
        kinds += ["flowers", "late flowers"]
    kind = rng.choice(kinds)
    opening: list[int] = []
    styles = list(rng.choices(list(STYLES.values()), k=4))
    if rng.random() < 0.5:
        styles = styles[:1] * 4
    if kind == "ready":
        wall = walls.ready_wall(rng, dealer, rules)
    elif kind == "end":
        wall = walls.ready_wall(rng, dealer, rules)
        late = ("waits for the end", "waits for the end", "late kongs")
        styles = [STYLES[rng.choice(late)] for _ in range(4)]
    elif kind == "shared wait":
        wall, tile = walls.shared_wait_wall(rng, dealer, rules)
        opening = [tile]
        styles = [STYLES[rng.choice(("winner", "winner", "plain"))]] * 4
    elif kind == "four kongs":
        wall = walls.four_kongs_wall(rng, dealer, rules)
        styles[dealer] = STYLES["kongs"]
    elif kind == "flowers":
        wall = walls.flowers_wall(rng, dealer, rules)
    elif kind == "late flowers" and rules.wall_mode == "shared":
        wall = walls.late_flowers_wall(rng, dealer, rules)
        styles = [STYLES[rng.choice(("never wins", "waits for the end"))] for _ in range(4)]
    else:
        seed = rng.randrange(2**32)
        wall = walls.rich_wall(seed, rules) if kind == "rich" else walls.random_wall(seed, rules)
    return wall, opening, styles


def record_game(
    seed: int, wall: list[int], game: Game, choose_action: Callable[[Game], int]
) -> Recording:
    """Plays a dealt game to its end and writes it down."""
    played, claimed_at, events = [], {}, Counter()
    table = _Table()
    table.write(game)
    while not game.terminated:
        action = choose_action(game)
        events.update(_events_before(game, action))
        if actions.CHOW_LOW <= action <= actions.OPEN_KONG:
            claimed_at[len(game.history) - 1] = len(played) + 1
        num_flowers = _num_flowers(game)
        game.step(action)
        played.append(action)
        table.write(game)
        events["flower drawn"] += _num_flowers(game) > num_flowers
        if game.terminated and not game.winners and _num_flowers(game) > num_flowers:
            events["flower as the last tile"] += 1
    items = game.tai_items_by_seat
    special = [name for own in items.values() for name in own if name in SPECIAL]
    ending = special[0] if special else game.win_by
    events.update(_events_of_end(game, ending))
    return Recording(
        seed,
        game.rules,
        wall,
        game.dealer,
        game.round_wind,
        game.streak,
        game.dice_sum,
        0,
        [0] * 4,
        played,
        table.snapshots(),
        game.history,
        claimed_at,
        game.rewards,
        game.winners,
        ending,
        items,
        events,
    )


def record_actions(game: Game, wall: list[int], played: Sequence[int]) -> Recording:
    """Writes down a dealt game that begins with given actions and goes on by the plain player."""
    rng, script = random.Random(0), list(played)

    def choose_action(game: Game) -> int:
        return script.pop(0) if script else choose(game, rng)

    return record_game(0, wall, game, choose_action)


class _Table:
    """Gathers what the table is like before each decision, all seats absolute."""

    def __init__(self) -> None:
        self._bytes: dict[str, list[bytes]] = {name: [] for name in SHAPES}
        self._numbers: list[tuple[int, ...]] = []

    def write(self, game: Game) -> None:
        """Adds the present moment."""
        melds = bytearray(4 * len(FORMS) * 34)
        for seat, own in enumerate(game.melds):
            for form, kind in own:
                melds[(seat * len(FORMS) + FORMS.index(form)) * 34 + kind] += 1
        flowers = bytearray(32)
        for seat, own in enumerate(game.flowers):
            for flower in own:
                flowers[8 * seat + flower - 1] = 1
        mask, left = bytearray(NUM_ACTIONS), bytearray(42)
        for action in game.legal_actions():
            mask[action] = 1
        for kind in game.wall.left():
            left[kind] += 1
        rows = {
            "hands": b"".join(map(bytes, game.hands)),
            "melds": melds,
            "rivers": b"".join(map(bytes, game.rivers)),
            "left": left,
            "flowers": flowers,
            "mask": mask,
            "locked": bytes(game.locked),
            "ready": bytes(READY.index(declared) for declared in game.ready),
        }
        for name, row in rows.items():
            self._bytes[name].append(row)
        question = game.question
        about = None if question is None else question.about
        is_asked = about not in (None, "ready")
        is_on_turn = question is None and game.drawn is not None and not game.terminated
        self._numbers.append(
            (
                game.terminated,
                game.drawable,
                game.current_player,
                -1 if game.drawn is None else game.drawn,
                len(game.history),
                game.given if is_asked else -1,
                game.giver if is_asked else -1,
                is_asked and game.giving_by == "rob_kong",
                about == "ready",
                DRAWN_AS[game.drawn_as] if is_on_turn else 0,
            )
        )

    def snapshots(self) -> Snapshot:
        """Puts the moments together."""
        found = {}
        for name, (kind, *shape) in SHAPES.items():
            rows = bytearray(b"".join(self._bytes[name]))  # may be written to
            found[name] = np.frombuffer(rows, kind).reshape(-1, *shape)
        columns = np.array(self._numbers, np.int64).T.copy()
        found |= dict(zip(NUMBERS, columns, strict=True))
        return found | {name: found[name] > 0 for name in ("terminated", "robbing", "asks_ready")}


SHAPES = {
    "hands": (np.int8, 4, 34),
    "melds": (np.int8, 4, len(FORMS), 34),
    "rivers": (np.int8, 4, 34),
    "left": (np.int8, 42),
    "flowers": (np.bool_, 4, 8),
    "mask": (np.bool_, NUM_ACTIONS),
    "locked": (np.bool_, 4),
    "ready": (np.int8, 4),
}
READY = ("", "tianting", "diting")
NUMBERS = (
    *("terminated", "drawable", "current_player", "drawn", "num_discards", "pending"),
    *("pending_seat", "robbing", "asks_ready", "replacement"),
)


def _num_flowers(game: Game) -> int:
    """Counts the flowers laid down."""
    return sum(map(len, game.flowers))


def _events_before(game: Game, action: int) -> list[str]:
    """Names what is rare about a decision and about the choices that led to it."""
    options, seat, rules = game.legal_actions(), game.current_player, game.rules
    found = []
    if actions.WIN in options and action != actions.WIN:
        found.append("passed win" if action == actions.PASS else "declined self-draw")
        if action == actions.PASS and game.giving_by == "rob_kong":
            found.append("passed robbery")
    if actions.CONCEALED_KONG <= action < actions.ADDED_KONG:
        found.append("concealed kong")
        if game.ready[seat]:
            found.append("concealed kong when ready")
    elif actions.ADDED_KONG <= action < actions.CHOW_LOW:
        found.append("added kong")
    elif actions.CHOW_LOW <= action <= actions.OPEN_KONG:
        found.append("chow" if action <= actions.CHOW_HIGH else "pong")
        if action == actions.OPEN_KONG:
            found[-1] = "open kong"
    if found and found[-1].endswith("kong") and game.drawable == 1 + rules.reserve_per_kong:
        found.append("kong with the last tile")
    if action == actions.DECLARE:
        found.append("declared ready")
    if game.question is not None:
        if game.question.about == "pong" and game.hands[seat][game.given] == 3:
            found += _kong_refused(game)
        return found
    hand = game.hands[seat]
    if game.drawn is None:
        if any(hand[kind] for kind in game.barred):
            found.append("discard barred")
        return found
    if 4 in hand or any(form == "pong" and hand[kind] for form, kind in game.melds[seat]):
        found += _kong_refused(game)
    if actions.WIN not in options and legal.is_complete(game, seat, hand):
        if game.locked[seat]:
            found.append("no win: locked")
        elif game.is_win_barred:
            found.append("no win: open kong")
        else:
            found.append("no win: too few tai")
    return found


def _kong_refused(game: Game) -> list[str]:
    """Names why the wall allows no kong, if it does not."""
    if game.drawable == 0:
        return ["no kong: nothing left"]
    if game.drawable < 1 + game.rules.reserve_per_kong:
        return ["no kong: reserve"]
    return []


def _events_of_end(game: Game, ending: str | None) -> list[str]:
    """Names how a hand ended."""
    if not game.winners:
        is_dry = game.drawable > 0
        return ["drawn", *(["drawn: own wall empty"] if is_dry else [])]
    found = [ending, *(item for items in game.tai_items_by_seat.values() for item in items)]
    if len(game.winners) > 1:
        found.append(f"{len(game.winners)} winners")
    rules = game.rules
    if rules.streak_cap is not None and game.streak > rules.streak_cap:
        found.append("streak capped")
    totals = [sum(items.values()) for items in game.tai_items_by_seat.values()]
    if rules.tai_cap is not None and max(totals) > rules.tai_cap:
        found.append("tai capped")
    return found


# What a long comparison under all rules has to meet.
RARE = (
    *("drawn", "self_draw", "discard", "rob_kong", "2 winners", "3 winners", "passed win"),
    *("passed robbery", "declined self-draw", "concealed kong", "added kong", "open kong"),
    *("concealed kong when ready", "declared ready", "kong with the last tile"),
    *("no kong: nothing left", "no kong: reserve", "no win: locked", "no win: open kong"),
    *("no win: too few tai", "discard barred", "flower drawn", "flower as the last tile"),
    *("drawn: own wall empty", "streak capped", "tai capped"),
    *ITEM_ORDER,
)
