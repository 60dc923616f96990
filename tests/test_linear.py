"""The linear player: greedy to begin with, the plain player with any weights; its tuning."""

import dataclasses
import functools
import json
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents import arena, policy, results
from agents.linear import __main__ as command
from agents.linear import evolution, features, linear_es, matches, weights
from agents.reading import network, prices
from mjx import packed
from mjx.rules import DEFAULT
from tests import decisions, scenes_of_play
from tests.oracle import linear as plain

_QUICKLY = {"xla_backend_optimization_level": 0}
_ROWS = 192


@functools.cache
def _seen():
    """Decisions, made up and out of real games: kongs, claims and wins among them."""
    rng = np.random.default_rng(5)
    cases = [decisions.sample(rng, i % 6, i // 6 % 2 == 1, 24) for i in range(_ROWS // 2)]
    real = scenes_of_play.decisions(policy.load("greedy"), seed=1, batch=8, steps=60)
    asked, turns = (np.nonzero(np.asarray(real.pending >= 0) == x)[0] for x in (True, False))
    index = [rng.permutation(rows)[: _ROWS // 4] for rows in (asked, turns)]
    some = jax.tree.map(lambda x: x[jnp.asarray(np.concatenate(index))], real)
    return jax.tree.map(lambda *x: jnp.concatenate(x), decisions.batch(cases), some)


@functools.cache
def _scores():
    @functools.partial(jax.jit, compiler_options=_QUICKLY)
    def run(given, seen):
        each = jax.tree.map(lambda x: jnp.broadcast_to(x, (_ROWS, *x.shape)), given)
        params = linear_es.Params(each, linear_es.network_for(given, DEFAULT))
        return linear_es.scores(params, seen, seen.legal_action_mask)

    return lambda given, seen: np.asarray(run(jax.tree.map(jnp.asarray, given), seen))


def _random(seed, reads=False):
    """Weights of many sizes and signs."""
    rng = np.random.default_rng(seed)
    start = weights.reading(weights.handmade()) if reads else weights.handmade()
    start, spread = weights.flat(start), weights.flat(weights.spread(reads))
    return weights.parted((start + 2 * spread * rng.normal(size=len(start))).astype(np.float32))


def _view(seen, row):
    """Writes a decision down in plain numbers."""
    one = jax.tree.map(lambda x: np.asarray(x[row]), seen)
    forms = {"chow": one.chows, "pong": one.pongs, "kong": one.kongs, "ankong": one.concealed_kongs}
    melds = [
        (form, kind)
        for form, counts in forms.items()
        for kind in range(34)
        for _ in range(int(counts[0, kind]))
    ]
    return plain.View(
        hand=one.hand.tolist(),
        melds=melds,
        discards=one.discards.tolist(),
        unseen=one.unseen.tolist(),
        others=[5 - int(n) // 3 for n in one.num_concealed[1:]],
        history=[int(k) for k in one.history_kind if k >= 0],
        pending=int(one.pending),
        drawable=int(one.drawable),
        seat_wind=int(one.seat_wind),
        round_wind=int(one.round_wind),
        legal=set(np.nonzero(one.legal_action_mask)[0].tolist()),
    )


def test_greedy_weights_are_greedy():
    """Move for move, on decisions of every sort."""
    seen = _seen()
    keys = jax.random.split(jax.random.key(0), _ROWS)
    act = jax.jit(policy.load("greedy").act, compiler_options=_QUICKLY)
    played = np.asarray(act((), keys, seen, seen.legal_action_mask))
    assert len(set(played.tolist())) > 40 and {103, 105, 107, 108} <= set(played.tolist())
    assert ((34 <= played) & (played < 102)).sum() > 3
    np.testing.assert_array_equal(_scores()(weights.greedy(), seen).argmax(axis=1), played)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scores_are_those_of_the_plain_player(seed):
    seen, given = _seen(), _random(seed)
    found, numbers = _scores()(given, seen), [part.tolist() for part in given if part is not None]
    levels = set()
    for row in range(_ROWS):
        expected = plain.play(_view(seen, row), numbers)
        assert set(np.nonzero(np.isfinite(found[row]))[0].tolist()) == set(expected), row
        if len(expected) > 1:  # a single one is not looked at
            values = [found[row][action] for action in expected]
            np.testing.assert_allclose(values, list(expected.values()), rtol=1e-4, atol=1e-3)
        levels |= {min(action // 34, 3) for action in expected}
    assert levels == {0, 1, 2, 3}


def test_reading_scores_are_those_of_the_plain_player():
    """What is read comes from the network, which has its own tests; all else is the plain one's."""
    seen, given = _seen(), _random(7, reads=True)
    given = given._replace(fold=given.fold / 8)  # so that hands are given up
    found, numbers = _scores()(given, seen), [part.tolist() for part in given if part is not None]
    price, ready = _read(seen)
    given_up = 0
    for row in range(_ROWS):
        view = _view(seen, row)
        is_read = len(view.history) > 15 or max(view.others) > 1  # nobody is ready before
        read = (price[row].tolist(), float(ready[row])) if is_read else ([0.0] * 34, 0.0)
        expected = plain.play(view, numbers, read)
        assert set(np.nonzero(np.isfinite(found[row]))[0].tolist()) == set(expected), row
        if len(expected) > 1:
            values = [found[row][action] for action in expected]
            np.testing.assert_allclose(values, list(expected.values()), rtol=1e-4, atol=1e-3)
            given_up += max(expected, key=expected.get) not in plain.play(view, numbers)
    assert given_up > 5


def _read(seen):
    """Hundreds of points that each kind is expected to cost, and opponents ready."""

    @functools.partial(jax.jit, compiler_options=_QUICKLY)
    def run(seen):
        reading = network.read(network.shipped()["network"], seen)
        cost, _ = jax.vmap(lambda one, view: prices.deal_in(one, view, DEFAULT))(reading, seen)
        return cost / 100, jnp.sum(reading.ready, axis=-1)

    return [np.asarray(x) for x in run(seen)]


def test_who_minds_nothing_plays_as_who_does_not_read():
    calm = weights.reading(weights.shipped())
    calm = calm._replace(danger=0 * calm.danger, fold=calm.fold + 1e4)
    found = [_scores()(given, _seen()).argmax(axis=1) for given in (calm, weights.shipped())]
    np.testing.assert_array_equal(*found)


def test_claims_that_bring_no_nearer_are_in_the_cases():
    """Weights that call them whenever they may change what is played."""
    keen = weights.greedy()
    keen.claim[0] = 1
    calm, eager = (_scores()(given, _seen()).argmax(axis=1) for given in (weights.greedy(), keen))
    differs = calm != eager
    assert differs.sum() > 8 and (calm[differs] == 108).all()
    assert set(eager[differs].tolist()) <= {102, 103, 104, 105}


def test_features_of_real_hands():
    """Rows of facts, one by one, so that no two wrong ones make a right sum."""
    seen = jax.tree.map(lambda x: x[_ROWS // 2 :], _seen())
    tables = jax.vmap(features.table_of)(seen)
    hands = jax.vmap(packed.from_counts)(seen.hand)
    melds = 5 - seen.num_concealed[:, 0] // 3
    sums = np.asarray(jax.jit(features.hand)(hands, melds, tables))
    facts = np.asarray(jax.jit(jax.vmap(features.tile))(seen))
    for row in range(len(melds)):
        view = _view(seen, row)
        assert sums[:, row].tolist() == plain.hand(view, view.hand, int(melds[row]))
        expected = np.array([plain.tile(view, kind) for kind in range(34)], float)
        np.testing.assert_allclose(facts[row].T, expected, atol=1e-6)
    assert (np.abs(facts).max(axis=(0, 2)) > 0).all() and (sums.max(axis=1) > 0).all()


def test_rows_do_not_depend_on_each_other():
    seen, given = _seen(), _random(3)
    found = _scores()(given, seen)
    order = np.random.default_rng(0).permutation(_ROWS)
    np.testing.assert_array_equal(
        _scores()(given, jax.tree.map(lambda x: x[order], seen)), found[order]
    )
    few = np.resize(order[:5], _ROWS)
    np.testing.assert_array_equal(
        _scores()(given, jax.tree.map(lambda x: x[few], seen)), found[few]
    )


def test_the_player_loads():
    player = policy.load("linear_es")
    assert player.name == "linear_es"
    assert player.params.network is None and player.params.weights.danger is None
    for part, expected in zip(player.params.weights[:3], weights.shipped()[:3], strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.slow
def test_explain_decides():
    player, seen = policy.load("linear_es"), _seen()
    shown = jax.jit(player.explain, compiler_options=_QUICKLY)(player.params, seen)
    found = _scores()(weights.shipped(), seen)
    np.testing.assert_array_equal(np.nanargmax(shown.value, axis=1), found.argmax(axis=1))
    assert (np.isfinite(shown.value) <= np.asarray(seen.legal_action_mask)).all()


def test_weights_as_text(tmp_path):
    for given in (_random(4, reads=True), _random(4)):
        again = weights.from_text(weights.to_text(given))
        np.testing.assert_allclose(weights.flat(again), weights.flat(given), atol=1e-4)
        for one, other in zip(weights.parted(weights.flat(given)), given, strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(weights.flat(weights.shipped())) == weights.NUM_WEIGHTS[0]
    file = tmp_path / "weights.json"
    file.write_text(weights.to_text(given))
    np.testing.assert_array_equal(
        policy.load(f"linear_es:path={file}").params.weights.claim, again.claim
    )
    with pytest.raises(ValueError, match=r"no\.json"):
        policy.load(f"linear_es:path={tmp_path / 'no.json'}")


def _spoiled(change):
    named = json.loads(weights.to_text(weights.greedy()))
    change(named)
    return json.dumps(named)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "JSON"),
        ("[1, 2]", "'hand' has the rows accepting"),
        (_spoiled(lambda named: named.pop("tile")), "'tile' has the rows"),
        (_spoiled(lambda named: named["hand"].pop("pong")), "'hand' has the rows"),
        (_spoiled(lambda named: named["hand"].update(pong=[1, 2])), "'hand' is numbers of shape"),
        (_spoiled(lambda named: named["claim"].update(late=[1.0])), "'claim' is numbers"),
        (_spoiled(lambda named: named["claim"].update(late="much")), "'claim' is numbers"),
        (_spoiled(lambda named: named.update(fold={})), "'danger' has the rows 1, 2"),
    ],
)
def test_other_weights_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        weights.from_text(text)


# --- the evolution strategy -------------------------------------------------------------------

_SPREAD = jnp.asarray([0.5, 1.0, 2.0, 0.1])
_AIM = jnp.asarray([2.0, -3.0, 5.0, 0.4])


def _made_up_leads(contestants, key):
    """Leads in a game that whoever is nearer to `_AIM` wins, with noise."""
    distance = jnp.sum(((contestants - _AIM[None]) / _SPREAD[None]) ** 2, axis=-1)
    noise = jax.random.normal(key, (len(contestants) // 2,))
    return 10 * (distance[1::2] - distance[::2]) + 5 * noise


def _walk(config, key):
    def one_step(state, key):
        draw_key, noise_key = jax.random.split(key)
        drawn = evolution.directions(draw_key, state, config)
        leads = _made_up_leads(evolution.contestants(state, drawn, _SPREAD), noise_key)
        return evolution.update(state, drawn, leads, _SPREAD, config), leads

    return jax.lax.scan(one_step, evolution.init(jnp.zeros(4)), jax.random.split(key, config.steps))


def test_evolution_finds_an_optimum():
    config = evolution.Config(steps=200, directions=16, rate=0.01)
    state, _ = jax.jit(_walk, static_argnums=0)(config, jax.random.key(0))
    found = evolution.result(state, config)
    np.testing.assert_allclose((found - _AIM) / _SPREAD, 0, atol=0.15)
    # The average of the second half is nearer than the end of a walk that never slows down.
    restless = dataclasses.replace(config, last_rate=1.0)
    state, _ = jax.jit(_walk, static_argnums=0)(restless, jax.random.key(0))
    error = [np.linalg.norm((x - _AIM) / _SPREAD) for x in (evolution.result(state, restless),)]
    assert error[0] < np.linalg.norm((state.theta - _AIM) / _SPREAD)


def test_a_step_by_hand():
    """A lead of 10 along e, without momentum, moves theta by rate * 10 * e."""
    config = evolution.Config(steps=2, directions=1, rate=0.1, last_rate=0.5, momentum=0.0)
    state, spread = evolution.init(jnp.asarray([1.0, 2.0])), jnp.asarray([1.0, 10.0])
    drawn = jnp.asarray([[0.5, -1.0]])
    both = evolution.contestants(state, drawn, spread)
    np.testing.assert_allclose(both, [[1.5, -8.0], [0.5, 12.0]])
    state = evolution.update(state, drawn, jnp.asarray([10.0]), spread, config)
    np.testing.assert_allclose(state.theta, [1 + 0.1 * 5, 2 - 0.1 * 10 * 10])
    state = evolution.update(state, drawn, jnp.asarray([-10.0]), spread, config)
    np.testing.assert_allclose(state.theta, [1 + 0.25, 2 - 5])
    np.testing.assert_allclose(evolution.result(state, config), state.theta)  # one step of two


def test_bad_numbers_are_refused():
    for wrong in ({"steps": 0}, {"rate": 0.0}, {"momentum": 1.0}):
        with pytest.raises(ValueError):
            evolution.Config(**wrong)
    both = jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * 2), weights.greedy())
    with pytest.raises(ValueError, match="8 lanes"):
        matches.leads(both, jax.random.key(0), 1, 1, lanes=4)


def _cheap_leads(given, key, num_matches, **_):
    """Stands for matches in tests of the command."""
    total = jnp.sum(given.tile, axis=(1, 2))
    return total[::2] - total[1::2] + jax.random.normal(key, (num_matches,))


def test_the_command_goes_on_where_it_stopped(tmp_path):
    def run(name, more=()):
        file = tmp_path / name
        command.main(["--steps", "4", "--pairs", "3", "--weights", str(file), *more])
        return file.read_bytes(), (tmp_path / f"{name}.steps").read_text().splitlines()

    def steps(lines):
        return [{**json.loads(line), "seconds": 0} for line in lines]

    calls = []

    def stopping(*args, **kwargs):
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return _cheap_leads(*args, **kwargs)

    with mock.patch.object(matches, "leads_jit", _cheap_leads):
        whole = run("whole")
    with mock.patch.object(matches, "leads_jit", stopping), pytest.raises(KeyboardInterrupt):
        run("halves")
    with (tmp_path / "halves.steps").open("a") as file:
        file.write('{"step": 3, "the')  # a line cut short
    with mock.patch.object(matches, "leads_jit", _cheap_leads):
        halves = run("halves")
        assert halves[0] == whole[0] and steps(halves[1]) == steps(whole[1])
        assert len(whole[1]) == 5
        with pytest.raises(SystemExit):
            run("whole", ["--seed", "2"])


@pytest.mark.slow
def test_matches_are_those_of_the_arena():
    """The same deals and decisions, so the same points; weights against themselves give zero."""
    greedy, other = weights.greedy(), _random(6)
    given = [greedy, other, greedy, greedy]
    both = jax.tree.map(lambda *x: jnp.stack([jnp.asarray(a) for a in x]), *given)
    run = jax.jit(
        lambda given, key: matches.leads(given, key, 2, 6, lanes=16), compiler_options=_QUICKLY
    )
    leads = np.asarray(run(both, jax.random.key(9)))
    a, b = (linear_es.player(one) for one in (greedy, other))
    played = arena.match(a, b, pairs=6, seed=9, rules=DEFAULT, lanes=24)
    expected = results.figures(played, ("a", "b"))["diff"]["points"]["mean"]
    assert expected != 0 and leads[1] == 0
    np.testing.assert_allclose(leads[0], expected, rtol=1e-5)
