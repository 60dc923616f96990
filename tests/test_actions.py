"""Action ids: names, words, masks, and picking one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mjx import actions, tiles
from mjx.rollout import nth_legal
from tests.oracle import actions as reference

EVERY = np.eye(actions.NUM_ACTIONS, dtype=bool)
MASKS = np.concatenate(
    [
        EVERY,
        np.random.default_rng(0).random((400, actions.NUM_ACTIONS)) < 0.1,
        np.random.default_rng(1).random((100, actions.NUM_ACTIONS)) < 0.7,
        np.ones((1, actions.NUM_ACTIONS), bool),
    ]
)
MASKS = MASKS[MASKS.any(axis=1)]
pack = jax.jit(actions.pack)
unpack = jax.jit(actions.unpack)


def test_ids_are_those_of_the_reference():
    for name in (
        *("DISCARD", "CONCEALED_KONG", "ADDED_KONG", "CHOW_LOW", "CHOW_MIDDLE", "CHOW_HIGH"),
        *("PONG", "OPEN_KONG", "WIN", "PASS"),
    ):
        assert getattr(actions, name) == getattr(reference, name)
    assert actions.NUM_ACTIONS == 110


def test_every_id_has_its_own_name():
    names = [actions.to_text(action) for action in range(actions.NUM_ACTIONS)]
    assert len(set(names)) == actions.NUM_ACTIONS
    assert [actions.from_text(name) for name in names] == list(range(actions.NUM_ACTIONS))
    for kind, tile in enumerate(tiles.NAMES):
        assert actions.from_text(f"discard {tile}") == kind
        assert actions.from_text(f"concealed_kong {tile}") == 34 + kind
        assert actions.from_text(f"added_kong {tile}") == 68 + kind
    calls = ["chow_low", "chow_middle", "chow_high", "pong", "open_kong", "win", "pass"]
    calls.append("declare_ready")
    assert [actions.from_text(call) for call in calls] == list(range(102, 110))


@pytest.mark.parametrize("action", [-1, 110, 1000])
def test_id_out_of_range_has_no_name(action):
    with pytest.raises(ValueError, match=f"0 to 109, not {action}"):
        actions.to_text(action)


@pytest.mark.parametrize(
    "text", ["", "discard", "discard 5z", "Pong", "pong 5m", "kong", "discard5m"]
)
def test_unknown_name_is_refused(text):
    with pytest.raises(
        ValueError, match=r"No action is named .*'discard 5m'.*open_kong, win, pass"
    ):
        actions.from_text(text)


def test_pack_and_unpack_are_inverse():
    words = pack(MASKS)
    assert words.shape == (len(MASKS), 5) and words.dtype == jnp.uint32
    assert (np.asarray(unpack(words)) == MASKS).all()


def test_words_are_laid_out_as_documented():
    words = np.asarray(pack(EVERY))
    for action in range(actions.NUM_ACTIONS):
        if action >= actions.CHOW_LOW:
            word, bit = 4, action - actions.CHOW_LOW
            assert actions.call_bit(action) == 1 << bit
        else:
            word, bit = action % 34 // 9, 3 * (action % 34 % 9) + action // 34
        expected = np.zeros(5, np.uint32)
        expected[word] = 1 << bit
        assert (words[action] == expected).all()


def test_is_legal_reads_the_words():
    asked = np.arange(-3, actions.NUM_ACTIONS + 40, dtype=np.int32)
    is_legal = jax.jit(jax.vmap(jax.vmap(actions.is_legal, in_axes=(None, 0)), in_axes=(0, None)))(
        tuple(pack(MASKS).T), asked
    )
    expected = np.zeros((len(MASKS), len(asked)), bool)
    expected[:, 3 : 3 + actions.NUM_ACTIONS] = MASKS
    assert (np.asarray(is_legal) == expected).all()


def test_no_id_out_of_range_is_legal_in_a_finished_hand():
    full = (jnp.uint32(0xFFFFFFFF),) * 5
    for action in (-1, 110, 127, 200, -110, 2**31 - 1, -(2**31)):
        assert not bool(actions.is_legal(full, jnp.int32(action)))


def test_id_at_is_the_action_of_a_bit():
    words = np.asarray(pack(EVERY))
    word, bit = words.argmax(axis=1).astype(np.int32), np.log2(words.max(axis=1)).astype(np.int32)
    assert (np.asarray(jax.jit(actions.id_at)(word, bit)) == np.arange(actions.NUM_ACTIONS)).all()


def test_nth_legal_takes_every_legal_action_in_turn():
    """The bits that share the range out evenly give each legal action once, and no other."""
    words = pack(MASKS)
    counts = MASKS.sum(axis=1)
    steps = np.arange(actions.NUM_ACTIONS)
    # The middle of the n-th of `count` equal parts of the upper half's range.
    parts = np.minimum(steps[None], counts[:, None] - 1) + 0.5
    bits = (parts * 65536 / counts[:, None]).astype(np.uint32) << 16
    pick = jax.jit(jax.vmap(jax.vmap(nth_legal, in_axes=(0, None))))
    picked = np.asarray(pick(bits, tuple(words.T)))
    for mask, count, got in zip(MASKS, counts, picked, strict=True):
        assert sorted(got[:count]) == list(np.flatnonzero(mask))


def test_nth_legal_is_legal_at_the_ends_of_the_range():
    bits = np.array([0, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFF0000, 0xFFFFFFFF], np.uint32)
    pick = jax.jit(jax.vmap(jax.vmap(nth_legal, in_axes=(0, None)), in_axes=(None, 0)))
    picked = np.asarray(pick(bits, tuple(pack(MASKS).T)))
    assert np.take_along_axis(MASKS, picked, axis=1).all()


def test_nth_legal_is_uniform():
    masks = MASKS[[actions.NUM_ACTIONS, actions.NUM_ACTIONS + 1, actions.NUM_ACTIONS + 450, -1]]
    num = 20_000
    bits = jax.random.bits(jax.random.key(0), (len(masks), num))
    picked = jax.jit(jax.vmap(jax.vmap(nth_legal, in_axes=(0, None))))(bits, tuple(pack(masks).T))
    for mask, row in zip(masks, np.asarray(picked), strict=True):
        seen = np.bincount(row, minlength=actions.NUM_ACTIONS)
        assert not seen[~mask].any()
        assert stats.chisquare(seen[mask]).pvalue > 0.001
