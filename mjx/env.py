"""The game in pgx's shape, for code written against `pgx.Env`."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from mjx.actions import NUM_ACTIONS
from mjx.observe import Observation, observe
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.step import init, step

Array = jax.Array


class Timestep(NamedTuple):
    """What pgx calls a state: the hand, and what its player sees and may do."""

    current_player: Array  # int32[]
    observation: Observation
    rewards: Array  # float32[4]   points of the last step
    terminated: Array  # bool[]
    truncated: Array  # bool[]       never
    legal_action_mask: Array  # bool[A]
    hand: State


class TaiwaneseMahjong:
    """One hand as an environment: `init(key)`, `step(state, action, key)`, `observe(state)`."""

    id = "taiwanese_mahjong"
    version = "v0"
    num_players = NUM_SEATS
    num_actions = NUM_ACTIONS

    def __init__(self, rules: Rules = DEFAULT) -> None:
        """Fixes the rules, which are static under jit."""
        self.rules = rules

    def init(self, key: Array) -> Timestep:
        """Deals a hand; dealer and round wind come from the key too, but a match has its start."""
        deal_key, seat_key = jax.random.split(key)
        if self.rules.hand_mode == "match":
            return self._shown(init(deal_key, self.rules))
        dealer, round_wind = jax.random.randint(seat_key, (2,), 0, NUM_SEATS)
        return self._shown(init(deal_key, self.rules, dealer, round_wind))

    def step(self, state: Timestep, action: Array, key: Array | None = None) -> Timestep:
        """Carries out one decision. No chance is left after the deal: the key is not used."""
        del key
        return self._shown(step(state.hand, action, self.rules))

    def observe(self, state: Timestep, player_id: Array | None = None) -> Observation:
        """Shows the state to a seat, by default to the one that acts."""
        seat = state.current_player if player_id is None else player_id
        return observe(state.hand, seat, self.rules)

    def _shown(self, hand: State) -> Timestep:
        """Wraps a hand."""
        return Timestep(
            current_player=hand.current_player,
            observation=observe(hand, hand.current_player, self.rules),
            rewards=hand.rewards,
            terminated=hand.terminated,
            truncated=jnp.zeros_like(hand.terminated),
            legal_action_mask=hand.legal_action_mask,
            hand=hand,
        )
