"""The matcher (section 2.2): intentions meet the actions that are legal.

B = decisions, S = 4 suits of the paper, T = 34 kinds, A = 110 actions.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.bdi import intentions, take_out, tile_bytes
from agents.bdi.belief import Belief
from agents.bdi.intentions import Intentions
from agents.bdi.quintuple import find_pair, need_with_pair
from agents.bdi.settings import Settings
from agents.bdi.take_out import TakeOut
from agents.worklist import map_where
from mjx import actions, packed
from mjx.packed import BITS
from mjx.tiles import NUM_KINDS

Array = jax.Array

NO_GAIN = -99  # of what is not legal, or gives the goal up
_CALLS = (
    *(actions.CHOW_LOW, actions.CHOW_MIDDLE, actions.CHOW_HIGH),
    *(actions.PONG, actions.OPEN_KONG),
)
_NUM_OFFERS = len(_CALLS) + NUM_KINDS  # calls, then kongs in the own turn by kind
_BLOCK = 512

# Scores: what is higher up goes first.
_WIN = np.int32(5_000_000)
_READY = np.int32(4_000_000)
_CLAIM = np.int32(3_000_000)
_PASS = np.int32(2_000_000)
_WISH = np.int32(100_000)
_DISCARD = np.int32(1_000)
_ILLEGAL = np.int32(-1_000)


class _Stand(NamedTuple):
    """What a claim may change: tiles and what they lack for the chosen goal."""

    tiles: Array  # uint32[S]
    obtainable: Array  # uint32[S]
    need: TakeOut  # int32[S]
    chosen: Array  # int32[]


def behaviours(legal: Array) -> Array:
    """Packs what may be done into the paper's byte of flags (section 3.6): uint8[].

    Bits 0 discard, 1 chow, 2 pong, 3 kong, 4 win, 5 pass, 6 declare ready. The robot itself goes
    by the mask bool[A], which says of which tile as well.
    """
    kongs = jnp.concatenate(
        [legal[actions.CONCEALED_KONG : actions.CHOW_LOW], legal[actions.OPEN_KONG, None]]
    )
    flags = [
        jnp.any(legal[: actions.CONCEALED_KONG]),
        jnp.any(legal[actions.CHOW_LOW : actions.PONG]),
        legal[actions.PONG],
        jnp.any(kongs),
        legal[actions.WIN],
        legal[actions.PASS],
        legal[actions.DECLARE_READY],
    ]
    return jnp.sum(jnp.stack(flags) * (1 << np.arange(len(flags), dtype=np.uint8))).astype(
        jnp.uint8
    )


def gains(belief: Belief, chosen: Array, pending: Array, legal: Array, settings: Settings) -> Array:
    """Says by how much each chow, pong and kong lowers what the chosen goal takes.

    Args:
      belief: leading axis B.
      chosen: int32[B] goal.
      pending: int32[B] tile asked about, or -1.
      legal: bool[B, A].
      settings: of the robot.

    Returns:
      int32[B, A], `NO_GAIN` for what is not legal, discards included, and without a goal.
    """
    kept = jax.vmap(intentions.arrangement)(belief, chosen)
    stand = _Stand(belief.memory.tiles, belief.memory.obtainable, kept.need, chosen)
    concealed = legal[:, actions.CONCEALED_KONG : actions.ADDED_KONG]
    added = legal[:, actions.ADDED_KONG : actions.CHOW_LOW]
    calls = legal[:, np.array(_CALLS)]
    # A robot without a goal claims nothing.
    wanted = jnp.concatenate([calls, concealed | added], axis=1) & (chosen >= 0)[:, None]

    def look(lane: Array) -> Array:
        decision, offer = lane // _NUM_OFFERS, lane % _NUM_OFFERS
        here = jax.tree.map(lambda x: x[decision], stand)
        after = jax.vmap(_gain, (0, 0, 0, None))
        # Above zero, so that what was not looked at stands out.
        return after(here, pending[decision], offer, settings) - NO_GAIN

    lanes = jnp.arange(wanted.size, dtype=jnp.int32)
    found = map_where(look, wanted.reshape(-1), lanes, _BLOCK).reshape(wanted.shape) + NO_GAIN
    of_calls, of_kongs = found[:, : len(_CALLS)], found[:, len(_CALLS) :]
    no_discard = jnp.full_like(of_kongs, NO_GAIN)
    others = jnp.full_like(of_calls[:, : actions.NUM_ACTIONS - actions.WIN], NO_GAIN)
    every = jnp.concatenate([no_discard, of_kongs, of_kongs, of_calls, others], axis=1)
    return jnp.where(legal, every, NO_GAIN)


def scores(wishes: Intentions, gain: Array, legal: Array, settings: Settings) -> Array:
    """Scores the actions of one decision: int32[A], the highest is played.

    A win or a declaration is always taken; a chow, pong or kong if its gain is at least
    `1 - temper`, the highest gain first; else a tile to throw, the most urgent first.
    """
    kinds = (tile_bytes.SUIT, tile_bytes.RANK)
    counts = (wishes.throw[tile_bytes.SUIT] >> (BITS * tile_bytes.RANK).astype(np.uint32)) & 7
    discards = _DISCARD + wishes.urgency[kinds] + jnp.where(counts > 0, _WISH, 0)
    others = jnp.zeros(actions.NUM_ACTIONS - NUM_KINDS, jnp.int32)
    score = jnp.concatenate([discards, others])
    is_claim = (gain > NO_GAIN) & (gain.astype(jnp.float32) >= 1 - settings.temper)
    score = jnp.where(is_claim, _CLAIM + gain, score)
    last = jnp.stack([_WIN, _PASS, _READY])
    score = jnp.concatenate([score[: actions.WIN], last])
    return jnp.where(legal, score, _ILLEGAL)


def _gain(stand: _Stand, pending: Array, offer: Array, settings: Settings) -> Array:
    """Finds the gain of one offer: int32[]."""
    is_call = offer < len(_CALLS)
    kind = jnp.where(is_call, jnp.maximum(pending, 0), offer - len(_CALLS))
    suit = jnp.asarray(tile_bytes.SUIT)[kind]
    before = stand.tiles[suit]
    after = before - _leaving(before, kind, offer)
    obtainable, is_number = stand.obtainable[suit], suit < tile_bytes.HONOURS
    rearrange = settings.strategy.rearrange
    holds_pair = suit == stand.chosen
    pair = jnp.where(holds_pair, find_pair(after, obtainable, is_number, rearrange), 0)
    rest = rearrange(after - pair, obtainable, is_number).need
    with_pair = need_with_pair(after, pair, rest)
    need = jax.tree.map(lambda a, b: jnp.where(holds_pair, a, b), with_pair, rest)
    was = jax.tree.map(lambda x: x[suit], stand.need)
    gain = take_out.cost(was, settings.weight) - take_out.cost(need, settings.weight)
    if settings.empty_goals:
        return gain
    return jnp.where(holds_pair & (after == 0), NO_GAIN, gain)


def _leaving(word: Array, kind: Array, offer: Array) -> Array:
    """Lists the tiles that an offer takes out of the hand's suit: uint32[], a word."""
    unit = packed.tile(kind)
    higher, lower = unit << BITS, unit >> BITS
    every = packed.count_in(word, kind) * unit
    by_call = [
        higher + (higher << BITS),
        lower + higher,
        lower + (lower >> BITS),
        2 * unit,
        3 * unit,
    ]
    return jnp.stack([*by_call, every])[jnp.minimum(offer, len(_CALLS))]
