"""What a residual sees, made up: for tests of its branches and runs, which need no search."""

import jax.numpy as jnp
import numpy as np

from agents.residual import features
from mjx.rules import DEFAULT

_KINDS = np.arange(34, dtype=np.float32)


def see(prior, observation, legal, rules=DEFAULT):
    """Stands in for `features.see`: any numbers, which hang on the decision and nothing else."""
    del prior, rules
    number = (observation.history_kind >= 0).sum(axis=-1).astype(jnp.float32)[:, None]
    drawn = jnp.sin(_KINDS[None] + number)
    values = jnp.concatenate([100 * drawn, jnp.broadcast_to(number, (len(number), 76))], axis=1)
    values = jnp.where(legal, values, -jnp.inf)
    is_open = legal[:, :34] & (observation.pending < 0)[:, None]
    tiles = jnp.sin(
        jnp.einsum("bt,f->btf", 9 * drawn, jnp.arange(features.TILE, dtype=jnp.float32))
    )
    context = jnp.cos(jnp.outer(number[:, 0], jnp.arange(features.CONTEXT, dtype=jnp.float32)))
    is_choice = jnp.sum(is_open, axis=-1, dtype=jnp.int32) > 1
    return features.Seen(values, is_choice, is_open, tiles, context)
