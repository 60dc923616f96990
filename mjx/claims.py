"""Who is asked next about a discard or an added kong, and what they may answer.

A queue is a `uint32` of questions, asked from the lowest bit: bits 0-2, the wins in turn order
from the actor; bit 3, the one seat that can pong or kong; bit 4, the next seat's chows. P = 4
seats, S = 4 suits.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, packed

Array = jax.Array

NUM_SEATS = 4
WIN_QUESTIONS, PONG_QUESTION, CHOW_QUESTION = 0b111, 0b1000, 0b10000
_CHOWS = actions.call_bit(actions.CHOW_LOW) * 0b111
_seats = np.arange(NUM_SEATS)


def win_questions(waits: Array, locked: Array, actor: Array, kind: Array) -> Array:
    """Queues the seats that may win on a kind: uint32[].

    Args:
      waits: uint32[P, S] kind sets.
      locked: bool[P] seats that may not win.
      actor: int32[] who discarded or konged it.
      kind: int32[].
    """
    may_win = packed.is_in(waits, jnp.broadcast_to(kind, (NUM_SEATS,))) & ~locked
    return _sum_bits(may_win, (_seats - actor - 1) % NUM_SEATS, below=3)


def call_questions(hands: Array, actor: Array, kind: Array, num_drawable: Array) -> Array:
    """Queues the seats that may pong, kong or chow a discard: uint32[].

    Nothing may be called once the wall is empty.
    """
    words = words_of_kind(hands, kind)
    others = _seats != actor
    pong = jnp.any((packed.count_in(words, kind) >= 2) & others)
    chow = chow_bits(_pick(words, (actor + 1) % NUM_SEATS), kind) > 0
    queue = jnp.where(pong, np.uint32(PONG_QUESTION), np.uint32(0)) | jnp.where(
        chow, np.uint32(CHOW_QUESTION), np.uint32(0)
    )
    return jnp.where(num_drawable > 0, queue, np.uint32(0))


def asked_seat(queue: Array, hands: Array, actor: Array, kind: Array) -> Array:
    """Returns the seat that the lowest question goes to: int32[]; meaningless for an empty queue."""
    lowest = queue & (~queue + 1)
    winner = (actor + 1 + jax.lax.population_count(lowest - 1).astype(jnp.int32)) % NUM_SEATS
    held = packed.count_in(words_of_kind(hands, kind), kind)
    ponger = jnp.sum(jnp.where((held >= 2) & (_seats != actor), _seats, 0), dtype=jnp.int32)
    is_win, is_pong = lowest <= WIN_QUESTIONS, lowest == PONG_QUESTION
    return jnp.where(is_win, winner, jnp.where(is_pong, ponger, (actor + 1) % NUM_SEATS))


def answers(queue: Array, word: Array, kind: Array, num_drawable: Array) -> Array:
    """Lists the calls with which the lowest question may be answered: uint32[] of call bits.

    Args:
      queue: uint32[] questions.
      word: uint32[] the asked seat's tiles in the suit of the kind.
      kind: int32[] the tile in question.
      num_drawable: int32[] tiles that may still be drawn; a kong needs one.
    """
    lowest = queue & (~queue + 1)
    kong = jnp.where(
        (packed.count_in(word, kind) >= 3) & (num_drawable > 0),
        np.uint32(actions.call_bit(actions.OPEN_KONG)),
        np.uint32(0),
    )
    calls = jnp.where(
        lowest <= WIN_QUESTIONS,
        np.uint32(actions.call_bit(actions.WIN)),
        jnp.where(
            lowest == PONG_QUESTION,
            np.uint32(actions.call_bit(actions.PONG)) | kong,
            chow_bits(word, kind),
        ),
    )
    return calls | np.uint32(actions.call_bit(actions.PASS))


def chow_bits(word: Array, kind: Array) -> Array:
    """Lists the chows a suit's word can make with a kind: uint32[] of call bits; none of honours."""
    # The ranks two below to two above the kind, moved to the bottom of the word.
    near = (packed.at_least(word, 1) << (2 * packed.BITS)) >> _shift(kind)
    below_2, below_1, above_1, above_2 = (near >> (packed.BITS * i) for i in (0, 1, 3, 4))
    low, middle, high = above_1 & above_2, below_1 & above_1, below_2 & below_1
    bits = (low & 1) | ((middle & 1) << 1) | ((high & 1) << 2)
    return jnp.where(packed.suit_of(kind) < 3, bits, np.uint32(0))


def words_of_kind(hands: Array, kind: Array) -> Array:
    """Picks each hand's word in the suit of a kind: uint32[P]."""
    return packed.word_of(hands, packed.suit_of(kind))


def _shift(kind: Array) -> Array:
    """Returns the bit of a kind in its word: uint32."""
    return (packed.BITS * (kind % packed.RANKS)).astype(jnp.uint32)


def _pick(per_seat: Array, seat: Array) -> Array:
    """Picks one seat's entry of uint32[P]."""
    return jnp.sum(jnp.where(_seats == seat, per_seat, np.uint32(0)), dtype=jnp.uint32)


def _sum_bits(flags: Array, places: Array, below: int) -> Array:
    """Sets bit places[i] for each flag whose place is below a bound: uint32[]."""
    bits = jnp.uint32(1) << places.astype(jnp.uint32)
    return jnp.sum(jnp.where(flags & (places < below), bits, np.uint32(0)), dtype=jnp.uint32)
