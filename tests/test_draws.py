"""Hands grown by draws together are the hands grown one by one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from mjx import distance, draws, packed, tables

_REST = {1: 16, 2: 15}  # tiles of a hand without melds that has yet to draw as many


@functools.cache
def _count_accepting():
    return jax.jit(jax.vmap(distance.count_accepting))


def _rests(rng, num_draws, number=48):
    """Deals rests of 0 to 5 melds; some out of few kinds, to hold three and four."""
    num_melds = np.arange(number) % 6
    counts = np.zeros((number, 34), int)
    for row, melds in enumerate(num_melds):
        kinds = [np.arange(34), np.arange(18), rng.choice(34, 5, replace=False)][row // 6 % 3]
        tiles = rng.permutation(np.repeat(kinds, 4))[: max(_REST[num_draws] - 3 * melds, 0)]
        np.add.at(counts[row], tiles, 1)
    return counts, num_melds


def _check(num_draws, grow, drawn):
    """Compares rests grown by the draws int[D,34] with the same hands one by one."""
    rng = np.random.default_rng(num_draws)
    counts, num_melds = _rests(rng, num_draws)
    weights = rng.integers(0, 1500, (num_draws + 1, 34, len(counts)))
    words = jax.vmap(packed.from_counts)
    found = jax.jit(grow)(
        words(jnp.asarray(counts)), jnp.asarray(num_melds, jnp.int32), weights.astype(np.uint16)
    )
    hands = counts[None] + drawn[:, None]  # [D,N,34]
    exists = (hands <= 4).all(axis=-1)
    draw, lane = np.nonzero(exists)
    assert set(num_melds[lane]) == set(range(6))
    assert {3, 4} <= set(hands[draw, lane].max(axis=-1).tolist())
    by_kind = weights[drawn[draw], np.arange(34)[None], lane[:, None]]
    deficiency, accepted = _count_accepting()(
        words(jnp.asarray(hands[draw, lane])),
        jnp.asarray(num_melds[lane], jnp.int32),
        jnp.asarray(by_kind, jnp.int32),
    )
    np.testing.assert_array_equal(np.asarray(found.deficiency)[draw, lane], deficiency)
    np.testing.assert_array_equal(np.asarray(found.accepted)[draw, lane], accepted)


def test_no_draw_is_each_hand_alone():
    counts, num_melds = _rests(np.random.default_rng(0), 1)
    rest, melds = jax.vmap(packed.from_counts)(jnp.asarray(counts)), jnp.asarray(num_melds)
    found = jax.jit(draws.none)(rest, melds.astype(jnp.int32))
    alone = jax.jit(jax.vmap(distance.at_rest))(rest, melds.astype(jnp.int32))
    assert {3, 4} <= set(counts.max(axis=-1).tolist())
    np.testing.assert_array_equal(found.deficiency, alone.deficiency)
    np.testing.assert_array_equal(found.accepting.T, alone.accepting)


def test_one_draw_is_each_hand_alone():
    _check(1, draws.one, np.eye(34, dtype=int))


def test_two_draws_are_each_hand_alone():
    unit = np.eye(34, dtype=int)
    _check(2, draws.two, unit[draws.FIRST] + unit[draws.SECOND])


def test_pairs_of_draws():
    """Each unordered pair stands once, and is found in either order."""
    pairs = {tuple(sorted(pair)) for pair in zip(draws.FIRST, draws.SECOND, strict=True)}
    assert pairs == {(a, b) for a in range(34) for b in range(a, 34)}
    assert len(draws.FIRST) == draws.NUM_PAIRS == len(pairs)
    for a in range(34):
        for b in range(34):
            place = draws.PLACE[a, b]
            assert {draws.FIRST[place], draws.SECOND[place]} == {a, b}


def test_add_up():
    rng = np.random.default_rng(0)
    values = rng.integers(-500, 500, (draws.NUM_PAIRS, 7))
    weights = rng.integers(0, 5, (34, 7))
    found = draws.add_up(jnp.asarray(values, jnp.float32), jnp.asarray(weights, jnp.float32))
    expected = [sum(values[draws.PLACE[a, b]] * weights[b] for b in range(34)) for a in range(34)]
    np.testing.assert_array_equal(found, expected)


def _lacks(suit, rest, melds):
    """Counts the tiles missing for each way to share out: by what the suit makes."""
    ways = {}
    for sets in range(6 - melds):
        others = 5 - melds - sets
        ways[sets] = int(suit[sets]) + int(rest[6 + others])  # the rest makes the pair
        ways[6 + sets] = int(suit[6 + sets]) + int(rest[others])
    return ways


def test_steps_say_what_is_best_and_what_a_tile_lowers():
    rng = np.random.default_rng(1)
    steps, missing, joins = tables.steps(), tables.missing(), tables.joins()
    helped = 0
    for _ in range(3000):
        ranks, offset = [(9, 0), (7, tables.HONOUR_OFFSET)][rng.integers(2)]
        counts = rng.integers(0, 5, ranks) * (rng.random(ranks) < 0.5)
        rank = int(rng.choice(np.nonzero(counts < 4)[0])) if (counts < 4).any() else -1
        if rank < 0:
            continue
        code = offset + sum(int(n) * 5**r for r, n in enumerate(counts))
        before, after = int(missing.key[code]), int(missing.key[code + 5**rank])
        rest, melds = int(rng.integers(len(joins.rows))), int(rng.integers(6))
        lacks = _lacks(missing.rows[before], joins.rows[rest], melds)
        least = min(lacks.values())
        best = {way for way in range(12) if steps.best[melds, before, rest] >> way & 1}
        assert best == {way for way, tiles in lacks.items() if tiles == least}
        then = min(_lacks(missing.rows[after], joins.rows[rest], melds).values())
        assert then in (least, least - 1)
        meets = steps.best[melds, before, rest] & steps.lower[before, after]
        assert (meets > 0) == (then < least)
        helped += then < least
    assert 200 < helped < 2800
