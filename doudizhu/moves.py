"""The 27,472 moves: their ids, categories and texts.

| ids | category | length: what is counted |
|---|---|---|
| 0-14 | solo | |
| 15-27 | pair | |
| 28-40 | trio | |
| 41-222 | trio with a solo | |
| 223-378 | trio with a pair | |
| 379-414 | solo chain | 5-12 ranks, 3 to A |
| 415-466 | pair chain | 3-10 ranks |
| 467-511 | trio chain | 2-6 ranks |
| 512-22333 | plane with solos | 2-5 trios, as many solos |
| 22334-25272 | plane with pairs | 2-4 trios, as many pairs |
| 25273-26598 | quad with two solos | |
| 26599-27456 | quad with two pairs | |
| 27457-27469 | bomb | |
| 27470 | rocket: both jokers | |
| 27471 | pass | |

Within a category ids go by length, then by the lowest rank of the main cards (the head), then by
the kickers in lexicographic order. A class is a category and a length, so that the moves of a
class that are higher than one of it are consecutive ids. No two moves are the same cards.

Solos that go along: none of the main ranks, at most three of a rank, at most two of a rank next
to a plane (but for the 2), at most one joker. `is_strict` marks the moves whose solos are all of
different ranks.

Built with NumPy at first use: nothing here is traced.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from doudizhu import cards
from doudizhu.cards import ACE, BLACK_JOKER, NUM_RANKS, RED_JOKER, TWO

CATEGORIES = (
    *("solo", "pair", "trio", "trio_solo", "trio_pair", "solo_chain", "pair_chain", "trio_chain"),
    *("plane_solo", "plane_pair", "quad_solo", "quad_pair", "bomb", "rocket", "pass"),
)
FIRST_BOMB, ROCKET, PASS = 27457, 27470, 27471
NUM_MOVES = 27472

_SOLO, _PAIR = 1, 2  # cards of a kicker
_MAX_CARDS = 20  # in a hand


class Form(NamedTuple):
    """A category as numbers: so many of each main rank, and what goes along."""

    copies: int  # cards of each main rank
    lengths: range  # main ranks in a row
    top: int  # the highest rank a main card may have
    kicker: int = 0  # 0 none, or cards of each kicker
    per_length: int = 0  # kickers for each main rank


FORMS = {
    "solo": Form(1, range(1, 2), RED_JOKER),
    "pair": Form(2, range(1, 2), TWO),
    "trio": Form(3, range(1, 2), TWO),
    "trio_solo": Form(3, range(1, 2), TWO, _SOLO, 1),
    "trio_pair": Form(3, range(1, 2), TWO, _PAIR, 1),
    "solo_chain": Form(1, range(5, 13), ACE),
    "pair_chain": Form(2, range(3, 11), ACE),
    "trio_chain": Form(3, range(2, 7), ACE),
    "plane_solo": Form(3, range(2, 6), ACE, _SOLO, 1),
    "plane_pair": Form(3, range(2, 5), ACE, _PAIR, 1),
    "quad_solo": Form(4, range(1, 2), TWO, _SOLO, 2),
    "quad_pair": Form(4, range(1, 2), TWO, _PAIR, 2),
    "bomb": Form(4, range(1, 2), TWO),
}


class Group(NamedTuple):
    """The moves that differ in their kickers only."""

    category: int  # index of CATEGORIES
    length: int  # main ranks
    head: int  # lowest main rank
    main: tuple[int, ...]  # counts of the 15 ranks
    kicker: int  # 0 none, or cards of each kicker
    num_kickers: int
    caps: tuple[int, ...]  # by rank, how many kickers of it may go along


class Moves(NamedTuple):
    """All moves. A = NUM_MOVES, G = groups, R = ranks."""

    counts: np.ndarray  # int8[A,R]
    category: np.ndarray  # int8[A]     index of CATEGORIES
    length: np.ndarray  # int8[A]     main ranks
    head: np.ndarray  # int8[A]     lowest main rank; 0 for a pass
    is_strict: np.ndarray  # bool[A]
    group: np.ndarray  # int16[A]
    groups: tuple[Group, ...]
    names: tuple[str, ...]  # card strings in rank order, and `pass`


@functools.cache
def all_moves() -> Moves:
    """Enumerates the moves in the order of their ids; takes some tenths of a second, once."""
    groups = tuple(_groups())
    counts, group, strict = [], [], []
    for index, entry in enumerate(groups):
        for kickers in _kickers(entry):
            row = list(entry.main)
            for rank in kickers:
                row[rank] += entry.kicker
            counts.append(row)
            group.append(index)
            strict.append(len(set(kickers)) == len(kickers))
    numbers = np.array(group, np.int16)
    by_move = [groups[index] for index in group]
    names = ["".join(map(str.__mul__, cards.RANKS, row)) for row in counts]
    return Moves(
        counts=np.array(counts, np.int8),
        category=np.array([entry.category for entry in by_move], np.int8),
        length=np.array([entry.length for entry in by_move], np.int8),
        head=np.array([entry.head for entry in by_move], np.int8),
        is_strict=np.array(strict),
        group=numbers,
        groups=groups,
        names=(*names[:PASS], "pass"),
    )


def to_text(move: int) -> str:
    """Writes a move as its cards in rank order, or as `pass`; the inverse of `from_text`.

    Raises:
      ValueError: not an id of 0 to 27471.
    """
    if not 0 <= move < NUM_MOVES:
        raise ValueError(f"A move is an id of 0 to {NUM_MOVES - 1}, not {move}.")
    return all_moves().names[move]


def from_text(text: str) -> int:
    """Returns the id of a move written as cards, in any order, or as `pass`.

    Raises:
      ValueError: no cards, or cards that are no move.
    """
    if text == "pass":
        return PASS
    sorted_text = cards.format(cards.parse(text))
    if sorted_text not in _ids_by_name():
        raise ValueError(f"{text!r} is no move: see the categories of doudizhu.moves.")
    return _ids_by_name()[sorted_text]


@functools.cache
def _ids_by_name() -> dict[str, int]:
    """Finds ids by card string."""
    return {name: move for move, name in enumerate(all_moves().names)}


def _groups() -> Iterator[Group]:
    """Lists the groups in the order of the ids."""
    nothing = (0,) * NUM_RANKS
    for category, name in enumerate(CATEGORIES):
        if name == "rocket":
            both = tuple(int(rank >= BLACK_JOKER) for rank in range(NUM_RANKS))
            yield Group(category, 2, BLACK_JOKER, both, 0, 0, nothing)
        elif name == "pass":
            yield Group(category, 0, 0, nothing, 0, 0, nothing)
        else:
            form = FORMS[name]
            for length in form.lengths:
                for head in range(form.top - length + 2):
                    yield _group(category, form, length, head)


def _group(category: int, form: Form, length: int, head: int) -> Group:
    """Puts a group together."""
    is_main = [head <= rank < head + length for rank in range(NUM_RANKS)]
    return Group(
        category=category,
        length=length,
        head=head,
        main=tuple(form.copies * main for main in is_main),
        kicker=form.kicker,
        num_kickers=form.per_length * length,
        caps=tuple(_cap(form, length, head, rank) for rank in range(NUM_RANKS)),
    )


def _cap(form: Form, length: int, head: int, rank: int) -> int:
    """Tells how many kickers of a rank may go along with main cards."""
    if form.kicker == 0 or head <= rank < head + length:
        return 0
    if form.kicker == _PAIR:
        return int(rank <= TWO)
    if rank > TWO:
        return 1
    # A third card next to a plane would be one more trio of the plane; the 2 is in no chain.
    is_next_to_plane = length > 1 and rank in (head - 1, head + length) and rank != TWO
    return 2 if is_next_to_plane else 3


def _kickers(group: Group) -> Iterator[tuple[int, ...]]:
    """Lists the ranks of the kickers that may go along, in lexicographic order."""
    ranks = [rank for rank in range(NUM_RANKS) if group.caps[rank]]
    for chosen in itertools.combinations_with_replacement(ranks, group.num_kickers):
        fits = all(chosen.count(rank) <= group.caps[rank] for rank in chosen)
        if fits and not {BLACK_JOKER, RED_JOKER} <= set(chosen):
            yield chosen
