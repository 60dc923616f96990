"""The trained Q network as a player, without any search."""

from agents.learn import player, trained
from agents.learn.config import SearchConfig
from agents.policy import Policy


def make(path: str = "runs/cpu") -> Policy:
    """Makes the player of a run.

    Args:
      path: the run's folder.

    Raises:
      CheckpointError: no run of ours lies there, or none that has a checkpoint.
    """
    network, params, _ = trained.read(path)
    return player.policy("ddqn", network, params, SearchConfig(depth=0, claim_depth=0))
