"""Walls that bring a wanted situation about."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from tests.oracle.rules import Rules
from tests.oracle.tiles import name, parse, parse_tiles, starts_chow
from tests.oracle.wall import NUM_SEATS, deal, num_dealt


def wall_with(
    hands: Sequence[str],
    draws: str = "",
    replacements: str = "",
    dealer: int = 0,
    rules: Rules | None = None,
    seed: int | None = None,
    drawers: Sequence[int] = (),
    at: Mapping[int, str] | None = None,
) -> list[int]:
    """Builds a wall of 136 tiles (144 with flowers) that deals given hands and draws.

    Args:
      hands: for seats 0-3 the tiles dealt, as in "123m 55p EEC"; short ones are filled up. The
        dealer's last tile is not among them, it is the first of `draws`.
      draws: tiles drawn from the head in order, the dealer's last dealt tile first.
      replacements: tiles drawn from the tail, in order.
      dealer: the dealer's seat.
      rules: the options.
      seed: shuffles the tiles that fill the gaps; without one they come in ascending order.
      drawers: who takes the draws after the first and the replacements, in that order; asked
        for only where every seat has a wall of its own.
      at: single tiles by their place in the wall.

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
    first, last = range(num_dealt(rules) - 1, total), range(total - 1, num_dealt(rules), -1)
    if rules.wall_mode == "stable_draw":
        num_draws = max(len(parse_tiles(draws)) - 1, 0)
        first = [first[0], *_own_places(drawers[:num_draws], total, rules)]
        last = _own_places(drawers[num_draws:], total, rules, from_tail=True)
    wanted |= _placed(first, draws)
    tail = _placed(last, replacements) | {place: parse(tile) for place, tile in (at or {}).items()}
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
        hands.append(_text(kinds))
    return wall_with(hands, rules=rules, seed=seed)


def ready_wall(rng: random.Random, dealer: int, rules: Rules) -> list[int]:
    """Deals mostly ready hands, and first draws that often complete them or another's.

    So hands are won at once: tianhu, dihu, renhu, several winners of one discard, and wins of
    whoever declared; or passed by players who wait for the last tile.
    """
    left = Counter(dict.fromkeys(range(34), 4))
    hands, waits = [], []
    for _ in range(NUM_SEATS):
        hand, wait = ready_hand(rng, left, rules) if rng.random() < 0.8 else ([], None)
        hands.append(hand)
        waits.append(wait)
    draws = []
    for turn in range(NUM_SEATS + 1):
        own = waits[(dealer + turn) % NUM_SEATS]
        wait = own if rng.random() < 0.4 else rng.choice(waits)
        if wait is None or not left[wait] or rng.random() < 0.3:
            wait = rng.choice([kind for kind in left if left[kind]])
        left[wait] -= 1
        draws.append(wait)
    drawers = [(dealer + turn) % NUM_SEATS for turn in range(1, NUM_SEATS + 1)]
    return wall_with(
        [_text(hand) for hand in hands],
        _text(draws),
        dealer=dealer,
        rules=rules,
        seed=rng.randrange(2**32),
        drawers=drawers,
    )


def ready_hand(
    rng: random.Random, left: Counter[int], rules: Rules, num_sets: int | None = None
) -> tuple[list[int], int]:
    """Makes a hand that is one tile short of sets and a pair, out of the tiles left.

    Args:
      rng: for all choices.
      left: tiles not dealt yet; those of the hand are taken out.
      rules: how many sets a hand has, and whether it may be seven pairs and a triplet.
      num_sets: if given, so many sets and the pair are made, and no tile is missing.

    Returns:
      The hand, and a kind that completes it.
    """
    while True:
        if num_sets is None and rules.ligu and rules.hand_tiles == 16 and rng.random() < 0.3:
            kinds = rng.sample(range(34), 8)
            hand = [kind for kind in kinds for _ in range(2)] + kinds[:1]
        else:
            # Now and then honors only, or a single suit.
            low, high = rng.choice([(0, 34)] * 6 + [(27, 34)] * 2 + [(9, 18), (18, 27)])
            pair = rng.randrange(low, high)
            hand = [pair, pair]
            for _ in range(rules.num_sets if num_sets is None else num_sets):
                kind = rng.randrange(low, high)
                is_chow = starts_chow(kind) and rng.random() < 0.6
                hand += [kind, kind + 1, kind + 2] if is_chow else [kind] * 3
        missing = rng.choice(hand)
        if num_sets is None:
            hand.remove(missing)
        if all(left[kind] >= copies for kind, copies in Counter(hand).items()):
            left.subtract(hand)
            return hand, missing


def shared_wait_wall(rng: random.Random, dealer: int, rules: Rules) -> tuple[list[int], int]:
    """Deals three hands that wait for the tile that the dealer draws first.

    Returns:
      The wall, and the kind that the dealer should discard.
    """
    wait = 9 * rng.randrange(3) + rng.randrange(1, 8)
    left = Counter(dict.fromkeys(range(34), 4))
    left.subtract({wait: 4, wait - 1: 3, wait + 1: 3})
    hands = [""] * NUM_SEATS
    for seat in range(NUM_SEATS):
        if seat != dealer:
            others = ready_hand(rng, left, rules, rules.num_sets - 1)[0]
            hands[seat] = _text([wait - 1, wait + 1, *others])
    wall = wall_with(hands, name(wait), dealer=dealer, rules=rules, seed=rng.randrange(2**32))
    return wall, wait


def robbery_wall(rng: random.Random, dealer: int, rules: Rules) -> tuple[list[int], int]:
    """Deals a pong to the seat after the dealer, its fourth tile, and a seat that waits for it.

    Returns:
      The wall, and the kind that the dealer draws first and should discard.
    """
    first, second, third = rng.sample("mps", 3)
    near, far = rng.sample("ESWNCFP", 2)
    rank = rng.randrange(2, 9)
    sets = f"123456789{second}" + (f"123{third}" if rules.hand_tiles == 16 else "")
    ready = f"{rank - 1}{rank + 1}{first} {sets} {near}{far}"
    hands = ["", f"{rank}{rank}{first}", ready, ""]  # by place from the dealer
    by_seat = [hands[(seat - dealer) % 4] for seat in range(4)]
    tile = f"{rank}{first}"
    others = [n for n in "ESWNCFP" if n not in (near, far)]
    # After the pong the draws go to places 2, 3, 0 and then to the kong's seat.
    draws = f"{tile} {near} {others[0]} {others[1]} {tile}"
    drawers = [(dealer + place) % NUM_SEATS for place in (2, 3, 0, 1)]
    seed = rng.randrange(2**32)
    wall = wall_with(by_seat, draws, dealer=dealer, rules=rules, seed=seed, drawers=drawers)
    return wall, parse(tile)


def four_kongs_wall(rng: random.Random, dealer: int, rules: Rules) -> list[int]:
    """Deals the dealer three fours of a kind, and a fourth one by dealt tiles or replacements."""
    first, second, third, fourth = (name(kind) for kind in rng.sample(range(34), 4))
    num_held = rules.hand_tiles - 12
    hands = ["", "", "", ""]
    hands[dealer] = 4 * (first + second + third) + num_held * fourth
    rest = (4 - num_held) * fourth
    seed = rng.randrange(2**32)
    drawers = [dealer] * 3
    return wall_with(hands, "", rest, dealer=dealer, rules=rules, seed=seed, drawers=drawers)


def flowers_wall(rng: random.Random, dealer: int, rules: Rules) -> list[int]:
    """Deals seven flowers or all eight to one seat; an eighth comes later, to whomever."""
    flowers = [f"f{number}" for number in range(1, 9)]
    rng.shuffle(flowers)
    hands = ["", "", "", ""]
    hands[rng.randrange(NUM_SEATS)] = "".join(flowers[: rng.choice((7, 7, 7, 8))])
    return wall_with(hands, dealer=dealer, rules=rules, seed=rng.randrange(2**32))


def late_flowers_wall(rng: random.Random, dealer: int, rules: Rules) -> list[int]:
    """Puts the flowers where the last tiles of a shared wall are drawn."""
    end = 136 + rules.n_flowers - rules.reserve  # where the head ends without any replacement
    start = max(end - rng.choice((11, 12)), num_dealt(rules))
    at = {start + number: f"f{number + 1}" for number in range(8)}
    hands = ["", "", "", ""]
    return wall_with(hands, dealer=dealer, rules=rules, seed=rng.randrange(2**32), at=at)


def _text(kinds: Sequence[int]) -> str:
    """Writes kinds as `parse_tiles` reads them."""
    return "".join(name(kind) for kind in kinds)


def _own_places(
    drawers: Sequence[int], total: int, rules: Rules, from_tail: bool = False
) -> list[int]:
    """Lists the places of tiles that seats draw in turn, each from a wall of its own."""
    size = (total - num_dealt(rules)) // NUM_SEATS
    places, drawn = [], Counter()
    for seat in drawers:
        start = num_dealt(rules) + size * seat
        places.append(start + (size - 1 - drawn[seat] if from_tail else drawn[seat]))
        drawn[seat] += 1
    return places


def _placed(places: Sequence[int], text: str) -> dict[int, int]:
    """Puts the tiles of `text` into the first of `places`."""
    kinds = parse_tiles(text)
    if len(kinds) > len(places):
        raise ValueError(f"more than {len(places)} tiles: {text!r}")
    return dict(zip(places, kinds, strict=False))
