"""How fast Dou Dizhu runs: whole games of uniform legal play, and rlcard in the same run.

The loop shuffles, deals, resets, draws each legal move with equal chance, moves and pays.
Ours uses all cores, rlcard one. Besides games a second each row tells games a second of
processor time, which other work on the machine disturbs less. Each figure is the best of several
calls, since other work only ever slows a call.
"""

import importlib
import importlib.util
import os
import random
import time
from collections.abc import Iterator

import jax
import numpy as np

import doudizhu

Row = dict[str, float | int | str]

WARM_UP = 3  # chunks until games end and begin at all times, and lanes have left their first one


def rows(batches: list[int], seconds: float) -> Iterator[Row]:
    """Measures row by row."""
    jax.config.update("jax_enable_compilation_cache", False)
    best = {"games_per_s": 0.0, "games_per_cpu_s": 0.0}
    for batch in batches:
        row = whole_games(batch, seconds)
        best = {name: max(most, float(row[name])) for name, most in best.items()}
        yield row
    row = rlcard_games(seconds)
    if "games_per_s" in row:
        for name, most in best.items():
            row[f"ours_to_theirs_{name}"] = most / float(row[name])
    yield row


def whole_games(batch: int, seconds: float) -> Row:
    """Measures the simulator."""
    num_chunks = max(2, 4096 // batch)
    states = jax.jit(jax.vmap(doudizhu.init))(jax.random.split(jax.random.key(7), batch))
    start = time.perf_counter()
    lowered = jax.jit(lambda key, state: doudizhu.simulate(key, state, num_chunks)).lower(
        jax.random.key(0), states
    )
    run = lowered.compile()
    compile_s = time.perf_counter() - start
    for num in range(-(-WARM_UP // num_chunks)):
        states, _ = jax.block_until_ready(run(jax.random.key(num), states))
    calls, start = [], time.perf_counter()
    while len(calls) < 3 or time.perf_counter() - start < seconds:
        before, cpu_before = time.perf_counter(), time.process_time()
        key = jax.random.key(1000 + len(calls))
        states, tally = jax.block_until_ready(run(key, states))
        passed = time.perf_counter() - before, time.process_time() - cpu_before
        calls.append((int(tally.plies.sum()), int(tally.games.sum()), *passed))
    games_a_ply = sum(games for _, games, _, _ in calls) / sum(plies for plies, _, _, _ in calls)
    plies_per_s = max(plies / wall for plies, _, wall, _ in calls)
    return {
        "name": "whole_games",
        "batch": batch,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "games_per_s": plies_per_s * games_a_ply,
        "games_per_cpu_s": max(plies / cpu for plies, _, _, cpu in calls) * games_a_ply,
        "plies_per_s": plies_per_s,
        "compile_s": compile_s,
        "state_bytes": sum(leaf.nbytes for leaf in jax.tree.leaves(states)) // batch,
    }


def rlcard_games(seconds: float) -> Row:
    """Times the same play in rlcard's bare game, without its features."""
    if importlib.util.find_spec("rlcard") is None:
        return {"name": "rlcard", "note": "skipped: not installed (pip install rlcard==1.2.0)"}
    engine = importlib.import_module("rlcard.games.doudizhu")
    rng, games, plies = random.Random(0), 0, 0
    start, cpu_start = time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds or games < 10:
        game = engine.Game()
        game.np_random = np.random.RandomState(games)
        state, _ = game.init_game()
        while not game.is_over():
            state, _ = game.step(rng.choice(state["actions"]))
            plies += 1
        games += 1
    passed, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return {
        "name": "rlcard",
        "cores": 1,
        "games_per_s": games / passed,
        "games_per_cpu_s": games / cpu,
        "plies_per_s": plies / passed,
    }
