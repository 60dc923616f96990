"""The devices of a run: who holds which games, and how several processes stay in step.

The games of a run and its replay are cut into groups, whose number is a setting; devices share the
groups out among themselves. What a group does hangs on its own number and on those of its games,
so that the run does not depend on the number of devices. In a run of several processes all
compute; the first alone writes and plays matches, and the others wait for it.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec
from orbax.checkpoint import multihost

from agents.learn.config import ConfigError

Array = jax.Array

AXIS = "groups"
WHOLE = PartitionSpec()  # the same on every device
SHARED_OUT = PartitionSpec(AXIS)  # along the leading axis: whole groups, one after another

_PATIENCE = 7 * 24 * 3600 * 1000  # milliseconds: as long as matches may take


def mesh(groups: int, devices: Sequence[jax.Device] | None = None) -> Mesh:
    """Chooses the devices that share a run out.

    Args:
      groups: of the run.
      devices: to choose from; by default those of all processes.

    Returns:
      As many of them as the groups can be shared out among evenly.

    Raises:
      ConfigError: the devices of several processes cannot all be used.
    """
    found = list(jax.devices() if devices is None else devices)
    number = max(n for n in range(1, min(len(found), groups) + 1) if groups % n == 0)
    if jax.process_count() > 1 and number < len(found):
        raise ConfigError(
            f"groups: a multiple of the {len(found)} devices of all processes, not {groups}."
        )
    return Mesh(np.array(found[:number]), (AXIS,))


def keys(key: Array, count: int) -> Array:
    """Makes a key for each of this device's share of `count` things: key[count / devices]."""
    here = count // lax.axis_size(AXIS)
    numbers = here * lax.axis_index(AXIS) + jnp.arange(here, dtype=jnp.int32)
    return jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)


def is_first() -> bool:
    """Says whether this process is the one that writes."""
    return jax.process_index() == 0


def wait(until: str) -> None:
    """Waits for all processes; `until` names what for, and is not used twice."""
    multihost.get_barrier_sync_fn()(key=until, timeout_ms=_PATIENCE)


def any_wants(wish: bool) -> bool:
    """Says whether any process has a wish; all ask at once."""
    if jax.process_count() == 1:
        return wish
    return bool(np.any(multihost_utils.process_allgather(np.array(wish))))
