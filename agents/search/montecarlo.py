"""Monte Carlo: the best actions by the tree are played out on hands and walls drawn at random.

Each sample draws the hidden tiles once and plays every candidate on it, so that what is compared
are differences under the same luck (`agents.search.playout` tells how a hand goes on). The tree's
value of a candidate over the tree's best is a prior, wrong by `tau` points; the mean difference of
the samples is evidence, wrong by its standard error s. Played is the highest

    (s^2 (tree - tree_best) + tau^2 mean difference) / (s^2 + tau^2),

which is zero for the tree's best: few or noisy samples change nothing. A short playout with the
leaf value at its end has a third of the spread of one to the end of the hand, for a bias that
`tau` does not know of.

B = decisions, C = candidates, K = samples, A = 110 actions.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.policy import Policy
from agents.search import expectimax, handmade, playout
from agents.search.tree import Settings, Solver
from agents.search.value import NEVER
from agents.worklist import map_where
from mjx.determinize import check_rules, determinize
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules

Array = jax.Array

_LANES = 2048  # hands in play at once: more fall out of the cache


class Candidates(NamedTuple):
    """The best actions of a decision by the tree, the best one first."""

    action: Array  # int32[C]
    value: Array  # float32[C]
    is_tried: Array  # bool[C]    near enough to the best


class Samples(NamedTuple):
    """What playouts say of a decision."""

    mean: Array  # float32[C]   points over the first candidate
    variance: Array  # float32[C]   of this mean


def make(
    playouts: int = 64,
    turns: int = 4,
    candidates: int = 3,
    margin: float = 100.0,
    tau: float = 40.0,
    claims: bool = True,
    depth: int = expectimax.DEPTH,
    rules: Rules = DEFAULT,
) -> Policy:
    """Makes the player.

    Args:
      playouts: samples a decision, 2 or more.
      turns: own turns played before a hand is valued as it stands; 0 plays to the end.
      candidates: actions compared, 2 or more.
      margin: points below the tree's best up to which an action is one of them.
      tau: points by which the tree's differences err, as a standard deviation; 0 is the tree.
      claims: whether answers to a question are played out too, or left to the tree.
      depth: layers of the tree in the own turn; a claim has one at most.
      rules: the table's rules.

    Raises:
      ValueError: a number out of range, or rules under which hidden tiles cannot be drawn.
    """
    check_rules(rules)
    for name, number, least in (
        ("playouts", playouts, 2),
        ("turns", turns, 0),
        ("candidates", candidates, 2),
        ("margin", margin, 0),
        ("tau", tau, 0),
    ):
        if number < least:
            raise ValueError(f"{name} is {least} or more, not {number}.")
    settings = Settings(depth=depth, claim_depth=min(depth, 1), rules=rules)
    value, params = handmade.value(), handmade.params()

    def act(params: Any, key: Array, observation: Observation, legal_action_mask: Array) -> Array:
        solver = Solver(settings, value, None, params, ())
        tree = expectimax.action_values(solver, observation, legal_action_mask)
        found = jax.vmap(lambda row: find_candidates(row, candidates, margin))(tree)
        is_open = found.is_tried[:, 1] & (claims | (observation.pending < 0))
        sampler = functools.partial(sample, solver=solver, playouts=playouts, turns=turns)
        # As plain numbers: keys that a loop takes from outside count as used in every round.
        samples = map_where(
            lambda lanes: sampler(jax.random.wrap_key_data(lanes[0]), *lanes[1:]),
            is_open,
            (jax.random.key_data(key), observation, found),
            max(1, _LANES // (playouts * candidates)),
        )
        decided = jax.vmap(lambda one, seen: decide(one, seen, tau))(found, samples)
        return jnp.where(is_open, decided, found.action[:, 0])

    return Policy("expectimax_mc", params, act)


def find_candidates(values: Array, number: int, margin: float) -> Candidates:
    """Picks the best actions by value: a decision's float32[A], `NEVER` for what cannot be."""
    best, action = jax.lax.top_k(values, number)
    is_tried = (best != NEVER) & (best >= best[0] - margin)
    return Candidates(action.astype(jnp.int32), best, is_tried)


def sample(
    keys: Array,
    observation: Observation,
    found: Candidates,
    solver: Solver,
    playouts: int,
    turns: int,
) -> Samples:
    """Plays the candidates of decisions out, each on the same hidden tiles.

    Args:
      keys: typed keys [B].
      observation: [B, ...].
      found: [B, ...].
      solver: its value function and parameters value hands that have not ended.
      playouts: K.
      turns: own turns before that; 0 plays to the end.

    Returns:
      Samples [B, ...]; of candidates that are not tried they mean nothing.
    """
    rules = solver.settings.rules
    lanes = begin(keys, observation, found, playouts, turns, rules)
    shape = lanes.is_done.shape
    lanes = jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), lanes)
    lanes = playout.play(lanes, playout.own_walls(rules))
    points = playout.results(lanes, solver.value, solver.params, playout.own_walls(rules))
    return jax.vmap(summarize)(points.reshape(shape))


def begin(
    keys: Array,
    observation: Observation,
    found: Candidates,
    playouts: int,
    turns: int,
    rules: Rules,
) -> playout.Lane:
    """Draws the hidden tiles for each sample, and puts each candidate on them: lanes [B, K, C]."""

    def of_sample(key: Array, observation: Observation, found: Candidates) -> playout.Lane:
        state = playout.with_own_walls(determinize(key, observation, rules), rules)
        start = functools.partial(playout.start, state, observation, turns=turns)
        lanes = jax.vmap(start)(found.action)
        return lanes.replace(is_done=~found.is_tried)

    keys = jax.vmap(lambda key: jax.random.split(key, playouts))(keys)
    of_decision = jax.vmap(of_sample, in_axes=(0, None, None))
    return jax.vmap(of_decision)(keys, observation, found)


def summarize(points: Array) -> Samples:
    """Compares the candidates with the first: float32[K, C] points of samples."""
    over_first = points - points[:, :1]
    variance = jnp.var(over_first, axis=0, ddof=1) / np.float32(points.shape[0])
    return Samples(jnp.mean(over_first, axis=0), variance)


def decide(found: Candidates, samples: Samples, tau: float) -> Array:
    """Chooses by prior and evidence: int32[] an action."""
    prior = found.value - found.value[0]
    precision = np.float32(tau) ** 2
    total = samples.variance + precision
    evidence = (samples.variance * prior + precision * samples.mean) / jnp.maximum(total, 1e-6)
    posterior = jnp.where(total > 0, evidence, prior)
    return found.action[jnp.argmax(jnp.where(found.is_tried, posterior, NEVER))]
