"""Matches of two players: every deal is played twice, with the sides exchanged.

In the first game of a deal a is the landlord and b both peasants, in the second the reverse. All
chance is keyed by the seed, the deal and the ply, never by side or batch: a player against itself
plays the same game twice, and the figures do not depend on how games are spread over the lanes.
Where one move only is legal it is played without asking.

Each turn of the loop takes half of the lanes, all of them waiting for one player. L = lanes
(games in play), R = rows of a batch of decisions, N = deals, P = 3 players.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents.doudizhu.forced import play_forced
from agents.policy import Policy
from doudizhu import legal, score
from doudizhu.moves import PASS
from doudizhu.observe import Observation, observe
from doudizhu.rules import Rules
from doudizhu.state import LANDLORD, State
from doudizhu.step import advance, init

Array = jax.Array

MAX_LANES = 64
A, B, EITHER = 0, 1, 2  # whose decisions a batch takes
_DEAL, _PLAY = 0, 1  # what the key of a deal is used for
_POINTS = Rules(scoring="adp")


class Games(NamedTuple):
    """What came of N deals; axis 1 tells who is the landlord, 0 for a and 1 for b."""

    winner: np.ndarray  # int32[N,2]  whose hand was empty: 0 the landlord
    points: np.ndarray  # float32[N,2]  the landlord's, its side against the other
    plies: np.ndarray  # int32[N,2]


class Match(NamedTuple):
    """All games of a match, and what a decision of each side takes."""

    games: Games
    seconds_per_decision: tuple[float, float] | None  # of a and of b; None without a clock


class Lanes(struct.PyTreeNode):
    """Games in play. A lane without a game has game -1 and a finished state."""

    state: State  # [L, ...]
    game: Array  # int32[L]  2 * deal + (1 where b is the landlord)


class Batch(NamedTuple):
    """Decisions to be made by one player."""

    lane: Array  # int32[R]  where each row comes from
    is_real: Array  # bool[R]  false: the row only fills the batch
    key: Array  # key[R]
    observation: Observation  # [R, ...]


class Status(NamedTuple):
    """How the lanes stand."""

    waiting: Array  # int32[2]  for a decision of a, of b
    num_finished: Array  # int32[]  games that ended and are not yet recorded
    num_free: Array  # int32[]  lanes that could take a new game
    num_illegal: Array  # int32[]  illegal moves of the last batch


def match(
    a: Policy,
    b: Policy,
    deals: int,
    seed: int,
    lanes: int | None = None,
    clock: Callable[[], float] | None = None,
    report: Callable[[int, int], object] | None = None,
) -> Match:
    """Plays deals, each twice.

    Args:
      a: one player.
      b: the other; where it is the same object, decisions of both are taken together.
      deals: 2 or more, since an interval needs two.
      seed: 0 or more; the same seed gives the same games.
      lanes: games in play at once, even; by default all of them up to `MAX_LANES`.
      clock: tells the time in seconds; with it the players are timed, after a warm-up.
      report: called with the games finished and the games in all, whenever some are dealt.

    Raises:
      ValueError: a number out of range.
      RuntimeError: a player chose an illegal move.
    """
    num_lanes = check(deals, seed, lanes)
    num_games, root = 2 * deals, jax.random.key(seed)
    num_rows, chunk = num_lanes // 2, max(1, num_lanes // 8)
    players = _Players((a, b), clock)
    records: list[dict[str, np.ndarray]] = []
    side, num_dealt, num_done = A, 0, 0
    table = _empty(num_lanes)
    status = jax.device_get(_status(table))
    while num_done < num_games:
        has_room = num_dealt < num_games and status.num_free >= chunk
        if has_room or status.num_finished >= chunk or not status.waiting.any():
            games = np.arange(num_dealt, num_dealt + chunk, dtype=np.int32)
            games = np.where(games < num_games, games, np.int32(-1))
            table, record, status = _deal(table, games, root)
            records.append(jax.device_get(record))
            num_dealt = min(num_dealt + chunk, num_games)
            num_done += int((records[-1]["game"] >= 0).sum())
            if report is not None:
                report(num_done, num_games)
        else:
            side = A if status.waiting[A] >= status.waiting[B] else B
            batch = _take(table, np.int32(EITHER if a is b else side), root, num_rows=num_rows)
            table, status = _put(table, batch, players.act(side, batch))
        status = jax.device_get(status)
        if status.num_illegal:
            raise RuntimeError(f"The player {(a, b)[side].name!r} chose an illegal move.")
    return Match(_in_order(records, deals), players.seconds_per_decision)


def check(deals: int, seed: int, lanes: int | None) -> int:
    """Refuses numbers that no match can have; returns the number of lanes."""
    if not 2 <= deals < 2**29:
        raise ValueError(f"deals is 2 or more (an interval needs two), not {deals}.")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is a whole number from 0 to 2**32 - 1, not {seed}.")
    if lanes is not None and (lanes < 2 or lanes % 2):
        raise ValueError(f"lanes is an even number, 2 or more, not {lanes}.")
    return min(2 * deals, lanes or MAX_LANES)


class _Players:
    """Lets the players act and counts what it took; no time is taken without a clock."""

    def __init__(self, players: tuple[Policy, Policy], clock: Callable[[], float] | None) -> None:
        self._players, self._clock = players, clock
        self._is_one = players[A] is players[B]
        self._is_warm = [False, False]
        self._seconds, self._decisions = [0.0, 0.0], [0, 0]

    def act(self, side: int, batch: Batch) -> Array:
        """Chooses the moves of a batch: int32[R]."""
        side = A if self._is_one else side
        player = self._players[side]
        if self._clock is None:
            return _act(player, batch)
        jax.block_until_ready(batch)
        if not self._is_warm[side]:  # compile before the clock runs
            rehearsal = batch._replace(key=jax.random.clone(batch.key))
            jax.block_until_ready(_act(player, rehearsal))
            self._is_warm[side] = True
        start = self._clock()
        move = jax.block_until_ready(_act(player, batch))
        self._seconds[side] += self._clock() - start
        self._decisions[side] += int(jax.device_get(batch.is_real).sum())
        return move

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
    """Asks a player for the moves of a batch: int32[R]."""
    act = _act_jit if player.is_pure else _act_plainly
    return act(player.params, batch, act=player.act)


def _act_plainly(params: object, batch: Batch, act: Callable) -> Array:
    """Asks in place."""
    seen = batch.observation
    return jnp.asarray(act(params, batch.key, seen, seen.legal_action_mask), jnp.int32)


_act_jit = jax.jit(_act_plainly, static_argnames="act")


@functools.partial(jax.jit, static_argnames="num_rows")
def _take(table: Lanes, side: Array, root: Array, num_rows: int) -> Batch:
    """Gathers decisions of one side, or of EITHER, those of the youngest games first."""
    wanted = _is_live(table) & ((_side_to_act(table) == side) | (side == EITHER))
    order = jnp.argsort(jnp.where(wanted, table.state.num_plies, np.iinfo(np.int32).max))
    order = order[:num_rows].astype(jnp.int32)
    is_real = wanted[order]
    lane = jnp.where(is_real, order, order[0])
    state = jax.tree.map(lambda leaf: leaf[lane], table.state)
    seen = jax.vmap(lambda one: observe(one, one.current_player))(state)
    key = jax.vmap(lambda game, ply: jax.random.fold_in(_key(root, game, _PLAY), ply))(
        table.game[lane], state.num_plies
    )
    return Batch(lane, is_real, key, seen)


@jax.jit
def _put(table: Lanes, batch: Batch, move: Array) -> tuple[Lanes, Status]:
    """Carries out the decisions of a batch, then all that is forced."""
    before = jax.tree.map(lambda leaf: leaf[batch.lane], table.state)
    is_legal = jax.vmap(legal.is_legal)(before, move)
    reached = jax.vmap(advance)(before, jnp.where(is_legal, move, PASS))
    place = jnp.where(batch.is_real, batch.lane, len(table.game))
    state = jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), table.state, reached)
    table = table.replace(state=play_forced(state))
    return table, _status(table, jnp.sum(batch.is_real & ~is_legal, dtype=jnp.int32))


@jax.jit
def _deal(table: Lanes, games: Array, root: Array) -> tuple[Lanes, dict[str, Array], Status]:
    """Records finished games of up to C lanes and deals games int32[C] into these, -1 for none."""
    is_done = ~_is_live(table)
    # Those with something to record first; lanes in play come last and are dropped.
    rank = jnp.where(is_done, jnp.where(table.game >= 0, 0, 1), 2)
    lane = jnp.argsort(rank)[: len(games)]
    old = jax.tree.map(lambda leaf: leaf[lane], table.state)
    is_recorded = is_done[lane] & (table.game[lane] >= 0)
    record = {
        "game": jnp.where(is_recorded, table.game[lane], -1),
        "winner": old.winner,
        "points": jax.vmap(lambda one: score.rewards(one, _POINTS)[LANDLORD])(old),
        "plies": old.num_plies,
    }
    fresh = jax.vmap(lambda game: deal_one(game, root))(games)
    place = jnp.where(is_done[lane], lane, len(table.game))
    table = table.replace(
        state=jax.tree.map(
            lambda old, new: old.at[place].set(new, mode="drop"), table.state, fresh
        ),
        game=table.game.at[place].set(games, mode="drop"),
    )
    return table, record, _status(table)


def deal_one(game: Array, root: Array) -> State:
    """Deals a game by its number int32[]; -1 gives a finished state."""
    state = init(_key(root, game, _DEAL))
    return state.replace(terminated=state.terminated | (game < 0))


def _key(root: Array, game: Array, use: int) -> Array:
    """Derives the key of a deal for a use; both games of it share it."""
    return jax.random.fold_in(jax.random.fold_in(root, game // 2), use)


def _empty(num_lanes: int) -> Lanes:
    """Makes lanes without games."""
    shapes = jax.eval_shape(init, jax.random.key(0))
    state = jax.tree.map(lambda leaf: jnp.zeros((num_lanes, *leaf.shape), leaf.dtype), shapes)
    return Lanes(
        state=state.replace(terminated=jnp.ones(num_lanes, bool)),
        game=jnp.full(num_lanes, -1, jnp.int32),
    )


def _is_live(table: Lanes) -> Array:
    """Marks the lanes whose game goes on: bool[L]."""
    return ~table.state.terminated


def _side_to_act(table: Lanes) -> Array:
    """Returns A or B for each lane: int32[L]."""
    is_landlord = table.state.current_player == LANDLORD
    return jnp.where(is_landlord == (table.game % 2 == 0), A, B)


def _status(table: Lanes, num_illegal: Array | int = 0) -> Status:
    """Counts how the lanes stand."""
    is_live, side = _is_live(table), _side_to_act(table)
    waiting = jnp.stack([jnp.sum(is_live & (side == one), dtype=jnp.int32) for one in (A, B)])
    return Status(
        waiting=waiting,
        num_finished=jnp.sum(~is_live & (table.game >= 0), dtype=jnp.int32),
        num_free=jnp.sum(~is_live, dtype=jnp.int32),
        num_illegal=jnp.asarray(num_illegal, jnp.int32),
    )


def _in_order(records: list[dict[str, np.ndarray]], deals: int) -> Games:
    """Puts the records in the order of the games."""
    joined = {name: np.concatenate([record[name] for record in records]) for name in records[0]}
    game = joined.pop("game")
    order = np.argsort(game)[(game < 0).sum() :]
    assert np.array_equal(game[order], np.arange(2 * deals)), "every game is recorded once"
    return Games(**{name: value[order].reshape(deals, 2) for name, value in joined.items()})
