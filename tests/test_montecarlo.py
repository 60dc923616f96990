"""Monte Carlo: the rule that plays hands out, what samples say, and what is played."""

import functools
import itertools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from agents import greedy, policy
from agents.search import handmade, montecarlo, playout
from agents.search.montecarlo import Candidates, Samples
from mjx import actions
from mjx import state as st
from mjx.observe import Observation
from mjx.rules import Rules
from tests.test_determinize import greedy_play

# Every win pays the same, and the wall is played to its end: small enough for plain Python.
RULES = Rules(reserve=0, unit=0)
BASE = RULES.base
E, S, W, N, P, F, C = range(27, 34)


@pytest.fixture(scope="module")
def states():
    """Decisions of greedy play [NUM, ...], own turns and questions."""
    played = jax.tree.map(np.asarray, greedy_play(jax.random.key(0)))
    running = np.random.default_rng(0).permutation(np.argwhere(~played.terminated))[:512]
    return jax.tree.map(lambda x: x[running[:, 0], running[:, 1]], played)


@jax.jit
def observed(states):
    """What the deciding seats see."""
    return jax.vmap(lambda state: mjx.observe(state, state.current_player, RULES))(states)


@functools.partial(jax.jit, static_argnames=("num", "turns"))
def begin(keys, seen, found, num, turns):
    lanes = montecarlo.begin(keys, seen, found, num, turns, RULES)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), lanes)


@jax.jit
def play(lanes):
    """Plays lanes; returns them with their results and what seat 0 sees at the end."""
    rules = playout.own_walls(RULES)
    lanes = playout.play(lanes, rules)
    points = playout.results(lanes, handmade.value(), handmade.params(), rules)
    return lanes, points, jax.vmap(lambda state: mjx.observe(state, 0, rules))(lanes.state)


def test_the_rule_is_the_greedy_players(states):
    """But where several claims are open: there it makes one that brings the hand as near."""
    seen = observed(states)
    turned = seen.legal_action_mask
    expected = np.asarray(jax.jit(lambda o: greedy.make().act((), None, o, turned))(seen))
    hands = np.asarray(jnp.stack([jnp.stack(r, -1) for r in states.hands.rows], 1))
    own = hands[np.arange(len(expected)), states.current_player]
    shown = mjx.packed.from_counts(4 - seen.unseen - seen.hand)
    assert (np.asarray(mjx.packed.to_counts(own)) == np.asarray(seen.hand)).all()
    none = jnp.full(len(expected), -1, jnp.int32)
    chosen = np.asarray(jax.jit(playout.choose)(states, shown, none))
    claims = np.asarray(turned)[:, actions.CHOW_LOW : actions.OPEN_KONG + 1].sum(axis=1)
    assert (chosen == expected)[claims < 2].all()
    assert ((chosen == actions.PASS) == (expected == actions.PASS)).all()
    assert len(set(chosen.tolist())) > 30 and (chosen > actions.ADDED_KONG).sum() > 50


def test_playouts_stop_where_they_should(states):
    """At the end of the hand, or at a turn of seat 0's; what lies open is known to the rule."""
    chosen = jax.tree.map(lambda x: x[:32], states)
    seen = observed(chosen)
    best = jax.lax.top_k(seen.legal_action_mask.astype(jnp.float32), 2)
    found = Candidates(best[1], best[0], best[0] > 0)
    lanes, points, views = play(begin(jax.random.split(jax.random.key(1), 32), seen, found, 64, 2))
    ended, tried = np.asarray(lanes.state.terminated), np.tile(found.is_tried[:, None], (1, 64, 1))
    tried = tried.reshape(-1)
    stands = tried & ~ended
    assert stands.sum() > 100 and (tried & ended).sum() > 100
    assert (np.asarray(lanes.state.current_player)[stands] == 0).all()
    assert (np.asarray(lanes.state.queue)[stands] == 0).all()
    assert not np.asarray(views.legal_action_mask)[stands, actions.WIN].any()
    shown = np.stack([np.asarray(word) for word in lanes.shown], axis=1)
    expected = np.asarray(mjx.packed.from_counts(4 - views.unseen - views.hand))
    assert (shown == expected)[stands].all()
    drawn = np.asarray(lanes.state.head).reshape(32, 64, 2) - np.asarray(chosen.head)[:, None, None]
    assert drawn.max() >= 5 and (drawn[stands.reshape(32, 64, 2)] >= 1).all()
    paid = np.asarray(points)[tried & ended] / BASE
    assert (paid == paid.round()).all() and set(paid.tolist()) >= {-1, 0, 1, 3}


UNSEEN = (E, E, S, W, W, N, N)


def last_turn() -> Observation:
    """Everybody has five chows; we hold E and S, three hands of one tile and four draws are left.

    With one tile at rest nobody can chow, pong or kong: only draws, discards and wins are left.
    """
    lowest = [9 * suit + rank for suit in range(3) for rank in (0, 3, 6)] * 2 + [0, 3]
    chows, melded = np.zeros((4, 34), np.int8), np.zeros(34, int)
    for i, kind in enumerate(lowest):
        chows[i % 4, kind] += 1
        melded[kind : kind + 3] += 1
    hand, unseen = (np.bincount(kinds, minlength=34) for kinds in ((E, S), UNSEEN))
    river = np.repeat(np.arange(34), 4 - melded - hand - unseen)
    assert len(river) == 67 and (melded <= 4).all()
    places = np.arange(st.MAX_DISCARDS)
    discards = np.zeros((4, 34), np.int8)
    np.add.at(discards, (np.arange(67) % 4, river), 1)
    none = np.zeros((4, 34), bool)
    mask = np.zeros(actions.NUM_ACTIONS, bool)
    mask[[E, S]] = True
    seen = Observation(
        hand=hand.astype(np.int8),
        drawn=np.int32(S),
        chows=chows,
        pongs=none,
        kongs=none,
        concealed_kongs=none,
        discards=discards,
        unseen=unseen.astype(np.int8),
        num_concealed=np.array([2, 1, 1, 1], np.int32),
        history_kind=np.where(places < 67, np.resize(river, len(places)), -1).astype(np.int8),
        history_seat=np.where(places < 67, places % 4, -1).astype(np.int8),
        history_drawn=np.zeros(len(places), bool),
        history_claimed=np.zeros(len(places), bool),
        pending=np.int32(-1),
        pending_seat=np.int32(-1),
        robbing=np.bool_(False),
        current_player=np.int32(0),
        replacement=np.int32(0),
        locked=np.bool_(False),
        drawable=np.int32(4),
        seat_wind=np.int32(0),
        round_wind=np.int32(0),
        dealer=np.int32(0),
        streak=np.int32(0),
        legal_action_mask=mask,
    )
    return jax.tree.map(jnp.asarray, seen)


def points_of(order: tuple[int, ...], discard: int, shown: list[int]) -> int:
    """Plays one order of the unseen tiles, three hands and four draws, in plain Python."""
    held = [E + S - discard, *order[:3]]
    seat, thrown, shown = 0, discard, shown.copy()
    for draw in (*order[3:], None):
        shown[thrown] += 1
        for place in (1, 2, 3):
            winner = (seat + place) % 4
            if held[winner] == thrown:
                return BASE * ((winner == 0) - (seat == 0))
        if draw is None:
            return 0
        seat = (seat + 1) % 4
        if held[seat] == draw:
            return 3 * BASE if seat == 0 else -BASE
        pair = sorted((held[seat], draw))
        left = [4 - shown[kind] - 1 for kind in pair]  # what either waits for, if it is kept
        held[seat], thrown = pair[::-1] if left[1] >= left[0] else pair
    raise AssertionError


def test_the_mean_of_many_samples_is_that_of_all_deals():
    seen = last_turn()
    shown = [int(n) for n in 4 - seen.unseen - seen.hand]
    orders = list(itertools.permutations(UNSEEN))
    exact = [np.mean([points_of(order, kind, shown) for order in orders]) for kind in (E, S)]
    assert abs(exact[1] - exact[0]) > 100
    one = jax.tree.map(lambda x: x[None], seen)
    found = Candidates(jnp.array([[E, S]], jnp.int32), jnp.zeros((1, 2)), jnp.ones((1, 2), bool))
    lanes = begin(jax.random.split(jax.random.key(2), 1), one, found, 2048, 0)
    points = np.asarray(play(lanes)[1]).reshape(-1, 2)
    error = points.std(axis=0) / np.sqrt(len(points))
    assert (abs(points.mean(axis=0) - exact) < 4 * error).all(), (points.mean(axis=0), exact)
    got = montecarlo.summarize(jnp.asarray(points))
    assert abs(got.mean[1] - (exact[1] - exact[0])) < 4 * np.sqrt(got.variance[1])


def test_differences_are_antisymmetric_and_have_their_variance():
    points = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32) * 1000
    found = montecarlo.summarize(jnp.asarray(points))
    turned = montecarlo.summarize(jnp.asarray(points[:, ::-1].copy()))
    np.testing.assert_allclose(found.mean[2], -turned.mean[2], rtol=1e-5)
    np.testing.assert_allclose(found.variance[2], turned.variance[2], rtol=1e-5)
    difference = points[:, 2].astype(float) - points[:, 0]
    np.testing.assert_allclose(found.mean[2], difference.mean(), rtol=1e-4)
    np.testing.assert_allclose(found.variance[2], difference.var(ddof=1) / 50, rtol=1e-4)
    assert found.mean[0] == 0 and found.variance[0] == 0


@pytest.mark.parametrize(
    ("mean", "variance", "tau", "expected"),
    [
        ((0, 100, 0), (0, 100, 1), 40.0, 8),  # (100 (-30) + 1600 (100)) / 1700 = 92
        ((0, 100, 0), (0, 90_000, 1), 40.0, 7),  # (90000 (-30) + 1600 (100)) / 91600 = -28
        ((0, 100, 0), (0, 100, 1), 0.0, 7),  # the tree alone
        ((0, -5, 900), (0, 100, 1), 40.0, 7),  # the third is not tried
        ((0, 0, 0), (0, 0, 0), 40.0, 7),  # all samples tie
    ],
)
def test_evidence_has_to_be_strong(mean, variance, tau, expected):
    found = Candidates(
        jnp.array([7, 8, 9], jnp.int32),
        jnp.array([500.0, 470.0, 450.0], jnp.float32),
        jnp.array([True, True, False]),
    )
    samples = Samples(jnp.array(mean, jnp.float32), jnp.array(variance, jnp.float32))
    assert int(montecarlo.decide(found, samples, tau)) == expected


def test_candidates_are_the_best_within_the_margin():
    values = jnp.array([5.0, -np.inf, 90.0, 100.0, 40.0], jnp.float32)
    found = montecarlo.find_candidates(values, 4, 20.0)
    assert found.action.tolist() == [3, 2, 4, 0]
    assert found.is_tried.tolist() == [True, True, False, False]
    alone = montecarlo.find_candidates(jnp.full(5, -np.inf).at[2].set(1.0), 2, 20.0)
    assert alone.action[0] == 2 and alone.is_tried.tolist() == [True, False]


def test_what_is_played(states):
    """Legal ids; by the key and the row alone, whatever else is in the batch."""
    player = policy.load("expectimax_mc:playouts=4,turns=1,candidates=2,depth=0,tau=1000")
    quickly = {"xla_backend_optimization_level": 0}
    act = jax.jit(chex.assert_max_traces(player.act, n=1), compiler_options=quickly)
    seen = observed(jax.tree.map(lambda x: x[:16], states))
    keys = jax.random.split(jax.random.key(3), 16)
    mask = seen.legal_action_mask
    chosen = np.asarray(act(player.params, keys, seen, mask))
    assert chosen.dtype == np.int32 and np.asarray(mask)[np.arange(16), chosen].all()
    again = act(player.params, jax.random.clone(keys), seen, mask)
    assert (np.asarray(again) == chosen).all()
    order = np.random.default_rng(1).permutation(16)
    for rows in (order, np.full(16, order[0])):
        one = jax.tree.map(lambda x, rows=rows: x[rows], (keys, seen, mask))
        assert (np.asarray(act(player.params, *one)) == chosen[rows]).all()
    others = act(player.params, jax.random.split(jax.random.key(4), 16), seen, mask)
    assert (np.asarray(others) != chosen).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("playouts=1", "playouts is 2 or more, not 1"),
        ("turns=-1", "turns is 0 or more"),
        ("candidates=1", "candidates is 2 or more"),
        ("margin=-1", "margin is 0 or more"),
        ("tau=-1", "tau is 0 or more"),
        ("depth=9", "depth is 0 to 4"),
    ],
)
def test_options_out_of_range_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        policy.load(f"expectimax_mc:{options}")


def test_rules_that_hide_more_are_refused():
    with pytest.raises(ValueError, match="n_flowers"):
        policy.load("expectimax_mc", Rules(n_flowers=8))
