"""The hand-made value in its short forms is what it says of discards one by one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from agents.search import handmade
from agents.search.value import Position
from mjx import draws, packed
from tests import decisions

_UNIT = np.eye(34, dtype=int)


@functools.cache
def _program(name):
    value = handmade.value()
    if name in ("one", "two", "back"):
        return jax.jit(getattr(value.after_draws, name))
    return jax.jit(jax.vmap(getattr(value, name), (None, 0, 0)))


def _one_by_one(name, contexts, positions):
    """Calls a function of one decision's positions on a position of each decision."""
    found = _program(name)(
        handmade.params(), contexts, jax.tree.map(lambda x: x[:, None], positions)
    )
    return np.asarray(found)[:, 0]


def _decisions(number):
    """Deals own turns: what is seen, contexts, tiles, concealed tiles int[N,34]."""
    rng = np.random.default_rng(3)
    cases = [decisions.sample(rng, i % 6, False, 6 + i) for i in range(number)]
    seen = decisions.batch(cases)
    contexts = jax.vmap(handmade.value().prepare, (None, 0))(handmade.params(), seen)
    return rng, seen, contexts, jax.vmap(options.own)(seen)


def _throw(rng, counts, number):
    """Throws tiles at random: int[34]."""
    tiles = rng.permutation(np.repeat(np.arange(34), counts))
    return counts - np.bincount(tiles[:number], minlength=34)


def _position(counts, tiles, lane, num_draws):
    """Gives concealed tiles int[N,34] the melds of lanes."""
    words = jax.vmap(packed.from_counts)(jnp.asarray(counts, jnp.int32))
    melds = (tiles.chows[lane], tiles.sets[lane], tiles.num_melds[lane])
    return Position(words, *melds, jnp.full(len(counts), num_draws, jnp.int32))


def _pick(contexts, lane):
    return jax.tree.map(lambda x: x[lane], contexts)


def test_best_is_the_best_discard():
    _, seen, contexts, tiles = _decisions(24)
    positions = Position(*tiles, jnp.zeros(24, jnp.int32))
    q = _one_by_one("q_values", contexts, positions)
    best = np.max(np.where(np.asarray(seen.hand) > 0, q, -np.inf), axis=1)
    np.testing.assert_array_equal(_one_by_one("best", contexts, positions), best)


def _check_grown(name, drawn):
    """Compares the hands grown by draws int[D,34] with the same hands by `best`."""
    rng, seen, contexts, tiles = _decisions(24)
    number = int(drawn[0].sum())
    counts, unseen = np.asarray(seen.hand, int), np.asarray(seen.unseen, int)
    lanes = np.nonzero(counts.sum(axis=1) >= number)[0]
    rests = np.stack([_throw(rng, counts[lane], number) for lane in lanes])
    found = _program(name)(
        handmade.params(), _pick(contexts, lanes), _position(rests, tiles, lanes, number)
    )
    assert np.isfinite(found).all()
    comes = (drawn[:, None] <= unseen[lanes][None]).all(axis=-1)
    draw, row = np.nonzero(comes)
    some = rng.permutation(len(draw))[:1024]  # one shape
    draw, row = np.resize(draw[some], 1024), np.resize(row[some], 1024)
    hands = _position(rests[row] + drawn[draw], tiles, lanes[row], number)
    best = _one_by_one("best", _pick(contexts, lanes[row]), hands)
    np.testing.assert_allclose(np.asarray(found)[draw, row], best, rtol=1e-5, atol=1e-2)


def test_one_draw_is_the_best_of_each_hand():
    _check_grown("one", _UNIT)


def test_two_draws_are_the_best_of_each_hand():
    _check_grown("two", _UNIT[draws.FIRST] + _UNIT[draws.SECOND])


def test_discards_are_ordered_as_by_q():
    """After a draw, `one` of what is left differs from Q by the same at all discards.

    Where the tile drawn is thrown again it is `back` that does, since it counts the tile as seen.
    """
    rng, seen, contexts, tiles = _decisions(24)
    counts, unseen = np.asarray(seen.hand, int), np.asarray(seen.unseen, int)
    lanes, nodes, drawn = [], [], []
    for lane in np.nonzero(counts.sum(axis=1) >= 5)[0]:
        rest = _throw(rng, counts[lane], 1)
        kinds = np.nonzero(unseen[lane])[0]
        own = [kind for kind in kinds if rest[kind]]  # a copy of which is held already
        for kind in {int(rng.choice(kinds)), int(rng.choice(own or kinds))}:
            lanes.append(lane), nodes.append(rest + _UNIT[kind]), drawn.append(kind)
    lanes, nodes, drawn = np.array(lanes), np.array(nodes), np.array(drawn)
    q = _one_by_one("q_values", _pick(contexts, lanes), _position(nodes, tiles, lanes, 1))
    node, thrown = np.nonzero(nodes - _UNIT[drawn])
    shorter = nodes[node] - _UNIT[drawn[node]] - _UNIT[thrown]
    one = _program("one")(
        handmade.params(),
        _pick(contexts, lanes[node]),
        _position(shorter, tiles, lanes[node], 1),
    )
    back = _program("back")(
        handmade.params(),
        _pick(contexts, lanes),
        _position(nodes - _UNIT[drawn], tiles, lanes, 1),
    )
    order = np.full(nodes.shape, np.nan)
    order[node, thrown] = np.asarray(one)[drawn[node], np.arange(len(node))]
    places = np.arange(len(nodes))
    order[places, drawn] = np.asarray(back)[drawn, places]
    again = nodes[places, drawn] > 1  # a copy of the tile drawn was held before
    assert again.any() and not again.all()
    held = nodes > 0
    assert (np.isfinite(order) == held).all()
    apart = np.where(held, q - order, np.nan)
    spread = np.nanmax(apart, axis=1) - np.nanmin(apart, axis=1)
    np.testing.assert_allclose(spread, 0, atol=2e-2)
