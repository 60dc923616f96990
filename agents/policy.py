"""What a player is: a pure, batched function of what it sees. B = decisions at once."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from mjx.observe import Observation

Array = jax.Array
Params = Any  # a pytree of arrays


class Policy(NamedTuple):
    """A player.

    `act(params, key, observation, legal_action_mask) -> action` takes a typed key, an observation
    and a mask for each of B decisions (leading axis B everywhere) and returns int32[B] legal ids.
    It is pure, and each decision depends on its own row alone, so that a game's course does not
    depend on the batch it is played in.
    """

    name: str
    params: Params
    act: Callable[[Params, Array, Observation, Array], Array]
