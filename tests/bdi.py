"""Compares the BDI robot with its plain-Python reference on random hands, in every step it takes.

    python -m tests.bdi --hands 100000 --seed 0

draws hands of the 16-tile and the 13-tile game, melded or not, in the own turn and in questions,
plays each with one of several readings and temperaments, and stops at the first difference. B =
hands at once, S = 4 suits of the paper, T = 34 kinds, A = 110 actions.
"""

import argparse
import dataclasses
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

import mjx
from agents.bdi import rearrange, robot, settings
from mjx import actions, tiles
from mjx.observe import Observation
from tests.oracle import bdi as oracle

BLOCK = 500
ROBOTS = (
    oracle.Robot(),
    oracle.Robot(partial_runs=True),
    oracle.Robot(partial_runs=True, filter_weight=2, temper=1.0),
    oracle.Robot(temper=-0.75),
    oracle.Robot(filter_weight=2, empty_goals=True),
)


def sample(rng: np.random.Generator) -> oracle.Decision:
    """Draws a decision: mostly crowded hands, which have triplets, pairs and runs."""
    supply = np.full(34, 4)
    num_sets = int(rng.choice([5, 4]))
    num_melds = int(rng.integers(0, num_sets + 1))
    pongs = _meld(rng, supply, num_melds)
    crowd = rng.choice([34, 16, 10, 6])
    kinds = rng.permutation(34)[:crowd] if rng.random() < 0.5 else _stretch(rng, crowd)
    asked = bool(rng.random() < 0.4)
    hand = np.zeros(34, int)
    number = 3 * (num_sets - num_melds) + (1 if asked else 2)
    deck = np.repeat(kinds, supply[kinds])
    deck = deck if len(deck) >= number + 1 else np.repeat(np.arange(34), supply)
    drawn = rng.permutation(deck)
    np.add.at(hand, drawn[:number], 1)
    supply -= hand
    pending = -1
    if asked:
        pending = int(drawn[number])
        supply[pending] -= 1
    unseen = rng.binomial(supply, rng.choice([1.0, 0.8, 0.4, 0.1]))
    on_table = rng.binomial(supply - unseen, 0.7)
    legal = _legal(rng, hand, pongs, pending)
    return oracle.Decision(
        hand.tolist(),
        unseen.tolist(),
        on_table.tolist(),
        pending,
        int(rng.integers(0, 60)),
        frozenset(legal),
    )


def _stretch(rng: np.random.Generator, number: int) -> np.ndarray:
    """Draws neighbouring kinds."""
    return (int(rng.integers(34)) + np.arange(number)) % 34


def _meld(rng: np.random.Generator, supply: np.ndarray, number: int) -> set[int]:
    """Takes melds out of the supply; returns the kinds of the pongs."""
    pongs = set()
    for _ in range(number):
        kind = int(rng.integers(27))
        run = kind + np.arange(3)
        if rng.random() < 0.5 and kind % 9 < 7 and (supply[run] > 0).all():
            supply[run] -= 1
        else:
            kind = int(rng.choice(np.flatnonzero(supply >= 3)))
            supply[kind] -= 3
            pongs.add(kind)
    return pongs


def _legal(rng: np.random.Generator, hand: np.ndarray, pongs: set[int], pending: int) -> set[int]:
    """Lists legal actions; some that are usual may be barred, as some rules do."""
    held = np.flatnonzero(hand).tolist()
    if pending < 0:
        legal = {kind for kind in held if rng.random() < 0.9} or {held[0]}
        legal |= {actions.CONCEALED_KONG + kind for kind in held if hand[kind] == 4}
        legal |= {actions.ADDED_KONG + kind for kind in held if kind in pongs}
    else:
        legal = {actions.PASS}
        for place, chow in enumerate(range(actions.CHOW_LOW, actions.PONG)):
            low = pending - place
            if pending < 27 and low >= 0 and low // 9 == (low + 2) // 9 == pending // 9:
                others = [kind for kind in range(low, low + 3) if kind != pending]
                legal |= {chow} if all(hand[kind] for kind in others) else set()
        legal |= {actions.PONG} if hand[pending] >= 2 else set()
        legal |= {actions.OPEN_KONG} if hand[pending] >= 3 else set()
    legal |= {actions.WIN} if rng.random() < 0.02 else set()
    return legal | ({actions.DECLARE_READY, actions.PASS} if rng.random() < 0.01 else set())


def observe(cases: list[oracle.Decision]) -> Observation:
    """Shows decisions to the player: leading axis B; what the robot does not look at is zero."""
    state = jax.eval_shape(mjx.init, jax.random.key(0))
    shapes = jax.eval_shape(lambda state: mjx.observe(state, 0), state)
    batch = len(cases)
    seen = jax.tree.map(lambda leaf: np.zeros((batch, *leaf.shape), leaf.dtype), shapes)
    for row, case in enumerate(cases):
        seen.hand[row], seen.unseen[row] = case.hand, case.unseen
        seen.discards[row, 2] = case.on_table
        seen.pending[row], seen.drawable[row] = case.pending, case.drawable
        seen.legal_action_mask[row, list(case.legal)] = True
    return seen


@functools.partial(jax.jit, static_argnums=1)
def look(seen: Observation, how: settings.Settings) -> dict[str, jax.Array]:
    """Collects every step of the robot, by the reference's names: [B, ...]."""
    legal = seen.legal_action_mask
    minds = jax.vmap(robot.think, (0, 0, None))(seen, legal, how)
    states, unseen = minds.belief.states, minds.belief.memory.unseen
    written = jax.vmap(jax.vmap(rearrange.sequence))
    return {
        "ar": written(states.kept, unseen),
        "p": _stack(states.kept.need),
        "ar_pair": written(states.kept_with_pair, unseen),
        "p_pair": _stack(states.kept_with_pair.need),
        "pair": _counts(states.pair),
        "bits": minds.goals.bits,
        "pwin": _stack(minds.goals.distances),
        "goal": minds.goals.chosen,
        "throw": _counts(minds.intentions.throw),
        "take": minds.intentions.take,
        "wanted": _counts(minds.intentions.wanted),
        "gains": robot.action_gains(minds, seen, legal, how),
        "action": robot.policy("bdi", how).act((), None, seen, legal),
    }


def expected(thoughts: list[oracle.Thought]) -> dict[str, np.ndarray]:
    """Writes what the reference thought as `look` does."""
    rows = [_row(thought) for thought in thoughts]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _row(thought: oracle.Thought) -> dict[str, np.ndarray]:
    """Writes one decision."""
    states = thought.states
    gains = np.full(actions.NUM_ACTIONS, oracle.NO_GAIN)
    gains[list(thought.gains)] = list(thought.gains.values())
    row = {
        "ar": [_padded(state.ar) for state in states],
        "p": [state.p for state in states],
        "ar_pair": [_padded(state.ar_pair) for state in states],
        "p_pair": [state.p_pair for state in states],
        "pair": [_tally(state.pair) for state in states],
        "bits": thought.bits,
        "pwin": thought.pwin,
        "goal": thought.goal,
        "throw": [_tally(values) for values in thought.throw],
        "take": thought.take,
        "wanted": [_tally(values) for values in thought.wanted],
        "gains": gains,
        "action": thought.action,
    }
    return {name: np.asarray(value) for name, value in row.items()}


def _padded(ar: oracle.Arranged) -> list[int]:
    """Writes a list as ranks from 0, filled up with -1."""
    return [value - 1 for value, _ in ar] + [-1] * (rearrange.LENGTH - len(ar))


def _tally(values) -> list[int]:
    """Counts values by rank."""
    return np.bincount(np.array([*values, 0], int), minlength=10)[1:].tolist()


def _stack(pair) -> jax.Array:
    """Puts out and take next to each other."""
    return jnp.stack([pair.out, pair.take], axis=-1)


def _counts(words: jax.Array) -> jax.Array:
    """Unpacks words uint32[..., S] into counts [..., S, 9]."""
    shifts = jnp.arange(0, 27, 3, dtype=jnp.uint32)
    spread = jnp.broadcast_to(words[..., None], (*words.shape, 9))
    return (spread >> jnp.broadcast_to(shifts, spread.shape)) & 7


def check_block(seed: int, one: oracle.Robot) -> None:
    """Compares `BLOCK` hands; raises AssertionError at the first difference."""
    rng = np.random.default_rng(seed)
    cases = [sample(rng) for _ in range(BLOCK)]
    compare(cases, observe(cases), one, f"seed {seed}")


def compare(cases: list[oracle.Decision], seen: Observation, one: oracle.Robot, where: str) -> None:
    """Compares decisions given both ways."""
    got = jax.device_get(look(seen, settings.of(**dataclasses.asdict(one))))
    want = expected([oracle.think(case, one) for case in cases])
    assert got.keys() == want.keys()
    for name, right in want.items():
        differs = (got[name] != right).reshape(len(cases), -1).any(axis=1)
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            raise AssertionError(
                f"{where}, hand {row} of {one}: {name} is\n{got[name][row]}\nbut the reference "
                f"has\n{right[row]}\nhand {tiles.format(cases[row].hand)}, {cases[row]}"
            )


def case_of(seen: Observation, row: int) -> oracle.Decision:
    """Writes a row of real observations for the reference."""
    return oracle.Decision(
        np.asarray(seen.hand[row]).tolist(),
        np.asarray(seen.unseen[row]).tolist(),
        np.asarray(seen.discards[row]).sum(axis=0).tolist(),
        int(seen.pending[row]),
        int(seen.drawable[row]),
        frozenset(np.flatnonzero(seen.legal_action_mask[row]).tolist()),
    )


def main() -> None:
    """Reads the command line, compares, and says how many."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hands", type=int, default=10_000, help="how many, 1 or more")
    parser.add_argument("--seed", type=int, default=0, help="of the first block")
    options = parser.parse_args()
    if options.hands < 1 or options.seed < 0:
        parser.error("--hands is 1 or more, --seed 0 or more")
    began, blocks = time.perf_counter(), -(-options.hands // BLOCK)
    for block in range(blocks):
        try:
            check_block(options.seed + block, ROBOTS[block % len(ROBOTS)])
        except AssertionError as difference:
            raise SystemExit(f"DIFFERENT: {difference}") from None
    seconds = time.perf_counter() - began
    print(f"{blocks * BLOCK} hands, no difference, {seconds:.0f} s")


if __name__ == "__main__":
    main()
