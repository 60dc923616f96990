"""The network that a run has trained, read from its folder."""

import os
from typing import Any

from agents.learn import checkpoints, loop, networks
from agents.learn.config import SearchConfig
from agents.learn.networks import QNetwork


def read(folder: str | os.PathLike[str]) -> tuple[QNetwork, Any, SearchConfig]:
    """Reads the newest network of a run, its parameters, and the search it was trained with.

    Raises:
      CheckpointError: no run of ours lies there, or none that has a checkpoint.
    """
    config = checkpoints.read_config(folder)
    network = networks.make(config.network)
    params = checkpoints.read_params(folder, lambda: loop.first_params(network, config))
    return network, params, config.search
