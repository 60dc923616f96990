"""How fast Dou Dizhu runs: whole games of uniform play, rlcard in the same run, search, training.

The loop shuffles, deals, resets, draws each legal move with equal chance, moves and pays.
Ours uses all cores, rlcard one. Besides games a second each row tells games a second of
processor time, which other work on the machine disturbs less. Each figure is the best of several
calls, since other work only ever slows a call. The search is timed on decisions out of games of
random play, forced ones left out; its rows count whole searches, candidates and choice included.
"""

import importlib
import importlib.util
import os
import random
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import doudizhu
from agents.doudizhu import players, root
from agents.doudizhu.forced import play_forced
from agents.doudizhu.learn import loop
from agents.doudizhu.learn.config import Config, LearningConfig, SelfPlayConfig
from agents.doudizhu.networks import NetworkConfig
from doudizhu import legal
from doudizhu.observe import Observation

Row = dict[str, float | int | str]

SEARCHES = (1, 32)  # decisions at once
WIDTHS = (32, 64)  # of the network
LENGTH = 24  # decisions of a game that the search is timed on
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
    for decisions in SEARCHES:
        yield searches(decisions, seconds)
    for width in WIDTHS:
        yield training(width, seconds)


def searches(decisions: int, seconds: float) -> Row:
    """Measures the search with its default settings on so many decisions at once."""
    player, seen = players.load("search"), _decisions(decisions)
    keys = jax.random.split(jax.random.key(1), decisions)
    start = time.perf_counter()
    arguments = (player.params, keys, seen, ())
    act = jax.jit(player.act).lower(*arguments).compile()
    compile_s = time.perf_counter() - start
    wall, cpu, calls, start = float("inf"), float("inf"), 0, time.perf_counter()
    while calls < 3 or time.perf_counter() - start < seconds:
        before, cpu_before = time.perf_counter(), time.process_time()
        jax.block_until_ready(act(*arguments))
        wall = min(wall, time.perf_counter() - before)
        cpu, calls = min(cpu, time.process_time() - cpu_before), calls + 1
    playouts = decisions * root.Settings().playouts
    return {
        "name": "search",
        "decisions": decisions,
        "playouts_per_s": playouts / wall,
        "playouts_per_cpu_s": playouts / cpu,
        "decisions_per_s": decisions / wall,
        "compile_s": compile_s,
    }


def training(width: int, seconds: float) -> Row:
    """Measures a chunk of self-play, and epochs on its samples, the error held out included."""
    config = Config(
        network=NetworkConfig(width=width),
        selfplay=SelfPlayConfig(chunks=1, games=64, steps=16),
        learning=LearningConfig(updates=32),
    )
    trainer, learning = loop.make(config), config.learning
    state = jax.jit(trainer.init)()
    play = jax.jit(trainer.play).lower(state).compile()
    learn = jax.jit(trainer.learn).lower(state).compile()
    jax.block_until_ready(play(state))
    start = time.perf_counter()
    played, metrics = jax.block_until_ready(play(state))
    play_s, epoch_s, start = time.perf_counter() - start, float("inf"), time.perf_counter()
    while epoch_s == float("inf") or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        jax.block_until_ready(learn(played))
        epoch_s = min(epoch_s, time.perf_counter() - before)
    decisions = int(metrics["play/decisions"])
    return {
        "name": "training",
        "width": width,
        "selfplay_playouts_per_s": decisions * config.search.playouts / play_s,
        "selfplay_samples_per_s": int(metrics["play/samples"]) / play_s,
        "epoch_samples_per_s": learning.updates * learning.batch * learning.candidates / epoch_s,
    }


def _decisions(num: int) -> Observation:
    """Plays games at random and takes decisions out of all of their lengths: leading axis num."""

    @jax.jit
    def played(key: jax.Array) -> Observation:
        deal_key, play_key = jax.random.split(key)
        states = jax.vmap(doudizhu.init)(jax.random.split(deal_key, num))

        def one_decision(states: doudizhu.State, step: tuple) -> tuple:
            bits, index = step
            words = jax.vmap(lambda one: doudizhu.legal_words(one))(states)
            moves = jax.vmap(legal.nth_legal)(bits, words)
            reached = play_forced(
                jax.vmap(lambda one, move: doudizhu.step(one, move))(states, moves)
            )
            # Lane i stays where it is after i modulo LENGTH decisions, or before its last.
            stays = reached.terminated | (jnp.arange(num) % LENGTH < index)
            states = jax.tree.map(
                lambda old, new: jnp.where(stays.reshape(-1, *[1] * (old.ndim - 1)), old, new),
                states,
                reached,
            )
            return states, None

        bits = jax.random.bits(play_key, (LENGTH, num))
        steps = (bits, jnp.arange(LENGTH))
        states, _ = jax.lax.scan(one_decision, states, steps)
        return jax.vmap(lambda one: doudizhu.observe(one, one.current_player))(states)

    return played(jax.random.key(7)).replace(legal_action_mask=())


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
