"""The search: candidates, playouts, UCB, counts, endgames, and what it may not depend on."""

import dataclasses
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from agents.doudizhu import playout, root, search
from agents.doudizhu.candidates import BREAKING, candidates
from agents.doudizhu.playout import Table
from agents.doudizhu.root import Settings
from doudizhu import groups, moves
from tests.doudizhu import endgames, scenes
from tests.oracle import doudizhu as oracle

MOVES = moves.all_moves()
SETTINGS = Settings(playouts=64, at_once=16)
ROWS = 16

observe_all = jax.jit(jax.vmap(lambda one: doudizhu.observe(one, one.current_player)))
begin_all = jax.jit(jax.vmap(lambda seen: root.begin(seen, SETTINGS)))
run_all = jax.jit(lambda keys, seen, start: root.run(keys, seen, start, SETTINGS))
choose_all = jax.jit(jax.vmap(lambda one: root.choose(one, SETTINGS)))
decide_all = jax.jit(jax.vmap(lambda one: root.decide(one, SETTINGS)))


@pytest.fixture(scope="module")
def seen():
    """Observations of ROWS decisions with a choice, one without, from random play."""
    states = scenes.midgame()
    num = np.asarray(jax.jit(jax.vmap(lambda s: doudizhu.legal_list(s, length=1)[1]))(states))
    order = np.concatenate([np.flatnonzero(num > 1)[: ROWS - 1], np.flatnonzero(num == 1)[:1]])
    return observe_all(jax.tree.map(lambda x: x[order], states)).replace(legal_action_mask=())


@pytest.fixture(scope="module")
def found(seen):
    keys = jax.random.split(jax.random.key(0), ROWS)
    return jax.device_get(run_all(keys, seen, begin_all(seen)))


@pytest.mark.parametrize("is_grouped", [True, False])
def test_candidates_are_the_cheapest_of_their_groups(is_grouped):
    states = scenes.midgame(200)
    hands = states.hands[np.arange(200), states.current_player]
    listed = jax.jit(jax.vmap(lambda h, t: candidates(h, t, is_grouped)))
    ids, num = (np.asarray(x) for x in listed(hands, states.to_beat))
    words = np.asarray(jax.jit(jax.vmap(doudizhu.legal_words))(states))
    for hand, word, row, count in zip(hands, words, ids, num, strict=True):
        legal = np.flatnonzero(np.unpackbits(word.view(np.uint8), bitorder="little")).tolist()
        expected = sorted(_cheapest(hand.tolist(), legal)) if is_grouped else legal
        assert row[:count].tolist() == expected and (row[count:] == -1).all()


def _cheapest(hand, legal):
    """Keeps the cheapest move of each group, the first of equals."""
    best = {}
    for move in legal:
        group = MOVES.groups[MOVES.group[move]]
        cost = 0
        for rank, (needed, main) in enumerate(zip(MOVES.counts[move], group.main, strict=True)):
            kickers = int(needed) - main
            cost += kickers * rank + BREAKING * (0 < kickers and needed < hand[rank])
        known = best.get(MOVES.group[move])
        if known is None or cost < known[0]:
            best[MOVES.group[move]] = (cost, move)
    return [move for _, move in best.values()]


def test_playouts_are_games_of_the_reference():
    """Every ply of both styles is a legal move, and turns, wins and what to beat are right."""
    for style in playout.STYLES:
        step = jax.jit(jax.vmap(lambda b, t, s=style: playout._one_ply(b, t, s, doudizhu.DEFAULT)))
        deals = jax.vmap(doudizhu.init)(jax.random.split(jax.random.key(1), 8))
        zero = jnp.zeros(8, jnp.int32)
        table = Table(deals.hands, zero, zero + moves.PASS, zero, zero - 1)
        games = [oracle.Game([doudizhu.format(h) for h in hands]) for hands in deals.hands.tolist()]
        for ply in range(doudizhu.state.MAX_PLIES):
            before = jax.device_get(table)
            table = step(jax.random.bits(jax.random.key(ply), (8,)), table)
            after = jax.device_get(table)
            for i, game in enumerate(games):
                if game.winner is not None:
                    assert all(
                        np.array_equal(x[i], y[i]) for x, y in zip(before, after, strict=True)
                    )
                    continue
                cards = before.hands[i, game.player] - after.hands[i, game.player]
                text = doudizhu.format(cards.tolist()) or "pass"
                legal = game.legal()
                hand = doudizhu.format(before.hands[i, game.player].tolist())
                assert text in legal
                assert text == hand or hand not in legal  # the last move is never missed
                game.play(text, legal[text])
                assert after.winner[i] == (-1 if game.winner is None else game.winner)
                if game.winner is None:
                    assert (after.player[i], after.passes[i]) == (game.player, game.passes)
                    assert (after.to_beat[i] == moves.PASS) == game.leads
                    if not game.leads:
                        made = moves.from_text(game.last[0])
                        assert MOVES.group[after.to_beat[i]] == MOVES.group[made]
            if all(game.winner is not None for game in games):
                break
        assert (after.winner >= 0).all()


def test_groups_are_drawn_by_weight():
    weight = np.zeros(309, np.int32)
    weight[[0, 40, 41, 200, 308]] = 1, 2, 3, 4, 10
    bits = jax.random.bits(jax.random.key(0), (20_000,))
    drawn = np.asarray(jax.jit(jax.vmap(lambda b: playout._draw(b, jnp.asarray(weight))))(bits))
    counts = np.bincount(drawn, minlength=309)
    expected = 20_000 * weight / weight.sum()
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()
    for style in playout.STYLES:
        table = playout.weights(style)
        assert (table >= 1).all() and table.shape == (27, groups.PASS_GROUP + 1)
        assert 80 * table.max() < 1 << 16


def test_queued_games_are_played_as_single_ones(seen):
    """All games of a batch end, whoever else is in their lane."""
    deals = jax.vmap(doudizhu.init)(jax.random.split(jax.random.key(1), 32))
    zero = jnp.zeros((2, 16), jnp.int32)
    table = Table(deals.hands.reshape(2, 16, 3, 15), zero, zero + moves.PASS, zero, zero - 1)
    table = table._replace(winner=zero.at[0, 5].set(3) - 1)  # one is over before it begins
    keys = jax.random.split(jax.random.key(2), 2)
    play = jax.jit(lambda k, t: playout.play_out(k, t, "sensible"))
    winner = np.asarray(play(keys, table))
    assert winner.shape == (2, 16) and winner[0, 5] == 2
    assert np.isin(winner, [0, 1, 2]).all() and len(np.unique(winner)) == 3
    other = table._replace(hands=table.hands.at[1].set(table.hands[0]))
    assert (np.asarray(play(jax.random.clone(keys), other))[0] == winner[0]).all()


def test_children_are_chosen_by_ucb(seen):
    """A round of choices against plain Python, from any counts, whole and not."""
    rng = np.random.default_rng(0)
    start = jax.device_get(begin_all(seen))
    is_there = start.ids >= 0
    visits = np.where(is_there, rng.integers(0, 9, start.ids.shape), 0).astype(np.float32)
    visits[::3] *= 0.5  # as if part of them were known beforehand
    total = (visits * rng.random(visits.shape)).astype(np.float32)
    visits[1], total[1] = 0, 0
    counted, chosen = jax.device_get(choose_all(start._replace(visits=visits, total=total)))
    for row in range(ROWS):
        expected = _ucb(visits[row].tolist(), total[row].tolist(), int(start.num[row]))
        assert chosen[row].tolist() == expected
        added = np.bincount(expected, minlength=len(visits[row]))
        assert np.allclose(counted[row], visits[row] + added)


def _ucb(visits, total, num):
    """Chooses the children of a round."""
    known = sum(total) / sum(visits) if sum(visits) else 0.5
    means = [t / n if n else known for t, n in zip(total, visits, strict=True)]
    chosen = []
    for _ in range(SETTINGS.at_once):
        untried = [i for i in range(num) if visits[i] == 0]
        if untried:
            best = untried[0]
        else:
            log = math.log(sum(visits))
            scores = [
                means[i] + SETTINGS.exploration * math.sqrt(log / visits[i]) for i in range(num)
            ]
            best = max(range(num), key=lambda i: (np.float32(scores[i]), -i))
        visits[best] += 1
        chosen.append(best)
    return chosen


def test_visits_and_returns_are_counted(seen, found):
    """The search is its rounds, one by one, with the recorded results of their games."""
    assert (found.num_games[:-1] == SETTINGS.playouts).all() and found.num_games[-1] == 0
    assert (found.visits.sum(axis=1) == found.num_games).all()
    assert (found.visits[found.ids < 0] == 0).all()
    assert ((found.total >= 0) & (found.total <= found.visits)).all()
    keys, now = jax.random.split(jax.random.key(0), ROWS), begin_all(seen)

    @jax.jit
    def sample(keys, seen, now, chosen):
        tables = root.begin_games(keys, seen, now, chosen, SETTINGS)
        return root.end_games(keys, seen, tables, SETTINGS)

    fold = jax.jit(jax.vmap(jax.random.fold_in, (0, None)))
    for index in range(SETTINGS.playouts // SETTINGS.at_once):
        counted, chosen = choose_all(now)
        won = np.asarray(sample(fold(jax.random.clone(keys), index), seen, now, chosen))
        assert np.isin(won, [0, 1]).all()
        total = np.array(now.total)
        for row in range(ROWS - 1):
            for child, value in zip(chosen[row].tolist(), won[row].tolist(), strict=True):
                total[row, child] += value
        visits = np.where(now.num[:, None] > 1, counted, now.visits)
        now = now._replace(visits=jnp.asarray(visits), total=jnp.asarray(total))
    chex.assert_trees_all_equal(now._replace(num_games=found.num_games), found)


def test_the_best_of_those_visited_enough_is_played(found):
    chosen = np.asarray(decide_all(found))
    for row in range(ROWS):
        num = int(found.num[row])
        visits, total = found.visits[row, :num], found.total[row, :num]
        if num == 1:
            assert chosen[row] == found.ids[row, 0]
            continue
        enough = [i for i in range(num) if visits[i] >= SETTINGS.min_visits * visits.max()]
        best = max(enough, key=lambda i: (total[i] / visits[i], visits[i], -i))
        assert chosen[row] == found.ids[row, best]


def test_values_known_beforehand_count_as_visits(seen):
    settings = Settings(playouts=64, at_once=16, prior_visits=6.0)
    start = jax.tree.map(lambda x: x[0], begin_all(seen))
    values = jnp.linspace(0, 1, len(start.ids))
    is_there = np.asarray(start.ids) >= 0
    for num_cards, worth in ((54, 6.0), (27, 3.0), (9, 1.0)):
        begun = root.with_values(start, values, jnp.int32(num_cards), settings)
        assert np.array_equal(begun.visits, np.where(is_there, np.float32(worth), 0.0))
        assert np.allclose(begun.total, np.where(is_there, worth * np.asarray(values), 0.0))
    nothing = root.with_values(start, values, jnp.int32(54), Settings(prior_visits=0.0))
    chex.assert_trees_all_equal(nothing, start)


def test_settled_decisions_play_no_more(seen, found):
    """Which are settled, against plain Python; these count no visits, and their games are over."""
    settings = dataclasses.replace(SETTINGS, tolerance=0.01)
    visits = np.where(found.ids >= 0, found.visits * np.array([[1], [400]] * (ROWS // 2)), 0)
    mean = np.array(jax.vmap(root.means)(found))
    mean[::4] = 0.5  # all alike
    now = found._replace(visits=visits.astype(np.float32))
    now = now._replace(total=(now.visits * mean).astype(np.float32))
    now.visits[0], now.total[0] = 0, 0  # nothing is known yet

    @jax.jit
    def one_round(now):
        visited, chosen = jax.vmap(lambda one: root.choose(one, settings))(now)
        keys = jax.random.split(jax.random.key(0), ROWS)
        tables = root.begin_games(keys, seen, now, chosen, settings)
        return tables.winner, root.count(now, visited, chosen, jnp.ones(chosen.shape), settings)

    winner, counted = jax.device_get(one_round(now))
    is_open = [_is_open(*row, settings.tolerance) for row in zip(*now[1:4], strict=True)]
    assert 4 <= sum(is_open) <= ROWS - 4 and is_open[0] and not is_open[-1]
    for row, expected in enumerate(is_open):
        more = settings.at_once if expected else 0
        assert counted.num_games[row] == now.num_games[row] + more
        assert counted.visits[row].sum() == pytest.approx(now.visits[row].sum() + more)
        assert counted.total[row].sum() == pytest.approx(now.total[row].sum() + more)
        assert (winner[row] >= 0).all() != expected


def _is_open(num, visits, total, tolerance):
    """Tells whether a child may yet become better than the best by more than that."""
    if num == 1 or min(visits[:num]) == 0:
        return num > 1
    pairs = zip(visits[:num], total[:num], strict=True)
    children = [(t / n, (t + 1) / (n + 2), n) for n, t in pairs]
    spread = [p * (1 - p) / n for _, p, n in children]
    best = max(range(num), key=lambda i: (children[i][0], -i))
    return any(
        children[i][0] + math.sqrt(spread[i] + spread[best]) > children[best][0] + tolerance
        for i in range(num)
        if i != best
    )


def test_rows_do_not_depend_on_their_batch(seen, found):
    """Rows in another order, among them one that is another decision."""
    order = np.roll(np.arange(ROWS), 5)
    order[3] = order[4]
    keys = jax.random.split(jax.random.key(0), ROWS)[order]
    moved = jax.tree.map(lambda x: x[order], seen)
    again = jax.device_get(run_all(keys, moved, begin_all(moved)))
    chex.assert_trees_all_equal(again, jax.tree.map(lambda x: x[order], found))


def test_hidden_hands_do_not_matter(seen, found):
    """States in which the others hold other cards: what is searched is the same."""
    keys = jax.random.split(jax.random.key(9), ROWS)
    hidden = jax.jit(jax.vmap(doudizhu.determinize))(keys, seen)
    again = observe_all(hidden).replace(legal_action_mask=())
    result = run_all(jax.random.split(jax.random.key(0), ROWS), again, begin_all(again))
    chex.assert_trees_all_equal(jax.device_get(result), found)


def test_endgames_are_won():
    """Where all hands are known and some leads win and others lose, it finds one that wins."""
    states, winners = endgames.endgames(ROWS * 3)
    seen = endgames.observe(states).replace(legal_action_mask=())
    player, chosen = search.make(playouts=64, at_once=16), []
    act = jax.jit(player.act)
    for first in range(0, len(winners), ROWS):
        part = jax.tree.map(lambda x, i=first: x[i : i + ROWS], seen)
        keys = jax.random.split(jax.random.key(first), ROWS)
        drawn = jax.vmap(doudizhu.determinize)(keys, part)
        assert np.array_equal(drawn.hands, states.hands[first : first + ROWS])
        chosen += np.asarray(act((), jax.random.split(jax.random.key(1), ROWS), part, ())).tolist()
    right = [moves.to_text(move) in won for move, won in zip(chosen, winners, strict=True)]
    assert np.mean(right) > 0.9  # games of chance do not tell all; a random lead wins 0.58


def test_time_on_the_clock(seen):
    """At least one round, and more with more time."""
    player = search.make(at_once=16, playouts=16, depth=3, move_time=0.01)
    assert not player.is_pure
    keys = jax.random.split(jax.random.key(0), ROWS)
    chosen = np.asarray(player.act((), keys, seen, ()))
    legal = jax.jit(jax.vmap(lambda s: doudizhu.legal_list(s)[0]))(
        jax.jit(jax.vmap(doudizhu.determinize))(keys, seen)
    )
    assert all(move in row for move, row in zip(chosen, np.asarray(legal), strict=True))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"playouts": 0}, "playouts is 1 to"),
        ({"playouts": 100}, r"multiple of at_once \(64\), not 100"),
        ({"exploration": -1.0}, "exploration is 0 to 100"),
        ({"min_visits": 2.0}, "min_visits is 0 to 1"),
        ({"candidates": "some"}, "one of groups, all, not 'some'"),
        ({"style": "wild"}, "one of uniform, sensible, learned, not 'wild'"),
        ({"tolerance": -0.1}, "tolerance is 0 to 1"),
        ({"depth": 0}, "depth is 1 to 64"),
        ({"move_time": -1.0}, "move_time is 0 to 3600"),
    ],
)
def test_searches_that_cannot_be_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        search.make(**options)
