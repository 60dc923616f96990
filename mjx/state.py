"""One hand of mahjong as an immutable pytree, and how it is dealt.

P = 4 seats, S = 4 suits. Seats are numbered in turn order; all fields here are absolute. The
tiles are packed words (`mjx.packed`); what leaves the package, `Observation` and the masks, is
plain arrays.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from mjx import actions, hand, packed, tiles
from mjx.rules import Rules
from mjx.seats import NUM_SEATS, SeatHands, place_of

Array = jax.Array

_KINDS = np.arange(tiles.NUM_KINDS)
DEALT = 65  # tiles dealt: 16 a seat and the dealer's seventeenth
MAX_DISCARDS = 92  # the dealer's first, one for each of 71 draws, one for each of 20 calls at most

# How a hand ended (`State.ending`).
RUNNING, DRAWN, SELF_DRAW, ON_DISCARD, ROBBED_KONG, ILLEGAL = range(6)
# Wins that need no complete hand: 四槓牌, 八仙過海, 七搶一.
FOUR_KONGS, EIGHT_FLOWERS, EIGHTH_FLOWER_ROBBED = 6, 7, 8
# What the last tile drawn was (`State.replacement`): a plain draw, or what it replaced.
PLAIN_DRAW, AFTER_OWN_KONG, AFTER_OPEN_KONG, AFTER_FLOWER = range(4)
# Bits of a discard in `State.history`, above the kind.
HISTORY_KIND = 0x3F
HISTORY_SEAT_SHIFT = 6
HISTORY_DRAWN = 1 << 8
HISTORY_CLAIMED = 1 << 9


class State(struct.PyTreeNode):
    """One hand. Holds no key: chance enters by the wall alone, which no policy ever sees."""

    current_player: Array  # int32[]      the seat to act
    terminated: Array  # bool[]
    rewards: Array  # float32[P]   points won by the last step; zero but at the end
    legal: tuple[Array, ...]  # five uint32[]  legal actions as words (mjx.actions)

    wall: Array  # int8[136]    kinds in draw order
    head: Array  # int32[]      next index of the wall for a plain draw
    tail: Array  # int32[]      next index for a replacement, going down

    hands: SeatHands  # concealed tiles
    chows: SeatHands  # chows laid down, counted at their lowest tile
    sets: SeatHands  # one of PONG, KONG, CONCEALED_KONG at its kind
    waits: SeatHands  # kind sets that complete the hand at rest
    history: Array  # int16[MAX_DISCARDS]  all discards in order, see HISTORY_*
    num_discards: Array  # int32[]

    drawn: Array  # int32[]      kind just drawn by the seat to act, else -1
    replacement: Array  # int32[]      what kind of draw it was
    pending: Array  # int32[]      kind discarded or konged that others are asked about, else -1
    actor: Array  # int32[]      seat that discarded or konged it last
    queue: Array  # uint32[]     questions still to be asked (mjx.claims)
    robbing: Array  # bool[]       the questions are about robbing an added kong
    locked: Array  # uint32[]     過水: seats that may not win for now, bit = seat

    dealer: Array  # int32[]
    round_wind: Array  # int32[]      0-3 for E S W N
    streak: Array  # int32[]      hands the dealer has held on (連莊)
    ending: Array  # int32[]      RUNNING, or how the hand ended
    winner: Array  # int32[]      -1 without one; the first in turn order of several

    # What only some tables need: None where the rules do without.
    flowers: Array | None = None  # uint32[]     `n_flowers`: exposed, bit = 8 seat + flower - 1
    sub_draws: Array | None = None  # uint32[]     `stable_draw`: plain draws, 8 bits a seat
    sub_replacements: Array | None = None  # uint32[]     `stable_draw`: tail draws, 8 bits a seat
    dice_sum: Array | None = None  # int32[]      `wall_break`: the throw, 3 to 18
    first_dealer: Array | None = None  # int32[]      `match`: who dealt its first hand
    scores: Array | None = None  # int32[P]     `match`: points of all hands so far
    winners: Array | None = None  # uint32[]     `multi_ron`: bit = seat
    ready: Array | None = None  # uint32[]     declared: bit seat 天聽, bit 4 + seat 地聽
    barred: tuple[Array, Array] | None = None  # int32[]    `swap_calling`: kinds, or -1
    win_barred: Array | None = None  # bool[]       no `open_kong_win`: nor in this turn

    @property
    def legal_action_mask(self) -> Array:
        """The legal actions of `current_player`: bool[..., NUM_ACTIONS]; all true at the end."""
        return actions.unpack(jnp.stack(self.legal, axis=-1))


# What `State.sets` holds at a kind.
PONG, KONG, CONCEALED_KONG = 1, 2, 4


def drawable(state: State, rules: Rules) -> Array:
    """Counts the tiles that may still be drawn, A of the rules: int32[]."""
    return state.tail - state.head + 1 - rules.reserve


def num_melds(chows: Array, sets: Array) -> Array:
    """Counts the melds laid down in words uint32[..., S]: int32[...]."""
    return jnp.sum(packed.num_tiles(chows) + jax.lax.population_count(sets), axis=-1).astype(
        jnp.int32
    )


def shuffle(key: Array) -> Array:
    """Shuffles the 136 tiles: int8[136] kinds in draw order.

    Exchanges each place with a random later one (Fisher and Yates): on a CPU seven times as fast
    as `jax.random.permutation`, which sorts. Each choice is uniform up to 136 parts in 2^24.
    """
    bits = jax.random.bits(key, (tiles.NUM_TILES,), jnp.uint32) >> 8

    def exchange(place: Array, wall: Array) -> Array:
        choices = (tiles.NUM_TILES - place).astype(jnp.uint32)
        other = place + (bits[place] * choices >> 24).astype(jnp.int32)
        return wall.at[other].set(wall[place]).at[place].set(wall[other])

    kinds = np.repeat(np.arange(tiles.NUM_KINDS, dtype=np.int8), tiles.NUM_COPIES)
    return jax.lax.fori_loop(0, tiles.NUM_TILES - 1, exchange, jnp.asarray(kinds))


def deal(wall: Array, dealer: Array, round_wind: Array, streak: Array, rules: Rules) -> State:
    """Deals a wall: sixteen tiles each in blocks of four, and the dealer's seventeenth.

    Args:
      wall: int8[136] kinds in draw order.
      dealer, round_wind, streak: int32[].
      rules: the options.

    Returns:
      The state in which the dealer has just drawn `wall[64]`; `legal` is still empty.
    """
    blocks = wall[: DEALT - 1].reshape(4, NUM_SEATS, 4)  # round, place from the dealer, tile
    by_place = jnp.swapaxes(blocks, 0, 1).reshape(NUM_SEATS, 16)
    counts = jnp.sum(by_place[:, :, None] == _KINDS[None, None, :], axis=1, dtype=jnp.int32)
    by_seat = jnp.roll(packed.from_counts(counts), dealer, axis=0)  # seat = dealer + place
    at_rest = SeatHands.from_array(by_seat)
    last = wall[DEALT - 1].astype(jnp.int32)

    def no_melds() -> SeatHands:
        return at_rest.map(lambda seat, suit, word: jnp.zeros_like(word))

    # No two fields share a buffer, so that a state may be donated.
    return State(
        current_player=jnp.copy(dealer),
        terminated=jnp.bool_(False),
        rewards=jnp.zeros(NUM_SEATS, jnp.float32),
        legal=(jnp.uint32(0),) * 5,
        wall=wall,
        head=jnp.int32(DEALT),
        tail=jnp.int32(tiles.NUM_TILES - 1),
        hands=at_rest.plus(place_of(dealer, packed.suit_of(last)), packed.tile(last)),
        chows=no_melds(),
        sets=no_melds(),
        waits=SeatHands(tuple(hand.waits_of_words(row, rules.ligu > 0) for row in at_rest.rows)),
        history=jnp.zeros(MAX_DISCARDS, jnp.int16),
        num_discards=jnp.int32(0),
        drawn=last,
        replacement=jnp.int32(PLAIN_DRAW),
        pending=jnp.int32(tiles.NONE),
        actor=jnp.copy(dealer),
        queue=jnp.uint32(0),
        robbing=jnp.bool_(False),
        locked=jnp.uint32(0),
        dealer=dealer,
        round_wind=round_wind,
        streak=streak,
        ending=jnp.int32(RUNNING),
        winner=jnp.int32(-1),
    )
