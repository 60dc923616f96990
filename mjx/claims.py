"""Who is asked next about a discard or an added kong, and what they may answer.

A queue is a `uint32` of questions, asked from the lowest bit: bits 0-3, who is ready and may
declare it, in turn order from the actor, itself last; bits 4-6, the wins in turn order from the
actor; bit 7, the one seat that can pong or kong; bit 8, the next seat's chows. P = 4 seats;
`words` are the seats' tiles in the suit of the kind in question. `ready` is None where the rules
know no declaration.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, packed
from mjx.rules import Rules
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


def call_questions(
    words: Words,
    actor: Array,
    kind: Array,
    num_drawable: Array,
    hands: SeatHands,
    ready: Array | None,
    rules: Rules,
) -> Array:
    """Queues the seats that may pong, kong or chow a discard: uint32[].

    Nothing may be called once the wall is empty, or earlier where the rules say so. Who may pong
    always keeps a tile to discard; a chow must leave one that is not barred.

    Args:
      words: the seats' tiles in the suit of the kind.
      actor: int32[] who discarded.
      kind: int32[] what.
      num_drawable: int32[] tiles that may still be drawn.
      hands: all concealed tiles.
      ready: uint32[] as `State.ready`: these seats call nothing.
      rules: the options.
    """
    next_seat = _next(actor)
    pong = ponger(words, actor, kind, ready) >= 0
    chows = chow_bits(packed.choose(next_seat, words), kind)
    if rules.swap_calling != "none":
        chows &= chows_with_discard(hands.row(next_seat), kind, rules)
    chow = chows > 0
    if ready is not None:
        chow &= ~is_declared(ready, next_seat)
    queue = jnp.where(pong, np.uint32(PONG_QUESTION), _NOTHING)
    queue = queue | jnp.where(chow, np.uint32(CHOW_QUESTION), _NOTHING)
    return jnp.where(num_drawable > rules.tail_no_calls, queue, _NOTHING)


def asked_seat(
    queue: Array, words: Words, actor: Array, kind: Array, ready: Array | None = None
) -> Array:
    """Returns the seat of the lowest question: int32[]; meaningless for an empty queue."""
    lowest = lowest_question(queue)
    place = (lowest >> (_FIRST_WIN + 1)).astype(jnp.int32)  # 0, 1, 2 for the three wins
    if ready is not None:
        # Bits 0-3 stand for the same places as 4-7, the last of which is no win.
        place = (jax.lax.population_count(lowest - 1) % NUM_SEATS).astype(jnp.int32)
    to_win = (actor + 1 + place) % NUM_SEATS
    to_call = jnp.where(lowest == PONG_QUESTION, ponger(words, actor, kind, ready), _next(actor))
    return jnp.where(lowest <= WIN_QUESTIONS, to_win, to_call)


def answers(queue: Array, own: Words, kind: Array, can_kong: Array, rules: Rules) -> Array:
    """Lists the calls with which the lowest question may be answered: uint32[] of call bits.

    Args:
      queue: uint32[] questions.
      own: the asked seat's concealed tiles, four words.
      kind: int32[] the tile in question.
      can_kong: bool[] whether a kong finds a tile to draw, and nothing else forbids it.
      rules: the options.
    """
    lowest = lowest_question(queue)
    word = packed.choose(packed.suit_of(kind), own)
    may_kong = (packed.count_in(word, kind) >= 3) & can_kong
    kong = jnp.where(may_kong, np.uint32(actions.call_bit(actions.OPEN_KONG)), _NOTHING)
    pong = np.uint32(actions.call_bit(actions.PONG)) | kong
    win = np.uint32(actions.call_bit(actions.WIN))
    chows = chow_bits(word, kind)
    if rules.swap_calling != "none":
        chows &= chows_with_discard(own, kind, rules)
    calls = jnp.where(lowest == PONG_QUESTION, pong, chows)
    calls = jnp.where(lowest <= WIN_QUESTIONS, win, calls)
    if rules.asks_ready:
        declare = np.uint32(actions.call_bit(actions.DECLARE_READY))
        calls = jnp.where(lowest <= READY_QUESTIONS, declare, calls)
    return calls | np.uint32(actions.call_bit(actions.PASS))


def lowest_question(queue: Array) -> Array:
    """Returns the question to be asked now, its bit alone: uint32[]."""
    return queue & (~queue + 1)


def ponger(words: Words, actor: Array, kind: Array, ready: Array | None = None) -> Array:
    """Returns the one seat that may pong a kind another threw, or -1: int32[]."""
    found = jnp.int32(-1)
    for seat, word in enumerate(words):
        can_pong = (packed.count_in(word, kind) >= 2) & (actor != seat)
        if ready is not None:
            can_pong &= ~is_declared(ready, jnp.int32(seat))
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


def chows_with_discard(own: Words, kind: Array, rules: Rules) -> Array:
    """Lists the chows after which a tile may be discarded: uint32[] of call bits.

    Args:
      own: the next seat's concealed tiles, four words.
      kind: int32[] the discard.
      rules: the options.
    """
    word = packed.choose(packed.suit_of(kind), own)
    num_tiles = sum(packed.num_tiles(tiles) for tiles in own)
    bits = jnp.uint32(0)
    for action in (actions.CHOW_LOW, actions.CHOW_MIDDLE, actions.CHOW_HIGH):
        # The two tiles that go into the run are never barred.
        barred = barred_kinds(jnp.int32(action), kind, rules)
        held = [jnp.where(k < 0, _NOTHING, packed.count_in(word, k)) for k in barred]
        leaves = num_tiles - 2 > (held[0] + held[1]).astype(jnp.int32)
        bits = bits | jnp.where(leaves, np.uint32(actions.call_bit(action)), _NOTHING)
    return bits


def barred_kinds(action: Array, kind: Array, rules: Rules) -> tuple[Array, Array]:
    """Finds what may not be discarded right after a chow or pong (食替): two int32[], -1 for none.

    Args:
      action: int32[] any action.
      kind: int32[] the tile it takes.
      rules: the options; `same` bars the kind of a chow, `same_and_suji` that of a pong too, and
        the other end of a run that the claimed tile ends.
    """
    is_low, is_high = action == actions.CHOW_LOW, action == actions.CHOW_HIGH
    is_barred = is_low | (action == actions.CHOW_MIDDLE) | is_high
    beyond = jnp.full_like(kind, -1)
    if rules.swap_calling == "same_and_suji":
        is_barred |= action == actions.PONG
        rank = kind % packed.RANKS
        beyond = jnp.where(is_low & (rank <= 5), kind + 3, beyond)
        beyond = jnp.where(is_high & (rank >= 3), kind - 3, beyond)
    return jnp.where(is_barred, kind, -1), beyond


def is_declared(ready: Array | None, seat: Array) -> Array:
    """Tells whether seats have declared themselves ready, from `State.ready`: bool as `seat`."""
    if ready is None:
        return jnp.zeros(seat.shape, bool)
    return (ready | ready >> NUM_SEATS) >> seat.astype(jnp.uint32) & 1 > 0


def _next(seat: Array) -> Array:
    """Returns the seat whose turn follows."""
    return (seat + 1) % NUM_SEATS
