"""A decision as tasks for the tree, and the tasks' values as values of actions.

The own turn is one hand that must discard; a claim is another; a pass and the kongs are hands at
rest that draw first, 34 tasks each. Claims and passes are searched by the same number of layers.
T = 34 kinds, A = 110 actions, D = 4 ways to draw first: pass and open kong, or kongs of the own
turn (no hand has more than four: 4 tiles for each concealed one, 4 with its pong for an added).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from agents.options import Own
from agents.search import completion
from agents.search.tree import Contexts, Settings, Solver, Task
from agents.search.value import NEVER, Position
from mjx import actions, packed
from mjx import hand as hands
from mjx import state as st
from mjx.observe import Observation
from mjx.tiles import NUM_KINDS

Array = jax.Array

NUM_DISCARDS_FIRST = 4  # the own turn, or one for each claim
NUM_DRAWS_FIRST = 4
NUM_TASKS = NUM_DISCARDS_FIRST + NUM_DRAWS_FIRST * NUM_KINDS
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


def wanted(root: Root) -> Array:
    """Marks the tasks that have to be solved: bool[NUM_TASKS].

    Not: draws that cannot come, and draws that win.
    """
    own_turn = (root.observation.pending < 0) & root.legal[:NUM_KINDS].any()
    claims = root.legal[_CLAIMS]
    draws = draw_ways(root)[:, None] & (root.observation.unseen[None] > 0)
    tasks = jnp.concatenate([own_turn[None] | claims[:1], claims[1:], draws.reshape(-1)])
    return tasks & ~winning_draws(root)


def draw_ways(root: Root) -> Array:
    """Marks the ways to draw first: bool[D]."""
    asked = root.observation.pending >= 0
    no = jnp.bool_(False)
    calls = jnp.stack([root.legal[actions.PASS], root.legal[actions.OPEN_KONG], no, no])
    return jnp.where(asked, calls, root.kong < 2 * NUM_KINDS)


def task(root: Root, number: Array) -> Task:
    """Builds one of a decision's tasks, which must be wanted, int32[]: no leading axis."""
    draw = jnp.maximum(number - NUM_DISCARDS_FIRST, 0)
    way, kind = draw // NUM_KINDS, draw % NUM_KINDS
    claimed = options.after_claims(root.tiles, root.observation.pending)
    at_rest = _at_rest(root, way)
    drawn = at_rest._replace(hand=at_rest.hand + _one(kind))
    own_turn = root.observation.pending < 0
    discards_first = number < NUM_DISCARDS_FIRST
    tiles = jax.tree.map(
        lambda own, claims, drawn: jnp.where(
            discards_first,
            jnp.where(own_turn, own, claims[jnp.minimum(number, NUM_DISCARDS_FIRST - 1)]),
            drawn,
        ),
        root.tiles,
        claimed,
        drawn,
    )
    unseen = root.observation.unseen.astype(jnp.int32)
    is_drawn = ~discards_first & (np.arange(NUM_KINDS, dtype=np.int32) == kind)
    passed = ~discards_first & ~own_turn & (way == 0)
    return Task(tiles, passed.astype(jnp.int32), unseen - is_drawn.astype(jnp.int32), root.locked)


def draw_points(root: Root, number: Array, settings: Settings) -> Array:
    """Values the win by one of the draws that come first, a task's number int32[]: float32[]."""
    draw = jnp.maximum(number - NUM_DISCARDS_FIRST, 0)
    way, kind = draw // NUM_KINDS, draw % NUM_KINDS
    after_call = jnp.where(way == 0, st.PLAIN_DRAW, st.AFTER_OPEN_KONG)
    replacement = jnp.where(root.observation.pending < 0, st.AFTER_OWN_KONG, after_call)
    table = completion.table_of(root.observation)
    comes = root.observation.unseen[kind] > 0
    tiles = options.keep(comes, _at_rest(root, way))
    return completion.drawn(table, tiles, kind, replacement, settings.rules, settings.kappa)


def action_values(
    root: Root, values: Array, points: Array, contexts: Contexts, solver: Solver
) -> Array:
    """Turns the tasks' values into values of actions.

    Args:
      root: the decision.
      values: float32[NUM_TASKS, T] of the discards of each wanted task, zero elsewhere.
      points: float32[NUM_TASKS] of the winning draws, zero elsewhere.
      contexts: of the decision.
      solver: settings, value function and parameters.

    Returns:
      float32[A], `NEVER` for what is not legal or beyond the width.
    """
    best = jnp.max(values, axis=-1)
    draws = (best + points)[NUM_DISCARDS_FIRST:].reshape(NUM_DRAWS_FIRST, NUM_KINDS)
    unseen = root.observation.unseen.astype(jnp.float32)
    chance = unseen / jnp.maximum(jnp.sum(unseen), np.float32(1))
    means = jnp.sum(chance[None] * draws, axis=-1)
    passing = means[0]
    if solver.risk is not None:
        rho, sigma = solver.risk.passing(solver.risk_params, contexts.risk)
        passing = rho + sigma * passing
    is_kong = root.kong[:, None] == np.arange(2 * NUM_KINDS, dtype=np.int32)[None]
    kongs = jnp.sum(jnp.where(is_kong, means[:, None], np.float32(0)), axis=0)
    win = completion.at_root(root.observation, root.tiles, solver.settings.rules)
    # The tree knows nothing of declared hands: whoever may declare itself ready does.
    calls = jnp.stack([means[1], win, passing, passing + 1])
    value = jnp.concatenate([values[0], kongs, best[:NUM_DISCARDS_FIRST], calls])
    return jnp.where(root.legal, value, NEVER)


def winning_draws(root: Root) -> Array:
    """Marks the draws that come first and win: bool[NUM_TASKS], like the tasks."""

    def waits(way: Array) -> Array:
        return packed.kinds_to_bools(hands.waits(_at_rest(root, way).hand))

    wins = jax.vmap(waits)(jnp.asarray(_WAYS)) & draw_ways(root)[:, None] & ~root.locked
    wins &= root.observation.unseen[None] > 0
    return jnp.concatenate([jnp.zeros(NUM_DISCARDS_FIRST, bool), wins.reshape(-1)])


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


def positions(tasks: Task) -> Position:
    """Describes tasks to a value function, leading axis N."""
    own = tasks.tiles
    return Position(own.hand, own.chows, own.sets, own.num_melds, tasks.draws)
