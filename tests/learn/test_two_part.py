"""The two-part network: its leaves are its best Q, whichever way they are computed."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from agents.learn import dqn, features, networks, player
from agents.learn.config import NetworkConfig
from agents.search.value import Position, leaf_values
from mjx import draws, packed
from mjx import state as st
from mjx.observe import observe
from mjx.step import init

NUM = 5  # rests, of decisions of their own, with 0 to 4 melds


def _decision(rng, observation, num_melds):
    """Deals a hand and melds: the decision; the hand's counts, own chows, and marks of sets."""
    left = np.full(34, 4)
    chows, sets = np.zeros(34, np.int8), np.zeros(34, np.int8)
    for number in range(num_melds):
        if number % 2:
            kind = int(rng.choice(np.flatnonzero(left == 4)))
            sets[kind] = (st.PONG, st.KONG)[number // 2]
            left[kind] -= 3 + number // 2
        else:
            starts = [k for k in range(27) if k % 9 < 7 and left[k : k + 3].all()]
            kind = int(rng.choice(starts))
            chows[kind] += 1
            left[kind : kind + 3] -= 1
    kinds = rng.permutation(np.repeat(np.arange(34), left))
    hand = np.bincount(kinds[: 17 - 3 * num_melds], minlength=34)
    seen = np.bincount(kinds[17 - 3 * num_melds : 57], minlength=34)
    observation = observation.replace(
        hand=jnp.asarray(hand, jnp.int8),
        unseen=jnp.asarray(left - hand - seen, jnp.int8),
        drawable=observation.drawable - 20 + num_melds,
    )
    return observation, hand, chows, sets


@pytest.fixture(scope="module")
def decisions():
    """Five decisions, stacked, and their rests after two discards."""
    rng = np.random.default_rng(3)
    blank = jax.jit(lambda key: observe(init(key), jnp.int32(0)))(jax.random.key(0))
    found, hands, chows, sets = zip(*(_decision(rng, blank, m) for m in range(NUM)), strict=True)
    rests = [np.array(hand) for hand in hands]
    rests[0][np.argmax(hands[0])] = 4  # cannot be drawn
    rests[1][np.argmax(hands[1])] = 3  # can be drawn once
    for num_melds, rest in enumerate(rests):
        while rest.sum() > 15 - 3 * num_melds:
            rest[rng.choice(np.flatnonzero((rest > 0) & (rest < 3)))] -= 1
    observations = jax.tree.map(lambda *x: jnp.stack(x), *found)
    positions = Position(
        packed.from_counts(np.array(rests)),
        packed.from_counts(np.array(chows)),
        packed.from_counts(np.array(sets)),
        jnp.arange(NUM, dtype=jnp.int32),
        jnp.full(NUM, 2, jnp.int32),
    )
    return observations, positions, np.array(rests)


@pytest.fixture(
    scope="module", params=["float32", pytest.param("bfloat16", marks=pytest.mark.slow)]
)
def made(request):
    network = networks.make(
        NetworkConfig(kind="two_part", width=16, context=8, dtype=request.param)
    )
    params = jax.jit(network.init)(jax.random.key(1))
    # Biases start at zero and would not be missed.
    rng = np.random.default_rng(4)
    params = jax.tree.map(lambda x: x + 0.1 * rng.standard_normal(x.shape, np.float32), params)
    return network, params, request.param


def _close(found, expected, dtype):
    scale = np.abs(expected).mean()
    assert scale > 10 and expected.std() > 1  # points
    tolerance = 1e-5 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def test_leaves_are_the_best_q(made, decisions):
    network, params, dtype = made
    observations, two_short, counts = decisions
    # A wind more makes rests of one discard; its leaves are valued for two draws all the same.
    one_short = two_short._replace(hand=packed.from_counts(counts + np.eye(34, dtype=int)[30]))
    value, eye = player.value_function(network), np.eye(34, dtype=int)
    two_drawn = counts[:, None] + eye[draws.FIRST] + eye[draws.SECOND]
    leaves = np.concatenate([two_drawn, counts[:, None] + eye + eye[30]], axis=1)
    comes = (leaves <= 4).all(axis=-1)
    assert not comes[0].all() and not comes[1].all() and comes.mean() > 0.9

    @jax.jit
    def all_ways(params, observations, one_short, two_short, leaves):
        contexts = jax.vmap(value.prepare, (None, 0))(params, observations)
        after = value.after_draws
        grids = after.one(params, contexts, one_short), after.two(params, contexts, two_short)

        def one(context, rest, leaves):
            wide = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(leaves), *x.shape)), rest)
            positions = wide._replace(hand=packed.from_counts(leaves))
            best = value.best(params, context, positions)
            return best, leaf_values(value._replace(best=None), params, context, positions)

        return *grids, *jax.vmap(one)(contexts, two_short, leaves)

    found = all_ways(params, observations, one_short, two_short, leaves)
    one, two, best, by_q = map(np.asarray, found)
    assert one.shape == (34, NUM) and two.shape == (draws.NUM_PAIRS, NUM)
    grid = np.concatenate([two, one]).T
    assert np.isfinite(grid).all()
    scale = np.abs(best[comes]).mean()
    assert scale > 10 and best[comes].std() > 10  # points
    tolerance = 1e-5 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(grid[comes], best[comes], rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(by_q[comes], best[comes], rtol=tolerance, atol=tolerance * scale)


def test_it_learns(made, decisions):
    network, params, _ = made
    views = jax.jit(jax.vmap(features.view_of))(decisions[0])
    counts = np.asarray(views.hand.counts)
    rng = np.random.default_rng(5)
    batch = dqn.Transition(
        view=views,
        action=jnp.asarray([rng.choice(np.flatnonzero(row)) for row in counts], jnp.int8),
        reward=jnp.asarray(rng.choice([-1.0, 2.0], NUM), jnp.float32),
        discount=jnp.zeros(NUM),
        next_view=views,
    )
    optimiser = optax.adam(1e-2)

    @jax.jit
    def train(params):
        def one_step(carry, _):
            step = dqn.update(
                jax.vmap(network.apply, (None, 0)),
                jax.vmap(features.legal_discards),
                optimiser,
                carry[0],
                params,
                carry[1],
                batch,
            )
            return (step.params, step.optimiser), step.metrics["loss"]

        return jax.lax.scan(one_step, (params, optimiser.init(params)), None, length=100)[1]

    losses = np.asarray(train(params))
    assert np.isfinite(losses).all() and losses[-1] < 0.05 * losses[0]


@pytest.mark.slow
def test_blocks_of_the_resnet_are_its_positions(decisions):
    observations, rests, _ = decisions
    network = networks.make(NetworkConfig(kind="resnet"))
    params, value = jax.jit(network.init)(jax.random.key(2)), player.value_function(network)
    context = value.prepare(params, jax.tree.map(lambda x: x[3], observations))
    many = jax.tree.map(lambda x: jnp.concatenate([x] * 14), rests)  # 70: a block and a rest
    assert many.hand.shape[0] > network.block
    found = jax.jit(value.q_values)(params, context, many)
    assert found.shape == (70, 34)
    expected = jax.jit(value.q_values)(params, context, rests)
    assert np.ptp(np.asarray(expected), axis=0).min() > 0
    np.testing.assert_allclose(found, jnp.concatenate([expected] * 14), rtol=1e-4, atol=1e-2)
