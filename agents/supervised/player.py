"""The discards of a network that was learned from records; all else is played as `greedy` does."""

from agents.learn import checkpoints, networks, player
from agents.learn.config import SearchConfig
from agents.policy import Policy
from agents.supervised import training
from agents.supervised.config import Config
from mjx.rules import DEFAULT, Rules


def make(path: str = "runs/table4/linear", rules: Rules = DEFAULT) -> Policy:
    """Makes the player of a run.

    Args:
      path: the run's folder.
      rules: the table's rules.

    Raises:
      CheckpointError: no such run lies there, or none that has a checkpoint.
    """
    config = checkpoints.read_config(path, Config)
    network = networks.make(config.network)
    params = checkpoints.read_params(path, lambda: training.first_params(network, config))
    search = SearchConfig(depth=0, claim_depth=0, calls="greedy")
    return player.policy("supervised", network, params, search, rules)
