"""The Q networks, behind `init`, `table` and `values`; the only module that knows Flax.

T = 34 kinds. `table` holds what does not depend on the own hand and is computed once a decision;
`values` is computed for every leaf of a search.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from agents.learn import features
from agents.learn.config import NetworkConfig
from agents.learn.features import Hand, Table, View

Array = jax.Array
Params = Any


class QNetwork(NamedTuple):
    """A Q function over the 34 discards, in thousands of points, for one decision."""

    init: Callable[[Array], Params]  # key -> params
    table: Callable[[Params, Table], Any]  # the part that all leaves of a search share
    values: Callable[[Params, Any, Hand], Array]  # (params, table's part, hand) -> float32[T]

    def apply(self, params: Params, view: View) -> Array:
        """Returns Q of each kind as a discard, float32[T], held or not."""
        return self.values(params, self.table(params, view.table), view.hand)


def make(config: NetworkConfig) -> QNetwork:
    """Makes the network that a config describes."""
    if config.kind == "small":
        module: nn.Module = PerTile(width=config.width, context=config.context)
    else:
        module = ResNet()

    def init(key: Array) -> Params:
        return module.init(key, features.blank_view())

    def table(params: Params, table: Table) -> Any:
        return module.apply(params, table, method="table")

    def values(params: Params, shared: Any, hand: Hand) -> Array:
        return jnp.asarray(module.apply(params, shared, hand, method="values"))

    return QNetwork(init, table, values)


class PerTile(nn.Module):
    """One small head shared by the 34 kinds, told about the table by a small trunk."""

    width: int
    context: int

    def setup(self) -> None:
        """Declares the layers."""
        self.trunk = nn.Dense(self.context)
        self.from_trunk = nn.Dense(self.width, use_bias=False)
        self.from_table = nn.Dense(self.width, use_bias=False)
        self.from_hand = nn.Dense(self.width, use_bias=False)
        self.from_scalars = nn.Dense(self.width, use_bias=False)
        self.of_kind = nn.Embed(features.NUM_KINDS, self.width)
        self.hidden = nn.Dense(self.width)
        self.out = nn.Dense(1)

    def __call__(self, view: View) -> Array:
        """Returns Q of each discard: float32[T]."""
        return self.values(self.table(view.table), view.hand)

    def table(self, table: Table) -> Array:
        """Returns the table's share of the first layer: float32[T, width]."""
        trunk = nn.relu(self.trunk(features.table_scalars(table)))
        per_tile = self.from_table(features.table_per_tile(table).T)
        return per_tile + self.from_trunk(trunk)[None] + self.of_kind.embedding

    def values(self, shared: Array, hand: Hand) -> Array:
        """Adds the hand's share and runs the head: float32[T]."""
        per_tile = self.from_hand(features.hand_per_tile(hand).T)
        whole = self.from_scalars(features.hand_scalars(hand))
        x = nn.relu(shared + per_tile + whole[None])
        x = nn.relu(self.hidden(x))
        return self.out(x)[:, 0]


class ResNet(nn.Module):
    """The paper's 20-layer ResNet on a 19 x 19 plane: 16, 32, 64 channels, 3 blocks of 2 each.

    The paper does not say how it normalises; groups of eight channels, which need no running
    averages, so that a value never depends on the batch it is computed in.
    """

    def setup(self) -> None:
        """Declares the layers."""
        self.stem = nn.Conv(16, (3, 3), use_bias=False)
        self.stem_norm = nn.GroupNorm(num_groups=None, group_size=8)
        self.blocks = [
            Block(width, stride=2 if width > 16 and i == 0 else 1)
            for width in (16, 32, 64)
            for i in range(3)
        ]
        self.out = nn.Dense(features.NUM_KINDS)

    def __call__(self, view: View) -> Array:
        """Returns Q of each discard: float32[T]."""
        return self.values(view.table, view.hand)

    def table(self, table: Table) -> Table:
        """Returns the table as it is: every value of this network depends on the hand."""
        return table

    def values(self, shared: Table, hand: Hand) -> Array:
        """Runs the whole network: float32[T]."""
        x = features.paper_input(View(shared, hand)).reshape(features.PLANE, features.PLANE, 1)
        x = nn.relu(self.stem_norm(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return self.out(jnp.mean(x, axis=(0, 1)))


class Block(nn.Module):
    """Two 3 x 3 convolutions and a way around them."""

    width: int
    stride: int

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """Returns float32[rows, columns, width]."""
        steps = (self.stride, self.stride)
        y = nn.Conv(self.width, (3, 3), steps, use_bias=False)(x)
        y = nn.relu(nn.GroupNorm(num_groups=None, group_size=8)(y))
        y = nn.Conv(self.width, (3, 3), use_bias=False)(y)
        y = nn.GroupNorm(num_groups=None, group_size=8)(y)
        if x.shape != y.shape:
            x = nn.Conv(self.width, (1, 1), steps, use_bias=False)(x)
        return nn.relu(x + y)
