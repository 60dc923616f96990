"""Dou Dizhu in plain Python, with cards as text: the reference for `doudizhu`.

Moves are made out of the cards of a hand, class by class; there is no list of all moves.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

ORDER = "3456789TJQKA2BR"
CHAIN = "3456789TJQKA"
PASS = "pass"


class Kind(NamedTuple):
    """What a move is, and how high."""

    category: str
    length: int
    head: int


def in_order(cards: str) -> str:
    """Sorts cards by rank."""
    return "".join(sorted(cards, key=ORDER.index))


def moves_of(hand: str, strict: bool = False) -> dict[str, Kind]:
    """Lists all that a hand may lead."""
    found: dict[str, Kind] = {}
    for category, length in _CLASSES:
        for cards, head in _of_class(hand, category, length, strict):
            assert cards not in found, f"{cards} is two moves"
            found[cards] = Kind(category, length, head)
    return found


def answers_to(last: Kind, hand: str, strict: bool = False) -> dict[str, Kind]:
    """Lists what a hand may play on a move, the pass apart."""
    wanted = [(last.category, last.length)]
    wanted += [(name, 1) for name in ("bomb", "rocket") if name != last.category]
    found = {}
    for category, length in wanted:
        for cards, head in _of_class(hand, category, length, strict):
            kind = Kind(category, length, head)
            if beats(kind, last):
                found[cards] = kind
    return found


def beats(new: Kind, old: Kind) -> bool:
    """Tells whether a move may follow another."""
    if old.category == "rocket":
        return False
    if new.category == "rocket":
        return True
    if new.category == "bomb" and old.category != "bomb":
        return True
    return new[:2] == old[:2] and new.head > old.head


_SINGLE = ("solo", "pair", "trio", "trio_solo", "trio_pair", "quad_solo", "quad_pair")
_CLASSES = [(name, 1) for name in (*_SINGLE, "bomb", "rocket")]
_CLASSES += [("solo_chain", n) for n in range(5, 13)]
_CLASSES += [("pair_chain", n) for n in range(3, 11)]
_CLASSES += [("trio_chain", n) for n in range(2, 7)]
_CLASSES += [("plane_solo", n) for n in range(2, 6)]
_CLASSES += [("plane_pair", n) for n in range(2, 5)]
_SAME = {"solo": 1, "pair": 2, "trio": 3, "quad": 4, "bomb": 4, "plane": 3}


def _of_class(hand: str, category: str, length: int, strict: bool) -> Iterator[tuple[str, int]]:
    """Makes the moves of a class out of a hand: cards and head."""
    if category == "rocket":
        if "B" in hand and "R" in hand:
            yield "BR", ORDER.index("B")
        return
    start, _, rest = category.partition("_")
    same = _SAME[start]
    is_chain = rest == "chain" or start == "plane"
    ranks = CHAIN if is_chain else ORDER
    for head in range(len(ranks) - length + 1):
        run = ranks[head : head + length]
        if any(hand.count(rank) < same for rank in run):
            continue
        main = "".join(rank * same for rank in run)
        if rest in ("", "chain"):
            yield main, head
            continue
        num = {"trio": 1, "plane": length, "quad": 2}[start]
        others = Counter(card for card in hand if card not in run)
        if rest == "pair":
            ways = _pairs(others, num)
        else:
            ways = _solos(others, num, _limits(run, start, strict))
        for kickers in ways:
            yield in_order(main + kickers), head


def _pairs(others: Counter, num: int) -> Iterator[str]:
    """Takes different pairs out of cards."""
    paired = [rank for rank in ORDER if others[rank] >= 2]

    def choose(first: int, left: int) -> Iterator[str]:
        if left == 0:
            yield ""
            return
        for place in range(first, len(paired)):
            for more in choose(place + 1, left - 1):
                yield 2 * paired[place] + more

    yield from choose(0, num)


def _limits(run: str, start: str, strict: bool) -> dict[str, int]:
    """Tells how many of a rank may go along at most: never four, nor one more trio of a plane."""
    limits = dict.fromkeys(ORDER, 1 if strict else 3)
    if start == "plane" and not strict:
        first, last = CHAIN.index(run[0]), CHAIN.index(run[-1])
        for beside in (first - 1, last + 1):
            if 0 <= beside < len(CHAIN):
                limits[CHAIN[beside]] = 2
    return limits


def _solos(others: Counter, num: int, limits: dict[str, int]) -> Iterator[str]:
    """Takes single cards out of cards, within limits and never both jokers."""
    ranks = [rank for rank in ORDER if others[rank]]

    def choose(place: int, left: int) -> Iterator[str]:
        if left == 0:
            yield ""
            return
        if place == len(ranks):
            return
        rank = ranks[place]
        for copies in range(min(others[rank], limits[rank], left), -1, -1):
            for more in choose(place + 1, left - copies):
                if not (copies and rank == "B" and "R" in more):
                    yield rank * copies + more

    yield from choose(0, num)


class Game:
    """One game: three hands as text, whose turn it is, and what lies on the table."""

    def __init__(self, hands: list[str], strict: bool = False) -> None:
        """Begins with the landlord, player 0, on 20 cards."""
        self.hands = [in_order(hand) for hand in hands]
        self.strict = strict
        self.player = 0
        self.last: tuple[str, Kind, int] | None = None  # cards, kind, who; stays while all pass
        self.passes = 0
        self.history: list[str] = []
        self.played = ["", "", ""]
        self.plays = [0, 0, 0]
        self.bombs = 0
        self.winner: int | None = None

    @property
    def leads(self) -> bool:
        """Whether the player may make any move, and must make one."""
        return self.last is None or self.passes == 2

    def legal(self) -> dict[str, Kind | None]:
        """Lists the legal moves of the player whose turn it is."""
        hand = self.hands[self.player]
        if self.leads:
            return dict(moves_of(hand, self.strict))
        assert self.last is not None
        return {**answers_to(self.last[1], hand, self.strict), PASS: None}

    def play(self, cards: str, kind: Kind | None) -> None:
        """Carries out a legal move."""
        self.history.append(cards)
        mover = self.player
        self.player = (mover + 1) % 3
        if kind is None:
            self.passes += 1
            return
        hand = self.hands[mover]
        for card in cards:
            assert card in hand
            hand = hand.replace(card, "", 1)
        self.hands[mover] = hand
        self.played[mover] = in_order(self.played[mover] + cards)
        self.plays[mover] += 1
        self.bombs += kind.category in ("bomb", "rocket")
        self.last, self.passes = (cards, kind, mover), 0
        if not hand:
            self.winner, self.player = mover, mover

    def rewards(self, scoring: str = "wp", spring: bool = False) -> list[int]:
        """Pays the game."""
        assert self.winner is not None
        landlord_won = self.winner == 0
        if scoring == "wp":
            return [1, -1, -1] if landlord_won else [-1, 1, 1]
        points = 2**self.bombs
        if spring:
            peasants_played = self.plays[1] + self.plays[2] > 0
            if (landlord_won and not peasants_played) or (not landlord_won and self.plays[0] == 1):
                points *= 2
        return [2 * points, -points, -points] if landlord_won else [-2 * points, points, points]
