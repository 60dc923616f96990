"""What a win is worth to the player, in points: at the root exactly, in the tree as a draw.

P = 4 seats from the player, S = 4 suits.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.options import Own
from mjx import packed, score
from mjx import state as st
from mjx.observe import Observation
from mjx.rules import Rules
from mjx.score.payments import ALL_PAY

Array = jax.Array


class Table(NamedTuple):
    """What the points of a win depend on besides the hand."""

    seat_wind: Array  # int32[]
    round_wind: Array  # int32[]
    dealer: Array  # int32[]  counted from the player
    streak: Array  # int32[]
    ready: Array | None  # int32[]  declared, as `score.Win.ready`; None where the rules do without
    flowers: Array | None  # uint32[]  exposed, bit = flower - 1; likewise


def table_of(observation: Observation) -> Table:
    """Reads the table off an observation."""
    ready, flowers = observation.ready, observation.flowers
    if ready is not None:
        ready = ready[0].astype(jnp.int32)
    if flowers is not None:
        bits = flowers[0].astype(jnp.uint32) << np.arange(flowers.shape[-1], dtype=np.uint32)
        flowers = jnp.sum(bits, dtype=jnp.uint32)
    return Table(
        observation.seat_wind,
        observation.round_wind,
        observation.dealer,
        observation.streak,
        ready,
        flowers,
    )


def drawn(
    table: Table, tiles: Own, kind: Array, replacement: Array, rules: Rules, kappa: float
) -> Array:
    """Values a hand completed in the tree.

    The tree's own event is a draw, `kappa` = 1; otherwise the points of the same win on a discard,
    the mean over those who might pay, weigh 1 - `kappa`. Items that hang on the moment (the last
    tile, the first draw) do not count.

    Args:
      table: the table.
      tiles: the hand without the winning tile, and the melds.
      kind: int32[] the winning tile.
      replacement: int32[] what kind of draw it was.
      rules: the table's rules.
      kappa: the weight of the self-draw, 0 to 1.

    Returns:
      float32[] points.
    """

    def points(self_draw: bool, payer: int) -> Array:
        win = _win(table, tiles, kind, jnp.bool_(self_draw), replacement)
        return _points(table, score.total(win, rules), jnp.int32(payer), rules)

    value = points(True, ALL_PAY)
    if kappa == 1:
        return value
    paid = sum(points(False, payer) for payer in range(1, st.NUM_SEATS)) / np.float32(3)
    return np.float32(kappa) * value + np.float32(1 - kappa) * paid


def at_root(observation: Observation, tiles: Own, rules: Rules) -> Array:
    """Values the win that may be declared now, exactly: float32[] points.

    Args:
      observation: what the player sees; of one who may not win the result means nothing.
      tiles: the player's tiles.
      rules: the table's rules.
    """
    self_draw = observation.pending < 0
    kind = jnp.maximum(jnp.where(self_draw, observation.drawn, observation.pending), 0)
    word = packed.in_suit(packed.suit_of(kind), packed.tile(kind))
    melds = observation.chows.any() | observation.pongs.any() | observation.kongs.any()
    untouched = ~(melds | observation.concealed_kongs.any())
    first = untouched & ~jnp.any(observation.history_seat == 0)
    is_dealer = observation.dealer == 0
    hand = jnp.where(self_draw, tiles.hand - word, tiles.hand)
    win = _win(
        table_of(observation), tiles._replace(hand=hand), kind, self_draw, observation.replacement
    ).replace(
        robbed_kong=observation.robbing,
        last_tile=observation.drawable == 0,
        heavenly=self_draw & first & is_dealer,
        earthly=self_draw & first & ~is_dealer,
        human=~self_draw & ~observation.robbing & first & ~is_dealer,
    )
    payer = jnp.where(self_draw, ALL_PAY, observation.pending_seat)
    return _points(table_of(observation), score.total(win, rules), payer, rules)


def _win(table: Table, tiles: Own, kind: Array, self_draw: Array, replacement: Array) -> score.Win:
    """Describes a win at an ordinary moment."""
    no = jnp.bool_(False)
    return score.Win(
        hand=tiles.hand,
        chows=tiles.chows,
        sets=tiles.sets,
        kind=kind,
        self_draw=self_draw,
        robbed_kong=no,
        last_tile=no,
        replacement=replacement,
        heavenly=no,
        earthly=no,
        human=no,
        seat_wind=table.seat_wind,
        round_wind=table.round_wind,
        ready=table.ready,
        flowers=table.flowers,
    )


def _points(table: Table, tai: Array, payer: Array, rules: Rules) -> Array:
    """Pays a win of ours: float32[]."""
    paid = score.payments(tai, jnp.int32(0), payer, table.dealer, table.streak, rules)
    return paid[0].astype(jnp.float32)
