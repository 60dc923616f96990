"""The search that starts from the network's values, as a player (claim 9 of the patent)."""

import functools

import jax
import jax.numpy as jnp

from agents.doudizhu import nets, networks, planes, root, search
from agents.doudizhu.networks import Network
from agents.doudizhu.root import Settings
from agents.policy import Params, Policy
from doudizhu.rules import DEFAULT, Rules

# The values of the shipped network are worth as much as many games; what is left to explore is
# which of the few best moves is the best, and often that is clear after few games.
DEFAULT_SEARCH = Settings(
    prior_visits=96.0, exploration=0.25, tolerance=0.03, at_once=32, style="learned"
)


def make(
    path: str = "",
    prior_visits: float = DEFAULT_SEARCH.prior_visits,
    playouts: int = DEFAULT_SEARCH.playouts,
    at_once: int = DEFAULT_SEARCH.at_once,
    exploration: float = DEFAULT_SEARCH.exploration,
    candidates: str = DEFAULT_SEARCH.candidates,
    style: str = DEFAULT_SEARCH.style,
    min_visits: float = DEFAULT_SEARCH.min_visits,
    tolerance: float = DEFAULT_SEARCH.tolerance,
    depth: int = DEFAULT_SEARCH.depth,
    move_time: float = 0.0,
    rules: Rules = DEFAULT,
) -> Policy:
    """Makes the player; options as `root.Settings` and `search.make`.

    Args:
      path: a run's folder; without it the shipped network.
      prior_visits: how many visits the network's value of a child counts for at the deal.

    Raises:
      ValueError: there is no network, or a value that cannot be.
    """
    settings = Settings(
        playouts=playouts,
        at_once=at_once,
        exploration=exploration,
        candidates=candidates,
        style=style,
        min_visits=min_visits,
        tolerance=tolerance,
        depth=depth,
        prior_visits=prior_visits,
        rules=rules,
    )
    network, params, _ = nets.read(path)
    return policy("cnn_search", network, params, settings, move_time)


def policy(
    name: str, network: Network, params: Params, settings: Settings, move_time: float = 0.0
) -> Policy:
    """Makes a player of a network and a search."""

    def begin(params, observation):
        start = jax.vmap(lambda seen: root.begin(seen, settings))(observation)
        view = jax.vmap(planes.view_of)(observation)
        values = networks.values(network, params, view, start.ids)
        num_cards = jnp.sum(observation.num_cards, axis=1)
        return jax.vmap(functools.partial(root.with_values, settings=settings))(
            start, values, num_cards
        )

    return search.policy(name, params, begin, settings, move_time)
