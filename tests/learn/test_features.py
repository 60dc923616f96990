"""Views and network inputs of hand-made hands, and what a decision may and must depend on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.learn import features, networks
from agents.learn.config import NetworkConfig
from mjx import actions, tiles
from mjx.distance import deficiency
from mjx.observe import observe
from mjx.packed import from_counts
from mjx.step import init_from_wall, step

# The dealer's 16 tiles and the seventeenth: ready for 9s and E once it discards the lone 5p.
HAND = "123m456m789m678s99sEE"
LAST = "5p"
DISCARDED = (30, 29, 28)  # what seats 1-3 throw away: N, W, S


def _wall():
    """A wall that deals HAND to seat 0, then LAST; the rest in order."""
    own = list(tiles.parse_kinds(HAND))
    assert len(own) == 16
    rest = [kind for kind in range(34) for _ in range(4)]
    for kind in [*own, *tiles.parse_kinds(LAST)]:
        rest.remove(kind)
    wall = []
    for block in range(4):
        wall += own[4 * block : 4 * block + 4]
        for seat in range(1, 4):
            wall += rest[12 * block + 4 * (seat - 1) : 12 * block + 4 * seat]
    return np.array(wall + list(tiles.parse_kinds(LAST)) + rest[48:], np.int8)


@jax.jit
def _deal(wall):
    return init_from_wall(wall, round_wind=2, streak=3)


@pytest.fixture(scope="module")
def state():
    return _deal(_wall())


@pytest.fixture(scope="module")
def view(state):
    return jax.jit(lambda state: features.view_of(observe(state, jnp.int32(0))))(state)


def test_the_hand_of_a_view(view):
    counts = np.array(tiles.parse(HAND + LAST))
    np.testing.assert_array_equal(view.hand.counts, counts)
    lacking = jax.jit(lambda counts: deficiency(from_counts(counts), jnp.int32(0)))
    five_dots = tiles.parse_kinds(LAST)[0]
    assert int(view.hand.missing[five_dots]) == 1  # ready
    nine, east = tiles.parse_kinds("9s")[0], tiles.EAST
    # It waits for 9s and E, two of each unseen.
    assert int(view.hand.accepting[five_dots]) == 4
    for kind in range(34):
        if not counts[kind]:
            assert int(view.hand.missing[kind]) == features.FAR
            assert int(view.hand.accepting[kind]) == 0
            continue
        left = counts.copy()
        left[kind] -= 1
        now = int(lacking(left))
        assert int(view.hand.missing[kind]) == now
        accepting = 0
        for draw in range(34):
            if left[draw] < 4:
                then = left.copy()
                then[draw] += 1
                nearer = int(lacking(then)) < now
                accepting += nearer * (4 - counts[draw])
        assert int(view.hand.accepting[kind]) == accepting
    assert counts[nine] == counts[east] == 2
    whole = view.hand.whole  # held twice, both could be claimed by a pong
    assert (int(whole.deficiency), int(whole.accepted), int(whole.paired)) == (1, 4, 4)
    assert (int(view.hand.turn), int(view.hand.drawable)) == (0, 136 - 65 - 16)
    assert not bool(view.hand.locked)


def test_the_table_of_a_view(view):
    np.testing.assert_array_equal(view.table.unseen, 4 - np.array(tiles.parse(HAND + LAST)))
    assert int(view.table.seat_wind) == 0 and int(view.table.round_wind) == 2
    assert int(view.table.dealer) == 0 and int(view.table.streak) == 3
    assert not np.asarray(view.table.melds).any() and not np.asarray(view.table.discards).any()


def test_discards_and_melds_come_by_seat(state):
    five_dots = tiles.parse_kinds(LAST)[0]
    act = jax.jit(step)
    after = act(state, jnp.int32(five_dots))
    # Whoever is asked passes, until seat 1 has drawn and discards.
    while int(after.pending) >= 0:
        after = act(after, jnp.int32(actions.PASS))
    assert int(after.current_player) == 1
    # To seat 3, seat 0 is the next to play: row 1.
    seen = jax.jit(lambda state: features.table_of(observe(state, jnp.int32(3))))(after)
    discards = np.zeros((4, 34), np.int8)
    discards[1, five_dots] = 1
    np.testing.assert_array_equal(seen.discards, discards)
    assert int(seen.seat_wind) == 3 and int(seen.dealer) == 1


def test_the_papers_input(view):
    row = np.asarray(features.paper_input(view))
    assert row.shape == (361,) and row.dtype == np.float32
    rows = 4 * row[:340].reshape(10, 34)
    counts = np.array(tiles.parse(HAND + LAST))
    np.testing.assert_array_equal(rows[0], counts)
    assert not rows[1:9].any()
    np.testing.assert_array_equal(rows[9], 4 - counts)
    np.testing.assert_allclose(row[340:342], [0, 55 / 56], rtol=1e-6)
    assert not row[342:].any()


def test_neighbours_stay_in_their_suit():
    values = jnp.arange(1, 35, dtype=jnp.int32)
    below_2, below_1, above_1, above_2 = map(np.asarray, features.neighbours(values))
    for kind in range(34):
        for offset, row in ((-2, below_2), (-1, below_1), (1, above_1), (2, above_2)):
            other = kind + offset
            inside = kind < 27 and 0 <= other < 27 and other // 9 == kind // 9
            assert row[kind] == (other + 1 if inside else 0)


@pytest.mark.parametrize("kind", ["small", "two_part", "resnet"])
def test_what_a_network_depends_on(kind, state):
    network = networks.make(NetworkConfig(kind=kind, width=8, context=8))
    params = jax.jit(network.init)(jax.random.key(0))

    @jax.jit
    def q(state, locked):
        seen = observe(state, jnp.int32(0))
        return network.apply(params, features.view_of(seen.replace(locked=locked)))

    no, yes = jnp.bool_(False), jnp.bool_(True)
    base = np.asarray(q(state, no))  # one compilation serves all that follow
    assert base.shape == (34,) and np.isfinite(base).all() and len(set(base.tolist())) > 20
    # The tiles that seat 0 cannot see may lie anywhere.
    wall = np.array(state.wall)
    hidden = np.r_[4:16, 20:32, 36:48, 52:64, 65:136]
    wall[hidden] = np.random.default_rng(0).permutation(wall[hidden])
    other = _deal(wall)
    np.testing.assert_array_equal(q(other, no), base)
    if kind != "resnet":  # the paper's input has no room for these
        for changed in (
            state.replace(round_wind=jnp.int32(1)),
            state.replace(dealer=jnp.int32(2)),
            state.replace(streak=jnp.int32(0)),
        ):
            assert np.abs(np.asarray(q(changed, no)) - base).max() > 1e-5
        assert np.abs(np.asarray(q(state, yes)) - base).max() > 1e-5
    assert q._cache_size() == 1


def test_a_batch_is_its_rows(state, view):
    network = networks.make(NetworkConfig())
    params = jax.jit(network.init)(jax.random.key(0))
    # Four rows: where the rows of a product fill whole vectors, each is rounded the same way.
    batch = jax.tree.map(lambda x: jnp.stack([x, jnp.zeros_like(x), x, x]), view)
    many = jax.jit(jax.vmap(network.apply, (None, 0)))(params, batch)
    np.testing.assert_allclose(many[0], network.apply(params, view), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(many[0], many[2])
    np.testing.assert_array_equal(many[0], many[3])


def test_the_resnet_has_twenty_layers():
    network = networks.make(NetworkConfig(kind="resnet"))
    params = jax.eval_shape(network.init, jax.random.key(0))["params"]
    shapes = [leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(params)]
    convolutions = [shape for shape in shapes if len(shape) == 4 and shape[:2] == (3, 3)]
    dense = [shape for shape in shapes if len(shape) == 2]
    assert len(convolutions) + len(dense) == 20
    assert sorted({shape[-1] for shape in convolutions}) == [16, 32, 64] and dense == [(64, 34)]
