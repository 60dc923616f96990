"""A simple player whose games meet what random play does not: wins, passed wins, robbed kongs."""

import random

from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.hand import deficiency
from tests.oracle.legal import tiles_given


def choose(game: Game, rng: random.Random, win_rate: float = 0.6) -> int:
    """Chooses an action that mostly brings the hand nearer to a complete one.

    Args:
      game: the game, which is not changed.
      rng: decides whether to win, whether to kong, and between equal discards.
      win_rate: how often a win is taken; the passed ones test the lock.

    Returns:
      The id of a legal action of the current player.
    """
    options = game.legal_actions()
    if rng.random() < 0.05:
        return rng.choice(options)
    if actions.WIN in options and rng.random() < win_rate:
        return actions.WIN
    kongs = [a for a in options if 34 <= a < 102 or a == actions.OPEN_KONG]
    if kongs and rng.random() < 0.7:
        return rng.choice(kongs)
    if actions.DECLARE in options:
        return rng.choice(options)
    if actions.PASS in options:
        return _claim(game, options)
    discards = [a for a in options if a < actions.CONCEALED_KONG]
    far = {kind: _after_discard(game, kind) for kind in discards}
    return rng.choice([kind for kind in discards if far[kind] == min(far.values())])


def _claim(game: Game, options: list[int]) -> int:
    """Takes the first chow or pong that brings the hand nearer, else passes."""
    seat = game.current_player
    now = _distance(game, game.hands[seat], len(game.melds[seat]))
    for action in options:
        if actions.CHOW_LOW <= action <= actions.PONG:
            hand = list(game.hands[seat])
            for tile in tiles_given(action, game.given):
                hand[tile] -= 1
            if _distance(game, hand, len(game.melds[seat]) + 1) < now:
                return action
    return actions.PASS


def _after_discard(game: Game, kind: int) -> int:
    """Tells how far the current player's hand is from complete after a discard."""
    seat = game.current_player
    hand = list(game.hands[seat])
    hand[kind] -= 1
    return _distance(game, hand, len(game.melds[seat]))


def _distance(game: Game, hand: list[int], num_melds: int) -> int:
    """Counts missing tiles under the game's rules."""
    return deficiency(hand, num_melds, num_sets=game.rules.num_sets)
