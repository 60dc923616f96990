"""What the linear score looks at: sums over the tiles a hand accepts, and facts of a discard.

B = decisions, N = hands, lanes last, T = 34 kinds, S = 4 suits; H = `HAND`, C = `CONTEXT`,
K = `TILE`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from mjx import draws, packed, tiles
from mjx.observe import Observation
from mjx.tiles import NUM_KINDS, NUM_SUITS

Array = jax.Array

# Of a hand that has yet to draw: unseen copies of the kinds that bring it nearer to a win.
HAND = (
    "accepting",  # all of them
    "pong",  # of kinds that the hand holds twice
    "chow",  # of kinds that fit two tiles of a run
    "outer",  # of honours and terminals
    "seen",  # of kinds that lie among the discards of others
)
# What a weight of `HAND` is multiplied by.
CONTEXT = ("1", "2", "3", "4+", "late", "open")  # four numbers of tiles missing; one of them is 1

# Of a kind that is thrown, in the hand that holds it.
TILE = (
    *("honour", "terminal", "next to it"),
    *("single that pays", "pair that pays"),  # tai of its triplet
    *("copies", "honour's copies"),  # unseen
    *("near unseen", "far unseen", "near held", "far held"),  # one and two ranks up and down
    "pair",
    *("thrown by others", "thrown just now", "thrown 3 away"),
    "danger",  # melds of those who have not thrown it
    *("off suit", "nearly off suit"),  # the hand is of one suit but for 3 tiles, 6 tiles
    "off triplets",  # one of a pair where all sets may be triplets
)

_KINDS = np.arange(NUM_KINDS, dtype=np.int32)
_SUIT, _RANK = _KINDS // packed.RANKS, _KINDS % packed.RANKS
_IS_HONOUR = _KINDS >= tiles.EAST
_IS_END = ~_IS_HONOUR & ((_RANK == 0) | (_RANK == 8))
_NEAR_END = ~_IS_HONOUR & ((_RANK == 1) | (_RANK == 7))
_WIND = np.where(_IS_HONOUR & (_KINDS <= tiles.NORTH), _KINDS - tiles.EAST, -1)
_IS_DRAGON = _KINDS >= tiles.RED
_SHIFTS = (packed.BITS * np.arange(packed.RANKS)).astype(np.uint32)
_LONG = np.float32(64)  # tiles that may be drawn early in a hand
_ROUND = 4  # discards of a round of the table


class Table(NamedTuple):
    """What the hands of one decision share."""

    unseen: Array  # int32[T]
    seen: Array  # bool[T]    lies among the discards of others
    late: Array  # float32[]  0 early in the hand to 1 at its end
    open_melds: Array  # float32[]  own


def table_of(observation: Observation) -> Table:
    """Reads what the hands share off one observation."""
    melds = observation.chows[0] + observation.pongs[0] + observation.kongs[0]
    return Table(
        observation.unseen.astype(jnp.int32),
        (observation.discards[1:] > 0).any(axis=0),
        jnp.maximum(1 - observation.drawable.astype(jnp.float32) / _LONG, 0),
        jnp.sum(melds, dtype=jnp.float32),
    )


def context(deficiency: Array, late: Array, open_melds: Array) -> Array:
    """Says what the weights of a hand are multiplied by: float32[..., C], of arrays [...]."""
    step = jnp.clip(deficiency, 1, 4)
    parts = [(step == n).astype(jnp.float32) for n in range(1, 5)]
    return jnp.stack([*parts, late, open_melds / 5], axis=-1)


def hand(rest: Array, num_melds: Array, table: Table) -> Array:
    """Sums up what hands accept.

    Args:
      rest: uint32[N, S] concealed tiles, of hands that have yet to draw.
      num_melds: int32[N] melds laid down, 0-5.
      table: of the decision of each, leading axis N.

    Returns:
      float32[H, N].
    """
    accepting = draws.none(rest, num_melds).accepting
    copies = jnp.where(accepting, table.unseen.T, 0)
    word = rest.T
    held = packed.at_least(word, 1)
    up, down = held >> packed.BITS, (held << packed.BITS) & packed.MARKS
    further_up, further_down = held >> 2 * packed.BITS, (held << 2 * packed.BITS) & packed.MARKS
    runs = (up & further_up) | (up & down) | (down & further_down)
    runs = jnp.where((np.arange(NUM_SUITS) < 3)[:, None], runs, np.uint32(0))
    kinds = (
        _by_kind(packed.at_least(word, 2)),
        _by_kind(runs),
        (_IS_HONOUR | _IS_END)[:, None],
        table.seen.T,
    )
    sums = [jnp.where(which, copies, 0) for which in kinds]
    parts = [jnp.sum(x, axis=0, dtype=jnp.int32) for x in (copies, *sums)]
    return jnp.stack(parts).astype(jnp.float32)


def _by_kind(marks: Array) -> Array:
    """Spreads marks uint32[S,N] over the kinds: bool[T,N]."""
    bits = (marks[:, None] >> _SHIFTS[None, :, None]) & 1 > 0
    return bits.reshape(-1, marks.shape[-1])[:NUM_KINDS]


def tile(observation: Observation) -> Array:
    """Describes each kind as a discard, for one decision: float32[K, T]."""
    counts = observation.hand.astype(jnp.int32)
    unseen = observation.unseen.astype(jnp.int32)
    pays = tai(observation)
    thrown = observation.discards[1:] > 0
    number = jnp.sum(observation.history_kind >= 0, dtype=jnp.int32)
    last = number - 1 - np.arange(_ROUND, dtype=np.int32)
    last = jnp.where(last >= 0, observation.history_kind[last], -1)
    melds = options.sets_made(observation)[1:]
    honour, zero = jnp.asarray(_IS_HONOUR), jnp.int32(0)
    rows = [
        honour,
        _IS_END,
        _NEAR_END,
        jnp.where(counts == 1, pays, zero),
        jnp.where(counts == 2, pays, zero),
        jnp.where(honour, zero, unseen),
        jnp.where(honour, unseen, zero),
        _beside(unseen, 1) / 4,
        _beside(unseen, 2) / 4,
        _beside(counts, 1),
        _beside(counts, 2),
        counts == 2,
        jnp.sum(thrown, axis=0, dtype=jnp.int32) / 3,
        (last[:, None] == _KINDS[None]).any(axis=0),
        _beside(jnp.sum(thrown, axis=0, dtype=jnp.int32), 3) / 3,
        jnp.sum(jnp.where(thrown, 0, melds[:, None]), axis=0, dtype=jnp.int32) / 5,
        *_aims(observation, counts),
    ]
    return jnp.stack([jnp.asarray(row).astype(jnp.float32) for row in rows])


def tai(observation: Observation) -> Array:
    """Counts the tai of a triplet of each kind, the winds' and dragons': int32[T]."""
    own = (observation.seat_wind == _WIND).astype(jnp.int32)
    return own + (observation.round_wind == _WIND) + _IS_DRAGON


def _beside(numbers: Array, ranks: int) -> Array:
    """Adds up int32[T] of the kinds so many ranks up and down in the suit: int32[T]."""
    up = np.where(~_IS_HONOUR & (_RANK + ranks < packed.RANKS), 1, 0).astype(np.int32)
    down = np.where(~_IS_HONOUR & (_RANK >= ranks), 1, 0).astype(np.int32)
    return jnp.roll(numbers, -ranks) * up + jnp.roll(numbers, ranks) * down


def _aims(observation: Observation, counts: Array) -> tuple[Array, Array, Array]:
    """Marks the kinds that a hand of one suit, or of triplets, has no use for: bool[T] thrice."""
    chows = observation.chows[0] > 0
    sets = observation.pongs[0] | observation.kongs[0] | observation.concealed_kongs[0]
    suits = np.arange(3, dtype=np.int32)
    is_suit = _SUIT[None] == suits[:, None]
    held = jnp.sum(jnp.where(is_suit, counts[None], 0), axis=1, dtype=jnp.int32)
    melded = jnp.any(is_suit & (chows | sets)[None], axis=1)
    others = jnp.sum(held, dtype=jnp.int32) - held
    is_barred = (jnp.sum(melded, dtype=jnp.int32) - melded) > 0
    others = jnp.where(is_barred, 99, others)
    best, least = jnp.argmin(others).astype(jnp.int32), jnp.min(others)
    off = jnp.asarray(~_IS_HONOUR) & (best != _SUIT)
    triplets = jnp.sum(counts >= 2, dtype=jnp.int32) + jnp.sum(sets, dtype=jnp.int32)
    apart = (counts == 2) & (triplets >= 4) & ~jnp.any(chows)
    return off & (least <= 3), off & (least > 3) & (least <= 6), apart
