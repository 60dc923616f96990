"""Transitions against plain-Python bookkeeping of the same games; exploration; the next hand."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents import policy
from agents.learn import features, selfplay
from agents.learn.config import SelfPlayConfig
from mjx import actions
from mjx.observe import observe

NUM_GAMES, NUM_STEPS, DISCOUNT = 6, 260, 0.5
GREEDY = policy.load("greedy")


def _decide(observations, masks):
    """Greedy play; the value is made up, different for every decision."""
    action = GREEDY.act((), None, observations, masks)
    made_up = jnp.sum(observations.hand * (1 + jnp.arange(34, dtype=jnp.int32))[None], axis=-1)
    return selfplay.Decision(action, 1000.0 * made_up.astype(jnp.float32))


@pytest.fixture(scope="module")
def played():
    """Some games: what each step saw and gave, as numpy, step by step."""
    config = SelfPlayConfig(reward="expectimax", reward_share=0.1)

    @functools.partial(jax.jit, static_argnames=())
    def one(games, keys):
        seen = jax.vmap(lambda s: observe(s, s.current_player))(games.state)
        views = jax.vmap(features.view_of)(seen)
        decision = _decide(seen, seen.legal_action_mask)
        after, transitions, valid, tally = selfplay.play(
            games, keys, jnp.float32(0.1), _decide, DISCOUNT, config
        )
        seats = games.state.current_player
        return after, (seats, views, decision.value, transitions, valid, tally)

    games = jax.jit(jax.vmap(selfplay.init))(jax.random.split(jax.random.key(0), NUM_GAMES))
    steps = []
    for key in jax.random.split(jax.random.key(1), NUM_STEPS):
        before = games.state
        games, gave = one(games, jax.random.split(key, NUM_GAMES))
        steps.append(jax.device_get((before, games.state, *gave)))
    return steps


def _at(tree, *index):
    return jax.tree.map(lambda x: np.asarray(x)[index], tree)


def _bytes(view):
    return b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(view))


def _said(before, after, g):
    """The kind discarded in a step that only a discard can have made, else None."""
    if after.num_discards[g] == before.num_discards[g] + 1:
        return int(after.history[g][before.num_discards[g]]) & 0x3F
    return None


def test_transitions_are_those_of_plain_bookkeeping(played):
    num_next, num_last, num_paid = 0, 0, 0
    for g in range(NUM_GAMES):
        waiting = {}  # by seat: (view, kind, value)
        for before, after, seats, views, values, transitions, valid, tally in played:
            given = [_at(transitions, g, k) for k in range(5) if valid[g, k]]
            expected = []
            seat, view = int(seats[g]), _at(views, g)
            ended = int(tally.hands[g]) == 1
            if int(tally.discards[g]) == 1:
                if seat in waiting:
                    old, kind, value = waiting[seat]
                    expected.append((old, kind, 0.1 * value, DISCOUNT, _bytes(view)))
                    num_next += 1
                made_up = float(values[g]) / 1000.0
                waiting[seat] = (_bytes(view), None, made_up)
                if not ended:
                    waiting[seat] = (_bytes(view), _said(before, after, g), made_up)
            if ended:
                points = {}
                for one in given[len(expected) :]:
                    points[_bytes(one.view)] = float(one.reward)
                assert set(points) == {w[0] for w in waiting.values()}
                won = float(tally.winner_points[g])
                if won:
                    assert max(points.values()) <= won + 1e-6
                    if len(points) == 4:  # all four discarded: payments cancel out
                        assert abs(sum(points.values())) < 1e-5
                        assert max(points.values()) == pytest.approx(won)
                        num_paid += 1
                assert all(float(one.discount) == 0 for one in given[len(expected) :])
                num_last += len(points)
                given = given[: len(expected)]
                waiting = {}
            assert len(given) == len(expected)
            for one, (old, kind, reward, discount, new) in zip(given, expected, strict=True):
                assert _bytes(one.view) == old
                assert int(one.action) == kind
                np.testing.assert_allclose(float(one.reward), reward, rtol=1e-5)
                assert float(one.discount) == discount
                assert _bytes(one.next_view) == new
    assert num_next > 300 and num_last > 20 and num_paid > 3


def test_hands_follow_each_other(played):
    for before, after, *_, tally in played:
        ended = np.asarray(tally.hands) == 1
        assert not before.terminated.any() and not after.terminated.any()
        assert (after.num_discards[ended] == 0).all()
        assert (after.num_discards[~ended] >= before.num_discards[~ended]).all()
    assert sum(int(np.sum(step[-1].hands)) for step in played) >= 10


def test_exploration_is_legal_and_never_passes_up_a_win():
    mask = np.zeros((2, actions.NUM_ACTIONS), bool)
    mask[:, [3, 9, actions.PASS]] = True
    mask[1, actions.WIN] = True
    best = jnp.array([3, actions.WIN], jnp.int32)
    explore = jax.jit(
        jax.vmap(jax.vmap(selfplay.explore, (0, None, None, None)), (None, 0, 0, None))
    )
    keys = jax.random.split(jax.random.key(0), 600)
    at_random = np.asarray(explore(keys, best, mask, jnp.float32(1)))
    assert (at_random[1] == actions.WIN).all()
    counts = np.bincount(at_random[0], minlength=actions.NUM_ACTIONS)
    assert set(np.flatnonzero(counts)) == {3, 9, actions.PASS} and counts[counts > 0].min() > 150
    keys = jax.random.split(jax.random.key(1), 600)
    assert (np.asarray(explore(keys, best, mask, jnp.float32(0)))[0] == 3).all()


def test_a_seat_that_never_discarded_has_no_transition():
    pending = selfplay.init(jax.random.key(0)).pending
    view = features.blank_view()
    points = jnp.array([3.0, -1.0, -1.0, -1.0])
    book = jax.jit(chex.assert_max_traces(selfplay.book, n=1))
    _, transitions, valid = book(
        pending, jnp.int32(0), jnp.int32(actions.WIN), view, jnp.float32(0), points, True, 1.0, 0.1
    )
    assert not valid.any()
    opened, _, valid = book(
        pending, jnp.int32(2), jnp.int32(5), view, jnp.float32(0), points, False, 1.0, 0.1
    )
    assert not valid.any() and opened.waiting.tolist() == [False, False, True, False]
    _, transitions, valid = book(
        opened, jnp.int32(0), jnp.int32(actions.WIN), view, jnp.float32(0), points, True, 1.0, 0.1
    )
    assert valid.tolist() == [False, False, False, True, False]
    assert float(transitions.reward[3]) == -1.0 and int(transitions.action[3]) == 5
