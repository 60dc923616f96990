"""The simulator, the game in pgx's shape, and a table as text."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from doudizhu import moves
from doudizhu.rules import Rules
from tests.doudizhu import scenes

WIDTH = 256
simulate = jax.jit(doudizhu.simulate, static_argnames=("num_chunks", "rules", "choose"))


@pytest.fixture(scope="module")
def dealt():
    return jax.jit(jax.vmap(doudizhu.init))(jax.random.split(jax.random.key(0), WIDTH))


def test_uniform_play_is_that_of_others(dealt):
    """RLCard's random players: the landlord wins .356 (+- .019) of games of 60.9 plies."""
    state, first = simulate(jax.random.key(1), dealt, 20)
    _, tally = simulate(jax.random.key(2), state, 20)  # after the first games, which start at once
    games, plies = int(tally.games.sum()), int(tally.plies.sum())
    assert games > 4096 and first.games.sum() > WIDTH
    assert abs(int(tally.landlord_wins.sum()) / games - 0.356) < 0.03
    assert abs(plies / games - 60.95) < 1.0
    assert plies > 0.95 * 20 * 56 * WIDTH  # lanes hardly wait
    paid = np.asarray(tally.rewards)
    assert (paid[:, 0] == 2 * tally.landlord_wins - tally.games).all()
    assert (paid[:, 1] == -paid[:, 0]).all() and (paid[:, 1] == paid[:, 2]).all()


def test_simulated_games_are_those_of_step(dealt):
    """One by one, in the lanes whose first game lasts."""
    few = jax.tree.map(lambda x: x[:8], dealt)
    adp = Rules(scoring="adp")
    state, tally = simulate(jax.random.key(4), few, 1, rules=adp, choose=lowest)
    expected = few
    step = jax.jit(jax.vmap(lambda s: doudizhu.step(s, lowest(None, s), adp)))
    for _ in range(56):
        expected = step(expected)
    runs = np.asarray(~expected.terminated)
    assert 2 <= runs.sum() < 8 and ((tally.games == 0) == runs).all()
    chex.assert_trees_all_equal(*(jax.tree.map(lambda x: x[runs], s) for s in (state, expected)))
    assert (np.abs(tally.rewards).sum(axis=1) > 0).tolist() == (~runs).tolist()
    assert (tally.plies == 56).all()


def lowest(bits, state):
    """Always plays the first legal move, so games last."""
    del bits
    return doudizhu.legal_list(state, length=1)[0][0]


def test_what_cannot_be_simulated_is_refused(dealt):
    with pytest.raises(ValueError, match="num_chunks is 1 or more"):
        doudizhu.simulate(jax.random.key(0), dealt, 0)
    with pytest.raises(ValueError, match="batch of games is needed"):
        doudizhu.simulate(jax.random.key(0), doudizhu.init(jax.random.key(0)), 1)


def test_environment():
    env = doudizhu.DouDizhu()
    assert (env.id, env.num_players, env.num_actions) == ("dou_dizhu", 3, 27472)
    shown = env.init(jax.random.key(0))
    step = jax.jit(env.step)
    total = 0
    while not shown.terminated:
        assert (shown.observation.legal_action_mask == shown.legal_action_mask).all()
        chex.assert_trees_all_equal(env.observe(shown).hand, shown.observation.hand)
        move = jnp.int32(np.flatnonzero(shown.legal_action_mask)[-1])
        plain = scenes.step_jit(shown.game, move)
        shown = step(shown, move, jax.random.key(1))
        chex.assert_trees_all_equal(shown.game, plain)
        total += np.asarray(shown.rewards)
    assert (np.abs(total) == 1).all() and total[1] == total[2] and not shown.truncated
    assert np.flatnonzero(shown.legal_action_mask).tolist() == [moves.PASS]
    assert int(env.observe(shown, 1).role) == 1
    assert doudizhu.DouDizhu(Rules(strict=True)).rules.strict


def test_render():
    hands = ("333344445555666677BR", "77888899TTTTJJJJQ", "99QQQKKKKAAAA2222")
    counts = np.array([doudizhu.parse(hand) for hand in hands], np.int8)
    state = doudizhu.init_from_hands(counts, np.array(doudizhu.parse("7BR"), np.int8))
    for text in ("66", "77"):
        state = scenes.step_jit(state, moves.from_text(text))
    assert doudizhu.render(state).split("\n") == [
        "bottom 7BR · bombs 0 · to beat 77 of 1",
        "  0 landlord       3333444455556677BR",
        "      66",
        "  1 landlord-down  888899TTTTJJJJQ",
        "      77",
        "> 2 landlord-up    99QQQKKKKAAAA2222",
        "",
    ]
    shown = doudizhu.render(state, player=2)
    assert "(18 cards)" in shown and "(15 cards)" in shown and "99QQQKKKKAAAA2222" in shown
    for text in ("pass", "BR", "pass", "pass"):
        state = scenes.step_jit(state, moves.from_text(text))
    assert "bombs 1 · lead" in doudizhu.render(state)
    states, _ = scenes.games()
    over = scenes.one(jax.tree.map(lambda x: x[-1], states), 0)
    side = "the landlord wins" if int(over.winner) == 0 else "the peasants win"
    assert "over\n" in doudizhu.render(over) and f"end: {side}" in doudizhu.render(over)
    with pytest.raises(ValueError, match="one of the batch"):
        doudizhu.render(jax.tree.map(lambda x: jnp.asarray(x[0]), states))
    with pytest.raises(ValueError, match="0 to 2, not 3"):
        doudizhu.render(over, player=3)
