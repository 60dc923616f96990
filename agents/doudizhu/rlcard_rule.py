# ruff: noqa: NPY002 (rlcard draws from the global generator)
"""The rule agent of rlcard 1.2.0 (`doudizhu-rule-v1`), shown our games through its own eyes.

rlcard is an extra (`pip install rlcard==1.2.0`). The agent draws from NumPy's global generator,
which is seeded here with each decision's key, so that a decision depends on its row alone.
"""

import contextlib
import fcntl
import functools
import os
import tempfile
from collections.abc import Generator
from typing import Any

import jax
import numpy as np

from agents.policy import Policy
from doudizhu import cards, moves
from doudizhu.observe import Observation
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import NUM_PLAYERS


def make(rules: Rules = DEFAULT) -> Policy:
    """Makes the player.

    Raises:
      ValueError: rlcard is not installed, or the rules are not those it knows.
    """
    if rules.strict:
        raise ValueError("rlcard_rule plays rlcard's rules, not Rules(strict=True).")
    agent = _agent()

    def act(params: object, key: Any, observation: Observation, legal_action_mask: Any) -> Any:
        del params
        seeds = np.asarray(jax.random.key_data(key)).astype(np.uint32)
        shown = jax.device_get(observation.replace(legal_action_mask=()))
        masks = np.asarray(legal_action_mask)
        chosen = []
        with _kept_generator():
            for row, (seed, mask) in enumerate(zip(seeds, masks, strict=True)):
                np.random.seed(seed)
                one = jax.tree.map(lambda x, i=row: x[i], shown)
                chosen.append(moves.from_text(agent.step({"raw_obs": raw_observation(one, mask)})))
        return np.array(chosen, np.int32)

    return Policy("rlcard_rule", (), act, is_pure=False)


def raw_observation(seen: Observation, mask: np.ndarray) -> dict[str, Any]:
    """Writes an observation (NumPy, one player's) as rlcard shows it."""
    role, names = int(seen.role), moves.all_moves().names
    played = seen.history[: int(seen.num_plies)].tolist()
    return {
        "self": role,
        "landlord": 0,
        "current_hand": cards.format(seen.hand.tolist()),
        "others_hand": cards.format(seen.unseen.tolist()),
        "num_cards_left": np.roll(seen.num_cards, role).tolist(),
        "seen_cards": cards.format(seen.bottom.tolist()),
        "trace": [(ply % NUM_PLAYERS, names[move]) for ply, move in enumerate(played)],
        "played_cards": [cards.format(row) for row in np.roll(seen.played, role, axis=0).tolist()],
        "actions": [names[move] for move in np.flatnonzero(mask)],
    }


@functools.cache
def _agent() -> Any:
    """Imports rlcard's agent, one process at a time: the first import unpacks its data."""
    try:
        with open(os.path.join(tempfile.gettempdir(), "mjx-rlcard.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            from rlcard.models.doudizhu_rule_models import DouDizhuRuleAgentV1
    except ImportError as error:
        raise ValueError(
            f"rlcard_rule needs rlcard: pip install rlcard==1.2.0 ({error})."
        ) from None
    return DouDizhuRuleAgentV1()


@contextlib.contextmanager
def _kept_generator() -> Generator[None]:
    """Gives NumPy's global generator back as it was."""
    before = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(before)
