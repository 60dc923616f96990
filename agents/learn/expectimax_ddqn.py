"""The trained Q network in the search: it orders and prunes the discards, and values the leaves."""

import dataclasses

from agents.learn import player, trained
from agents.policy import Policy
from mjx.rules import DEFAULT, Rules

_AS_TRAINED = -1


def make(
    path: str = "runs/cpu",
    depth: int = _AS_TRAINED,
    claim_depth: int = _AS_TRAINED,
    alpha: float = float(_AS_TRAINED),
    rules: Rules = DEFAULT,
) -> Policy:
    """Makes the player of a run; -1 is the search that the run was trained with.

    Args:
      path: the run's folder.
      depth: layers of the own turn.
      claim_depth: layers for claims and passes.
      alpha: share of the tiles in hand that are tried as discards.
      rules: the table's rules, which price the wins.

    Raises:
      CheckpointError: no run of ours lies there, or none that has a checkpoint.
      ValueError: a search that cannot be.
    """
    network, params, as_trained = trained.read(path)
    search = dataclasses.replace(
        as_trained,
        depth=as_trained.depth if depth == _AS_TRAINED else depth,
        claim_depth=as_trained.claim_depth if claim_depth == _AS_TRAINED else claim_depth,
        alpha=as_trained.alpha if alpha == _AS_TRAINED else alpha,
    )
    return player.policy("expectimax_ddqn", network, params, search, rules)
