"""Players by name, and what they may know."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents import policy
from agents.search import handmade
from agents.search.expectimax import action_values
from agents.search.tree import Settings, Solver
from agents.worklist import map_where
from mjx import tiles
from mjx.observe import observe
from mjx.step import init, step
from tests import decisions
from tests.oracle import expectimax as oracle


def test_every_player_loads():
    for name in ("random", "greedy", "expectimax", "expectimax:depth=1,alpha=0.4,kappa=0.5"):
        assert policy.load(name).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gredy", ["'gredy'", "'greedy'", "random"]),
        ("expectimax:dept=1", ["'dept'", "'depth'", "alpha"]),
        ("expectimax:depth=one", ["depth", "whole number", "'one'"]),
        ("expectimax:depth=9", ["depth", "0 to 4", "9"]),
        ("expectimax:alpha=0", ["alpha", "above 0"]),
        ("expectimax:depth", ["key=value"]),
        ("expectimax:depth=1,depth=2", ["once"]),
        ("greedy:x=1", ["'x'", "none"]),
        ("", ["''", "greedy"]),
    ],
)
def test_bad_names_are_refused(name, words):
    with pytest.raises(ValueError) as error:
        policy.load(name)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_settings_are_the_options_that_a_name_has_and_leaves_out():
    assert policy.settings("greedy") == {"module": "agents.greedy"}
    assert policy.settings("residual:path=runs/x") == {
        "module": "agents.residual.player",
        "path": "runs/x",
        "scale": 0.5,
    }
    found = policy.settings("expectimax:depth=2,kappa=0.5")
    assert (found["depth"], found["kappa"], found["alpha"]) == (2, 0.5, 0.6)
    assert not {"rules", "clock"} & set(found)
    with pytest.raises(ValueError, match="'dept'"):
        policy.settings("expectimax:dept=1")


def test_map_where_evaluates_what_is_wanted():
    values = jnp.arange(10, dtype=jnp.int32)
    for wanted in (values % 3 == 0, values < 0, values >= 0):
        for block in (1, 4, 99):
            found = jax.jit(
                lambda w, block=block: map_where(lambda x: x * x + 1, w, values, block)
            )(wanted)
            np.testing.assert_array_equal(found, jnp.where(wanted, values**2 + 1, 0))


def _after(state, number, policy_act):
    """Plays some decisions."""
    for _ in range(number):
        seen = jax.tree.map(lambda x: x[None], observe(state, state.current_player))
        action = policy_act(
            (), jax.random.split(jax.random.key(0), 1), seen, seen.legal_action_mask
        )
        state = step(state, action[0])
    return state


@pytest.fixture(scope="module")
def states():
    """A state, and one whose wall to come is another: what is left of it shuffled."""
    state = jax.jit(init)(jax.random.key(5))
    state = _after(state, 6, jax.jit(policy.load("greedy").act))
    head, tail = int(state.head), int(state.tail)
    wall = np.asarray(state.wall).copy()
    wall[head : tail + 1] = np.random.default_rng(0).permutation(wall[head : tail + 1])
    assert (wall != np.asarray(state.wall)).any()
    return state, state.replace(wall=jnp.asarray(wall))


def test_what_cannot_be_seen_does_not_matter(states):
    """A player is a function of what it sees, and the wall to come cannot be seen."""
    seen, same = (observe(state, state.current_player) for state in states)
    jax.tree.map(np.testing.assert_array_equal, seen, same)


@pytest.mark.slow
def test_the_search_sees_the_table():
    """Winds, dealer and the tiles left change the values of a hand with pairs of winds."""
    counts = tiles.parse("123m12456p789sSSWWNC")
    unseen = tuple(4 - count for count in counts)
    decision = oracle.Decision(counts, (), unseen, False, False)
    case = decisions.Case(decision, set(), tiles.RED, 40, 1, 0, 3, 0)
    base = case.observation()
    changes = ("seat_wind", 3), ("round_wind", 1), ("dealer", 0), ("drawable", 8)
    rows = [base.replace(**{key: jnp.int32(value)}) for key, value in changes]
    seen = jax.tree.map(lambda *each: jnp.stack(each), base, base, *rows)
    solver = Solver(Settings(depth=1, alpha=0.4), handmade.value(), None, handmade.params())
    values = jax.jit(lambda seen: action_values(solver, seen, seen.legal_action_mask))(seen)
    np.testing.assert_array_equal(values[0], values[1])
    for (key, _), row in zip(changes, values[2:], strict=True):
        assert not np.array_equal(values[0], row), key


def test_random_is_legal():
    player = policy.load("random")
    mask = jax.random.bernoulli(jax.random.key(0), 0.1, (200, 110)).at[:, 108].set(True)
    action = player.act((), jax.random.split(jax.random.key(1), 200), None, mask)
    assert mask[jnp.arange(200), action].all()
    assert len(set(np.asarray(action).tolist())) > 50
    assert dataclasses.is_dataclass(policy.AGENTS["random"])
