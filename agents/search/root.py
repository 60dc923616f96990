"""A decision as tasks for the tree, and the tasks' values as values of actions.

The own turn is one hand that must discard; a claim is another; a pass and the kongs are hands at
rest that draw first. Claims and passes are searched by the same number of layers. T = 34 kinds,
A = 110 actions, C = 4 hands that discard first: the own turn, or one for each claim; D = 4 that
draw first: pass and open kong, or kongs of the own turn (no hand has more than four: 4 tiles for
each concealed one, 4 with its pong for an added).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from agents.options import Own
from agents.search import completion
from agents.search.tree import Contexts, Solver, Task, chances
from agents.search.value import NEVER
from mjx import actions, packed
from mjx import hand as hands
from mjx import state as st
from mjx.observe import Observation
from mjx.tiles import NUM_KINDS

Array = jax.Array

NUM_DISCARDS_FIRST = 4
NUM_DRAWS_FIRST = 4
_KONGS = slice(actions.CONCEALED_KONG, actions.CHOW_LOW)
_CLAIMS = np.array(options.CLAIMS)
_WAYS = np.arange(NUM_DRAWS_FIRST, dtype=np.int32)


class Root(NamedTuple):
    """One decision, taken apart."""

    tiles: Own
    observation: Observation
    legal: Array  # bool[A]
    locked: Array  # bool[]   no win for now, or one is declined by any action but the win
    kong: Array  # int32[D]  kongs of the own turn as 0-67, concealed before added; 68: none


def root_of(observation: Observation, legal: Array) -> Root:
    """Takes a decision apart."""
    kong = jnp.nonzero(legal[_KONGS], size=NUM_DRAWS_FIRST, fill_value=2 * NUM_KINDS)[0]
    locked = observation.locked | legal[actions.WIN]
    return Root(options.own(observation), observation, legal, locked, kong.astype(jnp.int32))


NUM_TASKS = NUM_DISCARDS_FIRST + NUM_DRAWS_FIRST * (1 + NUM_KINDS)
DISCARDS = slice(0, NUM_DISCARDS_FIRST)
AT_REST = slice(NUM_DISCARDS_FIRST, NUM_DISCARDS_FIRST + NUM_DRAWS_FIRST)
DRAWN = slice(NUM_DISCARDS_FIRST + NUM_DRAWS_FIRST, NUM_TASKS)


def wanted(root: Root) -> Array:
    """Marks the hands that may have to be searched: bool[NUM_TASKS].

    Those that discard first, C; those at rest, D; and the same after each draw that comes and does
    not win, D * T.
    """
    own_turn = (root.observation.pending < 0) & root.legal[:NUM_KINDS].any()
    claims = root.legal[_CLAIMS]
    ways = draw_ways(root)
    drawn = ways[:, None] & (root.observation.unseen > 0)[None] & ~winning_draws(root)
    return jnp.concatenate([own_turn[None] | claims[:1], claims[1:], ways, drawn.reshape(-1)])


def winning_draws(root: Root) -> Array:
    """Marks the draws that come first and win: bool[D, T]."""

    def waits(way: Array) -> Array:
        return packed.kinds_to_bools(hands.waits(_at_rest(root, way).hand))

    wins = jax.vmap(waits)(jnp.asarray(_WAYS)) & draw_ways(root)[:, None] & ~root.locked
    return wins & (root.observation.unseen > 0)[None]


def draw_ways(root: Root) -> Array:
    """Marks the ways to draw first: bool[D]."""
    asked = root.observation.pending >= 0
    no = jnp.bool_(False)
    calls = jnp.stack([root.legal[actions.PASS], root.legal[actions.OPEN_KONG], no, no])
    return jnp.where(asked, calls, root.kong < 2 * NUM_KINDS)


def task(root: Root, number: Array, is_wanted: Array) -> Task:
    """Builds a task of a decision, int32[], empty where it is not wanted: no leading axis."""
    is_discard, is_drawn = number < AT_REST.start, number >= DRAWN.start
    draw = jnp.maximum(number - DRAWN.start, 0)
    way = jnp.where(is_drawn, draw // NUM_KINDS, jnp.maximum(number - AT_REST.start, 0))
    claimed = options.after_claims(root.tiles, root.observation.pending)
    own_turn = root.observation.pending < 0
    rest = _at_rest(root, way)
    tile = _one(draw % NUM_KINDS)
    drawn = rest._replace(hand=jnp.where(is_drawn, rest.hand + tile, rest.hand))
    first = jnp.minimum(number, NUM_DISCARDS_FIRST - 1)
    tiles = jax.tree.map(
        lambda own, claims, drawn: jnp.where(
            is_discard, jnp.where(own_turn, own, claims[first]), drawn
        ),
        root.tiles,
        claimed,
        drawn,
    )
    passed = ~is_discard & ~own_turn & (way == 0)
    after_call = jnp.where(way == 0, st.PLAIN_DRAW, st.AFTER_OPEN_KONG)
    gone = is_drawn & (np.arange(NUM_KINDS, dtype=np.int32) == draw % NUM_KINDS)
    return Task(
        options.keep(is_wanted, tiles),
        is_wanted & ~is_discard & ~is_drawn,
        passed.astype(jnp.int32),
        root.observation.unseen.astype(jnp.int32) - gone,
        root.locked,
        jnp.where(own_turn, st.AFTER_OWN_KONG, after_call),
    )


def action_values(
    root: Root, values: Array, expanded: Array, contexts: Contexts, solver: Solver
) -> Array:
    """Turns the tasks' values into values of actions.

    Args:
      root: the decision.
      values: float32[NUM_TASKS, T] of each task searched, zero elsewhere: of its discards, or of
        its draws. Those `DRAWN` may be left out where no decision is `expanded`.
      expanded: bool[], the draws that come first have tasks of their own; of those at rest only
        the points of winning draws count then.
      contexts: of the decision.
      solver: settings, value function and parameters.

    Returns:
      float32[A], `NEVER` for what is not legal or beyond the width.
    """
    best = jnp.max(values[DISCARDS], axis=-1)
    draws = values[AT_REST]
    if len(values) == NUM_TASKS:
        drawn = jnp.max(values[DRAWN], axis=-1).reshape(NUM_DRAWS_FIRST, NUM_KINDS)
        draws = jnp.where(expanded & ~winning_draws(root), drawn, draws)
    means = jnp.sum(chances(root.observation.unseen)[None] * draws, axis=-1)
    passing = means[0]
    if solver.risk is not None:
        rho, sigma = solver.risk.passing(solver.risk_params, contexts.risk)
        passing = rho + sigma * passing
    is_kong = root.kong[:, None] == np.arange(2 * NUM_KINDS, dtype=np.int32)[None]
    kongs = jnp.sum(jnp.where(is_kong, means[:, None], np.float32(0)), axis=0)
    win = completion.at_root(root.observation, root.tiles, solver.settings.rules)
    # The tree knows nothing of declared hands: whoever may declare itself ready does.
    calls = jnp.stack([means[1], win, passing, passing + 1])
    value = jnp.concatenate([values[0], kongs, best, calls])
    return jnp.where(root.legal, value, NEVER)


def _at_rest(root: Root, way: Array) -> Own:
    """Lays down what comes before a way to draw first: the hand at rest."""
    kong = root.kong[way]
    kind = kong % NUM_KINDS
    concealed = options.after_concealed_kong(root.tiles, kind)
    added = options.after_added_kong(root.tiles, kind)
    opened = options.after_open_kong(root.tiles, root.observation.pending)
    own_turn = root.observation.pending < 0
    tiles = jax.tree.map(
        lambda tiles, opened, concealed, added: jnp.where(
            own_turn,
            jnp.where(kong < NUM_KINDS, concealed, added),
            jnp.where(way == 0, tiles, opened),
        ),
        root.tiles,
        opened,
        concealed,
        added,
    )
    return options.keep(draw_ways(root)[way], tiles)


def _one(kind: Array) -> Array:
    """Makes a hand of one tile: uint32[S]."""
    return packed.in_suit(packed.suit_of(kind), packed.tile(kind))
