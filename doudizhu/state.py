"""One game as an immutable pytree, and how it is dealt.

P = 3 players, numbered in turn order: 0 the landlord, 1 the peasant after it, 2 the one before
it. R = 15 ranks, H = most plies of a game.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from doudizhu import cards
from doudizhu.moves import PASS
from mjx import chance

Array = jax.Array

NUM_PLAYERS = 3
LANDLORD, DOWN, UP = range(NUM_PLAYERS)
HAND_SIZES = (20, 17, 17)
NUM_BOTTOM = 3
# All cards but one of each of the two who do not win, singly, and two passes between two of them.
MAX_PLIES = 52 + 2 * 51
_ALL_CARDS = np.repeat(np.arange(cards.NUM_RANKS), cards.COPIES)


class State(struct.PyTreeNode):
    """One game. Holds no key: all chance is in the deal, which no policy ever sees."""

    current_player: Array  # int32[]      who moves
    terminated: Array  # bool[]
    rewards: Array  # float32[P]   won by the last step; zero but at the end

    hands: Array  # int8[P,R]    cards held
    played: Array  # int8[P,R]    cards each has played
    bottom: Array  # int8[R]      the three cards shown to all, dealt to the landlord

    to_beat: Array  # int32[]      the move to beat; PASS where the player leads
    owner: Array  # int32[]      who made it, or made the one that all passed; -1 at the start
    passes: Array  # int32[]      passes since then: 0 or 1, 2 where its owner leads again

    bombs: Array  # int32[]      bombs played, the rocket among them
    plays: Array  # int32[P]     moves but passes, by player
    history: Array  # int16[H]     all moves in order, -1 where none yet; player = ply modulo 3
    num_plies: Array  # int32[]
    winner: Array  # int32[]      whose hand is empty, else -1


def shuffle(key: Array) -> Array:
    """Shuffles the cards: int8[54] ranks."""
    return chance.shuffle(key, jnp.asarray(_ALL_CARDS, jnp.int8))


def deal(deck: Array) -> State:
    """Deals a deck.

    Args:
      deck: int8[54] ranks: 17 for each player in turn, then the bottom cards.

    Returns:
      The state in which the landlord leads on 20 cards.
    """
    num_dealt = HAND_SIZES[UP]
    piles = [deck[num_dealt * player : num_dealt * (player + 1)] for player in range(NUM_PLAYERS)]
    hands = jnp.stack([_count(pile) for pile in piles])
    bottom = _count(deck[num_dealt * NUM_PLAYERS :])
    return start(hands.at[LANDLORD].add(bottom), bottom)


def start(hands: Array, bottom: Array) -> State:
    """Begins a game with hands int8[P, R], the landlord's with the bottom cards int8[R]."""
    return State(
        current_player=jnp.int32(LANDLORD),
        terminated=jnp.bool_(False),
        rewards=jnp.zeros(NUM_PLAYERS, jnp.float32),
        hands=hands,
        played=jnp.zeros_like(hands),
        bottom=bottom,
        to_beat=jnp.int32(PASS),
        owner=jnp.int32(-1),
        passes=jnp.int32(0),
        bombs=jnp.int32(0),
        plays=jnp.zeros(NUM_PLAYERS, jnp.int32),
        history=jnp.full(MAX_PLIES, -1, jnp.int16),
        num_plies=jnp.int32(0),
        winner=jnp.int32(-1),
    )


def hand_of(state: State) -> Array:
    """Gives the hand of the player whose turn it is: int8[R].

    Raises:
      ValueError: a batch of games.
    """
    if jnp.ndim(state.current_player):
        raise ValueError("This is asked of one game: vmap it over a batch of states.")
    is_ours = np.arange(NUM_PLAYERS) == state.current_player
    return jnp.sum(jnp.where(is_ours[:, None], state.hands, 0), axis=0, dtype=jnp.int8)


def _count(pile: Array) -> Array:
    """Counts the ranks of a pile int8[N]: int8[R]."""
    return jnp.sum(pile[:, None] == np.arange(cards.NUM_RANKS)[None, :], axis=0, dtype=jnp.int8)
