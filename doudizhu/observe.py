"""What a player may know: plain arrays, seen from the player itself.

P = 3 players counted from the observer (0 self, 1 the next to play), R = 15 ranks, H = plies, A =
moves.
"""

import jax
import jax.numpy as jnp
from flax import struct

from doudizhu import cards, legal
from doudizhu.checks import check_player
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import NUM_PLAYERS, State

Array = jax.Array


class Observation(struct.PyTreeNode):
    """All that one player may see and remember, and nothing else."""

    hand: Array  # int8[R]      own cards
    played: Array  # int8[P,R]    cards each has played
    unseen: Array  # int8[R]      cards in the two other hands
    num_cards: Array  # int32[P]     cards left in each hand
    bottom: Array  # int8[R]      the cards that were shown and went to the landlord
    role: Array  # int32[]      0 landlord, 1 the peasant after it, 2 the one before it
    current_player: Array  # int32[]      0: it is our turn
    to_beat: Array  # int32[]      the move to beat; PASS where the player leads
    owner: Array  # int32[]      who made it, or made the one that all passed; -1 at the start
    passes: Array  # int32[]      passes since then
    bombs: Array  # int32[]      bombs played, the rocket among them
    plays: Array  # int32[P]     moves but passes
    history: Array  # int16[H]     all moves in order, -1 where none yet; by role = ply modulo 3
    num_plies: Array  # int32[]
    legal_action_mask: Array  # bool[A]      ours; all false while another player moves


def observe(state: State, player: int | Array, rules: Rules = DEFAULT) -> Observation:
    """Shows a state to one player.

    Args:
      state: one game.
      player: int32[] observer, 0-2.
      rules: the table's rules.

    Returns:
      The observation; of the other hands it shows what all three have not played.

    Raises:
      ValueError: a player that does not exist, or a batch of games.
    """
    check_player(player)
    player = jnp.asarray(player, jnp.int32)

    def turned(field: Array) -> Array:
        return jnp.roll(field, -player, axis=0)

    def from_us(other: Array) -> Array:
        return jnp.where(other < 0, -1, (other - player) % NUM_PLAYERS)

    hand = state.hands[player]
    seen = hand + jnp.sum(state.played, axis=0, dtype=jnp.int8)
    is_ours = state.current_player == player
    # Of the player whose turn it is not, the mask is dropped: it shows nothing of another's hand.
    mask = legal.legal_action_mask(state, rules) & is_ours
    return Observation(
        hand=hand,
        played=turned(state.played),
        unseen=jnp.asarray(cards.COPIES, jnp.int8) - seen,
        num_cards=turned(jnp.sum(state.hands, axis=1, dtype=jnp.int32)),
        bottom=state.bottom,
        role=player,
        current_player=from_us(state.current_player),
        to_beat=state.to_beat,
        owner=from_us(state.owner),
        passes=state.passes,
        bombs=state.bombs,
        plays=turned(state.plays),
        history=state.history,
        num_plies=state.num_plies,
        legal_action_mask=mask,
    )
