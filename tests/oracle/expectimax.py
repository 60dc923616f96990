"""A plain recursive Expectimax for one player, written down as its equation.

A node is a dict of plain values. `q(counts, melds, draws)` gives a list of 34 values of discards,
`points(counts, melds, kind, replacement)` what a win by drawing `kind` is worth, `risk(counts,
melds, draws)` lists of rho and sigma by discard, `pass_risk` the same two numbers for a pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from statistics import pstdev

from tests.oracle.hand import deficiency, is_win
from tests.oracle.score import Meld
from tests.oracle.tiles import NUM_KINDS

Counts = tuple[int, ...]
NEVER = float("-inf")


@dataclass(frozen=True)
class Tree:
    """What stays the same throughout a search."""

    alpha: float
    q: Callable[[Counts, tuple[Meld, ...], int], Sequence[float]]
    points: Callable[[Counts, tuple[Meld, ...], int, str], float]
    gamma: float = 1.0
    risk: (
        Callable[[Counts, tuple[Meld, ...], int], tuple[Sequence[float], Sequence[float]]] | None
    ) = None
    pass_risk: tuple[float, float] = (0.0, 1.0)
    spread: float = 0.0  # deviations of Q below the best up to which discards are tried; 0: all
    merge: bool = False  # above the last layer, a draw that brings the hand no nearer is thrown


@dataclass(frozen=True)
class Decision:
    """One decision at the table."""

    counts: Counts  # concealed, with the tile just drawn in the own turn
    melds: tuple[Meld, ...]
    unseen: Counts
    locked: bool
    may_win: bool
    pending: int = -1  # the tile that others' claims are about


def width(alpha: float, num_tiles: int) -> int:
    """Counts the discards that are tried."""
    return ceil(Fraction(Decimal(str(alpha))) * num_tiles)


def tried(tree: Tree, counts: Counts, melds: tuple[Meld, ...], draws: int) -> list[int]:
    """Lists the discards within the width, best Q first, of equals the lower kind."""
    q = tree.q(counts, melds, draws)
    held = [kind for kind in range(NUM_KINDS) if counts[kind]]
    if tree.spread:
        values = [q[kind] for kind in held]
        least = max(values) - tree.spread * pstdev(values)
        near = [kind for kind in held if q[kind] >= least]
        return sorted(near, key=lambda kind: (-q[kind], kind))[: width(tree.alpha, sum(counts))]
    return sorted(held, key=lambda kind: (-q[kind], kind))[: width(tree.alpha, sum(counts))]


def discards(
    tree: Tree,
    counts: Counts,
    melds: tuple[Meld, ...],
    unseen: Counts,
    locked: bool,
    draws: int,
    layers: int,
) -> dict[int, float]:
    """Values the discards within the width: V_layers(s, a)."""
    complete = is_win(counts, len(melds))
    rho, sigma = tree.risk(counts, melds, draws) if tree.risk else ([0.0] * 34, [1.0] * 34)
    q = tree.q(counts, melds, draws)
    values = {}
    for kind in tried(tree, counts, melds, draws):
        if layers == 0:
            values[kind] = q[kind]
            continue
        rest = _add(counts, kind, -1)
        mean = chance(tree, rest, melds, unseen, locked and complete, draws, layers, "plain")
        values[kind] = rho[kind] + tree.gamma * sigma[kind] * mean
    return values


def chance(
    tree: Tree,
    rest: Counts,
    melds: tuple[Meld, ...],
    unseen: Counts,
    locked: bool,
    draws: int,
    layers: int,
    replacement: str,
) -> float:
    """Averages W_(layers - 1) over the draws, each a round of the table later."""
    total = sum(unseen)
    later = draws + (replacement == "plain")
    return sum(
        unseen[kind]
        / total
        * best(
            tree, rest, melds, _add(unseen, kind, -1), locked, later, layers - 1, kind, replacement
        )
        for kind in range(NUM_KINDS)
        if unseen[kind]
    )


def best(
    tree: Tree,
    rest: Counts,
    melds: tuple[Meld, ...],
    unseen: Counts,
    locked: bool,
    draws: int,
    layers: int,
    kind: int,
    replacement: str,
) -> float:
    """Values a hand that has just drawn: W_layers(h)."""
    counts = _add(rest, kind, 1)
    if is_win(counts, len(melds)) and not locked:
        return tree.points(rest, melds, kind, replacement)
    if layers == 0:  # every discard may be a leaf's, not those within the width alone
        q = tree.q(counts, melds, draws)
        return max(q[a] for a in range(NUM_KINDS) if counts[a])
    if tree.merge and layers == 1:
        lacks = deficiency(rest, len(melds))
        if deficiency(counts, len(melds)) >= lacks:
            return chance(tree, rest, melds, unseen, locked, draws, layers, "plain")
    return max(discards(tree, counts, melds, unseen, locked, draws, layers).values())


def actions(tree: Tree, decision: Decision, legal: set[str], layers: int) -> dict[str, float]:
    """Values the legal actions but the win, by name as in `mjx.actions`, without pruned ones."""
    values: dict[str, float] = {}
    locked = decision.locked or decision.may_win
    counts, melds, unseen = decision.counts, decision.melds, decision.unseen
    args = (unseen, locked, 0, layers)
    if decision.pending < 0:
        for kind, value in discards(tree, counts, melds, *args).items():
            values[f"discard {kind}"] = value
    for name in legal:
        verb, _, text = name.partition(" ")
        kind = int(text) if text else decision.pending
        if verb == "concealed_kong":
            after = (_add(counts, kind, -4), (*melds, ("ankong", kind)))
            values[name] = chance(tree, *after, unseen, locked, 0, layers + 1, "own_kong")
        elif verb == "added_kong":
            grown = tuple(("kong", kind) if meld == ("pong", kind) else meld for meld in melds)
            after = (_add(counts, kind, -1), grown)
            values[name] = chance(tree, *after, unseen, locked, 0, layers + 1, "own_kong")
        elif verb == "open_kong":
            after = (_add(counts, kind, -3), (*melds, ("kong", kind)))
            values[name] = chance(tree, *after, unseen, locked, 0, layers + 1, "open_kong")
        elif verb == "pong":
            after = (_add(counts, kind, -2), (*melds, ("pong", kind)))
            values[name] = max(discards(tree, *after, *args).values())
        elif verb.startswith("chow"):
            lowest = kind - ("chow_low", "chow_middle", "chow_high").index(verb)
            rest = counts
            for other in {lowest, lowest + 1, lowest + 2} - {kind}:
                rest = _add(rest, other, -1)
            values[name] = max(discards(tree, rest, (*melds, ("chow", lowest)), *args).values())
        elif verb == "pass":
            rho, sigma = tree.pass_risk
            mean = chance(tree, counts, melds, unseen, locked, 0, layers + 1, "plain")
            values[name] = rho + sigma * mean
    return values


def _add(counts: Counts, kind: int, number: int) -> Counts:
    """Adds tiles of a kind."""
    return (*counts[:kind], counts[kind] + number, *counts[kind + 1 :])
