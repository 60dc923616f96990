"""The paper's baseline: claims exactly when the deficiency falls, wins always, else the search.

Its search is compared with the plain recursion in test_search.py.
"""

import functools

import jax
import numpy as np
import pytest

from agents import policy
from agents.search.tree import Settings
from mjx import actions
from tests import decisions
from tests import test_search as search
from tests.oracle import expectimax as plain
from tests.oracle import hand as oracle

_PLACES = {"chow_low": 0, "chow_middle": 1, "chow_high": 2}


@functools.cache
def _act(depth):
    player = policy.load(f"expectimax_paper:depth={depth}")
    return player, jax.jit(player.act)


def _chosen(cases, depth):
    player, act = _act(depth)
    seen = decisions.batch(cases)
    keys = jax.random.split(jax.random.key(0), len(cases))
    return np.asarray(act(player.params, keys, seen, seen.legal_action_mask)).tolist()


def _cases(asked, unseen_kinds):
    rng = np.random.default_rng(4)
    return [decisions.sample(rng, i % 6, asked, unseen_kinds) for i in range(96)]  # one shape


def _after(own, name):
    """Tiles lacking after a claim and its best discard, in plain Python."""
    counts, kind, melds = list(own.counts), own.pending, len(own.melds)
    if name in _PLACES:
        for other in range(kind - _PLACES[name], kind - _PLACES[name] + 3):
            counts[other] -= other != kind
    else:
        counts[kind] -= 2 if name == "pong" else 3
    if name == "open_kong":
        return oracle.deficiency(counts, melds + 1)
    left = []
    for thrown in range(34):
        if counts[thrown]:
            rest = [n - (other == thrown) for other, n in enumerate(counts)]
            left.append(oracle.deficiency(rest, melds + 1))
    return min(left)


def test_questions_are_answered_by_deficiency():
    cases = _cases(True, 20)
    calls = set()
    for case, action in zip(cases, _chosen(cases, 1), strict=True):
        own = case.decision
        if own.may_win:
            expected = actions.WIN
        else:
            lacks = {decisions.action_id(name): _after(own, name) for name in case.legal - {"pass"}}
            now = oracle.deficiency(own.counts, len(own.melds))
            best = min(lacks, key=lambda a: (lacks[a], a), default=actions.PASS)
            expected = best if lacks and lacks[best] < now else actions.PASS
        assert action == expected, case
        calls.add(expected)
    assert {actions.WIN, actions.PASS, actions.PONG} < calls and len(calls) >= 5


def test_own_turns_are_searched():
    """The action played is the best by the plain recursion; a win is always taken."""
    cases = _cases(False, 5)
    played = list(zip(cases, _chosen(cases, 1), strict=True))
    wins = [action for case, action in played if case.decision.may_win]
    assert len(wins) > 2 and set(wins) == {actions.WIN}
    for case, action in [one for one in played if not one[0].decision.may_win][:24]:
        tree = search.plain_tree("paper", case, Settings(depth=1), 1.0)
        values = plain.actions(tree, case.decision, case.legal, 1)
        by_id = {decisions.action_id(name): value for name, value in values.items()}
        assert by_id[action] == pytest.approx(max(by_id.values()), rel=2e-5, abs=2e-2), case


def test_options_are_checked():
    with pytest.raises(ValueError, match="alpha"):
        policy.load("expectimax_paper:alpha=2.0")
