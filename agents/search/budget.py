"""What a search may cost: depth and width that fit a time a move.

The clock is the caller's, so that nothing here tells the time by itself.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agents.search.tree import Settings, Solver, widths
from agents.search.value import ValueFunction
from mjx.observe import Observation, observe
from mjx.step import init

Array = jax.Array

MAX_DEPTH = 4
ALPHAS = (1.0, 0.8, 0.6, 0.4, 0.2)
_SAMPLES = 3


def pick(
    move_time: float,
    clock: Callable[[], float],
    search: Callable[[Solver, Observation, Array], Array],
    settings: Settings,
    value: ValueFunction,
    params: Any,
) -> Settings:
    """Finds the deepest search, and then the widest, whose moves take no longer than given.

    Times single decisions of the own turn, dealt hands of 17 tiles, which take longest. Each depth
    tried is compiled once.

    Args:
      move_time: seconds a decision.
      clock: tells the time in seconds.
      search: values the actions of a batch of decisions, `expectimax.action_values`.
      settings: all but `depth` and `alpha`.
      value, params: the value function.

    Returns:
      The settings with depth and alpha; one layer at the least alpha if nothing fits.

    Raises:
      ValueError: a time that is not above 0.
    """
    if not move_time > 0:
        raise ValueError(f"move_time is above 0 seconds, not {move_time}.")
    found = dataclasses.replace(settings, depth=1, alpha=ALPHAS[-1])
    for depth in range(1, MAX_DEPTH + 1):
        deeper = dataclasses.replace(settings, depth=depth)
        seconds = _timer(clock, search, deeper, value, params)
        # Narrow first: the next depth is not even begun where no width of this one fits.
        fitting = [alpha for alpha in reversed(ALPHAS) if seconds(alpha) <= move_time]
        if fitting:
            found = dataclasses.replace(deeper, alpha=fitting[-1])
        if len(fitting) < len(ALPHAS):
            break
    return found


def _timer(
    clock: Callable[[], float],
    search: Callable[[Solver, Observation, Array], Array],
    settings: Settings,
    value: ValueFunction,
    params: Any,
) -> Callable[[float], float]:
    """Compiles a search, and returns what times a move of it by alpha."""
    keys = jax.random.split(jax.random.key(0), _SAMPLES)
    states = [init(key, settings.rules) for key in keys]
    seen = [observe(state, state.current_player, settings.rules) for state in states]
    rows = [jax.tree.map(lambda x: jnp.asarray(x)[None], one) for one in seen]

    def values(width: Array, row: Observation) -> Array:
        solver = Solver(settings, value, None, params, widths=width)
        return search(solver, row, row.legal_action_mask)

    compiled = jax.jit(values).lower(jnp.asarray(widths(1.0)), rows[0]).compile()

    def seconds(alpha: float) -> float:
        took = []
        for row in rows:
            start = clock()
            jax.block_until_ready(compiled(jnp.asarray(widths(alpha)), row))
            took.append(clock() - start)
        return float(np.median(took))

    return seconds
