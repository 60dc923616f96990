"""The linear player in plain Python: what it looks at, how it scores, what it plays.

Rows, contexts and weights go by their order in the implementation; everything else is written down
anew. `View` is what one seat sees, as lists of whole numbers.
"""

from dataclasses import dataclass
from functools import cache
from math import log

from tests.oracle import hand as oracle

KINDS = range(34)
WIN, PASS, DECLARE = 107, 108, 109
FAR = 99


@dataclass(frozen=True)
class View:
    """One decision."""

    hand: list  # [34]
    melds: list  # of (form, kind): chow (lowest), pong, kong, ankong
    discards: list  # [4][34] on the table
    unseen: list  # [34]
    others: list  # [3] melds of the others
    history: list  # kinds of all discards in order
    pending: int
    drawable: int
    seat_wind: int
    round_wind: int
    legal: set  # action ids

    @property
    def open_melds(self):
        """Counts the melds that others can see through."""
        return sum(form != "ankong" for form, _ in self.melds)


@cache
def _lacks(counts, num_melds):
    return oracle.deficiency(counts, num_melds)


def deficiency(counts, num_melds):
    """Counts the tiles missing, each hand once."""
    return _lacks(tuple(counts), num_melds)


def is_end(kind):
    return kind < 27 and kind % 9 in (0, 8)


def same_suit(a, b):
    return 0 <= b < 27 and a < 27 and a // 9 == b // 9


def tai(view, kind):
    """Tai of a triplet of a wind or dragon."""
    return (kind >= 31) + (kind == 27 + view.seat_wind) + (kind == 27 + view.round_wind)


def hand(view, counts, num_melds):
    """Sums over the kinds that bring a hand nearer, in the order of HAND."""
    now = deficiency(counts, num_melds)
    sums = [0] * 5
    for kind in KINDS:
        more = list(counts)
        more[kind] += 1
        if counts[kind] == 4 or deficiency(more, num_melds) >= now:
            continue
        runs = [(-2, -1), (-1, 1), (1, 2)]
        chow = any(
            all(same_suit(kind, kind + step) and counts[kind + step] for step in run)
            for run in runs
        )
        seen = any(view.discards[seat][kind] for seat in (1, 2, 3))
        facts = (True, counts[kind] >= 2, chow, kind >= 27 or is_end(kind), seen)
        sums = [total + fact * view.unseen[kind] for total, fact in zip(sums, facts, strict=True)]
    return sums


def context(view, lacks, more_melds=0):
    late = max(1 - view.drawable / 64, 0)
    steps = [float(min(max(lacks, 1), 4) == n) for n in (1, 2, 3, 4)]
    return [*steps, late, (view.open_melds + more_melds) / 5]


def weigh(rows, sums, factors):
    """Adds up sum times its weights times the context."""
    return sum(
        total * sum(w * c for w, c in zip(row, factors, strict=True))
        for row, total in zip(rows, sums, strict=True)
    )


def tile(view, kind):
    """Facts of a kind that is thrown, in the order of TILE."""
    held, number = view.hand, view.hand[kind]

    def beside(counts, step):
        return sum(counts[k] for k in (kind - step, kind + step) if same_suit(kind, k))

    by_others = [sum(view.discards[seat][k] > 0 for seat in (1, 2, 3)) for k in KINDS]
    danger = sum(
        melds
        for seat, melds in zip((1, 2, 3), view.others, strict=True)
        if not view.discards[seat][kind]
    )
    return [
        kind >= 27,
        is_end(kind),
        kind < 27 and kind % 9 in (1, 7),
        tai(view, kind) * (number == 1),
        tai(view, kind) * (number == 2),
        view.unseen[kind] * (kind < 27),
        view.unseen[kind] * (kind >= 27),
        beside(view.unseen, 1) / 4,
        beside(view.unseen, 2) / 4,
        beside(held, 1),
        beside(held, 2),
        number == 2,
        by_others[kind] / 3,
        kind in view.history[-4:],
        beside(by_others, 3) / 3,
        danger / 5,
        *aims(view, kind),
    ]


def aims(view, kind):
    """Whether a hand of one suit, or of triplets, has no use for a tile."""
    strangers = []
    for suit in range(3):
        barred = any(meld < 27 and meld // 9 != suit for _, meld in view.melds)
        outside = sum(view.hand[k] for k in range(27) if k // 9 != suit)
        strangers.append(99 if barred else outside)
    least = min(strangers)
    off = kind < 27 and kind // 9 != strangers.index(least)
    forms = [form for form, _ in view.melds]
    groups = sum(n >= 2 for n in view.hand) + sum(form != "chow" for form in forms)
    apart = view.hand[kind] == 2 and groups >= 4 and "chow" not in forms
    return off and least <= 3, off and 3 < least <= 6, apart


def without(counts, *kinds):
    rest = list(counts)
    for kind in kinds:
        rest[kind] -= 1
    return rest


def best_discards(counts, num_melds, allowed):
    """The lowest deficiency that a discard leaves, and which discards leave it."""
    left = {k: deficiency(without(counts, k), num_melds) for k in allowed if counts[k]}
    least = min(left.values(), default=FAR)
    return least, [k for k in left if left[k] == least]


def wary(view, weights, read, turn, levels, scores):
    """Weighs danger, and opens the discards that leave one tile more to be made."""
    melds, phase = len(view.melds), [1, max(1 - view.drawable / 64, 0)]
    price, ready = read
    lacks = -next(iter(levels.values()))
    of_tile = {kind: weigh(weights[1], tile(view, kind), phase) for kind in turn}
    best = max(levels, key=lambda kind: (scores[kind] - of_tile[kind], -kind))
    facts = [*context(view, lacks)[:5], ready]
    danger = sum(w * fact for w, fact in zip(weights[3], facts, strict=True))
    copies = hand(view, without(view.hand, best), melds)[0]
    facts.append(copies / 10)
    fold = sum(w * fact for w, fact in zip(weights[4], facts, strict=True))
    given_up = scores[best] - of_tile[best] - fold
    for kind in turn:
        if deficiency(without(view.hand, kind), melds) == lacks + 1:
            levels[kind], scores[kind] = -lacks, given_up + of_tile[kind]
    for kind in levels:
        scores[kind] -= danger * price[kind]


def play(view, weights, read=None):
    """Scores of the actions of the best level: {action: score}; the highest is played.

    `read` is what a player who reads hands expects: hundreds of points that each kind would cost,
    and how many opponents are ready.
    """
    if WIN in view.legal:
        return {WIN: 0.0}
    rows, tiles, claims = weights[:3]
    melds = len(view.melds)

    def score(counts, num_melds, lacks, more=0):
        return weigh(rows, hand(view, counts, num_melds), context(view, lacks, more))

    levels, scores = {}, {}
    turn = [a for a in view.legal if a < 34]
    if turn:
        lacks, best = best_discards(view.hand, melds, turn)
        for kind in best:
            phase = [1, max(1 - view.drawable / 64, 0)]
            facts = tile(view, kind)
            levels[kind] = -lacks
            scores[kind] = score(without(view.hand, kind), melds, lacks)
            scores[kind] += weigh(tiles, facts, phase)
        if read:
            wary(view, weights, read, turn, levels, scores)
    now = deficiency(view.hand, melds)
    for action in view.legal:
        kind = action % 34
        if 34 <= action < 68:
            rest, made, first = without(view.hand, *[kind] * 4), melds + 1, 0.25
        elif 68 <= action < 102:
            rest, made, first = without(view.hand, kind), melds, 0.25
        elif action == 106:
            rest, made, first = without(view.hand, *[view.pending] * 3), melds + 1, 0
        else:
            continue
        lacks = deficiency(rest, made)
        levels[action] = first - lacks
        scores[action] = score(rest, made, lacks, action == 106)
    for action in view.legal & {102, 103, 104, 105}:
        given = [view.pending] * 2
        if action < 105:
            lowest = view.pending - (action - 102)
            given = [k for k in range(lowest, lowest + 3) if k != view.pending]
        counts = without(view.hand, *given)
        lacks, best = best_discards(counts, melds + 1, KINDS)
        ranked = [
            (score(without(counts, k), melds + 1, lacks, 1), -k) for k in best if lacks <= now
        ]
        levels[action], scores[action] = -lacks, max(ranked, default=(0.0, 0))[0]
        if lacks == now:
            thrown = -max(ranked)[1]
            growth = log(1 + hand(view, without(counts, thrown), melds + 1)[0])
            growth -= log(1 + hand(view, view.hand, melds)[0])
            facts = [
                1,
                growth,
                action == 105,
                (action == 105) * tai(view, view.pending),
                view.open_melds == 0,
                max(1 - view.drawable / 64, 0),
                now >= 3,
            ]
            if sum(w * fact for w, fact in zip(claims, facts, strict=True)) > 0:
                levels[action] += 0.5
    for action in view.legal & {PASS, DECLARE}:
        levels[action], scores[action] = 0.25 - now, float(action == DECLARE)
    top = max(levels.values())
    return {action: scores[action] for action in levels if levels[action] == top}
