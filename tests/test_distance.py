"""Deficiency and accepting kinds, after every discard and draw, against the plain reference."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjx import distance, packed, tables
from tests.oracle import hand as oracle

_AT_REST = jax.jit(jax.vmap(distance.at_rest))
_AFTER_DISCARDS = jax.jit(jax.vmap(distance.after_discards))
_DEFICIENCY = jax.jit(jax.vmap(distance.deficiency))


def _counts(seed, number, tiles):
    """Draws hands; every third from two suits, so that deficiencies vary."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((number, 34), np.int32)
    for row in range(number):
        wall = np.repeat(np.arange(18 if row % 3 == 0 else 34), 4)
        np.add.at(counts[row], rng.permutation(wall)[:tiles], 1)
    return counts


def _pack(counts):
    return jax.vmap(packed.from_counts)(jnp.asarray(counts))


def _oracle_rest(counts, num_melds):
    """Deficiency, and the kinds that lower it."""
    now = oracle.deficiency(counts, num_melds)
    lower = []
    for kind in range(34):
        more = counts.copy()
        more[kind] += 1
        lower.append(more[kind] <= 4 and oracle.deficiency(more, num_melds) < now)
    return now, lower


@pytest.mark.parametrize("num_melds", range(6))
def test_at_rest(num_melds):
    counts = _counts(num_melds, 24, 16 - 3 * num_melds)
    melds = jnp.full(24, num_melds, jnp.int32)
    found = _AT_REST(_pack(counts), melds)
    plain = _DEFICIENCY(_pack(counts), melds)
    for row in range(24):
        now, lower = _oracle_rest(counts[row], num_melds)
        assert found.deficiency[row] == plain[row] == now
        assert found.accepting[row].tolist() == lower


@pytest.mark.parametrize("num_melds", range(6))
def test_after_discards(num_melds):
    counts = _counts(10 + num_melds, 4, 17 - 3 * num_melds)
    melds = jnp.full(4, num_melds, jnp.int32)
    found = _AFTER_DISCARDS(_pack(counts), melds)
    for row in range(4):
        for kind in range(34):
            if not counts[row, kind]:
                assert found.deficiency[row, kind] == distance.FAR
                assert not found.accepting[row, kind].any()
                continue
            rest = counts[row].copy()
            rest[kind] -= 1
            now, lower = _oracle_rest(rest, num_melds)
            assert found.deficiency[row, kind] == now
            assert found.accepting[row, kind].tolist() == lower


def test_deficiency_of_many_hands_matches_the_reference():
    for num_melds in range(6):
        counts = _counts(20 + num_melds, 400, 17 - 3 * num_melds)
        found = _DEFICIENCY(_pack(counts), jnp.full(400, num_melds, jnp.int32))
        expected = [oracle.deficiency(tuple(row), num_melds) for row in counts.tolist()]
        np.testing.assert_array_equal(found, expected)


def test_count_is_the_sum():
    hand = _pack(_counts(30, 500, 16))
    weights = jnp.asarray(np.random.default_rng(0).integers(0, 9, (500, 34)), jnp.int32)
    melds = jnp.zeros(500, jnp.int32)
    now, total = jax.jit(jax.vmap(distance.count_accepting))(hand, melds, weights)
    rest = _AT_REST(hand, melds)
    np.testing.assert_array_equal(now, rest.deficiency)
    np.testing.assert_array_equal(total, jnp.sum(jnp.where(rest.accepting, weights, 0), axis=-1))


def test_joins_are_closed():
    joins = tables.joins()
    size = len(joins.pair)
    assert joins.pair.max() < size < 2**16
    np.testing.assert_array_equal(joins.pair, joins.pair.T)
    assert joins.lacks.shape == (6, size, size)


def test_plain_jit_vmap_agree_and_compile_once():
    hand = _pack(_counts(40, 3, 17))
    one = distance.after_discards(hand[0], jnp.int32(0))
    jitted = jax.jit(chex.assert_max_traces(distance.after_discards, n=1))
    chex.assert_trees_all_equal(one, jitted(hand[0], jnp.int32(0)))
    jitted(hand[1], jnp.int32(1))
    many = jax.jit(jax.vmap(distance.after_discards, (0, None)))(hand, jnp.int32(0))
    chex.assert_trees_all_equal(one, jax.tree.map(lambda x: x[0], many))
