"""The tree below the first layer: moves that are chosen before a game is played out.

A node is a line of moves since the root, each known by its group; who holds what is no part of
it. Every game has hidden cards of its own, goes down through the nodes with the moves that these
cards allow, adds one node where it leaves the tree, and is played out from there (Cowling, Powley
and Whitehouse, "Information Set Monte Carlo Tree Search", 2012). In a node each move starts with
one visit of the node's own value, so that a bad move need not be tried before a good one is
repeated; whoever moves wants its side to win.

B = decisions at once, K = children of the root, N = nodes, G = 309 groups, M = games of a round,
D = layers below the first.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from agents.doudizhu import playout, root
from agents.doudizhu.playout import Table
from agents.doudizhu.root import Root, Settings
from doudizhu.observe import Observation
from doudizhu.state import LANDLORD
from doudizhu.tables import NUM_GROUPS

Array = jax.Array


class Tree(NamedTuple):
    """The nodes below one root; node n was the n-th to be added."""

    first: Array  # int32[K]  nodes that the root's children lead to, -1 where there is none yet
    child: Array  # int32[N,G]  those that a move leads to
    visits: Array  # float32[N,G]
    total: Array  # float32[N,G]  sum of the returns to the root's side
    num: Array  # int32[]  nodes


class Grown(NamedTuple):
    """A search: the first layer, and what is below it, if that is more than the playouts."""

    root: Root
    tree: Tree | None


class Path(NamedTuple):
    """What a game chose below the first layer; node N where it chose nothing any more."""

    node: Array  # int32[D]
    group: Array  # int32[D]
    value: Array  # float32[D]  counted as its return until the game is over


def plant(start: Root, settings: Settings) -> Grown:
    """Begins below one root; `settings.playouts` nodes find room."""
    if settings.depth == 1:
        return Grown(start, None)
    shape = (settings.playouts, NUM_GROUPS)
    tree = Tree(
        first=jnp.full(start.ids.shape, -1, jnp.int32),
        child=jnp.full(shape, -1, jnp.int32),
        visits=jnp.zeros(shape, jnp.float32),
        total=jnp.zeros(shape, jnp.float32),
        num=jnp.int32(0),
    )
    return Grown(start, tree)


def run(keys: Array, observation: Observation, grown: Grown, settings: Settings) -> Grown:
    """Searches B decisions with all playouts; as `root.run`."""
    return root.rounds(play_round, keys, observation, grown, settings)


def play_round(keys: Array, observation: Observation, grown: Grown, settings: Settings) -> Grown:
    """Plays M games for each of B decisions, and counts who won; as `root.play_round`."""
    start, tree = grown
    if tree is None:
        return Grown(root.play_round(keys, observation, start, settings), None)
    visited, chosen = jax.vmap(lambda one: root.choose(one, settings))(start)
    tables = root.begin_games(keys, observation, start, chosen, settings)
    values = jnp.take_along_axis(jax.vmap(root.means)(start), chosen, axis=1)
    send = jax.vmap(functools.partial(descend, settings=settings))
    tree, tables, paths = send(tree, tables, chosen, values, observation.role)
    won = root.end_games(keys, observation, tables, settings)
    return Grown(
        root.count(start, visited, chosen, won, settings), jax.vmap(count)(tree, paths, won)
    )


def descend(
    tree: Tree, tables: Table, chosen: Array, values: Array, role: Array, settings: Settings
) -> tuple[Tree, Table, Path]:
    """Sends games down one tree, one after another, a visit counting at once.

    Args:
      tree: of one root.
      tables: M games after the root's move.
      chosen: int32[M] which child of the root that was.
      values: float32[M] the child's value.
      role: int32[] of the player at the root.
      settings: of the search.

    Returns:
      The tree with the visits and the new nodes, the games where they left it, and their paths.
    """
    num_nodes = tree.child.shape[0]

    def one_game(tree: Tree, game: tuple) -> tuple[Tree, tuple[Table, Path]]:
        table, place, value = game
        found = _walk(tree, table, tree.first[place], value, role, settings)
        table, path, length, node = found
        last = jnp.maximum(length - 1, 0)
        adds = (node < 0) & (table.winner < 0) & (tree.num < num_nodes)
        at_root = jnp.where(adds & (length == 0), place, len(tree.first))
        parent = jnp.where(adds & (length > 0), path.node[last], num_nodes)
        tree = Tree(
            first=tree.first.at[at_root].set(tree.num, mode="drop"),
            child=tree.child.at[parent, path.group[last]].set(tree.num, mode="drop"),
            visits=tree.visits.at[path.node, path.group].add(1.0, mode="drop"),
            total=tree.total.at[path.node, path.group].add(path.value, mode="drop"),
            num=tree.num + adds.astype(jnp.int32),
        )
        return tree, (table, path)

    tree, (tables, paths) = lax.scan(one_game, tree, (tables, chosen, values))
    return tree, tables, paths


def count(tree: Tree, paths: Path, won: Array) -> Tree:
    """Backs up the returns float32[M] of games along their paths [M, D]."""
    change = won[:, None] - paths.value
    return tree._replace(total=tree.total.at[paths.node, paths.group].add(change, mode="drop"))


def _walk(
    tree: Tree, table: Table, node: Array, value: Array, role: Array, settings: Settings
) -> tuple[Table, Path, Array, Array]:
    """Chooses moves from node to node: the game, its path, its length and the node it is at."""
    num_nodes, num_layers = tree.child.shape[0], settings.depth - 1

    def is_inside(carry: tuple) -> Array:
        table, _, length, node, _ = carry
        return (node >= 0) & (length < num_layers) & (table.winner < 0)

    def one_move(carry: tuple) -> tuple:
        table, path, length, node, value = carry
        hand, weight = playout.options(table, settings.style, settings.rules)
        visits, total = tree.visits[node], tree.total[node]
        is_ours = (table.player == LANDLORD) == (role == LANDLORD)
        group = choose(visits, total, value, is_ours, weight, settings.exploration)
        value = (total[group] + value) / (visits[group] + 1)
        path = Path(
            node=path.node.at[length].set(node),
            group=path.group.at[length].set(group),
            value=path.value.at[length].set(value),
        )
        node = tree.child[node, group]
        return playout.moved(table, hand, group, settings.rules), path, length + 1, node, value

    nothing = Path(
        node=jnp.full(num_layers, num_nodes, jnp.int32),
        group=jnp.zeros(num_layers, jnp.int32),
        value=jnp.zeros(num_layers, jnp.float32),
    )
    carry = (table, nothing, jnp.int32(0), node, value)
    table, path, length, node, _ = lax.while_loop(is_inside, one_move, carry)
    return table, path, length, node


def choose(
    visits: Array, total: Array, value: Array, is_ours: Array, weight: Array, exploration: float
) -> Array:
    """Picks a move of a node by UCB for the side that moves.

    Args:
      visits: float32[G] of the moves.
      total: float32[G] their returns to the root's side.
      value: float32[] of the node, the return of one more visit to each move.
      is_ours: bool[] whether the root's side moves.
      weight: int32[G] how likely a playout would choose it, 0 for what is not legal; among moves
        that promise the same it decides.
      exploration: C of UCB.

    Returns:
      int32[] its group.
    """
    is_legal = weight > 0
    known = visits + 1
    mean = (total + value) / known
    mean = jnp.where(is_ours, mean, 1 - mean)
    num = jnp.sum(jnp.where(is_legal, known, 0.0))
    score = jnp.where(is_legal, mean + exploration * jnp.sqrt(jnp.log(num) / known), -jnp.inf)
    is_best = score >= jnp.max(score)
    return jnp.argmax(jnp.where(is_best, weight, -1)).astype(jnp.int32)
