"""Many hands after each draw, and after each two draws: what they lack, and what they accept.

What `mjx.distance.count_accepting` finds for one hand, for all hands that grow from a *rest* by
no, one or two drawn tiles. A draw changes the row of one suit; what the other suits join to is
shared by all draws, and a tile's acceptance is two masks met (`tables.Steps`). Lanes come last,
which is how vectors fill. N = rests, T = 34 kinds, S = 4 suits, D = 595 unordered pairs of draws.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import packed, tables
from mjx.stage import stage
from mjx.tiles import NUM_KINDS, NUM_SUITS

Array = jax.Array

_SIZES = (9, 9, 9, 7)  # honours are computed with two ranks more, which nothing can be drawn of
_RANKS = packed.RANKS
_OFFSETS = np.array([0, 0, 0, tables.HONOUR_OFFSET], np.int32)
# One tile more of each rank in a suit's code: int32[S, 9].
_STEPS = np.where(np.arange(9)[None] < np.array(_SIZES)[:, None], 5 ** np.arange(9), 0).astype(
    np.int32
)
# Pairs of ranks i <= j by j, so that those of the honours come first.
_HIGH, _LOW = np.tril_indices(_RANKS)
_APART = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))  # the second by rows


def _blocks() -> list[tuple[np.ndarray, np.ndarray]]:
    """Lists the pairs of draws: of one suit, suit by suit; then of two."""
    blocks = []
    for suit, size in enumerate(_SIZES):
        inside = _HIGH < size
        blocks.append((_LOW[inside] + _RANKS * suit, _HIGH[inside] + _RANKS * suit))
    for a, b in _APART:
        second, first = (x.reshape(-1) for x in np.indices((_SIZES[b], _SIZES[a])))
        blocks.append((first + _RANKS * a, second + _RANKS * b))
    return blocks


# Each unordered pair of draws once: kinds int[D]; and where each ordered pair stands among them.
FIRST, SECOND = (np.concatenate(kinds) for kinds in zip(*_blocks(), strict=True))
NUM_PAIRS = len(FIRST)
PLACE = np.zeros((NUM_KINDS, NUM_KINDS), np.int32)
PLACE[FIRST, SECOND] = PLACE[SECOND, FIRST] = np.arange(NUM_PAIRS)
_LENGTHS = tuple(len(first) for first, _ in _blocks())
_STARTS = tuple(np.cumsum((0, *_LENGTHS))[:-1].tolist())


class Grown(NamedTuple):
    """Hands grown from rests. Leading axis T or D: what was drawn."""

    deficiency: Array  # int32[T, N]
    accepted: Array  # uint16[T, N]  the sum of weights of the kinds that lower it


class Rests(NamedTuple):
    """Hands as they are."""

    deficiency: Array  # int32[N]
    accepting: Array  # bool[T, N]  drawing this kind lowers it


class _Suits(NamedTuple):
    """The suits of the rests, with 0, 1 and 2 tiles drawn into each; 45 pairs of ranks."""

    row: Array  # int32[S,N]
    row_1: Array  # int32[S,9,N]
    row_2: Array  # int32[S,45,N]
    lower: Array  # uint16[S,9,N]  entries that one more tile of this rank lowers
    lower_1: Array  # uint16[S,9,9,N]
    lower_2: Array  # uint16[S,45,9,N]


def none(rest: Array, num_melds: Array) -> Rests:
    """Finds what `mjx.distance.at_rest` finds, for many hands.

    Args:
      rest: uint32[N, S] concealed tiles.
      num_melds: int32[N] melds laid down, 0-5.
    """
    suits = stage(functools.partial(_suits, 0), rest)
    bests, lacks = stage(functools.partial(_bests_at_rest, _Joins(num_melds)), suits.row)
    accepting = (bests[:, None] & suits.lower) > 0
    return Rests(lacks, accepting.reshape(NUM_SUITS * _RANKS, -1)[:NUM_KINDS])


def _bests_at_rest(joins: "_Joins", row: Array) -> tuple[Array, Array]:
    """Finds the best ways of each suit, uint16[S,N], and what the hands lack, int32[N]."""
    a, b, c, d = row
    ab, cd = joins.pair(a, b), joins.pair(c, d)
    rests = (joins.pair(b, cd), joins.pair(a, cd), joins.pair(ab, d), joins.pair(ab, c))
    bests = [joins.best(suit, rest) for suit, rest in zip(row, rests, strict=True)]
    return jnp.stack(bests), joins.lacks(ab, cd)


def one(rest: Array, num_melds: Array, weights: Array) -> Grown:
    """Grows rests by each tile.

    Args:
      rest: uint32[N, S] concealed tiles, of a hand that has yet to draw.
      num_melds: int32[N] melds laid down, 0-5.
      weights: uint16[2, T, N] of a kind as an accepted tile, with 0 and 1 of its copies drawn;
        sums must stay below 65,536.

    Returns:
      Leading axis T. A kind of which the rest holds four is not added to it.
    """
    suits, joins = stage(functools.partial(_suits, 1), rest), _Joins(num_melds)
    weight = _by_suit(weights)

    def one_suit(a: Array) -> Grown:
        grown = suits.row_1[a], suits.lower_1[a]
        return _grown_in_one_suit(joins, suits, weight, a, *grown, np.eye(_RANKS, dtype=int))

    found = jax.lax.map(one_suit, jnp.arange(NUM_SUITS))
    return jax.tree.map(
        lambda x: jnp.concatenate([x[suit, :size] for suit, size in enumerate(_SIZES)]), found
    )


def two(rest: Array, num_melds: Array, weights: Array) -> Grown:
    """Grows rests by each two tiles.

    Args:
      rest: uint32[N, S] concealed tiles, of a hand that has yet to draw twice.
      num_melds: int32[N] melds laid down, 0-5.
      weights: uint16[3, T, N] of a kind as an accepted tile, with 0 to 2 of its copies drawn;
        sums must stay below 65,536.

    Returns:
      Leading axis D: the draws `FIRST` and `SECOND`. A fifth copy is not added.
    """
    suits, joins = stage(functools.partial(_suits, 2), rest), _Joins(num_melds)
    weight = _by_suit(weights)

    def same_suit(a: Array) -> Grown:
        grown = suits.row_2[a], suits.lower_2[a]
        ranks = np.eye(_RANKS, dtype=int)
        return _grown_in_one_suit(joins, suits, weight, a, *grown, ranks[_LOW] + ranks[_HIGH])

    def two_suits(order: Array) -> Grown:
        a, b, c, d = order
        drawn_a, drawn_b = suits.row_1[a][None], suits.row_1[b][:, None]
        *bests, lacks = stage(
            functools.partial(_bests_of_two_suits, joins),
            drawn_a,
            drawn_b,
            suits.row[c],
            suits.row[d],
        )
        terms = []
        for suit, axis, best in ((a, 1, bests[0]), (b, 0, bests[1])):
            for v in range(_RANKS):
                is_drawn = np.expand_dims(np.arange(_RANKS) == v, (1 - axis, 2))
                none, one = (weight[n, suit, v][None, None] for n in range(2))
                lower = jnp.expand_dims(suits.lower_1[suit, :, v], 1 - axis)
                terms.append((best, lower, jnp.where(is_drawn, one, none)))
        terms += _others(suits, weight[0], [c, d], bests[2:], (0, 1))
        return _grown(lacks, terms)

    same = jax.lax.map(same_suit, jnp.arange(NUM_SUITS))
    order = [(a, b, *(s for s in range(NUM_SUITS) if s not in (a, b))) for a, b in _APART]
    apart = jax.lax.map(two_suits, jnp.array(order, jnp.int32))

    def join(same: Array, apart: Array) -> Array:
        parts = [same[suit, :length] for suit, length in enumerate(_LENGTHS[:NUM_SUITS])]
        for n, (a, b) in enumerate(_APART):
            block = apart[n, : _SIZES[b], : _SIZES[a]]
            parts.append(block.reshape(-1, block.shape[-1]))
        return jnp.concatenate(parts)

    return jax.tree.map(join, same, apart)


def _grown_in_one_suit(
    joins: "_Joins",
    suits: _Suits,
    weight: Array,
    a: Array,
    drawn: Array,
    lower: Array,
    copies: np.ndarray,
) -> Grown:
    """Grows rests by tiles of one suit.

    Args:
      joins, suits: of the rests.
      weight: uint16[n,S,9,N], by the copies drawn.
      a: int32[] the suit.
      drawn: int32[m,N] its rows after m ways to draw into it.
      lower: uint16[m,9,N] the entries of those that one more tile of a rank lowers.
      copies: int[m,9] of each rank that are drawn.

    Returns:
      Leading axis m.
    """
    others = [(a + n) % NUM_SUITS for n in range(1, NUM_SUITS)]
    rows = [suits.row[b] for b in others]
    best, *bests, lacks = stage(functools.partial(_bests_of_one_suit, joins), drawn, *rows)
    terms = []
    for v in range(_RANKS):
        own = weight[0, a, v][None]
        for number in range(1, len(weight)):
            own = jnp.where((copies[:, v] == number)[:, None], weight[number, a, v][None], own)
        terms.append((best, lower[:, v], own))
    return _grown(lacks, terms + _others(suits, weight[0], others, bests, (0,)))


def _bests_of_one_suit(joins: "_Joins", drawn: Array, b: Array, c: Array, d: Array) -> list[Array]:
    """Finds the best ways of one suit drawn into, int32[m,N], and of the others, and the lack."""
    rest = joins.pair(b, joins.pair(c, d))[None]
    bests = [joins.best(drawn, rest)]
    for suit, left, right in ((b, c, d), (c, b, d), (d, b, c)):
        bests.append(joins.best(suit[None], joins.pair(drawn, joins.pair(left, right)[None])))
    return [*bests, joins.lacks(drawn, rest)]


def _bests_of_two_suits(joins: "_Joins", a: Array, b: Array, c: Array, d: Array) -> list[Array]:
    """Finds the best ways of two suits drawn into, [1,9,N] and [9,1,N], of the others, the lack."""
    rest, c, d = joins.pair(c, d)[None, None], c[None, None], d[None, None]
    both = stage(joins.pair, a, b)
    return [
        joins.best(a, joins.pair(b, rest)),
        joins.best(b, joins.pair(a, rest)),
        joins.best(c, joins.pair(both, d)),
        joins.best(d, joins.pair(both, c)),
        joins.lacks(both, rest),
    ]


_Term = tuple[Array, Array, Array]  # the best ways of a suit; those a kind lowers; its weight


def _others(
    suits: _Suits, weight: Array, others: list, bests: list[Array], axes: tuple[int, ...]
) -> list[_Term]:
    """Lists the terms of the suits that nothing was drawn into."""
    terms = []
    for suit, best in zip(others, bests, strict=True):
        for v in range(_RANKS):
            lower, one = suits.lower[suit, v], weight[suit, v]
            terms.append((best, jnp.expand_dims(lower, axes), jnp.expand_dims(one, axes)))
    return terms


def _by_suit(weights: Array) -> Array:
    """Splits weights uint16[n,T,N] by suits, zero for what is no kind: uint16[n,S,9,N]."""
    padded = jnp.pad(weights, ((0, 0), (0, NUM_SUITS * _RANKS - NUM_KINDS), (0, 0)))
    return padded.reshape(len(weights), NUM_SUITS, _RANKS, -1)


def _grown(deficiency: Array, terms: list[_Term]) -> Grown:
    """Adds up the weights of the accepted kinds: the best ways, those lowered, the weight."""
    total = jnp.zeros(deficiency.shape, jnp.uint16)
    for best, lower, weight in terms:
        total = total + jnp.where((best & lower) > 0, weight, jnp.uint16(0))
    return Grown(deficiency, total)


def _suits(num_draws: int, rest: Array) -> _Suits:
    """Looks up the suits of the rests: with up to `num_draws` more tiles and one beyond."""
    table, ranks = _tables(), np.arange(_RANKS)
    word = rest.T
    shifts = (packed.BITS * ranks).astype(np.uint32)[None, :, None]
    counts = ((word[:, None] >> shifts) & 7).astype(jnp.int32)  # [S,9,N]
    code = packed.code(word) + _OFFSETS[:, None]

    def step(rank: np.ndarray, already: np.ndarray) -> Array:
        """One tile more of each rank in the code, 0 for a fifth: int32[S,len(rank),N]."""
        has_room = counts[:, rank] + already[None, :, None].astype(np.int32) < 4
        return jnp.where(has_room, _STEPS[:, rank, None], 0)

    def rows(codes: Array) -> Array:
        return table.key.at[codes].get(mode="promise_in_bounds").astype(jnp.int32)

    def lowered(before: Array, after: Array) -> Array:
        index = before * np.int32(table.num_rows) + after
        return table.lower.at[index].get(mode="promise_in_bounds")

    code_1 = code[:, None] + step(ranks, np.zeros(_RANKS, int))
    nothing = jnp.zeros((NUM_SUITS, 0, _RANKS, 1), jnp.uint16)
    if num_draws == 0:
        row, row_1 = stage(lambda: (rows(code), rows(code_1)))
        lower = lowered(row[:, None], row_1)
        return _Suits(row, row_1, row_1[:, :0], lower, nothing, nothing)
    code_2 = code_1[:, _LOW] + step(_HIGH, _LOW == _HIGH)
    row, row_1, row_2 = stage(lambda: (rows(code), rows(code_1), rows(code_2)))
    place = np.zeros((_RANKS, _RANKS), int)
    place[_LOW, _HIGH] = place[_HIGH, _LOW] = np.arange(len(_LOW))
    pairs = row_2[:, place.reshape(-1)].reshape(NUM_SUITS, _RANKS, _RANKS, -1)
    lower, lower_1 = lowered(row[:, None], row_1), lowered(row_1[:, :, None], pairs)
    if num_draws == 1:
        return _Suits(row, row_1, row_2, lower, lower_1, nothing)
    # Each three tiles once, then spread over the pairs and the third.
    pair_of, third = np.divmod(np.arange(len(_LOW) * _RANKS), _RANKS)
    by_pair = np.sort(np.stack([_LOW[pair_of], _HIGH[pair_of], third]), axis=0)
    (i, j, k), where = np.unique(by_pair, axis=1, return_inverse=True)
    row_3 = stage(rows, code_2[:, place[i, j]] + step(k, (i == k).astype(int) + (j == k)))
    thirds = row_3[:, where.reshape(-1)]
    thirds = thirds.reshape(NUM_SUITS, len(_LOW), _RANKS, -1)
    return _Suits(row, row_1, row_2, lower, lower_1, lowered(row_2[:, :, None], thirds))


def add_up(values: Array, weights: Array) -> Array:
    """Adds up values of two draws over the second, float32[T, N].

    Args:
      values: float32[D, N].
      weights: float32[T, N] of each second draw.
    """
    sums: list[list[Array]] = [[] for _ in range(NUM_SUITS)]
    kinds = [slice(_RANKS * suit, _RANKS * suit + size) for suit, size in enumerate(_SIZES)]
    parts = [values[start : start + n] for start, n in zip(_STARTS, _LENGTHS, strict=True)]
    for suit, size in enumerate(_SIZES):
        places = PLACE[kinds[suit], kinds[suit]] - _STARTS[suit]
        block = parts[suit][places.reshape(-1)].reshape(size, size, -1)
        sums[suit].append(jnp.sum(block * weights[None, kinds[suit]], axis=1))
    for (a, b), part in zip(_APART, parts[NUM_SUITS:], strict=True):
        block = part.reshape(_SIZES[b], _SIZES[a], -1)
        sums[a].append(jnp.sum(block * weights[kinds[b], None], axis=0))
        sums[b].append(jnp.sum(block * weights[None, kinds[a]], axis=1))
    return jnp.concatenate([functools.reduce(jnp.add, parts) for parts in sums])


class _Joins:
    """The tables' look-ups for rests of given numbers of melds; rows that broadcast."""

    def __init__(self, num_melds: Array) -> None:
        self._melds = num_melds.astype(jnp.int32)

    def pair(self, a: Array, b: Array) -> Array:
        """Joins rows."""
        table = _tables()
        index = a * np.int32(table.num_joins) + b
        return table.pair.at[index].get(mode="promise_in_bounds").astype(jnp.int32)

    def lacks(self, a: Array, b: Array) -> Array:
        """Counts the tiles that two parts lack."""
        table = _tables()
        size = np.int32(table.num_joins)
        melds = self._melds.reshape((1,) * (max(a.ndim, b.ndim) - 1) + (-1,))
        index = (melds * size + a) * size + b
        return table.lacks.at[index].get(mode="promise_in_bounds").astype(jnp.int32)

    def best(self, suit: Array, rest: Array) -> Array:
        """Finds the best ways to share out sets and pair between a suit and the rest."""
        table = _tables()
        melds = self._melds.reshape((1,) * (max(suit.ndim, rest.ndim) - 1) + (-1,))
        index = (melds * np.int32(table.num_rows) + suit) * np.int32(table.num_joins) + rest
        return table.best.at[index].get(mode="promise_in_bounds")


class _Tables(NamedTuple):
    """The tables on the device, flat."""

    key: Array
    pair: Array
    lacks: Array
    best: Array
    lower: Array
    num_rows: int
    num_joins: int


@functools.cache
def _tables() -> _Tables:
    """Puts the tables on the device."""
    with jax.ensure_compile_time_eval():
        joins, steps = tables.joins(), tables.steps()
        return _Tables(
            key=jnp.asarray(tables.missing().key),
            pair=jnp.asarray(joins.pair.reshape(-1)),
            lacks=jnp.asarray(joins.lacks.reshape(-1)),
            best=jnp.asarray(steps.best.reshape(-1)),
            lower=jnp.asarray(steps.lower.reshape(-1)),
            num_rows=len(steps.lower),
            num_joins=len(joins.pair),
        )
