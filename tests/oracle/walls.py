"""Walls that bring a wanted situation about."""

import random
from collections.abc import Sequence

from tests.oracle.rules import Rules
from tests.oracle.tiles import name, parse_tiles, starts_chow
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


def with_tile_at(wall: list[int], place: int, tile: str) -> list[int]:
    """Puts a tile at a place of the wall, in exchange for the last such tile in it."""
    kind = parse_tiles(tile)[0]
    other = len(wall) - 1 - wall[::-1].index(kind)
    wall = list(wall)
    wall[place], wall[other] = wall[other], wall[place]
    return wall


def random_wall(seed: int, rules: Rules | None = None) -> list[int]:
    """Shuffles a wall."""
    return wall_with(["", "", "", ""], rules=rules, seed=seed)


def rich_wall(seed: int, rules: Rules | None = None) -> list[int]:
    """Deals hands made of sets and fours of a kind, so that wins, kongs and locks are frequent.

    Args:
      seed: for the hands and for the order of all other tiles.
      rules: the options; the dealer is seat 0.

    Returns:
      Kinds in draw order.
    """
    rules = rules or Rules()
    rng = random.Random(seed)
    left = [4] * 34
    hands = []
    for _ in range(NUM_SEATS):
        kinds: list[int] = []
        while len(kinds) < rules.hand_tiles:
            kind, form = rng.randrange(34), rng.random()
            group = [kind] * (4 if form < 0.1 else 3 if form < 0.35 else 2 if form < 0.5 else 1)
            if form > 0.5 and starts_chow(kind):
                group = [kind, kind + 1, kind + 2]
            fits = all(group.count(tile) <= left[tile] for tile in group)
            if fits and len(kinds) + len(group) <= rules.hand_tiles:
                kinds += group
                for tile in group:
                    left[tile] -= 1
        hands.append("".join(name(kind) for kind in kinds))
    return wall_with(hands, rules=rules, seed=seed)


def _placed(places: Sequence[int], text: str) -> dict[int, int]:
    """Puts the tiles of `text` into the first of `places`."""
    kinds = parse_tiles(text)
    if len(kinds) > len(places):
        raise ValueError(f"more than {len(places)} tiles: {text!r}")
    return dict(zip(places, kinds, strict=False))
