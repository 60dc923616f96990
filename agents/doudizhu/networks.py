"""The network: from a state and a candidate move to the chance that its side wins.

Four convolutions, three poolings and three fully connected layers, after claim 8 of the patent;
their widths, and one set of parameters for each role, are our choice. Only one plane of 29 differs
between the candidates of a state, and a convolution is linear: the share of the others in the
first layer is computed once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from agents.doudizhu import planes
from agents.doudizhu.planes import LAYOUTS, NUM_PLANES, View
from agents.worklist import map_where
from doudizhu.state import NUM_PLAYERS

Array = jax.Array
Params = Any

_STATES, _CANDIDATES = 16, 64  # evaluated at once


@dataclass(frozen=True)
class NetworkConfig:
    """The network's size and what its planes hold."""

    width: int = 32  # channels of the first convolution; the last layers have 4 and 2 times as many
    layout: str = "A"  # see agents.doudizhu.planes

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        if not 1 <= self.width <= 1024:
            raise ValueError(f"network.width: from 1 to 1024, not {self.width}.")
        if self.layout not in LAYOUTS:
            raise ValueError(f"network.layout: one of {', '.join(LAYOUTS)}, not {self.layout!r}.")


class Network(NamedTuple):
    """A function of a view and a candidate, in two steps, for one of each."""

    init: Callable[[Array], Params]  # key -> params of one role
    shared: Callable[[Params, View], Array]  # what the candidates of a state share
    logit: Callable[[Params, Array, Array], Array]  # (params, shared, move int32[]) -> float32[]


def make(config: NetworkConfig) -> Network:
    """Makes the network that a config describes."""
    module = Cnn(config.width)

    def init(key: Array) -> Params:
        blank = jnp.zeros(planes.SHAPE, jnp.float32)
        return module.init(key, blank[..., :-1], blank[..., -1])

    def shared(params: Params, view: View) -> Array:
        seen = planes.state_planes(view, config.layout)
        return jnp.asarray(module.apply(params, seen, method="shared"))

    def logit(params: Params, shared: Array, move: Array) -> Array:
        return jnp.asarray(module.apply(params, shared, planes.move_plane(move), method="logit"))

    return Network(init, shared, logit)


def init_roles(network: Network, key: Array) -> Params:
    """Makes parameters for all roles: leading axis 3."""
    return jax.vmap(network.init)(jax.random.split(key, NUM_PLAYERS))


def values(network: Network, params: Params, view: View, ids: Array) -> Array:
    """Values the candidates of B states, each with the network of its role.

    Args:
      network: the network.
      params: of all roles, leading axis 3.
      view: [B, ...].
      ids: int32[B, K] candidates, -1 where there are no more.

    Returns:
      float32[B, K] chances to win, 0 where there is no candidate. Only what is there is computed,
      block by block, so that a value does not depend on the batch. Do not vmap this.
    """
    row = jnp.broadcast_to(jnp.arange(len(ids), dtype=jnp.int32)[:, None], ids.shape)
    found = jnp.zeros(ids.size, jnp.float32)
    for role in range(NUM_PLAYERS):
        of_role = jax.tree.map(lambda leaf, role=role: leaf[role], params)
        is_role = view.role == role

        def shared_of(block: View, params: Params = of_role) -> Array:
            return jax.vmap(network.shared, (None, 0))(params, block)

        shared = map_where(shared_of, is_role, view, _STATES)

        def value_of(block: tuple[Array, Array], params: Params = of_role, shared=shared) -> Array:
            rows, moves = block
            return jax.vmap(network.logit, (None, 0, 0))(params, shared[rows], moves)

        wanted = (is_role[:, None] & (ids >= 0)).reshape(-1)
        lanes = (row.reshape(-1), ids.reshape(-1))
        logits = map_where(value_of, wanted, lanes, _CANDIDATES)
        found = jnp.where(wanted, jax.nn.sigmoid(logits), found)
    return found.reshape(ids.shape)


class Cnn(nn.Module):
    """The layers, for one state and one candidate."""

    width: int

    def setup(self) -> None:
        """Declares the layers."""
        self.first = Convolution(NUM_PLANES, self.width)
        self.convolutions = [
            Convolution(self.width * before, self.width * after)
            for before, after in ((1, 1), (1, 2), (2, 2))
        ]
        self.dense = [nn.Dense(self.width * 4), nn.Dense(self.width * 2), nn.Dense(1)]

    def __call__(self, state: Array, candidate: Array) -> Array:
        """Returns float32[] for planes [15, 15, 28] and [15, 15]."""
        return self.logit(self.shared(state), candidate)

    def shared(self, state: Array) -> Array:
        """Returns the state's share of the first layer: float32[15, 15, width]."""
        return _convolve(state, self.first.kernel[:, :-1]) + self.first.bias[None, None]

    def logit(self, shared: Array, candidate: Array) -> Array:
        """Adds the candidate's share and runs the rest: float32[]."""
        x = nn.relu(shared + _convolve(candidate[..., None], self.first.kernel[:, -1:]))
        for convolution in self.convolutions:
            x = nn.relu(convolution(_pool(x)))
        x = x.reshape(-1)
        for layer in self.dense[:-1]:
            x = nn.relu(layer(x))
        return self.dense[-1](x)[0]


class Convolution(nn.Module):
    """A convolution of 3 x 3 with the channels before and after it."""

    before: int
    after: int

    def setup(self) -> None:
        """Declares the parameters."""
        initial = nn.initializers.variance_scaling(2.0, "fan_in", "normal", (0, 1))
        self.kernel = self.param("kernel", initial, (9, self.before, self.after))
        self.bias = self.param("bias", nn.initializers.zeros_init(), (self.after,))

    def __call__(self, x: Array) -> Array:
        """Convolves float32[rows, columns, before]."""
        return _convolve(x, self.kernel) + self.bias[None, None]


def _convolve(x: Array, kernel: Array) -> Array:
    """Convolves [rows, columns, before] with [9, before, after], as one product of matrices."""
    rows, columns, before = x.shape
    padded = jnp.pad(x, ((1, 1), (1, 1), (0, 0)))
    shifted = [
        padded[row : row + rows, column : column + columns]
        for row in range(3)
        for column in range(3)
    ]
    return jnp.concatenate(shifted, axis=-1) @ kernel.reshape(9 * before, -1)


def _pool(x: Array) -> Array:
    """Keeps the highest of each 2 x 2 of float32[rows, columns, channels], none of it negative.

    On a CPU the gradient of a pooling by windows takes as long as all the rest of the network.
    """
    rows, columns, channels = x.shape
    x = jnp.pad(x, ((0, rows % 2), (0, columns % 2), (0, 0)))
    x = x.reshape((rows + 1) // 2, 2, (columns + 1) // 2, 2, channels)
    return jnp.max(jnp.max(x, axis=3), axis=1)
