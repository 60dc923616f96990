"""Work for some lanes of a batch only: under vmap every lane pays for what one of them needs.

N = lanes.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array
_ROW = 64
Tree = Any  # a pytree of arrays with leading axis N


def map_where(fn: Callable[[Tree], Tree], wanted: Array, lanes: Tree, block: int) -> Tree:
    """Evaluates a function on the lanes that want it, block by block.

    Args:
      fn: takes a block of lanes, leading axis `block`, and returns as many results. The last block
        is filled up with lane 0, see `is_real`.
      wanted: bool[N].
      lanes: pytree of [N, ...].
      block: lanes evaluated at once.

    Returns:
      Pytree of [N, ...]: the results, zero where not wanted. Do not vmap this: a batch of loops
      runs as long as its longest.
    """
    total = wanted.shape[0]
    block = min(block, total)
    fn = jax.jit(fn)  # traced once, however deep work lists lie in one another
    order = jax.lax.cond(jnp.any(wanted), _order, jnp.zeros_like, wanted.astype(jnp.int32))
    order = jnp.concatenate([order, jnp.zeros(block, jnp.int32)])
    count = jnp.sum(wanted, dtype=jnp.int32)

    def take(index: Array) -> Tree:
        return jax.tree.map(lambda x: x[index], lanes)

    def is_left(carry: tuple[Array, Tree]) -> Array:
        return carry[0] < count

    def one_block(carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        start, results = carry
        index = jax.lax.dynamic_slice(order, (start,), (block,))
        is_last = start + jnp.arange(block, dtype=jnp.int32) < count
        target = jnp.where(is_last, index, total)
        found = fn(take(index))
        results = jax.tree.map(
            lambda all_, new: all_.at[target].set(new, mode="drop"), results, found
        )
        return start + block, results

    shapes = jax.eval_shape(lambda: fn(take(order[:block])))
    zeros = jax.tree.map(lambda s: jnp.zeros((total, *s.shape[1:]), s.dtype), shapes)
    return jax.lax.while_loop(is_left, one_block, (jnp.int32(0), zeros))[1]


def is_real(lanes: Array) -> Array:
    """Tells lanes of a block, int32[block] of 0 to N - 1, from those that only fill it: bool."""
    return (lanes > 0) | (jnp.arange(len(lanes), dtype=jnp.int32) == 0)


def _order(wanted: Array) -> Array:
    """Lists the lanes that are wanted, int32[N] of 0 and 1, in order; lane 0 after them: int32[N].

    Like `jnp.nonzero`, whose running sum takes many passes over a long list. Here the sums within
    rows come from one product of matrices, exact in float32 for rows this short.
    """
    total = wanted.shape[0]
    rows = jnp.pad(wanted, (0, -total % _ROW)).reshape(-1, _ROW)
    ones = jnp.triu(jnp.ones((_ROW, _ROW), jnp.float32))
    within = (rows.astype(jnp.float32) @ ones).astype(jnp.int32)  # running sums
    before = jnp.cumsum(within[:, -1], dtype=jnp.int32) - within[:, -1]
    place = (within + before[:, None] - 1).reshape(-1)[:total]
    target = jnp.where(wanted > 0, place, total)
    lanes = jnp.arange(total, dtype=jnp.int32)
    return jnp.zeros(total, jnp.int32).at[target].set(lanes, mode="drop", unique_indices=False)
