"""Games played to their end by weighted chance: what a search samples.

A player whose hand is one move plays it. Otherwise it draws a group of moves by weight, and takes
along the lowest kickers, single cards first. A move is known by its group here, the first id of
which stands for it: kickers never matter to what beats it.

N = lanes, P = 3 players, R = ranks, G = 309 groups.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from agents.doudizhu import nets
from doudizhu import groups, legal, packed, tables
from doudizhu.cards import BLACK_JOKER, NUM_RANKS, TWO
from doudizhu.moves import CATEGORIES, PASS, all_moves
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import LANDLORD, NUM_PLAYERS
from doudizhu.tables import NUM_GROUPS
from mjx.stage import stage

Array = jax.Array

STYLES = ("uniform", "sensible", "learned")
NUM_SITUATIONS = 27  # see `situation_of`
_BLOCKS, _BLOCK = 16, 20  # places for the groups, to find one in two short steps
_MOST = 800  # highest weight: no hand has 80 groups, so that sums stay below 2^16
_MAX_KICKERS = 5
_GAMES_OF_LANE, _LEAST_LANES = 16, 16
_WEYL = np.uint32(0x9E3779B9)
_LOW_RANKS = 8  # in the low word
_FIRSTS = np.uint32(0x11111111)  # the lowest card of each rank


class Table(NamedTuple):
    """A game in play, without what only a history needs. All fields may lead with axes."""

    hands: Array  # int8[P,R]
    player: Array  # int32[]  who moves
    to_beat: Array  # int32[]  as State.to_beat
    passes: Array  # int32[]  as State.passes
    winner: Array  # int32[]  whose hand is empty, else -1


def play_out(keys: Array, table: Table, style: str, rules: Rules = DEFAULT) -> Array:
    """Plays games to their end. Do not vmap this.

    Args:
      keys: key[B] one for each row, so that a row's games do not depend on the others.
      table: games [B, M].
      style: one of `STYLES`, how groups are weighted.
      rules: the table's rules.

    Returns:
      int32[B, M] who wins.
    """
    shape = table.player.shape
    num_games = shape[0] * shape[1]
    num_lanes = min(num_games, max(-(-num_games // _GAMES_OF_LANE), _LEAST_LANES))
    seeds = jax.vmap(lambda key: jax.random.bits(key, shape[1:]))(keys)
    games = jax.tree.map(lambda x: x.reshape(num_games, *x.shape[2:]), (table, seeds))
    # The longest first, so that the lanes come to their end together.
    num_cards = jnp.sum(games[0].hands, axis=(1, 2), dtype=jnp.int32)
    order = jnp.argsort(jnp.where(games[0].winner < 0, -num_cards, 0))
    queue = jax.tree.map(lambda x: x[order], games)

    def is_running(lanes: _Lanes) -> Array:
        return jnp.any(lanes.place < num_games)

    def one_step(lanes: _Lanes) -> _Lanes:
        seed = lanes.seed + _WEYL
        reached = jax.vmap(lambda bits, one: _one_ply(bits, one, style, rules))(
            _mixed(seed), lanes.table
        )
        is_over = (reached.winner >= 0) & (lanes.place < num_games)
        target = jnp.where(is_over, lanes.place, num_games)
        winners = lanes.winners.at[target].set(reached.winner.astype(jnp.int8), mode="drop")
        upto = jnp.cumsum(is_over, dtype=jnp.int32)
        place = jnp.where(is_over, jnp.minimum(lanes.next + upto - 1, num_games), lanes.place)
        fresh = jax.tree.map(lambda x: x[jnp.minimum(place, num_games - 1)], queue)
        table, seed = jax.tree.map(
            lambda new, old: jnp.where(is_over.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            fresh,
            (reached, seed),
        )
        return _Lanes(table, seed, place, lanes.next + upto[-1], winners)

    first = jax.tree.map(lambda x: x[:num_lanes], queue)
    lanes = _Lanes(
        *first,
        place=jnp.arange(num_lanes, dtype=jnp.int32),
        next=jnp.int32(num_lanes),
        winners=jnp.full(num_games, -1, jnp.int8),
    )
    winners = lax.while_loop(is_running, one_step, lanes).winners
    found = jnp.zeros_like(winners).at[order].set(winners)
    return found.astype(jnp.int32).reshape(shape)


class _Lanes(NamedTuple):
    """Games in play; a lane whose game is over takes the next one of the queue."""

    table: Table  # [N, ...]
    seed: Array  # uint32[N]  of the game
    place: Array  # int32[N]  of the game in the queue, its length where none is left
    next: Array  # int32[]  games taken from the queue
    winners: Array  # int8[games]  in the order of the queue


def _mixed(seed: Array) -> Array:
    """Mixes the bits of uint32[N]; of a seed that counts up by `_WEYL` this is SplitMix.

    A game's chance is its own, whatever lane it is in, at a fraction of the cost of a key.
    """
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        seed = (seed ^ (seed >> shift)) * np.uint32(factor)
    return seed ^ (seed >> 16)


def after(table: Table, move: Array) -> Table:
    """Carries out a move by its id, int32[], in a game that is not over."""
    cards = jnp.asarray(all_moves().counts)[move]
    return _moved(table, cards, move, move == PASS)


def _one_ply(bits: Array, table: Table, style: str, rules: Rules) -> Table:
    """Plays one ply; a finished game stays as it is."""
    hand, weight = options(table, style, rules)
    group = stage(_draw, bits, weight)
    after_it = moved(table, hand, group, rules)
    is_over = table.winner >= 0
    return jax.tree.map(lambda old, new: jnp.where(is_over, old, new), table, after_it)


def options(table: Table, style: str, rules: Rules) -> tuple[Array, Array]:
    """Weighs what the player whose turn it is may do.

    Args:
      table: one game.
      style: one of `STYLES`.
      rules: the table's rules.

    Returns:
      int8[R] the hand; int32[G] weights, 0 for what is not legal, and for all but what empties the
      hand if anything does.
    """
    info = _info()
    is_mover = np.arange(NUM_PLAYERS) == table.player
    hand = jnp.sum(jnp.where(is_mover[:, None], table.hands, 0), axis=0, dtype=jnp.int8)
    is_legal = stage(lambda h, t: groups.groups_of(h, t, rules), hand, table.to_beat)
    is_last = is_legal & (info.num_cards == jnp.sum(hand, dtype=jnp.int32))
    num_cards = jnp.sum(table.hands, axis=1, dtype=jnp.int32)
    situation = situation_of(table.player, table.to_beat == PASS, table.passes, num_cards)
    weight = jnp.where(is_legal, jnp.asarray(weights(style))[situation], 0)
    return hand, jnp.where(jnp.any(is_last), is_last.astype(jnp.int32), weight)


def situation_of(player: Array, leads: Array, passes: Array, num_cards: Array) -> Array:
    """Numbers what weights depend on: whose move is on the table, who plays, who is nearly out.

    Args:
      player: int32[] who moves, 0 the landlord.
      leads: bool[] whether there is nothing to beat.
      passes: int32[] passes since the move on the table.
      num_cards: int32[P] cards left in each hand.

    Returns:
      int32[] 9 * (0, 1, 2: the other side's shortest hand has 1, 2 or more cards) + 3 * (0 a lead,
      1 on a move of the other side, 2 on one of the own) + player.
    """
    owner = (player - 1 - passes) % NUM_PLAYERS
    is_mate = (player != LANDLORD) & (owner != LANDLORD)
    on_table = jnp.where(leads, _LEAD, jnp.where(is_mate, _ON_MATE, _ON_OTHER))
    shortest = jnp.where(player == LANDLORD, jnp.min(num_cards[1:]), num_cards[LANDLORD])
    return 9 * jnp.clip(shortest - 1, 0, 2) + 3 * on_table + player


def moved(table: Table, hand: Array, group: Array, rules: Rules) -> Table:
    """Plays a legal group int32[] from the hand int8[R] that moves, with the lowest kickers."""
    cards = stage(lambda h, g: _cards(h, g, rules), hand, group)
    first = jnp.asarray(tables.group_table(rules.strict).first)[group]
    return _moved(table, cards, first, group == groups.PASS_GROUP)


def _moved(table: Table, cards: Array, move: Array, is_pass: Array) -> Table:
    """Takes cards int8[R] from the hand that moves."""
    is_mover = np.arange(NUM_PLAYERS) == table.player
    hands = table.hands - jnp.where(is_mover[:, None], cards[None, :], jnp.int8(0))
    is_out = ~is_pass & ~jnp.any(is_mover[:, None] & (hands > 0))
    passes = jnp.where(is_pass, table.passes + 1, 0)
    on_table = jnp.where(passes == 2, PASS, table.to_beat)
    return Table(
        hands=hands,
        player=(table.player + 1) % NUM_PLAYERS,
        to_beat=jnp.where(is_pass, on_table, move),
        passes=passes,
        winner=jnp.where(is_out, table.player, -1),
    )


def _draw(bits: Array, weight: Array) -> Array:
    """Draws a group by weight int32[G], up to one part in 2^16 of chance: int32[]."""
    rows = jnp.pad(weight, (0, _BLOCKS * _BLOCK - NUM_GROUPS)).reshape(_BLOCKS, _BLOCK)
    sums = stage(lambda x: jnp.sum(x, axis=1), rows)
    index = ((bits >> 16) * jnp.sum(sums).astype(jnp.uint32) >> 16).astype(jnp.int32)
    block, index = legal.find(sums, index)
    place, _ = legal.find(rows[block], index)
    return block * _BLOCK + place


def _cards(hand: Array, group: Array, rules: Rules) -> Array:
    """Chooses the cards of a legal group: int8[R]."""
    table, info = tables.group_table(rules.strict), _info()
    low, high = packed.pack(hand)
    jokers = high & packed.JOKERS
    jokers = jnp.where(jnp.asarray(table.takes_joker)[group], _lowest(jokers), 0)
    places = [
        jnp.asarray(table.kickers[0])[group] & low,
        (jnp.asarray(table.kickers[1])[group] & high) | jokers,
    ]
    singles = [low & ~(low >> 1) & _FIRSTS, (high & ~(high >> 1) & _FIRSTS) | jokers]
    chosen = _take(places, singles, jnp.asarray(table.num_kickers)[group])
    of_rank = jnp.where(np.arange(NUM_RANKS) < _LOW_RANKS, *chosen) >> packed.SHIFT
    num = lax.population_count(of_rank & np.where(np.arange(NUM_RANKS) > TWO, 1, 15))
    kickers = num.astype(jnp.int8) * jnp.asarray(info.kicker)[group]
    return jnp.asarray(info.main)[group] + kickers


def _take(places: list[Array], singles: list[Array], num: Array) -> list[Array]:
    """Chooses so many of the bits of two words, those of single cards first, from below."""
    left, chosen = places, [jnp.uint32(0), jnp.uint32(0)]
    for count in range(_MAX_KICKERS):
        single = [word & ones for word, ones in zip(left, singles, strict=True)]
        has_single = (single[0] | single[1]) > 0
        low, high = (jnp.where(has_single, s, w) for s, w in zip(single, left, strict=True))
        bit = [_lowest(low), jnp.where(low > 0, 0, _lowest(high))]
        bit = [jnp.where(count < num, b, 0) for b in bit]
        chosen = [c | b for c, b in zip(chosen, bit, strict=True)]
        left = [w & ~b for w, b in zip(left, bit, strict=True)]
    return chosen


def _lowest(word: Array) -> Array:
    """Keeps the lowest bit."""
    return word & (~word + np.uint32(1))


class _Info(NamedTuple):
    """The groups as numbers."""

    main: np.ndarray  # int8[G,R]
    num_cards: np.ndarray  # int32[G]  kickers included
    kicker: np.ndarray  # int8[G]  cards of each kicker


@functools.cache
def _info() -> _Info:
    """Describes the groups."""
    all_groups = all_moves().groups
    return _Info(
        main=np.array([group.main for group in all_groups], np.int8),
        num_cards=np.array(
            [sum(group.main) + group.kicker * group.num_kickers for group in all_groups], np.int32
        ),
        kicker=np.array([group.kicker for group in all_groups], np.int8),
    )


_LEAD, _ON_OTHER, _ON_MATE = range(3)


@functools.cache
def weights(style: str) -> np.ndarray:
    """Weighs the groups: int32[27, G], for each situation of `situation_of`.

    `sensible` leads many cards and low ranks, answers with low ranks, keeps its bombs, and mostly
    lets pass what its own side has played; who plays and who is nearly out is all the same to it.
    `learned` is what `learn.playouts` made of the choices of searches.
    """
    if style == "uniform":
        return np.ones((NUM_SITUATIONS, NUM_GROUPS), np.int32)
    if style == "learned":
        return nets.read_weights()
    all_groups = all_moves().groups
    name = np.array([CATEGORIES[group.category] for group in all_groups])
    head = np.array([min(group.head, BLACK_JOKER) for group in all_groups], float)
    is_bomb, is_pass = np.isin(name, ("bomb", "rocket")), name == "pass"
    lead = np.exp(0.25 * (_info().num_cards - 1) - 0.15 * head)
    answer = np.exp(-0.2 * head)
    rows = np.stack([lead, answer, 0.15 * answer])
    rows[:, is_bomb] = np.array([[0.05], [0.05], [0.002]])
    rows[:, is_pass] = np.array([[0.0], [0.15], [0.6]])
    of_table = whole(rows / rows.max(axis=1, keepdims=True))
    return np.tile(np.repeat(of_table, NUM_PLAYERS, axis=0), (3, 1))


def whole(shares: np.ndarray) -> np.ndarray:
    """Makes weights of shares of the highest weight, none of them 0: int32."""
    return np.maximum(np.rint(_MOST * shares), 1).astype(np.int32)
