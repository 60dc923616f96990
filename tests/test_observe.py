"""What a seat sees: all that is on the table, and nothing of what is hidden.

`tests/fuzz.py` compares every field with the reference at every decision; here it is shown that
nothing hidden leaks into it.
"""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import packed
from mjx import state as st
from mjx.rules import Rules
from mjx.seats import SeatHands
from tests import fuzz, recording

observe_all = jax.jit(jax.vmap(lambda state, seat: mjx.observe(state, seat)))
NUM = 1200
FIELDS = {field.name for field in dataclasses.fields(mjx.Observation)}


@pytest.fixture(scope="module")
def midgame():
    """Decisions of 50 hands, own turns, questions and robberies among them: leading axis [NUM]."""
    hands = [recording.record(seed) for seed in [*range(25), *range(7, 257, 10)]]
    states = fuzz.replay(hands)["state"]
    running = np.argwhere(~states.terminated)
    rng = np.random.default_rng(0)
    robbing = np.argwhere(states.robbing)
    chosen = np.concatenate([robbing, rng.permutation(running)])[:NUM]
    states = jax.tree.map(lambda x: x[chosen[:, 0], chosen[:, 1]], states)
    own_turn = states.queue == 0
    assert states.robbing.sum() >= 5 and 200 < own_turn.sum() < NUM - 200
    assert (states.drawn[own_turn] >= 0).sum() > 100 and (states.drawn[own_turn] < 0).sum() > 20
    assert (states.locked > 0).sum() > 20
    return states


def test_every_field_is_compared_with_the_reference():
    assert set(fuzz.expected_view(recording.record(0), 0)) == FIELDS


def scrambled(states, seats):
    """Exchanges at random all that a seat cannot know, and nothing else.

    The others' tiles and the wall change places; what follows from hands (who waits for what, who
    may not win, whose question comes next, what another just drew and may do) is made up.
    """
    rng = np.random.default_rng(1)
    num = len(seats)
    hands = np.asarray(packed.to_counts(states.hands.to_array())).copy()
    wall, waits = states.wall.copy(), rng.integers(0, 512, (num, 4, 4)).astype(np.uint32)
    kinds = np.arange(34)
    for i, seat in enumerate(seats):
        others = [s for s in range(4) if s != seat]
        head, tail = states.head[i], states.tail[i]
        tiles_of = (np.repeat(kinds, hands[i, s]) for s in others)
        pile = np.concatenate([wall[i, head : tail + 1], *tiles_of])
        rng.shuffle(pile)
        for other in others:
            size = hands[i, other].sum()
            hands[i, other] = np.bincount(pile[:size], minlength=34)
            pile = pile[size:]
        wall[i, head : tail + 1] = pile
        for drawn in (slice(None, head), slice(tail + 1, None)):  # whose these were is hidden
            wall[i, drawn] = rng.permutation(wall[i, drawn])
    is_ours = states.current_player == seats
    is_asked = states.queue != 0
    stranger = (seats + rng.integers(1, 4, num)) % 4
    random_words = [rng.integers(0, 2**32, num).astype(np.uint32) for _ in range(5)]
    rows = SeatHands.from_array
    return states.replace(
        wall=wall,
        hands=jax.vmap(rows)(np.asarray(packed.from_counts(hands))),
        waits=jax.vmap(rows)(waits),
        locked=(states.locked & (1 << seats).astype(np.uint32))
        | (rng.integers(0, 16, num) & ~(1 << seats)).astype(np.uint32),
        queue=np.where(is_asked, rng.integers(1, 32, num), 0).astype(np.uint32),
        current_player=np.where(is_asked & ~is_ours, stranger, states.current_player).astype(
            np.int32
        ),
        drawn=np.where(is_ours, states.drawn, rng.integers(-1, 34, num)).astype(np.int32),
        replacement=np.where(is_ours, states.replacement, rng.integers(0, 3, num)).astype(np.int32),
        legal=tuple(
            np.where(is_ours, old, new) for old, new in zip(states.legal, random_words, strict=True)
        ),
    )


@pytest.mark.parametrize("place", range(4))
def test_nothing_hidden_is_seen(midgame, place):
    """By the seat that decides, in turn or asked or asked to rob, and by those after it."""
    seats = (midgame.current_player + place) % 4
    other = scrambled(midgame, seats)
    differs = np.asarray(other.hands.to_array() != midgame.hands.to_array()).any(axis=2)
    assert differs.sum(axis=1).min() >= 2 and not differs[np.arange(NUM), seats].any()
    assert (other.wall != midgame.wall).any(axis=1).all()
    chex.assert_trees_all_equal(observe_all(midgame, seats), observe_all(other, seats))


def test_scrambling_touches_every_hidden_field(midgame):
    """What is left as it was is public; a new field of the state has to be sorted in."""
    public = {
        *("terminated", "rewards", "head", "tail", "chows", "sets", "history", "num_discards"),
        *("pending", "actor", "robbing", "dealer", "round_wind", "streak", "ending", "winner"),
    }
    other = scrambled(midgame, np.zeros(NUM, np.int32))
    for field in dataclasses.fields(mjx.State):
        pair = [jax.tree.leaves(getattr(state, field.name)) for state in (midgame, other)]
        if not pair[0]:
            continue  # what only other rules need
        is_same = all((np.asarray(a) == np.asarray(b)).all() for a, b in zip(*pair, strict=True))
        assert is_same == (field.name in public), field.name


@pytest.mark.parametrize(
    "changed, seen",
    [
        ({"round_wind": 1}, {"round_wind"}),
        ({"dealer": 1}, {"dealer", "seat_wind"}),
        ({"streak": 1}, {"streak"}),
        ({"head": 1}, {"drawable"}),
        ({"locked": 0b1111}, {"locked"}),
    ],
    ids=lambda value: "-".join(sorted(value)),
)
def test_what_should_be_seen_is_seen(midgame, changed, seen):
    """And by itself: no other field follows."""
    seats = np.arange(NUM, dtype=np.int32) % 4
    ((name, by),) = changed.items()
    old = getattr(midgame, name)
    new = old ^ np.uint32(by) if name == "locked" else old + by
    if name in ("round_wind", "dealer"):
        new = new % 4
    before = observe_all(midgame, seats)
    after = observe_all(midgame.replace(**{name: new.astype(old.dtype)}), seats)
    for field in FIELDS:
        is_same = np.asarray(getattr(before, field) == getattr(after, field)).reshape(NUM, -1)
        assert is_same.all(axis=1).all() == (field not in seen)
        assert not (field in seen and is_same.all(axis=1).any()), field


def test_own_tiles_are_seen(midgame):
    """A tile exchanged between own hand and wall shows in the hand and in what is unseen."""
    seats = midgame.current_player
    hands = np.asarray(packed.to_counts(midgame.hands.to_array()))
    own = hands[np.arange(NUM), seats]
    gone, come = own.argmax(axis=1), (own == 0).argmax(axis=1)
    change = np.eye(34, dtype=np.int8)[come] - np.eye(34, dtype=np.int8)[gone]
    hands = hands.copy()
    hands[np.arange(NUM), seats] += change
    words = jax.vmap(SeatHands.from_array)(packed.from_counts(hands))
    before, after = (observe_all(s, seats) for s in (midgame, midgame.replace(hands=words)))
    assert (np.asarray(after.hand - before.hand) == change).all()
    assert (np.asarray(before.unseen - after.unseen) == change).all()


def test_shapes_and_types(midgame):
    one = jax.tree.map(lambda x: x[0], midgame)
    view = jax.eval_shape(mjx.observe, one, jnp.int32(0))
    flags = [
        "drawn",
        "pending",
        "pending_seat",
        "current_player",
        "replacement",
        "drawable",
        "seat_wind",
    ]
    expected = dict.fromkeys([*flags, "round_wind", "dealer", "streak"], ((), "int32"))
    expected |= dict.fromkeys(("robbing", "locked"), ((), "bool"))
    expected |= dict.fromkeys(("hand", "unseen"), ((34,), "int8"))
    expected |= dict.fromkeys(("chows", "discards"), ((4, 34), "int8"))
    expected |= dict.fromkeys(("pongs", "kongs", "concealed_kongs"), ((4, 34), "bool"))
    expected |= dict.fromkeys(("history_kind", "history_seat"), ((st.MAX_DISCARDS,), "int8"))
    expected |= dict.fromkeys(("history_drawn", "history_claimed"), ((st.MAX_DISCARDS,), "bool"))
    expected |= {"num_concealed": ((4,), "int32"), "legal_action_mask": ((110,), "bool")}
    got = {name: (getattr(view, name).shape, str(getattr(view, name).dtype)) for name in FIELDS}
    assert got == expected


def test_plain_jit_and_vmap_agree(midgame):
    jitted = jax.jit(chex.assert_max_traces(lambda s, seat: mjx.observe(s, seat), n=1))
    seats = np.arange(NUM, dtype=np.int32) % 4
    batch = observe_all(midgame, seats)
    for place in (0, NUM - 1):
        one = jax.tree.map(lambda x, i=place: jnp.asarray(x[i]), midgame)
        expected = jax.tree.map(lambda x, i=place: x[i], batch)
        seat = jnp.int32(seats[place])
        chex.assert_trees_all_equal(mjx.observe(one, seat), jitted(one, seat), expected)


def test_rules_say_how_many_tiles_may_be_drawn(midgame):
    one = jax.tree.map(lambda x: jnp.asarray(x[0]), midgame)
    seen = [int(mjx.observe(one, jnp.int32(0), Rules(reserve=r)).drawable) for r in (0, 16, 20)]
    assert seen[0] - 16 == seen[1] == seen[2] + 4
