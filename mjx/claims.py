"""Who is asked next about a discard or an added kong, and what they may answer.

A queue is a `uint32` of questions, asked from the lowest bit: bits 0-3, who is ready and may
declare it, in turn order from the actor, itself last; bits 4-6, the wins in turn order from the
actor; bit 7, the one seat that can pong or kong; bit 8, the next seat's chows. P = 4 seats;
`words` are the seats' tiles in the suit of the kind in question.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, packed
from mjx.seats import NUM_SEATS, SeatHands, Words

Array = jax.Array

READY_QUESTIONS, WIN_QUESTIONS, PONG_QUESTION, CHOW_QUESTION = 0xF, 0x70, 0x80, 0x100
_FIRST_WIN = 4  # bit of the first win question
_NOTHING = np.uint32(0)


def win_questions(waits: SeatHands, locked: Array, actor: Array, kind: Array) -> Array:
    """Queues the seats that may win on a kind: uint32[].

    Args:
      waits: kind sets of the seats.
      locked: uint32[] seats that may not win, bit = seat.
      actor: int32[] who discarded or konged it.
      kind: int32[].
    """
    rank = (kind % packed.RANKS).astype(jnp.uint32)
    queue = jnp.uint32(0)
    for seat, kinds in enumerate(waits.column(packed.suit_of(kind))):
        may_win = (kinds >> rank) & ~(locked >> seat) & 1
        place = ((seat - 1 - actor) % NUM_SEATS).astype(jnp.uint32)
        queue = queue | (may_win << (place + _FIRST_WIN))
    return queue & np.uint32(WIN_QUESTIONS)  # place 3 is the actor


def call_questions(words: Words, actor: Array, kind: Array, num_drawable: Array) -> Array:
    """Queues the seats that may pong, kong or chow a discard: uint32[].

    Nothing may be called once the wall is empty.
    """
    pong = ponger(words, actor, kind) >= 0
    chow = chow_bits(packed.choose(_next(actor), words), kind) > 0
    queue = jnp.where(pong, np.uint32(PONG_QUESTION), _NOTHING)
    queue = queue | jnp.where(chow, np.uint32(CHOW_QUESTION), _NOTHING)
    return jnp.where(num_drawable > 0, queue, _NOTHING)


def asked_seat(queue: Array, words: Words, actor: Array, kind: Array) -> Array:
    """Returns the seat of the lowest question: int32[]; meaningless for an empty queue."""
    lowest = lowest_question(queue)
    place = (lowest >> (_FIRST_WIN + 1)).astype(jnp.int32)  # 0, 1, 2 for the three wins
    to_win = (actor + 1 + place) % NUM_SEATS
    to_call = jnp.where(lowest == PONG_QUESTION, ponger(words, actor, kind), _next(actor))
    return jnp.where(lowest <= WIN_QUESTIONS, to_win, to_call)


def answers(queue: Array, word: Array, kind: Array, may_kong: Array) -> Array:
    """Lists the calls with which the lowest question may be answered: uint32[] of call bits.

    Args:
      queue: uint32[] questions.
      word: uint32[] the asked seat's tiles in the suit of the kind.
      kind: int32[] the tile in question.
      may_kong: bool[] whether the wall has enough left for a kong of that seat.
    """
    lowest = lowest_question(queue)
    has_three = packed.count_in(word, kind) >= 3
    kong = jnp.where(has_three & may_kong, np.uint32(actions.call_bit(actions.OPEN_KONG)), _NOTHING)
    pong = np.uint32(actions.call_bit(actions.PONG)) | kong
    win = np.uint32(actions.call_bit(actions.WIN))
    calls = jnp.where(lowest == PONG_QUESTION, pong, chow_bits(word, kind))
    calls = jnp.where(lowest <= WIN_QUESTIONS, win, calls)
    return calls | np.uint32(actions.call_bit(actions.PASS))


def lowest_question(queue: Array) -> Array:
    """Returns the question to be asked now, its bit alone: uint32[]."""
    return queue & (~queue + 1)


def ponger(words: Words, actor: Array, kind: Array) -> Array:
    """Returns the one seat that holds two or more of a kind another threw, or -1: int32[]."""
    found = jnp.int32(-1)
    for seat, word in enumerate(words):
        can_pong = (packed.count_in(word, kind) >= 2) & (actor != seat)
        found = jnp.where(can_pong, seat, found)
    return found


def chow_bits(word: Array, kind: Array) -> Array:
    """Lists the chows a suit's word makes with a kind: uint32[] of call bits; none of honours."""
    # The ranks two below to two above the kind, moved to the bottom of the word.
    near = (packed.at_least(word, 1) << (2 * packed.BITS)) >> packed.shift_of(kind)
    below_2, below_1, above_1, above_2 = (near >> (packed.BITS * i) for i in (0, 1, 3, 4))
    low, middle, high = above_1 & above_2, below_1 & above_1, below_2 & below_1
    bits = (low & 1) | ((middle & 1) << 1) | ((high & 1) << 2)
    return jnp.where(packed.suit_of(kind) < 3, bits, _NOTHING)


def _next(seat: Array) -> Array:
    """Returns the seat whose turn follows."""
    return (seat + 1) % NUM_SEATS
