"""Walls that bring a wanted situation about."""

import random
from collections.abc import Sequence

from tests.oracle.rules import Rules
from tests.oracle.tiles import parse_tiles
from tests.oracle.wall import NUM_SEATS, deal, num_dealt


def wall_with(
    hands: Sequence[str],
    draws: str = "",
    replacements: str = "",
    dealer: int = 0,
    rules: Rules | None = None,
    seed: int | None = None,
) -> list[int]:
    """Builds a wall of 136 tiles (144 with flowers) that deals given hands and draws.

    Args:
      hands: for seats 0-3 the tiles dealt, as in "123m 55p EEC"; short ones are filled up. The
        dealer's last tile is not among them, it is the first of `draws`.
      draws: tiles drawn from the head in order, the dealer's last dealt tile first.
      replacements: tiles drawn from the tail, in order.
      dealer: the dealer's seat.
      rules: the options; a shared wall.
      seed: shuffles the tiles that fill the gaps; without one they come in ascending order.

    Returns:
      Kinds in draw order.

    Raises:
      ValueError: if a tile is asked for too often.
    """
    rules = rules or Rules()
    rest = [kind for kind in range(34) for _ in range(4)]
    rest += range(34, 34 + rules.n_flowers)
    total = len(rest)
    wanted: dict[int, int] = {}

    # A dealt row of places says which place of the wall goes to which hand.
    places = deal(list(range(total)), dealer, rules)
    for seat in range(NUM_SEATS):
        wanted |= _placed(places[seat][: rules.hand_tiles], hands[seat])
    wanted |= _placed(range(num_dealt(rules) - 1, total), draws)
    tail = _placed(range(total - 1, num_dealt(rules), -1), replacements)
    if wanted.keys() & tail.keys():
        raise ValueError("the draws run into the replacements")
    wanted |= tail

    for kind in wanted.values():
        rest.remove(kind)
    if seed is not None:
        random.Random(seed).shuffle(rest)
    filler = iter(rest)
    return [wanted[place] if place in wanted else next(filler) for place in range(total)]


def random_wall(seed: int, rules: Rules | None = None) -> list[int]:
    """Shuffles a wall."""
    return wall_with(["", "", "", ""], rules=rules, seed=seed)


def _placed(places: Sequence[int], text: str) -> dict[int, int]:
    """Puts the tiles of `text` into the first of `places`."""
    kinds = parse_tiles(text)
    if len(kinds) > len(places):
        raise ValueError(f"more than {len(places)} tiles: {text!r}")
    return dict(zip(places, kinds, strict=False))
