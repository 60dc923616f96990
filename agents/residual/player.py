"""The search with opponents, and what paired branches have taught on top of its values."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents import greedy
from agents.policy import Explanation, Policy
from agents.reading.network import check_rules
from agents.residual import branches, checkpoint, features, network
from agents.residual.features import Prior, Seen
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules

Array = jax.Array


class Params(NamedTuple):
    """What the player knows."""

    prior: Prior
    residual: Any  # of `network.of_kinds`


SCALE = 0.5  # what does best: changes measured one at a time are made all at once


def make(path: str = "", scale: float = SCALE, rules: Rules = DEFAULT) -> Policy:
    """Makes the player.

    Args:
      path: the folder of a run of `train.py`; empty for the residual that comes with the package.
      scale: what the residual is multiplied by; 1 is all that was learned, 0 the search alone.
      rules: the table's rules.

    Raises:
      CheckpointError: no run of this kind lies there, or none that has a checkpoint.
      ValueError: a game whose hands the reading network has not seen, or a scale below 0.
    """
    check_rules(rules)
    if not 0 <= scale < float("inf"):
        raise ValueError(f"scale is a factor of 0 or more, not {scale}.")
    params = checkpoint.residual_of(path) if path else network.shipped()
    return policy("residual", scaled(params, scale), rules)


def scaled(residual: Any, scale: float = SCALE) -> Any:
    """Multiplies all that a residual adds."""
    return jax.tree.map(lambda x: scale * x, residual)


def policy(name: str, residual: Any, rules: Rules = DEFAULT) -> Policy:
    """Makes the player of given parameters of `network.of_kinds`."""
    act, explain = functools.partial(_act, rules=rules), functools.partial(_explain, rules=rules)
    return Policy(name, Params(features.prior(rules), residual), act, explain)


def _act(
    params: Params, key: Array, observation: Observation, legal_action_mask: Array, rules: Rules
) -> Array:
    """Plays the highest value: int32[B]."""
    del key
    seen = features.see(params.prior, observation, legal_action_mask, rules)
    return jnp.argmax(values(params.residual, seen), axis=-1).astype(jnp.int32)


def values(residual: Any, seen: Seen) -> Array:
    """Values the actions: float32[B, A], `NEVER` for what is not legal.

    The residual has a say among the discards that training would branch on. The search's best one
    keeps its value, so that against a kong only the choice of the discard is the residual's.
    """
    kinds, is_open = jax.vmap(branches.choose)(seen)
    tiles = jnp.take_along_axis(seen.tiles, kinds[..., None], axis=1)
    added = network.of_kinds(residual, tiles, seen.context, kinds)
    added = jnp.where(is_open & seen.is_choice[:, None], added - added[:, :1], 0)
    return jax.vmap(lambda row, at, more: row.at[at].add(more))(seen.values, kinds, added)


def _explain(params: Params, observation: Observation, rules: Rules) -> Explanation:
    """Shows the search's values, and those that decide."""
    legal = observation.legal_action_mask
    seen = features.see(params.prior, observation, legal, rules)
    before, after = (
        jnp.where(jnp.isfinite(x), x, jnp.nan) for x in (seen.values, values(params.residual, seen))
    )
    return Explanation(before, after, greedy.accepting_after(observation, legal))
