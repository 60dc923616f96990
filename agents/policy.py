"""What a player is: a pure, batched function of what it sees; and players by name.

B = decisions at once, A = 110 actions.
"""

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from mjx.observe import Observation
from mjx.rules import DEFAULT

Array = jax.Array
Params = Any  # a pytree of arrays


class Explanation(NamedTuple):
    """Why a player would act as it does; NaN (0 tiles) where not legal or pruned."""

    q: Array  # float32[B,A]  value before any search
    value: Array  # float32[B,A]  what decides: the highest is played
    accepting: Array  # int32[B,A]  unseen tiles that bring the hand nearer afterwards


class Policy(NamedTuple):
    """A player.

    `act(params, key, observation, legal_action_mask) -> action` takes a typed key, an observation
    and a mask for each of B decisions (leading axis B everywhere) and returns int32[B] legal ids.
    It is pure, and each decision depends on its own row alone, so that a game's course does not
    depend on the batch it is played in.

    `explain(params, observation)`, where there is one, tells what decides, of a batch as well.

    A player that is not `is_pure` cannot be traced: it reads the clock, or plays in another
    library. It is called with concrete arrays, never under jit.
    """

    name: str
    params: Params
    act: Callable[[Params, Array, Any, Array], Array]  # of mjx.Observation, in mjx
    explain: Callable[[Params, Observation], Explanation] | None = None
    is_pure: bool = True


@dataclasses.dataclass(frozen=True)
class Agent:
    """Where a player is made: `module.make(**options)`, imported when asked for."""

    module: str
    about: str


# Every player by name; its options are the keyword arguments of its `make`.
AGENTS = {
    "random": Agent("agents.random", "each legal action with equal chance"),
    "greedy": Agent("agents.greedy", "lowest deficiency, then most accepting tiles"),
    "bdi": Agent("agents.bdi.robot", "belief, desire, intention, as printed by Xu and Zhu"),
    "bdi_partial": Agent("agents.bdi.partial", "the same, and keeps two tiles of a run"),
    "expectimax": Agent("agents.search.expectimax", "search with a hand-made leaf value"),
    "expectimax_paper": Agent("agents.search.paper", "whole tree, leaf value of deficiency alone"),
    "expectimax_opp": Agent("agents.search.opponents", "search that reads the opponents' hands"),
    "expectimax_mc": Agent("agents.search.montecarlo", "its best actions played out at random"),
    "linear_es": Agent("agents.linear.linear_es", "a linear score tuned by evolution, no tree"),
    "shipped": Agent("agents.residual.player", "what plays where none is named: `residual`"),
    "residual": Agent("agents.residual.player", "that, and what branches taught; path=runs/NAME"),
    "ddqn": Agent("agents.learn.ddqn", "a trained Q network alone; path=runs/NAME"),
    "expectimax_ddqn": Agent("agents.learn.expectimax_ddqn", "search with it; path=runs/NAME"),
    "supervised": Agent("agents.supervised.player", "discards learned from records; path=..."),
}


def names() -> tuple[str, ...]:
    """Lists the players that `load` knows."""
    return tuple(AGENTS)


def load(
    name: str,
    rules: Any = DEFAULT,
    clock: Callable[[], float] | None = None,
    agents: Mapping[str, Agent] = AGENTS,
) -> Policy:
    """Makes a player by name, such as `greedy` or `expectimax:depth=1,alpha=0.6`.

    Args:
      name: a name of `names()`; after a colon, options as `key=value`, separated by commas.
      rules: the table's rules, for players that count points.
      clock: tells the time in seconds, for players that are given a time a move.
      agents: the players to choose from; another game has its own.

    Returns:
      The player, named as given.

    Raises:
      ValueError: no such player or option, or a value that the option cannot take; the message
        says which are allowed.
    """
    make, options = _read(name, agents)
    given = {"rules": rules, "clock": clock}
    options |= {key: given[key] for key in given.keys() & inspect.signature(make).parameters}
    return make(**options)._replace(name=name)


def settings(name: str, agents: Mapping[str, Agent] = AGENTS) -> dict[str, Any]:
    """Says what a name stands for in this version.

    Args:
      name: as `load` reads it.
      agents: the players to choose from.

    Returns:
      The player's `module` and all of its options, those that the name leaves out by default.

    Raises:
      ValueError: no such player or option.
    """
    make, options = _read(name, agents)
    return {"module": agents[name.partition(":")[0]].module} | _defaults(make) | options


def _read(name: str, agents: Mapping[str, Agent]) -> tuple[Callable[..., Policy], dict[str, Any]]:
    """Finds the `make` that a name asks for, and the options that it gives."""
    base, _, text = name.partition(":")
    if base not in agents:
        raise ValueError(_unknown("agent", base, tuple(agents)))
    make = importlib.import_module(agents[base].module).make
    return make, _parse_options(base, text, _defaults(make))


def _defaults(make: Callable[..., Policy]) -> dict[str, Any]:
    """Lists the options of `make`: its keyword arguments of a plain type, and their defaults."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(make).parameters.items()
        if isinstance(parameter.default, (bool, int, float, str))
    }


def _parse_options(base: str, text: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """Reads `key=value,...` by the options there are and their defaults' types."""
    found: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if key not in defaults:
            raise ValueError(_unknown(f"option of agent {base!r}", key, tuple(defaults)))
        if not equals or key in found:
            raise ValueError(f"Agent options are key=value, each once, not {item!r} in {text!r}.")
        found[key] = _parse_value(f"{base}:{key}", value, defaults[key])
    return found


def _parse_value(where: str, text: str, default: Any) -> Any:
    """Reads a value of the type that the default has."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{where} is true or false, not {text!r}.")
        return text.lower() == "true"
    try:
        return type(default)(text)
    except ValueError:
        kind = {int: "a whole number", float: "a number"}[type(default)]
        raise ValueError(f"{where} is {kind} such as {default}, not {text!r}.") from None


def _unknown(what: str, given: str, allowed: tuple[str, ...]) -> str:
    """Words the refusal of a name, with the nearest one that exists."""
    if not allowed:
        return f"There is no {what} named {given!r}: it has none."
    near = difflib.get_close_matches(given, allowed, n=1, cutoff=0.0)
    return f"No {what} is named {given!r}; did you mean {near[0]!r}? Known: {', '.join(allowed)}."
