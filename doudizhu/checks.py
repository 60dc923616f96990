"""What `init`, `step` and `observe` refuse, where values are known: outside of transformations."""

import jax
import jax.numpy as jnp
import numpy as np

from doudizhu import cards, legal
from doudizhu.cards import COPIES, NUM_RANKS
from doudizhu.moves import NUM_MOVES, PASS, all_moves, to_text
from doudizhu.rules import Rules
from doudizhu.state import HAND_SIZES, NUM_BOTTOM, NUM_PLAYERS, State

Array = jax.Array


def check_deck(deck: Array) -> None:
    """Refuses a deck of the wrong shape, or of the wrong cards."""
    if np.shape(deck) != (cards.NUM_CARDS,):
        raise ValueError(f"A deck is {cards.NUM_CARDS} ranks, not an array {np.shape(deck)}.")
    if isinstance(deck, jax.core.Tracer):
        return
    if not np.array_equal(np.sort(np.asarray(deck)), np.repeat(np.arange(NUM_RANKS), COPIES)):
        raise ValueError("A deck holds each of the ranks 0 to 12 four times, 13 and 14 once.")


def check_hands(hands: Array, bottom: Array) -> None:
    """Refuses hands that cannot be dealt."""
    if np.shape(hands) != (NUM_PLAYERS, NUM_RANKS) or np.shape(bottom) != (NUM_RANKS,):
        raise ValueError(
            f"Hands are counts [3, 15] and the bottom cards counts [15], not arrays "
            f"{np.shape(hands)} and {np.shape(bottom)}."
        )
    if isinstance(hands, jax.core.Tracer) or isinstance(bottom, jax.core.Tracer):
        return
    dealt, shown = np.asarray(hands), np.asarray(bottom)
    if (dealt < 0).any() or (shown < 0).any():
        raise ValueError("Cards of a rank are 0 or more.")
    for rank, (held, copies) in enumerate(zip(dealt.sum(axis=0), COPIES, strict=True)):
        if held != copies:
            name = cards.RANKS[rank]
            raise ValueError(f"The hands hold {held} of {name} together; it is {copies}.")
    sizes = tuple(dealt.sum(axis=1).tolist())
    if sizes != HAND_SIZES:
        raise ValueError(f"Hands are {HAND_SIZES} cards, the landlord's first, not {sizes}.")
    if shown.sum() != NUM_BOTTOM or (shown > dealt[0]).any():
        raise ValueError(
            f"The bottom cards are {NUM_BOTTOM} cards of the landlord's hand "
            f"{cards.format(dealt[0].tolist())}, not {shown.tolist()}."
        )


def check_player(player: int | Array) -> None:
    """Refuses a player that does not exist, where it is known."""
    if isinstance(player, jax.core.Tracer):
        return
    known = np.asarray(player)
    if known.ndim or known.dtype.kind not in "iu" or not 0 <= known < NUM_PLAYERS:
        raise ValueError(f"player is 0 to {NUM_PLAYERS - 1}, not {player!r}.")


def check_move(state: State, action: Array, rules: Rules) -> None:
    """Refuses an illegal move."""
    if any(isinstance(x, jax.core.Tracer) for x in (state.hands, state.terminated, action)):
        return
    if np.ndim(action) or np.ndim(state.terminated):
        raise ValueError("step plays one game: vmap it over a batch of states and moves.")
    if not np.issubdtype(np.asarray(action).dtype, np.integer):
        raise ValueError(f"A move is an id, a whole number, not {action!r}.")
    move = int(action)
    if not 0 <= move < NUM_MOVES:
        raise ValueError(f"A move is an id of 0 to {NUM_MOVES - 1}, not {move}.")
    if not state.terminated and not legal.is_legal(state, jnp.int32(move), rules):
        raise ValueError(f"{to_text(move)} is not legal here: {_reason(state, move, rules)}.")


def _reason(state: State, move: int, rules: Rules) -> str:
    """Says why a move is not legal."""
    if move == PASS:
        return "who leads may not pass"
    hand = np.asarray(state.hands)[int(state.current_player)]
    moves = all_moves()
    if (moves.counts[move] > hand).any():
        return f"the hand is {cards.format(hand.tolist())}"
    if rules.strict and not moves.is_strict[move]:
        return "strict rules want solos of different ranks along with trios and quads"
    return f"it does not beat {to_text(int(state.to_beat))}"
