"""How fast the search decides: own turns of greedy hands, in batches, on all cores given.

A row's `of_naive` is the ratio to the naive tree of the same width: every node given to the whole
of the same network, equal positions again and again. What that takes is measured in the same run,
in full batches; nothing else is counted, which favours it. The best of several calls counts, since
other work only ever slows a call. N = positions.
"""

import functools
import math
import operator
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjx
from agents import lanes, options, policy
from agents.learn import networks, player
from agents.learn.config import NetworkConfig
from agents.search import expectimax, handmade
from agents.search.tree import Settings, Solver, widths
from agents.search.value import Position, ValueFunction, leaf_values, masked_q
from mjx import packed
from mjx.distance import deficiency
from mjx.tiles import NUM_KINDS

Array = jax.Array
Row = dict[str, float | int | str | bool]
Agent = Literal["handmade", "two_part", "resnet"]

ALPHA = 0.6
HANDS = 256  # of which the decisions are
STEPS = 64
COUNTED = 4  # decisions whose leaves are counted


class Case(NamedTuple):
    """A row: what is measured, and the decisions a second it must reach."""

    name: str
    agent: Agent
    depth: int
    batch: int
    target: float
    goal: float
    least_ratio: float = 0.0  # to the naive tree
    merge: bool = False  # draws that help nothing share a child


CASES = (
    Case("handmade_d1", "handmade", 1, 512, 5_000, 20_000),
    Case("handmade_d2", "handmade", 2, 128, 100, 500),
    Case("small_net_d1", "two_part", 1, 512, 1_000, 3_000),
    Case("small_net_d2", "two_part", 2, 128, 20, 50, least_ratio=20),
    Case("resnet20_d2", "resnet", 2, 1, 1 / 6, 1 / 3),
    Case("resnet20_d2_merged", "resnet", 2, 1, 1 / 1.5, 1, merge=True),
)
NAMES = tuple(case.name for case in CASES)


def rows(names: Sequence[str], seconds: float) -> Iterator[Row]:
    """Measures the cases named, on decisions of the same hands."""
    if unknown := set(names) - set(NAMES):
        raise SystemExit(f"No row is named {sorted(unknown)[0]!r}; there are {', '.join(NAMES)}.")
    cases = [case for case in CASES if case.name in names]
    if not cases:
        return
    seen = own_turns(max(case.batch for case in cases))
    for case in cases:
        yield row(case, seen, seconds)


def row(case: Case, seen: mjx.Observation, seconds: float) -> Row:
    """Measures one case."""
    value, params, flops = _value(case.agent)
    settings = Settings(depth=case.depth, claim_depth=case.depth, alpha=ALPHA, merge=case.merge)
    total = seen.pending.shape[0]
    taken = (2 * np.arange(case.batch) + 1) * total // (2 * case.batch)  # early turns and late
    seen = jax.tree.map(lambda leaf: leaf[taken], seen)

    def decide(params: Any, seen: mjx.Observation) -> Array:
        solver = Solver(settings, value, None, params)
        values = expectimax.action_values(solver, seen, seen.legal_action_mask)
        return jnp.argmax(values, axis=-1)

    per_call, compile_s = best_of(lanes.spread(decide, lanes.ROWS_EACH), (params, seen), seconds)
    leaves, _ = _mean_leaves(value, params, seen, case.depth)

    def count(params: Any, seen: mjx.Observation) -> expectimax.Leaves:
        solver = Solver(settings, value, None, params)
        return expectimax.count_leaves(solver, seen, seen.legal_action_mask)

    counted = jax.jit(count)(params, seen)
    evaluated = float(jnp.mean(counted.evaluated))
    rate = case.batch / per_call
    found: Row = {"name": case.name, "agent": case.agent, "depth": case.depth, "alpha": ALPHA}
    found |= {"batch": case.batch, "decisions_per_s": rate, "target": case.target}
    ratio = math.inf
    if case.least_ratio:
        ratio = rate * leaves / _whole_leaves_per_s(value, params, seen, seconds)
        found |= {"of_naive": ratio, "least_of_naive": case.least_ratio}
    found |= {"ok": rate >= case.target and ratio >= case.least_ratio, "goal": case.goal}
    found |= {"evaluated": evaluated, "distinct": float(jnp.mean(counted.distinct))}
    found |= {"leaves": leaves, "compile_s": compile_s}
    found |= {"mflop_per_decision": evaluated * flops / 1e6}
    if flops:
        found |= {"of_peak": rate * evaluated * flops / matmul_flops_per_s(seconds)}
    return found


def matmul_flops_per_s(seconds: float) -> float:
    """Measures what this machine reaches at best: the operations a second of a large product."""
    size = 2048
    square = jnp.ones((size, size), jnp.float32)
    per_call, _ = best_of(jnp.matmul, (square, square), seconds)
    return 2 * size**3 / per_call


def best_of(function: Any, arguments: tuple, seconds: float) -> tuple[float, float]:
    """Times a function: seconds of its best call, and of its compilation."""
    start = time.perf_counter()
    compiled = jax.jit(function).lower(*arguments).compile()
    compile_s = time.perf_counter() - start
    best, calls, start = math.inf, 0, time.perf_counter()
    while calls < 3 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        best, calls = min(best, time.perf_counter() - before), calls + 1
    return best, compile_s


def own_turns(batch: int) -> mjx.Observation:
    """Plays greedy hands and takes own turns evenly out of them: leading axis `batch`."""
    greedy = policy.load("greedy")

    def play(key: Array) -> mjx.Observation:
        deal_key, play_key = jax.random.split(key)
        states = jax.vmap(mjx.init)(jax.random.split(deal_key, HANDS))
        return mjx.rollout(greedy.act, (), play_key, states, STEPS)[1].observation

    seen = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), jax.jit(play)(jax.random.key(7)))
    own = np.flatnonzero((seen.pending < 0) & seen.legal_action_mask[:, :NUM_KINDS].any(axis=-1))
    taken = own[np.arange(batch) * len(own) // batch]
    return jax.tree.map(lambda leaf: leaf[taken], seen)


def leaves_below(
    value: ValueFunction, params: Any, seen: mjx.Observation, depth: int
) -> tuple[int, int]:
    """Counts one decision's leaves and the different hands among them, as sets of rows.

    Draws that win have no leaf. The pruning's Q comes from `value`; all else is plain NumPy.
    """
    own, width = options.own(seen), widths(ALPHA)
    context = jax.jit(value.prepare)(params, seen)
    ranked = jax.jit(functools.partial(masked_q, value))
    lacking = jax.jit(jax.vmap(lambda hand: deficiency(hand, own.num_melds)))
    hands, unseen = np.asarray(seen.hand, int)[None], np.asarray(seen.unseen, int)[None]
    for layer in range(depth):
        words = packed.from_counts(jnp.asarray(hands))
        position = _spread(own, words, jnp.int32(layer))
        order = np.argsort(-np.asarray(ranked(params, context, position)), axis=1, kind="stable")
        tried = order[:, : width[hands[0].sum()]]
        is_held = np.take_along_axis(hands, tried, axis=1) > 0
        node, rank = np.nonzero(is_held)
        rest = hands[node] - np.eye(NUM_KINDS, dtype=int)[tried[node, rank]]
        parent, kind = np.nonzero(unseen[node] > 0)
        drawn = np.eye(NUM_KINDS, dtype=int)[kind]
        hands, unseen = rest[parent] + drawn, unseen[node][parent] - drawn
        is_open = np.asarray(lacking(packed.from_counts(jnp.asarray(hands)))) > 0
        hands, unseen = hands[is_open], unseen[is_open]
    return len(hands), len(np.unique(hands, axis=0))


def _whole_leaves_per_s(
    value: ValueFunction, params: Any, seen: mjx.Observation, seconds: float
) -> float:
    """Measures the positions a second that the whole network values, each by itself."""

    def evaluate(params: Any, seen: mjx.Observation) -> Array:
        contexts = jax.vmap(value.prepare, (None, 0))(params, seen)
        own = jax.vmap(options.own)(seen)
        draws = jnp.zeros(len(own.num_melds), jnp.int32)
        position = Position(own.hand, own.chows, own.sets, own.num_melds, draws)
        one_each = jax.tree.map(lambda x: x[:, None], position)
        return jax.vmap(functools.partial(leaf_values, value, params))(contexts, one_each)

    per_call, _ = best_of(lanes.spread(evaluate, rows_each=1), (params, seen), seconds)
    return len(seen.pending) / per_call


def _mean_leaves(
    value: ValueFunction, params: Any, seen: mjx.Observation, depth: int
) -> tuple[float, float]:
    """Counts leaves and distinct leaves, means over decisions taken evenly."""
    batch = seen.pending.shape[0]
    counts = []
    for index in sorted({number * batch // COUNTED for number in range(COUNTED)}):
        one = jax.tree.map(operator.itemgetter(index), seen)
        counts.append(leaves_below(value, params, one, depth))
    leaves, distinct = np.mean(counts, axis=0)
    return float(leaves), float(distinct)


def _spread(own: options.Own, hand: Array, draws: Array) -> Position:
    """Describes hands uint32[N,S] that share their melds."""
    melds = (own.chows, own.sets, own.num_melds, draws)
    return Position(hand, *(jnp.broadcast_to(x, (hand.shape[0], *x.shape)) for x in melds))


def _value(agent: Agent) -> tuple[ValueFunction, Any, float]:
    """Makes a value function, its parameters, and the operations of one leaf's network."""
    if agent == "handmade":
        return handmade.value(), handmade.params(), 0.0
    config = NetworkConfig(kind=agent)
    network = networks.make(config)
    return (
        player.value_function(network),
        jax.jit(network.init)(jax.random.key(0)),
        networks.leaf_flops(config),
    )
