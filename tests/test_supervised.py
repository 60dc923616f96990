"""Supervised learning of discards: records without a leak, losses, training, and the player."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents import greedy, policy
from agents.learn import features, networks, player
from agents.learn.config import NetworkConfig, SearchConfig
from agents.search.value import NEVER
from agents.supervised import records, training
from agents.supervised.config import Config
from mjx import actions
from tests import decisions

HANDS = 10
CALLS = SearchConfig(depth=0, claim_depth=0, calls="greedy")
CONFIG = Config(agent="greedy", hands=HANDS, batch=64, epochs=5, patience=2)


@pytest.fixture(scope="module")
def played():
    return records.collect(policy.load("greedy"), HANDS, seed=3)


@pytest.fixture(scope="module")
def trainer():
    return training.make(CONFIG)


def test_records_are_what_the_agent_saw_and_threw(played):
    assert sorted(set(played.hand.tolist())) == list(range(HANDS))
    assert np.bincount(played.hand).min() > 4  # four seats, some turns each
    row = np.arange(len(played.action))
    assert (played.view.hand.counts[row, played.action] > 0).all()
    # greedy's rule: the lowest deficiency, then the most accepting tiles, then the lowest kind
    missing = played.view.hand.missing.astype(int)
    score = np.where(missing < 9, played.view.hand.accepting - 1000 * missing, -(10**6))
    np.testing.assert_array_equal(np.argmax(score, axis=1), played.action)


def test_hands_are_whole(played):
    """Each hand begins with a first turn, and turns of a seat are in one row without a gap."""
    for hand in range(HANDS):
        turns = np.sort(played.view.hand.turn[played.hand == hand])
        assert turns[0] == 0
        counts = np.bincount(turns)
        assert counts.max() <= 4 and (np.diff(counts) <= 0).all()


def test_no_hand_is_in_two_parts(played):
    split = records.split(played)
    hands = [set(part.hand.tolist()) for part in split]
    assert [len(part) for part in hands] == [6, 2, 2]  # of 10: 0 1 2, 5 6 7; 3, 8; 4, 9
    assert not (hands[0] & hands[1] or hands[0] & hands[2] or hands[1] & hands[2])
    assert sum(len(part.action) for part in split) == len(played.action)


def test_records_survive_the_disk(played, tmp_path):
    records.save(tmp_path / "records.npz", played)
    again = records.load(tmp_path / "records.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["records.npz"]
    assert jax.tree.structure(again) == jax.tree.structure(played)
    jax.tree.map(np.testing.assert_array_equal, again, played)


def test_players_that_cannot_be_traced_are_refused():
    clocked = policy.load("greedy")._replace(is_pure=False)
    with pytest.raises(ValueError, match="cannot be traced"):
        records.collect(clocked, 2, seed=0)


def test_losses_against_plain_python():
    rng = np.random.default_rng(0)
    losses = {
        kind: jax.jit(lambda s, h, a, kind=kind: training.loss_of(s, h, a, kind))
        for kind in ("cross_entropy", "hinge")
    }
    for case in range(20):
        scores = rng.normal(0, 2, 34).astype(np.float32)
        held = rng.random(34) < (0.3 if case else 0.0)
        action = int(rng.integers(34))
        held[action] = True
        others = [float(scores[k]) for k in range(34) if held[k] and k != action]
        own = float(scores[action])
        hinge = max([0.0] + [1 + other - own for other in others])
        entropy = math.log(sum(math.exp(x) for x in [own, *others])) - own
        given = (scores, held, np.int8(action))
        assert float(losses["hinge"](*given)) == pytest.approx(hinge, abs=1e-5)
        assert float(losses["cross_entropy"](*given)) == pytest.approx(entropy, abs=1e-5)


def test_learning_lowers_the_loss_and_keeps_the_best(played, trainer):
    split = jax.tree.map(jnp.asarray, records.split(played))
    state = jax.jit(trainer.init)()
    first = training.evaluate(trainer, state.params, split.validation)
    losses = []
    while not training.is_over(state, CONFIG):
        state, metrics = training.epoch(trainer, state, split.train, split.validation, CONFIG.batch)
        losses.append(metrics["validation/loss"])
        assert float(state.best_loss) == pytest.approx(min(losses))
        assert int(state.best_epoch) == 1 + int(np.argmin(losses))
    assert min(losses) < first.loss
    found = training.evaluate(trainer, state.params, split.validation)
    assert found.loss == pytest.approx(min(losses))
    # The accuracy, by NumPy, of the linear model's two arrays.
    weights = jax.tree.leaves(state.params)
    kernel, bias = sorted(map(np.asarray, weights), key=np.ndim, reverse=True)
    network = networks.make(CONFIG.network)
    test = jax.tree.map(np.asarray, split.test)
    hand, table = test.view.hand, test.view.table
    rows = [hand.counts[:, None], hand.melds[:, None], table.melds[:, 1:], table.discards]
    rows = np.concatenate([*rows, table.unseen[:, None]], axis=1).reshape(len(test.action), -1)
    numbers = np.stack([hand.turn, hand.drawable], axis=1) / 56
    numbers = np.concatenate([rows / 4, numbers], axis=1)
    scores = numbers @ kernel[: numbers.shape[1]] + bias
    told = np.argmax(np.where(hand.counts > 0, scores, -np.inf), axis=1) == test.action
    assert training.evaluate(trainer, state.params, split.test).accuracy == told.mean()
    assert network.leaves is None


def test_what_is_worse_is_not_kept(trainer):
    state = jax.jit(trainer.init)()
    better = trainer.keep_best(state, np.asarray(1.0, np.float32))
    changed = better.replace(current=jax.tree.map(lambda x: x + 1, better.current))
    worse = trainer.keep_best(changed, np.asarray(1.5, np.float32))
    jax.tree.map(np.testing.assert_array_equal, worse.params, state.params)
    assert (int(worse.iteration), int(worse.best_epoch), float(worse.best_loss)) == (2, 1, 1.0)
    assert not training.is_over(worse, CONFIG)
    assert training.is_over(trainer.keep_best(worse, np.asarray(2.0, np.float32)), CONFIG)
    kept = trainer.keep_best(worse, np.asarray(0.5, np.float32))
    jax.tree.map(np.testing.assert_array_equal, kept.params, changed.current)
    assert training.is_over(worse, dataclasses.replace(CONFIG, epochs=2))


def test_the_network_discards_and_greedy_does_all_else():
    network = networks.make(NetworkConfig(kind="linear"))
    params = jax.jit(network.init)(jax.random.key(5))
    act = player.policy("supervised", network, params, CALLS).act
    rng = np.random.default_rng(6)
    cases = [
        decisions.sample(rng, num_melds, question, unseen_kinds=12)
        for num_melds in range(4)
        for question in (False, True)
        for _ in range(16)
    ]
    legal = np.stack([case.mask() for case in cases])

    def choose(seen, legal):
        views = jax.vmap(features.view_of)(seen)
        values = jax.vmap(network.apply, (None, 0))(params, views)
        keys = jax.random.split(jax.random.key(0), len(legal))
        return act(params, keys, seen, legal), greedy.choose(seen, legal), values

    seen = decisions.batch(cases)
    chosen, called, values = jax.device_get(jax.jit(choose)(seen, legal))
    is_discard = called < actions.CONCEALED_KONG
    assert is_discard.sum() > 30 and (~is_discard).sum() > 30
    np.testing.assert_array_equal(chosen[~is_discard], called[~is_discard])
    best = np.argmax(np.where(legal[:, :34], values, -np.inf), axis=1)
    np.testing.assert_array_equal(chosen[is_discard], best[is_discard])
    assert (chosen[is_discard] != called[is_discard]).any()


def test_with_layers_the_search_is_asked_for_discards_alone(monkeypatch):
    called = jnp.array([5, actions.PASS, actions.WIN, 7])
    legal = np.zeros((4, actions.NUM_ACTIONS), bool)
    legal[[0, 0, 0, 1, 1, 2, 2, 3], [3, 5, 40, actions.PASS, 103, 9, actions.WIN, 7]] = True
    asked = []

    def search(solver, observation, wanted):
        asked.append(np.asarray(wanted))
        return jnp.where(wanted, -jnp.arange(actions.NUM_ACTIONS, dtype=jnp.float32), NEVER)

    monkeypatch.setattr(player.greedy, "choose", lambda observation, legal: called)
    monkeypatch.setattr(player.expectimax, "action_values", search)
    settings = player.settings_of(dataclasses.replace(CALLS, depth=1))
    solver = player.Solver(
        settings, player.value_function(networks.make(NetworkConfig())), None, ()
    )
    values = player.discard_values(solver, None, legal)
    np.testing.assert_array_equal(np.argwhere(asked[0]), [[0, 3], [0, 5], [3, 7]])
    np.testing.assert_array_equal(
        np.argwhere(np.asarray(values) > NEVER),
        [[0, 3], [0, 5], [1, actions.PASS], [2, actions.WIN], [3, 7]],
    )
    assert values[0].argmax() == 3  # of 3 and 5, by the search, though greedy throws 5
