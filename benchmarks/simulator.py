"""How fast the game runs: the whole loop, the public step alone, and its peers in the same run.

The whole loop shuffles, deals, resets, draws random legal actions and counts tai and payments.
A decision is one accepted action of one seat; engines count differently, so hands a second are
given too. Each figure is the best of several calls, since other work only ever slows a call.
"""

import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp

import mjx
from benchmarks import peers
from mjx.rollout import nth_legal

Row = dict[str, float | int | str]

AT_ONCE = 1024  # hands that the caches hold
STEPS = 48  # of the step alone: no hand of random play ends in fewer but by a rare win


def rows(batches: list[int], tables: list[str], seconds: float) -> Iterator[Row]:
    """Measures row by row; other rules than the default at the largest batch up to `AT_ONCE`."""
    jax.config.update("jax_enable_compilation_cache", False)
    best, steps_per_s = 0.0, {}
    for batch in batches:
        row = whole_loop(batch, seconds)
        best = max(best, float(row["hands_per_s"]))
        steps_per_s[batch] = float(row["steps_per_s"])
        yield row
    for batch in batches:
        yield step_alone(batch, seconds)
    if tables:
        batch = max([size for size in batches if size <= AT_ONCE], default=min(batches))
        for text in tables:
            row = whole_loop(batch, seconds, mjx.rules.parse(text))
            ratio = float(row["steps_per_s"]) / steps_per_s[batch]
            yield row | {"name": f"whole_loop {text}", "of_default": ratio}
    for row in peers.rows(seconds):
        if "hands_per_s" in row:
            row["ours_to_theirs_hands"] = best / float(row["hands_per_s"])
        yield row


def whole_loop(batch: int, seconds: float, rules: mjx.Rules = mjx.DEFAULT) -> Row:
    """Measures the simulator with deals and payments."""
    num_chunks = max(1, 4096 // batch)
    states = _deal(batch, rules)
    run, compile_s, lines = _compile(
        lambda key, state: mjx.simulate(key, state, num_chunks, rules), jax.random.key(0), states
    )
    calls = [
        (int(tally.decisions.sum()), int(tally.hands.sum()), passed)
        for (_, tally), passed in _calls(run, states, seconds, go_on=True)
    ]
    steps_per_s = max(decisions / passed for decisions, _, passed in calls)
    hands_a_step = sum(hands for _, hands, _ in calls) / sum(call[0] for call in calls)
    row = _row("whole_loop", batch, steps_per_s, compile_s, states, lines)
    return row | {"hands_per_s": steps_per_s * hands_a_step}


def step_alone(batch: int, seconds: float) -> Row:
    """Measures the public step with a random legal policy: legal mask and exact rewards."""
    states = _deal(batch)

    def play(key: jax.Array, states: mjx.State) -> tuple[jax.Array, mjx.State]:
        def one_step(states: mjx.State, bits: jax.Array) -> tuple[mjx.State, jax.Array]:
            action = jax.vmap(lambda b, s: nth_legal(b, s.legal))(bits, states)
            alive = jnp.sum(~states.terminated)
            return jax.vmap(lambda s, a: mjx.step(s, a))(states, action), alive

        states, alive = jax.lax.scan(
            one_step, states, jax.random.bits(key, (STEPS, batch), jnp.uint32)
        )
        return jnp.sum(alive), states  # the states, so that no part of them is left out

    run, compile_s, lines = _compile(play, jax.random.key(0), states)
    steps_per_s = max(int(out[0]) / passed for out, passed in _calls(run, states, seconds))
    return _row("step", batch, steps_per_s, compile_s, states, lines)


def _calls(
    run: Callable, states: mjx.State, seconds: float, go_on: bool = False
) -> Iterator[tuple]:
    """Calls again and again, three times at least after a warm-up; gives results and seconds.

    With `go_on` each call takes the states that the one before returned first.
    """
    out = jax.block_until_ready(run(jax.random.key(0), states))
    start, num = time.perf_counter(), 0
    while num < 3 or time.perf_counter() - start < seconds:
        num += 1
        states = out[0] if go_on else states
        before = time.perf_counter()
        out = jax.block_until_ready(run(jax.random.key(num), states))
        yield out, time.perf_counter() - before


def _deal(batch: int, rules: mjx.Rules = mjx.DEFAULT) -> mjx.State:
    """Deals a batch of hands."""
    keys = jax.random.split(jax.random.key(7), batch)
    return jax.jit(jax.vmap(lambda key: mjx.init(key, rules)))(keys)


def _compile(function: Callable, *args: object) -> tuple[Callable, float, int]:
    """Compiles a function, and tells how long it took and how long its text is."""
    start = time.perf_counter()
    lowered = jax.jit(function).lower(*args)
    compiled = lowered.compile()
    return compiled, time.perf_counter() - start, len(lowered.as_text().splitlines())


def _row(
    name: str, batch: int, steps_per_s: float, compile_s: float, states: mjx.State, lines: int
) -> Row:
    """Puts a row together."""
    return {
        "name": name,
        "batch": batch,
        "cores": 1,
        "steps_per_s": steps_per_s,
        "compile_s": compile_s,
        "state_bytes": sum(leaf.nbytes for leaf in jax.tree.leaves(states)) // batch,
        "stablehlo_lines": lines,
    }
