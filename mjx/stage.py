"""Staged computation: makes XLA on the CPU compute a shared value once.

Its fusion pass copies a producer into each consumer: every field of the next state would compute
the whole decision anew, table look-ups included. `lax.optimization_barrier` alone is removed
before fusion; a conditional whose predicate the compiler cannot see through is not, and it
survives `vmap` and `scan` as long as the predicate is not batched. On other backends fusion is
wanted, and a stage is a plain call.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

T = TypeVar("T")


def stage(function: Callable[..., T], *args: object) -> T:
    """Returns `function(*args)`, computed once however often its parts are used."""
    predicate = lax.optimization_barrier(jnp.bool_(True))
    if not isinstance(predicate, jax.core.Tracer) or jax.default_backend() != "cpu":
        return function(*args)  # nothing is compiled, or fusion is wanted
    function = jax.jit(function)  # traced once, however deep stages lie in one another
    shapes = jax.eval_shape(function, *args)

    def filler(*unused: object) -> T:
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    return lax.cond(predicate, function, filler, *args)
