"""Which moves are legal: as bits, as a mask, as a list, one by itself, one at random.

W = 864 words of 32 bits, id = 32 word + bit; A = moves; R = ranks; K = places of a list.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from doudizhu import tables
from doudizhu.cards import NUM_RANKS
from doudizhu.moves import NUM_MOVES, PASS, all_moves
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import State, hand_of
from doudizhu.tables import BITS, NUM_WORDS
from mjx import chance
from mjx.stage import stage

Array = jax.Array

# No hand of 20 cards was found that may lead more than 519 moves; counted lists tell if one did.
MAX_LEGAL = 640
_NONE, _ALL = np.uint32(0), np.uint32(0xFFFFFFFF)
_BLOCKS = 27  # of 32 words each, to find a word in two short steps


def legal_words(state: State, rules: Rules = DEFAULT) -> Array:
    """Lists the legal moves of the player whose turn it is as bits.

    Args:
      state: one game.
      rules: the table's rules.

    Returns:
      uint32[W]; the pass alone once the game is over.
    """
    words = words_of(hand_of(state), state.to_beat, rules)
    return words & jnp.where(state.terminated, _ONLY_PASS, _ALL)


def legal_action_mask(state: State, rules: Rules = DEFAULT) -> Array:
    """Marks the legal moves of the player whose turn it is: bool[A], as `legal_words`."""
    return unpack(legal_words(state, rules))


def legal_list(
    state: State, rules: Rules = DEFAULT, length: int = MAX_LEGAL
) -> tuple[Array, Array]:
    """Lists the ids of the legal moves in ascending order.

    Args:
      state: one game.
      rules: the table's rules.
      length: K, places of the list; `MAX_LEGAL` holds all moves of every hand known.

    Returns:
      int32[K] ids, -1 where there are no more, and int32[] the number of legal moves. More than
      K means that the list was too short for some.
    """
    return list_words(stage(lambda s: legal_words(s, rules), state), length)


def list_words(words: Array, length: int = MAX_LEGAL) -> tuple[Array, Array]:
    """Lists the moves in words uint32[W]: int32[K] ids and int32[], as `legal_list`."""
    upto = jnp.cumsum(lax.population_count(words).astype(jnp.int32))
    places = jnp.arange(length, dtype=jnp.int32)
    word = jnp.minimum(jnp.searchsorted(upto, places, side="right"), NUM_WORDS - 1)
    before = jnp.where(word > 0, upto[word - 1], 0)
    ids = BITS * word + jax.vmap(chance.nth_bit)(words[word], places - before)
    return jnp.where(places < upto[-1], ids, -1).astype(jnp.int32), upto[-1]


def is_legal(state: State, move: Array, rules: Rules = DEFAULT) -> Array:
    """Tells whether a move int32[] is legal, without asking for all others: bool[]."""
    is_inside = (move >= 0) & (move < NUM_MOVES)
    move = jnp.clip(move, 0, NUM_MOVES - 1)
    is_held = jnp.all(jnp.asarray(all_moves().counts)[move] <= hand_of(state))
    can_play = is_held & beats(move, state.to_beat) & ~state.terminated
    if rules.strict:
        can_play &= jnp.asarray(all_moves().is_strict)[move]
    may_pass = (state.to_beat != PASS) | state.terminated
    return is_inside & jnp.where(move == PASS, may_pass, can_play)


def beats(move: Array, to_beat: Array) -> Array:
    """Tells whether a move int32[] beats another, or any where that is a pass: bool[]."""
    start, stop, bombs = _ranges_of(to_beat)
    return ((move >= start) & (move < stop)) | ((move >= bombs) & (move < PASS))


def words_of(hand: Array, to_beat: Array, rules: Rules = DEFAULT) -> Array:
    """Lists as bits what a hand may play.

    Args:
      hand: int8[R] cards held.
      to_beat: int32[] the move to beat, or PASS for a lead.
      rules: the table's rules.

    Returns:
      uint32[W], the pass included where there is something to beat.
    """
    table = jnp.asarray(tables.affordable(rules.strict))
    words = table[0, hand[0]]
    for rank in range(1, NUM_RANKS):
        words = words & table[rank, hand[rank]]
    start, stop, bombs = _ranges_of(to_beat)
    beating = (_below(stop) & ~_below(start)) | ~_below(bombs)
    passing = jnp.where(to_beat == PASS, _NONE, _ONLY_PASS)
    return (words & beating) | passing


def unpack(words: Array) -> Array:
    """Spreads words uint32[..., W] into a mask bool[..., A]."""
    shifts = np.arange(BITS, dtype=np.uint32).reshape((1,) * words.ndim + (BITS,))
    bits = (words[..., None] >> shifts) & 1 > 0
    return bits.reshape(*words.shape[:-1], BITS * NUM_WORDS)[..., :NUM_MOVES]


def num_legal(words: Array) -> Array:
    """Counts the moves in words uint32[W]: int32[]."""
    return jnp.sum(lax.population_count(words).astype(jnp.int32))


def nth_legal(bits: Array, words: Array) -> Array:
    """Picks a legal move from random bits, each with equal chance up to 640 parts in 2^16.

    Args:
      bits: uint32[] uniformly random; the upper half is used.
      words: uint32[W] legal moves, not all zero.

    Returns:
      int32[] id.
    """
    counts = lax.population_count(words).astype(jnp.int32).reshape(_BLOCKS, -1)
    in_block = stage(lambda c: jnp.sum(c, axis=1), counts)
    total = jnp.sum(in_block).astype(jnp.uint32)
    index = ((bits >> 16) * total >> 16).astype(jnp.int32)
    block, index = find(in_block, index)
    row = words.reshape(_BLOCKS, -1)[block]
    place, index = find(lax.population_count(row).astype(jnp.int32), index)
    return BITS * (row.shape[0] * block + place) + chance.nth_bit(row[place], index)


def find(counts: Array, index: Array) -> tuple[Array, Array]:
    """Finds which of counts int32[N] an index falls into, and its index within: int32[] each."""
    upto = jnp.cumsum(counts)
    is_before = upto <= index
    before = jnp.max(jnp.where(is_before, upto, 0))
    return jnp.sum(is_before, dtype=jnp.int32), index - before


def _ranges_of(to_beat: Array) -> tuple[Array, Array, Array]:
    """Looks up the two ranges of ids that beat a move: int32[] each."""
    start, stop, bombs = (jnp.asarray(column)[to_beat] for column in tables.ranges())
    return start, stop, bombs


def _below(stop: Array) -> Array:
    """Sets the bits of all ids below int32[]: uint32[W]."""
    num = jnp.clip(stop - BITS * np.arange(NUM_WORDS, dtype=np.int32), 0, BITS)
    some = (jnp.uint32(1) << jnp.minimum(num, BITS - 1).astype(jnp.uint32)) - 1
    return jnp.where(num == BITS, _ALL, some)


_ONLY_PASS = np.where(
    np.arange(NUM_WORDS) == PASS // BITS, np.uint32(1 << PASS % BITS), _NONE
).astype(np.uint32)
