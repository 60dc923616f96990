"""The greedy player: nearest to a win, then the most tiles that bring it nearer.

Every action has one score, and the best one is played: deficiency first (`_STEP` a tile), then
accepting unseen tiles, ties to the lowest id. A discard is scored by what it leaves, a claim by
its best discard, so that a chow or pong is called exactly when it lowers the deficiency. A kong is
scored by what it leaves at rest: in the own turn it is declared when no discard leaves less (the
replacement is a draw for nothing), from a discard when it lowers the deficiency, like a pong. A
win is always taken, a ready hand always declared. B = decisions, T = 34 kinds, A = 110 actions.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import options
from agents.policy import Explanation, Policy
from agents.worklist import map_where
from mjx import actions, distance
from mjx.observe import Observation

Array = jax.Array

_STEP = np.int32(1000)  # more than there are accepting tiles
_KONG_FIRST = np.int32(200)  # before any discard of the same deficiency
_CLAIM_IF_NEARER = np.int32(999)  # passing goes before any claim of the same deficiency
_WIN = np.int32(1_000_000)
_ILLEGAL = np.int32(-1_000_000)
_BLOCK = 256


class _Left(NamedTuple):
    """What an option leaves: deficiency and accepting unseen tiles."""

    deficiency: Array  # int32[...]
    accepting: Array  # int32[...]

    def score(self) -> Array:
        """Returns int32[...], higher is better."""
        return self.accepting - _STEP * self.deficiency


def make() -> Policy:
    """Makes the greedy player."""

    def act(params, key, observation, legal_action_mask):
        del params, key
        return choose(observation, legal_action_mask)

    def explain(params, observation):
        del params
        mask = observation.legal_action_mask
        score, _ = _scores(observation, mask)
        value = jnp.where(mask, score, jnp.nan).astype(jnp.float32)
        return Explanation(value, value, accepting_after(observation, mask))

    return Policy("greedy", (), act, explain)


def choose(observation: Observation, legal: Array) -> Array:
    """Chooses among the legal actions, bool[B, A]: int32[B] ids."""
    score, _ = _scores(observation, legal)
    return jnp.argmax(score, axis=-1).astype(jnp.int32)


def accepting_after(observation: Observation, legal: Array) -> Array:
    """Counts the unseen tiles that bring the hand nearer after each action: int32[B, A].

    After a claim, those after its best discard; 0 for what is not legal and after a win.
    """
    return jnp.where(legal, _scores(observation, legal)[1], 0)


def _scores(observation: Observation, legal: Array) -> tuple[Array, Array]:
    """Scores each action and counts the tiles it accepts: int32[B, A] twice, from batches."""
    tiles = jax.vmap(options.own)(observation)
    to_discard = _hands_to_discard(observation, tiles, legal)
    at_rest = _hands_at_rest(observation, tiles, legal)
    return jax.vmap(_score_one)(observation, legal, to_discard, at_rest)


def _hands_to_discard(observation: Observation, tiles: options.Own, legal: Array) -> _Left:
    """Looks at each discard of the own turn and after each claim: [B, 5, T]."""
    wanted = jnp.concatenate(
        [observation.pending[:, None] < 0, legal[:, np.array(options.CLAIMS)]], axis=1
    )

    def find(own: options.Own, pending: Array, option: Array) -> distance.AfterDiscards:
        claimed = options.after_claims(own, pending)
        hands = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b])[option], own, claimed)
        return distance.after_discards(hands.hand, hands.num_melds)

    return _look(find, wanted, observation, tiles)


def _hands_at_rest(observation: Observation, tiles: options.Own, legal: Array) -> _Left:
    """Looks at the hand as it is, after an open kong, and after concealed kongs: [B, 2 + T]."""
    kongs = legal[:, actions.CONCEALED_KONG : actions.ADDED_KONG]
    wanted = jnp.concatenate(
        [observation.pending[:, None] >= 0, legal[:, actions.OPEN_KONG, None], kongs], axis=1
    )

    def find(own: options.Own, pending: Array, option: Array) -> distance.AtRest:
        opened = options.after_open_kong(own, pending)
        kong = options.after_concealed_kong(own, jnp.maximum(option - 2, 0))
        hands = jax.tree.map(
            lambda *each: jnp.stack(each)[jnp.minimum(option, 2)], own, opened, kong
        )
        return distance.at_rest(hands.hand, hands.num_melds)

    return _look(find, wanted, observation, tiles)


def _look(find, wanted: Array, observation: Observation, tiles: options.Own) -> _Left:
    """Finds deficiency and accepting unseen tiles of the options wanted, bool[B, N]."""
    num_options = wanted.shape[1]

    def count(lane: Array) -> _Left:
        decision, option = lane // num_options, lane % num_options
        one = jax.tree.map(lambda x: x[decision], (tiles, observation.pending, observation.unseen))
        found = jax.vmap(find)(one[0], one[1], option)
        accepting = jax.vmap(lambda kinds, unseen: kinds.astype(jnp.int8) @ unseen)
        counted = accepting(found.accepting, one[2])
        return _Left(found.deficiency, counted.astype(jnp.int32))

    lanes = jnp.arange(wanted.size, dtype=jnp.int32)
    left = map_where(count, wanted.reshape(-1), lanes, _BLOCK)
    return jax.tree.map(lambda x: x.reshape(*wanted.shape, *x.shape[1:]), left)


def _score_one(
    observation: Observation, legal: Array, to_discard: _Left, at_rest: _Left
) -> tuple[Array, Array]:
    """Scores the actions of one decision: int32[A] twice."""
    scores = to_discard.score()
    discards, claims = scores[0], jnp.max(scores[1:], axis=-1)
    best = jnp.argmax(scores[1:], axis=-1)
    claim_accepting = jnp.take_along_axis(to_discard.accepting[1:], best[:, None], axis=1)[:, 0]
    rest = at_rest.score()
    stay = _CLAIM_IF_NEARER - _STEP * at_rest.deficiency[0]
    win_pass = jnp.stack([_WIN, stay, stay + 1])  # whoever may declare itself ready does
    score = jnp.concatenate(
        [discards, rest[2:] + _KONG_FIRST, discards + _KONG_FIRST, claims, rest[1:2], win_pass]
    )
    accepting = jnp.concatenate(
        [
            to_discard.accepting[0],
            at_rest.accepting[2:],
            to_discard.accepting[0],
            claim_accepting,
            at_rest.accepting[1:2],
            jnp.stack([jnp.int32(0), at_rest.accepting[0], at_rest.accepting[0]]),
        ]
    )
    return jnp.where(legal, score, _ILLEGAL), accepting
