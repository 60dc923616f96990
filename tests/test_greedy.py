"""The greedy player against a greedy player in plain Python, on made-up and on real decisions."""

import chex
import jax
import jax.numpy as jnp
import numpy as np

from agents import policy
from mjx import actions
from tests import decisions, scenes_of_play
from tests.oracle import hand as oracle

GREEDY = policy.load("greedy")
_CLAIMS = ((actions.CHOW_LOW, 0), (actions.CHOW_MIDDLE, 1), (actions.CHOW_HIGH, 2))


def _rest(counts, num_melds, unseen):
    """Deficiency and, better when lower, minus the accepting unseen tiles."""
    now = oracle.deficiency(counts, num_melds)
    accepted = 0
    for kind in range(34):
        if unseen[kind] and counts[kind] < 4:
            more = list(counts)
            more[kind] += 1
            accepted += unseen[kind] * (oracle.deficiency(more, num_melds) < now)
    return now, -accepted


def _without(counts, *kinds):
    rest = list(counts)
    for kind in kinds:
        rest[kind] -= 1
    return rest


def _best_discard(counts, num_melds, unseen):
    """Rank of the best discard, the kind last."""
    return min(
        (*_rest(_without(counts, kind), num_melds, unseen), kind)
        for kind in range(34)
        if counts[kind]
    )


def _plain_greedy(counts, num_melds, unseen, pending, legal):
    """Chooses an action id in plain Python."""
    if legal[actions.WIN]:
        return actions.WIN
    if pending < 0:
        *discard, kind = _best_discard(counts, num_melds, unseen)
        kongs = []
        for k in range(34):
            if legal[actions.CONCEALED_KONG + k]:
                rank = _rest(_without(counts, k, k, k, k), num_melds + 1, unseen)
                kongs.append((*rank, actions.CONCEALED_KONG + k))
            if legal[actions.ADDED_KONG + k]:
                kongs.append(
                    (*_rest(_without(counts, k), num_melds, unseen), actions.ADDED_KONG + k)
                )
        if kongs and min(kongs)[0] <= discard[0]:
            return min(kongs)[-1]
        return kind
    claims = []
    for action, place in _CLAIMS:
        if legal[action]:
            run = [pending - place + i for i in range(3) if i != place]
            rank = _best_discard(_without(counts, *run), num_melds + 1, unseen)
            claims.append((*rank[:2], action))
    if legal[actions.PONG]:
        rank = _best_discard(_without(counts, pending, pending), num_melds + 1, unseen)
        claims.append((*rank[:2], actions.PONG))
    if legal[actions.OPEN_KONG]:
        rank = _rest(_without(counts, pending, pending, pending), num_melds + 1, unseen)
        claims.append((*rank, actions.OPEN_KONG))
    if claims and min(claims)[0] < oracle.deficiency(counts, num_melds):
        return min(claims)[-1]
    return actions.PASS


def _num_melds(seen):
    own = (seen.chows, seen.pongs, seen.kongs, seen.concealed_kongs)
    return sum(np.asarray(field[:, 0]).sum(axis=-1).astype(int) for field in own)


def _check(seen):
    mask = np.asarray(seen.legal_action_mask)
    keys = jax.random.split(jax.random.key(0), len(mask))
    found = np.asarray(jax.jit(GREEDY.act)((), keys, seen, seen.legal_action_mask))
    melds = _num_melds(seen)
    for row in range(len(mask)):
        expected = _plain_greedy(
            np.asarray(seen.hand[row]).tolist(),
            int(melds[row]),
            np.asarray(seen.unseen[row]).tolist(),
            int(seen.pending[row]),
            mask[row],
        )
        assert found[row] == expected, row


def test_made_up_decisions():
    rng = np.random.default_rng(3)
    cases = [decisions.sample(rng, i % 6, i // 6 % 2 == 1, 20) for i in range(96)]
    _check(decisions.batch(cases))


def test_decisions_of_real_games():
    seen = scenes_of_play.decisions(GREEDY, seed=1, batch=8, steps=60)
    rng = np.random.default_rng(0)
    asked = np.nonzero(np.asarray(seen.pending) >= 0)[0]
    turns = np.nonzero(np.asarray(seen.pending) < 0)[0]
    index = np.concatenate([rng.permutation(asked)[:40], rng.permutation(turns)[:40]])
    _check(jax.tree.map(lambda x: x[jnp.asarray(index)], seen))


def test_rows_do_not_depend_on_each_other():
    cases = [decisions.sample(np.random.default_rng(i), i % 6, i % 2 == 1, 20) for i in range(7)]
    seen = decisions.batch(cases)
    act = jax.jit(chex.assert_max_traces(GREEDY.act, n=2))
    keys = jax.random.split(jax.random.key(0), 7)
    together = act((), keys, seen, seen.legal_action_mask)
    assert (act((), keys, seen, seen.legal_action_mask) == together).all()
    for row in range(7):
        alone = jax.tree.map(lambda x, row=row: x[row : row + 1], seen)
        assert act((), keys[row : row + 1], alone, alone.legal_action_mask)[0] == together[row]


def test_explain_decides():
    cases = [decisions.sample(np.random.default_rng(i), i % 6, i % 2 == 1, 20) for i in range(24)]
    seen = decisions.batch(cases)
    shown = jax.jit(GREEDY.explain)((), seen)
    keys = jax.random.split(jax.random.key(0), 24)
    action = jax.jit(GREEDY.act)((), keys, seen, seen.legal_action_mask)
    np.testing.assert_array_equal(np.nanargmax(shown.value, axis=1), action)
    np.testing.assert_array_equal(np.isfinite(shown.value), seen.legal_action_mask)
