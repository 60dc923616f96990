"""The network alone, as a player: the candidate of the highest value."""

import jax
import jax.numpy as jnp

from agents.doudizhu import nets, networks, planes
from agents.doudizhu.candidates import candidates
from agents.doudizhu.networks import Network
from agents.policy import Params, Policy
from doudizhu.rules import DEFAULT, Rules


def make(path: str = "", rules: Rules = DEFAULT) -> Policy:
    """Makes the player.

    Args:
      path: a run's folder; without it the shipped network.
      rules: the table's rules.

    Raises:
      ValueError: there is no network.
    """
    network, params, _ = nets.read(path)
    return policy("cnn", network, params, rules)


def policy(name: str, network: Network, params: Params, rules: Rules = DEFAULT) -> Policy:
    """Makes a player of a network."""

    def act(params, key, observation, legal_action_mask):
        del key, legal_action_mask
        ids, _ = jax.vmap(lambda seen: candidates(seen.hand, seen.to_beat, True, rules))(
            observation
        )
        view = jax.vmap(planes.view_of)(observation)
        values = networks.values(network, params, view, ids)
        best = jnp.argmax(jnp.where(ids >= 0, values, -1.0), axis=1)
        return jnp.take_along_axis(ids, best[:, None], axis=1)[:, 0]

    return Policy(name, params, act)
