"""One hand of mahjong as an immutable pytree, and how it is dealt.

P = 4 seats, S = 4 suits. Seats are numbered in turn order; all fields here are absolute. The
tiles are packed words (`mjx.packed`); what leaves the package, `Observation` and the masks, is
plain arrays.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from mjx import actions, chance, flowers, hand, packed, tiles
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS, SeatHands, place_of

Array = jax.Array

_KINDS = np.arange(tiles.NUM_KINDS)
MAX_DISCARDS = DEFAULT.max_discards  # 92: the dealer's, one for each of 71 draws and 20 calls

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

    wall: Array  # int8[136]    kinds in draw order; 144 with flowers
    head: Array  # int32[]      next index of the wall for a plain draw; `stable_draw` counts only
    tail: Array  # int32[]      next index for a replacement, going down; likewise

    hands: SeatHands  # concealed tiles
    chows: SeatHands  # chows laid down, counted at their lowest tile
    sets: SeatHands  # one of PONG, KONG, CONCEALED_KONG at its kind
    waits: SeatHands  # kind sets that complete the hand at rest
    history: Array  # int16[rules.max_discards]  all discards in order, see HISTORY_*
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
    left = state.tail - state.head + 1 - rules.reserve
    if rules.reserve_per_kong:
        left = left - rules.reserve_per_kong * _num_kongs(state.sets)
    return left


def drawable_by(state: State, seat: Array, rules: Rules) -> Array:
    """Counts the tiles that a seat may still draw: of its own sub-wall, if it has one: int32[]."""
    left = drawable(state, rules)
    if rules.wall_mode == "stable_draw":
        head, tail = ends_of_wall(state, seat, rules)
        left = jnp.minimum(left, tail - head + 1)
    return left


def may_kong(state: State, seat: Array, rules: Rules) -> Array:
    """Tells whether a seat finds the replacement of a kong, and the kong its reserve: bool[]."""
    is_enough = drawable_by(state, seat, rules) > 0
    if rules.reserve_per_kong:
        is_enough = is_enough & (drawable(state, rules) > rules.reserve_per_kong)
    return is_enough


def ends_of_wall(state: State, seat: Array, rules: Rules) -> tuple[Array, Array]:
    """Finds the places of a seat's next plain draw and of its next replacement: int32[] each."""
    if state.sub_draws is None or state.sub_replacements is None:
        return state.head, state.tail
    first = rules.num_dealt + rules.sub_wall_size * seat
    last = first + rules.sub_wall_size - 1
    return (
        first + flowers.share_of(state.sub_draws, seat).astype(jnp.int32),
        last - flowers.share_of(state.sub_replacements, seat).astype(jnp.int32),
    )


def seat_wind(state: State, seat: int | Array, rules: Rules) -> Array:
    """Gives a seat's wind, counted from the dealer or from where the wall was broken (開門).

    Args:
      state: one hand.
      seat: int32[].
      rules: the table's rules.

    Returns:
      int32[] 0-3 for E S W N.
    """
    east = state.dealer
    if rules.seat_wind_mode == "wall_break":
        assert state.dice_sum is not None, "a state of other rules"
        east = east + state.dice_sum - 1
    return (seat - east) % NUM_SEATS


def declared(ready: Array, seat: Array) -> Array:
    """Reads off `State.ready` what a seat has declared: int32[] 0 nothing, 1 天聽, 2 地聽."""
    bits = ready >> seat.astype(jnp.uint32)
    return ((bits & 1) + 2 * ((bits >> NUM_SEATS) & 1)).astype(jnp.int32)


def num_melds(chows: Array, sets: Array) -> Array:
    """Counts the melds laid down in words uint32[..., S]: int32[...]."""
    return jnp.sum(packed.num_tiles(chows) + jax.lax.population_count(sets), axis=-1).astype(
        jnp.int32
    )


def shuffle(key: Array, rules: Rules = DEFAULT) -> Array:
    """Shuffles the tiles: int8[136] kinds in draw order, or int8[144] with flowers."""
    return chance.shuffle(key, jnp.asarray(all_tiles(rules), jnp.int8))


def all_tiles(rules: Rules) -> np.ndarray:
    """Lists the kinds of all tiles in ascending order: int64[rules.num_tiles]."""
    flower_kinds = np.arange(tiles.FIRST_FLOWER, tiles.FIRST_FLOWER + rules.n_flowers)
    return np.concatenate([np.repeat(_KINDS, tiles.NUM_COPIES), flower_kinds])


def deal(
    wall: Array, dealer: Array, round_wind: Array, streak: Array, rules: Rules = DEFAULT
) -> State:
    """Deals a wall: blocks of four, then odd tiles singly, and the dealer's last one.

    Args:
      wall: int8[rules.num_tiles] kinds in draw order.
      dealer, round_wind, streak: int32[].
      rules: the table's rules.

    Returns:
      The state in which the dealer has just drawn, flowers replaced; `legal` is still empty. The
      eighth flower may have ended the hand. The throw and what a match carries are not set.
    """
    num_rounds, num_odd = divmod(rules.hand_tiles, 4)
    num_in_blocks = 4 * NUM_SEATS * num_rounds
    blocks = wall[:num_in_blocks].reshape(num_rounds, NUM_SEATS, 4)  # round, place, tile
    by_place = jnp.swapaxes(blocks, 0, 1).reshape(NUM_SEATS, 4 * num_rounds)
    if num_odd:
        odd = wall[num_in_blocks : rules.num_dealt - 1].reshape(num_odd, NUM_SEATS)
        by_place = jnp.concatenate([by_place, odd.T], axis=1)
    last = wall[rules.num_dealt - 1].astype(jnp.int32)
    replaced = None
    if rules.n_flowers:
        replaced = flowers.replace_dealt(wall, by_place, last, dealer, rules)
        by_place, last = replaced.by_place, replaced.last
    counts = jnp.sum(by_place[:, :, None] == _KINDS[None, None, :], axis=1, dtype=jnp.int32)
    by_seat = jnp.roll(packed.from_counts(counts), dealer, axis=0)  # seat = dealer + place
    at_rest = SeatHands.from_array(by_seat)

    def no_melds() -> SeatHands:
        return at_rest.map(lambda seat, suit, word: jnp.zeros_like(word))

    # No two fields share a buffer, so that a state may be donated.
    state = State(
        current_player=jnp.copy(dealer),
        terminated=jnp.bool_(False),
        rewards=jnp.zeros(NUM_SEATS, jnp.float32),
        legal=(jnp.uint32(0),) * 5,
        wall=wall,
        head=jnp.int32(rules.num_dealt),
        tail=jnp.int32(rules.num_tiles - 1),
        hands=at_rest.plus(place_of(dealer, packed.suit_of(last)), packed.tile(last)),
        chows=no_melds(),
        sets=no_melds(),
        waits=SeatHands(tuple(hand.waits_of_words(row, rules.ligu > 0) for row in at_rest.rows)),
        history=jnp.zeros(rules.max_discards, jnp.int16),
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
    if rules.wall_mode == "stable_draw":
        state = state.replace(sub_draws=jnp.uint32(0), sub_replacements=jnp.uint32(0))
    return state if replaced is None else _with_flowers(state, at_rest, replaced, rules)


def _with_flowers(
    state: State, at_rest: SeatHands, replaced: flowers.Replaced, rules: Rules
) -> State:
    """Enters the flowers of the deal; the eighth may have ended the hand, one tile short."""
    is_over = replaced.winner >= 0
    if rules.wall_mode == "stable_draw":
        state = state.replace(sub_replacements=replaced.num_by_seat)
    return state.replace(
        hands=at_rest.map(
            lambda p, s, word: jnp.where(replaced.last >= 0, state.hands.rows[p][s], word)
        ),
        tail=state.tail - replaced.num,
        drawn=jnp.where(is_over, tiles.NONE, replaced.last),
        replacement=jnp.where(replaced.is_last, AFTER_FLOWER, PLAIN_DRAW).astype(jnp.int32),
        flowers=replaced.exposed,
        terminated=is_over,
        ending=eighth_flower_ending(replaced.winner, replaced.drawer, jnp.int32(RUNNING)),
        winner=replaced.winner,
        actor=jnp.where(is_over, replaced.drawer, state.actor),
    )


def eighth_flower_ending(winner: Array, drawer: Array, otherwise: Array) -> Array:
    """Names the ending by a seat's eighth flower, or by another's that was robbed: int32[]."""
    ending = jnp.where(winner == drawer, EIGHT_FLOWERS, EIGHTH_FLOWER_ROBBED)
    return jnp.where(winner >= 0, ending, otherwise).astype(jnp.int32)


def _num_kongs(sets: SeatHands) -> Array:
    """Counts the kongs of all seats: int32[]. Each sets one bit of its rank, above PONG."""
    words = [word & ~packed.MARKS for row in sets.rows for word in row]
    return functools.reduce(jnp.add, map(jax.lax.population_count, words)).astype(jnp.int32)
