"""What the networks read: a small integer view of an observation, and numbers made from it.

P = 4 seats counted from the observer, T = 34 kinds. The view is what replay stores, about 450
bytes: every input of every network is computed from it. It splits into the *table*, which all
leaves of a search share, and the *hand*, which each leaf has its own of.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents import options
from mjx import distance, draws, packed, tiles
from mjx.observe import Observation, tiles_in_melds
from mjx.stage import stage
from mjx.state import NUM_SEATS

Array = jax.Array

NUM_KINDS = tiles.NUM_KINDS
FAR = 9  # deficiency of a discard that is not held; 0-8 are real
_KINDS = np.arange(NUM_KINDS)
_SUIT = _KINDS // packed.RANKS
_IN_SUIT = np.arange(tiles.NUM_SUITS)[:, None] == _SUIT[None]
_IS_DRAGON = _KINDS >= tiles.RED
_WIND = np.where((_KINDS >= tiles.EAST) & (_KINDS <= tiles.NORTH), _KINDS - tiles.EAST, -1)


class Table(struct.PyTreeNode):
    """What a seat sees outside its own hand and melds."""

    melds: Array  # int8[P,T]  tiles in melds; row 0, our own, is the hand's part
    num_melds: Array  # int8[P]
    discards: Array  # int8[P,T]
    unseen: Array  # int8[T]
    seat_wind: Array  # int8[]
    round_wind: Array  # int8[]
    dealer: Array  # int8[]  seat of the dealer
    streak: Array  # int8[]  at most 127


class Whole(struct.PyTreeNode):
    """What a hand that must discard lacks: integers of any one shape."""

    deficiency: Array
    accepted: Array  # unseen tiles that would lower it, were the right discard to follow
    paired: Array  # those of them of which the hand holds two or more: a pong may claim them


class Hand(struct.PyTreeNode):
    """One's own hand before a discard, and what each discard would leave."""

    counts: Array  # int8[T]
    melds: Array  # int8[T]  tiles in own melds
    num_melds: Array  # int8[]
    missing: Array  # int8[T]   deficiency after the discard, FAR where not held
    accepting: Array  # int8[T]   unseen tiles that would lower it then, at most 127
    whole: Whole  # before the discard
    turn: Array  # int8[]    own discards so far
    drawable: Array  # int8[]    tiles that may still be drawn
    locked: Array  # bool[]    過水: may not win for now


class View(struct.PyTreeNode):
    """What a network reads of one discard decision."""

    table: Table
    hand: Hand


def view_of(observation: Observation) -> View:
    """Condenses one observation of an own turn."""
    table = table_of(observation)
    return View(
        table,
        hand_of(
            table,
            counts=observation.hand,
            melds=table.melds[0],
            num_melds=table.num_melds[0],
            held=observation.hand,
            turn=turn_of(observation),
            drawable=observation.drawable,
            locked=observation.locked,
        ),
    )


def turn_of(observation: Observation) -> Array:
    """Counts the own discards so far: int32[]."""
    return jnp.sum(observation.history_seat == 0, dtype=jnp.int32)


def blank_view() -> View:
    """Makes a view of nothing, for its shapes."""

    def zeros(*shape: int) -> Array:
        return jnp.zeros(shape, jnp.int8)

    return View(
        Table(
            melds=zeros(NUM_SEATS, NUM_KINDS),
            num_melds=zeros(NUM_SEATS),
            discards=zeros(NUM_SEATS, NUM_KINDS),
            unseen=zeros(NUM_KINDS),
            seat_wind=zeros(),
            round_wind=zeros(),
            dealer=zeros(),
            streak=zeros(),
        ),
        Hand(
            counts=zeros(NUM_KINDS),
            melds=zeros(NUM_KINDS),
            num_melds=zeros(),
            missing=zeros(NUM_KINDS),
            accepting=zeros(NUM_KINDS),
            whole=Whole(zeros(), zeros(), zeros()),
            turn=zeros(),
            drawable=zeros(),
            locked=jnp.bool_(False),
        ),
    )


def table_of(observation: Observation) -> Table:
    """Condenses what an observation shows outside the own hand."""
    seen = observation
    small = jnp.int8
    return Table(
        melds=tiles_in_melds(seen.chows, seen.pongs, seen.kongs, seen.concealed_kongs),
        num_melds=options.sets_made(seen).astype(small),
        discards=seen.discards,
        unseen=seen.unseen,
        seat_wind=seen.seat_wind.astype(small),
        round_wind=seen.round_wind.astype(small),
        dealer=seen.dealer.astype(small),
        streak=jnp.minimum(seen.streak, 127).astype(small),
    )


def hand_of(
    table: Table,
    counts: Array,
    melds: Array,
    num_melds: Array,
    held: Array,
    turn: Array,
    drawable: Array,
    locked: Array,
) -> Hand:
    """Looks up what each discard would leave of a hand of 17 - 3M tiles.

    Args:
      table: whose `unseen` counts the accepting tiles.
      counts, melds: int[T].
      held: int[T] concealed tiles when the table was seen; those beyond have been drawn since.
      num_melds, turn, drawable: int[].
      locked: bool[].

    Returns:
      The hand.
    """
    hand = packed.from_counts(counts)
    after = distance.after_discards(hand, num_melds)
    unseen = table.unseen.astype(jnp.int32)
    accepting = jnp.sum(jnp.where(after.accepting, unseen[None], 0), axis=-1)
    small = jnp.int8
    return Hand(
        counts=counts.astype(small),
        melds=melds.astype(small),
        num_melds=num_melds.astype(small),
        missing=jnp.minimum(after.deficiency, FAR).astype(small),
        accepting=jnp.minimum(accepting, 127).astype(small),
        whole=jax.tree.map(
            lambda x: jnp.minimum(x, 127).astype(small),
            whole_of(hand, num_melds, table.unseen, held),
        ),
        turn=turn.astype(small),
        drawable=drawable.astype(small),
        locked=locked,
    )


_PAIRED = np.int32(1 << 8)  # more than there are tiles; sums of weights fit 16 bits


def whole_of(hand: Array, num_melds: Array, unseen: Array, held: Array) -> Whole:
    """Counts what one hand of 17 - 3M tiles lacks and accepts: int32[] each.

    Args:
      hand: uint32[S].
      num_melds: int[].
      unseen, held: int[T] unseen and concealed tiles when the table was seen.
    """
    weights = _weights(packed.to_counts(hand).astype(jnp.int32), unseen, held)
    deficiency, both = stage(distance.count_accepting, hand, num_melds, weights)
    return Whole(deficiency, both % _PAIRED, both // _PAIRED)


def whole_after(
    num_draws: int, rests: Array, num_melds: Array, unseen: Array, held: Array
) -> Whole:
    """Counts what rests lack and accept after one or two draws: int32[T,N], or [D,N] by pairs.

    Args:
      num_draws: 1, or 2 for the pairs `mjx.draws.FIRST` and `SECOND`.
      rests: uint32[N,S].
      num_melds: int[N].
      unseen, held: int[N,T] unseen and concealed tiles when the table was seen.
    """
    counts = packed.to_counts(rests).astype(jnp.int32)
    weights = [_weights(counts + drawn, unseen, held) for drawn in range(num_draws + 1)]
    grow = draws.one if num_draws == 1 else draws.two
    grown = grow(rests, num_melds, jnp.stack(weights).astype(jnp.uint16).swapaxes(1, 2))
    both = grown.accepted.astype(jnp.int32)
    return Whole(grown.deficiency, both % _PAIRED, both // _PAIRED)


def _weights(counts: Array, unseen: Array, held: Array) -> Array:
    """Weighs kinds by their copies to come, `_PAIRED` more each if held twice: int32[..., T]."""
    drawn = jnp.maximum(counts - held.astype(jnp.int32), 0)
    left = jnp.maximum(unseen.astype(jnp.int32) - drawn, 0)
    return left * jnp.where(counts >= 2, _PAIRED + 1, 1)


def legal_discards(view: View) -> Array:
    """Marks the kinds held, all of which may be discarded: bool[T]."""
    return view.hand.counts > 0


# --- numbers for the small network: a row for each feature, which is how vectors fill ---------


def table_per_tile(table: Table) -> Array:
    """Describes each kind by what lies on the table: float32[15, T]."""
    unseen = table.unseen.astype(jnp.float32) / 4
    rows = [
        unseen,
        *neighbours(unseen),
        *(table.discards.astype(jnp.float32) / 4),
        *(table.melds[1:].astype(jnp.float32) / 4),
        (table.seat_wind == _WIND).astype(jnp.float32),
        (table.round_wind == _WIND).astype(jnp.float32),
        jnp.asarray(_IS_DRAGON, jnp.float32),
    ]
    return jnp.stack(rows)


def table_scalars(table: Table) -> Array:
    """Describes the table as a whole: float32[32]."""
    seats = np.arange(NUM_SEATS)
    by_suit = jnp.sum(jnp.where(_IN_SUIT[None], table.melds[1:, None], 0), -1, dtype=jnp.int32)
    return jnp.concatenate(
        [
            (table.seat_wind == seats).astype(jnp.float32),
            (table.round_wind == seats).astype(jnp.float32),
            (table.dealer == seats).astype(jnp.float32),
            jnp.minimum(table.streak, 10).astype(jnp.float32)[None] / 10,
            table.num_melds[1:].astype(jnp.float32) / 5,
            jnp.sum(table.discards, axis=-1, dtype=jnp.int32).astype(jnp.float32) / 20,
            by_suit.reshape(-1).astype(jnp.float32) / 15,
        ]
    )


def hand_per_tile(hand: Hand) -> Array:
    """Describes each kind by what the hand holds and would be without it: float32[20, T]."""
    at_best, most = _best(hand)
    accepting = hand.accepting.astype(jnp.float32)
    rows = [
        *((hand.counts >= n).astype(jnp.float32) for n in (1, 2, 3, 4)),
        *neighbours(hand.counts.astype(jnp.float32) / 4),
        hand.melds.astype(jnp.float32) / 4,
        *((hand.missing == n).astype(jnp.float32) for n in range(8)),
        at_best.astype(jnp.float32),
        accepting / 40,
        at_best * (accepting - most) / (4 + 0.25 * most),
    ]
    return jnp.stack(rows)


def hand_scalars(hand: Hand) -> Array:
    """Describes the hand as a whole: float32[9]."""
    _, most = _best(hand)
    own = (hand.counts + hand.melds)[None]
    by_suit = jnp.sum(jnp.where(_IN_SUIT, own, 0), axis=-1, dtype=jnp.int32)
    others = [
        most / 40,
        hand.num_melds.astype(jnp.float32) / 5,
        hand.turn.astype(jnp.float32) / 20,
        hand.drawable.astype(jnp.float32) / 56,
        hand.locked.astype(jnp.float32),
    ]
    return jnp.concatenate([by_suit.astype(jnp.float32) / 17, jnp.stack(others)])


def _best(hand: Hand) -> tuple[Array, Array]:
    """Marks the discards of the lowest deficiency, bool[T]; their most accepting, float32[]."""
    at_best = hand.missing == jnp.min(hand.missing)
    return at_best, jnp.max(jnp.where(at_best, hand.accepting, 0)).astype(jnp.float32)


def neighbours(values: Array) -> list[Array]:
    """Shifts values [T] to the kinds two and one below and above, 0 beyond a suit's ends."""
    shifted = []
    for offset in (-2, -1, 1, 2):
        source = _KINDS + offset
        inside = (source >= 0) & (source < tiles.EAST) & (_KINDS < tiles.EAST)
        inside &= np.clip(source, 0, NUM_KINDS - 1) // packed.RANKS == _SUIT
        moved = jnp.roll(values, -offset)
        shifted.append(jnp.where(inside, moved, jnp.zeros_like(moved)))
    return shifted


# --- numbers for the paper's network ---------------------------------------------------------

PLANE = 19  # the input is padded to 19 x 19


def paper_input(view: View) -> Array:
    """Lays out the paper's input: ten rows of 34 counts, the turn, the tiles left; then zeros.

    Returns:
      float32[361]: own concealed tiles, own melds, three other seats' melds, four seats'
      discards, unseen tiles, turn, tiles left.
    """
    rows = jnp.concatenate(
        [
            view.hand.counts[None],
            view.hand.melds[None],
            view.table.melds[1:],
            view.table.discards,
            view.table.unseen[None],
        ]
    )
    values = jnp.concatenate(
        [
            rows.reshape(-1).astype(jnp.float32) / 4,
            jnp.stack([view.hand.turn, view.hand.drawable]).astype(jnp.float32) / 56,
        ]
    )
    return jnp.pad(values, (0, PLANE * PLANE - values.shape[0]))
