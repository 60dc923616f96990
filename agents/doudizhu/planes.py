"""What the network sees: 15 ranks x 15 categories x 29 planes, the last of them the candidate.

The patent gives the size alone, and that own hand, played cards and numbers of cards are in it;
what each plane holds is our reading. A move is a plane with its cards in the column of its
category, each count divided by 4; a pass is a column of ones. Everything is seen from the player:
0 self, 1 the next, 2 the one before.

| layout | planes 1-27 |
|---|---|
| `A` | played cards of each player (3), numbers of cards left (3), moves of the last 7 rounds (21) |
| `B` | numbers of cards left (3), moves of the last 8 rounds (24) |
| `C` | played cards of each player, its number of cards left in the column of the pass (3), moves of the last 8 rounds (24) |

Plane 0 is the own hand: counts in the column of the solos, and in each other column ones where a
rank is among the main cards of something the hand could lead.

R = 15 ranks, C = 15 categories, T = rounds, G = groups.
"""  # noqa: E501

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from doudizhu import groups
from doudizhu.cards import NUM_RANKS
from doudizhu.moves import CATEGORIES, PASS, all_moves
from doudizhu.observe import Observation
from doudizhu.state import HAND_SIZES, MAX_PLIES, NUM_PLAYERS
from mjx.stage import stage

Array = jax.Array

LAYOUTS = ("A", "B", "C")
NUM_PLANES = 29
NUM_CATEGORIES = len(CATEGORIES)
SHAPE = (NUM_RANKS, NUM_CATEGORIES, NUM_PLANES)
_SOLO, _PASS = CATEGORIES.index("solo"), CATEGORIES.index("pass")
_MAX_ROUNDS = -(-MAX_PLIES // NUM_PLAYERS)
_MOST_CARDS = HAND_SIZES[0]


class View(NamedTuple):
    """All that the planes of a state are made of, small enough to be kept."""

    hand: Array  # int8[R]  own cards
    history: Array  # int16[MAX_PLIES]  all moves in order, -1 where none yet
    role: Array  # int8[]  0 landlord, 1 the peasant after it, 2 the one before it


def view_of(observation: Observation) -> View:
    """Keeps what is needed of an observation."""
    return View(observation.hand, observation.history, observation.role.astype(jnp.int8))


def state_planes(view: View, layout: str = "A") -> Array:
    """Makes the planes of a state: float32[R, C, 28], all but the candidate's."""
    rounds = _rounds(view)
    cards, columns = _cards(rounds), _columns(rounds)
    total = jnp.einsum("tpr,tpc->rcp", cards, columns)  # a pass has no cards
    left = _num_left(view, cards)
    left_planes = jnp.broadcast_to(left, (NUM_RANKS, NUM_CATEGORIES, NUM_PLAYERS))
    own = stage(_hand_plane, view.hand)[..., None]
    if layout == "A":
        parts = [own, total, left_planes, _last(rounds, 7)]
    elif layout == "B":
        parts = [own, left_planes, _last(rounds, 8)]
    else:
        is_pass = (np.arange(NUM_CATEGORIES) == _PASS)[None, :, None]
        parts = [own, jnp.where(is_pass, left_planes, total), _last(rounds, 8)]
    return jnp.concatenate(parts, axis=-1)


def move_plane(move: Array) -> Array:
    """Makes the plane of a move int32[]: float32[R, C]; zeros of -1, no move."""
    cards, column = _cards(move), _columns(move)
    is_pass = (move == PASS)[..., None]
    return jnp.where(is_pass, 1.0, cards)[..., :, None] * column[..., None, :]


def _rounds(view: View) -> Array:
    """Sorts the history by round and player, self first: int32[T, 3], -1 where no move is."""
    room = _MAX_ROUNDS * NUM_PLAYERS - MAX_PLIES
    history = jnp.pad(view.history.astype(jnp.int32), (0, room), constant_values=-1)
    return jnp.roll(history.reshape(_MAX_ROUNDS, NUM_PLAYERS), -view.role.astype(jnp.int32), axis=1)


def _cards(move: Array) -> Array:
    """Counts the cards of moves int32[...], a quarter each: float32[..., R]."""
    counts = jnp.asarray(all_moves().counts)[jnp.maximum(move, 0)].astype(jnp.float32)
    return jnp.where((move >= 0)[..., None], counts / 4, 0.0)


def _columns(move: Array) -> Array:
    """Marks the categories of moves int32[...]: float32[..., C]."""
    category = jnp.asarray(all_moves().category).astype(jnp.int32)[jnp.maximum(move, 0)]
    shape = (1,) * move.ndim + (NUM_CATEGORIES,)
    is_column = np.arange(NUM_CATEGORIES).reshape(shape) == category[..., None]
    return jnp.where((move >= 0)[..., None], is_column, False).astype(jnp.float32)


def _num_left(view: View, cards: Array) -> Array:
    """Counts the cards that each player has left, in twentieths: float32[3], self first."""
    played = 4 * jnp.sum(cards, axis=(0, 2))
    dealt = jnp.roll(jnp.asarray(HAND_SIZES, jnp.float32), -view.role.astype(jnp.int32))
    return (dealt - played) / _MOST_CARDS


def _last(rounds: Array, num: int) -> Array:
    """Makes planes of the newest moves of each player, newest first: float32[R, C, 3 num]."""
    made = jnp.sum(rounds >= 0, axis=0)  # moves of each player
    place = made[None, :] - 1 - np.arange(num)[:, None]
    newest = jnp.take_along_axis(rounds, jnp.maximum(place, 0), axis=0)
    newest = jnp.where(place >= 0, newest, -1).reshape(-1)
    return jnp.moveaxis(move_plane(newest), 0, -1)


def _hand_plane(hand: Array) -> Array:
    """Makes the plane of the own hand: float32[R, C]."""
    could_lead = groups.groups_of(hand, jnp.int32(PASS)).astype(jnp.float32)
    marks = (could_lead @ jnp.asarray(_marks())).reshape(NUM_RANKS, NUM_CATEGORIES) > 0
    is_solo = (np.arange(NUM_CATEGORIES) == _SOLO)[None, :]
    return jnp.where(is_solo, hand[:, None].astype(jnp.float32) / 4, marks.astype(jnp.float32))


@functools.cache
def _marks() -> np.ndarray:
    """Marks the main ranks of each group in the column of its category: float32[G, R * C]."""
    found = np.zeros((len(all_moves().groups), NUM_RANKS, NUM_CATEGORIES), np.float32)
    for index, group in enumerate(all_moves().groups):
        found[index, np.array(group.main) > 0, group.category] = 1.0
    return found.reshape(len(found), -1)
