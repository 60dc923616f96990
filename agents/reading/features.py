"""What can be seen of each opponent, as numbers: the input of the reading network.

Everything comes from an `Observation`, so nothing hidden can leak in. O = 3 opponents in turn
order from the observer, T = 34 kinds, H = discards in order, R = rows a kind, C = numbers an
opponent.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from mjx import packed, tiles
from mjx.observe import Observation
from mjx.seats import NUM_SEATS

Array = jax.Array

NUM_KINDS = tiles.NUM_KINDS
NUM_OPPONENTS = NUM_SEATS - 1
MAX_MELDS = 5

_OPPONENTS = np.arange(1, NUM_SEATS, dtype=np.int32)
_KINDS = np.arange(NUM_KINDS, dtype=np.int32)
_SUIT = _KINDS // packed.RANKS
_SUITS = np.arange(tiles.NUM_SUITS, dtype=np.int32)
_IN_SUIT = (_SUIT[:, None] == _SUITS[None]).astype(np.float32)
_IS_HONOUR = _KINDS >= tiles.EAST
_RANK = _KINDS % packed.RANKS
_IS_END = ~_IS_HONOUR & ((_RANK == 0) | (_RANK == packed.RANKS - 1))
_NEAR_END = ~_IS_HONOUR & ((_RANK == 1) | (_RANK == packed.RANKS - 2))
SORT = np.select([_IS_HONOUR, _IS_END, _NEAR_END], [3, 2, 1], 0).astype(np.int32)  # of each kind
_SORTS = np.stack([_IS_HONOUR, _IS_END, _NEAR_END]).astype(np.float32)
_WIND = np.where(_IS_HONOUR & (_KINDS <= tiles.NORTH), _KINDS - tiles.EAST, -1)
_IS_DRAGON = _KINDS >= tiles.RED
_EARLY, _MIDDLE, _LATE = 4, 9, 3  # own discards: the first, up to, the last
_ROUND = 4  # discards of a round of the table
_LAST = 5  # own discards that are told one by one
_MARKS_EACH = 10  # that a word has room for
_STREAK = 5  # lengths of a run of tiles drawn and thrown that are told apart

ROWS = 20
NUMBERS = 80


class Features(NamedTuple):
    """What is seen of the opponents."""

    tiles: Array  # float32[O,T,R]  of each kind
    table: Array  # float32[O,C]    of the opponent as a whole


def features_of(observation: Observation) -> Features:
    """Reads one observation."""
    seen = _history(observation)
    melds = options.sets_made(observation)
    return Features(_tiles(observation, seen), _table(observation, seen, melds))


class _History(NamedTuple):
    """The discards in order, as each opponent made or met them."""

    kinds: Array  # int32[H]      -1 where none yet
    own: Array  # bool[O,H]     the opponent's
    from_hand: Array  # bool[O,H]     the opponent's, and not the tile it had just drawn
    before: Array  # int32[O,H]    own discards before it
    after: Array  # int32[O,H]    own discards after it
    ago: Array  # int32[H]      discards of anyone after it
    passed: Array  # bool[O,H]     met the hand as it is now: had it won on this, it would have won
    met_before: Array  # bool[O,H]     met the hand as it was one change earlier
    changed: Array  # bool[O,H]     the discard that left the hand as it is now
    changed_before: Array  # bool[O,H]     and the one that left it as it was before
    since_claim: Array  # bool[O,H]     the opponent's, after its last claim
    could_chow: Array  # bool[O,H]     by the seat before the opponent, left on the table


def _history(observation: Observation) -> _History:
    """Takes the history apart."""
    kind = observation.history_kind.astype(jnp.int32)
    seat = observation.history_seat.astype(jnp.int32)
    said, place = kind >= 0, jnp.arange(kind.shape[0], dtype=jnp.int32)
    own = seat[None] == _OPPONENTS[:, None]
    from_hand = own & ~observation.history_drawn[None]
    before = jnp.cumsum(own, axis=1, dtype=jnp.int32) - own
    after = jnp.sum(own, axis=1, keepdims=True, dtype=jnp.int32) - before - own
    changes = jnp.sum(from_hand, axis=1, keepdims=True, dtype=jnp.int32)
    upto = jnp.cumsum(from_hand, axis=1, dtype=jnp.int32)  # changes up to and with this discard
    # Whoever claims a discard makes the next one.
    claims = observation.history_claimed[None, :-1] & own[:, 1:]
    last_claim = jnp.max(jnp.where(claims, place[None, 1:], -1), axis=1, keepdims=True)
    left = (seat[None] + 1 == _OPPONENTS[:, None]) & ~observation.history_claimed[None]
    return _History(
        kinds=kind,
        own=own,
        from_hand=from_hand,
        before=before,
        after=after,
        ago=jnp.sum(said, dtype=jnp.int32) - 1 - place,
        passed=said[None] & (upto == changes),
        met_before=said[None] & (upto == changes - 1),
        changed=from_hand & (upto == changes),
        changed_before=from_hand & (upto == changes - 1),
        since_claim=own & (place[None] >= last_claim),
        could_chow=said[None] & left,
    )


def _tiles(observation: Observation, seen: _History) -> Array:
    """Describes each kind to each opponent: float32[O, T, R]."""
    recent = (seen.ago < 2 * _ROUND)[None] & (seen.ago >= 0)[None]
    marks = jnp.stack(
        [
            seen.passed,
            seen.met_before,
            seen.own & (seen.before < _EARLY),
            seen.own & (seen.before >= _EARLY) & (seen.before < _MIDDLE),
            seen.own & (seen.before >= _MIDDLE),
            seen.own & (seen.after < _LATE),
            seen.from_hand,
            seen.changed,
            seen.changed_before,
            seen.since_claim,
            seen.could_chow & recent,
            jnp.broadcast_to(recent, seen.own.shape),
        ],
        axis=1,
    )
    by_history = _of_kinds(marks, seen.kinds)
    chows = observation.chows[1:].astype(jnp.float32)
    in_chows = chows + jnp.roll(chows, 1, axis=-1) + jnp.roll(chows, 2, axis=-1)
    in_sets = observation.pongs[1:] | observation.kongs[1:] | observation.concealed_kongs[1:]
    winds = (observation.seat_wind + _OPPONENTS) % NUM_SEATS
    honour = (winds[:, None] == _WIND[None]).astype(jnp.float32)
    honour += (observation.round_wind == _WIND).astype(jnp.float32)[None] + _IS_DRAGON[None]
    unseen = observation.unseen.astype(jnp.float32)
    held = observation.hand.astype(jnp.float32)
    shared = jnp.stack([unseen / 4, unseen == 0, held / 4, 4 - unseen - held])
    rows = [
        by_history.astype(jnp.float32),
        in_chows[:, None] / 4,
        in_sets.astype(jnp.float32)[:, None],
        honour[:, None],
        jnp.broadcast_to(shared, (NUM_OPPONENTS, *shared.shape)),
        jnp.broadcast_to(_IS_END.astype(np.float32), (NUM_OPPONENTS, 1, NUM_KINDS)),
    ]
    return jnp.swapaxes(jnp.concatenate(rows, axis=1), 1, 2)


def _of_kinds(marks: Array, kinds: Array) -> Array:
    """Tells which kinds have a discard of each mark: bool[O, M, T] from bool[O, M, H], int32[H].

    A kind is thrown four times at most, so three bits of a word count each mark.
    """
    number = marks.shape[1]
    shifts = (packed.BITS * (np.arange(number) % _MARKS_EACH)).astype(np.uint32)
    shifted = marks.astype(jnp.uint32) << shifts[None, :, None]
    place = jnp.where(kinds < 0, NUM_KINDS, kinds)
    words = []
    for start in range(0, number, _MARKS_EACH):
        word = jnp.sum(shifted[:, start : start + _MARKS_EACH], axis=1, dtype=jnp.uint32)
        empty = jnp.zeros((NUM_OPPONENTS, NUM_KINDS), jnp.uint32)
        words.append(empty.at[:, place].add(word, mode="drop"))
    which = np.arange(number) // _MARKS_EACH
    counts = jnp.stack(words, axis=1)[:, which] >> shifts[None, :, None]
    return counts & 7 > 0


def _table(observation: Observation, seen: _History, melds: Array) -> Array:
    """Describes each opponent as a whole: float32[O, C]."""

    def one_hot(number: Array, size: int) -> Array:
        return (number[:, None] == np.arange(size)[None]).astype(jnp.float32)

    def count(marks: Array) -> Array:
        return jnp.sum(marks, axis=1, dtype=jnp.int32)

    def shared(*numbers: Array) -> Array:
        row = jnp.concatenate([jnp.atleast_1d(jnp.asarray(n, jnp.float32)) for n in numbers])
        return jnp.broadcast_to(row, (NUM_OPPONENTS, *row.shape))

    own = seen.own.astype(jnp.float32)
    by_suit = (
        jnp.where(seen.kinds < 0, -1, seen.kinds // packed.RANKS)[:, None] == _SUITS[None]
    ).astype(jnp.float32)
    early = (seen.own & (seen.before < 2 * _EARLY)).astype(jnp.float32)
    chows = observation.chows[1:].astype(jnp.float32) @ _IN_SUIT
    sets = observation.pongs[1:] | observation.kongs[1:] | observation.concealed_kongs[1:]
    streak = count(seen.own) - count(seen.own & (seen.before < _last_change(seen)))
    is_dealer = (observation.dealer == _OPPONENTS)[:, None]
    others = jnp.sum(melds[1:], dtype=jnp.int32) - melds[1:]
    numbers = [
        count(seen.own) / 20,
        count(seen.from_hand) / 15,
        count(seen.since_claim) / 10,
        count(seen.passed) / 12,
        others / 10,
    ]
    winds = np.arange(NUM_SEATS)
    return jnp.concatenate(
        [
            one_hot(melds[1:], MAX_MELDS + 1),
            one_hot(jnp.minimum(streak, _STREAK - 1), _STREAK),
            jnp.stack(numbers, axis=1).astype(jnp.float32),
            np.eye(NUM_OPPONENTS, dtype=np.float32),
            is_dealer.astype(jnp.float32),
            own @ by_suit / 10,
            early @ by_suit / 8,
            chows / 4,
            sets.astype(jnp.float32) @ _IN_SUIT / 4,
            _last_discards(seen),
            one_hot((observation.seat_wind + _OPPONENTS) % NUM_SEATS, NUM_SEATS),
            shared(
                observation.drawable / 56,
                jnp.square(observation.drawable / 56),
                melds[0] / 5,
                observation.dealer == 0,
                jnp.minimum(observation.streak, 5) / 5,
                observation.round_wind == winds,
                observation.pending >= 0,
                observation.unseen.astype(jnp.float32) @ _IN_SUIT / 36,
                jnp.sum(observation.unseen == 0, dtype=jnp.int32) / 20,
            ),
        ],
        axis=1,
    )


def _last_change(seen: _History) -> Array:
    """Counts the own discards up to the one that left the hand as it is: int32[O, 1]."""
    return jnp.max(jnp.where(seen.from_hand, seen.before + 1, 0), axis=1, keepdims=True)


def _last_discards(seen: _History) -> Array:
    """Describes the last own discards one by one, the latest first: float32[O, 5 * _LAST]."""
    is_nth = seen.own[:, None] & (seen.after[:, None] == np.arange(_LAST)[None, :, None])
    is_nth = is_nth.astype(jnp.float32)  # [O, _LAST, H]
    from_hand = is_nth @ seen.from_hand.astype(jnp.float32)[:, :, None]
    sorts = is_nth @ jnp.where((seen.kinds >= 0)[:, None], jnp.asarray(_SORTS.T)[seen.kinds], 0)
    there = jnp.sum(is_nth, axis=-1, keepdims=True)
    return jnp.concatenate([there, from_hand, sorts], axis=-1).reshape(NUM_OPPONENTS, -1)
