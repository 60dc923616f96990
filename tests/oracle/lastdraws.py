"""One player alone with the last tiles: expected points under best play, by exact recursion.

The player throws a tile and draws one, until a draw completes the hand or nothing is left to draw.
Nobody else acts, and a hand that is not completed is worth nothing.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from tests.oracle.hand import is_win

Counts = tuple[int, ...]


def discards(
    counts: Counts, num_melds: int, unseen: Counts, points: Callable[[Counts, int], float]
) -> dict[int, Fraction]:
    """Expects points after each discard of a hand that has just drawn.

    Args:
      counts: concealed tiles.
      num_melds: melds laid down.
      unseen: tiles still to be drawn.
      points: of a win, from the tiles before the draw and the tile drawn.
    """

    @cache
    def drawing(rest: Counts, unseen: Counts) -> Fraction:
        total, expected = sum(unseen), Fraction(0)
        for kind, copies in enumerate(unseen):
            if copies:
                hand, left = _more(rest, kind, 1), _more(unseen, kind, -1)
                won = is_win(hand, num_melds)
                worth = Fraction(points(rest, kind)) if won else max(thrown(hand, left).values())
                expected += Fraction(copies, total) * worth
        return expected

    def thrown(hand: Counts, unseen: Counts) -> dict[int, Fraction]:
        return {
            kind: drawing(_more(hand, kind, -1), unseen) for kind, held in enumerate(hand) if held
        }

    return thrown(counts, unseen)


def _more(counts: Counts, kind: int, number: int) -> Counts:
    """Changes the number of tiles of a kind."""
    changed = list(counts)
    changed[kind] += number
    return tuple(changed)
