"""Batches: rollouts and the simulator against plain steps, one after another.

The reference deals and chooses with the keys as documented, but in a Python loop over plain
`step`. B = lanes, N = steps.
"""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from agents import random as random_agent
from mjx import actions
from mjx import state as st
from mjx.rollout import BLOCK, CHUNK, nth_legal, rollout, simulate
from mjx.rules import DEFAULT
from mjx.step import advance
from tests import fuzz, lockstep, recording
from tests.oracle.scenes import WINS

ACT = random_agent.make().act
WIDTH, NUM_STEPS = 64, 2 * CHUNK + 30

init_many = jax.jit(jax.vmap(lambda key, dealer, wind: mjx.init(key, DEFAULT, dealer, wind)))
observe_many = jax.jit(jax.vmap(lambda s: mjx.observe(s, s.current_player)))
both_many = jax.jit(jax.vmap(lambda s, a: (mjx.step(s, a), advance(s, a))))
rollout_jit = jax.jit(
    lambda key, state, num_steps: rollout(ACT, (), key, state, num_steps),
    static_argnums=2,
)
simulate_jit = jax.jit(simulate, static_argnums=2)
reset_jit = jax.jit(lambda key, state, action: mjx.auto_reset_step(key, state, action))


def step_many(states, action):
    """Steps a batch, and checks that `advance` does the same but for the rewards."""
    stepped, advanced = jax.device_get(both_many(states, action))
    chex.assert_trees_all_equal(advanced.replace(rewards=stepped.rewards), stepped)
    chex.assert_trees_all_equal(advanced.rewards, states.rewards)
    return stepped


def choose_rows(condition, new, old):
    """Chooses lanes of two trees by bool[B]."""
    return jax.tree.map(
        lambda a, b: np.where(condition.reshape(-1, *[1] * (np.ndim(a) - 1)), a, b), new, old
    )


def next_hands(key, states):
    """Deals each lane's next hand: the next seat deals, and each fourth time the wind moves on."""
    dealer = (states.dealer + 1) % 4
    wind = (states.round_wind + (dealer == 0)) % 4
    return jax.device_get(init_many(jax.random.split(key, len(dealer)), dealer, wind))


@pytest.fixture(scope="module")
def played():
    """States of recorded hands, [N, 50] with all kinds of endings; also the recordings."""
    hands = [recording.record(seed) for seed in [*range(25), *range(7, 257, 10)]]
    return fuzz.replay(hands)["state"]


@pytest.fixture(scope="module")
def started(played):
    """A batch in the midst of hands of every kind, some of them finished: [WIDTH]."""
    rng = np.random.default_rng(0)
    last = played.terminated.argmax(axis=0)  # the first finished row of each hand
    lanes = rng.integers(0, 50, WIDTH)
    rows = rng.integers(0, last[lanes] + 1)
    rows[:8] = last[lanes[:8]]
    states = jax.tree.map(lambda x: x[rows, lanes], played)
    assert 8 <= states.terminated.sum() < WIDTH // 2 and (states.queue > 0).sum() > 5
    return states


def follow_rollout(seed, states, transitions):
    """Replays a rollout's actions with plain steps; checks every field of every transition."""
    num_steps = len(transitions.action)
    keys = jax.random.split(jax.random.key(seed), num_steps)
    for t in range(num_steps):
        if t % CHUNK == 0:
            has_spare = np.ones(len(states.terminated), bool)
            spare = next_hands(jax.random.fold_in(keys[t], 1), states)
        takes = states.terminated & has_spare
        states, has_spare = choose_rows(takes, spare, states), has_spare & ~takes
        said = jax.tree.map(lambda x, t=t: x[t], transitions)
        is_real = ~states.terminated
        chex.assert_trees_all_equal(said.is_real, is_real)
        chex.assert_trees_all_equal(said.player, states.current_player)
        chex.assert_trees_all_equal(said.observation, jax.device_get(observe_many(states)))
        assert np.take_along_axis(
            said.observation.legal_action_mask, said.action[:, None], axis=1
        ).all()
        states = step_many(states, said.action)
        chex.assert_trees_all_equal(said.rewards, states.rewards)
        chex.assert_trees_all_equal(said.terminated, states.terminated & is_real)
    return states


def test_rollout_is_plain_steps(started):
    """With lanes that start finished, end twice in a chunk, and a part of a chunk at the end."""
    last, transitions = jax.device_get(rollout_jit(jax.random.key(0), started, NUM_STEPS))
    assert transitions.action.shape == (NUM_STEPS, WIDTH)
    assert transitions.terminated.sum() > WIDTH and (~transitions.is_real).any()
    assert (transitions.rewards.sum(axis=-1) == 0).all()
    assert not transitions.rewards[~transitions.terminated].any()
    assert transitions.rewards[transitions.terminated].any(axis=-1).sum() > 5
    chex.assert_trees_all_equal(last, follow_rollout(0, started, transitions))


def test_rollout_goes_on_and_compiles_once(started):
    state, _ = rollout_jit(jax.random.key(1), jax.device_put(started), NUM_STEPS)
    compiled = rollout_jit._cache_size()
    chex.assert_trees_all_equal_shapes_and_dtypes(started, state)
    state, second = rollout_jit(jax.random.key(2), state, NUM_STEPS)
    assert rollout_jit._cache_size() == compiled
    assert second.is_real.mean() > 0.8


def test_rollout_of_one_hand(started):
    one = jax.tree.map(lambda x: x[:1], started)
    num_steps = 5
    last, transitions = jax.device_get(rollout_jit(jax.random.key(3), one, num_steps))
    assert transitions.is_real.all() and transitions.action.shape == (num_steps, 1)
    chex.assert_trees_all_equal(last, follow_rollout(3, one, transitions))


@pytest.mark.parametrize("num_steps", [0, -5])
def test_rollout_without_steps_is_refused(started, num_steps):
    with pytest.raises(ValueError, match=f"num_steps is 1 or more, not {num_steps}"):
        rollout(ACT, (), jax.random.key(0), started, num_steps)


def test_single_hand_is_refused(started):
    one = jax.tree.map(lambda x: x[0], started)
    with pytest.raises(ValueError, match=r"jax\.vmap\(mjx\.init\)\(keys\)"):
        rollout(ACT, (), jax.random.key(0), one, 5)
    with pytest.raises(ValueError, match=r"jax\.vmap\(mjx\.init\)\(keys\)"):
        simulate(jax.random.key(0), one, 1)


# The order in which `nth_legal` counts: by word, then by bit.
ORDER = sorted(
    range(actions.NUM_ACTIONS),
    key=lambda a: (4, a, 0) if a >= actions.CHOW_LOW else (a % 34 // 9, a % 34, a // 34),
)


def pick(bits, masks):
    """Picks the legal action that the upper half of the bits points at: int32[B]."""
    masks = masks[:, ORDER]
    index = (bits >> 16).astype(np.int64) * masks.sum(axis=1) >> 16
    place = (masks.cumsum(axis=1) == index[:, None] + 1).argmax(axis=1)
    return np.array(ORDER, np.int32)[place]


def slow_simulate(seed, states, num_chunks):
    """Simulates with plain steps, looking for finished hands after every block."""
    num_lanes = len(states.terminated)
    tally = {name: np.zeros(num_lanes, int) for name in ("decisions", "hands", "wins")}
    points, due = np.zeros((num_lanes, 4)), np.array(states.rewards, float)
    for chunk_key in jax.random.split(jax.random.key(seed), num_chunks):
        deal_key, bits_key = jax.random.split(chunk_key)
        shape = (CHUNK // BLOCK, BLOCK, num_lanes)
        blocks = np.asarray(jax.random.bits(bits_key, shape))
        has_spare, spare = np.ones(num_lanes, bool), next_hands(deal_key, states)
        for block in blocks:
            for bits in block:
                running = ~states.terminated
                tally["decisions"] += running
                masks = np.asarray(unpack(np.stack(states.legal, axis=-1)))
                states = step_many(states.replace(rewards=0 * states.rewards), pick(bits, masks))
                due = np.where(running[:, None], states.rewards, due)
            takes = states.terminated & has_spare
            tally["hands"] += takes
            tally["wins"] += takes & (states.winner >= 0)
            points += np.where(takes[:, None], due, 0)
            states, has_spare = choose_rows(takes, spare, states), has_spare & ~takes
    return states, tally, points


unpack = jax.jit(actions.unpack)


@pytest.mark.parametrize("num_lanes", [1, WIDTH, 1024])
def test_simulation_tallies_plain_steps(started, num_lanes):
    states = jax.tree.map(lambda x: np.resize(x, (num_lanes, *x.shape[1:])), started)
    last, tally = jax.device_get(simulate_jit(jax.random.key(4), states, 2))
    slow, counted, points = slow_simulate(4, states, 2)
    for name, expected in counted.items():
        assert (getattr(tally, name) == expected).all(), name
    assert (tally.points == points).all() and (tally.points.sum(axis=1) == 0).all()
    zero = np.zeros((num_lanes, 4), np.float32)
    chex.assert_trees_all_equal(last.replace(rewards=zero), slow.replace(rewards=zero))
    assert tally.hands.sum() >= num_lanes and (tally.decisions <= 2 * CHUNK).all()
    if num_lanes > 1:
        assert 0 < tally.wins.sum() < tally.hands.sum() and tally.points.any()


def test_simulation_by_a_rule(started):
    """A rule that sees the state plays instead of chance: here whoever may win does so."""

    def choose(bits, state):
        first = nth_legal(bits, state.legal)
        may_win = actions.is_legal(state.legal, jnp.int32(actions.WIN))
        return jnp.where(may_win, actions.WIN, first)

    by_rule = jax.jit(lambda key, state: simulate(key, state, 1, choose=choose))
    last, tally = by_rule(jax.random.key(5), started)
    assert not (np.asarray(last.locked) & ~started.locked).any()  # nobody declines a win
    assert tally.hands.sum() > WIDTH // 2


def test_auto_reset_hands_out_the_end_and_deals_the_next_hand():
    scene = WINS["tianhu"]
    won = lockstep.deal_jit(np.array(scene.wall, np.int8), DEFAULT, 0, 0, 0)
    for dealer in range(4):
        for wind in range(4):
            # The same hand at other places of the round; seat 0 has won it all the same.
            state = won.replace(dealer=jnp.int32(dealer), round_wind=jnp.int32(wind))
            key = jax.random.key(4 * dealer + wind)
            fresh, reached = reset_jit(key, state, jnp.int32(actions.WIN))
            chex.assert_trees_all_equal(reached, lockstep.step_jit(state, actions.WIN, DEFAULT))
            assert reached.terminated and reached.rewards[0] > 0 and reached.ending == st.SELF_DRAW
            following = (dealer + 1) % 4, (wind + (dealer == 3)) % 4
            expected = init_one(jax.random.key(4 * dealer + wind), *map(jnp.int32, following))
            chex.assert_trees_all_equal(fresh, expected)
            assert (int(fresh.dealer), int(fresh.round_wind)) == following
            assert int(fresh.streak) == 0 and not fresh.terminated


init_one = jax.jit(lambda key, dealer, wind: mjx.init(key, DEFAULT, dealer, wind))


def test_auto_reset_within_a_hand_is_a_step():
    state = lockstep.deal_jit(np.array(WINS["dihu"].wall, np.int8), DEFAULT, 2, 1, 3)
    for seed in range(20):
        action = jnp.int32(np.flatnonzero(state.legal_action_mask)[0])
        following, reached = reset_jit(jax.random.key(seed), state, action)
        expected = lockstep.step_jit(state, action, DEFAULT)
        chex.assert_trees_all_equal(following, reached, expected)
        assert not reached.terminated
        state = following
