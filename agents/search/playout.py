"""Hands played out in the simulator by a fast rule, from many states at once.

The rule is the greedy player's: lowest deficiency, then most accepting unseen tiles, a claim only
if it brings the hand nearer, a kong if it takes it no further, a win always. It reads the state's
own words instead of an observation, which costs more than the play. Where several claims bring
the hand equally near the first is made, without a look at accepting tiles.

L = lanes (hands in play), T = 34 kinds, S = 4 suits. Each lane has a seat whose points count.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents import options
from agents.search.value import Position, ValueFunction
from agents.worklist import map_where
from mjx import actions, distance, flowers, packed, score
from mjx.observe import Observation, observe
from mjx.rules import Rules
from mjx.seats import NUM_SEATS, Words
from mjx.stage import stage
from mjx.state import State
from mjx.step import advance
from mjx.tiles import NUM_KINDS

Array = jax.Array

_BLOCK = 512  # lanes played at once, which fit a cache
_STEPS = 4  # decisions between two looks for lanes that have ended
_HANDS = 256  # hands whose accepting tiles are counted at once
_FAR = np.int32(distance.FAR)
_FOREVER = 1_000_000  # turns
_KINDS = np.arange(NUM_KINDS, dtype=np.int32)
_TILES = np.zeros((NUM_KINDS, 4), np.uint32)  # each kind as a hand of one tile
_TILES[_KINDS, _KINDS // packed.RANKS] = 1 << (packed.BITS * (_KINDS % packed.RANKS))
_CLAIMS = np.array((*options.CLAIMS, actions.OPEN_KONG), np.int32)
_CLAIM_BITS = np.array([actions.call_bit(action) for action in _CLAIMS], np.uint32)
_WIN_BIT, _PASS_BIT = (np.uint32(actions.call_bit(a)) for a in (actions.WIN, actions.PASS))


class Lane(struct.PyTreeNode):
    """One hand in play."""

    state: State
    seat: Array  # int32[]   whose points count
    shown: Words  # four uint32[]  tiles that lie open, discards and melds, by suit
    first: Array  # int32[]   the action to begin with, -1 once it is done
    turns: Array  # int32[]   own turns of the seat still to be reached
    is_done: Array  # bool[]   ended, or the last of these turns is reached


class Choice(NamedTuple):
    """What the rule finds in one state before it counts accepting tiles."""

    action: Array  # int32[]   -1: the discard with the most accepting tiles
    candidates: Array  # bool[T]   the discards that leave the lowest deficiency
    hand: Array  # uint32[S]
    num_melds: Array  # int32[]
    unseen: Array  # int32[T]


def own_walls(rules: Rules) -> Rules:
    """Gives the rules of the same table where each seat draws from a part of the wall."""
    return dataclasses.replace(rules, wall_mode="stable_draw")


def with_own_walls(state: State, rules: Rules) -> State:
    """Shares what is left of the wall out among the seats, so that each has its own next draws.

    A claim then no longer changes what the others draw: two continuations of one state differ by
    what the decision changes, and less by chance. Tiles are as likely in any order as before; only
    a seat that draws much more often than the others runs out before the wall does.

    Args:
      state: of the rules' shared wall.
      rules: with `wall_mode="shared"`.

    Returns:
      The state under `own_walls(rules)`.
    """
    size, place = rules.sub_wall_size, np.arange(rules.num_tiles, dtype=np.int32)
    seats = np.arange(NUM_SEATS, dtype=np.int32)
    left = state.tail - state.head + 1
    num = jnp.minimum((left + NUM_SEATS - 1 - seats) // NUM_SEATS, size)
    gone = size - num
    start = jnp.cumsum(num, dtype=jnp.int32) - num
    seat = np.clip((place - rules.num_dealt) // size, 0, NUM_SEATS - 1)
    nth = place - rules.num_dealt - size * seat - gone[seat]
    source = jnp.clip(state.head + start[seat] + nth, 0, rules.num_tiles - 1)
    shares = [flowers.share(gone[seat], seat) for seat in range(NUM_SEATS)]
    return state.replace(
        wall=state.wall[source],
        sub_draws=functools.reduce(jnp.bitwise_or, shares),
        sub_replacements=jnp.uint32(0),
    )


def start(state: State, observation: Observation, action: Array, turns: int) -> Lane:
    """Makes a lane that begins with an action, int32[], whatever the rule would do.

    Args:
      state: seen by the seat to decide, whose points count, as `observation`.
      observation: the seat's.
      action: int32[] a legal id, or -1 for the rule's.
      turns: own turns after which the hand is valued as it stands; 0 plays to the end.
    """
    # A claim's own discard belongs to the same turn.
    is_claim = (action >= actions.CHOW_LOW) & (action <= actions.PONG)
    return Lane(
        state=state,
        seat=state.current_player,
        shown=tuple(packed.from_counts(4 - observation.unseen - observation.hand)),
        first=action,
        turns=np.int32(turns if turns > 0 else _FOREVER) + is_claim,
        is_done=jnp.bool_(False),
    )


def play(lanes: Lane, rules: Rules) -> Lane:
    """Plays all lanes [L] until they are done."""

    def play_block(block: Lane) -> Lane:
        def one_step(block: Lane, _: None) -> tuple[Lane, None]:
            action = choose(block.state, jnp.stack(block.shown, axis=-1), block.first)
            return jax.vmap(functools.partial(_advance, rules=rules))(block, action), None

        return jax.lax.scan(one_step, block, None, _STEPS)[0]

    def one_round(lanes: Lane) -> Lane:
        played = map_where(play_block, ~lanes.is_done, lanes, _BLOCK)
        return jax.vmap(_where)(lanes.is_done, lanes, played)

    return jax.lax.while_loop(lambda lanes: jnp.any(~lanes.is_done), one_round, lanes)


def results(lanes: Lane, value: ValueFunction, params: object, rules: Rules) -> Array:
    """Gives the points of each lane's seat, in lanes that are done: float32[L].

    Of a hand that ended, those paid; of one that stands at an own turn, its value.
    """
    stands = jax.vmap(functools.partial(value_of, value, params, rules=rules))
    return jnp.where(lanes.state.terminated, paid(lanes, rules), stands(lanes))


def paid(lanes: Lane, rules: Rules) -> Array:
    """Gives what each lane's seat is paid, where its hand has ended: float32[L]."""

    def one(state: State, seat: Array) -> Array:
        return score.settle(state, rules)[seat].astype(jnp.float32)

    return jax.vmap(one)(lanes.state, lanes.seat)


def value_of(value: ValueFunction, params: object, lane: Lane, rules: Rules) -> Array:
    """Values the hand of a lane's seat at its own turn: float32[]."""
    state, seat = lane.state, lane.seat
    own = jnp.stack(state.hands.row(seat))
    seen = observe(state, seat, rules)
    seen = seen.replace(unseen=_unseen(jnp.stack(lane.shown), own, jnp.int8))
    num_melds = distance_melds(own)
    own = jnp.where(state.terminated, np.uint32(0), own)
    position = Position(
        hand=own,
        chows=jnp.stack(state.chows.row(seat)),
        sets=jnp.stack(state.sets.row(seat)),
        num_melds=num_melds,
        draws=jnp.int32(0),
    )
    positions = jax.tree.map(lambda x: x[None], position)
    assert value.best is not None, "playouts are valued by functions that know their best"
    return value.best(params, value.prepare(params, seen), positions)[0]


def choose(states: State, shown: Array, given: Array) -> Array:
    """Chooses by the rule, where nothing is given: int32[L].

    Args:
      states: [L, ...].
      shown: uint32[L, S] as `Lane.shown`.
      given: int32[L] actions, or -1.
    """
    look = jax.vmap(_look)(states, shown)
    look = look._replace(action=jnp.where(given >= 0, given, look.action))
    wanted = look.candidates & (look.action < 0)[:, None]
    lanes = jnp.arange(wanted.size, dtype=jnp.int32)

    def count(lane: Array) -> Array:
        place, kind = lane // NUM_KINDS, lane % NUM_KINDS
        left = look.hand[place] - jnp.asarray(_TILES)[kind]
        count_one = jax.vmap(distance.count_accepting)
        return count_one(left, look.num_melds[place], look.unseen[place])[1]

    accepting = map_where(count, wanted.reshape(-1), lanes, _HANDS).reshape(wanted.shape)
    discard = jnp.argmax(jnp.where(wanted, accepting, -1), axis=-1).astype(jnp.int32)
    return jnp.where(look.action < 0, discard, look.action)


def _look(state: State, shown: Array) -> Choice:
    """Decides all but which discard accepts most."""
    own = jnp.stack(state.hands.row(state.current_player))
    num_melds = distance_melds(own)
    is_asked = state.queue != 0
    after = stage(distance.deficiency_after_discards, own, num_melds)
    lowest = jnp.min(after)
    now = jnp.where(is_asked, stage(distance.deficiency, own, num_melds), lowest)
    claim = stage(_best_claim, state, own, num_melds, now)
    kong = stage(_best_kong, state, own, num_melds, now)
    calls = state.legal[actions.CALL_WORD]
    action = jnp.where(is_asked, claim, kong)
    action = jnp.where(calls & _WIN_BIT > 0, actions.WIN, action)
    return Choice(
        action=jnp.where(state.terminated, actions.WIN, action),
        candidates=after == lowest,
        hand=own,
        num_melds=num_melds,
        unseen=_unseen(shown, own, jnp.int32),
    )


def _best_claim(state: State, own: Array, num_melds: Array, now: Array) -> Array:
    """Returns the claim that leaves the lowest deficiency below `now`, or PASS: int32[]."""
    bare = options.Own(own, jnp.zeros_like(own), jnp.zeros_like(own), num_melds)
    claimed = options.after_claims(bare, state.pending)
    konged = options.after_open_kong(bare, state.pending)
    hands = jnp.concatenate([claimed.hand, konged.hand[None]])
    allowed = state.legal[actions.CALL_WORD] & _CLAIM_BITS > 0
    hands = jnp.where(allowed[:, None], hands, np.uint32(0))
    after = jax.vmap(distance.deficiency, (0, None))(hands, num_melds + 1)
    after = jnp.where(allowed, after, _FAR)
    best = jnp.argmin(after)
    return jnp.where(after[best] < now, jnp.asarray(_CLAIMS)[best], actions.PASS).astype(jnp.int32)


def _best_kong(state: State, own: Array, num_melds: Array, now: Array) -> Array:
    """Returns a kong that leaves the hand lacking no more than now, or -1: int32[]."""
    words = jnp.stack(state.legal[: actions.CALL_WORD])
    fours, adds = ((words >> shift) & packed.MARKS for shift in (1, 2))
    best = jnp.int32(-1)
    for marks, copies, first, melds in (
        (adds, 1, actions.ADDED_KONG, num_melds),
        (fours, 4, actions.CONCEALED_KONG, num_melds + 1),
    ):
        kind = jnp.argmax(packed.to_counts(marks) > 0).astype(jnp.int32)
        is_legal = jnp.any(marks > 0)
        left = own - np.uint32(copies) * jnp.asarray(_TILES)[kind]
        left = jnp.where(is_legal, left, np.uint32(0))
        is_as_near = is_legal & (distance.deficiency(left, melds) <= now)
        best = jnp.where(is_as_near, first + kind, best)
    return best


def _advance(lane: Lane, action: Array, rules: Rules) -> Lane:
    """Carries out one action, unless the lane is done."""
    before = lane.state
    after = advance(before, action, rules)
    has_drawn = (after.head != before.head) | (after.tail != before.tail)
    drawn = packed.in_suit(packed.suit_of(after.drawn), packed.tile(jnp.maximum(after.drawn, 0)))
    drawn = jnp.where(has_drawn & ~after.terminated, drawn, np.uint32(0))
    shown = tuple(
        word + sum_of(old) + new - sum_of(now)
        for word, old, new, now in zip(
            lane.shown, _by_suit(before), drawn, _by_suit(after), strict=True
        )
    )
    is_own_turn = (after.current_player == lane.seat) & (after.queue == 0) & ~after.terminated
    turns = lane.turns - is_own_turn
    can_win = after.legal[actions.CALL_WORD] & _WIN_BIT > 0
    stands = is_own_turn & (turns <= 0) & ~can_win
    played = Lane(
        after, lane.seat, shown, jnp.full_like(action, -1), turns, after.terminated | stands
    )
    return _where(lane.is_done, lane, played)


def _by_suit(state: State) -> list[tuple[Array, ...]]:
    """Lists each suit's words of the four hands."""
    return list(zip(*state.hands.rows, strict=True))


def sum_of(words: Words) -> Array:
    """Adds words."""
    return functools.reduce(jnp.add, words)


def _unseen(shown: Array, own: Array, dtype: type) -> Array:
    """Counts what a seat does not see, from uint32[S] and its hand uint32[S]: int[T]."""
    return (4 - packed.to_counts(shown + own)).astype(dtype)


def distance_melds(own: Array) -> Array:
    """Counts the sets that a hand uint32[S] need not make any more: int32[]."""
    return 5 - jnp.sum(packed.num_tiles(own), dtype=jnp.int32) // 3


def _where(cond: Array, yes: Lane, no: Lane) -> Lane:
    """Chooses between lanes."""
    return jax.tree.map(lambda a, b: jnp.where(cond, a, b), yes, no)
