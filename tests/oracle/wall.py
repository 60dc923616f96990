"""The wall and the deal: which tile comes next, and how many may still be drawn."""

from tests.oracle.rules import Rules
from tests.oracle.tiles import count

NUM_SEATS = 4


class Wall:
    """The tiles left after the deal, with a head to draw from and a tail for replacements.

    With `wall_mode="stable_draw"` every seat has a sub-wall of its own, with its own head and
    tail, so that no decision of one seat moves another seat's tiles.
    """

    def __init__(self, tiles: list[int], num_dealt: int, rules: Rules) -> None:
        """Takes the wall in draw order, of which the first `num_dealt` tiles are gone."""
        rest = tiles[num_dealt:]
        self._is_shared = rules.wall_mode == "shared"
        self._idle: list[int] = []  # tiles that no sub-wall has
        if self._is_shared:
            self._stacks = [list(rest)]
        else:
            size = len(rest) // NUM_SEATS
            self._stacks = [rest[size * seat : size * (seat + 1)] for seat in range(NUM_SEATS)]
            self._idle = rest[size * NUM_SEATS :]
        self._kong_cost = rules.reserve_per_kong
        self.drawable = len(rest) - rules.reserve  # A of the rules

    def can_draw(self, seat: int) -> bool:
        """Tells whether a seat finds a tile to draw, at the head or at the tail."""
        return self.drawable > 0 and bool(self._stack(seat))

    def can_kong(self, seat: int) -> bool:
        """Tells whether enough is left for a kong's replacement and its reserve."""
        return self.drawable >= 1 + self._kong_cost and bool(self._stack(seat))

    def draw(self, seat: int) -> int:
        """Draws from the head."""
        self.drawable -= 1
        return self._stack(seat).pop(0)

    def draw_replacement(self, seat: int) -> int:
        """Draws from the tail."""
        self.drawable -= 1
        return self._stack(seat).pop()

    def keep_for_kong(self) -> None:
        """Moves to the reserve what one kong costs beside its replacement."""
        self.drawable -= self._kong_cost

    def left(self) -> list[int]:
        """Lists the tiles that lie in the wall, the reserve included."""
        return [kind for stack in [*self._stacks, self._idle] for kind in stack]

    def _stack(self, seat: int) -> list[int]:
        """Gives the tiles that a seat draws from."""
        return self._stacks[0 if self._is_shared else seat]


def num_dealt(rules: Rules) -> int:
    """Counts the tiles dealt, the dealer's last one included."""
    return NUM_SEATS * rules.hand_tiles + 1


def deal(tiles: list[int], dealer: int, rules: Rules) -> list[list[int]]:
    """Deals in blocks of four from the dealer on, odd tiles singly, and one more to the dealer.

    Args:
      tiles: the wall in draw order.
      dealer: the dealer's seat.
      rules: the options; `hand_tiles` tiles go to every seat.

    Returns:
      Each seat's tiles in the order dealt; the dealer's has one more.
    """
    hands: list[list[int]] = [[] for _ in range(NUM_SEATS)]
    blocks = [4] * (rules.hand_tiles // 4) + [1] * (rules.hand_tiles % 4)
    top = 0
    for size in blocks:
        for turn in range(NUM_SEATS):
            hands[(dealer + turn) % NUM_SEATS] += tiles[top : top + size]
            top += size
    hands[dealer].append(tiles[top])
    return hands


def check(tiles: list[int], rules: Rules) -> None:
    """Raises ValueError unless the wall holds four of each kind and one of each flower."""
    flowers = list(range(34, 34 + rules.n_flowers))
    if sorted(kind for kind in tiles if kind >= 34) != flowers:
        raise ValueError("wrong flowers")
    if count(kind for kind in tiles if kind < 34) != [4] * 34:
        raise ValueError("not four of each kind")
