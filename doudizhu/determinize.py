"""A state that a player's observation allows, drawn at random.

P = 3 players counted from the observer, R = 15 ranks.
"""

import jax
import jax.numpy as jnp
import numpy as np

from doudizhu import cards
from doudizhu.observe import Observation
from doudizhu.state import LANDLORD, NUM_PLAYERS, State

Array = jax.Array

_SLOTS = np.repeat(np.arange(cards.NUM_RANKS), cards.COPIES)  # a place for every card
_COPY = np.concatenate([np.arange(copies) for copies in cards.COPIES])  # its number in its rank

_NUMBER = np.arange(cards.NUM_CARDS, dtype=np.uint32)


def determinize(key: Array, observation: Observation) -> State:
    """Deals the unseen cards to the two other players.

    A peasant knows that the landlord still holds the bottom cards it has not played. All other
    unseen cards are split with equal chances, by the sizes of the hands alone: what the players
    chose to play says nothing here.

    Args:
      key: typed key.
      observation: what one player sees.

    Returns:
      A state in which that player sees the same; the others are numbered as at the table, and
      `rewards` are zero.
    """
    landlord = (LANDLORD - observation.role) % NUM_PLAYERS  # as we count, 0 for ourselves
    left = jnp.maximum(observation.bottom - observation.played[landlord], 0)
    known = jnp.where(landlord > 0, left, 0).astype(jnp.int8)  # held by the landlord for sure
    free = observation.unseen - known
    of_next = jnp.where(landlord == 1, known, 0)
    num_next = observation.num_cards[1] - jnp.sum(of_next, dtype=jnp.int32)
    next_hand = of_next + _draw(key, free, num_next)
    hands = jnp.stack([observation.hand, next_hand, observation.unseen - next_hand])

    def turned(field: Array) -> Array:
        return jnp.roll(field, observation.role, axis=0)

    def absolute(player: Array) -> Array:
        return jnp.where(player < 0, -1, (player + observation.role) % NUM_PLAYERS)

    is_out = observation.num_cards == 0
    return State(
        current_player=absolute(observation.current_player),
        terminated=jnp.any(is_out),
        rewards=jnp.zeros(NUM_PLAYERS, jnp.float32),
        hands=turned(hands.astype(jnp.int8)),
        played=turned(observation.played),
        bottom=observation.bottom,
        to_beat=observation.to_beat,
        owner=absolute(observation.owner),
        passes=observation.passes,
        bombs=observation.bombs,
        plays=turned(observation.plays),
        history=observation.history,
        num_plies=observation.num_plies,
        winner=absolute(jnp.where(jnp.any(is_out), jnp.argmax(is_out), -1)).astype(jnp.int32),
    )


def _draw(key: Array, pile: Array, num: Array) -> Array:
    """Draws cards from a pile int8[R], all choices with equal chances: int8[R]."""
    is_there = pile[_SLOTS] > _COPY
    # Ranks of different random numbers by counting: a sort takes ten times as long on a CPU.
    number = jax.random.bits(key, _SLOTS.shape) & ~np.uint32(63) | _NUMBER
    is_before = (number[None, :] < number[:, None]) & is_there[None, :]
    is_drawn = is_there & (jnp.sum(is_before, axis=1, dtype=jnp.int32) < num)
    of_rank = np.arange(cards.NUM_RANKS)[:, None] == _SLOTS[None, :]
    return jnp.sum(of_rank & is_drawn[None, :], axis=1, dtype=jnp.int8)
