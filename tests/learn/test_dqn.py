"""TD targets against plain arithmetic and rlax; a probe problem with known values."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from agents.learn import dqn
from agents.learn.dqn import Transition

NUM_KINDS = 34


def _slow_target(reward, discount, online, target, legal, double):
    """Writes Y out in plain Python."""
    kinds = [kind for kind in range(NUM_KINDS) if legal[kind]]
    if not kinds:
        return float(reward)
    chooser = online if double else target
    best = kinds[0]
    for kind in kinds:
        if chooser[kind] > chooser[best]:
            best = kind
    return float(reward) + float(discount) * float(target[best])


def _random_case(rng):
    legal = rng.random(NUM_KINDS) < rng.choice([0.0, 0.1, 0.4, 1.0])
    online, target = rng.normal(size=(2, NUM_KINDS)).round(1).astype(np.float32)  # with ties
    return np.float32(rng.normal()), np.float32(rng.choice([0, 0.9, 1])), online, target, legal


@pytest.mark.parametrize("double", [False, True])
def test_target_is_the_equation_written_out(double):
    rng = np.random.default_rng(0)
    target = jax.jit(dqn.td_target, static_argnames="double")
    for _ in range(300):
        case = _random_case(rng)
        np.testing.assert_allclose(
            target(*case, double=double), _slow_target(*case, double), rtol=1e-6
        )


def test_double_and_plain_differ_where_the_networks_disagree():
    online, target = np.zeros((2, NUM_KINDS), np.float32)
    online[3], target[5], target[3] = 1.0, 2.0, -1.0
    legal = np.zeros(NUM_KINDS, bool)
    legal[[3, 5]] = True
    args = jnp.float32(0.5), jnp.float32(1), online, target, legal
    assert float(dqn.td_target(*args, double=True)) == -0.5
    assert float(dqn.td_target(*args, double=False)) == 2.5


def test_illegal_kinds_and_ended_hands_do_not_count():
    online = target = jnp.full(NUM_KINDS, 100.0)
    legal = np.zeros(NUM_KINDS, bool)
    legal[7] = True
    target = target.at[7].set(3.0)
    assert float(dqn.td_target(jnp.float32(1), jnp.float32(1), online, target, legal)) == 4.0
    assert float(dqn.td_target(jnp.float32(1), jnp.float32(0), online, target, legal)) == 1.0


@pytest.mark.loose_jax
def test_errors_match_rlax():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import rlax
    rng = np.random.default_rng(1)
    for _ in range(50):
        reward, discount, online, target, _ = _random_case(rng)
        legal = np.ones(NUM_KINDS, bool)
        q, action = rng.normal(size=NUM_KINDS).astype(np.float32), rng.integers(NUM_KINDS)
        double = rlax.double_q_learning(q, action, reward, discount, target, online)
        plain = rlax.q_learning(q, action, reward, discount, target)
        ours = (dqn.td_target(reward, discount, online, target, legal, d) for d in (True, False))
        for theirs, target_value in zip((double, plain), ours, strict=True):
            np.testing.assert_allclose(target_value - q[action], theirs, rtol=1e-5, atol=1e-6)


def test_loss_is_hubers_or_half_the_square():
    errors = jnp.array([-3.0, -0.5, 0.0, 2.0])
    np.testing.assert_allclose(dqn.loss_of(errors, "huber"), [2.5, 0.125, 0.0, 1.5])
    np.testing.assert_allclose(dqn.loss_of(errors, "squared"), [4.5, 0.125, 0.0, 2.0])


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_a_corridor_of_known_values_is_learned(double, loss):
    # States 0-3; discarding kind 0 leads on, and pays 1 beyond state 3; kind 1 ends the hand with
    # 0.2 times the state's number. Q(s, 0) = 0.9 ** (3 - s); kinds from 2 on are not held.
    num_states = 4
    rows = []
    for s in range(num_states):
        rows.append((s, 0, 1.0 if s == 3 else 0.0, 0.0 if s == 3 else 0.9, min(s + 1, 3)))
        rows.append((s, 1, 0.2 * s, 0.0, s))
    columns = [jnp.array(column) for column in zip(*rows, strict=True)]
    batch = Transition(
        columns[0], columns[1], columns[2].astype(jnp.float32), columns[3], columns[4]
    )
    optimiser = optax.adam(0.05)
    params = target = jax.random.normal(jax.random.key(0), (num_states, NUM_KINDS))
    state = optimiser.init(params)

    def legal(views):
        return jnp.broadcast_to(jnp.arange(NUM_KINDS)[None] < 2, (views.shape[0], NUM_KINDS))

    @jax.jit
    def one(params, target, state):
        return dqn.update(
            lambda p, s: p[s], legal, optimiser, params, target, state, batch, double, loss
        )

    losses = []
    for i in range(1500):
        params, state, metrics = one(params, target, state)
        losses.append(float(metrics["loss"]))
        if i % 25 == 0:
            target = params
    assert losses[-1] < 1e-3 * losses[0]
    np.testing.assert_allclose(params[:, 0], 0.9 ** np.array([3, 2, 1, 0]), atol=0.02)
    np.testing.assert_allclose(params[:, 1], [0, 0.2, 0.4, 0.6], atol=0.02)
