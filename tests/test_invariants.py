"""What holds of every state, however it was reached; and how walls are shuffled."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import mjx
from mjx import state as st
from mjx.rollout import nth_legal
from mjx.rules import DEFAULT
from tests import fuzz, invariants, lockstep, recording
from tests.oracle import house_rules
from tests.oracle.walls import random_wall

OF_OPTIONS = [house_rules.name_of(house_rules.COVER[name]) for name in ("claims", "other flowers")]
simulate_steps = jax.jit(
    lambda key, state: jax.lax.scan(one_random_step, state, jax.random.split(key, 110))[1]
)


def one_random_step(state, key):
    """Plays a random legal action in each of 256 lanes, and keeps what was reached."""
    bits = jax.random.bits(key, (256,))
    action = jax.vmap(nth_legal)(bits, state.legal)
    state = jax.vmap(mjx.step)(state, action)
    return state, state


@pytest.fixture(scope="module", params=["random", "recorded"])
def states(request):
    """States [N, B] of random play on random walls, or of players who win, kong and rob."""
    if request.param == "recorded":
        hands = [recording.record(seed) for seed in [*range(25), *range(7, 257, 10)]]
        return fuzz.replay(hands)["state"]
    deal = jax.jit(jax.vmap(lambda key, dealer: mjx.init(key, DEFAULT, dealer)))
    first = deal(jax.random.split(jax.random.key(0), 256), np.arange(256, dtype=np.int32) % 4)
    return jax.device_get(simulate_steps(jax.random.key(1), first))


def counts_in(hands):
    """Unpacks words by seat and suit into counts [..., 4, 34]."""
    words = np.stack([np.stack(row, axis=-1) for row in hands.rows], axis=-2)
    digits = words[..., None] >> (3 * np.arange(9)) & 7
    flat = digits.reshape(*digits.shape[:-2], 36)
    assert not flat[..., 34:].any()
    return flat[..., :34].astype(int)


def test_tiles_are_conserved(states):
    """Hands, melds, discards that lie, wall, and a tile about to be robbed: four of each kind."""
    hands, chows, sets = (counts_in(h) for h in (states.hands, states.chows, states.sets))
    kongs = (sets == st.KONG) | (sets == st.CONCEALED_KONG)
    assert np.isin(sets, (0, st.PONG, st.KONG, st.CONCEALED_KONG)).all()
    assert (chows[..., :27].reshape(*chows.shape[:-1], 3, 9)[..., 7:] == 0).all()
    assert not chows[..., 27:].any()
    melds = sum(np.roll(chows, by, axis=-1) for by in range(3)) + 3 * (sets == st.PONG) + 4 * kongs
    kinds = np.arange(34)
    history = states.history.astype(int)
    lies = np.arange(st.MAX_DISCARDS) < states.num_discards[..., None]
    lies &= history & st.HISTORY_CLAIMED == 0
    thrown = np.where(lies, history & st.HISTORY_KIND, -1)
    total = (hands + melds).sum(axis=-2) + (thrown[..., None] == kinds).sum(axis=-2)
    places = np.arange(136)
    in_wall = (places >= states.head[..., None]) & (places <= states.tail[..., None])
    total += (np.where(in_wall, states.wall, -1)[..., None] == kinds).sum(axis=-2)
    robbed = states.robbing | (states.ending == st.ROBBED_KONG)
    total += (np.where(robbed, states.pending, -1)[..., None] == kinds).astype(int)
    assert (total == 4).all()
    assert (hands + melds).max() <= 4


def test_hands_have_their_size(states):
    hands, chows, sets = (counts_in(h) for h in (states.hands, states.chows, states.sets))
    num_melds = chows.sum(axis=-1) + (sets > 0).sum(axis=-1)
    assert num_melds.max() <= 5 and num_melds.min() >= 0
    words = [np.stack([np.stack(r, axis=-1) for r in h.rows], axis=-2)
             for h in (states.chows, states.sets)]  # fmt: skip
    assert (np.asarray(st.num_melds(*words)) == num_melds).all()
    more = hands.sum(axis=-1) + 3 * num_melds - 16
    assert np.isin(more, (0, 1)).all()
    # One tile more is held by the seat whose turn it is, and by nobody while others are asked.
    running = ~states.terminated
    on_turn = running & (states.queue == 0)
    turn = np.arange(4) == states.current_player[..., None]
    assert (more[on_turn] == turn[on_turn]).all()
    assert not more[running & (states.queue != 0)].any()


def test_something_is_legal_until_the_end(states):
    mask = np.asarray(states.legal_action_mask)
    assert mask.any(axis=-1).all()
    assert mask[states.terminated].all() and not mask[~states.terminated].all(axis=-1).any()


def test_wall_is_never_overdrawn(states):
    assert (np.asarray(st.drawable(states, DEFAULT)) >= 0).all()
    assert (states.head >= 65).all() and (states.tail <= 135).all()
    assert (states.num_discards <= st.MAX_DISCARDS).all()
    drawn = states.ending == st.DRAWN
    assert drawn.any() and (np.asarray(st.drawable(states, DEFAULT))[drawn] == 0).all()


def test_payments_sum_to_zero_and_come_once(states):
    assert (states.rewards.sum(axis=-1) == 0).all()
    before = np.concatenate([np.zeros_like(states.terminated[:1]), states.terminated[:-1]])
    ends = states.terminated & ~before
    assert not states.rewards[~ends].any()
    won = ends & (states.winner >= 0)
    assert won.any() and (states.rewards[won].max(axis=-1) >= DEFAULT.base).all()
    rewards, winners = states.rewards[won], states.winner[won]
    assert (rewards.argmax(axis=-1) == winners).all()


def test_hands_end_and_stay_ended(states):
    ended = states.terminated
    assert ended[-1].all() and (ended[1:] >= ended[:-1]).all()
    assert ((states.ending == st.RUNNING) == ~ended).all()
    assert (states.ending != st.ILLEGAL).all()
    won = np.isin(states.ending, (st.SELF_DRAW, st.ON_DISCARD, st.ROBBED_KONG))
    assert (won == (states.winner >= 0)).all()


def test_state_is_small():
    one = jax.eval_shape(mjx.init, jax.random.key(0))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(one)) < 1000


def test_state_holds_no_weak_types_and_no_key():
    """A weakly typed field would compile the step twice; a key would show the future."""
    one = jax.eval_shape(mjx.init, jax.random.key(0))
    for leaf in jax.tree.leaves(one):
        assert not leaf.weak_type
        assert not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def test_init_plain_jit_and_vmap_agree():
    init = jax.jit(chex.assert_max_traces(lambda key: mjx.init(key, DEFAULT, 1, 2, 3), n=1))
    batch = jax.vmap(lambda key: mjx.init(key, DEFAULT, 1, 2, 3))(
        jax.vmap(jax.random.key)(jnp.arange(2))
    )
    for seed in range(2):
        plain = mjx.init(jax.random.key(seed), DEFAULT, 1, 2, 3)
        one = jax.tree.map(lambda x, i=seed: x[i], batch)
        chex.assert_trees_all_equal(plain, init(jax.random.key(seed)), one)
        from_wall = lockstep.deal_jit(np.asarray(plain.wall), DEFAULT, 1, 2, 3)
        chex.assert_trees_all_equal(plain, from_wall)
    assert (np.asarray(batch.wall[0]) != np.asarray(batch.wall[1])).any()


def test_auto_reset_plain_jit_and_vmap_agree():
    reset = mjx.auto_reset_step
    state = lockstep.deal_jit(np.array(random_wall(0), np.int8), DEFAULT, 0, 0, 0)
    action = int(np.flatnonzero(state.legal_action_mask)[0])
    plain = reset(jax.random.key(0), state, action)
    jitted = jax.jit(lambda k, s, a: reset(k, s, a))(jax.random.key(0), state, jnp.int32(action))
    batch = jax.jit(jax.vmap(lambda k, s, a: reset(k, s, a), in_axes=(0, None, None)))(
        jax.vmap(jax.random.key)(jnp.zeros(2, jnp.int32)), state, jnp.int32(action)
    )
    chex.assert_trees_all_equal(plain, jitted, jax.tree.map(lambda x: x[1], batch))


@pytest.fixture(scope="module")
def walls():
    """Shuffles 20,000 walls."""
    shuffle = jax.jit(jax.vmap(st.shuffle))
    return np.asarray(shuffle(jax.random.split(jax.random.key(0), 20_000)))


def test_walls_hold_all_tiles(walls):
    assert walls.dtype == np.int8 and walls.shape == (20_000, 136)
    assert (np.sort(walls, axis=1) == np.repeat(np.arange(34), 4)).all()


def test_each_kind_is_equally_likely_at_each_place(walls):
    seen = (walls[:, :, None] == np.arange(34)).sum(axis=0)  # [place, kind]
    values = stats.chisquare(seen, axis=1).pvalue
    assert values.min() > 0.001 / 136
    # The values themselves are spread evenly, places being nearly independent.
    assert stats.kstest(values, "uniform").pvalue > 0.001


@pytest.mark.parametrize("gap", [1, 2, 68, 135])
def test_places_do_not_depend_on_each_other(walls, gap):
    """Two places hold the same kind with chance 3 in 135, whatever lies between them."""
    for place in range(0, 136 - gap, 27):
        same = int((walls[:, place] == walls[:, place + gap]).sum())
        assert stats.binomtest(same, len(walls), 3 / 135).pvalue > 0.001 / 20


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", *OF_OPTIONS])
def test_random_hands_keep_every_invariant(text):
    """The same as `python -m tests.invariants`, which goes on with a million hands."""
    rules = mjx.rules.parse(text)
    totals = invariants.run(1024, 0, rules)
    assert totals["hands"] == 1024 and 0 < totals["most discards"] <= rules.max_discards


# Each breaks a state in a way that one check has to notice.
BROKEN = {
    "each kind is four times in hands, melds, discards and wall": lambda s: s.replace(
        wall=s.wall, tail=s.tail - 1
    ),
    "a hand has its size": lambda s: s.replace(hands=s.hands.plus(jnp.int32(0), jnp.uint32(1))),
    "one seat acts and something is legal": lambda s: s.replace(legal=(jnp.uint32(0),) * 5),
    "the mask holds what the words hold": lambda s: s.replace(
        legal=(s.legal[0] | jnp.uint32(1 << 31), *s.legal[1:])
    ),
    "legal discards are held": lambda s: s.replace(legal=(jnp.uint32(0o111111111), *s.legal[1:])),
    "no more is drawn than may be": lambda s: s.replace(head=s.head + 60),
    "waits are those of the hand": lambda s: s.replace(
        waits=s.waits.map(lambda seat, suit, word: word ^ jnp.uint32(1))
    ),
    "discards stay as they are": lambda s: s.replace(num_discards=s.num_discards - 1),
    "discards fit into the history": lambda s: s.replace(history=s.history.at[60].set(5)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_violation_is_noticed(name):
    """A check that cannot fail would pass every hand."""
    state = lockstep.deal_jit(np.array(random_wall(0), np.int8), DEFAULT, 0, 0, 0)
    before = invariants._tiles_before(state.wall)
    discard = int(np.flatnonzero(state.legal_action_mask)[0])
    after = lockstep.step_jit(state, discard, DEFAULT)
    check = jax.jit(functools.partial(invariants.violations, rules=DEFAULT))
    assert not check(state, after, before).any()
    violated = np.asarray(check(after, BROKEN[name](after), before))
    assert violated[invariants.CHECKS.index(name)]


def test_every_legal_action_goes_to_text_and_back(states):
    """Ten thousand states of the recorded and the random hands, each with all its actions."""
    masks = np.asarray(states.legal_action_mask)[~np.asarray(states.terminated)]
    assert len(masks) >= 1000
    for mask in masks[:10_000]:
        for action in np.flatnonzero(mask):
            text = mjx.actions.to_text(int(action))
            assert mjx.actions.from_text(text) == action
            assert text.startswith(("discard ", "concealed_kong ", "added_kong ")) == (action < 102)
