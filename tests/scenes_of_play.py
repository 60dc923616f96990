"""Decisions out of real games, for testing players."""

import functools

import jax
import jax.numpy as jnp

from mjx.observe import Observation, observe
from mjx.step import init, step


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _play(policy_act, key, batch, steps):
    """Plays `batch` games with one player in all seats and keeps what was seen: [steps, batch]."""
    deal_key, act_key = jax.random.split(key)
    states = jax.vmap(init)(jax.random.split(deal_key, batch))

    def one_step(states, step_key):
        seen = jax.vmap(observe)(states, states.current_player)
        keys = jax.random.split(step_key, batch)
        action = policy_act((), keys, seen, states.legal_action_mask)
        return jax.vmap(step)(states, action), (seen, states.terminated)

    return jax.lax.scan(one_step, states, jax.random.split(act_key, steps))[1]


def decisions(policy, seed: int, batch: int, steps: int) -> Observation:
    """Returns the running decisions of some games, flat: leading axis [N]."""
    seen, over = _play(policy.act, jax.random.key(seed), batch, steps)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), seen)
    index = jnp.nonzero(~over.reshape(-1))[0]
    return jax.tree.map(lambda x: x[index], flat)
