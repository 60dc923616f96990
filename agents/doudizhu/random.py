"""The uniform player."""

import jax

from agents.policy import Policy
from doudizhu import legal
from doudizhu.rules import DEFAULT, Rules
from mjx.stage import stage


def make(rules: Rules = DEFAULT) -> Policy:
    """Makes the player that picks each legal move with equal chance."""

    def one(key, observation):
        words = stage(
            lambda seen: legal.words_of(seen.hand, seen.to_beat, rules),
            observation,
        )
        return legal.nth_legal(jax.random.bits(key), words)

    def act(params, key, observation, legal_action_mask):
        del params, legal_action_mask
        return jax.vmap(one)(key, observation)

    return Policy("random", (), act)
