"""The JAX game against the plain-Python reference, decision by decision."""

import random

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import actions
from mjx import state as st
from mjx.rules import DEFAULT
from tests import lockstep
from tests.oracle.game import Game
from tests.oracle.players import choose
from tests.oracle.scenes import LOCKS, SCENES, WINS
from tests.oracle.walls import random_wall, rich_wall

DEFAULT_SCENES = {
    name: scene
    for name, scene in (SCENES | WINS | LOCKS).items()
    if scene.rules == type(scene.rules)()
}


@pytest.mark.parametrize("name", DEFAULT_SCENES)
def test_scene_replays_in_lock_step(name):
    scene = DEFAULT_SCENES[name]
    played = scene.play_all()[1]
    game = scene.new_game()
    state = lockstep.replay(game, lockstep.deal_like(game, scene.wall), played)
    rng = random.Random(name)
    lockstep.follow(game, state, lambda g: choose(g, rng))


@pytest.mark.parametrize("seed", range(8))
def test_random_play_in_lock_step(seed):
    rng = random.Random(seed)
    wall = random_wall(seed)
    game = Game(wall, rng.randrange(4), rng.randrange(4), rng.randrange(3))
    state = lockstep.deal_like(game, wall)
    lockstep.follow(game, state, lambda g: rng.choice(g.legal_actions()))


def test_plain_jit_and_vmap_agree():
    wall = np.array(rich_wall(3), np.int8)
    plain = mjx.init_from_wall(wall)
    jitted = lockstep.deal_jit(wall, DEFAULT)
    batch = jax.jit(jax.vmap(lambda w: mjx.init_from_wall(w)))(np.stack([wall, wall]))
    step_batch = jax.jit(jax.vmap(lambda s, a: mjx.step(s, a)))
    rng = random.Random(0)
    for _ in range(30):
        chex.assert_trees_all_equal(plain, jitted, jax.tree.map(lambda x: x[1], batch))
        action = rng.choice(list(np.flatnonzero(plain.legal_action_mask)))
        plain = mjx.step(plain, int(action))
        jitted = lockstep.step_jit(jitted, int(action), DEFAULT)
        batch = step_batch(batch, jnp.full(2, action, jnp.int32))


def test_step_compiles_once_and_keeps_its_types():
    state = mjx.init(jax.random.key(0))
    step = jax.jit(chex.assert_max_traces(lambda s, a: mjx.step(s, a), n=1))
    after = step(state, jnp.int32(np.flatnonzero(state.legal_action_mask)[0]))
    chex.assert_trees_all_equal_shapes_and_dtypes(state, after)
    step(after, jnp.int32(np.flatnonzero(after.legal_action_mask)[0]))


def test_finished_hand_is_absorbing():
    wall = rich_wall(0)
    game, rng = Game(wall), random.Random(0)
    state = lockstep.follow(game, lockstep.deal_like(game, wall), lambda g: choose(g, rng))
    assert state.rewards.any()
    again = lockstep.step_jit(state, 5, DEFAULT)
    chex.assert_trees_all_equal(again, state.replace(rewards=jnp.zeros(4)))


def test_illegal_action_raises_or_ends_the_hand():
    state = mjx.init(jax.random.key(0))
    illegal = int(np.flatnonzero(~np.asarray(state.legal_action_mask))[0])
    with pytest.raises(ValueError, match=r"not legal here\. Legal: discard"):
        mjx.step(state, illegal)
    for action in (illegal, actions.PASS, -1, actions.NUM_ACTIONS):
        after = lockstep.step_jit(state, action, DEFAULT)
        assert bool(after.terminated) and int(after.ending) == st.ILLEGAL
        assert np.isnan(after.rewards).all()


def test_illegal_end_is_absorbing_too():
    """Also while others are still to be asked."""
    scene = SCENES["all_claims"]
    state = lockstep.deal_jit(np.array(scene.wall, np.int8), DEFAULT, 0, 0, 0)
    for action in scene.play_all()[1]:
        state = lockstep.step_jit(state, action, DEFAULT)
    for illegal in (0, actions.OPEN_KONG, -1):
        ended = lockstep.step_jit(state, illegal, DEFAULT)
        assert int(ended.ending) == st.ILLEGAL
        for action in (5, actions.PASS, -1):
            again = lockstep.step_jit(ended, action, DEFAULT)
            chex.assert_trees_all_equal(again, ended.replace(rewards=jnp.zeros(4)))


def test_wide_numbers_change_nothing():
    """With 64-bit types on, random bits are 64 wide unless a width is asked for."""

    def play():
        deal_key, key = jax.random.split(jax.random.key(0))
        lanes = jax.vmap(lambda k: mjx.init(k))(jax.random.split(deal_key, 2))
        return lanes, jax.jit(lambda k, s: mjx.simulate(k, s, 1))(key, lanes)

    narrow = play()
    with jax.enable_x64(True):
        wide = play()
    chex.assert_trees_all_equal(wide, narrow)
    chex.assert_trees_all_equal_shapes_and_dtypes(wide, narrow)


def test_a_dealt_state_may_be_donated():
    state = mjx.init(jax.random.key(0), dealer=jnp.int32(2))
    action = int(np.flatnonzero(state.legal_action_mask)[0])
    expected = lockstep.step_jit(state, action, DEFAULT)
    after = jax.jit(lambda s, a: mjx.step(s, a), donate_argnums=0)(state, action)
    chex.assert_trees_all_equal(after, expected)


def test_a_seat_may_be_a_plain_number():
    state = mjx.init(jax.random.key(0))
    chex.assert_trees_all_equal(mjx.observe(state, 2), mjx.observe(state, jnp.int32(2)))


def test_a_wall_drawn_to_its_end_is_remembered():
    """Without a reserve, and with chows and pongs wherever they can be, no discard is lost."""
    rules = mjx.Rules(reserve=0)
    taste = np.zeros(actions.NUM_ACTIONS, np.float32)
    taste[actions.CHOW_LOW : actions.OPEN_KONG] = 1
    taste[actions.WIN] = taste[actions.OPEN_KONG] = -1

    def play(key, noise):
        def one_step(state, noise):
            action = jnp.argmax(jnp.where(state.legal_action_mask, taste + noise, -jnp.inf))
            return mjx.step(state, action, rules), None

        return jax.lax.scan(one_step, mjx.init(key, rules), noise)[0]

    keys = jax.random.split(jax.random.key(0), 32)
    noise = jax.random.uniform(jax.random.key(1), (32, 200, actions.NUM_ACTIONS))
    states = jax.jit(jax.vmap(play))(keys, noise)
    assert states.terminated.all() and states.num_discards.max() > 80
    views = jax.vmap(lambda s: jax.vmap(lambda p: mjx.observe(s, p, rules))(jnp.arange(4)))(states)
    hidden = views.num_concealed[:, :, 1:].sum(-1)  # the wall is empty
    np.testing.assert_array_equal(views.unseen.sum(-1), hidden)


@pytest.mark.parametrize("action", [2.5, True, "pong"])
def test_an_action_is_an_id(action):
    with pytest.raises(ValueError, match="An action is an id"):
        mjx.step(mjx.init(jax.random.key(0)), action)


def test_batch_without_vmap_is_refused():
    batch = jax.vmap(lambda k: mjx.init(k))(jax.random.split(jax.random.key(0), 2))
    with pytest.raises(ValueError, match="vmap"):
        mjx.step(batch, jnp.zeros(2, jnp.int32))


@pytest.mark.parametrize(
    "arguments",
    [{"dealer": 4}, {"dealer": np.int64(4)}, {"round_wind": -1}, {"streak": jnp.int32(-1)}],
)
def test_bad_deal_is_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        mjx.init(jax.random.key(0), **arguments)


@pytest.mark.parametrize("wall", [np.zeros(136, np.int8), np.arange(135), [list(range(34))] * 4])
def test_bad_wall_is_refused(wall):
    with pytest.raises(ValueError, match="wall"):
        mjx.init_from_wall(wall)
