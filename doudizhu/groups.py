"""The legal moves without their kickers: 309 groups instead of 27,472 moves.

A group is what the moves share that differ in their kickers only; `moves.all_moves().group` maps
a move to its group. One of it is legal where the main cards are held and beat, and enough
kickers are left. G = 309.
"""

import jax
import jax.numpy as jnp
from jax import lax

from doudizhu import packed, tables
from doudizhu.legal import beats
from doudizhu.moves import PASS
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import State, hand_of
from doudizhu.tables import NUM_GROUPS

Array = jax.Array

PASS_GROUP = NUM_GROUPS - 1


def legal_groups(state: State, rules: Rules = DEFAULT) -> Array:
    """Marks the groups of which the player whose turn it is may make a move.

    Args:
      state: one game.
      rules: the table's rules.

    Returns:
      bool[G]; the pass alone once the game is over.
    """
    is_pass = jnp.arange(NUM_GROUPS) == PASS_GROUP
    of_hand = groups_of(hand_of(state), state.to_beat, rules)
    return jnp.where(state.terminated, is_pass, of_hand)


def groups_of(hand: Array, to_beat: Array, rules: Rules = DEFAULT) -> Array:
    """Marks the groups of which a hand may play a move: bool[G]; arguments as `words_of`."""
    table = tables.group_table(rules.strict)
    low, high = packed.pack(hand)
    is_held = ((table.main[0] & ~low) | (table.main[1] & ~high)) == 0
    kickers = [
        lax.population_count(words & held).astype(jnp.int32)
        for words, held in zip(table.kickers, (low, high), strict=True)
    ]
    joker = table.takes_joker & ((high & packed.JOKERS) > 0)
    has_kickers = kickers[0] + kickers[1] + joker.astype(jnp.int32) >= table.num_kickers
    is_legal = is_held & has_kickers & beats(jnp.asarray(table.first), to_beat)
    return is_legal.at[PASS_GROUP].set(to_beat != PASS)
