"""Hands in packed words: the only bit tricks of the game, under plain names.

The tiles of one suit are one `uint32` *word*: three bits a rank, rank 0 lowest, so that adding or
removing tiles is plain addition of words. A *hand* is `uint32[4]`: characters, dots, bamboo,
honours (ranks 0-6). A *mark* word has at most the lowest bit of each rank's three set; it says
which ranks have some property. A *kind set* is `uint32[4]` of nine-bit masks, bit = rank.

Every function takes words of any shape, elementwise, unless it says otherwise.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjx.tiles import NUM_KINDS, NUM_SUITS

Array = jax.Array

BITS = 3  # a rank's share of a word; counts are 0 to 4
RANKS = 9
MARKS = np.uint32(0o111111111)
_SUITS = np.arange(NUM_SUITS, dtype=np.int32)
_KIND_SUIT = np.arange(NUM_KINDS, dtype=np.int32) // RANKS
_KIND_SHIFT = (BITS * (np.arange(NUM_KINDS) % RANKS)).astype(np.uint32)


def along(row: np.ndarray, array: Array) -> Array:
    """Repeats a row [N] over the leading axes of an array [..., N].

    Operators would do so silently, which the tests refuse.
    """
    return jnp.broadcast_to(row, array.shape)


def suit_of(kind: Array) -> Array:
    """Returns the suit 0-3 of a kind."""
    return kind // RANKS


def shift_of(kind: Array) -> Array:
    """Returns the lowest bit of a kind in its word: uint32."""
    return (BITS * (kind % RANKS)).astype(jnp.uint32)


def tile(kind: Array) -> Array:
    """Returns the word with one tile of this kind in its own suit: uint32."""
    return jnp.uint32(1) << shift_of(kind)


def in_suit(suit: Array, word: Array) -> Array:
    """Spreads a word over a hand, zero in the other suits: uint32[4] for scalars."""
    return jnp.where(_SUITS == suit, word, jnp.uint32(0))


def word_of(hand: Array, suit: Array) -> Array:
    """Picks one suit's word of a hand uint32[4]."""
    return jnp.sum(in_suit(suit, hand), axis=-1, dtype=jnp.uint32)


def count_in(word: Array, kind: Array) -> Array:
    """Counts a kind in its suit's word: uint32, 0 to 7."""
    return (word >> shift_of(kind)) & 7


def at_least(word: Array, n: int) -> Array:
    """Marks the ranks held at least n times, n from 1 to 4."""
    low, middle, high = word, word >> 1, word >> 2
    held = {1: low | middle | high, 2: middle | high, 3: (low & middle) | high, 4: high}[n]
    return held & MARKS


def exactly(word: Array, n: int) -> Array:
    """Marks the ranks held exactly n times, n from 1 to 3."""
    return at_least(word, n) & ~at_least(word, n + 1)


def mark_in(marks: Array, kind: Array) -> Array:
    """Tells whether a suit's marks hold a kind: bool."""
    return ((marks >> shift_of(kind)) & 1) > 0


def choose(index: Array, words: Sequence[Array]) -> Array:
    """Picks one of a few separate words by index int32[]; zero for an index out of range."""
    picked = jnp.zeros_like(words[0])
    for i, word in enumerate(words):
        picked = jnp.where(index == i, word, picked)
    return picked


def is_in(kind_set: Sequence[Array], kind: Array) -> Array:
    """Tells whether the four words of a kind set hold a kind (false for `NONE`): bool."""
    return (choose(suit_of(kind), kind_set) >> (kind % RANKS).astype(jnp.uint32)) & 1 > 0


def ranks_of(marks: Array) -> Array:
    """Closes the gaps between the marks of a word: uint32 mask of nine bits, bit = rank."""
    marks = (marks | marks >> 2) & np.uint32(0o303030303)
    marks = (marks | marks >> 4) & np.uint32(0o300170017)
    marks = (marks | marks >> 8) & np.uint32(0o300000377)
    return (marks | marks >> 16) & np.uint32(0x1FF)


def code(word: Array) -> Array:
    """Returns the base-5 number whose digits are the nine counts: int32, an index of the tables.

    Digits are joined in pairs: a field of n bits holds low + 2^n high, and subtracting
    (2^n - 5^d) high leaves low + 5^d high.
    """
    word = word - 3 * ((word >> 3) & np.uint32(0o7070707))
    word = word - 39 * ((word >> 6) & np.uint32(0o770077))
    word = word - 3471 * ((word >> 12) & np.uint32(0o7777))
    # The ninth digit stands alone above bit 24.
    return ((word & np.uint32(0xFFFFFF)) + 390625 * (word >> 24)).astype(jnp.int32)


def from_counts(counts: Array) -> Array:
    """Packs counts int[34] of each kind into a hand uint32[4]."""
    counts = jnp.asarray(counts).astype(jnp.uint32)
    shifted = counts << along(_KIND_SHIFT, counts)
    parts = [
        jnp.sum(shifted[..., RANKS * s : RANKS * s + RANKS], axis=-1, dtype=jnp.uint32)
        for s in range(NUM_SUITS)
    ]
    return jnp.stack(parts, axis=-1)


def to_counts(hand: Array) -> Array:
    """Unpacks a hand uint32[..., 4] into counts int8[..., 34]."""
    words = hand[..., _KIND_SUIT]
    return ((words >> along(_KIND_SHIFT, words)) & 7).astype(jnp.int8)


def kinds_to_bools(kind_set: Array) -> Array:
    """Unpacks a kind set uint32[..., 4] into bool[..., 34]."""
    masks = kind_set[..., _KIND_SUIT]
    return (masks >> along(_KIND_SHIFT // BITS, masks)) & 1 > 0


def num_tiles(word: Array) -> Array:
    """Counts the tiles of a word: int32."""
    ones, twos, fours = (lax.population_count((word >> bit) & MARKS) for bit in range(BITS))
    return (ones + 2 * twos + 4 * fours).astype(jnp.int32)
