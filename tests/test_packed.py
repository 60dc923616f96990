"""Packed words against plain arrays of counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjx import packed
from mjx.seats import SeatHands, place_of

RNG = np.random.default_rng(0)
KINDS = np.arange(34, dtype=np.int32)
# Hands of any size: none, full, and counts drawn evenly and sparsely.
COUNTS = np.concatenate(
    [
        np.zeros((1, 34), np.int8),
        np.full((1, 34), 4, np.int8),
        RNG.integers(0, 5, (300, 34), dtype=np.int8),
        RNG.integers(0, 5, (300, 34), dtype=np.int8) * (RNG.random((300, 34)) < 0.2),
    ]
)
HANDS = np.asarray(packed.from_counts(COUNTS))
MARKS = RNG.random((600, 34)) < 0.4


def by_suit(rows):
    """Spreads [N, 34] over [N, 4, 9], with no ranks 7 and 8 of honours."""
    padded = np.zeros((len(rows), 36), rows.dtype)
    padded[:, :34] = rows
    return padded.reshape(len(rows), 4, 9)


def as_words(rows):
    """Sums digits [N, 4, 9] by the definition of a word: rank r counts 8 to the power of r."""
    return (rows.astype(np.int64) * 8 ** np.arange(9)).sum(axis=2)


def as_masks(rows):
    """Sums marks [N, 4, 9] into masks of nine bits."""
    return (rows.astype(np.int64) * 2 ** np.arange(9)).sum(axis=2)


def test_hands_are_laid_out_as_documented():
    assert HANDS.dtype == np.uint32 and HANDS.shape == (len(COUNTS), 4)
    assert (HANDS == as_words(by_suit(COUNTS))).all()


def test_counts_come_back():
    back = packed.to_counts(HANDS)
    assert back.dtype == jnp.int8 and (np.asarray(back) == COUNTS).all()
    one = packed.from_counts(jnp.asarray(COUNTS[5], jnp.int32))
    assert one.shape == (4,) and (packed.to_counts(one) == COUNTS[5]).all()


def test_one_tile():
    for kind in range(34):
        word = packed.in_suit(packed.suit_of(kind), packed.tile(jnp.int32(kind)))
        assert (np.asarray(packed.to_counts(word)) == np.eye(34, dtype=int)[kind]).all()


def test_adding_and_taking_tiles_is_arithmetic_of_words():
    more = np.minimum(COUNTS, 4 - np.roll(COUNTS, 1, axis=0))
    other = np.roll(COUNTS, 1, axis=0)
    both = packed.from_counts(more) + packed.from_counts(other)
    assert (np.asarray(packed.to_counts(both)) == more + other).all()
    assert (np.asarray(packed.to_counts(both - packed.from_counts(more))) == other).all()


def test_word_of_picks_a_suit():
    for suit in range(4):
        assert (packed.word_of(HANDS[7], jnp.int32(suit)) == HANDS[7, suit]).all()


def test_count_in_and_at_least():
    words = HANDS[:, KINDS // 9]
    assert (np.asarray(packed.count_in(words, np.tile(KINDS, (len(words), 1)))) == COUNTS).all()
    for n in (1, 2, 3, 4):
        marks = np.asarray(packed.at_least(HANDS, n))
        assert (marks == as_words(by_suit(COUNTS) >= n)).all()
        held = packed.mark_in(marks[:, KINDS // 9], np.tile(KINDS, (len(words), 1)))
        assert (np.asarray(held) == (COUNTS >= n)).all()


def test_ranks_of_closes_the_gaps():
    marks = as_words(by_suit(MARKS)).astype(np.uint32)
    assert (np.asarray(packed.ranks_of(marks)) == as_masks(by_suit(MARKS))).all()


def test_kind_sets():
    sets = as_masks(by_suit(MARKS)).astype(np.uint32)
    assert (np.asarray(packed.kinds_to_bools(sets)) == MARKS).all()
    is_in = jax.vmap(jax.vmap(packed.is_in, in_axes=(None, 0)), in_axes=(0, None))
    assert (np.asarray(is_in(tuple(sets.T), KINDS)) == MARKS).all()
    full = (jnp.uint32(0x1FF),) * 4
    assert not bool(packed.is_in(full, jnp.int32(-1)))


def test_code_is_the_number_in_base_5():
    expected = (by_suit(COUNTS).astype(np.int64) * 5 ** np.arange(9)).sum(axis=2)
    codes = packed.code(HANDS)
    assert codes.dtype == jnp.int32 and (np.asarray(codes) == expected).all()


def test_num_tiles():
    assert (np.asarray(packed.num_tiles(HANDS)) == by_suit(COUNTS).sum(axis=2)).all()


def test_choose_is_zero_out_of_range():
    words = [jnp.uint32(n) for n in (7, 8, 9)]
    assert [int(packed.choose(jnp.int32(i), words)) for i in (-1, 0, 1, 2, 3)] == [0, 7, 8, 9, 0]


def test_along_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="roadcast"):
        packed.along(np.arange(5), np.zeros((2, 4)))


def test_hands_by_seat():
    table = HANDS[10:14]
    hands = SeatHands.from_array(jnp.asarray(table))
    assert (np.asarray(hands.to_array()) == table).all()
    other = tuple(jnp.asarray(HANDS[20]))
    for seat in range(4):
        assert list(hands.row(jnp.int32(seat))) == list(table[seat])
        assert list(hands.column(jnp.int32(seat))) == list(table[:, seat])
        put = np.asarray(hands.with_row(jnp.int32(seat), other).to_array())
        expected = table.copy()
        expected[seat] = HANDS[20]
        assert (put == expected).all()
        for suit in range(4):
            place = place_of(jnp.int32(seat), jnp.int32(suit))
            expected = table.copy()
            expected[seat, suit] += 8
            more = hands.plus(place, jnp.uint32(8))
            assert (np.asarray(more.to_array()) == expected).all()
            less = more.plus(place, ~jnp.uint32(8) + 1)
            assert (np.asarray(less.to_array()) == table).all()
