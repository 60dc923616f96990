"""The residual that a run has trained, read from its folder."""

import os
from typing import Any

from agents.learn import checkpoints
from agents.residual import network
from agents.residual.config import Config


def residual_of(folder: str | os.PathLike[str]) -> Any:
    """Reads the newest residual of a run.

    Raises:
      CheckpointError: no run of this kind lies there, or none that has a checkpoint.
    """
    checkpoints.read_config(folder, Config)
    return checkpoints.read_params(folder, network.init)
