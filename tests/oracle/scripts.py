"""Games written down as words, to be played by the reference and replayed by other engines.

A script is a string such as "0:5p 1:pong 1:E 2:ankong-9s": seat, then what it does. Whoever is
asked something in between that the script does not mention passes.
"""

from dataclasses import dataclass

from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.rules import Rules
from tests.oracle.tiles import parse

DEFAULT_RULES = Rules()

_WORDS = {
    "chow_low": actions.CHOW_LOW,
    "chow_middle": actions.CHOW_MIDDLE,
    "chow_high": actions.CHOW_HIGH,
    "pong": actions.PONG,
    "kong": actions.OPEN_KONG,
    "win": actions.WIN,
    "pass": actions.PASS,
    "declare": actions.DECLARE,
}


@dataclass(frozen=True)
class Scene:
    """A situation: a deal and the moves that lead up to it."""

    wall: list[int]
    script: str = ""
    dealer: int = 0
    round_wind: int = 0
    streak: int = 0
    rules: Rules = DEFAULT_RULES
    drift_to: int | None = None  # before the script, draw and discard until A is this

    def new_game(self) -> Game:
        """Deals."""
        return Game(self.wall, self.dealer, self.round_wind, self.streak, self.rules)

    def play(self) -> Game:
        """Plays up to the situation."""
        return self.play_all()[0]

    def play_all(self) -> tuple[Game, list[int]]:
        """Plays up to the situation; gives also the ids of all actions, passes included."""
        game = self.new_game()
        played = [] if self.drift_to is None else drift(game, self.drift_to)
        return game, played + run(game, self.script)


def action_of(word: str) -> int:
    """Reads what a seat does: a tile to discard, a claim, "ankong-5m" or "addkong-5m"."""
    if word in _WORDS:
        return _WORDS[word]
    verb, _, tile = word.rpartition("-")
    starts = {"": actions.DISCARD, "ankong": actions.CONCEALED_KONG, "addkong": actions.ADDED_KONG}
    return starts[verb] + parse(tile)


def run(game: Game, script: str) -> list[int]:
    """Plays a script.

    Args:
      game: the game, changed in place.
      script: what the seats do in order.

    Returns:
      The ids of all actions, with the passes of those that the script does not mention.

    Raises:
      ValueError: if the script asks for something illegal.
    """
    played = []
    for entry in script.split():
        seat, word = entry.split(":")
        action = action_of(word)
        while (game.current_player, action in game.legal_actions()) != (int(seat), True):
            if game.terminated or actions.PASS not in game.legal_actions():
                raise ValueError(f"{entry}: not possible here")
            if game.current_player == int(seat) and actions.WIN in game.legal_actions():
                raise ValueError(f"{entry}: would pass a win unawares")
            game.step(actions.PASS)
            played.append(actions.PASS)
        game.step(action)
        played.append(action)
    return played


def drift(game: Game, drawable: int) -> list[int]:
    """Has all seats discard what they draw and claim nothing, until `drawable` tiles are left.

    Args:
      game: the game, changed in place.
      drawable: the A at which a turn that began with a draw is left to be played.

    Returns:
      The ids of all actions.
    """
    played = []
    while game.drawable > drawable or game.drawn is None:
        is_asked = actions.PASS in game.legal_actions()
        played.append(actions.PASS if is_asked else game.drawn)
        game.step(played[-1])
    return played
