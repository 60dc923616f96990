"""Matches: the hands against a plain loop, the figures against plain Python, the script as run."""

import collections
import itertools
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eval as script
from agents import arena, random, results
from agents.policy import Policy
from mjx import actions
from mjx import state as st
from mjx.observe import observe
from mjx.rules import Rules
from mjx.step import init, step

ROOT = pathlib.Path(__file__).parent.parent


def _builder(name="builder"):
    """Makes a player that takes any win and call, and discards what stands alone."""

    def one(key, observation, mask):
        hand = jnp.pad(observation.hand.astype(jnp.float32), 2)
        near = 2 * hand[2:-2] + hand[1:-3] + hand[3:-1] + 0.5 * (hand[:-4] + hand[4:])
        worth = jnp.full(actions.NUM_ACTIONS, 5.0).at[:34].set(-near).at[actions.WIN].set(100.0)
        worth = worth.at[actions.PASS].set(0.0)
        noise = jax.random.uniform(key, worth.shape, maxval=0.1)
        return jnp.argmax(jnp.where(mask, worth + noise, -jnp.inf)).astype(jnp.int32)

    return Policy(name, (), lambda params, key, *seen: jax.vmap(one)(key, *seen))


BUILDER, RANDOM = _builder(), random.make()
LANES = 16  # the same in most tests: each number compiles anew


@pytest.fixture(scope="module")
def played():
    return arena.match(BUILDER, RANDOM, pairs=16, seed=3, lanes=LANES)


def _same(left, right):
    return all(np.array_equal(x, y) for x, y in zip(left, right, strict=True))


def test_hands_equal_a_plain_loop(played):
    """Games of a match, replayed one decision at a time from the documented keys."""
    rules, root = Rules(), jax.random.key(3)
    step_one = jax.jit(step, static_argnames="rules")
    observe_one = jax.jit(observe, static_argnames="rules")
    act_a, act_b = jax.jit(BUILDER.act), jax.jit(RANDOM.act)
    won = np.argwhere(played.hands.winner >= 0)[0]
    for pair, turned in {(7, 1), tuple(won.tolist())}:
        key = jax.random.fold_in(root, pair)
        wall_key, play_key = jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
        state = init(wall_key, rules, pair % 4, pair // 12 % 4)
        seats = ([0, 2], [0, 1], [0, 3])[pair // 4 % 3]
        for count in itertools.count():
            seen = observe_one(state, state.current_player, rules=rules)
            is_a = (int(state.current_player) in seats) != turned
            row = jax.tree.map(lambda leaf: leaf[None], (seen, seen.legal_action_mask))
            (action,) = (act_a if is_a else act_b)(
                (), jax.random.fold_in(play_key, count)[None], *row
            )
            state = step_one(state, action, rules=rules)
            if state.terminated:
                break
        hands = played.hands
        for field in ("ending", "winner"):
            assert int(getattr(state, field)) == getattr(hands, field)[pair, turned]
        assert np.array_equal(state.rewards, hands.points[pair, turned])


def test_figures_equal_plain_python():
    rng = np.random.default_rng(0)
    pairs = 9
    games = jnp.arange(2 * pairs, dtype=jnp.int32)
    is_a = np.asarray(arena.seats_of_a(games)).reshape(pairs, 2, 4)
    ending = rng.integers(st.DRAWN, st.ROBBED_KONG + 1, (pairs, 2))
    ending[0] = st.DRAWN, st.ROBBED_KONG
    actor = rng.integers(0, 4, (pairs, 2))
    winner = np.where(ending == st.DRAWN, -1, (actor + rng.integers(1, 4, (pairs, 2))) % 4)
    tai = np.where(winner >= 0, rng.integers(0, 20, (pairs, 2)), 0)
    points = rng.integers(-40, 40, (pairs, 2, 4)).astype(np.float32) * 500
    hands = arena.Hands(is_a, ending, winner, actor, tai, points)
    figures = results.figures(arena.Match(hands, (0.25, 0.5)), ("x", "y"))

    cells = [(p, o) for p in range(pairs) for o in range(2)]
    leads = {"win_rate": [0.0] * pairs, "points": [0.0] * pairs}
    sums = {side: collections.Counter() for side in "ab"}
    for p, o in cells:
        for seat in range(4):
            side, sign = ("a", 1) if is_a[p, o, seat] else ("b", -1)
            wins = winner[p, o] == seat
            sums[side]["win_rate"] += wins
            sums[side]["self_draw_rate"] += wins and ending[p, o] == st.SELF_DRAW
            sums[side]["deal_in_rate"] += actor[p, o] == seat and ending[p, o] in (
                st.ON_DISCARD,
                st.ROBBED_KONG,
            )
            sums[side]["tai"] += tai[p, o] if wins else 0
            sums[side]["points_per_hand"] += points[p, o, seat]
            leads["win_rate"][p] += sign * wins / 4
            leads["points"][p] += sign * points[p, o, seat] / 4
    assert figures["pairs"] == pairs
    assert figures["drawn_rate"] == pytest.approx(sum(winner[c] < 0 for c in cells) / len(cells))
    for side, name, seconds in (("a", "x", 0.25), ("b", "y", 0.5)):
        mine = figures[side]
        assert (mine["name"], mine["seconds_per_decision"]) == (name, seconds)
        for key in ("win_rate", "self_draw_rate", "deal_in_rate", "points_per_hand"):
            assert mine[key] == pytest.approx(sums[side][key] / (2 * len(cells)))
        assert mine["mean_tai"] == pytest.approx(sums[side]["tai"] / sums[side]["win_rate"])
    for key, values in leads.items():
        mean = statistics.fmean(values)
        margin = 2.306004 * statistics.stdev(values) / math.sqrt(pairs)  # t of 8 degrees, 97.5 %
        expected = {"mean": mean, "low": mean - margin, "high": mean + margin}
        assert figures["diff"][key] == pytest.approx(expected, rel=1e-5)


def test_a_side_without_a_win_has_no_mean_tai(played):
    lost = played.hands._replace(winner=np.full_like(played.hands.winner, -1))
    figures = results.figures(arena.Match(lost, None), ("x", "y"))
    assert figures["a"]["mean_tai"] is None and figures["a"]["seconds_per_decision"] is None
    assert "x" in results.table(figures) and "y" in results.table(figures)


def test_the_better_player_is_seen(played):
    figures = results.figures(played, ("builder", "random"))
    assert figures["diff"]["win_rate"]["low"] > 0
    assert figures["diff"]["points"]["mean"] > 0
    assert figures["a"]["points_per_hand"] == -figures["b"]["points_per_hand"]
    assert np.array_equal(played.hands.points.sum(axis=-1), np.zeros((16, 2)))


def test_exchanged_agents_exchange_the_figures(played):
    other = arena.match(RANDOM, BUILDER, pairs=16, seed=3, lanes=LANES)
    figures, turned = (
        results.figures(match, names)
        for match, names in ((played, ("builder", "random")), (other, ("random", "builder")))
    )
    assert figures["a"] == turned["b"] and figures["b"] == turned["a"]
    assert figures["diff"]["points"]["mean"] == -turned["diff"]["points"]["mean"]


@pytest.mark.parametrize("other", [BUILDER, _builder("twin")])
def test_against_itself_the_difference_is_exactly_zero(other):
    match = arena.match(BUILDER, other, pairs=12, seed=5, lanes=LANES)
    assert (match.hands.winner >= 0).any()
    zero = {"mean": 0.0, "low": 0.0, "high": 0.0}
    figures = results.figures(match, ("one", "two"))
    assert figures["diff"] == {"win_rate": zero, "points": zero}
    for field in match.hands._fields[1:]:
        value = getattr(match.hands, field)
        assert np.array_equal(value[:, 0], value[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("lanes, pairs", [(2, 3), (LANES, 9), (30, 16)])
def test_lanes_and_pairs_do_not_change_the_hands(played, lanes, pairs):
    again = arena.match(BUILDER, RANDOM, pairs=pairs, seed=3, lanes=lanes)
    assert _same([field[:pairs] for field in played.hands], again.hands)


def test_the_seed_counts(played):
    other = arena.match(BUILDER, RANDOM, pairs=16, seed=4, lanes=LANES)
    assert not _same(played.hands, other.hands)


def test_seatings_dealers_and_winds_rotate():
    games = jnp.arange(2 * 48, dtype=jnp.int32)
    is_a = np.asarray(arena.seats_of_a(games)).reshape(48, 2, 4)
    assert (is_a[:, 0] == ~is_a[:, 1]).all() and (is_a.sum(axis=-1) == 2).all()
    met = {
        (tuple(row.tolist()), int(dealer), int(wind))
        for row, dealer, wind in zip(
            is_a[:, 0], arena.dealer_of(games)[::2], arena.round_wind_of(games)[::2], strict=True
        )
    }
    assert len(met) == 3 * 4 * 4


def test_a_pair_shares_its_deal_and_no_other():
    deal = jax.jit(jax.vmap(arena.deal_one, (0, None, None)), static_argnums=2)
    games = jnp.arange(8, dtype=jnp.int32)
    states = deal(games, jax.random.key(0), Rules())
    walls = np.asarray(states.wall)
    assert np.array_equal(walls[::2], walls[1::2])
    assert len({wall.tobytes() for wall in walls}) == 4
    assert np.array_equal(states.dealer, arena.dealer_of(games))
    assert np.array_equal(states.round_wind, arena.round_wind_of(games))


def test_the_clock_counts_the_agents_alone():
    ticks = itertools.count()
    match = arena.match(RANDOM, BUILDER, 2, 0, lanes=2, clock=lambda: float(next(ticks)))
    assert match.seconds_per_decision == (1.0, 1.0)  # one tick a call, one decision in each


def test_progress_reaches_the_end():
    told = []
    arena.match(RANDOM, RANDOM, 8, 0, report=lambda *progress: told.append(progress))
    assert told == sorted(told) and told[-1] == (16, 16)


@pytest.mark.slow
def test_devices_share_the_rows_and_change_nothing(played):
    """Four devices of a process of its own, four rows each."""
    program = """
import jax, sys
jax.config.update("jax_num_cpu_devices", 4)
from agents import arena, lanes
from tests import test_arena
lanes.ROWS_EACH = 2
rows, act_plainly = set(), lanes._act_plainly
def watched(params, batch, act):
    rows.add(len(batch.lane))
    return act_plainly(params, batch, act)
lanes._act_plainly = watched
hands = arena.match(test_arena.BUILDER, test_arena.RANDOM, 16, 3, lanes=test_arena.LANES).hands
assert rows == {2}, rows
sys.stdout.buffer.write(hands.points.tobytes())
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True
    )
    assert found.stdout == played.hands.points.tobytes()


def test_a_second_match_compiles_nothing(played):
    sizes = [program._cache_size() for program in arena.PROGRAMS]
    arena.match(BUILDER, RANDOM, pairs=16, seed=8, lanes=LANES)
    assert sizes == [program._cache_size() for program in arena.PROGRAMS]


@pytest.mark.parametrize("action", [actions.WIN, -1, actions.NUM_ACTIONS])
def test_an_illegal_action_is_an_error(action):
    def act(params, key, observation, mask):
        return jnp.full(len(mask), action, jnp.int32)

    with pytest.raises(RuntimeError, match="'cheat' chose an illegal action"):
        arena.match(RANDOM, Policy("cheat", (), act), 8, 0)


@pytest.mark.parametrize(
    "numbers, message",
    [
        ({"pairs": 0}, "pairs is 2 or more"),
        ({"pairs": 1}, "pairs is 2 or more"),
        ({"seed": -1}, "seed is a whole number from 0"),
        ({"lanes": 3}, "lanes is an even number"),
        ({"lanes": 0}, "lanes is an even number"),
    ],
)
def test_impossible_numbers_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        arena.match(RANDOM, RANDOM, **{"pairs": 4, "seed": 0, **numbers})


COMMAND = ["--a", "greedy", "--b", "random", "--pairs", "8", "--seed", "7"]


@pytest.mark.parametrize(
    "extra, message",
    [
        (["--pairs", "0"], "pairs is 2 or more"),
        (["--pairs", "many"], "invalid int value"),
        (["--seed", "-1"], "seed is a whole number"),
        (["--a", "nobody"], "nobody"),
        (["--json", "no/such/folder/result.json"], "there is no folder"),
        (["--json", "."], "is a folder"),
        (["--lanes", "5"], "even number"),
    ],
)
def test_bad_arguments_are_refused_before_playing(extra, message, capsys, monkeypatch):
    monkeypatch.setattr(arena, "match", lambda *_, **__: pytest.fail("it played"))
    with pytest.raises(SystemExit) as exit_:
        script.main(COMMAND + extra)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_script_end_to_end(tmp_path, capsys):
    """As a program, on all cores, and as a function: the same figures, times aside."""
    files = [tmp_path / name for name in ("program.json", "function.json")]
    done = subprocess.run(
        [sys.executable, "eval.py", *COMMAND, "--json", str(files[0])],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "greedy" in done.stdout and "8 pairs" in done.stdout
    python, file, *again = shlex.split(json.loads(files[0].read_text())["command"])
    assert (python, file) == ("python", "eval.py")
    script.main([*again, "--json", str(files[1])])
    assert sorted(tmp_path.iterdir()) == sorted(files)  # nothing else is left behind
    written = [json.loads(file.read_text()) for file in files]
    for result in written:
        assert result.pop("seconds") > 0 and result.pop("devices") > 0
        for side in "ab":
            assert result[side].pop("seconds_per_decision") > 0
            assert set(result[side]) == {
                *("name", "win_rate", "self_draw_rate", "deal_in_rate"),
                *("mean_tai", "points_per_hand"),
            }
        for difference in result["diff"].values():
            assert set(difference) == {"mean", "low", "high"}
    first, second = written
    assert first == second
    assert (first["pairs"], first["seed"], set(first["diff"])) == (8, 7, {"win_rate", "points"})
    assert first["diff"]["win_rate"]["mean"] > 0 and first["diff"]["points"]["mean"] > 0
    assert (first["lanes"], first["players"]["a"]) == (16, {"module": "agents.greedy"})
    assert first["rules"]["unit"] == 500 and first["versions"]["jax"] == jax.__version__
