"""What the actor looks at: the linear player's look, put in order for a network.

B = decisions, T = 34 kinds, K = `TILE`, C = `CONTEXT`, A = 110 actions.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.linear import linear_es, weights
from agents.linear.features import TILE as LINEAR_TILE
from agents.linear.linear_es import Look
from mjx import actions
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.tiles import NUM_KINDS

Array = jax.Array

TEMPERATURE = np.float32(2)  # accepting copies for which a discard is e times as likely
TILE = len(LINEAR_TILE) + 15  # numbers of a kind
CONTEXT = 25  # numbers of the decision
_STEPS = 7  # tiles missing that are told apart
_IMPOSSIBLE = np.float32(-1e9)


class Seen(NamedTuple):
    """Decisions as the actor sees them. Leading axis B."""

    scores: Array  # float32[A]    of the linear player
    plain: Array  # float32[A]    of the one that does not read hands
    is_choice: Array  # bool[]        several discards are open: the network has a say
    open: Array  # bool[T]       these discards
    prior: Array  # float32[T]    the linear player's logits, 0 for its best; very low elsewhere
    tiles: Array  # float32[T,K]
    context: Array  # float32[C]


def prior() -> linear_es.Params:
    """Makes the linear player that the actor begins as: it reads hands, tuned by hand alone."""
    given = weights.reading(weights.shipped())
    return linear_es.Params(jax.tree.map(jnp.asarray, given), linear_es.network_for(given, DEFAULT))


def see(
    params: linear_es.Params,
    observation: Observation,
    legal: Array,
    rules: Rules = DEFAULT,
    reads: Array | None = None,
) -> Seen:
    """Looks at decisions.

    Args:
      params: of `prior`, shared by all decisions.
      observation: leading axis B.
      legal: bool[B, A].
      rules: the table's rules.
      reads: bool[B] whose hands are read; by default all.
    """
    each = linear_es.for_each(params, len(legal))
    look = linear_es.look(each, observation, legal, rules, reads)
    is_turn = (observation.pending < 0) & ~legal[:, actions.WIN]
    is_open = (look.scores[:, :NUM_KINDS] > linear_es.NEVER) & is_turn[:, None]
    tiles, context, logits = stage(jax.vmap(_in_order), observation, look, is_open)
    is_choice = jnp.sum(is_open, axis=-1, dtype=jnp.int32) > 1
    return Seen(look.scores, look.plain, is_choice, is_open, logits, tiles, context)


def _in_order(observation: Observation, look: Look, is_open: Array) -> tuple[Array, Array, Array]:
    """Lists the numbers of one decision: float32[T, K], float32[C]; and its logits float32[T]."""
    assert look.read is not None, "the prior reads hands"
    first, read, table = look.first, look.read, look.table
    score = jnp.where(is_open, look.scores[:NUM_KINDS], 0)
    behind = score - jnp.max(jnp.where(is_open, score, _IMPOSSIBLE))
    behind = jnp.where(is_open, behind, 0)
    best, following = first.is_best & is_open, first.is_next & is_open
    accepting = jnp.where(best, first.accepting, 0)
    most = jnp.max(accepting)
    rows = [
        read.price,
        observation.unseen / 4,
        observation.hand / 4,
        best,
        following,
        behind / 10,
        jnp.exp(behind / 3),
        accepting / 20,
        accepting - most * best,
    ]
    rows = [row.astype(jnp.float32) for row in rows]
    tiles = jnp.concatenate([look.tiles, 5 * read.wins, 1.2 * read.tai, jnp.stack(rows)])

    def one_hot(number: Array, size: int) -> Array:
        return (number == np.arange(size)).astype(jnp.float32)

    numbers = [
        table.late,
        table.late**2,
        observation.streak / 3,
        read.num_ready,
        table.open_melds / 5,
        jnp.sum(best, dtype=jnp.int32) / 8,
        most / 30,
    ]
    context = [
        one_hot(jnp.clip(first.lacks, 0, _STEPS - 1), _STEPS),
        read.ready,
        (5 - observation.num_concealed // 3) / 5,
        one_hot(observation.dealer, 4),
        jnp.stack([number.astype(jnp.float32) for number in numbers]),
    ]
    logits = jnp.where(is_open, behind / TEMPERATURE, _IMPOSSIBLE)
    return tiles.T, jnp.concatenate(context), logits
