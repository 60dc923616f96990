"""One decision: its effect on the table, then who acts next, or how the hand ends.

P = 4 seats, S = 4 suits. Legality and effect come from one place: `State.legal` is computed here
for the seat that acts next, and an action is carried out by the same words.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, claims, hand, packed, score
from mjx import state as st
from mjx.actions import call_bit
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.state import State

Array = jax.Array

_seats = np.arange(st.NUM_SEATS, dtype=np.int32)
_suits = np.arange(4, dtype=np.int32)


class Move(NamedTuple):
    """An action taken apart."""

    seat: Array  # int32[] who acts
    kind: Array  # int32[] the tile it is about
    discard: Array  # bool[] each of the following
    concealed_kong: Array
    added_kong: Array
    chow: Array
    pong: Array
    open_kong: Array
    win: Array
    passed: Array
    taken: Array  # uint32[] word of the tiles that leave the hand
    run: Array  # uint32[] word of the lowest tile of the chow


def init(
    key: Array,
    rules: Rules = DEFAULT,
    dealer: int | Array = 0,
    round_wind: int | Array = 0,
    streak: int | Array = 0,
) -> State:
    """Shuffles and deals one hand (rules 1).

    Args:
      key: typed key; all chance of the hand comes from it.
      rules: the table's rules.
      dealer: int32[] seat 0-3.
      round_wind: int32[] 0-3 for E S W N.
      streak: int32[] hands the dealer has held on.

    Returns:
      The state in which the dealer acts on 17 tiles.

    Raises:
      ValueError: a plain Python argument out of range.
    """
    for name, value, highest in (("dealer", dealer, 3), ("round_wind", round_wind, 3)):
        if isinstance(value, int) and not 0 <= value <= highest:
            raise ValueError(f"{name} is 0 to {highest}, not {value}.")
    if isinstance(streak, int) and streak < 0:
        raise ValueError(f"streak is 0 or more, not {streak}.")
    return init_from_wall(st.shuffle(key), rules, dealer, round_wind, streak)


def init_from_wall(
    wall: Array,
    rules: Rules = DEFAULT,
    dealer: int | Array = 0,
    round_wind: int | Array = 0,
    streak: int | Array = 0,
) -> State:
    """Deals a given wall, int8[136] kinds in draw order; otherwise as `init`."""
    state = st.deal(
        jnp.asarray(wall, jnp.int8),
        jnp.asarray(dealer, jnp.int32),
        jnp.asarray(round_wind, jnp.int32),
        jnp.asarray(streak, jnp.int32),
    )
    return state.replace(legal=_own_turn(state, rules))


def step(state: State, action: Array, rules: Rules = DEFAULT) -> State:
    """Carries out one decision of `state.current_player`.

    A finished hand is absorbing: it comes back as it is, with zero rewards. An illegal action
    raises where values are known; under a transformation, where nothing can be raised, it ends
    the hand with `ending == ILLEGAL` and NaN rewards for all, so that it cannot go unnoticed.

    Args:
      state: one hand.
      action: int32[] an id of `mjx.actions`, legal in this state.
      rules: the table's rules.

    Returns:
      The next state, its `rewards` in points.

    Raises:
      ValueError: an illegal action outside of any transformation.
    """
    _check_concrete(state, action)
    action = jnp.asarray(action, jnp.int32)
    legal = actions.is_legal(state.legal, action)
    after = advance(state, jnp.where(legal, action, actions.PASS), rules)
    rewards = jnp.where(after.terminated, score.settle(after, rules), 0.0)
    after = after.replace(
        rewards=jnp.where(legal, rewards, jnp.nan),
        terminated=after.terminated | ~legal,
        legal=jnp.where(legal, after.legal, np.uint32(0xFFFFFFFF)),
        ending=jnp.where(legal, after.ending, st.ILLEGAL),
        winner=jnp.where(legal, after.winner, -1),
    )
    done = state.replace(rewards=jnp.zeros_like(state.rewards))
    return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), done, after)


def advance(state: State, action: Array, rules: Rules = DEFAULT) -> State:
    """Carries out a legal action without scoring: `rewards` stay as they are.

    What `step` is made of, for loops that score finished hands later. Any action leaves a
    finished hand finished, but not unchanged.
    """
    move = stage(_take_apart, state, action)
    laid = stage(_lay_down, state, move)
    asked = stage(lambda s: _ask(s, move, rules), laid)
    drawn = stage(lambda s: _draw(s, state.robbing, move, rules), asked)
    return drawn.replace(legal=stage(lambda s: _legal(s, rules), drawn))


def _take_apart(state: State, action: Array) -> Move:
    """Reads an action in its state."""
    is_call = action >= actions.CHOW_LOW
    kind = jnp.where(is_call, state.pending, action % packed.NUM_KINDS)
    unit = packed.tile(jnp.maximum(kind, 0))
    low, middle, high = (
        action == a for a in (actions.CHOW_LOW, actions.CHOW_MIDDLE, actions.CHOW_HIGH)
    )
    up, down = unit << packed.BITS, unit >> packed.BITS
    down_2 = down >> packed.BITS
    copies = jnp.select(
        [action < actions.CONCEALED_KONG, action < actions.ADDED_KONG, ~is_call,
         action == actions.PONG, action == actions.OPEN_KONG],
        [jnp.uint32(n) for n in (1, 4, 1, 2, 3)],
        jnp.uint32(0),
    )  # fmt: skip
    run = jnp.select([low, middle, high], [unit, down, down_2], jnp.uint32(0))
    others = jnp.select(
        [low, middle, high], [up + (up << packed.BITS), down + up, down + down_2], jnp.uint32(0)
    )
    return Move(
        seat=state.current_player,
        kind=kind,
        discard=action < actions.CONCEALED_KONG,
        concealed_kong=(action >= actions.CONCEALED_KONG) & (action < actions.ADDED_KONG),
        added_kong=(action >= actions.ADDED_KONG) & ~is_call,
        chow=low | middle | high,
        pong=action == actions.PONG,
        open_kong=action == actions.OPEN_KONG,
        win=action == actions.WIN,
        passed=action == actions.PASS,
        taken=copies * unit + others,
        run=run,
    )


def _lay_down(state: State, move: Move) -> State:
    """Moves the tiles of an action, and settles what the actor may still win (過水)."""
    suit = packed.suit_of(move.kind)
    unit = packed.tile(jnp.maximum(move.kind, 0))
    is_seat, is_suit = _seats == move.seat, _suits == suit
    here = is_seat[:, None] & is_suit[None, :]
    claimed = move.chow | move.pong | move.open_kong

    hands = state.hands - jnp.where(here, move.taken, np.uint32(0))
    new_set = jnp.select(
        [move.pong, move.open_kong, move.concealed_kong],
        [unit * np.uint32(st.PONG), unit * np.uint32(st.KONG), unit * np.uint32(st.CONCEALED_KONG)],
        np.uint32(0),
    )
    laid = (_seats == jnp.where(move.discard, move.seat, state.actor))[:, None] & is_suit[None, :]
    river_change = jnp.where(move.discard, unit, jnp.where(claimed, ~unit + 1, np.uint32(0)))
    own = jnp.sum(jnp.where(is_seat[:, None], hands, np.uint32(0)), axis=0, dtype=jnp.uint32)
    waits = hand.waits(own)

    # A win declined now locks; a discard from a hand that was no win unlocks.
    could_win = (state.legal[actions.CALL_WORD] & call_bit(actions.WIN)) > 0
    locked = jnp.any(state.locked & is_seat) | could_win
    locked = locked & (~move.discard | packed.is_in(waits, move.kind))

    entry = move.kind | (move.seat << st.HISTORY_SEAT_SHIFT)
    entry = entry + jnp.where(state.drawn == move.kind, st.HISTORY_DRAWN, 0)
    entry = jnp.where(move.discard, entry, jnp.where(claimed, st.HISTORY_CLAIMED, 0))
    at_entry = np.arange(st.MAX_DISCARDS) == state.num_discards - claimed.astype(jnp.int32)
    return state.replace(
        hands=hands,
        chows=state.chows + jnp.where(here, move.run, np.uint32(0)),
        sets=state.sets + jnp.where(here, new_set, np.uint32(0)),
        rivers=state.rivers + jnp.where(laid, river_change, np.uint32(0)),
        waits=jnp.where(is_seat[:, None], waits, state.waits),
        locked=jnp.where(is_seat, locked, state.locked),
        history=state.history + jnp.where(at_entry, entry, 0).astype(jnp.int16),
        num_discards=state.num_discards + move.discard.astype(jnp.int32),
        actor=jnp.where(move.discard | move.added_kong, move.seat, state.actor),
    )


def _ask(state: State, move: Move, rules: Rules) -> State:
    """Queues the questions that an action raises, or takes the answered one off."""
    wins = claims.win_questions(state.waits, state.locked, state.actor, move.kind)
    calls = claims.call_questions(state.hands, state.actor, move.kind, st.drawable(state, rules))
    opened = wins | jnp.where(move.discard, calls, np.uint32(0))
    left = jnp.where(move.passed, state.queue & (state.queue - 1), np.uint32(0))
    queue = jnp.where(move.discard | move.added_kong, opened, left)
    asking = queue != 0
    return state.replace(
        queue=queue,
        robbing=asking & (move.added_kong | (move.passed & state.robbing)),
        pending=jnp.where(asking | move.win, move.kind, -1),
        current_player=jnp.where(
            asking,
            claims.asked_seat(queue, state.hands, state.actor, jnp.maximum(move.kind, 0)),
            state.current_player,
        ),
    )


def _draw(state: State, was_robbing: Array, move: Move, rules: Rules) -> State:
    """Draws for the seat whose turn comes, completes a kong, or ends the hand."""
    idle = (state.queue == 0) & ~state.terminated
    kong_stands = idle & (move.added_kong | (move.passed & was_robbing))
    konged = idle & (kong_stands | move.concealed_kong | move.open_kong)
    turn_passes = idle & (move.discard | (move.passed & ~was_robbing))
    is_out = turn_passes & (st.drawable(state, rules) <= 0)
    draws = konged | (turn_passes & ~is_out)

    drawer = jnp.where(turn_passes, (state.actor + 1) % st.NUM_SEATS, state.actor)
    drawer = jnp.where(move.concealed_kong | move.open_kong, move.seat, drawer)
    place = jnp.clip(jnp.where(konged, state.tail, state.head), 0, len(state.wall) - 1)
    kind = state.wall[place].astype(jnp.int32)
    suit, konged_suit = packed.suit_of(kind), packed.suit_of(move.kind)
    is_drawer = (_seats == drawer)[:, None]
    new_tile = is_drawer & (_suits == suit)[None, :] & draws
    new_kong = is_drawer & (_suits == konged_suit)[None, :] & kong_stands
    unit = packed.tile(jnp.maximum(move.kind, 0))

    self_draw = move.win & (state.drawn >= 0)
    ending = jnp.select(
        [state.terminated, is_out, self_draw, move.win & was_robbing, move.win],
        [state.ending]
        + [jnp.int32(e) for e in (st.DRAWN, st.SELF_DRAW, st.ROBBED_KONG, st.ON_DISCARD)],
        jnp.int32(st.RUNNING),
    )
    replacement = jnp.where(konged, st.AFTER_OWN_KONG + move.open_kong, st.PLAIN_DRAW)
    return state.replace(
        hands=state.hands + jnp.where(new_tile, packed.tile(kind), np.uint32(0)),
        sets=state.sets + jnp.where(new_kong, unit * np.uint32(st.KONG - st.PONG), np.uint32(0)),
        head=state.head + (draws & ~konged).astype(jnp.int32),
        tail=state.tail - konged.astype(jnp.int32),
        drawn=jnp.where(move.win, state.drawn, jnp.where(draws, kind, -1)),
        replacement=jnp.where(move.win, state.replacement, replacement).astype(jnp.int32),
        current_player=jnp.where(draws, drawer, state.current_player),
        ending=ending,
        winner=jnp.where(move.win & ~state.terminated, move.seat, state.winner),
        terminated=state.terminated | is_out | move.win,
    )


def _legal(state: State, rules: Rules) -> Array:
    """Lists what `current_player` may do: uint32[5]; everything once the hand is over."""
    words = jnp.where(state.queue != 0, _answers(state, rules), _own_turn(state, rules))
    return jnp.where(state.terminated, np.uint32(0xFFFFFFFF), words)


def _answers(state: State, rules: Rules) -> Array:
    """Lists the answers to the question asked: uint32[5]."""
    kind = jnp.maximum(state.pending, 0)
    words = claims.words_of_kind(state.hands, kind)
    word = jnp.sum(jnp.where(_seats == state.current_player, words, np.uint32(0)), dtype=jnp.uint32)
    calls = claims.answers(state.queue, word, kind, st.drawable(state, rules))
    return jnp.zeros(5, jnp.uint32).at[actions.CALL_WORD].set(calls)


def _own_turn(state: State, rules: Rules) -> Array:
    """Lists discards, kongs and the self-drawn win: uint32[5] (rules 2.2, 2.6, 2.8)."""
    is_seat = _seats == state.current_player
    own, sets, waits = (
        jnp.sum(jnp.where(is_seat[:, None], field, np.uint32(0)), axis=0, dtype=jnp.uint32)
        for field in (state.hands, state.sets, state.waits)
    )
    has_drawn = state.drawn >= 0  # not after a chow or a pong
    held, four = packed.at_least(own, 1), packed.at_least(own, 4)
    kongs = (four << 1) | ((held & sets & packed.MARKS) << 2)  # the lowest bit of a set is PONG
    may_kong = has_drawn & (st.drawable(state, rules) > 0)
    tiles = held | jnp.where(may_kong, kongs, np.uint32(0))
    may_win = has_drawn & packed.is_in(waits, state.drawn) & ~jnp.any(state.locked & is_seat)
    win = jnp.where(may_win, np.uint32(call_bit(actions.WIN)), np.uint32(0))
    return jnp.concatenate([tiles, win[None]])


def _check_concrete(state: State, action: Array) -> None:
    """Refuses an illegal action where the values are known."""
    if any(isinstance(x, jax.core.Tracer) for x in (state.legal, state.terminated, action)):
        return
    if np.ndim(action) or np.ndim(state.terminated):
        raise ValueError("step plays one hand: vmap it over a batch of states and actions.")
    mask = np.asarray(state.legal_action_mask)
    if not 0 <= int(action) < actions.NUM_ACTIONS or not mask[int(action)]:
        allowed = ", ".join(actions.NAMES[i] for i in np.flatnonzero(mask))
        raise ValueError(f"Action {int(action)} is not legal here. Legal: {allowed}.")
