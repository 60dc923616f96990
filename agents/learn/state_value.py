"""V(h) for the leaves of a search: a network whose first layer is a sum over the tiles of a hand.

A leaf is a rest and one or two tiles drawn, so its first layer is the rest's plus two rows of a
table. What else a leaf has of its own is how near the hand is to winning: `Whole`, which comes
from the hand tables.

    x = table + scalars + melds + sum_k (levels up to count_k + count_k * tile_k) + whole
    V = out(relu(hidden(relu(x))))

The table's share and each tile's worth beside it are computed once a decision. T = 34 kinds,
W = width of the first layer, H of the second, N = rests, D = 595 pairs of draws, X = hands.
Arrays that a leaf goes through are [W, ..., N], which is how vectors fill.
"""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents.learn import features
from agents.learn.features import NUM_KINDS, Hand, Table, Whole
from mjx import draws

Array = jax.Array

_LEVELS = 4  # copies of a kind: each adds a row of its own
_FAR = 7  # deficiencies told apart: 0 to 6, and more
_NUM_WHOLE = 16

_STEPS = 17  # the pairs of two draws are valued in so many blocks, which stay in the cache
_PAIRS = np.stack([draws.FIRST, draws.SECOND]).astype(np.int32).reshape(2, _STEPS, -1)


def head_flops(width: int) -> int:
    """Counts the multiplications and additions of products for one leaf, given its sum of tiles."""
    return 2 * (2 * width * _NUM_WHOLE + 2 * width * width + width)


class Rest(struct.PyTreeNode):
    """Hands without what was drawn last. Any leading axes."""

    counts: Array  # int8[...,T]
    melds: Array  # int8[...,T]  tiles in own melds
    num_melds: Array  # int8[...]
    turn: Array  # int8[...]
    drawable: Array  # int8[...]
    locked: Array  # bool[...]


class Shared(NamedTuple):
    """What all hands of a decision share. Any leading axes, those of the rests."""

    base: Array  # float32[...,W]
    tile: Array  # float32[...,T,W]  each copy held


def rest_of(hand: Hand) -> Rest:
    """Takes a hand as a rest to which nothing is drawn."""
    return Rest(hand.counts, hand.melds, hand.num_melds, hand.turn, hand.drawable, hand.locked)


class StateValue(nn.Module):
    """The network V, in thousands of points."""

    width: int  # H; W is twice as much
    context: int
    dtype: jnp.dtype  # of the products that each leaf pays for; sums are float32

    def setup(self) -> None:
        """Declares the layers."""
        first = 2 * self.width
        self.trunk = nn.Dense(self.context)
        self.from_trunk = nn.Dense(first)
        self.tile_trunk = nn.Dense(self.context)
        self.from_tile = nn.Dense(first, use_bias=False)
        self.from_melds = nn.Dense(first, use_bias=False)
        self.from_scalars = nn.Dense(first, use_bias=False)
        scaled, zeros = nn.initializers.lecun_normal(), nn.initializers.zeros_init()
        small = nn.initializers.normal(0.1)
        self.levels = self.param("levels", small, (NUM_KINDS, _LEVELS, first))
        self.from_whole = self.param("from_whole", scaled, (_NUM_WHOLE, first))
        self.hidden = self.param("hidden", scaled, (first, self.width))
        self.hidden_bias = self.param("hidden_bias", zeros, (self.width,))
        self.out = self.param("out", scaled, (self.width, 1))
        self.out_bias = self.param("out_bias", zeros, ())

    def table(self, table: Table) -> Shared:
        """Returns the table's share of the first layer."""
        trunk = nn.relu(self.trunk(features.table_scalars(table)))
        tiles = nn.relu(self.tile_trunk(features.table_per_tile(table).T))
        return Shared(self.from_trunk(trunk), self.from_tile(tiles) / 4)

    def __call__(self, shared: Shared, hand: Hand) -> Array:
        """Values hands that must discard: float32[...]."""
        x = self._first(shared, rest_of(hand))
        shape = x.shape[:-1]
        rows = jnp.stack(_rows(hand.whole)).reshape(_NUM_WHOLE, -1)
        return self._head(x.reshape(-1, x.shape[-1]).T, rows).reshape(shape)

    def after_one_draw(self, shared: Shared, rests: Rest, whole: Whole) -> Array:
        """Values rests after each draw.

        Args:
          shared: leading axis N.
          rests: leading axis N.
          whole: of the hands after the draw, int[T,N].

        Returns:
          float32[T, N].
        """
        x = self._first(shared, rests).T
        x = x[:, None] + self._draws(shared, rests.counts)[0]
        rows = jnp.stack(_rows(whole)).reshape(_NUM_WHOLE, -1)
        return self._head(x.reshape(x.shape[0], -1), rows).reshape(x.shape[1:])

    def after_two_draws(self, shared: Shared, rests: Rest, whole: Whole) -> Array:
        """Values rests after any two draws.

        Args:
          shared: leading axis N.
          rests: leading axis N.
          whole: of the hands after both draws, int[D,N]: `mjx.draws.FIRST` and `SECOND`.

        Returns:
          float32[D, N].
        """
        x = self._first(shared, rests).T[:, None]
        once, twice = self._draws(shared, rests.counts)
        blocks = jax.tree.map(lambda grid: grid.reshape(_STEPS, -1), whole)

        def one_step(carry: None, step: tuple[Array, Array, Whole]) -> tuple[None, Array]:
            first, second, whole = step
            same = (first == second)[None, :, None]
            drawn = jnp.where(same, twice[:, first], once[:, first] + once[:, second])
            return carry, self._head((x + drawn).reshape(x.shape[0], -1), jnp.stack(_rows(whole)))

        steps = (jnp.asarray(_PAIRS[0]), jnp.asarray(_PAIRS[1]), blocks)
        return jax.lax.scan(one_step, None, steps)[1].reshape(draws.NUM_PAIRS, -1)

    def _first(self, shared: Shared, rest: Rest) -> Array:
        """Adds up the first layer without `Whole`: float32[..., W]."""
        counts = rest.counts.astype(jnp.float32)
        own = jnp.einsum("...tc,tcw->...w", _at_least(rest.counts, 1), self.levels)
        seen = jnp.einsum("...t,...tw->...w", counts, shared.tile)
        melds = self.from_melds(rest.melds.astype(jnp.float32) / 4)
        return shared.base + own + seen + melds + self.from_scalars(_scalars(rest))

    def _draws(self, shared: Shared, counts: Array) -> tuple[Array, Array]:
        """Says what each kind adds to a rest, drawn once and drawn twice: float32[W,T,N] each."""
        kept = _at_least(counts, 1)
        tile = jnp.transpose(shared.tile, (2, 1, 0))
        once = jnp.einsum("ntc,tcw->wtn", _at_least(counts, 0) - kept, self.levels)
        twice = jnp.einsum("ntc,tcw->wtn", _at_least(counts, -1) - kept, self.levels)
        return once + tile, twice + 2 * tile

    def _head(self, x: Array, rows: Array) -> Array:
        """Runs the rest of the network: float32[X] from x [W,X] and what `_rows` says [F,X]."""
        x = nn.relu(x + self._product(self.from_whole, rows))
        x = nn.relu(self._product(self.hidden, x) + self.hidden_bias[:, None])
        return self._product(self.out, x)[0] + self.out_bias

    def _product(self, weights: Array, x: Array) -> Array:
        """Multiplies x [A,X] by weights [A,B]: float32[B,X]."""
        product = jnp.einsum("ab,ax->bx", weights.astype(self.dtype), x.astype(self.dtype))
        return product.astype(jnp.float32)


def _at_least(counts: Array, first: int) -> Array:
    """Marks kinds held at least first, first + 1, ... times: float32[..., T, 4] of int[..., T]."""
    levels = jnp.arange(first, first + _LEVELS, dtype=counts.dtype)
    shape = (*counts.shape, _LEVELS)
    return (jnp.broadcast_to(counts[..., None], shape) >= jnp.broadcast_to(levels, shape)).astype(
        jnp.float32
    )


def _scalars(rest: Rest) -> Array:
    """Describes what is not a tile: float32[..., 9]."""
    shape = (*rest.num_melds.shape, 6)
    numbers = jnp.broadcast_to(np.arange(6, dtype=np.int8), shape)
    others = [
        rest.turn.astype(jnp.float32) / 20,
        rest.drawable.astype(jnp.float32) / 56,
        rest.locked.astype(jnp.float32),
    ]
    melds = (numbers == jnp.broadcast_to(rest.num_melds[..., None], shape)).astype(jnp.float32)
    return jnp.concatenate([melds, jnp.stack(others, axis=-1)], axis=-1)


def _rows(whole: Whole) -> list[Array]:
    """Describes what hands lack and accept: 16 float32 rows of the shape of `whole`'s fields."""
    step = jnp.minimum(whole.deficiency, _FAR)
    numbers = (whole.accepted.astype(jnp.float32), whole.paired.astype(jnp.float32))
    accepted = jnp.log1p(jnp.maximum(numbers[0], 0)) / 4
    both = jnp.log1p(jnp.maximum(numbers[0] + numbers[1], 0)) / 4
    bands = (step <= 1, step == 2, step == 3, step >= 4)
    return [
        *((step == n).astype(jnp.float32) for n in range(_FAR + 1)),
        *(jnp.where(band, accepted, np.float32(0)) for band in bands),
        *(jnp.where(band, both, np.float32(0)) for band in bands),
    ]
