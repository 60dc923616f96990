"""The uniform player."""

import jax

from agents.policy import Policy


def make() -> Policy:
    """Makes the player that picks each legal action with equal chance."""

    def act(params, key, observation, legal_action_mask):
        del params, observation
        scores = jax.vmap(lambda one: jax.random.uniform(one, legal_action_mask.shape[-1:]))(key)
        return (scores + legal_action_mask).argmax(axis=-1).astype("int32")

    return Policy("random", (), act)
