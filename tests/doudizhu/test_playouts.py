"""Weights of playouts: situations against the reference, and the logit against plain Python."""

import math

import jax
import numpy as np
import pytest

import doudizhu
from agents.doudizhu import nets, planes, playout
from agents.doudizhu.learn import playouts, selfplay
from doudizhu import groups, moves
from tests.doudizhu import scenes

NUM = 120
GROUPS = groups.PASS_GROUP + 1


@pytest.fixture(scope="module")
def states():
    return scenes.midgame(NUM)


@pytest.fixture(scope="module")
def samples(states):
    """Decisions of random play; the first candidates are all legal, with random results."""
    seen = jax.jit(jax.vmap(lambda s: doudizhu.observe(s, s.current_player)))(states)
    ids = np.asarray(jax.jit(jax.vmap(lambda s: doudizhu.legal_list(s, length=640)[0]))(states))
    ids = ids[:, : selfplay.MAX_CANDIDATES]
    rng = np.random.default_rng(0)
    visits = np.where(ids >= 0, rng.integers(1, 9, ids.shape), 0).astype(np.float16)
    return selfplay.Samples(planes.view_of(seen), ids, rng.random(ids.shape), visits)


def test_situations(states, samples):
    found = playouts.situations(samples)
    assert len(np.unique(found)) > 9
    for row in range(NUM):
        state = jax.tree.map(lambda x, i=row: np.asarray(x[i]), states)
        player, left = int(state.current_player), state.hands.sum(axis=1)
        shortest = min(left[1:]) if player == 0 else left[0]
        if state.to_beat == moves.PASS:
            on_table = 0
        else:
            on_table = 2 if player != 0 and state.owner != 0 else 1
        assert found[row] == 9 * min(shortest - 1, 2) + 3 * on_table + player


def test_choices(samples):
    """All candidates of each decision with a choice, and the best of those visited enough."""
    known, number = playouts.choices(samples), playouts.situations(samples)
    place, start, chosen = [], [], []
    for row in range(NUM):
        ids = [int(move) for move in samples.ids[row] if move >= 0]
        hand = sum(samples.view.hand[row].tolist())
        sizes = [int(moves.all_moves().counts[move].sum()) for move in ids]
        if len(ids) == 1 or hand in sizes:
            continue
        visits, mean = samples.visits[row].tolist(), samples.mean[row].tolist()
        enough = [i for i in range(len(ids)) if visits[i] >= max(visits) / 2]
        start.append(len(place))
        chosen.append(len(place) + max(enough, key=lambda i: mean[i]))
        place += [number[row] * GROUPS + int(moves.all_moves().group[move]) for move in ids]
    assert 20 < len(start) < NUM
    for found, expected in zip(known, (place, start, chosen), strict=True):
        assert found.tolist() == expected


def test_loss_and_gradient(samples):
    known = playouts.choices(samples)
    log = np.random.default_rng(1).normal(size=(27, GROUPS))
    value, gradient = playouts.loss(log, known)
    ends = [*known.start[1:].tolist(), len(known.place)]
    losses, expected = [], np.zeros(log.size)
    for first, end, chosen in zip(known.start, ends, known.chosen, strict=True):
        weight = {i: math.exp(log.flat[known.place[i]]) for i in range(first, end)}
        total = sum(weight.values())
        losses.append(-math.log(weight[chosen] / total))
        for i in weight:
            expected[known.place[i]] += weight[i] / total - (i == chosen)
    assert value == pytest.approx(np.mean(losses))
    assert np.allclose(gradient.reshape(-1), expected / len(losses))


def test_fitted_weights_are_those_that_chose():
    """Choices drawn by known weights, the same in all situations but one."""
    rng = np.random.default_rng(2)
    share = np.tile(np.array([1, 2, 4, 8, 80]) / 80, (27, 1))
    share[5] = share[5, ::-1]
    number = np.repeat(np.array([3, 4, 5]), 4000)
    place = (number[:, None] * GROUPS + np.arange(5)).reshape(-1)
    start = 5 * np.arange(len(number))
    drawn = [rng.choice(5, p=share[i] / share[i].sum()) for i in number]
    fitted = playouts.fit(playouts.Choices(place, start, start + np.array(drawn)))
    assert fitted.shape == (27, GROUPS) and fitted.dtype == np.int32 and fitted.min() >= 1
    for situation in (3, 4, 5):  # above a tenth of the highest share all are equal
        expected = playout.whole(np.minimum(10 * share[situation], 1.0))
        assert np.allclose(fitted[situation, :5], expected, rtol=0.4)


def test_the_shipped_weights():
    """They are as `whole` makes them; a lead does not pass, an answer to one's mate mostly does."""
    table = nets.read_weights()
    assert table.shape == (27, GROUPS) and table.min() >= 1
    assert (table == playout.weights("learned")).all()
    assert nets.WEIGHTS.stat().st_size < 1e5
