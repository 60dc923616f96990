"""A table as text; plain Python on the host."""

import jax
import numpy as np

from doudizhu import cards
from doudizhu.checks import check_player
from doudizhu.moves import PASS, to_text
from doudizhu.state import NUM_PLAYERS, State

ROLES = ("landlord", "landlord-down", "landlord-up")


def render(state: State, player: int | None = None) -> str:
    """Draws the table.

    Args:
      state: one game, not a batch.
      player: shows the hand of this player only; by default all.

    Returns:
      Lines of text: the bottom cards and what is to beat, then for each player hand and moves.

    Raises:
      ValueError: a batch of states, or a player that does not exist.
    """
    if np.ndim(state.terminated):
        raise ValueError("render draws one game: pick one of the batch with jax.tree.map.")
    if player is not None:
        check_player(player)
    state = jax.device_get(state)
    bottom = cards.format(state.bottom.tolist())
    lines = [f"bottom {bottom} · bombs {int(state.bombs)} · {_question(state)}"]
    for p, role in enumerate(ROLES):
        hand = cards.format(state.hands[p].tolist())
        shown = hand if player in (None, p) else f"({len(hand)} cards)"
        turn = not state.terminated and int(state.current_player) == p
        lines.append(f"{'>' if turn else ' '} {p} {role:<13}  {shown}".rstrip())
        made = state.history[p : int(state.num_plies) : NUM_PLAYERS]
        lines.append(f"      {' '.join(to_text(int(move)) for move in made)}".rstrip())
    if state.terminated:
        lines.append(_end(state))
    return "\n".join(lines)


def _question(state: State) -> str:
    """Says what the player has to beat."""
    if state.terminated or int(state.to_beat) == PASS:
        return "over" if state.terminated else "lead"
    return f"to beat {to_text(int(state.to_beat))} of {int(state.owner)}"


def _end(state: State) -> str:
    """Says how the game ended."""
    if state.winner < 0:
        return "end: illegal move"
    side = "the landlord wins" if state.winner == 0 else "the peasants win"
    return f"end: {side} · rewards {', '.join(f'{reward:+g}' for reward in state.rewards)}"
