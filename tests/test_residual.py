"""The residual: what it is added to and sees, its branches and what they teach, and its run."""

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
from agents.learn import config as settings
from agents.learn.checkpoints import CheckpointError
from agents.residual import branches, command, features, learning, network, player
from agents.residual.branches import Branches
from agents.residual.config import Config
from agents.search import playout
from mjx import packed
from mjx.rules import DEFAULT, Rules
from tests import made_up_search, scenes_of_play

ROOT = pathlib.Path(__file__).parent.parent
SMOKE = ROOT / "configs" / "residual_smoke.yaml"
_QUICKLY = {"xla_backend_optimization_level": 0}
_quick = functools.partial(jax.jit, compiler_options=_QUICKLY)


@functools.cache
def _decisions():
    """Own turns and questions out of real games."""
    seen = scenes_of_play.decisions(policy.load("greedy"), seed=2, batch=8, steps=60)
    return jax.tree.map(lambda x: x[::4][:96], seen)


@functools.cache
def _see():
    prior = features.prior()
    return _quick(lambda seen: features.see(prior, seen, seen.legal_action_mask))(_decisions())


@functools.cache
def _explain():
    """The search, compiled once: its weights are parameters."""
    return _quick(policy.load("expectimax_opp:alpha=1.0").explain)


def _searched(name):
    """Values of the actions by a search with other weights."""
    return np.asarray(_explain()(policy.load(name).params, _decisions()).value)


def _drawn(seed):
    """Parameters of another network."""
    shapes = network.init()
    keys = iter(jax.random.split(jax.random.key(seed), len(jax.tree.leaves(shapes))))
    return jax.tree.map(lambda x: jax.random.normal(next(keys), x.shape), shapes)


def test_untrained_it_is_the_search():
    """Value for value that of the search with opponents; another network changes discards alone."""
    seen, decisions = _see(), _decisions()
    found = _searched("expectimax_opp:alpha=1.0")
    begun = np.asarray(player.values(network.init(), seen))
    np.testing.assert_array_equal(begun, seen.values)
    legal = np.asarray(decisions.legal_action_mask)
    np.testing.assert_allclose(begun[legal], found[legal], rtol=1e-5, atol=0.01)
    assert (begun[~legal] == -np.inf).all()
    changed = np.asarray(player.values(_drawn(1), seen))
    differs = changed.argmax(axis=1) != begun.argmax(axis=1)
    choices = np.asarray(seen.is_choice)
    assert 5 < differs.sum() and not differs[~choices].any()
    assert legal[np.arange(len(legal)), changed.argmax(axis=1)].all()
    np.testing.assert_array_equal(changed[:, 34:], begun[:, 34:])
    kinds, there = (np.asarray(x) for x in jax.vmap(branches.choose)(seen))
    for row in range(len(legal)):
        mine = kinds[row, there[row] & choices[row]]
        others = np.setdiff1d(np.arange(34), mine)
        np.testing.assert_array_equal(changed[row, others], begun[row, others])
    best = begun[:, :34].argmax(axis=1)[choices]
    np.testing.assert_array_equal(changed[choices, best], begun[choices, best])


def test_what_it_sees():
    seen, decisions = _see(), _decisions()
    is_open, tiles = np.asarray(seen.open), np.asarray(seen.tiles)
    assert tiles.shape[1:] == (34, features.TILE) and seen.context.shape[1] == features.CONTEXT
    choices = np.asarray(seen.is_choice)
    assert 20 < choices.sum() < len(choices)
    held = np.asarray(decisions.hand) > 0
    assert (is_open <= held).all() and not is_open[np.asarray(decisions.pending) >= 0].any()
    assert (is_open[choices] == held[choices]).all()
    assert (tiles[~is_open] == 0).all() and np.isfinite(tiles).all()
    assert np.isfinite(np.asarray(seen.context)).all()
    behind = np.where(is_open, np.asarray(seen.values)[:, :34], -np.inf)[choices]
    behind = np.maximum((behind - behind.max(axis=1, keepdims=True)) / 100, -10)
    shown = tiles[choices][..., features.COST + 9]
    np.testing.assert_allclose(shown[is_open[choices]], behind[is_open[choices]], atol=1e-4)
    plain, with_danger = (
        _searched(f"expectimax_opp:alpha=1.0,danger={danger},tempo=0")[:, :34]
        for danger in (0, 0.5)
    )
    # Half the danger is half the cost, and half the chance that the hand ends with it.
    ends = 1 - np.prod(1 - tiles[..., features.COST - 6 : features.COST - 3] / 5, axis=-1)
    lost = plain - plain * (1 - 0.5 * ends) + 50 * tiles[..., features.COST]
    where = is_open & choices[:, None]
    np.testing.assert_allclose((plain - with_danger)[where], lost[where], atol=0.5)


def test_which_branches_are_tried():
    """In plain Python: the best with danger for a half, nothing, double, and the next best."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        is_open = rng.random(34) < rng.choice([0.03, 0.1, 0.4])
        is_open[rng.integers(34)] = True
        values = np.where(is_open, rng.normal(size=34) * 150, -np.inf).astype(np.float32)
        cost = (rng.random(34) ** 4 * 400).astype(np.float32)
        tiles = np.zeros((34, features.TILE), np.float32)
        tiles[:, features.COST] = cost / 100
        every = np.concatenate([values, np.full(76, -np.inf, np.float32)])
        seen = features.Seen(every, np.bool_(True), is_open, tiles, np.zeros(features.CONTEXT))
        kinds, there = (np.asarray(x) for x in branches.choose(jax.tree.map(jnp.asarray, seen)))
        left = list(np.nonzero(is_open)[0])
        for place, danger in enumerate((0.5, 0, 2, 0.5)):
            if not left:
                assert not there[place:].any()
                break
            best = max(left, key=lambda k: values[k] - (danger - 0.5) * cost[k])
            left.remove(best)
            assert kinds[place] == best
            assert there[place] == (values[best] >= values.max() - branches.MARGIN)


@functools.cache
def _branched():
    """Turns of greedy play near its end, and their branches."""
    act = policy.load("greedy").act

    @_quick
    def run(key):
        states = jax.vmap(mjx.init)(jax.random.split(key, 24))

        def one_step(states, step):
            seen = jax.vmap(mjx.observe)(states, states.current_player)
            keys = jax.random.split(jax.random.fold_in(key, step), 24)
            return jax.vmap(mjx.step)(states, act((), keys, seen, states.legal_action_mask)), None

        return jax.lax.scan(one_step, states, jnp.arange(45))[0]

    states, prior = run(jax.random.key(1)), features.prior()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "see", made_up_search.see)
        found = _quick(lambda states, keys: branches.branch(prior, states, keys))(states, _keys())
    return states, jax.tree.map(np.asarray, found)


@functools.cache
def _walls():
    """The states that the branches begin from."""
    return _quick(jax.vmap(branches._shuffled))(_keys(), _branched()[0])


def _keys():
    """Keys of the walls, fresh ones each time that they are used."""
    return branches.keys_of(jax.random.key(2), 24)


def test_branches_are_played_to_their_end():
    """Against the game's own steps, from the same walls, by the rule of the playouts."""
    states, found = _branched()
    rules = playout.own_walls(DEFAULT)
    row, place = np.nonzero(found.is_open)
    assert len(set(row)) >= 5 and (found.is_open.sum(axis=1)[found.is_real] > 1).all()
    turns = np.asarray(states.queue) == 0
    assert not found.is_real[~turns | np.asarray(states.terminated)].any()
    walls = _walls()
    each = jax.tree.map(lambda x: x[row], walls)
    seats = np.asarray(each.current_player)

    @_quick
    def one_step(states, given):
        seen = jax.vmap(lambda s: mjx.observe(s, s.current_player, rules))(states)
        shown = packed.from_counts(4 - seen.unseen - seen.hand)
        action = playout.choose(states, shown, given)
        return jax.vmap(lambda s, a: mjx.step(s, a, rules))(states, action)

    given = jnp.asarray(found.kind[row, place])
    points = np.zeros(len(row))
    for _ in range(200):
        each = one_step(each, given)
        given = jnp.full_like(given, -1)
        points += np.asarray(each.rewards)[np.arange(len(row)), seats]
        if np.asarray(each.terminated).all():
            break
    assert np.asarray(each.terminated).all() and (points != 0).sum() > 5
    np.testing.assert_allclose(found.points[row, place], points / 1000, atol=1e-6)


def test_walls_are_shuffled_within_what_is_left():
    """The tiles of all four shares together are those that were left; hands stay."""
    states, _ = _branched()
    walls = _walls()
    for row in range(24):
        state, wall = (
            jax.tree.map(lambda x, row=row: np.asarray(x)[row], s) for s in (states, walls)
        )
        left = np.sort(state.wall[state.head : state.tail + 1])
        counts = [(wall.sub_draws >> np.uint32(8 * seat)) & 255 for seat in range(4)]
        size, first = DEFAULT.sub_wall_size, DEFAULT.num_dealt
        shares = [
            wall.wall[first + size * seat + count : first + size * (seat + 1)]
            for seat, count in enumerate(counts)
        ]
        np.testing.assert_array_equal(np.sort(np.concatenate(shares)), left)
        np.testing.assert_array_equal(wall.hands.to_array(), state.hands.to_array())


def _batch(rng, size=7):
    """Made-up branches."""
    is_open = rng.random((size, 4)) < 0.7
    is_open[:, :2] = True
    normal = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)  # noqa: E731
    return Branches(
        tiles=normal(size, 4, features.TILE),
        context=normal(size, features.CONTEXT),
        kind=jnp.asarray(rng.integers(0, 34, (size, 4)), jnp.int32),
        value=jnp.where(jnp.asarray(is_open), 300 * normal(size, 4), -jnp.inf),
        is_open=jnp.asarray(is_open),
        points=normal(size, 4),
        is_real=jnp.asarray(rng.random(size) < 0.7).at[0].set(True),
    )


def test_loss_and_gain():
    """Against sums in plain numbers; what is not real or not open counts nothing."""
    batch, params = _batch(np.random.default_rng(0)), _drawn(0)
    params = jax.tree.map(lambda x: 0.1 * x, params)
    total, told = learning.loss(params, batch)
    gain = learning.gain(params, batch)
    one, inner = jax.tree.map(np.asarray, batch), jax.tree.map(np.asarray, params)["params"]
    loss, begun, number, other, more = 0.0, 0.0, 0, 0, []
    for row in np.nonzero(one.is_real)[0]:
        weights = one.context[row] @ inner["Dense_0"]["kernel"] + inner["Dense_0"]["bias"]
        opens = np.nonzero(one.is_open[row])[0]
        kinds = one.kind[row, opens]
        added = 30 * (one.tiles[row, opens] @ weights + inner["kind"][kinds])
        base, points = one.value[row, opens] / 1000, one.points[row, opens]
        found = base + added / 1000
        loss += np.square(found - found.mean() - points + points.mean()).sum()
        begun += np.square(base - base.mean() - points + points.mean()).sum()
        chosen = found.argmax()
        number, other = number + 1, other + (chosen > 0)
        more.append(points[chosen] - points[0])
    np.testing.assert_allclose([total, told.error, told.begun], [loss, loss, begun], rtol=1e-4)
    assert told.number == gain.number == number and gain.other == other
    np.testing.assert_allclose(
        [gain.points, gain.squared], [np.sum(more), np.square(more).sum()], rtol=1e-4
    )
    gradients = jax.grad(lambda b: learning.loss(params, b)[0], allow_int=True)(batch)
    assert (np.asarray(gradients.points)[~one.is_real] == 0).all()
    assert (np.asarray(gradients.points)[~one.is_open] == 0).all()


def test_what_is_learned_is_what_branches_say():
    """From branches whose points hang on one number of a kind, weighed by one of the decision."""
    batch = _batch(np.random.default_rng(3), 2048)
    batch = batch.replace(is_real=jnp.ones(2048, bool))
    base = jnp.where(batch.is_open, batch.value, 0) / 1000
    truth = base + 0.05 * batch.tiles[..., 3] * batch.context[:, 5:6]
    batch = batch.replace(points=truth)
    params = network.init()

    @jax.jit
    def step(params, _):
        gradients = jax.grad(lambda p: learning.loss(p, batch)[0])(params)
        return jax.tree.map(lambda p, g: p - 0.015 * g, params, gradients), None

    params = jax.lax.scan(step, params, None, length=200)[0]
    kernel = np.asarray(params["params"]["Dense_0"]["kernel"])
    assert np.unravel_index(np.abs(kernel).argmax(), kernel.shape) == (5, 3)
    np.testing.assert_allclose(kernel[5, 3], 50 / 30, rtol=0.05)


@pytest.mark.slow
def test_eight_devices_and_two_halves_are_one_run(tmp_path):
    """On eight devices up to rounding; stopped, read from the disk and gone on, exactly."""
    program = """
import pathlib, sys, jax, numpy as np
jax.config.update("jax_num_cpu_devices", 8)
from agents.residual import features, loop
from tests import made_up_search

features.see = made_up_search.see
from agents.residual.config import Config
from agents.learn import config as settings
from agents.learn.checkpoints import Run

folder, smoke = sys.argv[1:]
arguments = ["--config", smoke, "--iterations", "3"]
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
assert not np.array_equal(one.params["params"]["Dense_0"]["kernel"], 0)
for a, b in zip(jax.tree.leaves(one.games), jax.tree.leaves(many.games), strict=True):
    np.testing.assert_array_equal(a, b)
for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(many.params), strict=True):
    np.testing.assert_allclose(a, b, atol=2e-4)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run"), str(SMOKE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    trained = policy.load(f"residual:path={tmp_path / 'run'}")
    assert np.abs(trained.params.residual["params"]["Dense_0"]["kernel"]).max() > 0


def test_the_player_loads_and_refuses(tmp_path):
    half, whole = policy.load("residual"), policy.load("residual:scale=1.0")
    kernels = [one.params.residual["params"]["Dense_0"]["kernel"] for one in (half, whole)]
    np.testing.assert_allclose(kernels[0], 0.5 * kernels[1])
    assert np.abs(kernels[1]).max() > 0
    with pytest.raises(ValueError, match="scale is a factor"):
        policy.load("residual:scale=-1.0")
    with pytest.raises(CheckpointError, match="holds no run"):
        policy.load(f"residual:path={tmp_path}")
    for rules in (Rules(hand_tiles=13, reserve=0), Rules(ligu=8)):
        with pytest.raises(ValueError, match="16 tiles"):
            policy.load("residual", rules=rules)


@pytest.mark.slow
def test_explain_decides():
    shipped, decisions = policy.load("residual"), _decisions()
    shown = _quick(shipped.explain)(shipped.params, decisions)
    keys = jax.random.split(jax.random.key(0), len(decisions.pending))
    played = _quick(shipped.act)(shipped.params, keys, decisions, decisions.legal_action_mask)
    np.testing.assert_array_equal(np.nanargmax(shown.value, axis=1), played)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--play.lanes", "20"], "multiple of 8"),
        (["--learning.batch", "4096"], "fewer than learning.batch"),
        (["--play.walker", "nobody"], "nobody"),
        (["--learning.learning_rate", "nan"], "learning.learning_rate"),
        (["--evaluation.opponents", "[nobody]"], "nobody"),
    ],
)
def test_bad_settings_are_refused(arguments, words, tmp_path, capsys):
    assert command.main(["--config", str(SMOKE), *arguments], tmp_path) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_settings_of_the_configs():
    strong = settings.parse(["--config", str(ROOT / "configs/strong.yaml")], pathlib.Path(), Config)
    assert strong.iterations > 100 and strong.method == "residual"
