"""A ring of transitions on the device, filled a masked batch at a time.

N = capacity, B = rows offered at once. Self-play offers a fixed number of rows a step, of which
only some hold a transition; libraries' ring buffers take full batches only, so this one is ours.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

Array = jax.Array
Tree = Any


class Replay(struct.PyTreeNode):
    """The ring: rows 0 to `size` - 1 are filled; the next one goes to `index`."""

    rows: Tree  # a pytree of [N, ...]
    index: Array  # int32[]
    size: Array  # int32[]
    num_added: Array  # int32[]  since the beginning


def init(row: Tree, capacity: int) -> Replay:
    """Makes an empty ring for rows like `row`, whose values do not matter."""
    rows = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), row)
    return Replay(rows, jnp.int32(0), jnp.int32(0), jnp.int32(0))


def add(replay: Replay, batch: Tree, valid: Array) -> Replay:
    """Adds the valid rows of a batch in order, over the oldest where the ring is full.

    Args:
      replay: the ring, N >= B.
      batch: a pytree of [B, ...].
      valid: bool[B].

    Returns:
      The ring with the rows added.
    """
    capacity = jax.tree.leaves(replay.rows)[0].shape[0]
    if valid.shape[0] > capacity:
        raise ValueError(f"A ring of {capacity} rows cannot take {valid.shape[0]} at once.")
    count = jnp.cumsum(valid, dtype=jnp.int32)
    place = jnp.where(valid, (replay.index + count - 1) % capacity, capacity)  # out: dropped
    num_new = count[-1]
    return Replay(
        rows=jax.tree.map(
            lambda old, new: old.at[place].set(new.astype(old.dtype), mode="drop"),
            replay.rows,
            batch,
        ),
        index=(replay.index + num_new) % capacity,
        size=jnp.minimum(replay.size + num_new, capacity),
        num_added=replay.num_added + num_new,
    )


def sample(replay: Replay, key: Array, batch: int) -> Tree:
    """Draws rows uniformly, with replacement: a pytree of [batch, ...]; the ring is not empty."""
    rows = jax.random.randint(key, (batch,), 0, jnp.maximum(replay.size, 1))
    return jax.tree.map(lambda x: x[rows], replay.rows)
