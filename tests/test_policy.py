"""Players by name, and what they may know."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents import policy
from agents.worklist import map_where
from mjx.observe import observe
from mjx.step import init, step
from mjx.tiles import NUM_TILES


def test_every_player_loads():
    for name in ("random", "greedy", "expectimax", "expectimax:depth=1,alpha=0.4,kappa=0.5"):
        assert policy.load(name).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gredy", ["'gredy'", "'greedy'", "random"]),
        ("expectimax:dept=1", ["'dept'", "'depth'", "alpha"]),
        ("expectimax:depth=one", ["depth", "whole number", "'one'"]),
        ("expectimax:depth=9", ["depth", "1 to 4", "9"]),
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


@pytest.mark.parametrize("name", ["greedy", "expectimax:depth=1,alpha=0.4"])
def test_what_cannot_be_seen_does_not_matter(name):
    """Permuting the wall leaves a decision as it is; the winds and the dealer reach the player."""
    player = policy.load(name)
    act = jax.jit(player.act)
    state = jax.jit(init)(jax.random.key(5))
    state = _after(state, 6, jax.jit(policy.load("greedy").act))
    head, tail = int(state.head), int(state.tail)
    wall = np.asarray(state.wall).copy()
    wall[head : tail + 1] = np.random.default_rng(0).permutation(wall[head : tail + 1])
    assert tail < NUM_TILES
    other = state.replace(wall=jnp.asarray(wall))
    assert (np.asarray(other.wall) != np.asarray(state.wall)).any()
    seen, same = (
        jax.tree.map(lambda x: x[None], observe(s, s.current_player)) for s in (state, other)
    )
    for a, b in zip(jax.tree.leaves(seen), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    keys = jax.random.split(jax.random.key(0), 1)
    action = act(player.params, keys, seen, seen.legal_action_mask)
    assert action == act(player.params, keys, same, same.legal_action_mask)
    assert seen.legal_action_mask[0, action[0]]


def test_the_search_sees_the_winds_and_the_dealer():
    """A pair of dragons and one of winds: which to keep depends on the seat."""
    player = policy.load("expectimax:depth=1,alpha=1.0")
    state = jax.jit(init)(jax.random.key(5))
    seen = jax.tree.map(lambda x: x[None], observe(state, state.current_player))
    explain = jax.jit(player.explain)
    before = explain(player.params, seen).value
    for change in ({"seat_wind": 2}, {"round_wind": 3}, {"dealer": 2}, {"drawable": 8}):
        fields = {key: jnp.full_like(getattr(seen, key), value) for key, value in change.items()}
        assert not np.array_equal(
            before, explain(player.params, seen.replace(**fields)).value, equal_nan=True
        ), change


def test_random_is_legal():
    player = policy.load("random")
    mask = jax.random.bernoulli(jax.random.key(0), 0.1, (200, 109)).at[:, 108].set(True)
    action = player.act((), jax.random.split(jax.random.key(1), 200), None, mask)
    assert mask[jnp.arange(200), action].all()
    assert len(set(np.asarray(action).tolist())) > 50
    assert dataclasses.is_dataclass(policy.AGENTS["random"])
