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

from agents import lanes as side_by_side
from agents.doudizhu.forced import play_forced
from agents.lanes import EITHER, A, B, Batch, Clocked, Status, key_of
from agents.policy import Policy
from doudizhu import legal, score
from doudizhu.moves import PASS
from doudizhu.observe import observe
from doudizhu.rules import Rules
from doudizhu.state import LANDLORD, State
from doudizhu.step import advance, init

Array = jax.Array

MAX_LANES = 64
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
    players = Clocked((a, b), clock)
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
    played = side_by_side.in_order(records, 2 * deals)
    games = Games(**{name: value.reshape(deals, 2) for name, value in played.items()})
    return Match(games, players.seconds_per_decision)


def check(deals: int, seed: int, lanes: int | None) -> int:
    """Refuses numbers that no match can have; returns the number of lanes."""
    return side_by_side.check("deals", deals, seed, lanes, MAX_LANES)


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
    key = jax.vmap(lambda game, ply: jax.random.fold_in(key_of(root, game, _PLAY), ply))(
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
    state = side_by_side.scatter(table.state, place, reached)
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
        state=side_by_side.scatter(table.state, place, fresh),
        game=table.game.at[place].set(games, mode="drop"),
    )
    return table, record, _status(table)


def deal_one(game: Array, root: Array) -> State:
    """Deals a game by its number int32[]; -1 gives a finished state."""
    state = init(key_of(root, game, _DEAL))
    return state.replace(terminated=state.terminated | (game < 0))


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
    return side_by_side.status(_is_live(table), _side_to_act(table), table.game, num_illegal)
