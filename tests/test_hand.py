"""Wins and waits: the case files, the tables and whole hands against the plain reference."""

import functools
import random

import chex
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from mjx import hand, packed, tables, tiles
from tests.oracle import hand as oracle
from tests.oracle.cases import counts_of, load, melds_of

is_win = jax.jit(jax.vmap(hand.is_win))
waits = jax.jit(jax.vmap(lambda h: packed.kinds_to_bools(hand.waits(h))))


def packed_rows(rows):
    """Packs lists of counts, filled up to a round number to keep the compiles few."""
    filled = np.zeros((-(-len(rows) // 512) * 512, 34), np.int8)
    filled[: len(rows)] = rows
    return packed.from_counts(filled)


def facts(kind):
    """Lists the facts that hold without an option."""
    found = [fact for fact in load("facts", kind) if not fact.get("options")]
    assert found
    return found


@pytest.mark.parametrize("fact", facts("wait"), ids=lambda fact: fact["id"])
def test_fact_about_a_wait(fact):
    found = waits(packed_rows([counts_of(fact)]))[0]
    assert [tiles.NAMES[kind] for kind in np.flatnonzero(found)] == sorted(
        fact["expected_waits"], key=tiles.NAMES.index
    )


@pytest.mark.parametrize("fact", facts("shape"), ids=lambda fact: fact["id"])
def test_fact_about_a_shape(fact):
    """A fact may hold the wrong number of tiles: the game never does, and counts them first."""
    counts = counts_of(fact)
    is_whole = sum(counts) == 17 - 3 * len(melds_of(fact))
    assert (is_whole and bool(is_win(packed_rows([counts]))[0])) == fact["expected_win"]


def random_hand(rng, num_groups, num_other=0):
    """Lays sets and a pair, then exchanges some tiles for any others."""
    while True:
        counts = [0] * 34
        for _ in range(num_groups):
            kind = rng.randrange(34)
            is_run = kind < 27 and kind % 9 < 7 and rng.random() < 0.6
            for tile in (kind, kind + 1, kind + 2) if is_run else (kind,) * 3:
                counts[tile] += 1
        counts[rng.randrange(34)] += 2
        for _ in range(num_other):
            counts[rng.choice([k for k in range(34) if counts[k]])] -= 1
            counts[rng.randrange(34)] += 1
        if max(counts) <= 4:
            return counts


def one_suit_hand(rng, num_tiles):
    """Draws tiles of one suit and the honours beside it, where splits are many."""
    pool = [kind for kind in (*range(9), 27, 28) for _ in range(4)]
    counts = [0] * 34
    for kind in rng.sample(pool, num_tiles):
        counts[kind] += 1
    return counts


def sample_hands():
    """Mixes whole hands, near misses and hands of one suit, with 0 to 5 melds laid down."""
    rng = random.Random(0)
    hands = []
    for _ in range(400):
        hands.append(random_hand(rng, rng.randrange(6), rng.choice((0, 0, 1, 2))))
    for _ in range(300):
        hands.append(one_suit_hand(rng, 3 * rng.randrange(1, 6) + 2))
    return hands


def test_win_is_that_of_the_reference():
    hands = sample_hands()
    expected = [oracle.is_win(counts, (17 - sum(counts)) // 3) for counts in hands]
    assert 100 < sum(expected) < len(hands) - 100
    assert list(np.asarray(is_win(packed_rows(hands)))[: len(hands)]) == expected


def test_waits_are_those_of_the_reference():
    """Of kinds held four times none; tiles in the own melds are told apart by the game."""
    rng = random.Random(1)
    hands = []
    for counts in sample_hands():
        counts[rng.choice([kind for kind in range(34) if counts[kind]])] -= 1
        hands.append(counts)
    found = np.asarray(waits(packed_rows(hands)))[: len(hands)]
    expected = [oracle.waits(counts, (16 - sum(counts)) // 3, [0] * 34) for counts in hands]
    assert sum(map(bool, expected)) > 200 and not all(expected)
    for counts, got, wanted in zip(hands, found, expected, strict=True):
        assert set(np.flatnonzero(got)) == wanted, counts


@pytest.mark.parametrize(
    "text, wanted",
    [
        # Shapes that are easily got wrong: all nine, a tile held four times, two readings.
        ("1112345678999m 789p", "123456789m"),
        ("1112334456667788m", None),
        ("1111m 23m 456p 789p EEEC", "C"),
        ("1112m 456p 789p 456s EEE", "23m"),
        ("2345p 123m 456m 789m EEE", "25p"),
        ("EEESSSWWWNNNCCFF", "CF"),
        ("1111m 222p 333p 444s 567s", ""),
        ("22223333m 44445555m", None),
    ],
)
def test_wait_of_a_known_shape(text, wanted):
    counts = tiles.parse(text)
    found = set(np.flatnonzero(waits(packed_rows([counts]))[0]))
    assert found == oracle.waits(counts, 0, [0] * 34)
    if wanted is not None:
        assert found == set(tiles.parse_kinds(wanted))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(some.randoms(use_true_random=False))
def test_waits_are_the_tiles_that_win(rng):
    counts = random_hand(rng, rng.randrange(6))
    counts[rng.choice([kind for kind in range(34) if counts[kind]])] -= 1
    more = np.array(counts) + np.eye(34, dtype=np.int8)
    fits = more.max(axis=1) <= 4
    won = np.asarray(is_win(packed_rows(np.minimum(more, 4))))[:34] & fits
    assert (np.asarray(waits(packed_rows([counts]))[0]) == won).all() and won.any()


def test_plain_jit_and_vmap_agree():
    rows = packed_rows(sample_hands())[:8]
    for function in (hand.is_win, hand.waits):
        jitted = jax.jit(chex.assert_max_traces(function, n=1))
        both = jax.jit(jax.vmap(function))(rows)
        for place in range(8):
            chex.assert_trees_all_equal(function(rows[place]), jitted(rows[place]), both[place])


def test_waits_of_words_are_waits():
    for row in packed_rows(sample_hands())[:4]:
        assert list(hand.waits_of_words(tuple(row))) == list(hand.waits(row))


# The table itself, against a recursion over the lowest tile of a suit.


@functools.cache
def complete_ranks(counts, with_pair, has_runs):
    """Tells whether counts of one suit are sets alone, or sets and a pair."""
    if not any(counts):
        return not with_pair
    low = next(rank for rank, count in enumerate(counts) if count)
    takes = [(low,) * 3]
    if has_runs and low + 2 < len(counts):
        takes.append((low, low + 1, low + 2))
    ways = [(take, with_pair) for take in takes] + ([((low,) * 2, False)] if with_pair else [])
    for take, needs_pair in ways:
        rest = list(counts)
        for rank in take:
            rest[rank] -= 1
        if min(rest) >= 0 and complete_ranks(tuple(rest), needs_pair, has_runs):
            return True
    return False


def entry_of(counts, has_runs):
    """Computes an entry of the table of wins by its definition."""
    entry = 0
    for with_pair, flag, first in (
        (False, tables.COMPLETE, tables.WAITS),
        (True, tables.COMPLETE_WITH_PAIR, tables.WAITS_WITH_PAIR),
    ):
        entry |= complete_ranks(counts, with_pair, has_runs) << flag
        for rank in range(len(counts)):
            if counts[rank] < 4:
                more = (*counts[:rank], counts[rank] + 1, *counts[rank + 1 :])
                entry |= complete_ranks(more, with_pair, has_runs) << (first + rank)
    return entry


@pytest.mark.parametrize("has_runs, ranks, offset", [(True, 9, 0), (False, 7, 5**9)])
def test_table_of_wins(has_runs, ranks, offset):
    """A sample that a hand can hold: at most 16 tiles, most of them close to complete."""
    rng = random.Random(ranks)
    seen = 0
    for _ in range(1500):
        counts = [0] * ranks
        for _ in range(rng.randrange(6)):
            rank = rng.randrange(ranks)
            is_run = has_runs and rank + 2 < ranks and rng.random() < 0.6
            for place in (rank, rank + 1, rank + 2) if is_run else (rank,) * 3:
                counts[place] += 1
        counts[rng.randrange(ranks)] += rng.choice((0, 1, 2))
        counts[rng.randrange(ranks)] -= rng.choice((0, 0, 1))
        if min(counts) < 0 or max(counts) > 4 or sum(counts) > 16:
            continue
        code = sum(count * 5**rank for rank, count in enumerate(counts))
        entry = int(tables.wins()[offset + code])
        assert entry == entry_of(tuple(counts), has_runs), counts
        seen += entry > 0
    assert seen > 300


def test_table_of_wins_has_its_size():
    table = tables.wins()
    assert table.shape == (5**9 + 5**7,) and table.dtype == np.uint32
    assert table is tables.wins()
    assert table[0] & 1 and table[0] >> 1 & 1 == 0  # nothing is complete without a pair


def test_ligu_is_seven_pairs_and_a_triplet():
    """Sixteen tiles near that shape: what completes them, and whether it does."""
    rng = random.Random(3)
    hands = []
    for _ in range(400):
        kinds = rng.sample(range(34), 8)
        counts = [0] * 34
        for kind, copies in zip(kinds, [3, *[2] * 7], strict=True):
            counts[kind] += copies
        for _ in range(rng.randrange(3)):  # a pair becomes the fourth tile and more of others
            taken, given = rng.choice(kinds), rng.choice(kinds)
            if counts[taken] >= 2 and counts[given] <= 2:
                counts[taken] -= 2
                counts[given] += 2
        counts[rng.choice([kind for kind in range(34) if counts[kind]])] -= 1
        hands.append(counts)
    found = jax.jit(jax.vmap(lambda h: packed.kinds_to_bools(hand.waits(h, ligu=True))))(
        packed_rows(hands)
    )
    wanted = [oracle.waits(counts, 0, [0] * 34, ligu=True) for counts in hands]
    assert [set(np.flatnonzero(row)) for row in np.asarray(found)[: len(hands)]] == wanted
    assert sum(map(bool, wanted)) > 200 and sum(len(kinds) > 2 for kinds in wanted) > 20
    whole = [[n + (kind == extra) for kind, n in enumerate(counts)] for counts in hands
             for extra in rng.sample([k for k in range(34) if counts[k] < 4], 3)]  # fmt: skip
    whole += [
        [n + (kind == max(waits)) for kind, n in enumerate(counts)]
        for counts, waits in zip(hands, wanted, strict=True)
        if waits
    ]
    found = jax.jit(jax.vmap(lambda h: hand.is_win(h, ligu=True)))(packed_rows(whole))
    expected = [oracle.is_win(counts, 0, ligu=True) for counts in whole]
    assert list(np.asarray(found)[: len(whole)]) == expected
    assert 200 < sum(expected) < len(expected)
