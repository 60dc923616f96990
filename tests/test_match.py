"""From hand to hand: the dealer's seat, the rounds and the scores of a match."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import match
from mjx.rollout import rollout
from mjx.rules import Rules
from tests.oracle import cases
from tests.oracle.match import NUM_DEALER_CHANGES, Match

RULES = Rules(hand_mode="match")
key = jax.random.key
FACTS = {case["id"]: case for case in cases.load("facts", "flow")}


@jax.jit
def follow(seed, state, places):
    """Ends a hand at given places of a match, and deals the next: all that is compared."""
    dealer, round_wind, streak, first_dealer, winner = places
    running = state.replace(
        dealer=dealer,
        round_wind=round_wind,
        streak=streak,
        first_dealer=first_dealer,
        scores=jnp.array([5, -2, -2, -1], jnp.int32),
    )
    ended = running.replace(
        terminated=jnp.bool_(True), winner=winner, rewards=jnp.full(4, 7, jnp.float32)
    )
    following = mjx.next_hand(jax.random.key(seed), ended, RULES)
    dealt = match.deal_ahead(jax.random.key(seed), running, RULES)
    ahead = match.take_dealt(ended, dealt, RULES)
    return ended, following, mjx.is_over(ended, RULES), ahead


@pytest.fixture(scope="module")
def everywhere():
    """Each place of a match with each winner: rows of dealer, wind, streak, first, winner."""
    axes = (range(4), range(4), range(3), range(4), range(-1, 4))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 5).astype(np.int32)


@pytest.fixture(scope="module")
def followed(everywhere):
    """What follows: a tree [N, ...], and whether the match is over."""
    state = mjx.init(key(0), RULES)
    seeds = np.arange(len(everywhere))
    return jax.device_get(jax.vmap(follow, in_axes=(0, None, 0))(seeds, state, tuple(everywhere.T)))


def expected(place):
    """Asks the reference what follows."""
    dealer, wind, streak, first, winner = map(int, place)
    before = Match(dealer, streak, 4 * wind + (dealer - first) % 4)
    return before.after([] if winner < 0 else [winner])


def test_every_hand_is_followed_as_in_the_reference(everywhere, followed):
    ended, following, is_over, ahead = followed
    assert is_over.sum() == 4 * 3 * 3  # the last dealer of each match, streak, another's win
    for i, place in enumerate(everywhere):
        after = expected(place)
        assert after.is_over == is_over[i]
        if after.is_over:
            assert following.terminated[i] and following.dealer[i] == place[0]
            after = Match(int(place[3]))
        else:
            for name in ("dealer", "round_wind", "streak"):
                assert getattr(following, name)[i] == getattr(after, name), (name, place)
        for name in ("dealer", "round_wind", "streak"):
            assert getattr(ahead, name)[i] == getattr(after, name), (name, place)
        assert following.first_dealer[i] == ahead.first_dealer[i] == place[3]
    assert (following.scores == [5, -2, -2, -1]).all() and not following.rewards.any()
    assert (ahead.scores == np.where(is_over[:, None], 0, [5, -2, -2, -1])).all()
    assert not ahead.terminated.any() and (ended.rewards == 7).all()


def test_a_match_that_is_over_stays_as_it_is(followed):
    ended, following, is_over, _ = followed
    quiet = ended.replace(rewards=np.zeros_like(ended.rewards))
    for old, new in zip(jax.tree.leaves(quiet), jax.tree.leaves(following), strict=True):
        assert (old[is_over] == new[is_over]).all()


def test_hands_dealt_ahead_are_those_dealt_after(followed):
    _, following, is_over, ahead = followed
    for one, other in zip(jax.tree.leaves(following), jax.tree.leaves(ahead), strict=True):
        assert (one[~is_over] == other[~is_over]).all()


def after(everywhere, followed, *place):
    """Picks what follows a place: dealer, streak, round wind, and whether the match is over."""
    i = int((everywhere == place).all(axis=1).argmax())
    _, following, is_over, _ = followed
    after = (following.dealer[i], following.streak[i], following.round_wind[i])
    return tuple(map(int, after)), bool(is_over[i])


@pytest.mark.parametrize("winner", [3, -1])
def test_f10_dealer_wins_or_nobody_does(everywhere, followed, winner):
    assert FACTS["F10"]["expect"] == "same dealer, streak 3, round wind unchanged"
    assert after(everywhere, followed, 3, 1, 2, 0, winner) == ((3, 3, 1), False)


def test_f11_fourth_dealer_loses(everywhere, followed):
    assert FACTS["F11"]["expect"] == "next seat deals, streak 0, round wind South"
    assert after(everywhere, followed, 3, 0, 2, 0, 1) == ((0, 0, 1), False)


def test_f12_sixteenth_change(everywhere, followed):
    assert FACTS["F12"]["expect"].startswith("the 4-round game is over")
    for winner, ends in ((1, True), (3, False), (-1, False)):
        assert after(everywhere, followed, 3, 3, 2, 0, winner)[1] == ends


def build_sets(params, keys, seen, masks):
    """Wins, pongs, and keeps tiles that have others near them: hands are won now and then."""
    hand = seen.hand.astype(jnp.float32)
    suited = jnp.pad(hand[:, :27].reshape(-1, 3, 9), ((0, 0), (0, 0), (2, 2)))
    near = suited[..., 1:-3] + suited[..., 3:-1] + 0.6 * (suited[..., :-4] + suited[..., 4:])
    near = jnp.pad(near.reshape(-1, 27), ((0, 0), (0, 7)))
    score = jnp.full(masks.shape, -9.0).at[:, :34].set(-2 * hand - near)
    score = score.at[:, mjx.actions.WIN].set(9).at[:, mjx.actions.PONG].set(8)
    score = score.at[:, mjx.actions.PASS].set(7)
    return jnp.argmax(jnp.where(masks, score, -jnp.inf), axis=-1).astype(jnp.int32)


def test_scores_are_the_sums_of_rewards_over_whole_matches():
    """What the players see follows the reference from hand to hand."""
    num_lanes, num_steps = 2, 78 * 120
    states = jax.vmap(lambda k: mjx.init(k, RULES))(jax.random.split(key(1), num_lanes))
    play = jax.jit(lambda k, s: rollout(build_sets, (), k, s, num_steps, RULES))
    last, played = jax.device_get(play(key(2), states))
    finished = 0
    for lane in range(num_lanes):
        table, scores, reached = Match(), np.zeros(4), np.zeros(4)
        for t in np.flatnonzero(played.is_real[:, lane]):
            seen = jax.tree.map(lambda x, t=t, lane=lane: x[t, lane], played.observation)
            seat = int(played.player[t, lane])
            assert (seen.dealer + seat) % 4 == table.dealer
            assert (int(seen.round_wind), int(seen.streak)) == (table.round_wind, table.streak)
            assert (seen.first_dealer + seat) % 4 == 0
            assert (np.roll(seen.scores, seat) == scores).all()
            points = played.rewards[t, lane]
            scores += points
            if played.terminated[t, lane]:
                table, reached = table.after(list(np.flatnonzero(points > 0))), scores.copy()
                if table.is_over:
                    finished += 1
                    table, scores = Match(), np.zeros(4)
        assert (last.scores[lane] == (reached if last.terminated[lane] else scores)).all()
    assert finished >= 2


def test_step_adds_the_points_of_a_hand():
    state = mjx.init(key(0), RULES, scores=np.array([1, 2, 3, -6]))
    ended = state.replace(
        legal=(*state.legal[:4], jnp.uint32(1 << (mjx.actions.WIN - mjx.actions.CHOW_LOW)))
    )
    after = jax.jit(lambda s: mjx.step(s, mjx.actions.WIN, RULES))(ended)
    assert after.rewards[0] >= 3 * 1500 and after.rewards.sum() == 0
    assert (after.scores == np.array([1, 2, 3, -6]) + np.asarray(after.rewards)).all()
    illegal = jax.jit(lambda s: mjx.step(s, mjx.actions.PASS, RULES))(state)
    assert np.isnan(illegal.rewards).all() and (illegal.scores == state.scores).all()


def test_running_hand_is_refused_or_left():
    state = mjx.init(key(0), RULES)
    with pytest.raises(ValueError, match="still running"):
        mjx.next_hand(key(0), state, RULES)
    left = jax.jit(lambda k, s: mjx.next_hand(k, s, RULES))(key(0), state)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), left, state))
    with pytest.raises(ValueError, match="still running"):
        mjx.next_hand(key(0), mjx.init(key(0)))
    batch = jax.tree.map(lambda x: x[None], state)
    with pytest.raises(ValueError, match="vmap"):
        mjx.next_hand(key(0), batch, RULES)


def test_single_hands_go_round_and_round():
    for dealer, wind, following in ((0, 0, (1, 0)), (3, 0, (0, 1)), (3, 3, (0, 0))):
        state = mjx.init(key(0), dealer=dealer, round_wind=wind, streak=2)
        ended = state.replace(terminated=jnp.bool_(True), winner=jnp.int32(dealer))
        after = mjx.next_hand(key(0), ended)
        assert (int(after.dealer), int(after.round_wind)) == following and after.streak == 0
        assert mjx.is_over(ended) and not mjx.is_over(after)


def test_a_match_starts_anywhere():
    state = mjx.init(key(0), RULES, 1, 2, 4, first_dealer=2, scores=[3, -3, 0, 0])
    assert match.num_changes(state) == 4 * 2 + 3
    assert list(state.scores) == [3, -3, 0, 0] and state.first_dealer == 2
    view = mjx.observe(state, 1, RULES)
    assert list(view.scores) == [-3, 0, 0, 3] and view.first_dealer == 1
    assert "scores +3, -3, +0, +0" in mjx.render(state, rules=RULES)
    assert match.NUM_CHANGES == NUM_DEALER_CHANGES
    plain = mjx.init(key(0))
    assert plain.scores is None and mjx.observe(plain, 0).scores is None


@pytest.mark.parametrize(
    "rules, arguments, said",
    [
        (mjx.DEFAULT, {"first_dealer": 0}, "first_dealer and scores are given with"),
        (mjx.DEFAULT, {"scores": np.zeros(4, int)}, "first_dealer and scores are given with"),
        (RULES, {"first_dealer": 4}, "first_dealer is 0 to 3, not 4"),
        (RULES, {"scores": np.zeros(3, int)}, "scores are 4 whole numbers"),
        (RULES, {"scores": np.zeros(4)}, "scores are 4 whole numbers"),
    ],
)
def test_bad_match_is_refused(rules, arguments, said):
    with pytest.raises(ValueError, match=said):
        mjx.init(key(0), rules, **arguments)


def test_pgx_environment_begins_a_match():
    for seed in range(3):
        state = mjx.TaiwaneseMahjong(RULES).init(jax.random.key(seed)).hand
        assert (int(state.dealer), int(state.round_wind), int(state.streak)) == (0, 0, 0)
