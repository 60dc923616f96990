"""A hand that an observation allows, drawn at random: what the observer may plan with.

P = 4 seats counted from the observer, T = 34 kinds, N = 136 tiles.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjx import actions, claims, hand, legal, packed, tiles
from mjx import state as st
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS, SeatHands, place_of
from mjx.stage import stage
from mjx.state import State

Array = jax.Array

MAX_HAND = 16  # concealed tiles of a seat that is not to act
# Rules under which a state remembers, or a hand hides, more than an observation shows.
_REFUSED = {
    "n_flowers": 0,
    "concealed_kong_shown": True,
    "seat_wind_mode": "dealer_east",
    "wall_mode": "shared",
    "multi_ron": False,
    "swap_calling": "none",
    "open_kong_win": True,
    "tianting": 0,
    "diting": 0,
}


def determinize(key: Array, observation: Observation, rules: Rules = DEFAULT) -> State:
    """Deals the unseen tiles to the other seats and the wall, each way with equal chance.

    The observer, who must be the one to decide, is seat 0 of the state, the next to play seat 1;
    so `observe(state, 0)` is the observation again. Of what it cannot know is chosen: no other
    seat is locked; questions that come after its own are those the drawn hands raise, and those
    before it were passed; at the own turn the last discard's seat counts as the last actor.
    Whatever the others chose so far says nothing here about what they hold.

    Args:
      key: typed key.
      observation: of one decision, the observer's own.
      rules: the table's rules.

    Returns:
      The state; its wall holds all tiles, those already drawn in no particular order, and its
      `rewards` are zero.

    Raises:
      ValueError: rules under which a state holds what an observation does not; or, where it is
        known, an observation in which another seat decides.
    """
    check_rules(rules)
    _check_turn(observation)
    order, hands = stage(_deal_unseen, key, observation)
    num_kongs = jnp.sum(observation.kongs | observation.concealed_kongs, dtype=jnp.int32)
    kept = rules.reserve + rules.reserve_per_kong * num_kongs
    tail = jnp.int32(rules.num_tiles - 1) - num_kongs  # each kong took a tile from the end
    head = tail + 1 - observation.drawable - kept
    num_hidden = jnp.sum(observation.num_concealed[1:], dtype=jnp.int32)
    rest = hands.plus(packed.suit_of(observation.drawn), ~_tile(observation.drawn) + 1)
    waits = stage(
        lambda rows: tuple(hand.waits_of_words(row, rules.ligu > 0) for row in rows), rest.rows
    )
    num_discards = jnp.sum(observation.history_kind >= 0, dtype=jnp.int32)
    last = jnp.max(jnp.where(observation.history_kind >= 0, np.arange(rules.max_discards), 0))
    thrower = jnp.where(num_discards > 0, observation.history_seat[last], observation.dealer)
    is_asked = observation.pending >= 0
    state = State(
        current_player=jnp.int32(0),
        terminated=jnp.bool_(False),
        rewards=jnp.zeros(NUM_SEATS, jnp.float32),
        legal=(jnp.uint32(0),) * 5,
        wall=jnp.roll(order, head - num_hidden),
        head=head,
        tail=tail,
        hands=hands,
        chows=SeatHands.from_array(packed.from_counts(observation.chows)),
        sets=SeatHands.from_array(packed.from_counts(_forms(observation))),
        waits=SeatHands(waits),
        history=_history(observation),
        num_discards=num_discards,
        drawn=observation.drawn,
        replacement=observation.replacement,
        pending=observation.pending,
        actor=jnp.where(is_asked, observation.pending_seat, thrower).astype(jnp.int32),
        queue=jnp.uint32(0),
        robbing=observation.robbing,
        locked=observation.locked.astype(jnp.uint32),
        dealer=observation.dealer,
        round_wind=observation.round_wind,
        streak=observation.streak,
        ending=jnp.int32(st.RUNNING),
        winner=jnp.int32(-1),
        first_dealer=observation.first_dealer,
        scores=observation.scores,
    )
    queue = stage(functools.partial(_queue, rules=rules), state, observation.legal_action_mask)
    state = state.replace(queue=queue)
    return state.replace(legal=stage(functools.partial(legal.legal_words, rules=rules), state))


def check_rules(rules: Rules) -> None:
    """Refuses rules under which no observation holds all that a state needs."""
    for name, plain in _REFUSED.items():
        if getattr(rules, name) != plain:
            raise ValueError(
                f"With Rules.{name}={getattr(rules, name)!r} a state holds what no observation "
                f"shows; hands are drawn at random only with {name}={plain!r}."
            )


def _check_turn(observation: Observation) -> None:
    """Refuses, where it is known, a decision of another seat."""
    player = observation.current_player
    if not isinstance(player, jax.core.Tracer) and (np.asarray(player) != 0).any():
        raise ValueError("Only the seat that decides can be given a state of its observation.")


def _deal_unseen(key: Array, observation: Observation) -> tuple[Array, SeatHands]:
    """Puts the unseen tiles in random order, and deals the first of them to seats 1, 2, 3.

    Returns:
      The kinds of all tiles, unseen ones first, int8[N]; the seats' hands.
    """
    order = _shuffle_unseen(key, observation.unseen)
    sizes = observation.num_concealed
    second, third, end = sizes[1], sizes[1] + sizes[2], sizes[1] + sizes[2] + sizes[3]

    def deal(place: Array, hands: SeatHands) -> SeatHands:
        kind = order[place].astype(jnp.int32)
        seat = 1 + (place >= second).astype(jnp.int32) + (place >= third).astype(jnp.int32)
        word = jnp.where(place < end, packed.tile(kind), np.uint32(0))
        return hands.plus(place_of(seat, packed.suit_of(kind)), word)

    own = packed.from_counts(observation.hand)
    nobody = jnp.zeros((NUM_SEATS - 1, tiles.NUM_SUITS), jnp.uint32)
    hands = SeatHands.from_array(jnp.concatenate([own[None], nobody]))
    return order, lax.fori_loop(0, (NUM_SEATS - 1) * MAX_HAND, deal, hands)


def _shuffle_unseen(key: Array, unseen: Array) -> Array:
    """Lists all tiles, the unseen ones, int8[T], first and in random order: int8[N].

    Each unseen tile takes the place of a random one of those before it, which moves to the end of
    them (Fisher and Yates); uniform up to N parts in 2^24.
    """
    bits = jax.random.bits(key, (tiles.NUM_TILES,), jnp.uint32) >> 8

    def put(slot: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        order, upto = carry  # unseen tiles so far
        kind, copy = slot // tiles.NUM_COPIES, slot % tiles.NUM_COPIES
        is_unseen = copy < unseen[kind]
        choices = (upto + 1).astype(jnp.uint32)
        other = (bits[slot] * choices >> 24).astype(jnp.int32)
        behind = tiles.NUM_TILES - 1 - (slot - upto)
        order = order.at[upto].set(jnp.where(is_unseen, order[other], order[upto]))
        order = order.at[jnp.where(is_unseen, other, behind)].set(kind.astype(jnp.int8))
        return order, upto + is_unseen

    blank = jnp.zeros(tiles.NUM_TILES, jnp.int8)
    return lax.fori_loop(0, tiles.NUM_TILES, put, (blank, jnp.int32(0)))[0]


def _forms(observation: Observation) -> Array:
    """Joins pongs and kongs as `State.sets` keeps them: int8[P, T]."""
    return (
        observation.pongs * np.int8(st.PONG)
        + observation.kongs * np.int8(st.KONG)
        + observation.concealed_kongs * np.int8(st.CONCEALED_KONG)
    )


def _history(observation: Observation) -> Array:
    """Packs the discards as `State.history` keeps them: int16[H]."""
    kind = observation.history_kind.astype(jnp.int32)
    seat = observation.history_seat.astype(jnp.int32) << st.HISTORY_SEAT_SHIFT
    drawn = jnp.where(observation.history_drawn, st.HISTORY_DRAWN, 0)
    claimed = jnp.where(observation.history_claimed, st.HISTORY_CLAIMED, 0)
    return jnp.where(kind >= 0, kind + seat + drawn + claimed, 0).astype(jnp.int16)


def _queue(state: State, mask: Array, rules: Rules) -> Array:
    """Lists the questions still to be asked, the observer's first: uint32[]; none at its turn."""
    kind = jnp.maximum(state.pending, 0)
    words = state.hands.column(packed.suit_of(kind))
    barred = state.locked
    if rules.min_tai > 0:
        barred |= legal.short_of_tai(state, kind, state.robbing, rules)
    raised = claims.win_questions(state.waits, barred, state.actor, kind)
    calls = claims.call_questions(
        words, state.actor, kind, st.drawable(state, rules), state.hands, None, rules
    )
    raised |= jnp.where(state.robbing, np.uint32(0), calls)
    place = (NUM_SEATS - 1 - state.actor) % NUM_SEATS  # of seat 0 after the actor
    to_win = jnp.uint32(claims.WIN_QUESTIONS & -claims.WIN_QUESTIONS) << place.astype(jnp.uint32)
    to_call = jnp.where(mask[actions.PONG], claims.PONG_QUESTION, claims.CHOW_QUESTION)
    ours = jnp.where(mask[actions.WIN], to_win, to_call.astype(jnp.uint32))
    later = raised & ~(ours | (ours - 1))
    return jnp.where(state.pending >= 0, ours | later, np.uint32(0))


def _tile(kind: Array) -> Array:
    """Returns the word with one tile of this kind, zero for `NONE`: uint32[]."""
    return jnp.where(kind >= 0, packed.tile(jnp.maximum(kind, 0)), np.uint32(0))
