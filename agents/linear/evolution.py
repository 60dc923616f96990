"""An evolution strategy that only asks which of two vectors does better against the other.

Each step draws directions e, plays theta + e directly against theta - e, and moves theta along the
directions by how much they won. What is played is the caller's: here are pure functions of numbers.
F = numbers of a vector, K = directions.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Config:
    """How the strategy walks.

    Raises:
      ValueError: a value out of range.
    """

    steps: int = 24
    directions: int = 64
    rate: float = 0.012  # spreads moved for a point of lead, at first
    last_rate: float = 0.2  # of `rate`, at the end
    momentum: float = 0.8

    def __post_init__(self) -> None:
        """Refuses values out of range."""
        if self.steps < 1 or self.directions < 1:
            raise ValueError("steps and directions are 1 or more.")
        if not (0 < self.rate and 0 <= self.last_rate and 0 <= self.momentum < 1):
            raise ValueError("rate is above 0, last_rate 0 or more, momentum 0 to below 1.")


class State(NamedTuple):
    """Where the walk stands."""

    theta: Array  # float32[F]
    velocity: Array  # float32[F]  in spreads
    total: Array  # float32[F]  sum of theta after each step of the second half
    step: Array  # int32[]    steps made


def init(theta: Array) -> State:
    """Starts from a vector float32[F]."""
    theta = jnp.asarray(theta, jnp.float32)
    return State(theta, jnp.zeros_like(theta), jnp.zeros_like(theta), jnp.int32(0))


def directions(key: Array, state: State, config: Config) -> Array:
    """Draws the directions of the next step, in spreads: float32[K, F]."""
    key = jax.random.fold_in(key, state.step)
    return jax.random.normal(key, (config.directions, len(state.theta)))


def contestants(state: State, drawn: Array, spread: Array) -> Array:
    """Lists theta + e and theta - e of each direction: float32[2K, F], one after the other."""
    moved = drawn * spread[None]
    both = jnp.stack([state.theta[None] + moved, state.theta[None] - moved], axis=1)
    return both.reshape(-1, len(spread))


def update(state: State, drawn: Array, leads: Array, spread: Array, config: Config) -> State:
    """Makes one step.

    Args:
      state: before it.
      drawn: float32[K, F] its directions.
      leads: float32[K] of theta + e over theta - e.
      spread: float32[F] one unit of each number.
      config: of the walk.
    """
    slope = jnp.mean(leads[:, None] * drawn, axis=0)
    velocity = config.momentum * state.velocity + (1 - config.momentum) * slope
    done = state.step.astype(jnp.float32) / max(config.steps - 1, 1)
    rate = config.rate * (1 + (config.last_rate - 1) * done)
    theta = state.theta + rate * spread * velocity
    step = state.step + 1
    is_counted = step > config.steps // 2
    return State(theta, velocity, state.total + jnp.where(is_counted, theta, 0), step)


def result(state: State, config: Config) -> np.ndarray:
    """Averages theta over the second half, as far as it has come: float32[F]."""
    number = int(state.step) - config.steps // 2
    return np.asarray(state.total) / number if number > 0 else np.asarray(state.theta)
