# ruff: noqa: NPY002 (rlcard draws from the global generator)
"""Players by name, matches against a plain loop, figures against plain Python, and refusals."""

import builtins
import json
import shlex
import statistics

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
import eval as script
from agents.doudizhu import arena, forced, nets, players, results, rlcard_rule, search
from agents.policy import Policy
from doudizhu import legal, moves
from tests.doudizhu import scenes
from tests.doudizhu.lockstep import HAS_RLCARD, rlcard, state_hands

LANES = 8  # the same in all tests: each number compiles anew
RANDOM, GROUPS = players.load("random"), players.load("group_random")
observe_one = jax.jit(lambda state: doudizhu.observe(state, state.current_player))


@pytest.fixture(scope="module")
def played():
    return arena.match(GROUPS, RANDOM, deals=10, seed=3, lanes=LANES)


def test_games_equal_a_plain_loop(played):
    """Replayed one decision at a time from the documented keys, forced moves unasked."""
    act_a, act_b = jax.jit(GROUPS.act), jax.jit(RANDOM.act)
    for deal, turned in ((0, 0), (7, 1)):
        key = jax.random.fold_in(jax.random.key(3), deal)
        deal_key, play_key = jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
        state = scenes.init_jit(deal_key)
        while not state.terminated:
            seen = observe_one(state)
            legal_ids = np.flatnonzero(seen.legal_action_mask)
            move = jnp.int32(legal_ids[0])
            if len(legal_ids) > 1:
                is_a = (int(state.current_player) == 0) == (turned == 0)
                row = jax.tree.map(lambda leaf: leaf[None], (seen, seen.legal_action_mask))
                row_key = jax.random.fold_in(play_key, int(state.num_plies))[None]
                (move,) = (act_a if is_a else act_b)((), row_key, *row)
            state = scenes.step_jit(state, move)
        games = played.games
        assert int(state.winner) == games.winner[deal, turned]
        assert int(state.num_plies) == games.plies[deal, turned]
        points = doudizhu.rewards(state, doudizhu.Rules(scoring="adp"))[0]
        assert float(points) == games.points[deal, turned]


def test_lanes_do_not_change_the_games(played):
    again = arena.match(GROUPS, RANDOM, deals=10, seed=3, lanes=2)
    for one, other in zip(played.games, again.games, strict=True):
        assert np.array_equal(one, other)


def test_exchanged_players_exchange_the_figures(played):
    turned = arena.match(RANDOM, GROUPS, deals=10, seed=3, lanes=LANES)
    a, b = (
        results.figures(match, names)
        for match, names in ((played, ("one", "two")), (turned, ("two", "one")))
    )
    assert a["a"] == b["b"] and a["b"] == b["a"]


def test_against_itself_it_wins_half():
    """Also where the two are not the same object, and so are asked apart."""
    options = {"playouts": 16, "at_once": 16}
    one, twin = search.make(**options), search.make(**options)
    match = arena.match(one, twin, deals=3, seed=5, lanes=LANES)
    figures = results.figures(match, ("one", "twin"))["a"]
    for name in ("wp", "wp_low", "wp_high"):
        assert figures[name] == 0.5
    assert figures["adp"] == 0.0
    assert np.array_equal(match.games.plies[:, 0], match.games.plies[:, 1])


def test_the_shipped_network_plays():
    """It is small, and wins nearly all games against chance (965 of 1,000)."""
    assert nets.SHIPPED.stat().st_size < 10e6
    match = arena.match(players.load("cnn"), RANDOM, deals=10, seed=3, lanes=LANES)
    assert results.figures(match, ("cnn", "random"))["a"]["wp"] > 0.75


def test_figures_equal_plain_python():
    rng = np.random.default_rng(0)
    winner = rng.integers(0, 3, (9, 2))
    points = np.where(winner == 0, 2, -2) * 2 ** rng.integers(0, 3, (9, 2))
    games = arena.Games(winner, points.astype(np.float32), np.full((9, 2), 40))
    found = results.figures(arena.Match(games, (0.5, 0.25)), ("x", "y"))
    wins, gains = [], []
    for deal in range(9):
        as_landlord, as_peasants = winner[deal, 0] == 0, winner[deal, 1] != 0
        wins.append((int(as_landlord) + int(as_peasants)) / 2)
        gains.append((points[deal, 0] - points[deal, 1]) / 2)
    for name, values in (("wp", wins), ("adp", gains)):
        margin = 2.306004 * statistics.stdev(values) / 3  # t of 8 degrees, 97.5 %; root of 9
        mean = statistics.fmean(values)
        assert found["a"][name] == pytest.approx(mean)
        assert found["a"][f"{name}_low"] == pytest.approx(mean - margin, rel=1e-5)
        assert found["a"][f"{name}_high"] == pytest.approx(mean + margin, rel=1e-5)
        other = 1 - mean if name == "wp" else -mean
        assert found["b"][name] == pytest.approx(other)
    assert found["a"]["landlord"]["wp"] == pytest.approx(np.mean(winner[:, 0] == 0))
    assert found["a"]["peasants"]["wp"] == pytest.approx(np.mean(winner[:, 1] != 0))
    assert found["b"]["landlord"]["wp"] == pytest.approx(np.mean(winner[:, 1] == 0))
    assert found["a"]["seconds_per_decision"] == 0.5 and found["deals"] == 9
    assert "x v y" in results.table(found)


def test_a_player_that_is_not_pure_is_not_traced():
    """And its time is counted: one tick of the clock a call."""
    calls = []

    def act(params, key, observation, mask):
        assert not isinstance(observation.hand, jax.core.Tracer)
        calls.append(len(mask))
        return np.asarray(mask).argmax(axis=1)

    ticks = iter(range(10**6))
    first = Policy("first", (), act, is_pure=False)
    match = arena.match(first, RANDOM, 2, 0, lanes=2, clock=lambda: float(next(ticks)))
    assert set(calls) == {1} and match.seconds_per_decision == (1.0, 1.0)


@pytest.mark.parametrize("move", [moves.ROCKET, -1, moves.NUM_MOVES])
def test_an_illegal_move_is_an_error(move):
    def act(params, key, observation, mask):
        return np.full(len(mask), move)

    cheat = Policy("cheat", (), act, is_pure=False)
    with pytest.raises(RuntimeError, match="'cheat' chose an illegal move"):
        arena.match(cheat, RANDOM, 8, 0, lanes=LANES)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"deals": 1}, "deals is 2 or more"),
        ({"seed": -1}, "seed is a whole number from 0"),
        ({"lanes": 3}, "lanes is an even number"),
    ],
)
def test_impossible_numbers_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        arena.match(RANDOM, RANDOM, **{"deals": 4, "seed": 0, **numbers})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("serch", ["'serch'", "'search'", "rlcard_rule"]),
        ("search:playout=1", ["'playout'", "'playouts'"]),
        ("search:playouts=many", ["playouts", "whole number", "'many'"]),
        ("search:playouts=100", ["multiple of at_once (64)"]),
        ("random:x=1", ["'x'", "none"]),
        ("greedy", ["'greedy'"]),  # of the other game
        ("cnn:path=no/such/run", ["no/such/run"]),
        ("cnn_search:prior_visits=-1", ["prior_visits is 0 to"]),
    ],
)
def test_bad_names_are_refused(name, words):
    with pytest.raises(ValueError) as error:
        players.load(name)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_random_players_pick_what_is_legal_evenly():
    state = scenes.facing("3BR", "4")  # B, R, BR, pass
    seen = jax.tree.map(lambda x: jnp.broadcast_to(x, (600, *x.shape)), observe_one(state))
    for player in (RANDOM, GROUPS):
        keys = jax.random.split(jax.random.key(0), 600)
        chosen = np.asarray(jax.jit(player.act)((), keys, seen, seen.legal_action_mask))
        names = {
            moves.to_text(int(move)): int(num)
            for move, num in zip(*np.unique(chosen, return_counts=True), strict=True)
        }
        assert set(names) == {"B", "R", "BR", "pass"} and min(names.values()) > 100


@pytest.mark.skipif(not HAS_RLCARD, reason="rlcard is not installed")
def test_rlcard_sees_its_own_game():
    """Its games, played by its rule agent, seen through ours: the same view at every ply."""
    rlcard()
    agent = rlcard_rule._agent()
    for seed in range(3):
        game = rlcard().Game()
        game.np_random = np.random.RandomState(seed)
        raw, _ = game.init_game()
        hands = np.array([doudizhu.parse(hand) for hand in state_hands(game)], np.int8)
        bottom = np.array(doudizhu.parse(game.round.public["seen_cards"]), np.int8)
        state = doudizhu.init_from_hands(hands, bottom)
        np.random.seed(seed)
        while not game.is_over():
            seen = jax.device_get(observe_one(state))
            ours = rlcard_rule.raw_observation(seen, seen.legal_action_mask)
            for name in ("self", "landlord", "current_hand", "trace", "num_cards_left"):
                assert ours[name] == raw[name], name
            assert set(ours["actions"]) == set(raw["actions"])
            assert sorted(ours["others_hand"]) == sorted(raw["others_hand"])
            action = agent.step({"raw_obs": raw})
            state = scenes.step_jit(state, moves.from_text(action))
            raw, _ = game.step(action)
        assert state.terminated and int(state.winner) == game.winner_id


@pytest.mark.skipif(not HAS_RLCARD, reason="rlcard is not installed")
def test_rlcard_leaves_the_global_generator_alone():
    seen = jax.tree.map(lambda x: x[None], observe_one(scenes.init_jit(jax.random.key(0))))
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    player = players.load("rlcard_rule")
    chosen = player.act((), jax.random.split(jax.random.key(0), 1), seen, seen.legal_action_mask)
    assert (np.random.get_state()[1] == before).all()
    assert bool(np.asarray(seen.legal_action_mask)[0, chosen[0]])


def test_missing_rlcard_is_named(monkeypatch):
    def missing(name, *args, **kwargs):
        if name.startswith("rlcard"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    real = builtins.__import__
    rlcard_rule._agent.cache_clear()
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ValueError, match=r"pip install rlcard==1\.2\.0"):
        players.load("rlcard_rule")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="rlcard's rules"):
        rlcard_rule.make(doudizhu.Rules(strict=True))


COMMAND = [
    "--game",
    "doudizhu",
    "--a",
    "group_random",
    "--b",
    "random",
    "--deals",
    "4",
    "--seed",
    "7",
]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--deals", "1"], "deals is 2 or more"),
        (["--a", "nobody"], "No agent is named 'nobody'"),
        (["--pairs", "4"], "unrecognized arguments: --pairs"),
        (["--json", "no/such/folder/result.json"], "there is no folder"),
        (["--lanes", "5"], "even number"),
    ],
)
def test_bad_arguments_are_refused_before_playing(extra, message, capsys, monkeypatch):
    monkeypatch.setattr(arena, "match", lambda *_, **__: pytest.fail("it played"))
    with pytest.raises(SystemExit) as stop:
        script.main(COMMAND + extra)
    assert stop.value.code == 2 and message in capsys.readouterr().err


def test_the_command_writes_its_figures(tmp_path, capsys):
    file = tmp_path / "result.json"
    script.main([*COMMAND, "--lanes", str(LANES), "--json", str(file)])
    result = json.loads(file.read_text())
    assert result["deals"] == 4 and result["a"]["name"] == "group_random"
    low, mean, high = (result["a"][name] for name in ("wp_low", "wp", "wp_high"))
    assert low <= mean <= high and mean + result["b"]["wp"] == pytest.approx(1)
    assert {"landlord", "peasants", "seconds_per_decision"} <= set(result["a"])
    assert f"{mean:.3f}" in capsys.readouterr().out
    _, _, *again = shlex.split(result["command"])
    script.main(again)
    assert f"{mean:.3f}" in capsys.readouterr().out
    assert again[:2] == ["--game", "doudizhu"] and result["lanes"] == LANES
    assert result["players"]["b"]["module"] == "agents.doudizhu.random"


def test_forced_moves_are_played_unasked():
    """Until there is a choice, or the game is over."""
    states = scenes.midgame(64)
    after = jax.device_get(jax.jit(forced.play_forced)(states))
    num = np.asarray(jax.jit(jax.vmap(lambda s: doudizhu.legal_list(s, length=1)[1]))(after))
    before = np.asarray(jax.jit(jax.vmap(lambda s: doudizhu.legal_list(s, length=1)[1]))(states))
    assert ((num > 1) | after.terminated).all()
    assert (after.num_plies == states.num_plies)[before > 1].all()
    assert (after.num_plies > states.num_plies)[before == 1].all() and (before == 1).any()
    only = np.asarray(jax.jit(jax.vmap(lambda s: legal.legal_list(s, length=1)[0]))(states))[:, 0]
    for row in np.flatnonzero(before == 1):
        assert after.history[row, states.num_plies[row]] == only[row]
