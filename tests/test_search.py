"""The search equals a plain recursion: values and actions, whatever the value function."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.search import expectimax, handmade
from agents.search.root import root_of
from agents.search.tree import Risk, Settings, Solver, widths
from agents.search.value import Position, ValueFunction
from mjx import actions, packed
from tests import decisions
from tests.oracle import expectimax as oracle
from tests.oracle import score as oracle_score
from tests.oracle.rules import Rules

_RNG = np.random.default_rng(7)
# A value function that means nothing: whole numbers, so that sums are exact.
_BY_KIND = _RNG.integers(-50, 50, 34)
_BY_HELD = _RNG.integers(-9, 10, (34, 34))
_BY_DRAWS = _RNG.integers(-20, 20, 34)
_BY_CHOW, _BY_SET = _RNG.integers(-20, 20, 34), _RNG.integers(-20, 20, 34)
_SCALE = 8


def _q_arrays(counts, chows, sets, draws):
    """Values discards of one position, for NumPy and JAX alike."""
    held = counts @ _BY_HELD.T
    melds = chows @ _BY_CHOW + sets @ _BY_SET
    return _SCALE * (_BY_KIND + held + _BY_DRAWS * draws + melds)


def _made_up() -> ValueFunction:
    def q_values(params, context, positions):
        del params

        def one(position):
            fields = (position.hand, position.chows, position.sets)
            counts, chows, sets = (packed.to_counts(f).astype(jnp.int32) for f in fields)
            return _q_arrays(counts, chows, sets, position.draws).astype(jnp.float32) + context

        return jax.vmap(one)(positions)

    return ValueFunction(
        lambda params, observation: observation.drawable.astype(jnp.float32), q_values
    )


def _oracle_q(case, counts, melds, draws):
    chows, sets = np.zeros(34, int), np.zeros(34, int)
    for form, kind in melds:
        if form == "chow":
            chows[kind] += 1
        else:
            sets[kind] += {"pong": 1, "kong": 2, "ankong": 4}[form]
    return (_q_arrays(np.array(counts), chows, sets, draws) + case.drawable).tolist()


def _oracle_points(case, counts, melds, kind, replacement, kappa=1.0):
    """Scores a win in the tree by the plain scorer."""

    def points(win_by, payers):
        hand = oracle_score.WonHand(
            counts,
            melds,
            kind,
            win_by,
            case.seat_wind,
            case.round_wind,
            after_kong=replacement != "plain",
            after_open_kong=replacement == "open_kong",
        )
        tai = sum(oracle_score.score(hand, Rules()).values())
        return oracle_score.payments(0, payers, tai, case.dealer, case.streak, Rules())[0]

    drawn = points("self_draw", (1, 2, 3))
    claimed = sum(points("discard", (payer,)) for payer in (1, 2, 3)) / 3
    return kappa * drawn + (1 - kappa) * claimed


def _oracle_win(case):
    """Scores the win that is offered at the root."""
    own = case.decision
    counts, kind = list(own.counts), own.pending
    if kind < 0:
        kind = case.drawn
        counts[kind] -= 1
    hand = oracle_score.WonHand(
        tuple(counts),
        own.melds,
        kind,
        "self_draw" if own.pending < 0 else "discard",
        case.seat_wind,
        case.round_wind,
    )
    tai = sum(oracle_score.score(hand, Rules()).values())
    payers = (1, 2, 3) if own.pending < 0 else (3,)
    return oracle_score.payments(0, payers, tai, case.dealer, case.streak, Rules())[0]


def _risk() -> Risk:
    def discards(params, context, positions):
        del params, context
        counts = jax.vmap(packed.to_counts)(positions.hand).astype(jnp.float32)
        rho = -16.0 * counts - 4.0 * positions.draws[:, None].astype(jnp.float32)
        return rho, 1.0 - counts / 8.0

    def passing(params, context):
        del params, context
        return jnp.float32(-40), jnp.float32(0.75)

    return Risk(lambda params, observation: (), discards, passing)


def _oracle_risk(counts, melds, draws):
    del melds
    return [-16.0 * n - 4.0 * draws for n in counts], [1 - n / 8 for n in counts]


def _cases(seed, number, unseen_kinds, sizes=(0, 1, 2, 3, 4, 5)):
    rng = np.random.default_rng(seed)
    return [
        decisions.sample(rng, sizes[i % len(sizes)], i // len(sizes) % 2 == 1, unseen_kinds)
        for i in range(number)
    ]


def _compare(cases, solver, q=_oracle_q, risky=False):
    """Checks the values of all actions of all cases against the recursion."""
    seen = decisions.batch(cases)
    found = jax.jit(lambda seen: expectimax.action_values(solver, seen, seen.legal_action_mask))(
        seen
    )
    found = np.asarray(found)
    settings = solver.settings
    for row, case in zip(found, cases, strict=True):
        tree = oracle.Tree(
            settings.alpha,
            functools.partial(q, case),
            functools.partial(_oracle_points, case, kappa=settings.kappa),
            settings.gamma,
            _oracle_risk if risky else None,
            (-40.0, 0.75) if risky else (0.0, 1.0),
        )
        expected = oracle.actions(tree, case.decision, case.legal, settings.depth)
        ids = {decisions.action_id(name): value for name, value in expected.items()}
        if case.decision.may_win:
            ids[actions.WIN] = _oracle_win(case)
        assert set(np.nonzero(np.isfinite(row))[0]) == set(ids), case
        np.testing.assert_allclose(
            [row[a] for a in ids], list(ids.values()), rtol=2e-5, atol=2e-2, err_msg=str(case)
        )
        best = max(ids.values())
        assert ids[int(row.argmax())] >= best - 1e-4 * abs(best) - 2e-2


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_one_layer(alpha):
    solver = Solver(Settings(depth=1, alpha=alpha), _made_up(), None, ())
    _compare(_cases(1, 48, 6), solver)


def test_no_layer_is_q():
    """A claim is worth its best Q, a pass or a kong the mean over the draws that follow."""
    _compare(_cases(5, 24, 6), Solver(Settings(depth=0, alpha=1.0), _made_up(), None, ()))


@pytest.mark.slow
def test_questions_have_their_own_depth():
    cases = _cases(6, 16, 3, sizes=(3, 4, 5))
    seen = decisions.batch(cases)

    def values(depth, claim_depth):
        settings = Settings(depth=depth, claim_depth=claim_depth, alpha=0.4)
        solver = Solver(settings, _made_up(), None, ())
        return expectimax.action_values(solver, seen, seen.legal_action_mask)

    asked = seen.pending[:, None] >= 0
    assert asked.any() and not asked.all()
    expected = jnp.where(asked, values(0, 0), values(1, 1))
    chex.assert_trees_all_equal(values(1, 0), expected)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_two_layers(alpha):
    solver = Solver(Settings(depth=2, alpha=alpha), _made_up(), None, ())
    _compare(_cases(2, 24, 3, sizes=(0, 2, 3, 4, 5, 5)), solver)


@pytest.mark.slow
def test_two_layers_of_full_width_with_risk():
    settings = Settings(depth=2, alpha=1.0, gamma=0.875, kappa=0.25)
    solver = Solver(settings, _made_up(), _risk(), ())
    _compare(_cases(3, 16, 3, sizes=(3, 4, 5, 5)), solver, risky=True)


@pytest.mark.slow
def test_three_layers():
    solver = Solver(Settings(depth=3, alpha=0.2), _made_up(), None, ())
    _compare(_cases(4, 8, 2, sizes=(4, 5)), solver)


@pytest.mark.slow
def test_one_layer_of_the_handmade_value():
    """The same recursion with the hand-made value, its leaves by the discards one by one."""
    value, params = handmade.value(), handmade.params()
    q = jax.jit(value.q_values)

    def oracle_q(case, counts, melds, draws):
        chows, sets = np.zeros(34, np.int32), np.zeros(34, np.int32)
        for form, kind in melds:
            if form == "chow":
                chows[kind] += 1
            else:
                sets[kind] += {"pong": 1, "kong": 2, "ankong": 4}[form]
        words = [packed.from_counts(jnp.asarray(c))[None] for c in (counts, chows, sets)]
        own = [jnp.full(1, n, jnp.int32) for n in (len(melds), draws)]
        found = q(params, value.prepare(params, case.observation()), Position(*words, *own))
        return np.asarray(found[0]).tolist()

    solver = Solver(Settings(depth=1, alpha=0.6), value, None, params)
    _compare(_cases(8, 12, 3, sizes=(0, 2, 4, 5)), solver, oracle_q)


def test_widths_are_exact():
    for alpha in (0.1, 0.2, 0.3, 0.6, 0.7, 1.0):
        assert widths(alpha).tolist() == [oracle.width(alpha, n) for n in range(18)]
    assert widths(0.6)[17] == 11
    assert widths(0.7)[10] == 7


def test_handmade_best_is_its_best_discard():
    """The leaf's short cut is what it claims to be."""
    value, params = handmade.value(), handmade.params()
    cases = _cases(5, 60, 8)
    seen = decisions.batch(cases)
    contexts = jax.vmap(value.prepare, (None, 0))(params, seen)
    own = jax.vmap(root_of)(seen, seen.legal_action_mask).tiles
    positions = Position(*own, jnp.zeros(len(cases), jnp.int32))
    per_case = jax.tree.map(lambda x: x[:, None], positions)
    q = jax.vmap(value.q_values, (None, 0, 0))(params, contexts, per_case)[:, 0]
    best = jax.vmap(value.best, (None, 0, 0))(params, contexts, per_case)[:, 0]
    held = np.asarray(seen.hand) > 0
    np.testing.assert_array_equal(best, np.max(np.where(held, q, -np.inf), axis=1))


@pytest.mark.slow
def test_explain_decides():
    """The player acts by the values it explains, and by nothing else."""
    player = expectimax.make(depth=1, alpha=1.0)
    cases = _cases(6, 24, 34)
    seen = decisions.batch(cases)
    mask = seen.legal_action_mask
    act = jax.jit(chex.assert_max_traces(player.act, n=1))
    action = act(player.params, jax.random.split(jax.random.key(0), 24), seen, mask)
    turned = jax.tree.map(lambda x: x[::-1], seen)  # rows do not depend on each other
    again = act(player.params, jax.random.split(jax.random.key(1), 24), turned, mask[::-1])
    np.testing.assert_array_equal(action, again[::-1])
    shown = jax.jit(player.explain)(player.params, seen)
    np.testing.assert_array_equal(np.isfinite(shown.value), mask)
    np.testing.assert_array_equal(np.isfinite(shown.q), mask)
    np.testing.assert_array_equal(np.nanargmax(shown.value, axis=1), action)
    assert (np.asarray(shown.accepting)[~np.asarray(mask)] == 0).all()
