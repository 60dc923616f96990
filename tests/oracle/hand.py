"""Complete hands, waits and the distance to a complete hand.

`counts` is a sequence of 34 copies of each kind held concealed, `num_melds` the sets already
melded. A complete hand has `num_sets` sets (five, in the 16-tile game) and a pair.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from tests.oracle.tiles import NUM_COPIES, NUM_KINDS, starts_chow

Group = tuple[str, int]  # ("chow", lowest kind) or ("pong", kind)
Decomposition = tuple[int, tuple[Group, ...]]  # the pair's kind, then the sets

_FAR = 99

# The hands of a long run share most of their parts; a bound keeps the memory small.
_remember = lru_cache(maxsize=1 << 17)


def is_win(counts: Sequence[int], num_melds: int, *, num_sets: int = 5, ligu: bool = False) -> bool:
    """Tells whether the concealed tiles and the melds are a complete hand.

    Args:
      counts: copies of each kind, the winning tile included.
      num_melds: the number of melded sets.
      num_sets: sets of a complete hand.
      ligu: whether seven pairs and a triplet count (嚦咕嚦咕).

    Returns:
      True for sets and one pair, or for the special shape where allowed.
    """
    num_groups = num_sets - num_melds
    if sum(counts) != 3 * num_groups + 2:
        return False
    if ligu and num_melds == 0 and is_ligu(counts):
        return True
    parts = _parts(counts)
    # Sets cannot mix suits: the pair is in the one part that has two tiles too many.
    return sorted(sum(part) % 3 for part in parts) == [0, 0, 0, 2] and all(map(_splits, parts))


def is_ligu(counts: Sequence[int]) -> bool:
    """Tells whether 17 tiles are seven pairs and a triplet; four of a kind are two pairs."""
    num_pairs = sum(n // 2 for n in counts if n != 3)
    return sum(counts) == 17 and sum(n == 3 for n in counts) == 1 and num_pairs == 7


def waits(
    counts: Sequence[int],
    num_melds: int,
    meld_counts: Sequence[int],
    *,
    num_sets: int = 5,
    ligu: bool = False,
) -> set[int]:
    """Lists the kinds that complete a hand and of which it does not hold all four itself.

    Args:
      counts: copies of each kind held concealed, one tile short of a complete hand.
      num_melds: the number of melded sets.
      meld_counts: copies of each kind in the own melds.
      num_sets: sets of a complete hand.
      ligu: whether seven pairs and a triplet count.

    Returns:
      The set W of section 6; tiles seen elsewhere do not shrink it.
    """
    return set(_waits(tuple(counts), num_melds, tuple(meld_counts), num_sets, ligu))


@_remember
def _waits(
    counts: tuple[int, ...], num_melds: int, meld_counts: tuple[int, ...], num_sets: int, ligu: bool
) -> frozenset[int]:
    """Tries every kind; see `waits`."""
    found = set()
    for kind in range(NUM_KINDS):
        if counts[kind] + meld_counts[kind] < NUM_COPIES:
            more = list(counts)
            more[kind] += 1
            if is_win(more, num_melds, num_sets=num_sets, ligu=ligu):
                found.add(kind)
    return frozenset(found)


def decompositions(counts: Sequence[int], num_groups: int) -> list[Decomposition]:
    """Lists every split of the tiles into `num_groups` sets and a pair.

    Args:
      counts: copies of each kind, the winning tile included.
      num_groups: sets to be found among the concealed tiles.

    Returns:
      The distinct splits; empty if the tiles are not a complete hand.
    """
    if sum(counts) != 3 * num_groups + 2:
        return []
    return list(_decompositions(tuple(counts)))


@_remember
def _decompositions(counts: tuple[int, ...]) -> tuple[Decomposition, ...]:
    """Tries every pair; see `decompositions`."""
    found = []
    for pair in range(NUM_KINDS):
        if counts[pair] >= 2:
            rest = list(counts)
            rest[pair] -= 2
            found += [(pair, groups) for groups in _all_splits(rest, 0)]
    return tuple(found)


def deficiency(counts: Sequence[int], num_melds: int, *, num_sets: int = 5) -> int:
    """Counts the tiles missing for a complete hand, 0 if it is complete.

    A target has `num_sets - num_melds` sets and a pair, and at most four copies of a kind. What
    is missing of it is the sum over kinds of max(0, target - counts); the least is returned.
    Suits do not interact but for the number of sets and the pair, so their least costs are
    combined by trying every way to share those out.
    """
    num_groups = num_sets - num_melds
    *suits, honors = _parts(counts)
    one, two, three = (_run_costs(suit, 0, 0) for suit in suits)
    best = _join(_join(one, two), _join(three, _honor_costs(honors)))
    return best[2 * num_groups + 1]


def accepting(counts: Sequence[int], num_melds: int, *, num_sets: int = 5) -> set[int]:
    """Lists the kinds one more copy of which lowers the deficiency."""
    now = deficiency(counts, num_melds, num_sets=num_sets)
    found = set()
    for kind in range(NUM_KINDS):
        more = list(counts)
        more[kind] += 1
        if deficiency(more, num_melds, num_sets=num_sets) < now:
            found.add(kind)
    return found


def deficiency_brute(counts: Sequence[int], num_melds: int, *, num_sets: int = 5) -> int:
    """Counts missing tiles by going through every target; very slow, for cross-checks only."""
    num_groups = num_sets - num_melds
    limit = 0
    while not any(
        _reaches(list(counts), [NUM_COPIES] * NUM_KINDS, (pair, pair), 0, num_groups, limit)
        for pair in range(NUM_KINDS)
    ):
        limit += 1
    return limit


_SETS = [(kind, kind, kind) for kind in range(NUM_KINDS)] + [
    (kind, kind + 1, kind + 2) for kind in range(NUM_KINDS) if starts_chow(kind)
]


def _reaches(
    left: list[int], room: list[int], group: tuple[int, ...], first: int, sets: int, limit: int
) -> bool:
    """Places one group, then `sets` more from `_SETS[first:]`, with at most `limit` missing."""
    left, room = list(left), list(room)
    for kind in group:
        room[kind] -= 1
        left[kind] -= 1
        limit -= left[kind] < 0
        if room[kind] < 0 or limit < 0:
            return False
    return sets == 0 or any(
        _reaches(left, room, _SETS[index], index, sets - 1, limit)
        for index in range(first, len(_SETS))
    )


def _parts(counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Takes the counts of a hand apart: nine kinds of each suit, and seven honors."""
    return [tuple(counts[start : start + 9]) for start in range(0, NUM_KINDS, 9)]


@_remember
def _splits(part: tuple[int, ...]) -> bool:
    """Tells whether the tiles of a part split into sets, and a pair if they are two too many."""
    if sum(part) % 3 == 2:
        pairs = [kind for kind, copies in enumerate(part) if copies >= 2]
        return any(_splits(_without(part, (kind, kind))) for kind in pairs)
    if not any(part):
        return True
    # The lowest tile must go into a triplet or be the lowest of a chow.
    kind = next(kind for kind, copies in enumerate(part) if copies)
    groups = [(kind, kind, kind)] if part[kind] >= 3 else []
    if len(part) == 9 and kind <= 6 and part[kind + 1] and part[kind + 2]:
        groups.append((kind, kind + 1, kind + 2))
    return any(_splits(_without(part, group)) for group in groups)


def _without(part: tuple[int, ...], tiles: Sequence[int]) -> tuple[int, ...]:
    """Takes tiles out of a part."""
    return tuple(copies - tiles.count(kind) for kind, copies in enumerate(part))


def _all_splits(counts: list[int], kind: int) -> list[tuple[Group, ...]]:
    """Lists the splits into sets of tiles, none below `kind`; leaves `counts` as it was."""
    while kind < NUM_KINDS and counts[kind] == 0:
        kind += 1
    if kind == NUM_KINDS:
        return [()]
    found = set()
    for group, tiles in _groups_at(counts, kind):
        for tile in tiles:
            counts[tile] -= 1
        # Sorted, since a triplet and chows that start at one kind come in either order.
        found |= {tuple(sorted((group, *more))) for more in _all_splits(counts, kind)}
        for tile in tiles:
            counts[tile] += 1
    return sorted(found)


def _groups_at(counts: list[int], kind: int) -> list[tuple[Group, tuple[int, int, int]]]:
    """Lists the sets that can hold the lowest tile, which must go into one of them."""
    groups: list[tuple[Group, tuple[int, int, int]]] = []
    if counts[kind] >= 3:
        groups.append((("pong", kind), (kind, kind, kind)))
    if starts_chow(kind) and counts[kind + 1] and counts[kind + 2]:
        groups.append((("chow", kind), (kind, kind + 1, kind + 2)))
    return groups


@_remember
def _join(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Shares out sets and pair between two parts of a hand at least cost; see `_run_costs`."""
    return tuple(
        min(
            one[2 * sets + pairs] + other[entry - 2 * sets - pairs]
            for sets in range(entry // 2 + 1)
            for pairs in range(entry % 2 + 1)
        )
        for entry in range(12)
    )


@_remember
def _run_costs(counts: tuple[int, ...], ending: int, passing: int) -> tuple[int, ...]:
    """Finds the least cost in the rest of a suit for every number of sets and pairs.

    Args:
      counts: copies of the suit's kinds from the present one up.
      ending: chows that began two kinds below and end at this kind.
      passing: chows that began one kind below and pass through this kind.

    Returns:
      Twelve costs; entry 2 * sets + pairs is for so many sets begun here or above.
    """
    if not counts:
        return (_FAR if ending or passing else 0, *[_FAR] * 11)
    best = [_FAR] * 12
    for chows, pongs, pairs in product(range(5 if len(counts) >= 3 else 1), range(2), range(2)):
        target = ending + passing + chows + 3 * pongs + 2 * pairs
        if target > NUM_COPIES:
            continue
        cost = max(0, target - counts[0])
        rest = _run_costs(counts[1:], passing, chows)
        begun = 2 * (chows + pongs) + pairs
        for entry in range(12 - begun):
            if entry % 2 + pairs <= 1:
                best[entry + begun] = min(best[entry + begun], cost + rest[entry])
    return tuple(best)


@_remember
def _honor_costs(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Finds the least cost among honors, as `_run_costs` but without chows."""
    if not counts:
        return (0, *[_FAR] * 11)
    rest = _honor_costs(counts[1:])
    best = list(rest)
    for entry in range(12):
        if entry >= 2:
            best[entry] = min(best[entry], rest[entry - 2] + max(0, 3 - counts[0]))
        if entry % 2:
            best[entry] = min(best[entry], rest[entry - 1] + max(0, 2 - counts[0]))
    return tuple(best)
