"""One move: its effect on the table, then whose turn it is, or the end of the game.

P = 3 players, R = 15 ranks.
"""

import jax
import jax.numpy as jnp
import numpy as np

from doudizhu import legal, score
from doudizhu import state as st
from doudizhu.checks import check_deck, check_hands, check_move
from doudizhu.moves import FIRST_BOMB, PASS, all_moves
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import NUM_PLAYERS, State

Array = jax.Array


def init(key: Array) -> State:
    """Shuffles and deals one game; player 0 is the landlord and leads.

    Args:
      key: typed key; all chance of the game comes from it.
    """
    return st.deal(st.shuffle(key))


def init_from_deck(deck: Array) -> State:
    """Deals a given deck, int8[54] ranks: 17 for each player in turn, then the bottom cards.

    Raises:
      ValueError: not the 54 cards, where their values are known.
    """
    check_deck(deck)
    return st.deal(jnp.array(deck, jnp.int8))


def init_from_hands(hands: Array, bottom: Array) -> State:
    """Begins a game with given hands.

    Args:
      hands: int8[P, R] of 20, 17 and 17 cards, the landlord's with the bottom cards.
      bottom: int8[R] of 3 cards.

    Raises:
      ValueError: hands that cannot be dealt, where their values are known.
    """
    check_hands(hands, bottom)
    return st.start(jnp.array(hands, jnp.int8), jnp.array(bottom, jnp.int8))


def step(state: State, action: Array, rules: Rules = DEFAULT) -> State:
    """Carries out one move of `state.current_player`.

    A finished game is absorbing: it comes back as it is, with zero rewards. An illegal move raises
    where values are known; under a transformation, where nothing can be raised, it ends the game
    with NaN rewards for all and no winner, so that it cannot go unnoticed.

    Args:
      state: one game.
      action: int32[] an id of `doudizhu.moves`, legal in this state.
      rules: the table's rules.

    Returns:
      The next state, its `rewards` as `rules.scoring` says.

    Raises:
      ValueError: an illegal move outside of any transformation.
    """
    check_move(state, action, rules)
    action = jnp.asarray(action, jnp.int32)
    is_legal = legal.is_legal(state, action, rules) | state.terminated
    after = advance(state, jnp.where(is_legal, action, PASS))
    is_end = after.terminated & ~state.terminated
    paid = jnp.where(is_end, score.rewards(after, rules), jnp.float32(0))
    return after.replace(
        terminated=after.terminated | ~is_legal,
        rewards=jnp.where(is_legal, paid, jnp.float32(jnp.nan)),
    )


def advance(state: State, action: Array) -> State:
    """Carries out a legal move without paying: `rewards` stay as they are.

    What `step` is made of, for loops that pay finished games later. Any move leaves a finished
    game as it is.
    """
    action = jnp.where(state.terminated, PASS, action)
    is_play = action != PASS
    cards = jnp.asarray(all_moves().counts)[action]  # none of a pass
    is_mover = np.arange(NUM_PLAYERS) == state.current_player
    moved = jnp.where(is_mover[:, None], cards[None, :], jnp.int8(0))
    hands = state.hands - moved
    is_out = is_play & jnp.any(is_mover & ~jnp.any(hands > 0, axis=1))
    passes = jnp.where(is_play, 0, state.passes + 1)
    is_over = state.terminated | is_out
    goes_on = (~state.terminated).astype(jnp.int32)
    ply = jnp.minimum(state.num_plies, st.MAX_PLIES - 1)
    entry = jnp.where(state.terminated, state.history[ply], action.astype(jnp.int16))
    return state.replace(
        current_player=jnp.where(
            is_over, state.current_player, (state.current_player + 1) % NUM_PLAYERS
        ),
        terminated=is_over,
        hands=hands,
        played=state.played + moved,
        to_beat=jnp.where(
            state.terminated | ((action == PASS) & (passes < 2)), state.to_beat, action
        ),
        owner=jnp.where(is_play, state.current_player, state.owner),
        passes=jnp.where(state.terminated, state.passes, passes),
        bombs=state.bombs + ((action >= FIRST_BOMB) & is_play).astype(jnp.int32),
        plays=state.plays + (is_mover & is_play).astype(jnp.int32),
        history=state.history.at[ply].set(entry),
        num_plies=state.num_plies + goes_on,
        winner=jnp.where(is_out, state.current_player, state.winner),
    )
