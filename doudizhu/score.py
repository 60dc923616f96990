"""What a game pays: win or loss, or points doubled by bombs and spring.

P = 3 players.
"""

import jax
import jax.numpy as jnp
import numpy as np

from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import LANDLORD, NUM_PLAYERS, State

Array = jax.Array


def rewards(state: State, rules: Rules = DEFAULT) -> Array:
    """Pays a game that is over.

    Args:
      state: one game; it may have been played under another scoring.
      rules: the table's rules.

    Returns:
      float32[P], zeros while the game runs. `wp`: 1 to each winner, -1 to each loser. `adp`: 2 to
      the landlord and -1 to each peasant, or the reverse, doubled by each bomb and by the spring.
    """
    is_landlord = np.arange(NUM_PLAYERS) == LANDLORD
    landlord_won = state.winner == LANDLORD
    sign = jnp.where(is_landlord == landlord_won, 1, -1)
    if rules.scoring == "adp":
        doublings = state.bombs
        if rules.spring:
            doublings = doublings + is_spring(state).astype(jnp.int32)
        sign = sign * np.where(is_landlord, 2, 1) << doublings
    return jnp.where(state.winner >= 0, sign, 0).astype(jnp.float32)


def is_spring(state: State) -> Array:
    """Tells whether the losing side never got to play, the landlord's lead apart: bool[]."""
    landlord_won = state.winner == LANDLORD
    no_peasant_played = jnp.sum(state.plays) == state.plays[LANDLORD]
    return (state.winner >= 0) & jnp.where(
        landlord_won, no_peasant_played, state.plays[LANDLORD] == 1
    )
