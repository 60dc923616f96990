"""The search equals a plain recursion: values and actions, whatever the value function.

Compiling takes most of the time: programs are shared, take the width as an argument (an alpha says
nothing else), and are compiled with few optimisations.
"""

import dataclasses
import functools
from unittest import mock

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.search import expectimax, handmade, paper
from agents.search.tree import Settings, Solver, widths
from agents.search.value import Position
from mjx import actions, distance, packed
from tests import decisions, valuefns
from tests.oracle import expectimax as oracle
from tests.oracle import lastdraws
from tests.oracle import score as oracle_score
from tests.oracle.rules import Rules

_QUICKLY = {"xla_backend_optimization_level": 0}


@dataclasses.dataclass(frozen=True)
class _Way:
    """A value function, for the search and for the recursion."""

    make: object  # () -> ValueFunction
    params: object  # () -> its parameters
    plain_q: object  # (case) -> q of the recursion


def _plain_handmade(case):
    """The hand-made value by the discards one by one, as the recursion asks for it."""
    params = handmade.params()
    context = handmade.value().prepare(params, case.observation())

    def plain(counts, melds, draws):
        hands = np.array([counts, *valuefns.meld_counts(melds)], np.int32)
        own = np.array([len(melds), draws], np.int32)
        return np.asarray(_handmade_q()(params, context, hands, own)).tolist()

    return plain


@functools.cache
def _handmade_q():
    def q(params, context, hands, own):
        words = jax.vmap(packed.from_counts)(hands)[:, None]
        return handmade.value().q_values(params, context, Position(*words, *own[:, None]))[0]

    return jax.jit(q)


def _plain_paper(case):
    """The paper's leaf value: 1,000 points a tile that a discard leaves lacking."""

    def plain(counts, melds, draws):
        return [10 * q for q in valuefns.plain_by_lack(case, counts, melds, draws)]

    return plain


def _made_up(plain):
    return lambda case: functools.partial(plain, case)


_WAYS = {
    "one by one": _Way(valuefns.by_kind, tuple, _made_up(valuefns.plain_by_kind)),
    "together": _Way(
        lambda: valuefns.by_hand(after_draws=True, back=False),
        valuefns.params,
        _made_up(valuefns.plain_by_hand),
    ),
    "together with back": _Way(
        lambda: valuefns.by_hand(after_draws=True, back=True),
        valuefns.params,
        _made_up(valuefns.plain_by_hand),
    ),
    "lacking": _Way(valuefns.by_lack, tuple, _made_up(valuefns.plain_by_lack)),
    "handmade": _Way(handmade.value, handmade.params, _plain_handmade),
    "paper": _Way(paper.value, paper.params, _plain_paper),
}


@functools.cache
def _program(way, settings, risky=False, at_once=expectimax._DECISIONS_AT_ONCE):
    """Compiles a search of any width: (params, widths int32[18], observation) -> values."""
    value, risk = _WAYS[way].make(), valuefns.risk() if risky else None

    @functools.partial(jax.jit, compiler_options=_QUICKLY)
    def run(params, table, seen):
        with mock.patch.object(expectimax, "_DECISIONS_AT_ONCE", at_once):
            solver = Solver(settings, value, risk, params, widths=table)
            return expectimax.action_values(solver, seen, seen.legal_action_mask)

    return run


def _search(way, cases, settings, alpha, risky=False, params=None, **options):
    """Searches cases: float32[B,A]."""
    params = _WAYS[way].params() if params is None else params
    run = _program(way, settings, risky, **options)
    return np.asarray(run(params, jnp.asarray(widths(alpha)), decisions.batch(cases)))


def _plain_points(case, kappa=1.0):
    """Scores wins in the tree by the plain scorer: points(counts, melds, kind, replacement)."""

    @functools.cache
    def points(counts, melds, kind, replacement):
        def paid(win_by, payers):
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

        claimed = sum(paid("discard", (payer,)) for payer in (1, 2, 3)) / 3 if kappa < 1 else 0
        return kappa * paid("self_draw", (1, 2, 3)) + (1 - kappa) * claimed

    return points


def _plain_win(case):
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


def _cases(seed, number, unseen_kinds, sizes=(0, 1, 2, 3, 4, 5)):
    rng = np.random.default_rng(seed)
    return [
        decisions.sample(rng, sizes[i % len(sizes)], i // len(sizes) % 2 == 1, unseen_kinds)
        for i in range(number)
    ]


def plain_tree(way, case, settings, alpha, risky=False):
    return oracle.Tree(
        alpha,
        functools.cache(_WAYS[way].plain_q(case)),
        _plain_points(case, settings.kappa),
        settings.gamma,
        valuefns.plain_risk if risky else None,
        valuefns.PASS_RISK if risky else (0.0, 1.0),
        settings.spread,
        settings.merge,
    )


def _compare(way, cases, settings, alpha, risky=False, **options):
    """Checks the values of all actions of all cases against the recursion."""
    found = _search(way, cases, settings, alpha, risky, **options)
    claims = settings.depth if settings.claim_depth is None else settings.claim_depth
    for row, case in zip(found, cases, strict=True):
        plain = plain_tree(way, case, settings, alpha, risky)
        layers = claims if case.decision.pending >= 0 else settings.depth
        expected = oracle.actions(plain, case.decision, case.legal, layers)
        ids = {decisions.action_id(name): value for name, value in expected.items()}
        if case.decision.may_win:
            ids[actions.WIN] = _plain_win(case)
        assert set(np.nonzero(np.isfinite(row))[0]) == set(ids), case
        np.testing.assert_allclose(
            [row[a] for a in ids], list(ids.values()), rtol=2e-5, atol=2e-2, err_msg=str(case)
        )
        best = max(ids.values())
        assert ids[int(row.argmax())] >= best - 1e-4 * abs(best) - 2e-2


def _all_kinds_of_decisions(cases):
    """Makes sure that nothing the tests are about is missing from their cases."""
    names = {name.partition(" ")[0] for case in cases for name in case.legal}
    assert {"pass", "pong", "open_kong", "concealed_kong", "added_kong", "chow_low"} <= names
    assert any(case.decision.may_win for case in cases)
    assert any(case.decision.locked for case in cases)
    assert {len(case.decision.melds) for case in cases} == set(range(6))


_RISKY = Settings(depth=2, claim_depth=1, gamma=0.875, kappa=0.25)
_CLAIMS_DEEPER = Settings(depth=1, claim_depth=2)
_TWO = Settings(depth=2)
_THREE = Settings(depth=3)
_SHALLOW = Settings(depth=0)
_SPREAD = Settings(depth=2, claim_depth=1, spread=0.8)
_MERGED = Settings(depth=2, claim_depth=0, merge=True)


def test_cases_have_everything():
    _all_kinds_of_decisions(_cases(20, 24, 3))
    _all_kinds_of_decisions(_cases(8, 24, 2))


def test_no_layer_is_q():
    """A claim is worth its best Q, a pass or a kong the mean over the draws that follow."""
    _compare("one by one", _cases(5, 24, 6), _SHALLOW, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_two_layers_with_risk(alpha):
    """Leaves one by one; questions a layer less deep."""
    _compare("one by one", _cases(20, 24, 3), _RISKY, alpha, risky=True)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_two_layers_with_risk_of_leaves_together(alpha):
    _compare("together with back", _cases(20, 24, 3), _RISKY, alpha, risky=True)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_claims_deeper_of_leaves_together(alpha):
    """Inner nodes ordered by their Q, leaves together; the own turn a layer less deep."""
    _compare("together", _cases(20, 24, 3), _CLAIMS_DEEPER, alpha)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_two_layers_of_the_handmade_value(alpha):
    _compare("handmade", _cases(8, 12, 2), _TWO, alpha)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_two_layers_of_the_papers_value(alpha):
    _compare("paper", _cases(8, 12, 2), _TWO, alpha)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_three_layers(alpha):
    _compare("together with back", _cases(4, 12, 2, sizes=(3, 4, 5)), _THREE, alpha)


@pytest.mark.slow
def test_width_that_follows_the_spread():
    _compare("together with back", _cases(20, 24, 3), _SPREAD, 1.0)


@pytest.mark.slow
def test_useless_draws_share_a_child():
    """Where leaves are worth what they lack, nothing else about the last draw is approximate."""
    cases = [case for case in _cases(20, 36, 6) if case.decision.pending < 0]
    _compare("lacking", cases, _MERGED, 0.6)


def test_merging_is_for_leaves_one_by_one():
    case = _cases(20, 1, 3)
    with pytest.raises(ValueError, match="merge saves nothing"):
        _search("together", case, _MERGED, 0.6)


def _few_left(seed, number, most):
    """Makes own turns with 1 to `most` tiles left to draw, no win declined before."""
    rng, cases = np.random.default_rng(seed), []
    while len(cases) < number:
        num_melds = int(rng.integers(6))
        case = decisions.sample(rng, num_melds, False, 4)
        tiles = rng.permutation(np.repeat(np.arange(34), case.decision.unseen))
        unseen = np.bincount(tiles[: rng.integers(1, most + 1)], minlength=34)
        own = dataclasses.replace(case.decision, unseen=tuple(unseen.tolist()))
        if not own.locked and not own.may_win:
            cases.append(dataclasses.replace(case, decision=own))
    return cases


@pytest.mark.slow
def test_full_width_solves_the_last_draws():
    """As many layers as draws, leaves worth nothing: the game of one player, solved exactly."""
    cases = _few_left(9, 12, 3)
    found = _search("together with back", cases, _THREE, 1.0, params=valuefns.params(scale=0))
    won = 0
    for row, case in zip(found, cases, strict=True):
        own, points = case.decision, _plain_points(case)
        solved = lastdraws.discards(
            own.counts,
            len(own.melds),
            own.unseen,
            lambda rest, kind, own=own, points=points: points(rest, own.melds, kind, "plain"),
        )
        values = [float(value) for value in solved.values()]
        np.testing.assert_allclose(row[list(solved)], values, rtol=1e-5, atol=1e-2)
        assert row[:34].max() == pytest.approx(max(values), rel=1e-5)
        won += 0 < max(values)
    assert won >= 4


@pytest.mark.slow
def test_chances_sum_to_one():
    """Where nothing is won in the tree, and enough is left to draw, leaves of one value are all."""
    rng, cases = np.random.default_rng(3), []
    while len(cases) < 12:
        case = _cases(int(rng.integers(1 << 30)), 1, 2, sizes=(int(rng.integers(3)),))[0]
        tiles = rng.permutation(np.repeat(np.arange(34), 4))[: sum(case.decision.counts)]
        counts = tuple(np.bincount(tiles, minlength=34).tolist())
        left = np.where(np.array(counts) < 4, 1, 0) * (rng.random(34) < 0.12)
        if left.sum() < 3 or _within_reach(counts, len(case.decision.melds)):
            continue
        own = dataclasses.replace(
            case.decision, counts=counts, unseen=tuple(left.tolist()), may_win=False
        )
        cases.append(dataclasses.replace(case, decision=own, legal=set(), drawn=int(tiles[0])))
    params = valuefns.params(scale=0, more=1000)
    found = _search("together with back", cases, _THREE, 0.2, params=params)
    np.testing.assert_allclose(found[np.isfinite(found)], 1000, rtol=1e-6)


def _within_reach(counts, num_melds):
    """Tells whether some three draws could complete the hand, whatever is thrown."""
    hand = packed.from_counts(jnp.asarray(counts, jnp.int32))
    return int(distance.deficiency(hand, jnp.int32(num_melds))) <= 3


@pytest.mark.slow
def test_no_tile_is_drawn_that_is_all_visible():
    """Hands with more copies than are left may be worth anything: they do not count."""
    cases = _cases(20, 24, 3)
    args = ("together with back", cases, _RISKY, 0.6, True)
    plain = _search(*args)
    for impossible in (-(2.0**19), 2.0**19):
        found = _search(*args, params=valuefns.params(impossible=impossible))
        np.testing.assert_array_equal(found, plain)


@pytest.mark.slow
def test_batches_are_cut_in_pieces():
    """Also of one decision each, so that no row depends on the others, and the last one filled."""
    cases = _cases(20, 24, 3)
    args = ("one by one", cases, _SHALLOW, 0.6)
    whole = _search(*args)
    np.testing.assert_array_equal(_search(*args, at_once=1), whole)
    np.testing.assert_array_equal(_search(*args, at_once=7), whole)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["one by one", "together with back"])
def test_leaves_are_counted(way):
    """Distinct ones like the set of hands that the recursion values as leaves."""
    cases = [case for case in _cases(20, 24, 3) if case.decision.pending < 0]
    cases = [case for case in cases if not (case.decision.locked or case.decision.may_win)][:8]
    assert len(cases) == 8

    @functools.partial(jax.jit, compiler_options=_QUICKLY)
    def count(params, table, seen):
        solver = Solver(_TWO, _WAYS[way].make(), None, params, widths=table)
        return expectimax.count_leaves(solver, seen, seen.legal_action_mask)

    for alpha in (0.4, 1.0):
        found = count(_WAYS[way].params(), jnp.asarray(widths(alpha)), decisions.batch(cases))
        for row, case in enumerate(cases):
            leaves, own = set(), case.decision
            plain = plain_tree(way, case, _TWO, alpha)

            def q(counts, melds, draws, plain=plain, leaves=leaves):
                if draws == 2:
                    leaves.add(counts)
                return plain.q(counts, melds, draws)

            watched = dataclasses.replace(plain, q=q)
            locked = own.locked or own.may_win
            oracle.discards(watched, own.counts, own.melds, own.unseen, locked, 0, 2)
            assert int(found.distinct[row]) == len(leaves), case
        if way == "one by one":
            np.testing.assert_array_equal(found.evaluated, found.distinct)
        else:
            assert (found.evaluated >= found.distinct).all()


def test_widths_are_exact():
    for alpha in (0.1, 0.2, 0.3, 0.6, 0.7, 1.0):
        assert widths(alpha).tolist() == [oracle.width(alpha, n) for n in range(18)]
    assert widths(0.6)[17] == 11
    assert widths(0.7)[10] == 7


@pytest.mark.slow
def test_explain_decides():
    """The player acts by the values it explains, and by nothing else."""
    player = expectimax.make(depth=0, claim_depth=0, alpha=1.0)
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
