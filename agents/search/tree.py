"""The tree as arrays: discards and draws in turn, and their values.

    V_L(s, a) = rho + gamma * sigma * sum_t p(t) W_{L-1}(h - a + t),    V_0 = Q
    W_l(h)    = the completion's points if h is complete (and not locked), else max_a V_l(h, a)

One discard and one draw are a *layer*. A layer takes N hands that must discard to N * K * T hands
that must discard: K discards by rank of Q, T = 34 draws. G = tasks, trees of one shape solved
together; N runs over the nodes of a layer, task by task. S = 4 suits.
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
from agents.worklist import map_where
from mjx import hand as hands
from mjx import packed
from mjx import state as st
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.tiles import NUM_KINDS

Array = jax.Array

MAX_TILES = 17
_TILES = np.zeros((NUM_KINDS, 4), np.uint32)  # each kind as a hand of one tile
for _kind in range(NUM_KINDS):
    _TILES[_kind, _kind // packed.RANKS] = 1 << (packed.BITS * (_kind % packed.RANKS))
_EYE = np.eye(NUM_KINDS, dtype=np.int32)


class Risk(NamedTuple):
    """What may happen before our next draw; without it rho = 0 and sigma = 1.

    `prepare(params, observation) -> context` runs once a decision, like a value function's.
    `discards(params, context, positions) -> (rho, sigma)`, float32[N, T] each: expected points if
    the hand ends after this discard and before our next draw, and the chance that it does not.
    `passing(params, context) -> (rho, sigma)`, float32[] each: the same after a pass.
    """

    prepare: Callable[[Any, Observation], Any]
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
    leaf_block: int = 1024  # distinct leaves evaluated at once, from depth 2 on

    def __post_init__(self) -> None:
        """Refuses values out of range."""
        for name in ("depth", "claim_depth"):
            if not 0 <= (getattr(self, name) or 0) <= 4:
                raise ValueError(f"{name} is 0 to 4 layers, not {getattr(self, name)}.")
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha is above 0 and at most 1, not {self.alpha}.")
        for name in ("gamma", "kappa"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is 0 to 1, not {getattr(self, name)}.")


def widths(alpha: float) -> np.ndarray:
    """Counts the discards tried, ceil(alpha n), for n = 0 to 17 tiles in hand: int32[18].

    `alpha` is taken as the decimal that it prints as, since 0.7 * 10 is above 7 in binary.
    """
    share = Fraction(repr(float(alpha)))
    return np.array([-((-share * n) // 1) for n in range(MAX_TILES + 1)], np.int32)


class Task(NamedTuple):
    """A hand that must discard, as the root of a tree. Leading axis G."""

    tiles: Own  # uint32[G,S], ...
    draws: Array  # int32[G]   draws since the decision, each a round of the table
    unseen: Array  # int32[G,T] copies of each kind that may still be drawn
    locked: Array  # bool[G]    a win may not be declared, or one is being declined


class _Nodes(NamedTuple):
    """One layer's hands that must discard."""

    hand: Array  # uint32[N,S]
    unseen: Array  # int32[N,T]
    locked: Array  # bool[N]
    reached: Array  # bool[N]  by discards within the width and draws that can come


class _Layer(NamedTuple):
    """What a layer of nodes branches into."""

    action: Array  # int32[N,K]   discards by rank
    tried: Array  # bool[N,K]    within the width
    chance: Array  # float32[N,T] of each draw
    locked: Array  # bool[N]      after the discard
    rest: Array  # uint32[N,K,S]
    hand: Array  # uint32[N,K,T,S]
    complete: Array  # bool[N,K,T]  won by this draw
    open: Array  # bool[N,K,T]  reached, and not won


class Solver(NamedTuple):
    """All that stays the same throughout a search."""

    settings: Settings
    value: ValueFunction
    risk: Risk | None
    params: Any  # of `value`
    risk_params: Any = ()


class Contexts(NamedTuple):
    """What the positions of one decision share, for the value function and for the risk."""

    value: Any
    risk: Any = ()  # nothing without a risk


def prepare(solver: Solver, observation: Observation) -> Contexts:
    """Computes once a decision what its positions share."""
    value = solver.value.prepare(solver.params, observation)
    if solver.risk is None:
        return Contexts(value)
    return Contexts(value, solver.risk.prepare(solver.risk_params, observation))


def discard_values(
    solver: Solver, contexts: Contexts, tables: completion.Table, tasks: Task, depth: int
) -> Array:
    """Values the discards of each task by a search of `depth` layers.

    Args:
      solver: settings, value function and parameters.
      contexts: of the decisions, leading axis G.
      tables: what points depend on, leading axis G.
      tasks: the trees' roots. Trees of two layers and more are solved one at a time: G = 1.
      depth: layers, 0 for Q alone.

    Returns:
      float32[G, T], `NEVER` for kinds not held or beyond the width.
    """
    num_tasks = tasks.locked.shape[0]
    if depth > 1 and num_tasks > 1:
        raise ValueError(f"Trees of {depth} layers are solved one at a time, not {num_tasks}.")
    nodes = _Nodes(tasks.tiles.hand, tasks.unseen, tasks.locked, jnp.ones(num_tasks, bool))
    positions = _positions(tasks, nodes.hand, 0)
    if depth == 0:
        return _by_task(masked_q, solver, contexts, positions)
    layer = _branch(solver, contexts, nodes, positions)
    points = _completions(solver, tables, tasks, layer)
    if depth == 1:
        best = stage(lambda: _leaves(solver, contexts, tasks, layer))
    elif depth == 2:
        best = _two_layers(solver, contexts, tables, tasks, nodes, layer)
    else:
        best = _one_by_one(solver, contexts, tables, tasks, nodes, layer, depth)
    value = jnp.where(layer.complete, points, jnp.where(layer.open, best, np.float32(0)))
    return _mean(solver, contexts, positions, layer, value)


def _mean(
    solver: Solver, contexts: Contexts, positions: Position, layer: _Layer, value: Array
) -> Array:
    """Averages the draws' values float32[N,K,T] to the discards' values: float32[N, T]."""
    mean = jnp.sum(layer.chance[:, None] * value, axis=-1) * np.float32(solver.settings.gamma)
    by_kind = layer.action[:, :, None] == np.arange(NUM_KINDS, dtype=np.int32)[None, None]
    by_kind &= layer.tried[:, :, None]
    spread = jnp.sum(jnp.where(by_kind, mean[:, :, None], np.float32(0)), axis=1)
    if solver.risk is not None:
        num_tasks = jax.tree.leaves(contexts)[0].shape[0]
        grouped = jax.tree.map(lambda x: x.reshape(num_tasks, -1, *x.shape[1:]), positions)
        risk = jax.vmap(solver.risk.discards, (None, 0, 0))
        rho, sigma = risk(solver.risk_params, contexts.risk, grouped)
        spread = rho.reshape(spread.shape) + sigma.reshape(spread.shape) * spread
    return jnp.where(by_kind.any(axis=1), spread, NEVER)


def _branch(solver: Solver, contexts: Contexts, nodes: _Nodes, positions: Position) -> _Layer:
    """Values the discards of nodes by Q, and branches."""
    q = stage(lambda: _by_task(masked_q, solver, contexts, positions))
    return stage(lambda: _expand(nodes, q, widths(solver.settings.alpha)))


def _expand(nodes: _Nodes, q: Array, width: np.ndarray) -> _Layer:
    """Branches into the discards of the largest Q float32[N,T] and all draws."""
    num_tiles = jnp.sum(packed.num_tiles(nodes.hand), axis=-1, dtype=jnp.int32)
    ranked, action = jax.lax.top_k(q, int(width[MAX_TILES]))  # of equals the lower kind first
    rank = jnp.arange(int(width[MAX_TILES]), dtype=jnp.int32)
    tried = (rank[None] < jnp.asarray(width)[num_tiles][:, None]) & (ranked > NEVER)
    chance = nodes.unseen.astype(jnp.float32)
    chance = chance / jnp.maximum(jnp.sum(chance, axis=-1, keepdims=True), np.float32(1))
    # What is not tried or cannot come is left out of the hands, so that no count passes four.
    taken = jnp.asarray(_TILES)[action]
    rest = jnp.where(tried[..., None], nodes.hand[:, None] - taken, jnp.uint32(0))
    comes = nodes.unseen > 0
    hand = rest[:, :, None] + jnp.where(comes[..., None], _TILES[None], np.uint32(0))[:, None]
    locked = nodes.locked & jax.vmap(hands.is_win)(nodes.hand)
    reached = (nodes.reached[:, None] & tried)[..., None] & comes[:, None]
    waits = jax.vmap(hands.waits)(rest.reshape(-1, rest.shape[-1]))
    wins = jax.vmap(packed.kinds_to_bools)(waits).reshape(reached.shape)
    complete = wins & reached & ~locked[:, None, None]
    return _Layer(action, tried, chance, locked, rest, hand, complete, reached & ~complete)


def _positions(tasks: Task, hand: Array, draws: int) -> Position:
    """Describes the nodes of a layer: hands uint32[N,S], task by task."""

    def spread(field: Array) -> Array:
        return jnp.repeat(field, hand.shape[0] // field.shape[0], axis=0)

    own = tasks.tiles
    return Position(
        hand,
        spread(own.chows),
        spread(own.sets),
        spread(own.num_melds),
        spread(tasks.draws + draws),
    )


def _by_task(fn: Callable, solver: Solver, contexts: Contexts, positions: Position) -> Array:
    """Applies a function of one decision's positions to all tasks': [N, ...]."""
    num_tasks = jax.tree.leaves(contexts)[0].shape[0]
    grouped = jax.tree.map(lambda x: x.reshape(num_tasks, -1, *x.shape[1:]), positions)
    found = jax.vmap(functools.partial(fn, solver.value, solver.params))(contexts.value, grouped)
    return found.reshape(-1, *found.shape[2:])


def _completions(solver: Solver, tables: Any, tasks: Task, layer: _Layer) -> Array:
    """Scores the hands won by a draw: float32[N,K,T], zero elsewhere."""
    num, wide, _ = layer.complete.shape
    per_task = num // tasks.locked.shape[0]

    def points(lanes: Array) -> Array:
        node, kind = lanes // NUM_KINDS, lanes % NUM_KINDS
        task = node // wide // per_task
        tiles = jax.tree.map(lambda x: x[task], tasks.tiles)
        tiles = tiles._replace(hand=layer.rest.reshape(-1, 4)[node])
        table = jax.tree.map(lambda x: x[task], tables)
        settings = solver.settings
        return jax.vmap(
            lambda table, own, kind: completion.drawn(
                table, own, kind, jnp.int32(st.PLAIN_DRAW), settings.rules, settings.kappa
            )
        )(table, tiles, kind)

    lanes = jnp.arange(layer.complete.size, dtype=jnp.int32)
    return map_where(points, layer.complete.reshape(-1), lanes, 32).reshape(num, wide, NUM_KINDS)


def _leaves(solver: Solver, contexts: Contexts, tasks: Task, layer: _Layer) -> Array:
    """Values all leaves of one layer: float32[N,K,T]."""
    positions = _positions(tasks, layer.hand.reshape(-1, 4), 1)
    return _by_task(leaf_values, solver, contexts, positions).reshape(layer.open.shape)


def _children(nodes: _Nodes, layer: _Layer) -> _Nodes:
    """Makes the nodes of the next layer: N * K * T of them."""
    shape = layer.open.shape
    unseen = (nodes.unseen[:, None] - _EYE[None])[:, None]  # one drawn of each kind in turn
    return _Nodes(
        layer.hand.reshape(-1, 4),
        jnp.broadcast_to(unseen, (*shape, NUM_KINDS)).reshape(-1, NUM_KINDS),
        jnp.broadcast_to(layer.locked[:, None, None], shape).reshape(-1),
        layer.open.reshape(-1),
    )


def _two_layers(
    solver: Solver, contexts: Contexts, tables: Any, tasks: Task, nodes: _Nodes, layer: _Layer
) -> Array:
    """Values the nodes below one task by one more layer, each distinct leaf once: [1,K,T]."""
    below = _children(nodes, layer)
    positions = _positions(tasks, below.hand, 1)
    deeper = _branch(solver, contexts, below, positions)
    points = _completions(solver, tables, tasks, deeper)
    leaf = _distinct_leaves(solver, contexts, tasks, layer, deeper)
    value = jnp.where(deeper.complete, points, jnp.where(deeper.open, leaf, np.float32(0)))
    values = _mean(solver, contexts, positions, deeper, value)
    return jnp.max(values, axis=-1).reshape(layer.open.shape)


def _distinct_leaves(
    solver: Solver, contexts: Contexts, tasks: Task, first: _Layer, second: _Layer
) -> Array:
    """Values the leaves of two layers of one task, equal hands once: float32[N,K,T]."""
    name = _net_changes(first.action[0], second.action)
    index = jnp.arange(name.size, dtype=jnp.int32)
    is_open = second.open.reshape(-1)
    owners = jnp.full(_NUM_CHANGES, -1, jnp.int32)
    owner = owners.at[name].max(jnp.where(is_open, index, -1))[name]  # the leaf that is evaluated
    context = jax.tree.map(lambda x: x[0], contexts.value)

    def best(hand: Array) -> Array:
        return leaf_values(solver.value, solver.params, context, _positions(tasks, hand, 2))

    value = map_where(
        best, is_open & (owner == index), second.hand.reshape(-1, 4), solver.settings.leaf_block
    )
    return value[jnp.maximum(owner, 0)].reshape(second.open.shape)


_NONE = NUM_KINDS  # no tile, in a pair of tiles
_NUM_PAIRS = (_NONE + 1) * (_NONE + 2) // 2
_NUM_CHANGES = _NUM_PAIRS**2


def _net_changes(first: Array, second: Array) -> Array:
    """Numbers leaves by what two discards and two draws change in all.

    Args:
      first: int32[K] discards at the root.
      second: int32[K * T, K] discards below each of them and each draw.

    Returns:
      int32[K * T * K * T]: equal exactly where the same tiles have left and come.
    """
    kinds = jnp.arange(NUM_KINDS, dtype=jnp.int32)
    shape = (first.size, NUM_KINDS, first.size, NUM_KINDS)
    out_1 = jnp.broadcast_to(first[:, None, None, None], shape)
    in_1 = jnp.broadcast_to(kinds[None, :, None, None], shape)
    out_2 = jnp.broadcast_to(second.reshape(*shape[:3], 1), shape)
    in_2 = jnp.broadcast_to(kinds[None, None, None, :], shape)
    out_1, in_1 = _cancel(out_1, in_1)
    out_2, in_1 = _cancel(out_2, in_1)
    out_1, in_2 = _cancel(out_1, in_2)
    out_2, in_2 = _cancel(out_2, in_2)
    return (_pair(out_1, out_2) * _NUM_PAIRS + _pair(in_1, in_2)).reshape(-1)


def _cancel(out: Array, back: Array) -> tuple[Array, Array]:
    """Strikes out a tile that left and came."""
    same = out == back
    return jnp.where(same, _NONE, out), jnp.where(same, _NONE, back)


def _pair(a: Array, b: Array) -> Array:
    """Numbers unordered pairs of 0 to `_NONE`."""
    high = jnp.maximum(a, b)
    return high * (high + 1) // 2 + jnp.minimum(a, b)


def _one_by_one(
    solver: Solver,
    contexts: Contexts,
    tables: Any,
    tasks: Task,
    nodes: _Nodes,
    layer: _Layer,
    depth: int,
) -> Array:
    """Values the nodes below one task by trees of their own, one after another: [1,K,T]."""
    below = _children(nodes, layer)

    def best(node: _Nodes) -> Array:
        task = tasks._replace(
            tiles=tasks.tiles._replace(hand=node.hand[None]),
            draws=tasks.draws + 1,
            unseen=node.unseen[None],
            locked=node.locked[None],
        )
        values = discard_values(solver, contexts, tables, task, depth - 1)
        return jnp.max(values)

    def skip(node: _Nodes) -> Array:
        del node
        return jnp.float32(0)

    values = jax.lax.map(lambda node: jax.lax.cond(node.reached, best, skip, node), below)
    return values.reshape(layer.open.shape)
