"""Searches as players: with a number of playouts, or with seconds on the clock."""

import time
from collections.abc import Callable

import jax

from agents.doudizhu import root, tree
from agents.doudizhu.root import Root, Settings
from agents.policy import Params, Policy
from doudizhu.observe import Observation
from doudizhu.rules import DEFAULT, Rules

Begin = Callable[[Params, Observation], Root]

_DEFAULT = Settings()
_MAX_SECONDS = 3600


def make(
    playouts: int = _DEFAULT.playouts,
    at_once: int = _DEFAULT.at_once,
    exploration: float = _DEFAULT.exploration,
    candidates: str = _DEFAULT.candidates,
    style: str = _DEFAULT.style,
    min_visits: float = _DEFAULT.min_visits,
    tolerance: float = _DEFAULT.tolerance,
    depth: int = _DEFAULT.depth,
    move_time: float = 0.0,
    rules: Rules = DEFAULT,
) -> Policy:
    """Makes the player; options as `root.Settings`.

    Args:
      playouts: as there; with `move_time` games are played until it is over instead.
      move_time: seconds for a call, however many decisions it holds; 0 counts playouts.
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
        rules=rules,
    )

    def begin(params, observation):
        del params
        return jax.vmap(lambda seen: root.begin(seen, settings))(observation)

    return policy("search", (), begin, settings, move_time)


def policy(
    name: str, params: Params, begin: Begin, settings: Settings, move_time: float = 0.0
) -> Policy:
    """Makes a player that searches from what `begin(params, observation)` knows: Root [B, ...]."""

    def plant(params, observation):
        start = begin(params, observation)
        return jax.vmap(lambda one: tree.plant(one, settings))(start)

    def act(params, key, observation, legal_action_mask):
        del legal_action_mask
        found = tree.run(key, observation, plant(params, observation), settings)
        return jax.vmap(lambda one: root.decide(one, settings))(found.root)

    if move_time == 0:
        return Policy(name, params, act)
    if not 0 < move_time <= _MAX_SECONDS:
        raise ValueError(f"search: move_time is 0 to {_MAX_SECONDS} seconds, not {move_time}.")
    return Policy(name, params, _timed(plant, settings, move_time), is_pure=False)


def _timed(plant: Callable, settings: Settings, move_time: float) -> Callable:
    """Searches round by round until the time is over; at least one round."""
    plant_all = jax.jit(plant)
    decide_all = jax.jit(jax.vmap(lambda one: root.decide(one, settings)))
    compiled = set()

    @jax.jit
    def one_round(key, index, observation, found):
        keys = jax.vmap(lambda one: jax.random.fold_in(one, index))(key)
        return tree.play_round(keys, observation, found, settings)

    def act(params, key, observation, legal_action_mask):
        del legal_action_mask
        observation = observation.replace(legal_action_mask=())
        if key.shape not in compiled:  # compiling is not thinking
            found = plant_all(params, observation)
            one_round(jax.random.clone(key), 0, observation, found)
            compiled.add(key.shape)
        stop = time.perf_counter() + move_time
        found, index = plant_all(params, observation), 0
        while index == 0 or time.perf_counter() < stop:
            found = jax.block_until_ready(
                one_round(jax.random.clone(key), index, observation, found)
            )
            index += 1
        return decide_all(found.root)

    return act
