"""Matches of two agents, two seats against two, in mirrored pairs.

A *pair* is one wall and dealer played twice with the sides exchanged. Dealer, seating and round
wind rotate over the pairs. All chance is keyed by the seed, the pair and the number of decisions
made in the hand, never by side or batch: an agent against itself gives exactly zero, and the
figures do not depend on how the hands are spread over the lanes.

Each turn of the loop takes half of the lanes, all of them waiting for one agent. With every lane
in play one of the two agents always has that many waiting, so no batch holds idle rows until the
last hands run out.

L = lanes (hands in play), R = rows of a batch of decisions, C = hands dealt at once, P = 4 seats.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents import lanes as side_by_side
from agents.lanes import EITHER, A, B, Batch, Clocked, Status, act_jit, key_of
from agents.policy import Policy
from mjx import actions, score
from mjx import state as st
from mjx.observe import observe
from mjx.rules import DEFAULT, Rules
from mjx.state import State
from mjx.step import advance, init

Array = jax.Array

MAX_LANES = 256
MAX_DECISIONS = 1024  # more than a hand can have
# The seats of a where the sides are not exchanged: opposite, then the two ways to be adjacent.
_SEATINGS = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]], bool)
_WALL, _PLAY = 0, 1  # what the key of a pair is used for


class Hands(NamedTuple):
    """What came of N pairs; axis 1 tells whether the sides were exchanged."""

    is_a: np.ndarray  # bool[N,2,P]     seats played by a
    ending: np.ndarray  # int32[N,2]      how the hand ended (mjx.state)
    winner: np.ndarray  # int32[N,2]      -1 without one
    actor: np.ndarray  # int32[N,2]      who discarded or konged last
    tai: np.ndarray  # int32[N,2]      of the win, without the dealer's; 0 without one
    points: np.ndarray  # float32[N,2,P]


class Match(NamedTuple):
    """All hands of a match, and what a decision of each side takes."""

    hands: Hands
    seconds_per_decision: tuple[float, float] | None  # of a and of b; None without a clock
    actions: list[np.ndarray] | None = None  # uint8[decisions] by game, where they were kept


class Lanes(struct.PyTreeNode):
    """Hands in play. A lane without a hand has game -1 and a finished state."""

    state: State  # [L, ...]
    game: Array  # int32[L]     2 * pair + (1 if the sides are exchanged)
    num_decisions: Array  # int32[L]     made in the hand so far
    actions: Array | None = None  # uint8[L, MAX_DECISIONS]  these decisions, where they are kept


def match(
    a: Policy,
    b: Policy,
    pairs: int,
    seed: int,
    rules: Rules = DEFAULT,
    lanes: int | None = None,
    clock: Callable[[], float] | None = None,
    report: Callable[[int, int], object] | None = None,
    keep_actions: bool = False,
) -> Match:
    """Plays mirrored pairs of hands.

    Args:
      a: one agent.
      b: the other; where it is the same object, decisions of both are taken together.
      pairs: walls, each played twice; 2 or more, since an interval needs two.
      seed: 0 or more; the same seed gives the same hands.
      rules: the table's rules.
      lanes: hands in play at once, even; by default all of them up to `MAX_LANES`.
      clock: tells the time in seconds; with it the agents are timed, after a warm-up.
      report: called with the hands finished and the hands in all, whenever some are dealt.
      keep_actions: returns the decisions of every hand too.

    Raises:
      ValueError: a number out of range.
      RuntimeError: an agent chose an illegal action.
    """
    num_lanes = check(pairs, seed, lanes)
    num_games, root = 2 * pairs, jax.random.key(seed)
    num_rows, chunk = num_lanes // 2, max(1, num_lanes // 8)
    clocked = Clocked((a, b), clock)
    records: list[dict[str, np.ndarray]] = []
    kept: dict[int, np.ndarray] = {}
    side, num_dealt, num_done = A, 0, 0
    table = _empty(num_lanes, rules, keep_actions)
    status = jax.device_get(_status(table))
    while num_done < num_games:
        has_room = num_dealt < num_games and status.num_free >= chunk
        if has_room or status.num_finished >= chunk or not status.waiting.any():
            games = np.arange(num_dealt, num_dealt + chunk, dtype=np.int32)
            games = np.where(games < num_games, games, np.int32(-1))
            table, record, status = _deal(table, games, root, rules=rules)
            records.append(jax.device_get(record))
            kept |= _kept(records[-1])
            num_dealt = min(num_dealt + chunk, num_games)
            num_done += int((records[-1]["game"] >= 0).sum())
            if report is not None:
                report(num_done, num_games)
        else:
            side = A if status.waiting[A] >= status.waiting[B] else B
            taken = np.int32(EITHER if a is b else side)
            batch = _take(table, taken, root, num_rows=num_rows, rules=rules)
            action = clocked.act(side, batch)
            table, status = _put(table, batch, action, rules=rules)
        status = jax.device_get(status)
        if status.num_illegal:
            raise RuntimeError(f"The agent {(a, b)[side].name!r} chose an illegal action.")
    played = [kept[game] for game in range(num_games)] if keep_actions else None
    return Match(_hands(records, pairs), clocked.seconds_per_decision, played)


def first_states(pairs: int, seed: int, rules: Rules = DEFAULT) -> State:
    """Deals the hands of a match once more: states [2 * pairs, ...], NumPy."""
    deal = jax.jit(lambda games: jax.vmap(lambda game: deal_one(game, root, rules))(games))
    root, parts = jax.random.key(seed), []
    for start in range(0, 2 * pairs, MAX_LANES):
        games = np.arange(start, start + MAX_LANES, dtype=np.int32)
        parts.append(jax.device_get(deal(games)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: 2 * pairs], *parts)


def deal_one(game: Array, root: Array, rules: Rules) -> State:
    """Deals a game by its id int32[] from the key of the match; -1 gives a finished state."""
    state = init(key_of(root, game, _WALL), rules, dealer_of(game), round_wind_of(game))
    return state.replace(terminated=state.terminated | (game < 0))


def seats_of_a(game: Array) -> Array:
    """Returns the seats that a plays in a game: bool[..., P] of int32[...] ids."""
    pair = game // 2
    seating = jnp.asarray(_SEATINGS)[pair // st.NUM_SEATS % len(_SEATINGS)]
    return seating ^ (game % 2 == 1)[..., None]


def dealer_of(game: Array) -> Array:
    """Returns the seat that deals in a game: int32[...]."""
    return game // 2 % st.NUM_SEATS


def round_wind_of(game: Array) -> Array:
    """Returns the round wind of a game, which turns after all seatings and dealers: int32[...]."""
    return game // 2 // (st.NUM_SEATS * len(_SEATINGS)) % st.NUM_SEATS


@functools.partial(jax.jit, static_argnames=("num_rows", "rules"))
def _take(table: Lanes, side: Array, root: Array, num_rows: int, rules: Rules) -> Batch:
    """Gathers decisions of one side, or of EITHER, those of the youngest hands first."""
    wanted = _is_live(table) & ((_side_to_act(table) == side) | (side == EITHER))
    order = jnp.argsort(jnp.where(wanted, table.num_decisions, np.iinfo(np.int32).max))[:num_rows]
    is_real = wanted[order]
    lane = jnp.where(is_real, order, order[0])
    state = jax.tree.map(lambda leaf: leaf[lane], table.state)
    seen = jax.vmap(lambda one: observe(one, one.current_player, rules))(state)
    key = jax.vmap(lambda game, count: jax.random.fold_in(key_of(root, game, _PLAY), count))(
        table.game[lane], table.num_decisions[lane]
    )
    return Batch(lane, is_real, key, seen)


@functools.partial(jax.jit, static_argnames="rules")
def _put(table: Lanes, batch: Batch, action: Array, rules: Rules) -> tuple[Lanes, Status]:
    """Carries out the decisions of a batch."""
    before = jax.tree.map(lambda leaf: leaf[batch.lane], table.state)
    is_legal = jax.vmap(lambda state, one: actions.is_legal(state.legal, one))(before, action)
    after = jax.vmap(lambda state, one: advance(state, one, rules))(
        before, jnp.where(is_legal, action, jnp.int32(actions.PASS))
    )
    place = jnp.where(batch.is_real, batch.lane, len(table.game))
    table = table.replace(
        state=side_by_side.scatter(table.state, place, after),
        num_decisions=table.num_decisions.at[place].add(1, mode="drop"),
    )
    if table.actions is not None:
        count = table.num_decisions[batch.lane] - 1
        kept = table.actions.at[place, count].set(action.astype(jnp.uint8), mode="drop")
        table = table.replace(actions=kept)
    return table, _status(table, jnp.sum(batch.is_real & ~is_legal, dtype=jnp.int32))


@functools.partial(jax.jit, static_argnames="rules")
def _deal(
    table: Lanes, games: Array, root: Array, rules: Rules
) -> tuple[Lanes, dict[str, Array], Status]:
    """Records finished hands, as many as `games` at most, and deals those in their place."""
    is_ended = table.state.terminated
    rank = jnp.where(is_ended, jnp.where(table.game >= 0, 0, 1), 2)  # finished hands first
    lane = jnp.argsort(rank)[: len(games)]
    state = jax.tree.map(lambda leaf: leaf[lane], table.state)
    tai = jax.vmap(lambda one: score.total(score.win_of(one, rules), rules))(state)
    record = {
        "game": jnp.where(is_ended[lane], table.game[lane], -1),
        "ending": state.ending,
        "winner": state.winner,
        "actor": state.actor,
        "tai": jnp.where(state.winner >= 0, tai, 0),
        "points": jax.vmap(lambda one: score.settle(one, rules))(state),
    }
    if table.actions is not None:
        record["num_decisions"] = table.num_decisions[lane]
        record["actions"] = table.actions[lane]
    place = jnp.where(is_ended[lane], lane, len(table.game))
    new = jax.vmap(lambda game: deal_one(game, root, rules))(games)
    table = Lanes(
        state=side_by_side.scatter(table.state, place, new),
        game=table.game.at[place].set(games, mode="drop"),
        num_decisions=table.num_decisions.at[place].set(0, mode="drop"),
        actions=table.actions,
    )
    return table, record, _status(table)


PROGRAMS = (act_jit, _take, _put, _deal)  # all that a match compiles


def _kept(record: dict[str, np.ndarray]) -> dict[int, np.ndarray]:
    """Takes the decisions, if they are kept, out of a record of hands: by game, to their ends."""
    if "actions" not in record:
        return {}
    rows = zip(record["game"], record.pop("num_decisions"), record.pop("actions"), strict=True)
    return {int(game): row[:count].copy() for game, count, row in rows if game >= 0}


def _empty(num_lanes: int, rules: Rules, keep_actions: bool) -> Lanes:
    """Makes lanes without hands."""
    shapes = jax.eval_shape(lambda key: init(key, rules), jax.random.key(0))
    state = jax.tree.map(lambda leaf: jnp.zeros((num_lanes, *leaf.shape), leaf.dtype), shapes)
    return Lanes(
        state=state.replace(terminated=jnp.ones(num_lanes, bool)),
        game=jnp.full(num_lanes, -1, jnp.int32),
        num_decisions=jnp.zeros(num_lanes, jnp.int32),
        actions=jnp.zeros((num_lanes, MAX_DECISIONS), jnp.uint8) if keep_actions else None,
    )


def _is_live(table: Lanes) -> Array:
    """Marks the lanes whose hand goes on: bool[L]."""
    return ~table.state.terminated


def _side_to_act(table: Lanes) -> Array:
    """Returns A or B for each lane: int32[L]."""
    mover = table.state.current_player[:, None] == np.arange(st.NUM_SEATS)[None]
    return jnp.where(jnp.any(seats_of_a(table.game) & mover, axis=-1), A, B)


def _status(table: Lanes, num_illegal: Array | int = 0) -> Status:
    """Counts how the lanes stand."""
    return side_by_side.status(_is_live(table), _side_to_act(table), table.game, num_illegal)


def _hands(records: list[dict[str, np.ndarray]], pairs: int) -> Hands:
    """Puts the records in the order of the games."""
    joined = side_by_side.in_order(records, 2 * pairs)
    is_a = np.asarray(seats_of_a(jnp.arange(2 * pairs, dtype=jnp.int32)))
    fields = joined | {"is_a": is_a}
    return Hands(**{k: v.reshape(pairs, 2, *v.shape[1:]) for k, v in fields.items()})


def check(pairs: int, seed: int, lanes: int | None) -> int:
    """Refuses numbers that no match can have; returns the number of lanes."""
    return side_by_side.check("pairs", pairs, seed, lanes, MAX_LANES)
