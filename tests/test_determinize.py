"""A state drawn at random from an observation: what the observer sees again, and what it cannot."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mjx
from agents import greedy
from mjx import packed
from mjx.determinize import determinize
from mjx.observe import Observation
from mjx.rules import Rules
from mjx.step import advance
from tests import fuzz, recording
from tests.test_observe import scrambled

NUM = 600


@pytest.fixture(scope="module")
def decisions():
    """Decisions of random, of purposeful and of greedy play: states [NUM], their seats decide."""
    hands = [recording.record(seed) for seed in [*range(25), *range(7, 257, 10)]]
    states = fuzz.replay(hands)["state"]
    rng = np.random.default_rng(0)
    robbing = np.argwhere(states.robbing & ~states.terminated)
    running = rng.permutation(np.argwhere(~states.terminated))
    chosen = np.concatenate([robbing, running])[: NUM // 2]
    states = jax.tree.map(lambda x: x[chosen[:, 0], chosen[:, 1]], states)
    played = greedy_play(jax.random.key(0))
    running = rng.permutation(np.argwhere(~played.terminated))[: NUM // 2]
    played = jax.tree.map(lambda x: np.asarray(x)[running[:, 0], running[:, 1]], played)
    states = jax.tree.map(lambda *parts: np.concatenate(parts), states, played)
    assert states.robbing.sum() >= 5 and 100 < (states.queue == 0).sum() < NUM - 100
    assert (states.locked >> states.current_player & 1).sum() > 5
    return states


@jax.jit
def greedy_play(key):
    """Plays 32 hands by greedy seats: states [60, 32, ...]."""
    act = greedy.make().act

    def one_step(states, step_key):
        views = jax.vmap(lambda state: mjx.observe(state, state.current_player))(states)
        action = act((), step_key, views, views.legal_action_mask)
        return jax.vmap(lambda state, one: advance(state, one))(states, action), states

    deal_key, play_key = jax.random.split(key)
    states = jax.vmap(mjx.init)(jax.random.split(deal_key, 32))
    return jax.lax.scan(one_step, states, jax.random.split(play_key, 60))[1]


@jax.jit
def draw(key, states) -> tuple[Observation, mjx.State, Observation]:
    """What the deciding seats see, a state for each, and what is seen of that."""
    seen = jax.vmap(lambda state: mjx.observe(state, state.current_player))(states)
    keys = jax.random.split(key, len(states.terminated))
    drawn = jax.vmap(lambda one, view: determinize(one, view))(keys, seen)
    return seen, drawn, jax.vmap(lambda state: mjx.observe(state, jnp.int32(0)))(drawn)


def test_the_observer_sees_no_difference(decisions):
    seen, drawn, again = draw(jax.random.key(1), decisions)
    chex.assert_trees_all_equal(again, seen)
    for name in ("head", "tail", "num_discards", "pending"):
        assert (getattr(drawn, name) == getattr(decisions, name)).all(), name


def test_the_state_is_one_of_play(decisions):
    """Every tile is somewhere once, hands have their sizes, waits are those of the hands."""
    _, drawn, _ = draw(jax.random.key(2), decisions)
    chex.assert_trees_all_equal_shapes_and_dtypes(drawn, jax.tree.map(jnp.asarray, decisions))
    seats = (decisions.current_player[:, None] + np.arange(4)) % 4
    hands = np.asarray(packed.to_counts(drawn.hands.to_array())).astype(int)
    true = np.asarray(packed.to_counts(decisions.hands.to_array())).astype(int)
    rows = np.arange(NUM)[:, None]
    assert (hands.sum(axis=2) == true[rows, seats].sum(axis=2)).all()
    wall = np.asarray(drawn.wall)
    assert (np.sort(wall, axis=1) == np.repeat(np.arange(34), 4)).all()
    for i in range(NUM):
        left, truly_left = (
            np.bincount(np.asarray(s.wall)[i, int(s.head[i]) : int(s.tail[i]) + 1], minlength=34)
            for s in (drawn, decisions)
        )
        assert (left + hands[i].sum(axis=0) == truly_left + true[i].sum(axis=0)).all()
    ours = [np.asarray(jnp.stack(row, axis=1)) for row in drawn.waits.rows]
    theirs = np.asarray(decisions.waits.to_array())
    own_turn = (decisions.queue == 0) & (decisions.drawn >= 0)
    asked = decisions.queue != 0
    is_at_rest = own_turn | asked
    assert (ours[0] == theirs[np.arange(NUM), decisions.current_player])[is_at_rest].all()


def test_questions_to_come_fit_the_hands(decisions):
    """A pass is followed by a later question or the next draw, never by one to the same wins."""
    _, drawn, _ = draw(jax.random.key(3), decisions)
    asked = np.asarray(drawn.queue) != 0
    assert (np.asarray(drawn.queue)[asked] & -np.asarray(drawn.queue)[asked].astype(int) > 0).all()
    passed = jax.jit(jax.vmap(lambda state: advance(state, jnp.int32(mjx.actions.PASS))))(
        jax.tree.map(lambda x: x[asked], drawn)
    )
    before, after = np.asarray(drawn.queue)[asked], np.asarray(passed.queue)
    assert (after == before & (before - 1)).all() and (after > 0).any()
    mask = np.asarray(jax.vmap(lambda state: state.legal_action_mask)(passed))
    assert mask.any(axis=1).all()


def test_nothing_hidden_is_used(decisions):
    """Other hidden tiles, locks and questions behind the same observation give the same state."""
    other = scrambled(decisions, decisions.current_player)
    assert (other.wall != decisions.wall).any(axis=1).all()
    _, drawn, _ = draw(jax.random.key(4), decisions)
    _, again, _ = draw(jax.random.key(4), jax.tree.map(jnp.asarray, other))
    chex.assert_trees_all_equal(drawn, again)


def test_every_deal_is_as_likely(decisions):
    """Of the copies of one kind among the unseen tiles, as many go to each place as it is large.

    Chi-square over draws of one observation: where the first unseen tile's kind lies in the next
    seat's hand (a hypergeometric count), and which kind is drawn next.
    """
    place = int(np.argmax((decisions.queue == 0) & (decisions.num_discards > 20)))
    one = jax.tree.map(lambda x: jnp.asarray(x[place]), decisions)
    seen = jax.jit(mjx.observe)(one, one.current_player)
    same = jax.tree.map(lambda x: np.repeat(x[place][None], NUM, axis=0), decisions)
    drawn = [draw(key, same)[1] for key in jax.random.split(jax.random.key(5), 20)]
    drawn = jax.tree.map(lambda *parts: np.concatenate(parts), *drawn)
    num = 20 * NUM
    unseen = np.asarray(seen.unseen).astype(int)
    kind, size = int(unseen.argmax()), int(seen.num_concealed[1])
    held = drawn.hands.rows[1][kind // 9] >> 3 * (kind % 9) & 7
    law = stats.hypergeom(unseen.sum(), unseen[kind], size)
    expected = law.pmf(np.arange(unseen[kind] + 1)) * num
    assert stats.chisquare(np.bincount(held, minlength=len(expected)), expected).pvalue > 1e-3
    first = np.asarray(drawn.wall)[:, int(one.head)]
    counts = np.bincount(first, minlength=34)
    assert (counts[unseen == 0] == 0).all()
    share = unseen[unseen > 0] / unseen.sum()
    assert stats.chisquare(counts[unseen > 0], share * num).pvalue > 1e-3


@pytest.mark.parametrize(
    "field, value",
    [("n_flowers", 8), ("wall_mode", "stable_draw"), ("multi_ron", True), ("diting", 4)],
)
def test_rules_that_hide_more_are_refused(field, value):
    seen = jax.eval_shape(lambda key: mjx.observe(mjx.init(key), 0), jax.random.key(0))
    with pytest.raises(ValueError, match=f"Rules.{field}="):
        jax.eval_shape(
            lambda key: determinize(key, seen, Rules(**{field: value})), jax.random.key(0)
        )


def test_a_decision_of_another_seat_is_refused():
    seen = jax.eval_shape(lambda key: mjx.observe(mjx.init(key), 0), jax.random.key(0))
    seen = seen.replace(current_player=jnp.int32(1))
    with pytest.raises(ValueError, match="Only the seat that decides"):
        determinize(jax.random.key(1), seen)


@pytest.mark.slow
def test_a_match_goes_on_with_its_scores():
    rules = Rules(hand_mode="match", reserve_per_kong=1)
    scores = jnp.arange(4, dtype=jnp.int32)
    state = mjx.init(jax.random.key(0), rules, dealer=2, first_dealer=1, scores=scores)
    seen = mjx.observe(state, 2, rules)
    again = mjx.observe(determinize(jax.random.key(1), seen, rules), 0, rules)
    chex.assert_trees_all_equal(again, seen)
