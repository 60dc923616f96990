"""How fast players decide: batches of decisions out of their own games, on all cores given.

Each row's ratio is to `greedy`, which is timed in the same run; the best of several calls counts,
since other work only ever slows a call.
"""

import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp

import mjx
from agents import policy

Row = dict[str, float | int | str]

HANDS = 128
STEPS = 64


def rows(names: list[str], batch: int, seconds: float) -> Iterator[Row]:
    """Measures `greedy`, then each player named, on the decisions of the same hands."""
    seen = _decisions(batch)
    greedy = 0.0
    for name in dict.fromkeys(["greedy", *names]):
        row = decide(name, seen, seconds)
        greedy = greedy or float(row["decisions_per_s"])
        yield row | {"ours_to_greedy": float(row["decisions_per_s"]) / greedy}


def decide(name: str, seen: mjx.Observation, seconds: float) -> Row:
    """Measures the decisions a second of one player."""
    player = policy.load(name)
    batch = len(seen.pending)
    keys = jax.random.split(jax.random.key(0), batch)
    start = time.perf_counter()
    arguments = (player.params, keys, seen, seen.legal_action_mask)
    act = jax.jit(player.act).lower(*arguments).compile()
    compile_s = time.perf_counter() - start
    best, calls, start = float("inf"), 0, time.perf_counter()
    while calls < 3 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        jax.block_until_ready(act(*arguments))
        best, calls = min(best, time.perf_counter() - before), calls + 1
    row: Row = {"name": name, "batch": batch, "decisions_per_s": batch / best}
    return row | {"compile_s": compile_s}


def _decisions(batch: int) -> mjx.Observation:
    """Plays greedy hands and takes decisions evenly out of them: leading axis `batch`."""
    player = policy.load("greedy")
    states = jax.jit(jax.vmap(lambda key: mjx.init(key)))(
        jax.random.split(jax.random.key(7), HANDS)
    )
    play = jax.jit(lambda key, states: mjx.rollout(player.act, (), key, states, STEPS))
    steps = play(jax.random.key(1), states)[1]
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), steps.observation)
    decides = jnp.nonzero(flat.legal_action_mask.any(axis=-1))[0]
    taken = decides[jnp.arange(batch) * len(decides) // batch]
    return jax.tree.map(lambda leaf: leaf[taken], flat)
