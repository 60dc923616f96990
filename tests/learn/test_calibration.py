"""Returns of discards against a plain walk through the hands, and their summary by arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.learn import calibration
from agents.learn.calibration import Discards
from agents.learn.config import Config, SelfPlayConfig
from agents.learn.networks import QNetwork
from agents.learn.selfplay import Decision

SEATS = 4


def _game(rng, steps, discount):
    """Makes up decisions of one game and what their transitions bring; returns are walked."""
    seat = np.zeros(steps, np.int32)
    reward = rng.normal(size=(steps, 1 + SEATS)).astype(np.float32)
    factor = np.full((steps, 1 + SEATS), np.float32(discount))
    factor[:, 1:] = 0
    valid = np.zeros((steps, 1 + SEATS), bool)
    expected = np.zeros((steps, 1 + SEATS))
    known = np.zeros((steps, 1 + SEATS), bool)
    chains = {}  # seat -> the places of its transitions in this hand
    for step in range(steps):
        seat[step] = rng.integers(SEATS)
        mine = int(seat[step])
        if rng.random() < 0.7:  # a discard
            if mine in chains:
                valid[step, 0] = True
                chains[mine].append((step, 0))
            chains.setdefault(mine, [])
        if rng.random() < 0.15:  # the hand ends
            for one, places in chains.items():
                valid[step, 1 + one] = True
                total = 0.0
                for place in reversed([*places, (step, 1 + one)]):
                    total = float(reward[place]) + float(factor[place]) * total
                    expected[place], known[place] = total, True
            chains = {}
    return seat, reward, factor, valid, expected, known


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_returns_are_those_of_a_walk(discount):
    rng, run = np.random.default_rng(1), jax.jit(calibration.returns)
    for _ in range(10):
        seat, reward, factor, valid, expected, known = _game(rng, 60, discount)
        found, is_known = run(seat, reward, factor, valid)
        np.testing.assert_array_equal(is_known, known)
        np.testing.assert_allclose(np.asarray(found)[known], expected[known], rtol=1e-5, atol=1e-5)
        assert known.sum() > 10 and (valid & ~known).any() == (valid.sum() > known.sum())


def test_figures_by_arithmetic():
    predicted = np.array([1.0, 2.0, 3.0, 4.0, 9.0]).reshape(5, 1, 1)
    predicted = np.concatenate([predicted, predicted], axis=1)
    realised = np.array([[0.0, 2.0], [2.0, 2.0], [2.0, 4.0], [3.0, 5.0], [7.0, 7.0]])[..., None]
    known = np.array([True] * 4 + [False])[:, None, None] & np.ones((1, 2, 1), bool)
    found = calibration.figures(Discards(predicted, realised, known), bins=2)
    assert found["discards"] == 8
    # predicted - realised: game 0 has 1, 0, 1, 1; game 1 has -1, 0, -1, -1
    assert found["bias"] == pytest.approx(0.0)
    assert found["bias_error"] == pytest.approx(1000 * (2 * 3**2 * 2) ** 0.5 / 8)
    assert found["rmse"] == pytest.approx(1000 * (6 / 8) ** 0.5)
    assert found["predicted"] == pytest.approx([1500.0, 3500.0])
    assert found["realised"] == pytest.approx([1500.0, 3500.0])
    # realised less the bin's mean, summed by game: -1 and 1; -2 and 2
    errors = [1000 * (2 * total**2 * 2) ** 0.5 / 4 for total in (1, 2)]
    assert found["error"] == pytest.approx(errors)
    assert found["count"] == [4, 4]
    flat = Discards(np.ones((3, 2, 1)), realised[:3], known[:3])
    assert calibration.figures(flat)["correlation"] is None


@pytest.mark.slow
def test_play_compares_what_is_predicted_with_the_points_of_the_hand():
    """Under final points, a network that says the kind, and a player of the first legal action."""

    def q_values(params, view):
        return params * jnp.arange(34, dtype=jnp.float32)

    def decide(params, observations, masks):
        return Decision(jnp.argmax(masks, axis=-1).astype(jnp.int32), jnp.zeros(len(masks)))

    network = QNetwork(
        init=lambda key: (),
        table=lambda params, table: table,
        values=lambda params, table, hand: q_values(params, hand),
    )
    config = Config(selfplay=SelfPlayConfig(reward="final"))
    steps = calibration.TAIL + 200
    found = jax.jit(
        lambda key: calibration.play(network, decide, jnp.float32(1), key, 3, steps, config)
    )(jax.random.key(0))
    predicted, realised, known = map(np.asarray, found)
    assert known[:200].sum() > 200 and not known[200:].any()
    kinds = predicted[known]
    assert (kinds == np.round(kinds)).all() and 0 <= kinds.min() and kinds.max() <= 33
    points = realised[known] * 1000
    np.testing.assert_allclose(points, np.round(points / 100) * 100, atol=0.01)
    # The last discards of a hand are one a seat; their points sum to zero where all four made one.
    ends = known[:, :, 1:].all(axis=-1)
    assert ends.any()
    np.testing.assert_allclose(realised[:, :, 1:].sum(-1)[ends], 0, atol=1e-4)
