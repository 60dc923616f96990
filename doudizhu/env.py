"""The game in pgx's shape, for code written against `pgx.Env`."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from doudizhu.legal import legal_action_mask
from doudizhu.moves import NUM_MOVES
from doudizhu.observe import Observation, observe
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import NUM_PLAYERS, State
from doudizhu.step import init, step

Array = jax.Array


class Timestep(NamedTuple):
    """What pgx calls a state: the game, and what its player sees and may do."""

    current_player: Array  # int32[]
    observation: Observation
    rewards: Array  # float32[3]   of the last step
    terminated: Array  # bool[]
    truncated: Array  # bool[]       never
    legal_action_mask: Array  # bool[A]      the pass alone at the end
    game: State


class DouDizhu:
    """One game as an environment: `init(key)`, `step(state, action, key)`, `observe(state)`."""

    id = "dou_dizhu"
    version = "v0"
    num_players = NUM_PLAYERS
    num_actions = NUM_MOVES

    def __init__(self, rules: Rules = DEFAULT) -> None:
        """Fixes the rules, which are static under jit."""
        self.rules = rules

    def init(self, key: Array) -> Timestep:
        """Deals a game."""
        return self._shown(init(key))

    def step(self, state: Timestep, action: Array, key: Array | None = None) -> Timestep:
        """Carries out one move. No chance is left after the deal: the key is not used."""
        del key
        return self._shown(step(state.game, action, self.rules))

    def observe(self, state: Timestep, player_id: Array | None = None) -> Observation:
        """Shows the state to a player, by default to the one that moves."""
        player = state.current_player if player_id is None else player_id
        return observe(state.game, player, self.rules)

    def _shown(self, game: State) -> Timestep:
        """Wraps a game."""
        return Timestep(
            current_player=game.current_player,
            observation=observe(game, game.current_player, self.rules),
            rewards=game.rewards,
            terminated=game.terminated,
            truncated=jnp.zeros_like(game.terminated),
            legal_action_mask=legal_action_mask(game, self.rules),
            game=game,
        )
