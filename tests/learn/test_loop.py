"""The loop: a run in two halves is an unbroken run, bit for bit; its parts do what they say."""

import dataclasses
import os
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.learn import checkpoints, features, loop, selfplay
from agents.learn.checkpoints import CheckpointError, Run
from agents.learn.config import (
    Config,
    ConfigError,
    EvaluationConfig,
    LearningConfig,
    NetworkConfig,
    SelfPlayConfig,
)
from mjx import actions

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = Config(
    name="halves",
    iterations=8,
    log_every=2,
    checkpoint_every=4,
    network=NetworkConfig(width=8, context=4),
    selfplay=SelfPlayConfig(games=8, steps=16, epsilon_iterations=4),
    learning=LearningConfig(batch=8, updates=3, target_period=5, capacity=256, warmup=100),
    evaluation=EvaluationConfig(every=8),
)


def decide_with(network):
    """The network alone, without the search: quick to compile. Passes unless it can win.

    A liking for late kinds parts those that the network values the same but for rounding.
    """

    def decide(params, observations, masks):
        q = jax.vmap(network.apply, (None, 0))(params, jax.vmap(features.view_of)(observations))
        q += 1e-3 * jnp.arange(34)[None]
        rest = jnp.zeros((q.shape[0], actions.NUM_ACTIONS - 34))
        scores = jnp.concatenate([q, rest], axis=-1).at[:, actions.WIN].set(1e6)
        scores = jnp.where(masks, scores, -jnp.inf)
        return selfplay.Decision(
            jnp.argmax(scores, axis=-1).astype(jnp.int32), 1000.0 * jnp.max(q, axis=-1)
        )

    return decide


@pytest.fixture(scope="module")
def trainer():
    return loop.make(CONFIG, decide_with)


@pytest.fixture(scope="module")
def run(trainer):
    return jax.jit(trainer.run)


def equal(a, b):
    def same(x, y):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))

    jax.tree.map(same, a, b)


@pytest.mark.slow
def test_two_halves_are_an_unbroken_run(trainer, run, tmp_path):
    state = jax.jit(trainer.init)()
    unbroken, lines = state, []
    for _ in range(4):
        unbroken, metrics = run(unbroken)
        lines.append(metrics)
    half = state
    for _ in range(2):
        half, _ = run(half)
    first = Run(tmp_path / "halves", CONFIG)
    assert first.restore(trainer.init) is None
    first.save(half)
    first.close()
    del half

    again = Run(tmp_path / "halves", CONFIG)
    half = again.restore(trainer.init)
    again.close()
    for line in lines[2:]:
        half, metrics = run(half)
        equal(metrics, line)
    equal(half, unbroken)
    assert int(unbroken.num_updates) > 0 and int(jnp.sum(unbroken.replay.num_added)) > 100


_ON_EIGHT = """
import sys, jax
jax.config.update("jax_num_cpu_devices", 8)
from agents.learn import loop
from agents.learn.checkpoints import Run
from tests.learn.test_loop import CONFIG, decide_with, equal

trainer = loop.make(CONFIG, decide_with)
step = jax.jit(trainer.run)
state = step(step(trainer.init())[0])[0]
run = Run(sys.argv[1], CONFIG)
run.save(state)
state, metrics = step(state)
again, metrics_again = step(run.restore(trainer.init))
equal((state, metrics), (again, metrics_again))
assert len(state.games.state.wall.sharding.device_set) == 8
run.save(state)
run.close()
"""


@pytest.mark.slow
def test_eight_devices_do_what_one_does(trainer, run, tmp_path):
    """Up to rounding; and what they began, one goes on with."""
    quickly = os.environ | {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
    command = [sys.executable, "-c", _ON_EIGHT, str(tmp_path / "a")]
    process = subprocess.Popen(command, cwd=ROOT, env=quickly)
    state = trainer.init()
    for _ in range(3):
        state, _ = run(state)
    assert process.wait() == 0
    folder = Run(tmp_path / "a", CONFIG)
    other = folder.restore(trainer.init)
    folder.close()
    for _ in range(2):
        _close(other, state)
        state, metrics = run(state)
        other, other_metrics = run(other)
        _close(other_metrics, metrics)
    assert int(state.num_updates) > 2 * CONFIG.learning.target_period


def _close(a, b):
    """Whole numbers and keys are the same, others up to rounding."""

    def same(x, y):
        if jnp.issubdtype(x.dtype, jnp.floating):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
        else:
            equal(x, y)

    jax.tree.map(same, a, b)


@pytest.mark.slow
def test_the_target_network_follows_in_steps(trainer, run):
    state = jax.jit(trainer.init)()
    first = state.params
    equal(state.target_params, first)
    seen = set()
    for _ in range(6):
        state, _ = run(state)
        # 3 updates an iteration, 6 a call: copies after updates 5, 10, 15, ...
        seen.add(int(state.num_updates))
        if state.num_updates < CONFIG.learning.target_period:
            equal(state.target_params, first)
    changed = [
        not np.array_equal(a, b)
        for a, b in zip(*map(jax.tree.leaves, (state.params, first)), strict=True)
    ]
    assert all(changed) and max(seen) >= 2 * CONFIG.learning.target_period
    moved = [
        not np.array_equal(a, b)
        for a, b in zip(*map(jax.tree.leaves, (state.target_params, first)), strict=True)
    ]
    assert all(moved)


def test_epsilon_falls_to_its_end():
    config = dataclasses.replace(CONFIG, selfplay=SelfPlayConfig(games=8, epsilon_iterations=10))
    values = [float(loop.epsilon(jnp.int32(i), config)) for i in (0, 5, 10, 1000)]
    np.testing.assert_allclose(values, [0.5, 0.275, 0.05, 0.05], rtol=1e-6)


def test_a_folder_keeps_its_settings(tmp_path):
    Run(tmp_path / "a", CONFIG).close()
    Run(tmp_path / "a", CONFIG).close()
    other = dataclasses.replace(CONFIG, learning=dataclasses.replace(CONFIG.learning, batch=16))
    with pytest.raises(ConfigError, match=r"learning\.batch: 8 and 16"):
        Run(tmp_path / "a", other)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "letter.txt").write_text("dear")
    with pytest.raises(CheckpointError, match="holds no run"):
        Run(tmp_path / "b", CONFIG)


def test_a_folder_has_one_process_at_a_time(tmp_path):
    first = Run(tmp_path / "a", CONFIG)
    with pytest.raises(CheckpointError, match="Another process runs in"):
        Run(tmp_path / "a", CONFIG)
    first.close()
    Run(tmp_path / "a", CONFIG).close()


def test_metrics_after_the_checkpoint_are_dropped(trainer, tmp_path):
    run = Run(tmp_path / "a", CONFIG)
    run.save(jax.jit(trainer.init)().replace(iteration=jnp.int32(4)))
    for iteration in (2, 4, 6):
        run.log({"iteration": iteration, "loss": float("nan") if iteration == 2 else 1.0})
    run.close()
    with (tmp_path / "a" / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 8, "lo')  # cut off in writing
    run = Run(tmp_path / "a", CONFIG)
    run.restore(trainer.init)
    run.log({"iteration": 6, "loss": 2.0})
    run.close()
    assert run.metrics() == [
        {"iteration": 2, "loss": None},
        {"iteration": 4, "loss": 1.0},
        {"iteration": 6, "loss": 2.0},
    ]


def test_damaged_files_are_named(trainer, tmp_path):
    run = Run(tmp_path / "a", CONFIG)
    run.save(jax.jit(trainer.init)())
    for file in (run.folder / "checkpoints" / "0" / "rest").rglob("*"):
        if file.is_file():
            file.unlink()
    with pytest.raises(CheckpointError, match="checkpoints/0 cannot be read"):
        run.restore(trainer.init)
    for name, read in (("metrics.jsonl", run.metrics), ("results.json", run.results)):
        (run.folder / name).write_text('[{"a":\n')
        with pytest.raises(CheckpointError, match=f"{name} is damaged"):
            read()
    run.close()
    for content in (b'{"config": null}', b"\xff"):
        (run.folder / "config.json").write_bytes(content)
        with pytest.raises(CheckpointError, match="not the config"):
            Run(tmp_path / "a", CONFIG)


def test_missing_and_foreign_checkpoints_are_refused(trainer, tmp_path):
    def init():
        return loop.first_params(trainer.network, CONFIG)

    with pytest.raises(CheckpointError, match="holds no run"):
        checkpoints.read_config(tmp_path / "nowhere")
    run = Run(tmp_path / "a", CONFIG)
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        checkpoints.read_params(tmp_path / "a", init)
    state = jax.jit(trainer.init)()
    run.save(state)
    run.close()
    equal(checkpoints.read_params(tmp_path / "a", init), state.params)
    wider = jax.tree.map(lambda x: jnp.concatenate([x, x]), init())
    for foreign in ({"else": jnp.zeros(3)}, wider):
        with pytest.raises(CheckpointError, match="does not hold the network"):
            checkpoints.read_params(tmp_path / "a", lambda foreign=foreign: foreign)
    (tmp_path / "a" / "config.json").write_text('{"config": {"seed": 0, "old": 1}}')
    with pytest.raises(CheckpointError, match="old"):
        checkpoints.read_config(tmp_path / "a")
