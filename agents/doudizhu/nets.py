"""What was learned, as files: networks, and the weights of playouts.

A network is parameters and what they belong to, in one `.npz`. The shipped one lies in the package;
a run writes one of the same form.
"""

import json
import os
import pathlib
import zipfile
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agents.doudizhu import networks
from agents.doudizhu.networks import Network, NetworkConfig

Params = Any

NET = "net.npz"  # its name in a run's folder
SHIPPED = pathlib.Path(__file__).parent / "shipped.npz"
WEIGHTS = pathlib.Path(__file__).parent / "playouts.npy"
_ABOUT = "about"
_DAMAGE = (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error)


def write(path: pathlib.Path, config: NetworkConfig, params: Params, about: dict[str, Any]) -> None:
    """Writes parameters of all roles, whole or not at all.

    Args:
      path: the file.
      config: the network's.
      params: leading axis 3.
      about: how they came about, plain values.
    """
    text = json.dumps({"width": config.width, "layout": config.layout, "about": about})
    leaves = {_name(path): np.asarray(leaf) for path, leaf in jax.tree.leaves_with_path(params)}
    beside = path.with_suffix(".tmp.npz")
    np.savez_compressed(beside, allow_pickle=False, **{_ABOUT: np.array(text), **leaves})
    os.replace(beside, path)


def read(path: str = "") -> tuple[Network, Params, dict[str, Any]]:
    """Reads a network.

    Args:
      path: a run's folder or a file; without it the shipped network.

    Returns:
      The network, its parameters with leading axis 3, and how they came about.

    Raises:
      ValueError: there is none, or it is not ours.
    """
    file = SHIPPED if not path else pathlib.Path(path)
    file = file / NET if file.is_dir() else file
    if not file.is_file():
        hint = f" (a run writes {NET})" if path else ""
        raise ValueError(f"There is no network at {path or file}{hint}.")
    try:
        with np.load(file, allow_pickle=False) as stored:
            meta = json.loads(str(stored[_ABOUT]))
            about = meta["about"]
            config = NetworkConfig(meta["width"], meta["layout"])
            network = networks.make(config)
            shapes = jax.eval_shape(lambda: networks.init_roles(network, jax.random.key(0)))
            params = jax.tree.map_with_path(
                lambda path, leaf: _checked(stored[_name(path)], leaf.shape), shapes
            )
    except _DAMAGE as error:
        raise ValueError(f"{file} is not a network of ours: {error}") from error
    return network, params, about


def read_weights() -> np.ndarray:
    """Reads the shipped weights of playouts: int32[27, G], see `playout.weights`."""
    return np.load(WEIGHTS, allow_pickle=False).astype(np.int32)


def _name(path: Any) -> str:
    """Names a parameter."""
    return "/".join(str(part.key) for part in path)


def _checked(array: np.ndarray, shape: tuple[int, ...]) -> jax.Array:
    """Refuses a parameter of another shape, or of no numbers."""
    if array.shape != shape:
        raise ValueError(f"a parameter is {array.shape}, not {shape}")
    if not np.isfinite(array).all():
        raise ValueError("a parameter is not finite")
    return jnp.asarray(array)
