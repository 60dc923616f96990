"""The game in pgx's shape: a loop written for pgx plays it."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import TaiwaneseMahjong
from mjx.rules import Rules
from tests import lockstep

ENV = TaiwaneseMahjong()
init = jax.jit(jax.vmap(ENV.init))
step = jax.jit(jax.vmap(ENV.step))
observe = jax.jit(jax.vmap(ENV.observe))
WIDTH = 64


@pytest.fixture(scope="module")
def dealt():
    return init(jax.random.split(jax.random.key(0), WIDTH))


def test_names_and_numbers():
    assert (ENV.id, ENV.num_players, ENV.num_actions) == ("taiwanese_mahjong", 4, 110)
    assert ENV.version.startswith("v")


def test_deal_depends_on_the_key_alone(dealt):
    again = init(jax.random.split(jax.random.key(0), WIDTH))
    chex.assert_trees_all_equal(dealt, again)
    hands = np.asarray(dealt.observation.hand)
    assert len(np.unique(hands, axis=0)) == WIDTH
    # Each of the sixteen places of a match, dealer and wind apart, is met.
    assert len(set(np.asarray(dealt.hand.dealer).tolist())) == 4
    assert len(set(np.asarray(dealt.hand.round_wind).tolist())) == 4
    assert (dealt.current_player == dealt.hand.dealer).all()
    assert not dealt.terminated.any() and not dealt.truncated.any() and not dealt.rewards.any()


def test_a_pgx_loop_plays_whole_games(dealt):
    """As pgx's examples write it; each step is a step of the game underneath."""
    state, key = dealt, jax.random.key(1)
    total, played = np.zeros((WIDTH, 4)), 0
    while not state.terminated.all():
        key, act_key, step_key = jax.random.split(key, 3)
        logits = jnp.log(state.legal_action_mask.astype(jnp.float32))
        action = jax.random.categorical(act_key, logits, axis=-1).astype(jnp.int32)
        before, state = state, step(state, action, jax.random.split(step_key, WIDTH))
        total += np.asarray(state.rewards)
        played += 1
        assert not state.truncated.any()
        assert (np.asarray(state.rewards)[np.asarray(before.terminated)] == 0).all()
        assert (state.terminated >= before.terminated).all()
        if played % 20 == 1:
            one, now = (jax.tree.map(lambda x: x[0], s) for s in (before, state))
            plain = lockstep.step_jit(one.hand, action[0], mjx.DEFAULT)
            chex.assert_trees_all_equal(plain, now.hand)
            assert (now.observation.legal_action_mask == now.legal_action_mask).all()
            assert now.current_player == plain.current_player
    assert 60 < played < 136
    assert (total.sum(axis=1) == 0).all()
    won = np.asarray(state.hand.winner) >= 0
    assert (total[~won] == 0).all() and (total[won].max(axis=1) >= 1000).all()
    assert np.asarray(state.legal_action_mask).all()


def test_observe_shows_the_player_or_a_given_seat(dealt):
    chex.assert_trees_all_equal(observe(dealt), dealt.observation)
    seats = (dealt.current_player + 1) % 4
    seen = observe(dealt, seats)
    expected = jax.jit(jax.vmap(lambda s, seat: mjx.observe(s, seat)))(dealt.hand, seats)
    chex.assert_trees_all_equal(seen, expected)
    assert not seen.legal_action_mask.any() and (seen.current_player == 3).all()


def test_key_of_a_step_is_not_used(dealt):
    action = dealt.legal_action_mask.argmax(axis=-1).astype(jnp.int32)
    keys = [jax.random.split(jax.random.key(seed), WIDTH) for seed in (2, 3)]
    chex.assert_trees_all_equal(*(step(dealt, action, key) for key in keys))


def test_rules_are_those_given():
    env = TaiwaneseMahjong(Rules(reserve=0))
    assert env.rules == Rules(reserve=0) and ENV.rules == mjx.DEFAULT
    view = jax.eval_shape(env.init, jax.random.key(0)).observation
    assert view.drawable.shape == ()
    hand = jax.tree.map(lambda x: x[0], init(jax.random.split(jax.random.key(4), WIDTH)))
    assert int(env.observe(hand).drawable) == 136 - 65
    assert int(ENV.observe(hand).drawable) == 136 - 65 - 16


def test_illegal_action_is_noticed():
    one = jax.tree.map(lambda x: x[0], init(jax.random.split(jax.random.key(5), WIDTH)))
    illegal = int(np.flatnonzero(~np.asarray(one.legal_action_mask))[0])
    with pytest.raises(ValueError, match="not legal here"):
        ENV.step(one, illegal)
