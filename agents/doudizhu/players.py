"""The players of this game by name; the protocol is that of `agents.policy`.

`act(params, key, observation, legal_action_mask)` takes B decisions, `observation` a
`doudizhu.Observation` with leading axis B, the mask bool[B, 27472], and returns int32[B] ids.
The players here find what is legal from the own hand and the move to beat, and leave the mask
alone, so that nobody has to spread it out for them.
"""

from agents import policy
from agents.policy import Agent, Policy
from doudizhu.rules import DEFAULT, Rules

# Every player by name; its options are the keyword arguments of its `make`.
AGENTS = {
    "random": Agent("agents.doudizhu.random", "each legal move with equal chance"),
    "group_random": Agent(
        "agents.doudizhu.group_random", "each group of moves with equal chance, lowest kickers"
    ),
    "search": Agent("agents.doudizhu.search", "Monte Carlo search from the root"),
    "cnn": Agent("agents.doudizhu.cnn", "the network alone; path=runs/NAME"),
    "cnn_search": Agent("agents.doudizhu.cnn_search", "search that starts from the network"),
    "rlcard_rule": Agent("agents.doudizhu.rlcard_rule", "the rule agent of rlcard 1.2.0"),
}


def names() -> tuple[str, ...]:
    """Lists the players that `load` knows."""
    return tuple(AGENTS)


def load(name: str, rules: Rules = DEFAULT) -> Policy:
    """Makes a player by name, such as `search:playouts=1024`.

    Args:
      name: a name of `names()`; after a colon, options as `key=value`, separated by commas.
      rules: the table's rules.

    Returns:
      The player, named as given.

    Raises:
      ValueError: no such player or option, or a value that the option cannot take; the message
        says which are allowed.
    """
    return policy.load(name, rules, agents=AGENTS)
