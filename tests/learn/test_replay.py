"""The ring against a plain Python one."""

import collections

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.learn import replay


def test_ring_holds_the_newest_valid_rows():
    capacity, width = 13, 5
    ring = replay.init({"x": jnp.int32(0), "y": jnp.zeros(2, jnp.int8)}, capacity)
    add = jax.jit(chex.assert_max_traces(replay.add, n=1))
    oracle: collections.deque = collections.deque(maxlen=capacity)
    rng = np.random.default_rng(0)
    number = 0
    for _ in range(40):
        x = np.arange(number, number + width, dtype=np.int32)
        number += width
        valid = rng.random(width) < 0.4
        oracle.extend(x[valid].tolist())
        batch = {"x": jnp.asarray(x), "y": jnp.stack([x % 100, x % 7], axis=1).astype(jnp.int8)}
        ring = add(ring, batch, jnp.asarray(valid))
        size = int(ring.size)
        assert size == len(oracle)
        held = np.asarray(ring.rows["x"])[:size]
        assert sorted(held.tolist()) == sorted(oracle)
        np.testing.assert_array_equal(np.asarray(ring.rows["y"])[:size, 1], held % 7)
    drawn = replay.sample(ring, jax.random.key(0), 2000)["x"]
    assert set(np.asarray(drawn).tolist()) == set(oracle)


def test_sample_reads_filled_rows_only():
    ring = replay.init(jnp.int32(0), 100)
    ring = replay.add(ring, jnp.arange(1, 4, dtype=jnp.int32), jnp.array([True, False, True]))
    assert set(np.asarray(replay.sample(ring, jax.random.key(1), 200)).tolist()) == {1, 3}


def test_a_batch_larger_than_the_ring_is_refused():
    ring = replay.init(jnp.int32(0), 2)
    with pytest.raises(ValueError, match="2 rows cannot take 3"):
        replay.add(ring, jnp.zeros(3, jnp.int32), jnp.ones(3, bool))
