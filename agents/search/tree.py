"""The tree as arrays: discards and draws in turn, and their values.

    V_L(s, a) = rho + gamma * sigma * sum_t p(t) W_{L-1}(h - a + t),    V_0 = Q
    W_l(h)    = the completion's points if h is complete (and not locked), else max_a V_l(h, a)

One discard and one draw are a *layer*. Nothing is kept by node: hands are grown from a *fork*, a
hand that throws one of its tiles first or, at rest, none; and what two discards and two draws lead
to is valued by the pair of discards and the pair of draws, in whatever order they came.
docs/search.md draws it.

G = forks solved together, each with its own decision's context; F = 17 kinds held at most, as first
discards (a hand at rest has the first place alone); J = the same, as second discards; P = 153
unordered pairs of them; T = 34 draws; D = 595 unordered pairs of draws; S = 4 suits.
"""

import dataclasses
import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.options import Own
from agents.search import completion
from agents.search.value import NEVER, Position, ValueFunction, leaf_values, masked_q
from agents.worklist import is_real, map_where
from mjx import distance, draws, packed
from mjx import hand as hands
from mjx import state as st
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.tiles import NUM_KINDS

Array = jax.Array

MAX_TILES = 17
_NO_KIND = NUM_KINDS  # in a list of kinds held, after its end
_TILES = np.zeros((NUM_KINDS + 1, 4), np.uint32)  # each kind as a hand of one tile; then of none
for _kind in range(NUM_KINDS):
    _TILES[_kind, _kind // packed.RANKS] = 1 << (packed.BITS * (_kind % packed.RANKS))
_KINDS = np.arange(NUM_KINDS, dtype=np.int32)
_BLOCK = 256  # pairs of discards whose draws are valued at once
_ROWS = 64  # rests grown by one tile at once


class Risk(NamedTuple):
    """What may happen before our next draw; without it rho = 0 and sigma = 1.

    `prepare(params, observation, wanted) -> context` runs on a batch of decisions, leading axis B,
    of which those that are wanted, bool[B], will be searched.
    `discards(params, context, positions) -> (rho, sigma)`, float32[N, T] each: expected points if
    the hand ends after this discard and before our next draw, and the chance that it does not.
    `passing(params, context) -> (rho, sigma)`, float32[] each: the same after a pass.
    """

    prepare: Callable[[Any, Observation, Array], Any]
    discards: Callable[[Any, Any, Position], tuple[Array, Array]]
    passing: Callable[[Any, Any], tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class Settings:
    """The tree's shape and its equation.

    Raises:
      ValueError: a value out of range.
    """

    depth: int = 2  # layers in the own turn; 0 is Q alone
    claim_depth: int | None = None  # layers where something is claimed or passed; None: `depth`
    alpha: float = 0.6  # share of the tiles in hand that are tried as discards
    gamma: float = 1.0  # discount a layer
    kappa: float = 1.0  # weight of the self-draw in a completion
    rules: Rules = DEFAULT
    spread: float = 0.0  # tries no discard further below the best Q, in deviations of Q; 0: all
    merge: bool = False  # draws that bring a hand no nearer share a child: an approximation
    leaf_block: int = 1024  # distinct leaves evaluated at once, where they are one by one

    def __post_init__(self) -> None:
        """Refuses values out of range."""
        for name in ("depth", "claim_depth"):
            if not 0 <= (getattr(self, name) or 0) <= 4:
                raise ValueError(f"{name} is 0 to 4 layers, not {getattr(self, name)}.")
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha is above 0 and at most 1, not {self.alpha}.")
        if not 0 <= self.spread < float("inf"):
            raise ValueError(f"spread is 0 or more deviations, not {self.spread}.")
        for name in ("gamma", "kappa"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is 0 to 1, not {getattr(self, name)}.")

    @property
    def asked_depth(self) -> int:
        """Layers where something is claimed or passed."""
        return self.depth if self.claim_depth is None else self.claim_depth


def widths(alpha: float) -> np.ndarray:
    """Counts the discards tried, ceil(alpha n), for n = 0 to 17 tiles in hand: int32[18].

    `alpha` is taken as the decimal that it prints as, since 0.7 * 10 is above 7 in binary.
    """
    share = Fraction(repr(float(alpha)))
    return np.array([-((-share * n) // 1) for n in range(MAX_TILES + 1)], np.int32)


class Task(NamedTuple):
    """A hand that must discard or, at rest, draws: the root of a tree. Leading axis G."""

    tiles: Own  # uint32[G,S], ...
    at_rest: Array  # bool[G]
    draws: Array  # int32[G]   rounds of the table since the decision; at rest, after the draw
    unseen: Array  # int32[G,T] copies of each kind that may still be drawn
    locked: Array  # bool[G]    a win may not be declared, or one is being declined
    replacement: Array  # int32[G] of one at rest: what kind of draw comes (mjx.state)


class Solver(NamedTuple):
    """All that stays the same throughout a search."""

    settings: Settings
    value: ValueFunction
    risk: Risk | None
    params: Any  # of `value`
    risk_params: Any = ()
    widths: Array | None = None  # int32[18], instead of those of `settings.alpha`


class Contexts(NamedTuple):
    """What the positions of one decision share."""

    value: Any
    risk: Any  # () without a risk
    table: completion.Table


def prepare(solver: Solver, observation: Observation, wanted: Array) -> Contexts:
    """Computes what the positions of each decision share, leading axis B; `wanted` as of `Risk`."""
    risk: Any = ()
    if solver.risk is not None:
        risk = solver.risk.prepare(solver.risk_params, observation, wanted)
    value = jax.vmap(solver.value.prepare, (None, 0))(solver.params, observation)
    return Contexts(value, risk, jax.vmap(completion.table_of)(observation))


class Leaves(NamedTuple):
    """How many leaves trees had."""

    evaluated: Array  # int32[G]  hands given to the value function
    distinct: Array  # int32[G]  hands that differ among those within the width, not yet complete


def values(solver: Solver, contexts: Contexts, tasks: Task, layers: int) -> Array:
    """Values the discards of hands, or the draws of hands at rest.

    Args:
      solver: settings, value function and parameters.
      contexts: of the decisions, leading axis G.
      tasks: the trees' roots.
      layers: of the tree below the first draw; -1 for Q alone, of hands that discard.

    Returns:
      float32[G, T]: of a hand that discards, `NEVER` for kinds not held or beyond the width; of
      one at rest, zero for what cannot come.
    """
    q = stage(functools.partial(_root_q, solver), contexts, tasks)
    if layers < 0:
        return q
    fork = _fork(solver, tasks, q)
    by_draw = _drawn_values(solver, contexts, fork, layers)[0]
    mean = jnp.sum(chances(fork.unseen)[:, None] * by_draw, axis=-1)
    by_kind = (fork.kinds[:, :, None] == _KINDS[None, None]) & fork.tried[:, :, None]
    spread = jnp.sum(jnp.where(by_kind, mean[:, :, None], np.float32(0)), axis=1)
    spread = spread * np.float32(solver.settings.gamma)
    if solver.risk is not None:
        positions = jax.tree.map(lambda x: x[:, None], _position(tasks.tiles, tasks.draws))
        risk = jax.vmap(solver.risk.discards, (None, 0, 0))
        rho, sigma = risk(solver.risk_params, contexts.risk, positions)
        spread = rho[:, 0] + sigma[:, 0] * spread
    discards = jnp.where(by_kind.any(axis=1), spread, NEVER)
    return jnp.where(tasks.at_rest[:, None], by_draw[:, 0], discards)


def count_leaves(solver: Solver, contexts: Contexts, tasks: Task) -> Leaves:
    """Counts the leaves of trees of one or two layers below hands that must discard: axis G."""
    fork = _fork(solver, tasks, _root_q(solver, contexts, tasks))
    leaves = _drawn_values(solver, contexts, fork, solver.settings.depth - 1, count=True)[1]
    assert leaves is not None
    return leaves


# --- forks ------------------------------------------------------------------------------------


class _Fork(NamedTuple):
    """A hand that draws, one of its tiles being thrown first or none. Leading axis G."""

    at_rest: Array  # bool[G]     nothing is thrown first
    hand: Array  # uint32[G,S]
    melds: Own  # the melds; its hand means nothing
    kinds: Array  # int32[G,J]  held, ascending, then _NO_KIND
    held: Array  # int32[G,J]  copies of them
    tried: Array  # bool[G,F]   what is thrown first
    draws: Array  # int32[G]    rounds of the table, after the draw
    unseen: Array  # int32[G,T]
    locked: Array  # bool[G]     when the draw comes
    replacement: Array  # int32[G]  what kind of draw it is, of a hand at rest


# Pairs of a first and a second discard, by place among the kinds held: int[P]; their numbers.
_FIRST, _SECOND = np.triu_indices(MAX_TILES)
_PLACE = np.zeros((MAX_TILES, MAX_TILES), np.int32)
_PLACE[_FIRST, _SECOND] = _PLACE[_SECOND, _FIRST] = np.arange(len(_FIRST))


def _fork(solver: Solver, tasks: Task, q: Array) -> _Fork:
    """Throws the tiles of the largest Q float32[G,T], or nothing."""
    hand = tasks.tiles.hand
    kinds, held = _kinds_held(hand)
    best = _within(q, _width_of(solver, hand)) & _in_spread(solver, q, 1)
    known = jnp.minimum(kinds, NUM_KINDS - 1)
    tried = jnp.take_along_axis(best, known, axis=1) & (held > 0)
    rest = tasks.at_rest
    return _Fork(
        rest,
        hand,
        tasks.tiles,
        kinds,
        held,
        jnp.where(rest[:, None], np.arange(MAX_TILES)[None] == 0, tried),
        tasks.draws + ~rest,
        tasks.unseen,
        tasks.locked & (rest | jax.vmap(hands.is_win)(hand)),
        tasks.replacement,
    )


def _kinds_held(hand: Array) -> tuple[Array, Array]:
    """Lists the kinds held and how many of each: int32[G,J]."""
    counts = packed.to_counts(hand).astype(jnp.int32)
    kinds = jnp.sort(jnp.where(counts > 0, _KINDS[None], _NO_KIND), axis=1)[:, :MAX_TILES]
    counts = jnp.pad(counts, ((0, 0), (0, 1)))
    return kinds, jnp.take_along_axis(counts, kinds, axis=1)


def _within(order: Array, width: Array) -> Array:
    """Marks the `width` int32[G] largest of float32[G,T], of equals the lower kind: bool[G,T]."""
    ahead = order[:, None] > order[:, :, None]
    ahead |= (order[:, None] == order[:, :, None]) & (_KINDS[None] < _KINDS[:, None])[None]
    rank = jnp.sum(ahead, axis=-1, dtype=jnp.int32)
    return (rank < width[:, None]) & (order > NEVER)


def _in_spread(solver: Solver, order: Array, axis: int) -> Array:
    """Marks what is near enough to the best along an axis, `NEVER` aside: bool."""
    if solver.settings.spread == 0:
        return jnp.ones(order.shape, bool)
    there = order > NEVER
    number = jnp.maximum(jnp.sum(there, axis=axis, keepdims=True), 1).astype(jnp.float32)
    known = jnp.where(there, order, np.float32(0))
    mean = jnp.sum(known, axis=axis, keepdims=True) / number
    square = jnp.where(there, (order - mean) ** 2, np.float32(0))
    deviation = jnp.sqrt(jnp.sum(square, axis=axis, keepdims=True) / number)
    best = jnp.max(order, axis=axis, keepdims=True)
    return order >= best - np.float32(solver.settings.spread) * deviation


def _width_of(solver: Solver, hand: Array, more: Array | int = 0) -> Array:
    """Counts the discards tried of hands uint32[G,S] and so many tiles more: int32[G]."""
    num_tiles = jnp.sum(packed.num_tiles(hand), axis=-1, dtype=jnp.int32) + more
    table = widths(solver.settings.alpha) if solver.widths is None else solver.widths
    return jnp.asarray(table)[num_tiles]


def _root_q(solver: Solver, contexts: Contexts, tasks: Task) -> Array:
    """Values discards by Q, `NEVER` for kinds not held: float32[G,T]."""
    positions = jax.tree.map(lambda x: x[:, None], _position(tasks.tiles, tasks.draws))
    q = functools.partial(masked_q, solver.value, solver.params)
    return jax.vmap(q)(contexts.value, positions)[:, 0]


def _position(tiles: Own, num_draws: Array) -> Position:
    """Describes hands to a value function."""
    return Position(tiles.hand, tiles.chows, tiles.sets, tiles.num_melds, num_draws)


def _positions(tiles: Own, hand: Array, num_draws: Array) -> Position:
    """Describes hands uint32[N,S] of one player, whose melds and draws are the same."""
    own = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(hand), *x.shape)), tiles)
    return _position(own._replace(hand=hand), jnp.full(len(hand), num_draws))


def chances(unseen: Array) -> Array:
    """Gives the chance of each draw: float32[..., T] of int[..., T] copies."""
    copies = unseen.astype(jnp.float32)
    return copies / jnp.maximum(jnp.sum(copies, axis=-1, keepdims=True), np.float32(1))


def _rests(fork: _Fork) -> Array:
    """Lists the hands that draw first: uint32[G,F,S]."""
    rests = fork.hand[:, None] - _thrown(fork)
    return jnp.where(fork.held[..., None] > 0, rests, jnp.uint32(0))


def _thrown(fork: _Fork) -> Array:
    """Lists the first discards as hands of one tile, or none: uint32[G,F,S]."""
    return jnp.where(fork.at_rest[:, None, None], jnp.uint32(0), jnp.asarray(_TILES)[fork.kinds])


def _pair_rests(fork: _Fork) -> tuple[Array, Array]:
    """Lists the hands after both discards, uint32[G,P,S], and which there are, bool[G,P]."""
    tiles = jnp.asarray(_TILES)[fork.kinds]
    rests = fork.hand[:, None] - tiles[:, _SECOND] - _thrown(fork)[:, _FIRST]
    two = (fork.held[:, _FIRST] > 0) & ((fork.held[:, _SECOND] > 1) | (_FIRST != _SECOND)[None])
    first = jnp.where(fork.at_rest[:, None], (_FIRST == 0)[None], two)
    exists = first & (fork.held[:, _SECOND] > 0)
    return jnp.where(exists[..., None], rests, jnp.uint32(0)), exists


# --- values of forks --------------------------------------------------------------------------


def _drawn_values(
    solver: Solver, contexts: Contexts, fork: _Fork, layers: int, count: bool = False
) -> tuple[Array, Leaves | None]:
    """Values the hands drawn into, by the layers below them.

    Returns:
      float32[G,F,T], zero for what is not tried or cannot come; and the leaves, where they are
      counted, which is done for no layer and one.
    """
    waits = packed.kinds_to_bools(jax.vmap(jax.vmap(hands.waits))(_rests(fork)))
    reached = fork.tried[:, :, None] & (fork.unseen > 0)[:, None]
    complete = waits & reached & ~fork.locked[:, None, None]
    is_open = reached & ~complete
    leaves = None
    if layers == 1:
        below, points, leaves = _one_layer(solver, contexts, fork, waits, reached, is_open, count)
    else:
        points, _ = _scored(solver, contexts, fork, waits & reached)
        if layers == 0:
            rests, num_draws = _rests(fork), _repeat(fork.draws, MAX_TILES)
            below = _grow_one(solver, contexts, fork, rests, fork.tried, num_draws)
        else:
            below = _more_layers(solver, contexts, fork, is_open, layers)
    if count and layers == 0:
        is_none = (fork.kinds[:, :, None] == _KINDS[None, None]) & is_open  # thrown and drawn
        apart = jnp.sum(is_open & ~is_none, axis=(1, 2), dtype=jnp.int32)
        number = NUM_KINDS * jnp.sum(fork.tried, axis=1, dtype=jnp.int32)
        leaves = Leaves(number, apart + is_none.any(axis=(1, 2)))
    first = jnp.where(fork.at_rest[:, None, None], points[:, -1:], points)
    return jnp.where(complete, first, jnp.where(is_open, below, np.float32(0))), leaves


def _scored(
    solver: Solver,
    contexts: Contexts,
    fork: _Fork,
    wanted: Array,
    pairs: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Scores the hands won by a draw.

    Args:
      solver, contexts, fork: as everywhere.
      wanted: bool[G,F,T], the draws that complete a hand after a first discard.
      pairs: the rests after two discards, uint32[G,P,S], and with which first draws a second one
        may complete them, bool[G,P,T].

    Returns:
      Points of the former, float32[G,F,T], zero elsewhere; in the last place of a hand at rest, as
      the draw that the fork begins with, elsewhere as plain ones. Sums over the second draws of
      the latter, each by its unseen copies, float32[G,P,T].
    """
    settings, tiles = solver.settings, jnp.asarray(_TILES)[:NUM_KINDS]
    at_rest = fork.at_rest
    is_last = (np.arange(MAX_TILES) == MAX_TILES - 1)[None]
    wanted = wanted | ((at_rest[:, None] & is_last)[..., None] & wanted[:, :1])
    replacement = jnp.where(
        at_rest[:, None] & is_last, fork.replacement[:, None], jnp.int32(st.PLAIN_DRAW)
    )
    rests = jnp.where(at_rest[:, None, None], fork.hand[:, None], _rests(fork))
    rows = wanted
    if pairs is not None:
        rests = jnp.concatenate([rests, pairs[0]], axis=1)
        rows = jnp.concatenate([rows, pairs[1]], axis=1)
    per_fork = rows.shape[1]

    def row_points(lanes: Array) -> Array:
        """A row's points by the only draw, or by the first of two, summed over the second."""
        g, row = lanes // per_fork, lanes % per_fork
        is_pair = (row >= MAX_TILES)[:, None, None]
        hand, first = rests[g, row][:, None], rows[g, row][:, :, None]
        hand = jnp.where(is_pair & first, hand + tiles[None], hand)  # before the last draw
        copies = fork.unseen[g][:, None] - np.eye(NUM_KINDS, dtype=np.int32)[None]
        waits = packed.kinds_to_bools(jax.vmap(jax.vmap(hands.waits))(hand))
        only = jnp.swapaxes(first, 1, 2) & (_KINDS == 0)[None, :, None]
        wins = jnp.where(is_pair, first & waits & (copies > 0), only)
        how = jnp.where(
            is_pair[:, 0, 0], st.PLAIN_DRAW, replacement[g, jnp.minimum(row, MAX_TILES - 1)]
        )

        def points(lane: Array) -> Array:
            n, kind, last = lane // NUM_KINDS**2, lane // NUM_KINDS % NUM_KINDS, lane % NUM_KINDS
            table = jax.tree.map(lambda x: x[g[n]], contexts.table)
            own = _own(fork, g[n], hand[n, kind])
            return completion.drawn(table, own, last, how[n], settings.rules, settings.kappa)

        lanes = jnp.arange(wins.size, dtype=jnp.int32)
        each = map_where(jax.vmap(points), wins.reshape(-1), lanes, 32).reshape(wins.shape)
        sums = jnp.sum(copies.astype(jnp.float32) * each, axis=-1)
        return jnp.where(is_pair[:, 0], sums, each[:, 0])

    lanes = jnp.arange(rows[..., 0].size, dtype=jnp.int32)
    found = map_where(row_points, rows.any(axis=-1).reshape(-1), lanes, 32).reshape(rows.shape)
    return found[:, :MAX_TILES], found[:, MAX_TILES:]


def _own(fork: _Fork, g: Array, hand: Array) -> Own:
    """Gives a hand the melds of a fork."""
    return jax.tree.map(lambda x: x[g], fork.melds)._replace(hand=hand)


def _repeat(x: Array, number: int) -> Array:
    """Repeats an array [G] to [G, number]."""
    return jnp.broadcast_to(x[:, None], (len(x), number))


def _more_layers(
    solver: Solver, contexts: Contexts, fork: _Fork, is_open: Array, layers: int
) -> Array:
    """Values the hands drawn into by trees of their own, a few at a time: float32[G,F,T]."""
    rests = _rests(fork).reshape(-1, 4)
    per_fork = is_open[0].size

    def solve(lanes: Array) -> Array:
        g, kind = lanes // per_fork, lanes % NUM_KINDS
        hand = rests[lanes // NUM_KINDS] + jnp.asarray(_TILES)[kind]
        fine = is_open.reshape(-1)[lanes] & is_real(lanes)
        hand = jnp.where(fine[:, None], hand, jnp.uint32(0))
        drawn = _KINDS[None] == kind[:, None]
        task = Task(
            _own(fork, g, hand),
            jnp.zeros_like(fork.at_rest[g]),
            fork.draws[g],
            fork.unseen[g] - drawn,
            fork.locked[g],
            fork.replacement[g],
        )
        here = jax.tree.map(lambda x: x[g], contexts)
        return jnp.max(values(solver, here, task, layers - 1), axis=-1)

    lanes = jnp.arange(is_open.size, dtype=jnp.int32)
    block = TASKS_AT_ONCE[layers - 1]
    return map_where(solve, is_open.reshape(-1), lanes, block).reshape(is_open.shape)


TASKS_AT_ONCE = (128, 32, 4, 1, 1)  # by layers


# --- one layer below the draw -----------------------------------------------------------------


def _one_layer(
    solver: Solver,
    contexts: Contexts,
    fork: _Fork,
    waits: Array,
    reached: Array,
    is_open: Array,
    count: bool,
) -> tuple[Array, Array, Leaves | None]:
    """Values the hands drawn into by one discard and one draw more.

    Returns:
      float32[G,F,T]; the points of those complete, as `_scored`; the leaves if counted.
    """
    rests, exists = _pair_rests(fork)
    if solver.value.after_draws is not None:
        singles, order = stage(
            functools.partial(_singles_and_order, solver), contexts, fork, is_open, rests, exists
        )
        tried, back_tried = _second_discards(solver, fork, is_open, *order)
        wanted = _wanted_pairs(tried)
        sums = stage(functools.partial(_sums_together, solver), contexts, fork, rests, wanted)
        leaves = _count(fork, rests, wanted, back_tried, waits) if count else None
    else:
        useful = is_open
        if solver.settings.merge:
            useful = is_open & stage(_nearer, fork)
        order = stage(functools.partial(_order_by_q, solver), contexts, fork, useful)
        tried, back_tried = _second_discards(solver, fork, useful, *order)
        back_tried |= is_open & ~useful  # the best reply to a useless draw is to throw it
        wanted = _wanted_pairs(tried)
        sums, singles, leaves = stage(
            functools.partial(_sums_of_distinct, solver),
            contexts,
            fork,
            rests,
            wanted,
            back_tried,
            waits,
        )
    points, won = stage(
        functools.partial(_scored, solver),
        contexts,
        fork,
        waits & reached,
        (rests, wanted & sums.any_wait),
    )
    # A completion counts for its points, unless the win was declined on the way here.
    unlocked = ~(fork.locked[:, None, None] & waits)
    left = jnp.maximum(jnp.sum(fork.unseen, axis=-1) - 1, 1).astype(jnp.float32)

    def mean(all_: Array, complete: Array, won: Array, unlocked: Array) -> Array:
        total = all_ + jnp.where(unlocked, won - complete, np.float32(0))
        return total / left.reshape(-1, *[1] * (total.ndim - 1))

    all_, complete, won = (x[:, _PLACE] for x in (sums.all, sums.complete, won))
    second = mean(all_, complete, won, unlocked[:, :, None])  # [G,F,J,T]
    copies = fork.unseen.astype(jnp.float32)[:, None]
    is_wait = waits.astype(jnp.float32)

    def back(values: Array) -> Array:  # over the draws, given that one copy was thrown back
        return jnp.sum(copies * values, axis=-1, keepdims=True) - values

    thrown_back = mean(back(singles), back(is_wait * singles), back(points), unlocked)
    if solver.risk is not None or solver.settings.gamma != 1:
        second, thrown_back = _with_risk(solver, contexts, fork, second, thrown_back)
    best = jnp.max(jnp.where(tried, second, NEVER), axis=2)
    return jnp.maximum(best, jnp.where(back_tried, thrown_back, NEVER)), points, leaves


def _nearer(fork: _Fork) -> Array:
    """Marks the draws that bring the hands that draw first nearer: bool[G,F,T]."""
    melds = _repeat(fork.melds.num_melds, MAX_TILES)
    return jax.vmap(jax.vmap(distance.at_rest))(_rests(fork), melds).accepting


def _wanted_pairs(tried: Array) -> Array:
    """Marks the first draws at which either of two discards comes second: bool[G,P,T]."""
    return tried[:, _FIRST, _SECOND] | tried[:, _SECOND, _FIRST]


def _with_risk(
    solver: Solver, contexts: Contexts, fork: _Fork, second: Array, back: Array
) -> tuple[Array, Array]:
    """Puts rho, gamma and sigma to values of second discards float32[G,F,J,T] and [G,F,T]."""
    gamma = np.float32(solver.settings.gamma)
    if solver.risk is None:
        return gamma * second, gamma * back
    rests = _rests(fork)
    hand = rests[:, :, None] + jnp.asarray(_TILES)[None, None, :NUM_KINDS]
    fine = fork.tried[:, :, None] & (fork.unseen > 0)[:, None]
    hand = jnp.where(fine[..., None], hand, jnp.uint32(0)).reshape(len(rests), -1, 4)

    def spread(x: Array) -> Array:
        return jnp.broadcast_to(x[:, None], (len(x), hand.shape[1], *x.shape[1:]))

    own = fork.melds
    positions = Position(hand, *map(spread, (own.chows, own.sets, own.num_melds, fork.draws)))
    risk = jax.vmap(solver.risk.discards, (None, 0, 0))
    rho, sigma = risk(solver.risk_params, contexts.risk, positions)
    shape = (*rests.shape[:2], NUM_KINDS, NUM_KINDS)  # [G,F,T,kind thrown]
    rho, sigma = rho.reshape(shape), sigma.reshape(shape)
    thrown = jnp.minimum(fork.kinds, NUM_KINDS - 1)[:, None, None]

    def of_second(x: Array) -> Array:
        return jnp.take_along_axis(x, jnp.broadcast_to(thrown, (*x.shape[:3], MAX_TILES)), axis=3)

    def of_back(x: Array) -> Array:
        return jnp.diagonal(x, axis1=2, axis2=3)

    second = (
        jnp.swapaxes(of_second(rho), 2, 3) + gamma * jnp.swapaxes(of_second(sigma), 2, 3) * second
    )
    return second, of_back(rho) + gamma * of_back(sigma) * back


def _second_discards(
    solver: Solver, fork: _Fork, is_open: Array, order: Array, back: Array
) -> tuple[Array, Array]:
    """Marks what is thrown after the draw, by its order float32[G,F,J,T] and [G,F,T].

    Returns:
      bool[G,F,J,T] by kind held before the draw; bool[G,F,T] for a tile drawn and thrown back,
      where it is not one of those.
    """
    width = _width_of(solver, fork.hand, fork.at_rest.astype(jnp.int32))
    by_lane = [x.reshape(-1, *x.shape[2:]) for x in (is_open, order, back)]

    def block(lanes: Array) -> tuple[Array, Array]:
        g, f = lanes // MAX_TILES, lanes % MAX_TILES
        is_open, order, back = (x[lanes] for x in by_lane)
        thrown = (f[:, None] == np.arange(MAX_TILES)[None]) & ~fork.at_rest[g][:, None]
        kinds, there = fork.kinds[g][:, :, None], (fork.held[g] > thrown)[:, :, None]
        is_back = ~jnp.any(there & (kinds == _KINDS[None, None]), axis=1)
        order = jnp.where(there, order, NEVER)
        back = jnp.where(is_back, back, NEVER)[:, None]
        lower = np.arange(MAX_TILES)[None] < np.arange(MAX_TILES)[:, None]  # of equals, which first
        ahead = order[:, None] > order[:, :, None]
        ahead |= (order[:, None] == order[:, :, None]) & lower[None, :, :, None]
        back_first = (back > order) | ((back == order) & (_KINDS[None, None] < kinds))
        place = jnp.sum(ahead, axis=2, dtype=jnp.int32) + back_first
        back_place = jnp.sum(~back_first, axis=1, dtype=jnp.int32)
        most = width[g][:, None]
        near = _in_spread(solver, jnp.concatenate([order, back], axis=1), 1)
        tried = (place < most[..., None]) & near[:, :-1] & there & is_open[:, None]
        return tried, (back_place < most) & near[:, -1] & is_back & is_open

    lanes = jnp.arange(fork.tried.size, dtype=jnp.int32)
    tried, back_tried = map_where(block, fork.tried.reshape(-1), lanes, 32)
    return tried.reshape(order.shape), back_tried.reshape(back.shape)


def _order_by_q(
    solver: Solver, contexts: Contexts, fork: _Fork, is_open: Array
) -> tuple[Array, Array]:
    """Orders the discards after the draw: float32[G,F,J,T], and [G,F,T] of the tile drawn."""
    q = _q_of_nodes(solver, contexts, fork, is_open)  # [G,F,T,kind thrown]
    thrown = jnp.minimum(fork.kinds, NUM_KINDS - 1)[:, None, None]
    order = jnp.take_along_axis(q, jnp.broadcast_to(thrown, (*q.shape[:3], MAX_TILES)), axis=3)
    return jnp.swapaxes(order, 2, 3), jnp.diagonal(q, axis1=2, axis2=3)


def _singles_and_order(
    solver: Solver, contexts: Contexts, fork: _Fork, is_open: Array, rests: Array, exists: Array
) -> tuple[Array, tuple[Array, Array]]:
    """Values the leaves after one discard and one draw, float32[G,F,T], and `_order_by_q`."""
    after, firsts = solver.value.after_draws, _rests(fork)
    assert after is not None
    if after.back is None:
        num_draws = _repeat(fork.draws + 1, MAX_TILES)
        singles = _grow_one(solver, contexts, fork, firsts, fork.tried, num_draws)
        return singles, _order_by_q(solver, contexts, fork, is_open)
    either = fork.tried[:, _FIRST] | fork.tried[:, _SECOND]
    found = _grow_one(
        solver,
        contexts,
        fork,
        jnp.concatenate([firsts, rests], axis=1),
        jnp.concatenate([fork.tried, exists & either], axis=1),
        jnp.concatenate(
            [_repeat(fork.draws + 1, MAX_TILES), _repeat(fork.draws, len(_FIRST))], axis=1
        ),
    )
    num_draws = _repeat(fork.draws, MAX_TILES)
    back = _grown(solver, contexts, fork, after.back, firsts, fork.tried, num_draws)
    is_back = (fork.kinds[:, :, None] == _KINDS[None, None])[:, None]  # a copy of the tile drawn
    order = jnp.where(is_back, back[:, :, None], found[:, MAX_TILES:][:, _PLACE])
    return found[:, :MAX_TILES], (order, back)


def _q_of_nodes(solver: Solver, contexts: Contexts, fork: _Fork, is_open: Array) -> Array:
    """Values the discards of the hands drawn into by Q: float32[G,F,T,T]."""
    hand = _rests(fork)[:, :, None] + jnp.asarray(_TILES)[None, None, :NUM_KINDS]
    hand = jnp.where(is_open[..., None], hand, jnp.uint32(0))

    def one_fork(lane: tuple) -> Array:
        context, own, num_draws, hand, wanted = lane

        def q(hand: Array) -> Array:
            positions = _positions(own, hand, num_draws)
            return solver.value.q_values(solver.params, context, positions)

        found = map_where(q, wanted.reshape(-1), hand.reshape(-1, 4), 128)
        return found.reshape(*wanted.shape, NUM_KINDS)

    return jax.lax.map(one_fork, (contexts.value, fork.melds, fork.draws, hand, is_open))


def _grown(
    solver: Solver,
    contexts: Contexts,
    fork: _Fork,
    grow: Callable[[Any, Any, Position], Array],
    rests: Array,
    wanted: Array,
    num_draws: Array,
) -> Array:
    """Grows the wanted rests uint32[G,X,S] by one draw: float32[G,X,T]."""
    per_fork = wanted.shape[1]

    def grown(lanes: Array) -> Array:
        g = lanes // per_fork
        context = jax.tree.map(lambda x: x[g], contexts.value)
        own = _own(fork, g, rests.reshape(-1, 4)[lanes])
        return grow(solver.params, context, _position(own, num_draws.reshape(-1)[lanes])).T

    lanes = jnp.arange(wanted.size, dtype=jnp.int32)
    return map_where(grown, wanted.reshape(-1), lanes, _ROWS).reshape(*wanted.shape, NUM_KINDS)


def _grow_one(
    solver: Solver,
    contexts: Contexts,
    fork: _Fork,
    rests: Array,
    wanted: Array,
    num_draws: Array,
) -> Array:
    """Values rests with a tile more as leaves, uint32[G,X,S] where wanted: float32[G,X,T]."""
    after = solver.value.after_draws
    if after is not None:
        return _grown(solver, contexts, fork, after.one, rests, wanted, num_draws)

    def grow(params: Any, contexts: Any, rests: Position) -> Array:
        room = packed.to_counts(rests.hand) < 4
        more = jnp.where(room[..., None], jnp.asarray(_TILES)[None, :NUM_KINDS], np.uint32(0))
        hand = rests.hand[:, None] + more

        def spread(x: Array) -> Array:
            return jnp.broadcast_to(x[:, None], (len(x), NUM_KINDS, *x.shape[1:]))

        positions = Position(hand, *map(spread, rests[1:]))
        leaf = functools.partial(leaf_values, solver.value, params)
        return jax.vmap(leaf, out_axes=-1)(contexts, positions)

    return _grown(solver, contexts, fork, grow, rests, wanted, num_draws)


class _Sums(NamedTuple):
    """Values after two discards and two draws, summed over the second by unseen copies."""

    all: Array  # float32[G,P,T]  of all hands
    complete: Array  # float32[G,P,T]  of those that the second draw completes
    any_wait: Array  # bool[G,P,T]    there are such


def _sums_together(
    solver: Solver, contexts: Contexts, fork: _Fork, rests: Array, wanted: Array
) -> _Sums:
    """Values all pairs of draws of each pair of discards that is wanted bool[G,P,T] for any."""
    num_pairs = rests.shape[1]
    after = solver.value.after_draws
    assert after is not None

    def block(lanes: Array) -> _Sums:
        g = lanes // num_pairs
        context = jax.tree.map(lambda x: x[g], contexts.value)
        own = _own(fork, g, rests.reshape(-1, 4)[lanes])
        value = stage(after.two, solver.params, context, _position(own, fork.draws[g] + 1))
        found = stage(_sum_second, value, fork.unseen[g].T, _second_waits(own.hand))
        return jax.tree.map(lambda x: x.T, found)

    lanes = jnp.arange(wanted[..., 0].size, dtype=jnp.int32)
    found = map_where(block, wanted.any(axis=-1).reshape(-1), lanes, _BLOCK)
    return jax.tree.map(lambda x: x.reshape(wanted.shape), found)


def _second_waits(rests: Array) -> Array:
    """Finds which second draws complete rests uint32[N,S] with each first: uint32[T,S,N]."""
    room = packed.to_counts(rests) < 4
    more = jnp.where(room[..., None], jnp.asarray(_TILES)[None, :NUM_KINDS], np.uint32(0))
    waits = jax.vmap(jax.vmap(hands.waits))(rests[:, None] + more)
    return jnp.transpose(jnp.where(room[..., None], waits, 0), (1, 2, 0))


def _complete_pairs(waits: Array) -> Array:
    """Marks the pairs of draws that complete a hand, from `_second_waits`: bool[D,N]."""
    suit, rank = draws.SECOND // packed.RANKS, draws.SECOND % packed.RANKS
    return (waits[draws.FIRST, suit] >> rank.astype(np.uint32)[:, None]) & 1 > 0


def _sum_second(value: Array, unseen: Array, waits: Array) -> _Sums:
    """Sums values float32[D,N] over the second draw, unseen int32[T,N]: [T,N] each."""
    copies = unseen.astype(jnp.float32)
    same = draws.PLACE[_KINDS, _KINDS]  # a tile that came first cannot come second

    def total(value: Array) -> Array:
        return draws.add_up(value, copies) - value[same]

    is_complete = _complete_pairs(waits)
    complete = jax.lax.cond(
        jnp.any(is_complete),
        lambda: total(jnp.where(is_complete, value, np.float32(0))),
        lambda: jnp.zeros_like(copies),
    )
    return _Sums(total(value), complete, jnp.any(waits > 0, axis=1))


# --- each distinct leaf once ------------------------------------------------------------------


class _Distinct(NamedTuple):
    """Which leaves of one fork are wanted, each distinct hand once."""

    two: Array  # bool[P,D]  both discards and both draws changed the hand
    one: Array  # bool[F,T]  a tile that was thrown came back or one that was drawn was thrown
    none: Array  # bool[]     both were undone: the hand itself


def _distinct(fork: _Fork, rests: Array, wanted: Array, back: Array, waits: Array) -> _Distinct:
    """Names the leaves of one fork (no axis G) by what they change."""
    kinds, comes = fork.kinds, fork.unseen > 0
    possible = comes[draws.FIRST] & comes[draws.SECOND]
    possible &= (draws.FIRST != draws.SECOND) | (fork.unseen[draws.FIRST] > 1)
    two = (wanted[:, draws.FIRST] | wanted[:, draws.SECOND]) & possible[None]
    two &= ~_complete_pairs(_second_waits(rests)).T | fork.locked
    two &= ~_is_either(kinds[_SECOND]) & (~_is_either(kinds[_FIRST]) | fork.at_rest)
    # A first discard stays alone where the second is drawn, first or second.
    by_pair = wanted[_PLACE]  # [F,J,T]
    is_kind = kinds[:, None] == _KINDS[None]  # [J,T]
    again = ~is_kind | (fork.unseen > 1)[None]  # its only copy cannot come twice
    undone = jnp.any(by_pair & is_kind[None], axis=-1)[..., None] & again[None]
    later = by_pair & (comes[jnp.minimum(kinds, NUM_KINDS - 1)][:, None] & again)[None]
    number = jnp.sum(back, axis=-1, keepdims=True, dtype=jnp.int32)
    thrown_back = number > (back & (fork.unseen == 1)[None])
    one = jnp.any(undone | later, axis=1) | thrown_back
    one &= comes[None] & (~waits | fork.locked)
    is_none = is_kind & ~fork.at_rest
    return _Distinct(two, one & ~is_none, jnp.any(one & is_none))


def _is_either(kinds: Array) -> Array:
    """Tells whether kinds int32[P] are among two draws: bool[P,D]."""
    return (kinds[:, None] == draws.FIRST[None]) | (kinds[:, None] == draws.SECOND[None])


def _count(fork: _Fork, rests: Array, wanted: Array, back: Array, waits: Array) -> Leaves:
    """Counts the leaves where rests are grown by all draws together."""
    together = draws.NUM_PAIRS * jnp.sum(wanted.any(axis=-1), axis=-1, dtype=jnp.int32)
    singly = NUM_KINDS * jnp.sum(back.any(axis=-1), axis=-1, dtype=jnp.int32)
    distinct = jax.lax.map(
        lambda lane: _num_distinct(_distinct(*lane)),
        (fork, rests, wanted, back, waits),
    )
    return Leaves(together + singly, distinct)


def _num_distinct(distinct: _Distinct) -> Array:
    """Counts leaves: int32[]."""
    return functools.reduce(jnp.add, (jnp.sum(x, dtype=jnp.int32) for x in distinct))


def _sums_of_distinct(
    solver: Solver,
    contexts: Contexts,
    fork: _Fork,
    rests: Array,
    wanted: Array,
    back: Array,
    waits: Array,
) -> tuple[_Sums, Array, Leaves]:
    """Values each distinct leaf once, one fork after another: the sums, float32[G,F,T], counts."""

    def one_fork(lane: tuple) -> tuple:
        here, context, rests, singles, wanted, back, waits = lane
        mask = _distinct(here, rests, wanted, back, waits)
        shares = None
        if solver.settings.merge:
            shares = stage(_shares, here, rests)
            read = wanted[:, draws.FIRST] & (shares[:, draws.FIRST, draws.SECOND] > 0)
            read |= wanted[:, draws.SECOND] & (shares[:, draws.SECOND, draws.FIRST] > 0)
            mask = mask._replace(two=mask.two & read)
        tiles = jnp.asarray(_TILES)
        two = rests[:, None] + (tiles[draws.FIRST] + tiles[draws.SECOND])[None]
        one = singles[:, None] + tiles[None, :NUM_KINDS]
        hand = jnp.concatenate([two.reshape(-1, 4), one.reshape(-1, 4), here.hand[None]])
        flat = jnp.concatenate([mask.two.reshape(-1), mask.one.reshape(-1), mask.none[None]])

        def best(hand: Array) -> Array:
            positions = _positions(here.melds, hand, here.draws + 1)
            return leaf_values(solver.value, solver.params, context, positions)

        hand = jnp.where(flat[:, None], hand, jnp.uint32(0))
        value = map_where(best, flat, hand, solver.settings.leaf_block)
        by_two, by_one = value[: mask.two.size], value[mask.two.size : -1]
        is_none = (here.kinds[:, None] == _KINDS[None]) & ~here.at_rest
        singles = jnp.where(is_none, value[-1], by_one.reshape(mask.one.shape))
        pairs = _undone(here, by_two.reshape(mask.two.shape), singles)
        if shares is not None:
            sums = _merged_sums(pairs, shares, _second_waits(rests))
        else:
            unseen = jnp.broadcast_to(here.unseen[:, None], (NUM_KINDS, len(rests)))
            sums = _sum_second(pairs.T, unseen, _second_waits(rests))
        count = _num_distinct(mask)
        return jax.tree.map(lambda x: x.T, sums), singles, Leaves(count, count)

    lanes = (fork, contexts.value, rests, _rests(fork), wanted, back, waits)
    return jax.lax.map(one_fork, lanes)


def _undone(fork: _Fork, two: Array, one: Array) -> Array:
    """Fills in the leaves of one fork that differ from its hand by one tile: float32[P,D]."""
    by_first, by_second = one[:, draws.FIRST], one[:, draws.SECOND]

    def undo(kinds: Array, other: np.ndarray, value: Array) -> Array:
        is_first = kinds[:, None] == draws.FIRST[None]
        is_second = kinds[:, None] == draws.SECOND[None]
        value = jnp.where(is_second, by_first[other], value)
        return jnp.where(is_first, by_second[other], value)

    two = undo(fork.kinds[_SECOND], _FIRST, two)
    return jnp.where(fork.at_rest, two, undo(fork.kinds[_FIRST], _SECOND, two))


def _shares(fork: _Fork, rests: Array) -> Array:
    """Weighs the second draws of one fork's pairs of discards, the useless in one: float32[P,T,T].

    A draw is useless where it brings the hand no nearer. The kind of them with the most copies, of
    equals the lowest, stands for all.
    """
    melds = jnp.full(len(rests), fork.melds.num_melds)
    none = jnp.zeros((3, NUM_KINDS, len(rests)), jnp.uint16)
    before = draws.one(rests, melds, none[:2]).deficiency.T
    after = draws.two(rests, melds, none).deficiency.T[:, draws.PLACE]
    copies = jnp.broadcast_to(
        fork.unseen[None] - np.eye(NUM_KINDS, dtype=np.int32), (NUM_KINDS, NUM_KINDS)
    )
    copies = jnp.broadcast_to(copies[None], after.shape)
    useless = jnp.where((after >= before[:, :, None]) & (copies > 0), copies, 0)
    stands = jnp.argmax(useless, axis=-1)[..., None] == _KINDS[None, None]
    together = jnp.sum(useless, axis=-1, keepdims=True)
    return jnp.where(useless > 0, jnp.where(stands, together, 0), copies).astype(jnp.float32)


def _merged_sums(value: Array, shares: Array, waits: Array) -> _Sums:
    """Sums values float32[P,D] by `_shares` instead of copies: [T,P] each."""
    value = value[:, draws.PLACE]
    is_complete = _complete_pairs(waits).T[:, draws.PLACE]
    all_ = jnp.sum(shares * value, axis=-1)
    complete = jnp.sum(jnp.where(is_complete, shares * value, np.float32(0)), axis=-1)
    return _Sums(all_.T, complete.T, jnp.any(waits > 0, axis=1))
