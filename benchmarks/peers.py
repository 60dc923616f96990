"""Other mahjong engines, timed in the same run where they are installed (`pip install .[peers]`).

Both play riichi mahjong with 13 tiles, so a hand is not the same amount of work as one of ours.
"""

import importlib
import importlib.util
import random
import time
from collections.abc import Iterator
from typing import Any

Row = dict[str, float | int | str]


def rows(seconds: float) -> Iterator[Row]:
    """Times every peer that is installed; the others are named with a note."""
    for name, measure in (("mahjax", _mahjax), ("riichienv", _riichienv)):
        if importlib.util.find_spec(name) is None:
            yield {"name": name, "note": f"skipped: not installed (pip install {name})"}
        else:
            yield measure(seconds)


def _mahjax(seconds: float, batch: int = 256, num_steps: int = 64) -> Row:
    """Times random legal play in mahjax (JAX); finished rounds are dealt anew every 64 steps."""
    import jax
    import jax.numpy as jnp

    mahjax = importlib.import_module("mahjax")
    env = mahjax.make("no_red_mahjong", round_mode="single")

    def play(key: jax.Array, states: Any) -> tuple[Any, jax.Array, jax.Array]:
        def one_step(states: Any, step_key: jax.Array) -> tuple[Any, jax.Array]:
            act_key, deal_key = jax.random.split(step_key)
            logits = jnp.where(states.legal_action_mask, 0.0, -1e9)
            action = jax.random.categorical(act_key, logits, axis=-1).astype(jnp.int32)
            alive = jnp.sum(~states.terminated)
            return jax.vmap(env.step)(states, action, jax.random.split(deal_key, batch)), alive

        play_key, deal_key = jax.random.split(key)
        states, alive = jax.lax.scan(one_step, states, jax.random.split(play_key, num_steps))
        ended = states.terminated
        fresh = jax.vmap(env.init)(jax.random.split(deal_key, batch))
        states = jax.tree.map(
            lambda new, old: jnp.where(ended.reshape(-1, *[1] * (old.ndim - 1)), new, old),
            fresh,
            states,
        )
        return states, jnp.sum(alive), jnp.sum(ended)

    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), batch))
    start = time.perf_counter()
    run = jax.jit(play).lower(jax.random.key(0), states).compile()
    compile_s = time.perf_counter() - start
    best, hands, steps, start = 0.0, 0, 0, time.perf_counter()
    while steps < 3 * batch * num_steps // 2 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        states, alive, ended = jax.block_until_ready(run(jax.random.key(steps), states))
        hands, steps = hands + int(ended), steps + int(alive)
        best = max(best, int(alive) / (time.perf_counter() - before))
    row: Row = {"name": "mahjax", "batch": batch, "cores": 1, "steps_per_s": best}
    return row | {"hands_per_s": best * hands / steps, "compile_s": compile_s}


def _riichienv(seconds: float) -> Row:
    """Times random legal play in riichienv (Rust, driven from Python)."""
    engine = importlib.import_module("riichienv")
    rng, steps, hands, start = random.Random(0), 0, 0, time.perf_counter()
    env = engine.RiichiEnv()
    while time.perf_counter() - start < seconds:
        seen = env.reset()
        while not env.done():
            chosen = {seat: rng.choice(view.legal_actions()) for seat, view in seen.items()}
            steps += len(chosen)
            seen = env.step(chosen)
        hands += 1
    passed = time.perf_counter() - start
    row: Row = {"name": "riichienv", "batch": 1, "cores": 1, "steps_per_s": steps / passed}
    return row | {"hands_per_s": hands / passed}
