"""Simple players whose games meet what random play does not: wins, passed wins, robbed kongs.

A `Style` says what a player is after. The plain one plays to win; the others bring about what is
rare among players who do.
"""

import random
from dataclasses import dataclass

from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.hand import deficiency
from tests.oracle.legal import tiles_given
from tests.oracle.tiles import FIRST_HONOR

_SHORTLIST = 5  # discards whose hands are looked at closely


@dataclass(frozen=True)
class Style:
    """How often a player does what it may do, each a chance from 0 to 1."""

    win: float = 0.6  # the passed wins test the lock
    last_win: float = 0.0  # the same with the last tile; the higher counts there
    kong: float = 0.7
    last_kong: float = 0.0  # the same with at most two tiles left
    call: float = 0.0  # chows and pongs that do not bring the hand nearer
    declare: float = 0.5
    whim: float = 0.05  # any legal action
    aim: str = "nearest"  # or "triplets", "flush", or "drawn": throws what it drew


PLAIN = Style()
STYLES = {
    "plain": PLAIN,
    "winner": Style(win=1.0, whim=0.0),
    "passer": Style(win=0.2),
    "never wins": Style(win=0.0, kong=0.3),
    "kongs": Style(win=0.3, kong=1.0, aim="triplets", whim=0.0),
    "late kongs": Style(win=0.1, kong=0.0, last_kong=1.0, aim="drawn", whim=0.0),
    "triplets": Style(win=0.9, aim="triplets"),
    "flush": Style(win=0.9, aim="flush", whim=0.02),
    "calls": Style(win=0.5, call=0.8),
    "declares": Style(win=0.9, kong=0.9, declare=1.0, whim=0.0),
    "waits": Style(win=0.9, kong=0.3, declare=0.7, aim="drawn", whim=0.0),
    "waits for the end": Style(win=0.0, last_win=1.0, kong=0.1, declare=0.3, aim="drawn", whim=0.0),
    "random": Style(whim=1.0),
}


def choose(game: Game, rng: random.Random, style: Style = PLAIN) -> int:
    """Chooses an action.

    Args:
      game: the game, which is not changed.
      rng: decides what the style leaves open, and between equal discards.
      style: the player of the seat that acts.

    Returns:
      The id of a legal action of the current player.
    """
    options = game.legal_actions()
    if rng.random() < style.whim:
        return rng.choice(options)
    win_rate = max(style.win, style.last_win if game.drawable == 0 else 0.0)
    if actions.WIN in options and rng.random() < win_rate:
        return actions.WIN
    kongs = [a for a in options if 34 <= a < 102 or a == actions.OPEN_KONG]
    kong_rate = max(style.kong, style.last_kong if game.drawable <= 2 else 0.0)
    if kongs and rng.random() < kong_rate:
        return rng.choice(kongs)
    if actions.DECLARE in options:
        return actions.DECLARE if rng.random() < style.declare else actions.PASS
    if actions.PASS in options:
        return _claim(game, rng, style, options)
    return _discard(game, rng, style, [a for a in options if a < actions.CONCEALED_KONG])


def _claim(game: Game, rng: random.Random, style: Style, options: list[int]) -> int:
    """Takes the first chow or pong that brings the hand nearer, else mostly passes."""
    calls = [a for a in options if actions.CHOW_LOW <= a <= actions.PONG]
    if calls and rng.random() < style.call:
        return rng.choice(calls)
    if style.aim == "drawn" or not calls:
        return actions.PASS
    if style.aim == "triplets":
        return actions.PONG if actions.PONG in calls else actions.PASS
    seat = game.current_player
    if style.aim == "flush" and game.given // 9 not in (_best_suit(game.hands[seat]), 3):
        return actions.PASS
    now = _distance(game, game.hands[seat], len(game.melds[seat]))
    for action in calls:
        hand = list(game.hands[seat])
        for tile in tiles_given(action, game.given):
            hand[tile] -= 1
        if _distance(game, hand, len(game.melds[seat]) + 1) < now:
            return action
    return actions.PASS


def _discard(game: Game, rng: random.Random, style: Style, kinds: list[int]) -> int:
    """Throws the drawn tile, or of the loosest tiles one without which the hand is nearest."""
    if style.aim == "drawn" and game.drawn in kinds:
        return game.drawn
    hand = game.hands[game.current_player]
    rng.shuffle(kinds)
    if style.aim == "triplets":
        return min(kinds, key=lambda kind: hand[kind])
    if style.aim == "flush":
        best = _best_suit(hand)
        strangers = [kind for kind in kinds if kind // 9 not in (best, 3)]
        kinds = strangers or kinds
    loosest = sorted(kinds, key=lambda kind: _ties(hand, kind))[:_SHORTLIST]
    return min(loosest, key=lambda kind: _after_discard(game, kind))


def _ties(hand: list[int], kind: int) -> int:
    """Tells roughly how much a hand would miss a tile: copies and neighbours in the suit."""
    ties = 3 * hand[kind]
    if kind < FIRST_HONOR:
        low, high = max(kind - 2, kind - kind % 9), min(kind + 2, kind - kind % 9 + 8)
        ties += sum(3 - abs(near - kind) for near in range(low, high + 1) if hand[near])
    return ties


def _best_suit(hand: list[int]) -> int:
    """Finds the suit of which a hand holds the most tiles."""
    return max(range(3), key=lambda suit: sum(hand[9 * suit : 9 * suit + 9]))


def _after_discard(game: Game, kind: int) -> int:
    """Tells how far the current player's hand is from complete after a discard."""
    seat = game.current_player
    hand = list(game.hands[seat])
    hand[kind] -= 1
    return _distance(game, hand, len(game.melds[seat]))


def _distance(game: Game, hand: list[int], num_melds: int) -> int:
    """Counts missing tiles under the game's rules."""
    return deficiency(hand, num_melds, num_sets=game.rules.num_sets)
