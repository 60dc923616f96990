"""The paper's networks: their sizes by arithmetic and as published, and how they normalise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.learn import features, networks, plane_networks
from agents.learn.config import NetworkConfig

KINDS = 34


def _norm(channels):
    return 2 * channels


def _resnet(layers, first):
    blocks, before = (layers - 2) // 6, first
    total = 9 * 1 * first + _norm(first)
    for width in (first, 2 * first, 4 * first):
        for _ in range(blocks):
            total += 9 * before * width + 9 * width * width + 2 * _norm(width)
            total += before * width if before != width else 0
            before = width
    return total + before * KINDS + KINDS


def _preresnet(layers, first):
    units, before = (layers - 2) // 9, first
    total = 9 * 1 * first
    for width in (first, 2 * first, 4 * first):
        for unit in range(units):
            total += _norm(before) + before * width
            total += _norm(width) + 9 * width * width
            total += _norm(width) + width * 4 * width
            total += before * 4 * width if unit == 0 else 0
            before = 4 * width
    return total + _norm(before) + before * KINDS + KINDS


def _densenet(layers, growth):
    channels = 2 * growth
    total = 9 * 1 * channels
    for block in range(3):
        if block:
            total += _norm(channels) + channels * (channels // 2)
            channels //= 2
        for _ in range((layers - 4) // 6):
            total += _norm(channels) + channels * 4 * growth
            total += _norm(4 * growth) + 9 * 4 * growth * growth
            channels += growth
    return total + _norm(channels) + channels * KINDS + KINDS


def _count(config):
    network = networks.make(config)
    params = jax.eval_shape(network.init, jax.random.key(0))
    return network, params, sum(leaf.size for leaf in jax.tree.leaves(params))


@pytest.mark.loose_jax  # following keys through a thousand layers takes a minute
@pytest.mark.parametrize(
    "kind, layers, channels, count, published",
    [
        ("resnet", 20, 16, _resnet(20, 16), 0.27e6),
        ("preresnet", 1001, 16, _preresnet(1001, 16), 10.2e6),
        ("densenet", 190, 40, _densenet(190, 40), 25.6e6),
    ],
)
def test_the_papers_sizes(kind, layers, channels, count, published):
    _, _, found = _count(NetworkConfig(kind=kind, layers=layers, channels=channels))
    assert found == count
    assert count == pytest.approx(published, rel=0.02)  # there with 3 colours and 10 classes


@pytest.mark.parametrize(
    "config, count",
    [
        (NetworkConfig(kind="resnet", layers=8, channels=8), _resnet(8, 8)),
        (NetworkConfig(kind="preresnet", layers=20, channels=8), _preresnet(20, 8)),
        (NetworkConfig(kind="densenet", layers=10, channels=8), _densenet(10, 8)),
        (NetworkConfig(kind="linear"), 361 * KINDS + KINDS),
        (
            NetworkConfig(kind="fc", layers=2, width=8),
            361 * 8 + 8 + 8 * 8 + 8 + 8 * KINDS + KINDS,
        ),
        (
            NetworkConfig(kind="cnn", layers=2, channels=4, width=8),
            9 * 4 + _norm(4) + 9 * 4 * 8 + _norm(8) + 100 * 8 * 8 + 8 + 8 * KINDS + KINDS,
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, NetworkConfig) else "",
)
def test_small_sizes_value_each_discard(config, count):
    network, params, found = _count(config)
    assert found == count
    values = jax.eval_shape(network.apply, params, features.blank_view())
    assert (values.shape, values.dtype) == ((KINDS,), jnp.float32)


@pytest.mark.parametrize(
    "kind, layers", [("densenet", 20), ("resnet", 21), ("preresnet", 1000), ("resnet", 2)]
)
def test_layers_that_make_no_blocks_are_refused(kind, layers):
    with pytest.raises(ValueError, match=f"network.layers: of {kind}"):
        NetworkConfig(kind=kind, layers=layers)


@pytest.mark.parametrize("channels, group", [(16, 8), (10, 5)])
def test_groups_of_channels_are_normalised_row_by_row(channels, group):
    x = np.random.default_rng(0).normal(2, 3, (3, 4, channels)).astype(np.float32)
    expected = np.empty_like(x)
    for row in range(3):
        for first in range(0, channels, group):
            part = x[row, :, first : first + group]
            expected[row, :, first : first + group] = (part - part.mean()) / part.std()
    plain = {"scale": jnp.ones(channels), "bias": jnp.zeros(channels)}
    found = jax.jit(plane_networks.GroupNorm().apply)({"params": plain}, x)
    np.testing.assert_allclose(found, expected, atol=2e-5)
