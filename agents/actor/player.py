"""The actor as a player: the highest logit is thrown, all else is the linear player's."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from agents import greedy
from agents.actor import checkpoint, features, network
from agents.linear import linear_es
from agents.policy import Explanation, Policy
from agents.reading.network import check_rules
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.tiles import NUM_KINDS

Array = jax.Array


class Params(NamedTuple):
    """What the player knows."""

    prior: linear_es.Params
    actor: Any  # of `network.residual`


def make(path: str = "", rules: Rules = DEFAULT) -> Policy:
    """Makes the player.

    Args:
      path: the folder of a run of `train.py`; empty for the actor that comes with the package.
      rules: the table's rules.

    Raises:
      CheckpointError: no run of this kind lies there, or none that has a checkpoint.
      ValueError: a game whose hands the reading network has not seen.
    """
    check_rules(rules)
    return policy("actor", checkpoint.actor_of(path) if path else network.shipped(), rules)


def policy(name: str, actor: Any, rules: Rules = DEFAULT) -> Policy:
    """Makes the player of given parameters of `network.residual`."""
    act, explain = functools.partial(_act, rules=rules), functools.partial(_explain, rules=rules)
    return Policy(name, Params(features.prior(), actor), act, explain)


def _act(
    params: Params, key: Array, observation: Observation, legal_action_mask: Array, rules: Rules
) -> Array:
    """Plays the highest: int32[B]."""
    del key
    seen = features.see(params.prior, observation, legal_action_mask, rules)
    discard = jnp.argmax(logits(params.actor, seen), axis=-1).astype(jnp.int32)
    other = jnp.argmax(seen.scores, axis=-1).astype(jnp.int32)
    return jnp.where(seen.is_choice, discard, other)


def logits(actor: Any, seen: features.Seen) -> Array:
    """Returns the logits of the discards: float32[B, T], very low where not open."""
    found = seen.prior + network.residual(actor, seen.tiles, seen.context)
    return jnp.where(seen.open, found, seen.prior)


def _explain(params: Params, observation: Observation, rules: Rules) -> Explanation:
    """Shows the linear player's scores and, in the same unit, what decides."""
    legal = observation.legal_action_mask
    seen = features.see(params.prior, observation, legal, rules)
    before = jnp.where(seen.scores == linear_es.NEVER, jnp.nan, seen.scores)
    best = jnp.nanmax(before[:, :NUM_KINDS], axis=1, keepdims=True)
    after = best + features.TEMPERATURE * logits(params.actor, seen)
    decides = seen.is_choice[:, None] & seen.open
    value = before.at[:, :NUM_KINDS].set(jnp.where(decides, after, before[:, :NUM_KINDS]))
    return Explanation(before, value, greedy.accepting_after(observation, legal))
