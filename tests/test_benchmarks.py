"""The search's benchmark: what its rows hold, and that leaves are counted."""

import functools

import jax
import numpy as np
import pytest

import mjx
from agents.search import expectimax, handmade
from agents.search.tree import Settings, Solver
from benchmarks import search
from tests.oracle import hand as oracle


@pytest.fixture(scope="module")
def dealt():
    """First turns of four dealers, none of whom can win."""

    def first(key):
        state = mjx.init(key)
        return mjx.observe(state, state.current_player)

    return jax.jit(jax.vmap(first))(jax.random.split(jax.random.key(11), 4))


@pytest.mark.slow
def test_a_row_and_its_leaves(dealt):
    case = search.Case("tiny", "handmade", 1, 4, target=0.0, goal=1.0, least_ratio=1e9)
    row = search.row(case, dealt, 0.0)
    assert row["name"] == "tiny" and (row["depth"], row["alpha"], row["batch"]) == (1, 0.6, 4)
    assert row["decisions_per_s"] > 0 and not row["ok"] and row["target"] == 0
    assert row["distinct"] <= row["leaves"] <= 11 * 34
    solver = Solver(Settings(depth=1), handmade.value(), None, handmade.params())
    legal = dealt.legal_action_mask.at[:, 34:].set(False)
    quickly = {"xla_backend_optimization_level": 0}
    search_all = functools.partial(expectimax.action_values, solver)
    searched = jax.jit(search_all, compiler_options=quickly)(dealt, legal)
    far = [i for i in range(4) if oracle.deficiency(tuple(dealt.hand[i].tolist()), 0) > 1]
    assert far  # no draw wins
    count = functools.partial(expectimax.count_leaves, solver)
    counted = jax.jit(count, compiler_options=quickly)(dealt, legal)
    for i in far:
        one = jax.tree.map(lambda x, i=i: x[i], dealt)
        leaves, distinct = search.leaves_below(solver.value, solver.params, one, 1)
        discards = np.flatnonzero(np.isfinite(np.asarray(searched[i, :34])))
        draws = np.flatnonzero(np.asarray(one.unseen) > 0)
        assert leaves == len(discards) * len(draws)
        # Only a discard that is drawn again leads to the same hand twice: the hand itself.
        same = len(set(discards) & set(draws))
        assert distinct == leaves - max(same - 1, 0)
        assert distinct == counted.distinct[i] <= counted.evaluated[i] == 34 * len(discards)
