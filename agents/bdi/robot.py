"""The robot (figure 2 of the paper): perceive, update, filter, decompose, match.

B = decisions, A = 110 actions.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from agents import greedy
from agents.bdi import belief as beliefs
from agents.bdi import goals as desires
from agents.bdi import matcher, settings
from agents.bdi.belief import Belief
from agents.bdi.goals import Goals
from agents.bdi.intentions import Intentions
from agents.bdi.settings import Settings
from agents.policy import Explanation, Policy
from mjx.observe import Observation

Array = jax.Array


class Mind(NamedTuple):
    """The mental stores, to be looked at."""

    belief: Belief
    goals: Goals
    intentions: Intentions
    behaviours: Array  # uint8[]  the byte of flags


def make(
    partial_runs: bool = False,
    filter_weight: int = 1,
    empty_goals: bool = False,
    temper: float = 0.0,
) -> Policy:
    """Makes the robot as printed, or another reading of the paper.

    Args:
      partial_runs: keeps neighbours and gaps that one obtainable tile completes, like pairs.
      filter_weight: of a tile to obtain where distances of goals are compared: 1 as in section
        4.3, or 2 as in section 4.2.
      empty_goals: lets a suit without a tile hold the pair, the paper taken at its word.
      temper: 0 as printed. Below, goals are dropped when `-temper` times the tiles they still
        take exceed the own draws left, and a claim needs a gain of `1 - temper` tiles; a robot
        without a goal throws what is safest. Above 0 claims need less.
    """
    return policy("bdi", settings.of(partial_runs, filter_weight, empty_goals, temper))


def policy(name: str, settings: Settings) -> Policy:
    """Makes a robot with its own strategies."""

    def act(params, key, observation, legal_action_mask):
        del params, key
        score = action_scores(observation, legal_action_mask, settings)
        return jnp.argmax(score, axis=-1).astype(jnp.int32)

    def explain(params, observation):
        del params
        legal = observation.legal_action_mask
        score = action_scores(observation, legal, settings)
        value = jnp.where(legal, score, jnp.nan).astype(jnp.float32)
        return Explanation(value, value, greedy.accepting_after(observation, legal))

    return Policy(name, (), act, explain)


def think(observation: Observation, legal: Array, settings: Settings) -> Mind:
    """Forms belief, goals and intentions of one decision; a pure function of what is seen.

    Args:
      observation: of one decision.
      legal: bool[A].
      settings: of the robot.
    """
    strategy = settings.strategy
    belief = beliefs.update(beliefs.perceive(observation), strategy.rearrange)
    far = desires.distances(belief)
    bits = desires.goal_set(belief, far, settings.temper, settings.empty_goals)
    chosen = strategy.choose(bits, far)
    wishes = strategy.decompose(belief, chosen)
    return Mind(belief, Goals(bits, far, chosen), wishes, matcher.behaviours(legal))


def action_scores(observation: Observation, legal: Array, settings: Settings) -> Array:
    """Scores the actions of a batch: int32[B, A], the highest is played."""
    minds = jax.vmap(think, (0, 0, None))(observation, legal, settings)
    gain = action_gains(minds, observation, legal, settings)
    return jax.vmap(matcher.scores, (0, 0, 0, None))(minds.intentions, gain, legal, settings)


def action_gains(minds: Mind, observation: Observation, legal: Array, settings: Settings) -> Array:
    """Says by how much each claim lowers the chosen goal's distance: int32[B, A]."""
    return matcher.gains(minds.belief, minds.goals.chosen, observation.pending, legal, settings)
