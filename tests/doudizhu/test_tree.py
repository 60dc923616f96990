"""The tree below the first layer, against one in plain Python: dictionaries keyed by lines."""

import math

import jax
import jax.numpy as jnp
import numpy as np

import doudizhu
from agents.doudizhu import playout, root, search, tree
from agents.doudizhu.root import Settings
from doudizhu import moves
from tests.doudizhu import endgames, scenes

SETTINGS = Settings(playouts=96, at_once=16, depth=4)
ROWS = 3


@jax.jit
def begin(states):
    seen = jax.vmap(lambda one: doudizhu.observe(one, one.current_player))(states)
    seen = seen.replace(legal_action_mask=())
    start = jax.vmap(lambda one: root.begin(one, SETTINGS))(seen)
    return seen, jax.vmap(lambda one: tree.plant(one, SETTINGS))(start)


@jax.jit
def play_round(keys, seen, grown):
    return tree.play_round(keys, seen, grown, SETTINGS)


@jax.jit
def games_of(keys, seen, grown):
    """What a round does by its parts: the children, the games, their paths and returns."""
    _, chosen = jax.vmap(lambda one: root.choose(one, SETTINGS))(grown.root)
    tables = root.begin_games(keys, seen, grown.root, chosen, SETTINGS)
    values = jnp.take_along_axis(jax.vmap(root.means)(grown.root), chosen, axis=1)
    _, ends, paths = jax.vmap(lambda *args: tree.descend(*args, SETTINGS))(
        grown.tree, tables, chosen, values, seen.role
    )
    return chosen, tables, values, ends, paths, root.end_games(keys, seen, ends, SETTINGS)


@jax.jit
def options(table):
    return playout.options(table, SETTINGS.style, SETTINGS.rules)


@jax.jit
def moved(table, hand, group):
    return playout.moved(table, hand, group, SETTINGS.rules)


class Line:
    """A node: for each move its visits and its returns to the root's side."""

    def __init__(self, number):
        """Begins with the number of the node."""
        self.number, self.visits, self.total = number, {}, {}

    def score(self, group, legal, value, is_ours):
        """Returns UCB of a move."""
        known = {g: self.visits.get(g, 0) + 1 for g in legal}
        mean = (self.total.get(group, 0.0) + value) / known[group]
        mean = mean if is_ours else 1 - mean
        return mean + SETTINGS.exploration * math.sqrt(math.log(sum(known.values())) / known[group])


def replay(lines, child, value, role, table, path, end):
    """Goes a game's way through the lines of one root; returns the edges it went along."""
    line, edges = (child,), []
    while line in lines and len(edges) < SETTINGS.depth - 1 and table.winner < 0:
        node, place = lines[line], len(edges)
        hand, weight = jax.device_get(options(table))
        legal = np.flatnonzero(weight).tolist()
        is_ours = (int(table.player) == 0) == (role == 0)
        group = int(path.group[place])
        assert int(path.node[place]) == node.number and group in legal
        scores = {g: node.score(g, legal, value, is_ours) for g in legal}
        best = max(scores.values())
        assert scores[group] >= best - 1e-5
        if scores[group] == best:  # else rounding decided
            ties = [g for g in legal if scores[g] == best]
            assert weight[group] == max(weight[g] for g in ties)
        value = (node.total.get(group, 0.0) + value) / (node.visits.get(group, 0) + 1)
        node.visits[group] = node.visits.get(group, 0) + 1
        node.total[group] = node.total.get(group, 0.0) + value  # until the game is over
        edges.append((node, group, value))
        table = jax.device_get(moved(table, hand, group))
        line = (*line, group)
    assert (path.node[len(edges) :] == SETTINGS.playouts).all()  # it chose nothing more
    assert all(np.array_equal(a, b) for a, b in zip(table, end, strict=True))
    if line not in lines and table.winner < 0:
        lines[line] = Line(len(lines))
    return edges


def test_the_tree_is_that_of_plain_python():
    """Every choice is the best by its statistics, every game is counted along its line."""
    states = scenes.midgame()
    num = np.asarray(jax.jit(jax.vmap(lambda s: doudizhu.legal_list(s, length=1)[1]))(states))
    order = [np.flatnonzero((num > 1) & (states.current_player == p))[:1] for p in range(3)]
    seen, grown = begin(jax.tree.map(lambda x: x[np.concatenate(order)], states))
    lines = [{} for _ in range(ROWS)]
    key, depths = jax.random.key(0), []
    for index in range(SETTINGS.playouts // SETTINGS.at_once):
        keys = jax.random.split(jax.random.fold_in(key, index), ROWS)
        parts = jax.device_get(games_of(jax.random.clone(keys), seen, grown))
        for row in range(ROWS):
            chosen, tables, values, ends, paths, won = jax.tree.map(lambda x, i=row: x[i], parts)
            gone = []
            for game in range(SETTINGS.at_once):
                table, path, end = (
                    jax.tree.map(lambda x, i=game: x[i], part) for part in (tables, paths, ends)
                )
                child, value = int(chosen[game]), float(values[game])
                role = int(seen.role[row])
                gone.append(replay(lines[row], child, value, role, table, path, end))
            for edges, result in zip(gone, won, strict=True):
                depths.append(len(edges))
                for node, group, value in edges:
                    node.total[group] += result - value
        grown = play_round(keys, seen, grown)
    assert max(depths) == SETTINGS.depth - 1
    found = jax.device_get(grown.tree)
    for row in range(ROWS):
        assert found.num[row] == len(lines[row])
        visits, total = np.zeros((2, *found.visits.shape[1:]))
        for line, node in lines[row].items():
            for group in node.visits:
                visits[node.number, group] = node.visits[group]
                total[node.number, group] = node.total[group]
            where = found.first[row][line[0]] if len(line) == 1 else None
            if where is None:
                where = found.child[row][lines[row][line[:-1]].number, line[-1]]
            assert where == node.number
        assert np.array_equal(found.visits[row], visits)
        assert np.allclose(found.total[row], total, atol=1e-3)


def test_endgames_are_won_by_force():
    """Where games of chance choose wrong at times, the tree finds the lead that wins."""
    states, winners = endgames.endgames(48)
    seen = endgames.observe(states).replace(legal_action_mask=())
    player = search.make(playouts=256, at_once=16, depth=8)
    keys = jax.random.split(jax.random.key(1), 48)
    chosen = np.asarray(jax.jit(player.act)((), keys, seen, ()))
    assert all(moves.to_text(move) in won for move, won in zip(chosen, winners, strict=True))
