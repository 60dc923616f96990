"""Tai of a won hand."""

import jax.numpy as jnp


def settle(state, rules):
    return jnp.zeros(4, jnp.float32)
