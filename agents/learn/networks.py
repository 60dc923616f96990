"""The Q networks, behind plain functions of parameters.

Flax is only here and in the two files of layers, `state_value` and `plane_networks`.

T = 34 kinds, N = rests, D = pairs of draws. `table` holds what does not depend on the own hand and
is computed once a decision; `values` is computed for every position of a search, or only where it
branches by networks that can value the leaves more cheaply.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from agents.learn import features, plane_networks, state_value
from agents.learn.config import NetworkConfig
from agents.learn.features import Hand, Table, View, Whole
from agents.learn.state_value import Rest, Shared, StateValue

Array = jax.Array
Params = Any


class Leaves(NamedTuple):
    """V = max_a Q over the kinds held, in thousands of points, without any Q.

    `of_hand(params, shared, hand) -> float32[]`, `shared` being the table's part. For rests, of
    16 - 3M or 15 - 3M tiles, and what is drawn to them, see `StateValue`: leading axis N for both
    `shared` and `rests`.
    """

    of_hand: Callable[[Params, Any, Hand], Array]
    after_one_draw: Callable[[Params, Any, Rest, Whole], Array]
    after_two_draws: Callable[[Params, Any, Rest, Whole], Array]


class QNetwork(NamedTuple):
    """A Q function over the 34 discards, in thousands of points, for one decision."""

    init: Callable[[Array], Params]  # key -> params
    table: Callable[[Params, Table], Any]  # the part that all leaves of a search share
    values: Callable[[Params, Any, Hand], Array]  # (params, table's part, hand) -> float32[T]
    leaves: Leaves | None = None  # for networks that have a V
    block: int | None = None  # hands valued at once on the CPU, so that layers stay in its cache

    def apply(self, params: Params, view: View) -> Array:
        """Returns Q of each kind as a discard, float32[T], held or not."""
        return self.values(params, self.table(params, view.table), view.hand)


def make(config: NetworkConfig) -> QNetwork:
    """Makes the network that a config describes."""
    dtype = jnp.dtype(config.dtype)
    leaves, block = None, None
    if config.kind == "small":
        module: nn.Module = PerTile(config.width, config.context, dtype)
    elif config.kind == "two_part":
        module = TwoPart(config.width, config.context, dtype)
        leaves = Leaves(*(_method(module, name) for name in Leaves._fields))
    else:
        module, block = plane_networks.make(config, dtype), 64

    def init(key: Array) -> Params:
        return module.init(key, features.blank_view())

    return QNetwork(init, _method(module, "table"), _method(module, "values"), leaves, block)


def _method(module: nn.Module, name: str) -> Callable:
    """Makes a method of a module a function of its parameters."""

    def call(params: Params, *args: Any) -> Any:
        return module.apply(params, *args, method=name)

    return call


def leaf_flops(config: NetworkConfig) -> int:
    """Counts the multiplications and additions of products and convolutions for one leaf.

    Raises:
      ValueError: nobody has counted them for this kind of network.
    """
    width, first = config.width, config.channels
    if config.kind == "two_part":
        return state_value.head_flops(width)
    if config.kind == "small":
        return 2 * features.NUM_KINDS * width * (20 + width + 1) + 2 * 9 * width
    if config.kind != "resnet":
        raise ValueError(f"The operations of a leaf are not counted for {config.kind!r}.")
    flops = 2 * 9 * features.PLANE**2 * first + 2 * 4 * first * features.NUM_KINDS
    before, convolutions = first, 2 * ((config.layers - 2) // 6)
    for channels, side in ((first, 19), (2 * first, 10), (4 * first, 5)):
        flops += 2 * side**2 * channels * 9 * (before + (convolutions - 1) * channels)
        flops += 2 * side**2 * channels * before * (before != channels)
        before = channels
    return flops


class PerTile(nn.Module):
    """One small head shared by the 34 kinds, told about the table by a small trunk."""

    width: int
    context: int
    dtype: jnp.dtype = jnp.dtype("float32")

    def setup(self) -> None:
        """Declares the layers."""
        self.trunk = nn.Dense(self.context, dtype=self.dtype)
        self.from_trunk = nn.Dense(self.width, use_bias=False, dtype=self.dtype)
        self.from_table = nn.Dense(self.width, use_bias=False, dtype=self.dtype)
        self.from_hand = nn.Dense(self.width, use_bias=False, dtype=self.dtype)
        self.from_scalars = nn.Dense(self.width, use_bias=False, dtype=self.dtype)
        self.of_kind = nn.Embed(features.NUM_KINDS, self.width, dtype=self.dtype)
        self.hidden = nn.Dense(self.width, dtype=self.dtype)
        self.out = nn.Dense(1, dtype=self.dtype)

    def __call__(self, view: View) -> Array:
        """Returns Q of each discard: float32[T]."""
        return self.values(self.table(view.table), view.hand)

    def table(self, table: Table) -> Array:
        """Returns the table's share of the first layer: `dtype`[T, width]."""
        trunk = nn.relu(self.trunk(features.table_scalars(table)))
        per_tile = self.from_table(features.table_per_tile(table).T)
        return per_tile + self.from_trunk(trunk)[None] + self.of_kind(np.arange(features.NUM_KINDS))

    def values(self, shared: Array, hand: Hand) -> Array:
        """Adds the hand's share and runs the head: float32[T]."""
        per_tile = self.from_hand(features.hand_per_tile(hand).T)
        whole = self.from_scalars(features.hand_scalars(hand))
        x = nn.relu(shared + per_tile + whole[None])
        x = nn.relu(self.hidden(x))
        return self.out(x)[:, 0].astype(jnp.float32)


class TwoPart(nn.Module):
    """Q(h, a) = V(h) + A(h, a) - max_b A(h, b) over the kinds held, so max_a Q(h, a) is V(h).

    Wang et al., Dueling Network Architectures for Deep Reinforcement Learning, 2016, equation 8.
    A leaf of a search needs V alone, which is small and adds up over tiles; A is a `PerTile`.
    """

    width: int
    context: int
    dtype: jnp.dtype = jnp.dtype("float32")

    def setup(self) -> None:
        """Declares the two networks."""
        self.state = StateValue(self.width, self.context, self.dtype)
        self.advantage = PerTile(self.width, self.context, self.dtype)

    def __call__(self, view: View) -> Array:
        """Returns Q of each discard: float32[T]."""
        return self.values(self.table(view.table), view.hand)

    def table(self, table: Table) -> tuple[Shared, Array]:
        """Returns both networks' shares of the table."""
        return self.state.table(table), self.advantage.table(table)

    def values(self, shared: tuple[Shared, Array], hand: Hand) -> Array:
        """Adds up both networks: float32[T]."""
        advantage = self.advantage.values(shared[1], hand)
        best = jnp.max(jnp.where(hand.counts > 0, advantage, jnp.min(advantage)))
        return self.of_hand(shared, hand) + (advantage - best)

    def of_hand(self, shared: tuple[Shared, Array], hand: Hand) -> Array:
        """Returns V: float32[]."""
        return self.state(shared[0], hand)

    def after_one_draw(self, shared: tuple[Shared, Array], rests: Rest, whole: Whole) -> Array:
        """Returns V after each draw: float32[T, N]."""
        return self.state.after_one_draw(shared[0], rests, whole)

    def after_two_draws(self, shared: tuple[Shared, Array], rests: Rest, whole: Whole) -> Array:
        """Returns V after two draws: float32[D, N]."""
        return self.state.after_two_draws(shared[0], rests, whole)
