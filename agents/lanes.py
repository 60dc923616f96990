"""Games in play side by side: what the arenas of both games share.

Each turn of an arena's loop takes half of the lanes, all of them waiting for one player. L = lanes,
R = rows of a batch of decisions.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from agents.policy import Policy

Array = jax.Array

A, B, EITHER = 0, 1, 2  # whose decisions a batch takes
ROWS_EACH = 64  # a search fills its blocks with fewer and fewer lanes below that


class Batch(NamedTuple):
    """Decisions to be made by one player."""

    lane: Array  # int32[R]  where each row comes from
    is_real: Array  # bool[R]  false: the row only fills the batch
    key: Array  # key[R]
    observation: Any  # [R, ...]  of the game


class Status(NamedTuple):
    """How the lanes stand."""

    waiting: Array  # int32[2]  for a decision of a, of b
    num_finished: Array  # int32[]  games that ended and are not yet recorded
    num_free: Array  # int32[]  lanes that could take a new game
    num_illegal: Array  # int32[]  illegal actions of the last batch


def status(is_live: Array, side: Array, game: Array, num_illegal: Array | int) -> Status:
    """Counts how the lanes stand: bool[L] goes on, int32[L] A or B to act, int32[L] game or -1."""
    waiting = jnp.stack([jnp.sum(is_live & (side == one), dtype=jnp.int32) for one in (A, B)])
    return Status(
        waiting=waiting,
        num_finished=jnp.sum(~is_live & (game >= 0), dtype=jnp.int32),
        num_free=jnp.sum(~is_live, dtype=jnp.int32),
        num_illegal=jnp.asarray(num_illegal, jnp.int32),
    )


def key_of(root: Array, game: Array, use: int) -> Array:
    """Derives the key for one use of a deal, which both of its games 2n and 2n + 1 share."""
    return jax.random.fold_in(jax.random.fold_in(root, game // 2), use)


def scatter(table: Any, place: Array, rows: Any) -> Any:
    """Writes rows [R, ...] at their places of a pytree [L, ...]; a place of L is dropped."""
    return jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), table, rows)


def in_order(records: list[dict[str, np.ndarray]], num_games: int) -> dict[str, np.ndarray]:
    """Puts records of games, numbered by `game` and -1 for none, in the order of the games."""
    joined = {name: np.concatenate([record[name] for record in records]) for name in records[0]}
    game = joined.pop("game")
    order = np.argsort(game)[(game < 0).sum() :]
    assert np.array_equal(game[order], np.arange(num_games)), "every game is recorded once"
    return {name: value[order] for name, value in joined.items()}


def check(what: str, number: int, seed: int, lanes: int | None, most: int) -> int:
    """Refuses numbers that no match can have; returns the number of lanes, `most` at most.

    Raises:
      ValueError: a number of `what`, each played twice, a seed or lanes out of range.
    """
    if not 2 <= number < 2**29:
        raise ValueError(f"{what} is 2 or more (an interval needs two), not {number}.")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is a whole number from 0 to 2**32 - 1, not {seed}.")
    if lanes is not None and (lanes < 2 or lanes % 2):
        raise ValueError(f"lanes is an even number, 2 or more, not {lanes}.")
    return min(2 * number, lanes or most)


class Clocked:
    """Lets the players act and counts what it took; no time is taken without a clock."""

    def __init__(self, players: tuple[Policy, Policy], clock: Callable[[], float] | None) -> None:
        """Takes a and b, and what tells the time in seconds."""
        # Of no device in particular, so that rows can be shared out among all.
        free = [jax.tree.map(jnp.asarray, jax.device_get(player.params)) for player in players]
        self._players = [player._replace(params=p) for player, p in zip(players, free, strict=True)]
        self._clock = clock
        self._is_one = players[A] is players[B]
        self._is_warm = [False, False]
        self._seconds, self._decisions = [0.0, 0.0], [0, 0]

    def act(self, side: int, batch: Batch) -> np.ndarray:
        """Chooses the actions of a batch: int32[R]."""
        side = A if self._is_one else side
        player = self._players[side]
        if self._clock is None:
            return np.asarray(_act(player, batch))
        jax.block_until_ready(batch)
        if not self._is_warm[side]:  # compile before the clock runs
            rehearsal = batch._replace(key=jax.random.clone(batch.key))
            jax.block_until_ready(_act(player, rehearsal))
            self._is_warm[side] = True
        start = self._clock()
        action = np.asarray(_act(player, batch))
        self._seconds[side] += self._clock() - start
        self._decisions[side] += int(jax.device_get(batch.is_real).sum())
        return action

    @property
    def seconds_per_decision(self) -> tuple[float, float] | None:
        """Seconds in `act` for each decision made, of a and of b; None without a clock."""
        if self._clock is None:
            return None
        a, b = (
            took / max(made, 1) for took, made in zip(self._seconds, self._decisions, strict=True)
        )
        return (a, a) if self._is_one else (a, b)


def _act(player: Policy, batch: Batch) -> Array:
    """Asks a player for the actions of a batch: int32[R]."""
    act = act_jit if player.is_pure else _act_plainly
    return act(player.params, batch, act=player.act)


def _act_plainly(params: object, batch: Batch, act: Callable) -> Array:
    """Asks in place."""
    seen = batch.observation
    return jnp.asarray(act(params, batch.key, seen, seen.legal_action_mask), jnp.int32)


def spread(function: Callable[[Any, Any], Any], rows_each: int) -> Callable[[Any, Any], Any]:
    """Shares the rows of a batch out among the devices of this process.

    Args:
      function: of parameters and rows, each of which is its own; leading axis R.
      rows_each: at the least, for each device.

    Returns:
      The same function, on as many devices as the rows can be shared out among evenly.
    """

    def on_devices(params: Any, rows: Any) -> Any:
        num_rows = len(jax.tree.leaves(rows)[0])
        pieces = max(1, num_rows // rows_each)
        devices = jax.local_devices()[: math.gcd(num_rows, pieces, jax.local_device_count())]
        if len(devices) == 1:
            return function(params, rows)
        by_row = PartitionSpec("rows")
        return jax.shard_map(
            function,
            mesh=Mesh(np.array(devices), ("rows",)),
            in_specs=(PartitionSpec(), by_row),
            out_specs=by_row,
            check_vma=False,  # nothing is sent between devices
        )(params, rows)

    return on_devices


@functools.partial(jax.jit, static_argnames="act")
def act_jit(params: object, batch: Batch, act: Callable) -> Array:
    """Asks on all devices."""
    return spread(functools.partial(_act_plainly, act=act), ROWS_EACH)(params, batch)
