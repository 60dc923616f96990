"""The actor: what it sees and is told, what it learns, and its run, on one device and on eight."""

import functools
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from agents import policy
from agents.actor import command, features, learning, network, player, selfplay, truth
from agents.actor.config import Config
from agents.learn import config as settings
from agents.learn.checkpoints import CheckpointError
from mjx import packed
from mjx.observe import observe
from mjx.rules import DEFAULT, Rules
from tests import scenes_of_play
from tests.oracle import hand as oracle

ROOT = pathlib.Path(__file__).parent.parent
SMOKE = ROOT / "configs" / "actor_smoke.yaml"
_QUICKLY = {"xla_backend_optimization_level": 0}
_quick = functools.partial(jax.jit, compiler_options=_QUICKLY)


@functools.cache
def _decisions():
    """Own turns and questions out of real games."""
    seen = scenes_of_play.decisions(policy.load("greedy"), seed=2, batch=8, steps=60)
    return jax.tree.map(lambda x: x[::4][:96], seen)


@functools.cache
def _see():
    return _quick(lambda seen: features.see(features.prior(), seen, seen.legal_action_mask))


def test_untrained_it_is_the_linear_player():
    """Move for move, since its last layer is zero; and another network plays otherwise."""
    seen = _see()(_decisions())
    begin = network.init(jax.random.key(0), 8)["actor"]
    prior = jnp.argmax(seen.scores, axis=1)
    drawn = 4 * jax.random.normal(jax.random.key(1), (8, 1))
    changed = jax.tree.map(lambda x: drawn if x.shape == drawn.shape else x, begin)
    played = []
    for actor in (begin, changed):
        discard = jnp.argmax(player.logits(actor, seen), axis=1)
        played.append(np.asarray(jnp.where(seen.is_choice, discard, prior)))
    np.testing.assert_array_equal(played[0], prior)
    differs = played[1] != played[0]
    assert differs.sum() > 5 and not differs[~np.asarray(seen.is_choice)].any()
    legal = np.asarray(_decisions().legal_action_mask)
    assert legal[np.arange(len(legal)), played[1]].all()


def test_what_it_sees():
    seen, decisions = _see()(_decisions()), _decisions()
    is_open, tiles = np.asarray(seen.open), np.asarray(seen.tiles)
    assert tiles.shape[1:] == (34, features.TILE) and seen.context.shape[1] == features.CONTEXT
    choices = np.asarray(seen.is_choice)
    assert 20 < choices.sum() < len(choices)
    held = np.asarray(decisions.hand) > 0
    assert (is_open <= held).all() and not is_open[np.asarray(decisions.pending) >= 0].any()
    prior = np.where(is_open, np.asarray(seen.prior), -np.inf)[choices]
    np.testing.assert_allclose(prior.max(axis=1), 0)
    scores = np.asarray(seen.scores)[choices][:, :34]
    gap = (scores - scores.max(axis=1, keepdims=True)) / features.TEMPERATURE
    np.testing.assert_allclose(prior[is_open[choices]], gap[is_open[choices]], atol=1e-5)


@functools.cache
def _states():
    """Own turns of greedy play, near its end."""
    act = policy.load("greedy").act

    @_quick
    def run(key):
        states = jax.vmap(mjx.init)(jax.random.split(key, 24))

        def one_step(states, step):
            seen = jax.vmap(observe)(states, states.current_player)
            keys = jax.random.split(jax.random.fold_in(key, step), 24)
            action = act((), keys, seen, states.legal_action_mask)
            return jax.vmap(mjx.step)(states, action), states

        return jax.lax.scan(one_step, states, jnp.arange(60))[1]

    states = jax.tree.map(lambda x: x[25:].reshape(-1, *x.shape[2:]), run(jax.random.key(1)))
    mask = np.asarray(jax.vmap(lambda state: state.legal_action_mask)(states))
    turns = np.nonzero(mask[:, :34].any(axis=1) & ~np.asarray(states.terminated))[0][::9]
    return jax.tree.map(lambda x: x[turns], states)


@functools.cache
def _truth():
    return _quick(lambda states: truth.truth_of(states, DEFAULT))


def test_the_truth_is_told():
    """Hands' distances, and where in the wall what they need lies, counted one by one."""
    states = _states()
    told = _truth()(states)
    each = (truth.SIZE - 15) // 4
    numbers = np.asarray(told.told)
    assert len(numbers) > 20
    for row in range(24):
        state = jax.tree.map(lambda x, row=row: np.asarray(x)[row], states)
        hands = np.asarray(packed.to_counts(state.hands.to_array()))
        wall = state.wall[state.head : state.tail - DEFAULT.reserve + 1]
        for place in range(4):
            seat = (state.current_player + place) % 4
            counts = hands[seat].tolist()
            melds = (17 - sum(counts)) // 3
            lacks = oracle.deficiency(counts, melds)
            mine = numbers[row, each * place : each * (place + 1)]
            assert mine[:6].argmax() == min(lacks, 5) and mine[:6].sum() == 1
            needs = [k for k in range(34) if counts[k] < 4 and _lowers(counts, k, melds, lacks)]
            hits = [n for n, kind in enumerate(wall) if kind in needs]
            own = [n for n in hits if (n + 1) % 4 == place]
            first, ours = (x[0] if x else 56 for x in (hits, own))
            np.testing.assert_allclose(mine[6:8], np.exp([-first / 6, -ours / 6]), atol=1e-5)
            np.testing.assert_allclose(mine[11:13], [len(hits) / 16, len(own) / 8], atol=1e-5)
            fed = [hands[(state.current_player + q) % 4][needs].sum() / 8 for q in range(4)]
            np.testing.assert_allclose(mine[15:19], fed, atol=1e-5)
    assert (np.asarray(told.cost) > 0).sum() == np.asarray(told.deals_in).sum()


def _lowers(counts, kind, melds, lacks):
    more = list(counts)
    more[kind] += 1
    return oracle.deficiency(more, melds) < lacks


def test_dealing_in_costs_what_is_paid():
    """For each discard: who wins on it by the game itself, and what a win of one tai costs."""
    states = _states()
    told = jax.tree.map(np.asarray, _truth()(states))
    mask = np.asarray(jax.vmap(lambda state: state.legal_action_mask)(states))
    row, kind = np.nonzero(mask[:, :34])
    each = jax.tree.map(lambda x: x[row], states)
    after = _quick(jax.vmap(mjx.step))(each, jnp.asarray(kind, jnp.int32))
    asked = np.asarray(jax.vmap(lambda state: state.legal_action_mask)(after))[:, 107]
    wins = asked & ~np.asarray(after.terminated) & (np.asarray(after.pending) >= 0)
    np.testing.assert_array_equal(wins, told.deals_in[row, kind])
    assert wins.sum() > 5
    winner, payer, dealer, streak = (
        np.asarray(x)[wins]
        for x in (after.current_player, each.current_player, each.dealer, each.streak)
    )
    has_dealer = (winner == dealer) | (payer == dealer)
    cost = DEFAULT.base + DEFAULT.unit * (1 + has_dealer * (1 + 2 * streak))
    np.testing.assert_allclose(told.cost[row, kind][wins], cost / 1000, rtol=1e-6)
    assert (told.cost[~told.deals_in] == 0).all()


def _batch(rng, size=6):
    """Made-up decisions with a few open discards each."""
    is_open = rng.random((size, 34)) < 0.15
    is_open[:, 3] = is_open[:, 20] = True
    prior = np.where(is_open, rng.normal(size=(size, 34)), -1e9).astype(np.float32)
    action = np.array([rng.choice(np.nonzero(row)[0]) for row in is_open])
    normal = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    return selfplay.Samples(
        tiles=normal(size, 34, features.TILE),
        context=normal(size, features.CONTEXT),
        open=jnp.asarray(is_open),
        prior=jnp.asarray(prior),
        log_policy=jax.nn.log_softmax(jnp.asarray(prior)),
        action=jnp.asarray(action, jnp.int32),
        told=normal(size, truth.SIZE),
        cost=jnp.abs(normal(size, 34)),
        deals_in=jnp.asarray(rng.random((size, 34)) < 0.3),
        value=normal(size),
        outcome=normal(size),
        target=normal(size),
        is_real=jnp.asarray(rng.random(size) < 0.8).at[0].set(True),
    )


def test_the_policy_gradient():
    """Of the logits, against the formula in plain numbers; what is not real counts nothing."""
    batch, stay = _batch(np.random.default_rng(0)), 0.1
    params = network.init(jax.random.key(0), 8)
    drawn = jax.random.normal(jax.random.key(1), (8, 1))
    actor = params["actor"]["params"]
    actor["Dense_5"] = {"kernel": drawn}
    added = network.residual(params["actor"], batch.tiles, batch.context)
    logits = jnp.where(batch.open, batch.prior + added, batch.prior)
    batch = batch.replace(log_policy=jax.nn.log_softmax(logits))

    def total(prior):
        return learning.loss(params, batch.replace(prior=prior), stay, 0.2)[0]

    found = -np.asarray(jax.grad(total)(batch.prior))
    one = jax.tree.map(np.asarray, batch)
    for row in range(len(one.action)):
        opens, t = np.nonzero(one.open[row])[0], one.action[row]

        def share(numbers, opens=opens):
            weights = np.exp(np.asarray(numbers, float))
            return dict(zip(opens, weights / weights.sum(), strict=True))

        pi, before = share(logits[row, opens]), share(one.prior[row, opens])
        q = {a: -one.cost[row, a] if one.deals_in[row, a] else one.value[row] for a in opens}
        mean = sum(pi[a] * q[a] for a in opens)
        away = sum(pi[a] * np.log(pi[a] / before[a]) for a in opens)
        surprise = np.clip(one.target[row] - q[t], -3, 3)
        for a in opens:
            expected = pi[a] * (q[a] - mean) + ((a == t) - pi[a]) * surprise
            pull = pi[a] * (np.log(pi[a] / before[a]) - away) - (pi[a] - before[a])
            expected = (expected - stay * pull) * one.is_real[row]
            np.testing.assert_allclose(found[row, a], expected, atol=1e-5)


def test_the_critic_learns_outcomes_without_deal_ins():
    batch = _batch(np.random.default_rng(1))
    params = network.init(jax.random.key(0), 8)
    told = learning.loss(params, batch, 0.0, 0.2)[1]
    one = jax.tree.map(np.asarray, batch)
    value = np.asarray(network.value(params["critic"], batch.told))
    counts = one.is_real & ~one.deals_in[np.arange(len(value)), one.action]
    np.testing.assert_allclose(told.error, ((value - one.outcome)[counts] ** 2).sum(), rtol=1e-5)
    assert told.number == one.is_real.sum() and told.number_valued == counts.sum()


def test_outcomes_and_targets():
    """Two lanes of made-up decisions against the recursion in plain Python."""
    rng = np.random.default_rng(3)
    steps, lanes, trace = 30, 2, 0.7
    ended = rng.random((steps, lanes)) < 0.15
    seat = rng.integers(0, 4, (steps, lanes))
    is_real = rng.random((steps, lanes)) < 0.7
    points = rng.normal(size=(steps, lanes, 4))
    value = rng.normal(size=(steps, lanes))
    blank = _batch(rng, 1)
    samples = jax.tree.map(
        lambda x: jnp.broadcast_to(x[0], (steps, lanes, *x.shape[1:])), blank
    ).replace(value=jnp.asarray(value, jnp.float32), is_real=jnp.asarray(is_real))
    made = selfplay._Made(
        samples,
        jnp.asarray(seat, jnp.int32),
        jnp.asarray(ended),
        jnp.asarray(points, jnp.float32),
    )
    found = selfplay._with_outcomes(made, trace)
    for lane in range(lanes):
        for step in range(steps):
            end = next((n for n in range(step, steps) if ended[n, lane]), None)
            real = is_real[step, lane] and end is not None
            assert bool(found.is_real[step, lane]) == real
            if not real:
                continue
            mine = points[end, lane, seat[step, lane]]
            later = [
                n
                for n in range(step + 1, end + 1)
                if seat[n, lane] == seat[step, lane] and is_real[n, lane]
            ]
            target = following = mine
            for n in [*reversed(later), step]:
                target = (1 - trace) * following + trace * target
                following = value[n, lane]
            np.testing.assert_allclose(found.outcome[step, lane], mine, rtol=1e-5)
            np.testing.assert_allclose(found.target[step, lane], target, rtol=1e-4)


@pytest.mark.slow
def test_eight_devices_and_two_halves_are_one_run(tmp_path):
    """On eight devices up to rounding; stopped, read from the disk and gone on, exactly."""
    program = """
import pathlib, sys, jax, numpy as np
jax.config.update("jax_num_cpu_devices", 8)
from agents.actor import loop
from agents.actor.config import Config
from agents.learn import config as settings
from agents.learn.checkpoints import Run

folder, smoke = sys.argv[1:]
arguments = ["--config", smoke, "--selfplay.steps", "24", "--iterations", "3"]
config = settings.parse(arguments, pathlib.Path(), Config)
quickly = {"xla_backend_optimization_level": 0}

def go_on(trainer, step, state, number):
    for _ in range(number):
        state, metrics = step(state)
        assert all(np.isfinite(v) for v in jax.device_get(metrics).values()), metrics
    return state

states = []
for devices in (1, 8):
    trainer = loop.make(config, devices)
    step = jax.jit(trainer.run, compiler_options=quickly)
    begin = jax.jit(trainer.init, compiler_options=quickly)()
    states.append(go_on(trainer, step, begin, 2))
    if devices == 1:
        run = Run(folder, config)
        run.save(go_on(trainer, step, begin, 1))
        run.close()
        run = Run(folder, config)
        again = go_on(trainer, step, run.restore(trainer.init), 1)
        run.close()
        same = jax.tree.map(lambda a, b: bool((a == b).all()), again, states[0])
        assert jax.tree.all(same)
one, many = jax.device_get([state.replace(key=None) for state in states])
assert not np.array_equal(one.params["params"]["Dense_5"]["kernel"], 0)
for a, b in zip(jax.tree.leaves(one.games), jax.tree.leaves(many.games), strict=True):
    np.testing.assert_array_equal(a, b)
for a, b in zip(jax.tree.leaves(one.current), jax.tree.leaves(many.current), strict=True):
    np.testing.assert_allclose(a, b, atol=2e-4)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run"), str(SMOKE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    player = policy.load(f"actor:path={tmp_path / 'run'}")
    assert player.params.actor["params"]["Embed_0"]["embedding"].shape == (34, 8)


def test_the_player_loads_and_refuses(tmp_path):
    shipped = policy.load("actor")
    assert shipped.params.prior.network is not None
    with pytest.raises(CheckpointError, match="holds no run"):
        policy.load(f"actor:path={tmp_path}")
    for rules in (Rules(hand_tiles=13, reserve=0), Rules(ligu=8)):
        with pytest.raises(ValueError, match="16 tiles"):
            policy.load("actor", rules=rules)


@pytest.mark.slow
def test_explain_decides():
    shipped, decisions = policy.load("actor"), _decisions()
    shown = _quick(shipped.explain)(shipped.params, decisions)
    keys = jax.random.split(jax.random.key(0), len(decisions.pending))
    played = _quick(shipped.act)(shipped.params, keys, decisions, decisions.legal_action_mask)
    np.testing.assert_array_equal(np.nanargmax(shown.value, axis=1), played)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--selfplay.lanes", "20"], "multiple of 8"),
        (["--learning.batch", "4096"], "fewer than learning.batch"),
        (["--start", "nowhere.msgpack"], "nowhere.msgpack"),
        (["--learning.clip", "nan"], "learning.clip"),
        (["--evaluation.opponents", "[nobody]"], "nobody"),
        (["--width", "0"], "width"),
    ],
)
def test_bad_settings_are_refused(arguments, words, tmp_path, capsys):
    assert command.main(["--config", str(SMOKE), *arguments], tmp_path) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_settings_of_the_configs():
    strong = settings.parse(["--config", str(ROOT / "configs/strong.yaml")], pathlib.Path(), Config)
    assert strong.iterations > 100 and strong.method == "actor"
