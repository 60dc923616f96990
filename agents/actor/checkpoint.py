"""The actor that a run has trained, read from its folder."""

import os
import pathlib
from typing import Any

import jax
import jax.numpy as jnp

from agents.actor import network
from agents.actor.config import Config
from agents.learn import checkpoints


def actor_from(file: str, like: Any) -> Any:
    """Reads the actor of a file that `network.to_bytes` has packed.

    Raises:
      ValueError: there is no such file, or it holds another network than `like`.
    """
    try:
        found = network.from_bytes(pathlib.Path(file).read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"start: {file} cannot be read as an actor: {error}.") from None
    shapes = [jax.tree.map(jnp.shape, one) for one in (found, like)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"start: {file} holds an actor of another width.")
    return found


def actor_of(folder: str | os.PathLike[str]) -> Any:
    """Reads the newest actor of a run, the running mean.

    Raises:
      CheckpointError: no run of this kind lies there, or none that has a checkpoint.
    """
    config = checkpoints.read_config(folder, Config)
    return checkpoints.read_params(
        folder, lambda: network.init(jax.random.key(0), config.width)["actor"]
    )
