"""The networks that read the paper's input, 361 numbers or a plane of 19 x 19, and nothing else.

T = 34 kinds. Their sizes are those of `NetworkConfig`: `layers`, `width`, `channels`.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from agents.learn import features
from agents.learn.config import NetworkConfig
from agents.learn.features import Hand, Table, View

Array = jax.Array

_GROUP = 8  # channels that are normalised together


def make(config: NetworkConfig, dtype: jnp.dtype) -> nn.Module:
    """Makes the network of a config that reads the paper's input."""
    layers, width, channels = config.layers, config.width, config.channels
    if config.kind in ("linear", "fc"):
        return Layered(dtype, 0 if config.kind == "linear" else layers, width)
    if config.kind == "cnn":
        return Convolutions(dtype, layers, width, channels)
    if config.kind == "densenet":
        return DenseNet(dtype, (layers - 4) // 6, channels)
    if config.kind == "preresnet":
        return PreResNet(dtype, (layers - 2) // 9, channels)
    return ResNet(dtype, (layers - 2) // 6, channels)


class OfPlane(nn.Module):
    """A network of the paper's input, all of which depends on the hand."""

    dtype: jnp.dtype = jnp.dtype("float32")

    def __call__(self, view: View) -> Array:
        """Returns Q of each discard: float32[T]."""
        return self.values(view.table, view.hand)

    def table(self, table: Table) -> Table:
        """Returns the table as it is: every value of this network depends on the hand."""
        return table

    def values(self, shared: Table, hand: Hand) -> Array:
        """Runs the whole network: float32[T]."""
        return self.outputs(features.paper_input(View(shared, hand))).astype(jnp.float32)

    def outputs(self, numbers: Array) -> Array:
        """Maps float32[361] to `dtype`[T]."""
        raise NotImplementedError


class Layered(OfPlane):
    """Fully connected layers; none but the last is the linear model."""

    layers: int = 2  # hidden ones
    width: int = 256

    @nn.compact
    def outputs(self, numbers: Array) -> Array:
        """Maps float32[361] to `dtype`[T]."""
        x = numbers
        for _ in range(self.layers):
            x = nn.relu(nn.Dense(self.width, dtype=self.dtype)(x))
        return nn.Dense(features.NUM_KINDS, dtype=self.dtype)(x)


class Convolutions(OfPlane):
    """3 x 3 convolutions, each but the first at half the side and twice the channels; one layer."""

    layers: int = 3  # convolutions
    width: int = 256  # of the layer after them
    channels: int = 16  # of the first

    @nn.compact
    def outputs(self, numbers: Array) -> Array:
        """Maps float32[361] to `dtype`[T]."""
        x = numbers.reshape(features.PLANE, features.PLANE, 1)
        for layer in range(self.layers):
            steps = (1 + (layer > 0),) * 2
            x = nn.relu(_conv(self.channels << layer, 3, self.dtype, steps)(x))
            x = GroupNorm()(x)
        x = nn.relu(nn.Dense(self.width, dtype=self.dtype)(x.reshape(-1)))
        return nn.Dense(features.NUM_KINDS, dtype=self.dtype)(x)


class DenseNet(OfPlane):
    """DenseNet-BC: three blocks in which each layer reads all before it, halved between blocks.

    Huang et al., Densely Connected Convolutional Networks, 2017, as it is for small images: L
    layers in all are (L - 4) / 6 pairs of a 1 x 1 and a 3 x 3 convolution a block. Normalised as
    `ResNet` is.
    """

    pairs: int = 3  # of convolutions, a block
    growth: int = 12  # channels that each pair adds

    @nn.compact
    def outputs(self, numbers: Array) -> Array:
        """Maps float32[361] to `dtype`[T]."""
        x = numbers.reshape(features.PLANE, features.PLANE, 1)
        x = _conv(2 * self.growth, 3, self.dtype)(x)
        for block in range(3):
            if block > 0:
                x = _conv(x.shape[-1] // 2, 1, self.dtype)(nn.relu(GroupNorm()(x)))
                x = nn.avg_pool(x, (2, 2), (2, 2))
            for _ in range(self.pairs):
                y = _conv(4 * self.growth, 1, self.dtype)(nn.relu(GroupNorm()(x)))
                y = _conv(self.growth, 3, self.dtype)(nn.relu(GroupNorm()(y)))
                x = jnp.concatenate([x, y], axis=-1)
        x = jnp.mean(nn.relu(GroupNorm()(x)), axis=(0, 1))
        return nn.Dense(features.NUM_KINDS, dtype=self.dtype)(x)


class PreResNet(OfPlane):
    """A ResNet whose units normalise first, of three convolutions: 1 x 1, 3 x 3, 1 x 1.

    He et al., Identity Mappings in Deep Residual Networks, 2016: with L layers in all, three stages
    of (L - 2) / 9 units; 1,001 layers are 111. Normalised as `ResNet` is.
    """

    units: int = 2  # of each stage
    channels: int = 16  # of the first convolution

    @nn.compact
    def outputs(self, numbers: Array) -> Array:
        """Maps float32[361] to `dtype`[T]."""
        x = numbers.reshape(features.PLANE, features.PLANE, 1)
        x = _conv(self.channels, 3, self.dtype)(x)
        for stage in range(3):
            width = self.channels << stage
            x, _ = Unit(self.dtype, width, 1 + (stage > 0), True)(x)
            if self.units > 1:  # a loop, so that the program does not grow with the units
                repeated = nn.scan(
                    Unit,
                    variable_axes={"params": 0},
                    split_rngs={"params": True},
                    length=self.units - 1,
                )
                x, _ = repeated(self.dtype, width)(x)
        x = jnp.mean(nn.relu(GroupNorm()(x)), axis=(0, 1))
        return nn.Dense(features.NUM_KINDS, dtype=self.dtype)(x)


class Unit(nn.Module):
    """One unit of `PreResNet`."""

    dtype: jnp.dtype
    width: int
    stride: int = 1
    first: bool = False  # of its stage: the way around is a convolution of what is normalised

    @nn.compact
    def __call__(self, x: Array) -> tuple[Array, None]:
        """Returns `dtype`[rows, columns, 4 width], and nothing, as a scan wants it."""
        steps = (self.stride, self.stride)
        y = nn.relu(GroupNorm()(x))
        if self.first:
            x = _conv(4 * self.width, 1, self.dtype, steps)(y)
        y = _conv(self.width, 1, self.dtype, steps)(y)
        y = _conv(self.width, 3, self.dtype)(nn.relu(GroupNorm()(y)))
        y = _conv(4 * self.width, 1, self.dtype)(nn.relu(GroupNorm()(y)))
        return x + y, None


def _conv(channels: int, size: int, dtype: jnp.dtype, steps: tuple[int, int] = (1, 1)) -> nn.Module:
    """Makes a square convolution without a bias."""
    return nn.Conv(channels, (size, size), steps, use_bias=False, dtype=dtype)


class ResNet(OfPlane):
    """The paper's 20-layer ResNet on a 19 x 19 plane: 16, 32, 64 channels, 3 blocks of 2 each.

    The paper does not say how it normalises; groups of eight channels, which need no running
    averages, so that a value never depends on the batch it is computed in.
    """

    num_blocks: int = 3  # of each width
    channels: int = 16  # of the first third

    def setup(self) -> None:
        """Declares the layers."""
        self.stem = nn.Conv(self.channels, (3, 3), use_bias=False, dtype=self.dtype)
        self.stem_norm = GroupNorm()
        self.blocks = [
            Block(self.channels << third, 2 if third > 0 and i == 0 else 1, self.dtype)
            for third in range(3)
            for i in range(self.num_blocks)
        ]
        self.out = nn.Dense(features.NUM_KINDS, dtype=self.dtype)

    def outputs(self, numbers: Array) -> Array:
        """Maps float32[361] to `dtype`[T]."""
        x = numbers.reshape(features.PLANE, features.PLANE, 1)
        x = nn.relu(self.stem_norm(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return self.out(jnp.mean(x, axis=(0, 1)))


class Block(nn.Module):
    """Two 3 x 3 convolutions and a way around them."""

    width: int
    stride: int
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """Returns `dtype`[rows, columns, width]."""
        steps = (self.stride, self.stride)
        y = nn.Conv(self.width, (3, 3), steps, use_bias=False, dtype=self.dtype)(x)
        y = nn.relu(GroupNorm()(y))
        y = nn.Conv(self.width, (3, 3), use_bias=False, dtype=self.dtype)(y)
        y = GroupNorm()(y)
        if x.shape != y.shape:
            x = nn.Conv(self.width, (1, 1), steps, use_bias=False, dtype=self.dtype)(x)
        return nn.relu(x + y)


class GroupNorm(nn.Module):
    """Normalises groups of eight channels, or the most below that go, of each row on its own.

    Rows apart, so that what differs in some rows stays there but for the convolutions' reach.
    Sums by channel come first and groups after: channels lie side by side and fill vectors, on
    the CPU several times as fast as Flax's module, whose parameters these are.
    """

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """Returns x [rows, columns, channels] normalised, in its dtype."""
        rows, columns, channels = x.shape
        scale = self.param("scale", nn.initializers.ones_init(), (channels,))
        bias = self.param("bias", nn.initializers.zeros_init(), (channels,))
        wide = x.astype(jnp.float32)
        group = next(size for size in range(_GROUP, 0, -1) if channels % size == 0)

        def mean(values: Array) -> Array:
            by_group = jnp.sum(values, axis=1).reshape(rows, -1, group)
            return jnp.repeat(jnp.sum(by_group, axis=2) / np.float32(group * columns), group, 1)

        middle = mean(wide)
        spread = jnp.maximum(mean(jnp.square(wide)) - jnp.square(middle), 0)
        factor = scale[None] * jax.lax.rsqrt(spread + np.float32(1e-6))
        shift = bias[None] - middle * factor
        return (wide * factor[:, None] + shift[:, None]).astype(x.dtype)
