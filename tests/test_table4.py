"""Table 4 on the smoke sizes: two rows to their ends, gone on with, and refused."""

import dataclasses
import json
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import struct

from agents.learn import calibration, loop, networks
from agents.learn.config import ConfigError
from benchmarks import table4, table4_rows, table4_text

ROWS = ("linear", "dqn")
SIZE = dataclasses.replace(table4_rows.SIZES["smoke"], opponent="random")


def _refuse(*_, **__):
    raise LookupError


def _untrained(config, run, players, stop):
    """Saves a run of no iterations as one of all: what `train.train` does has tests of its own."""
    del players, stop
    network = networks.make(config.network)
    params = loop.first_params(network, config)
    iteration = jnp.int32(config.iterations)
    state = State(iteration=iteration, params=params)
    run.log({"iteration": config.iterations, "time/seconds": 2.5, "play/decisions": 384})
    run.save(state)
    return state


class State(struct.PyTreeNode):
    """What a checkpoint must hold."""

    iteration: jax.Array
    params: Any


def _discards(network, decide, params, key, games, steps, config):
    """Takes the place of the calibration's play, which has a test of its own too."""
    del network, decide, params, key, config
    x = jnp.arange(games * steps * 5, dtype=jnp.float32).reshape(steps, games, 5)
    return calibration.Discards(x, x / 2, x < 100)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "table4"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table4.train, "train", _untrained)
        patch.setattr(table4.calibration, "play", _discards)
        return folder, table4.play(folder, SIZE, ROWS, seed=4)


@pytest.mark.slow
def test_rows_are_learned_played_and_set(run):
    folder, kept = run
    linear, dqn = kept
    assert linear["a"]["name"] == f"supervised:path={folder / 'linear'}"
    assert dqn["a"]["name"] == f"ddqn:path={folder / 'dqn'}"
    assert all(row["b"]["name"] == "random" and row["pairs"] == SIZE.pairs for row in kept)
    assert linear["trained"]["parameters"] == 361 * 34 + 34
    discards = linear["trained"]["discards"]
    assert discards["train"] > discards["test"] > 0 and linear["trained"]["epochs"] == 2
    assert 0 < linear["trained"]["test"]["accuracy"] < 1
    assert dqn["config"]["learning"]["double"] is False
    assert dqn["config"]["selfplay"]["reward"] == "final" and dqn["config"]["search"]["depth"] == 0
    assert (dqn["trained"]["decisions"], dqn["trained"]["seconds"]) == (384, 2.5)
    assert dqn["calibration"]["discards"] == 100  # which are 0 to 99, 49.5 in the mean, halved
    assert dqn["calibration"]["bias"] == pytest.approx(1000 * 49.5 / 2)
    text = table4_text.text(kept, ["--smoke"])
    lead = linear["diff"]["points"]
    assert f"{lead['mean']:+.1f} ({lead['low']:+.1f} to {lead['high']:+.1f})" in text
    assert f"{100 * linear['trained']['test']['accuracy']:.1f} |" in text
    assert "10 hands of `greedy`'s own play" in text and "| DQN | final points |" in text
    assert table4_text.draw(folder, kept) == folder / "calibration.png"
    assert (folder / "calibration.png").stat().st_size > 1000


@pytest.mark.slow
def test_what_is_there_is_not_done_again(run, monkeypatch):
    folder, kept = run
    for module, name in (
        (table4.train, "train"),
        (table4.training, "epoch"),
        (table4.records, "collect"),
        (table4.calibration, "play"),
    ):
        monkeypatch.setattr(module, name, _refuse)
    monkeypatch.setattr(table4.arena, "match", _refuse)
    assert table4.play(folder, SIZE, ROWS, seed=4) == kept
    assert table4.play(folder, SIZE, ROWS[:1], seed=4) == kept[:1]
    with pytest.raises(LookupError):  # a match of other walls is played
        table4.play(folder, dataclasses.replace(SIZE, pairs=3), ROWS, seed=4)
    with pytest.raises(LookupError):  # a row that is not there is learned, from the same records
        table4.play(folder, SIZE, ["svm"], seed=4)
    calibrated = folder / "dqn" / "calibration.json"
    before = calibrated.read_text()
    calibrated.unlink()
    with pytest.raises(LookupError):
        table4.play(folder, SIZE, ["dqn"], seed=4)
    calibrated.write_text(before)


@pytest.mark.slow
def test_other_settings_are_refused(run):
    folder, _ = run
    longer = dataclasses.replace(SIZE, base=dataclasses.replace(SIZE.base, epochs=3))
    with pytest.raises(ValueError, match="epochs: 2 and 3"):
        table4.play(folder, longer, ["linear"], seed=4)
    with pytest.raises(ValueError, match="seed: 4 and 5"):
        table4.play(folder, SIZE, ["dqn"], seed=5)
    more = dataclasses.replace(SIZE, base=dataclasses.replace(SIZE.base, hands=12))
    with pytest.raises(ValueError, match=r"records.npz is of .*10.*, not of .*12"):
        table4.play(folder, more, ["fc"], seed=4)
    with pytest.raises(ValueError, match="No row is named 'lineer'"):
        table4.play(folder, SIZE, ["lineer"], seed=4)


def test_rows_differ_in_what_they_are_alone():
    for size in table4_rows.SIZES.values():
        learned = {
            row: table4_rows.reinforcement_config(size, row, seed=7)
            for row, about in table4_rows.ROWS.items()
            if about.loss is None
        }
        networks = {json.dumps(dataclasses.asdict(c.network)) for c in learned.values()}
        rest = {
            (dataclasses.replace(c.learning, double=True), c.iterations, c.seed)
            for c in learned.values()
        }
        assert len(networks) == len(rest) == 1 and len(learned) == 4
        for row, config in learned.items():
            assert config.learning.double == ("double" in row)
            is_searched = row.startswith("expectimax")
            assert (config.search.depth > 0) == is_searched
            assert config.selfplay.reward == ("expectimax" if is_searched else "final")
            assert config.search.calls == "greedy"
        for row, about in table4_rows.ROWS.items():
            if about.loss is not None:
                config = table4_rows.supervised_config(size, row, seed=7)
                assert (config.loss == "hinge") == (row == "svm")
    shared = table4_rows.supervised_config(size, "features", seed=7).network
    assert shared == learned["dqn"].network


def test_layers_in_the_paper_are_the_papers():
    networks = table4_rows.SIZES["paper"].networks
    assert (networks["densenet"].layers, networks["densenet"].channels) == (190, 40)
    assert (networks["resnet"].kind, networks["resnet"].layers) == ("preresnet", 1001)
    assert (
        table4_rows.reinforcement_config(table4_rows.SIZES["paper"], "dqn", seed=0).network.kind
        == "resnet"
    )


def test_a_folder_of_another_kind_is_refused(tmp_path):
    (tmp_path / "linear").mkdir(parents=True)
    (tmp_path / "linear" / "config.json").write_text('{"config": {"iterations": 3}}')
    (tmp_path / "linear" / "trained.json").write_text("{}")
    with pytest.raises(ValueError, match="not the config of a run"):
        table4.play(tmp_path, SIZE, ["linear"], seed=4)
    assert issubclass(ConfigError, ValueError)
