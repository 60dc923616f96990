"""A hand of the reference written down decision by decision, for comparing it in bulk.

N = decisions and the end, P = 4 seats, T = 34 kinds, A = 110 actions. Imports no JAX, so that what
is written here cannot come from the game that is compared.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.players import choose
from tests.oracle.tiles import parse
from tests.oracle.walls import random_wall, rich_wall, wall_with

NUM_ACTIONS = 110
FORMS = ("chow", "pong", "kong", "ankong")
DRAWN_AS = {"draw": 0, "own_kong": 1, "open_kong": 2}

Snapshot = dict[str, np.ndarray]


class Recording(NamedTuple):
    """One hand."""

    seed: int
    wall: list[int]
    dealer: int
    round_wind: int
    streak: int
    actions: list[int]
    snapshots: Snapshot  # each [N, ...], before each action and after the last
    history: list[tuple[int, int, bool]]  # seat, kind, drawn just before
    claimed_at: dict[int, int]  # which entries of the history were claimed, by which decision
    rewards: list[int]
    winner: int  # -1 without one
    win_by: str | None
    events: Counter


def record(seed: int) -> Recording:
    """Plays one hand: a random wall for even seeds, a rich one for odd, and now and then a robbery.

    Of ten seeds one deals a kong that can be robbed, which play by itself meets in one hand of a
    thousand; there the dealer begins with the tile that is to be ponged.
    """
    rng = random.Random(seed)
    dealer, opening = rng.randrange(4), []
    if seed % 10 == 7:
        wall, first = robbery_wall(rng, dealer)
        opening = [first]
    else:
        wall = rich_wall(seed) if seed % 2 else random_wall(seed)
    game = Game(wall, dealer, rng.randrange(4), rng.randrange(3))
    win_rate = rng.choice((0.2, 0.6, 1.0))

    def choose_action(game: Game) -> int:
        return opening.pop() if opening else choose(game, rng, win_rate)

    return record_game(seed, wall, game, choose_action)


def robbery_wall(rng: random.Random, dealer: int) -> tuple[list[int], int]:
    """Deals a pong to the seat after the dealer, its fourth tile, and a seat that waits for it.

    Returns:
      The wall, and the kind that the dealer draws first and should discard.
    """
    first, second, third = rng.sample("mps", 3)
    near, far = rng.sample("ESWNCFP", 2)
    rank = rng.randrange(2, 9)
    ready = f"{rank - 1}{rank + 1}{first} 123456789{second} 123{third} {near}{far}"
    hands = ["", f"{rank}{rank}{first}", ready, ""]  # by place from the dealer
    by_seat = [hands[(seat - dealer) % 4] for seat in range(4)]
    tile = f"{rank}{first}"
    others = [n for n in "ESWNCFP" if n not in (near, far)]
    # After the pong the draws go to places 2, 3, 0 and then to the kong's seat.
    draws = f"{tile} {near} {others[0]} {others[1]} {tile}"
    wall = wall_with(by_seat, draws, dealer=dealer, seed=rng.randrange(2**32))
    return wall, parse(tile)


def record_game(
    seed: int, wall: list[int], game: Game, choose_action: Callable[[Game], int]
) -> Recording:
    """Plays a dealt game to its end and writes it down."""
    played, rows, claimed_at, events = [], [snapshot(game)], {}, Counter()
    while not game.terminated:
        action = choose_action(game)
        events.update(_events_of(game, action))
        if actions.CHOW_LOW <= action <= actions.OPEN_KONG:
            claimed_at[len(game.history) - 1] = len(played) + 1
        game.step(action)
        played.append(action)
        rows.append(snapshot(game))
    events.update(game.tai_items.keys())
    events[game.win_by or "drawn"] += 1
    return Recording(
        seed,
        wall,
        game.dealer,
        game.round_wind,
        game.streak,
        played,
        {name: np.array([row[name] for row in rows]) for name in rows[0]},
        game.history,
        claimed_at,
        game.rewards,
        -1 if game.winner is None else game.winner,
        game.win_by,
        events,
    )


def snapshot(game: Game) -> Snapshot:
    """Writes down what the table is like, all seats absolute."""
    is_asked = not game.terminated and game.drawn is None and game.current_player != game.actor
    mask = np.zeros(NUM_ACTIONS, bool)
    mask[game.legal_actions()] = True
    melds = np.zeros((4, len(FORMS), 34), np.int8)
    for seat, own in enumerate(game.melds):
        for form, kind in own:
            melds[seat, FORMS.index(form), kind] += 1
    is_on_turn = not is_asked and game.drawn is not None
    return {
        "terminated": np.array(game.terminated),
        "hands": np.array(game.hands, np.int8),
        "melds": melds,
        "rivers": np.array(game.rivers, np.int8),
        "left": np.bincount(game.wall.left(), minlength=34).astype(np.int8),
        "locked": np.array(game.locked),
        "drawable": np.array(game.drawable),
        "current_player": np.array(game.current_player),
        "drawn": np.array(-1 if game.drawn is None else game.drawn),
        "mask": mask,
        "num_discards": np.array(len(game.history)),
        "pending": np.array(game.given if is_asked else -1),
        "pending_seat": np.array(game.giver if is_asked else -1),
        "robbing": np.array(is_asked and game.giving_by == "rob_kong"),
        "replacement": np.array(DRAWN_AS[game.drawn_as] if is_on_turn else 0),
    }


def _events_of(game: Game, action: int) -> list[str]:
    """Names what is rare about a decision."""
    found = []
    if actions.WIN in game.legal_actions() and action != actions.WIN:
        found.append("passed win" if action == actions.PASS else "declined self-draw")
        if action == actions.PASS and game.giving_by == "rob_kong":
            found.append("passed robbery")
    if actions.CONCEALED_KONG <= action < actions.ADDED_KONG:
        found.append("concealed kong")
    elif actions.ADDED_KONG <= action < actions.CHOW_LOW:
        found.append("added kong")
    elif actions.CHOW_LOW <= action <= actions.OPEN_KONG:
        found.append("chow" if action <= actions.CHOW_HIGH else "pong")
        if action == actions.OPEN_KONG:
            found[-1] = "open kong"
    return found
