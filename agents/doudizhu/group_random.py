"""The player that picks among groups of moves, so that kickers do not crowd out the rest."""

import jax

from agents.doudizhu.candidates import candidates
from agents.policy import Policy
from doudizhu.rules import DEFAULT, Rules


def make(rules: Rules = DEFAULT) -> Policy:
    """Makes the player that picks each group with equal chance, and the kickers that cost least."""

    def one(key, observation):
        ids, num = candidates(observation.hand, observation.to_beat, True, rules)
        return ids[jax.random.randint(key, (), 0, num)]

    def act(params, key, observation, legal_action_mask):
        del params, legal_action_mask
        return jax.vmap(one)(key, observation)

    return Policy("group_random", (), act)
