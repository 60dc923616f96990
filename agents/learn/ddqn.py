"""The trained Q network as a player, without any search."""

from agents.learn import player, trained
from agents.policy import Policy
from mjx.rules import DEFAULT, Rules


def make(path: str = "runs/cpu", rules: Rules = DEFAULT) -> Policy:
    """Makes the player of a run.

    Args:
      path: the run's folder.
      rules: the table's rules, which price the wins.

    Raises:
      CheckpointError: no run of ours lies there, or none that has a checkpoint.
    """
    network, params, as_trained = trained.read(path)
    return player.policy("ddqn", network, params, player.alone(as_trained), rules)
