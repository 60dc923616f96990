"""Samples, their weights, errors, and a run in two halves that is the run that never stopped."""

import dataclasses
import json
import pathlib

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import train as script
from agents.doudizhu import root
from agents.doudizhu.learn import evaluation, loop, selfplay
from agents.doudizhu.learn.config import Config
from agents.learn import config as settings
from agents.learn.checkpoints import Run
from doudizhu import moves

ROOT = pathlib.Path(__file__).parents[2]
SMOKE = ROOT / "configs" / "doudizhu_smoke.yaml"
# That of the command below, so that what is compiled here serves there too.
CONFIG = settings.parse(["--config", str(SMOKE)], pathlib.Path(), Config)
TRAINER = loop.make(CONFIG)
PLAY, LEARN = (jax.jit(step, donate_argnums=0) for step in (TRAINER.play, TRAINER.learn))


def begin():
    """Begins a run, on a device by name as one that is read from the disk."""
    return jax.device_put(jax.jit(TRAINER.init)(), jax.devices()[0])


@jax.jit
def both(params, batch):
    """Returns the loss and its gradients for a batch as a whole, and in blocks."""
    whole = jax.value_and_grad(lambda p: loop.errors(TRAINER.network, p, batch)[0])(params)
    return whole, loop.gradients(TRAINER.network, params, batch)


def go_on(state, stop=None):
    """Runs to the end, or to an iteration."""
    while not loop.is_done(state) and int(state.iteration) != stop:
        is_playing = int(state.iteration) < CONFIG.selfplay.chunks
        state, metrics = (PLAY if is_playing else LEARN)(state)
        assert all(np.isfinite(v) or np.isnan(v) for v in jax.device_get(metrics).values())
    return state


@pytest.fixture(scope="module")
def whole():
    return go_on(begin())


@pytest.mark.parametrize("stop", [1, 3])
def test_a_run_in_two_halves_is_an_unbroken_run(whole, stop, tmp_path):
    """Stopped in self-play and in training; read from the disk by another object."""
    run = Run(tmp_path / "run", CONFIG)
    run.save(go_on(begin(), stop))
    run.close()
    run = Run(tmp_path / "run", CONFIG)
    state = go_on(run.restore(TRAINER.init))
    run.close()
    same = jax.tree.map(lambda a, b: bool(jnp.all(a == b)), state, whole)
    assert jax.tree.all(same)
    with pytest.raises(ValueError, match=r"selfplay\.steps: 4 and 7"):
        other = dataclasses.replace(CONFIG.selfplay, steps=7)
        Run(tmp_path / "run", dataclasses.replace(CONFIG, selfplay=other))


def test_samples_are_the_children_of_the_search(whole):
    samples = jax.device_get(whole.samples)
    num = CONFIG.selfplay.chunks * CONFIG.selfplay.games * CONFIG.selfplay.steps
    assert samples.ids.shape == (num, selfplay.MAX_CANDIDATES)
    is_there = samples.ids >= 0
    assert (is_there.sum(axis=1) >= 1).all()  # decisions with a choice, however grouped
    searched = is_there.sum(axis=1) > 1
    assert searched.mean() > 0.9
    assert (samples.visits.sum(axis=1) == np.where(searched, CONFIG.search.playouts, 0)).all()
    assert (samples.visits[~is_there] == 0).all()
    assert ((samples.mean >= 0) & (samples.mean <= 1)).all()
    wins = samples.mean.astype(np.float32) * samples.visits
    assert np.abs(wins - np.rint(wins)).max() < 0.01  # a share of so many games
    held = moves.all_moves().counts[np.maximum(samples.ids, 0)] <= samples.view.hand[:, None]
    assert held.all(axis=2)[is_there].all()
    plies = (samples.view.history >= 0).sum(axis=1)
    assert (plies % 3 == samples.view.role).all()


def test_a_sample_keeps_means_and_numbers():
    ids = jnp.full(128, -1, jnp.int32).at[:3].set(jnp.array([4, 9, 11]))
    visits = jnp.zeros(128).at[:3].set(jnp.array([4.0, 10.0, 0.0]))
    total = jnp.zeros(128).at[:3].set(jnp.array([1.0, 5.0, 0.0]))
    found = root.Root(ids, jnp.int32(3), visits, total, jnp.int32(14))
    view = jax.tree.map(lambda leaf: leaf[0], selfplay.blank(1).view)
    sample = selfplay.sample_of(view, found)
    assert sample.ids[:4].tolist() == [4, 9, 11, -1]
    assert sample.mean[:3].tolist() == [0.25, 0.5, 0.0]
    assert sample.visits[:3].tolist() == [4.0, 10.0, 0.0]


def test_drawn_candidates_stand_for_all():
    """Without repetition, and weighted so that their sum is that of all on average."""
    batch = selfplay.blank(2)
    nums = (3, 10)
    for row, num in enumerate(nums):
        batch = batch.replace(
            ids=batch.ids.at[row, :num].set(jnp.arange(num, dtype=jnp.int16)),
            visits=batch.visits.at[row, :num].set(jnp.arange(1, num + 1).astype(jnp.float16)),
        )
    draw = jax.jit(jax.vmap(lambda key: loop.draw(key, batch, 4)))
    drawn = jax.device_get(draw(jax.random.split(jax.random.key(0), 2000)))
    for row, num in enumerate(nums):
        ids, visits = drawn.ids[:, row], drawn.visits[:, row]
        assert ((ids >= 0).sum(axis=1) == min(num, 4)).all()
        assert all(len(set(one)) == len(one) for one in (x[x >= 0].tolist() for x in ids))
        whole = num * (num + 1) / 2
        assert visits.sum(axis=1).mean() == pytest.approx(whole, rel=0.03)
        scale = max(num, 4) / 4
        assert np.allclose(visits[ids >= 0], scale * (ids[ids >= 0] + 1))


def test_errors_equal_plain_python(whole):
    rows = jax.tree.map(lambda leaf: leaf[:5], whole.samples)
    params = jax.tree.map(lambda leaf: leaf[0], whole.params)
    batch = loop.draw(jax.random.key(0), rows, 4)

    @jax.jit
    def of_parts(params, batch):
        def one(view, ids):
            shared = TRAINER.network.shared(params, view)
            return jax.vmap(lambda move: TRAINER.network.logit(params, shared, move))(ids)

        logits = jax.vmap(one)(batch.view, batch.ids.astype(jnp.int32))
        return logits, loop.errors(TRAINER.network, params, batch)

    logits, (loss, squared, num) = jax.device_get(of_parts(params, batch))
    total, squares, weight = 0.0, 0.0, 0.0
    for row in range(5):
        for logit, move, mean, visits in zip(
            logits[row], batch.ids[row], batch.mean[row], batch.visits[row], strict=True
        ):
            if move < 0:
                continue
            chance = 1 / (1 + np.exp(-float(logit)))
            mean, visits = float(mean), float(visits)
            total -= visits * (mean * np.log(chance) + (1 - mean) * np.log(1 - chance))
            squares += visits * (chance - mean) ** 2
            weight += visits
    assert num == pytest.approx(weight)
    assert loss == pytest.approx(total / weight, rel=1e-4)
    assert squared == pytest.approx(squares, rel=1e-3)


def test_gradients_of_blocks_are_those_of_the_whole(whole):
    """Blocks weigh as many games as they hold, also those without any."""
    params = jax.tree.map(lambda leaf: leaf[0], whole.params)
    batch = jax.tree.map(lambda leaf: leaf[:12], whole.samples)
    batch = loop.draw(jax.random.key(0), batch, 4)
    batch = batch.replace(visits=batch.visits.at[4:8].set(0.0))

    one, other = both(params, batch)
    chex.assert_trees_all_close(one, other, rtol=1e-4, atol=1e-6)


def test_each_role_learns_from_its_own_games(whole):
    """A run ends with three networks, the best of each by decisions of other games."""
    first = begin().params
    changed = jax.tree.map(
        lambda a, b: np.asarray((a != b).reshape(3, -1).any(axis=1)), whole.params, first
    )
    assert np.all(np.stack(jax.tree.leaves(changed)).any(axis=0))
    held_out = loop.held_out(CONFIG)
    assert held_out.reshape(-1, 4)[:, 0].all() and not held_out.reshape(-1, 4)[:, 1:].any()
    error_of = jax.jit(
        lambda params, samples, wanted: loop.held_out_error(
            TRAINER.network, params, samples, wanted, CONFIG
        )
    )
    for role in range(3):
        wanted = jnp.asarray(held_out) & (whole.samples.view.role == role)
        params = jax.tree.map(lambda leaf, r=role: leaf[r], whole.params)
        error = error_of(params, whole.samples, wanted)
        assert float(error) == pytest.approx(float(whole.best_error[role]), rel=1e-4)


def test_training_lowers_the_error(whole):
    """On samples whose value is the number of cards of the move: what a network can see."""
    ids = np.random.default_rng(0).integers(0, moves.PASS, (12, 4)).astype(np.int16)
    size = (moves.all_moves().counts.sum(axis=1)[ids] / 25).astype(np.float32)
    batch = selfplay.blank(12).replace(
        ids=jnp.asarray(ids),
        mean=jnp.asarray(size, jnp.float16),
        visits=jnp.ones((12, 4), jnp.float32),
    )
    optimiser = optax.adam(1e-2)
    update = jax.jit(optimiser.update)
    params = jax.tree.map(lambda leaf: leaf[0], whole.params)
    batch = jax.device_put(batch, jax.devices()[0])  # as the batch above: one compilation
    opt_state = optimiser.init(params)
    for _ in range(120):
        (loss, _), (_, grads) = both(params, batch)
        updates, opt_state = update(grads, opt_state)
        params = optax.apply_updates(params, updates)
    least = -(size * np.log(size) + (1 - size) * np.log(1 - size))  # of a network that knows
    const = np.mean(size)
    first = -(size * np.log(const) + (1 - size) * np.log(1 - const))  # that knows nothing
    assert loss - least.mean() < 0.3 * (first.mean() - least.mean())


def test_settings_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = str(SMOKE)
    for extra, words in (
        (["--search.playout", "8"], "Did you mean --search.playouts?"),
        (["--search.playouts", "12"], "multiple of at_once (8)"),
        (["--network.layout", "E"], "network.layout: one of A, B, C"),
        (["--evaluation.opponents", "[nobody]"], "No agent is named 'nobody'"),
        (["--learning.held_out", "0.9"], "learning.held_out: from 0.01 to 0.5"),
    ):
        assert script.main(["--config", file, *extra]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_the_command_runs_to_its_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = str(SMOKE)
    assert script.main(["--config", file]) == 0
    out = capsys.readouterr().out
    assert "cnn v random" in out and "cnn_search v search" in out
    run = tmp_path / "runs" / "doudizhu_smoke"
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "net.npz").is_file()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["learn/role"] for line in lines if "learn/role" in line} == {0, 1, 2}
    assert script.main(["--config", file]) == 0  # nothing left to do but to show it again
    assert "compiling" not in capsys.readouterr().out
    results = json.loads((run / "results.json").read_text())
    assert evaluation.table(results) in out
