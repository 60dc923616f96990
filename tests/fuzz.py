"""Plays hands of the reference and replays them in the JAX game, comparing all that is seen.

    python -m tests.fuzz --hands 10000 --seed 0

plays seeds 0 to 9999 on random and rich walls, on every core, and prints how the hands ended and
what happened in them. The first difference stops it and names seed, decision and what differs;
`--hands 1 --seed THAT` repeats it. N = decisions of a hand, B = hands at once, C = steps of a
chunk, P = 4 seats, T = 34 kinds.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import time
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np

import mjx
from mjx import packed, tiles
from mjx import state as st
from mjx.rules import DEFAULT
from tests.recording import Recording, Snapshot, record

BLOCK = 50  # hands at once
CHUNK = 24  # steps at once
ENDINGS = {
    None: st.DRAWN,
    "self_draw": st.SELF_DRAW,
    "discard": st.ON_DISCARD,
    "rob_kong": st.ROBBED_KONG,
}


@jax.jit
def _deal(walls, dealers, round_winds, streaks):
    """Deals B walls."""
    return jax.vmap(lambda w, d, r, s: mjx.init_from_wall(w, DEFAULT, d, r, s))(
        walls, dealers, round_winds, streaks
    )


@jax.jit
def _replay(states, actions):
    """Plays actions [C, B], and shows what is compared before each: trees of [C, B, ...]."""

    def one_step(states, row):
        return jax.vmap(mjx.step)(states, row), jax.vmap(_shown)(states)

    return jax.lax.scan(one_step, states, actions)


def _shown(state):
    """Collects what is compared of one state; seats absolute, but for the views."""
    views = jax.vmap(mjx.observe, in_axes=(None, 0))(state, jnp.arange(4))
    return {
        "state": state,
        "terminated": state.terminated,
        "hands": packed.to_counts(state.hands.to_array()),
        "locked": state.locked,
        "drawable": st.drawable(state, DEFAULT),
        "current_player": state.current_player,
        "mask": state.legal_action_mask,
        "drawn": state.drawn,
        "rewards": state.rewards,
        "ending": state.ending,
        "winner": state.winner,
        "views": views,
    }


def play(recordings: list[Recording]) -> None:
    """Replays hands and raises AssertionError at the first difference."""
    shown = replay(recordings)
    for lane, hand in enumerate(recordings):
        num = len(hand.actions) + 1
        compare(hand, jax.tree.map(lambda x, lane=lane, num=num: x[:num, lane], shown))


def replay(recordings: list[Recording]) -> dict:
    """Replays up to `BLOCK` hands; returns what was shown before each action, [N, BLOCK, ...].

    Fewer hands are filled up with the last; N is that of the longest, filled up to whole chunks.
    """
    num_steps = max(len(hand.actions) for hand in recordings) + 1
    num_steps += -num_steps % CHUNK
    actions = np.zeros((num_steps, BLOCK), np.int32)
    rows = recordings + [recordings[-1]] * (BLOCK - len(recordings))
    for lane, hand in enumerate(rows):
        actions[: len(hand.actions), lane] = hand.actions
    walls = np.array([hand.wall for hand in rows], np.int8)
    dealt = np.array([(hand.dealer, hand.round_wind, hand.streak) for hand in rows], np.int32)
    states = _deal(walls, *dealt.T)
    parts = []
    for start in range(0, num_steps, CHUNK):
        states, part = _replay(states, actions[start : start + CHUNK])
        parts.append(jax.device_get(part))
    return jax.tree.map(lambda *xs: np.concatenate(xs), *parts)


def compare(hand: Recording, shown: dict) -> None:
    """Compares one hand, all decisions at once.

    Args:
      hand: what the reference did.
      shown: what the JAX game showed, each [N, ...].
    """
    want = hand.snapshots
    running = ~want["terminated"]
    _same(hand, "terminated", want["terminated"], shown["terminated"])
    _same(hand, "hands", want["hands"], shown["hands"])
    locked = (shown["locked"][:, None] >> np.arange(4)) & 1 > 0
    _same(hand, "locked", want["locked"], locked)
    _same(hand, "drawable", want["drawable"], shown["drawable"])
    for name in ("current_player", "mask", "drawn"):
        _same(hand, name, want[name][running], shown[name][running])
    _same(hand, "mask of the end", True, shown["mask"][-1:])
    _same(hand, "rewards before the end", 0, shown["rewards"][:-1])
    end = len(hand.actions)
    _same(hand, "rewards", np.array([hand.rewards]), shown["rewards"][-1:], end)
    _same(hand, "winner", np.array([hand.winner]), shown["winner"][-1:], end)
    _same(hand, "ending", np.array([ENDINGS[hand.win_by]]), shown["ending"][-1:], end)
    for seat in range(4):
        view = jax.tree.map(lambda x, seat=seat: x[:, seat], shown["views"])
        for name, seen in expected_view(hand, seat).items():
            rows = slice(None) if name not in RUNNING_ONLY else running
            got = getattr(view, name)[rows]
            _same(hand, f"{name} seen by seat {seat}", seen[rows], got)


# What the reference does not keep beyond the end of a hand.
RUNNING_ONLY = (
    *("drawn", "pending", "pending_seat", "robbing", "current_player", "replacement"),
    "legal_action_mask",
)


def expected_view(hand: Recording, seat: int) -> Snapshot:
    """Computes from the reference what a seat should see, by the observation's field names."""
    want = hand.snapshots
    turned = [(seat + place) % 4 for place in range(4)]
    others = turned[1:]
    num = len(want["terminated"])
    is_ours = want["current_player"] == seat
    melds = want["melds"][:, turned]
    places = np.arange(st.MAX_DISCARDS)
    said = places < want["num_discards"][:, None]
    padding = [(seat, -1, False)] * (st.MAX_DISCARDS - len(hand.history))
    by, kinds, drawn = (np.array(column) for column in zip(*hand.history, *padding, strict=True))
    claimed = np.full(st.MAX_DISCARDS, num)
    claimed[list(hand.claimed_at)] = list(hand.claimed_at.values())
    asker = want["pending_seat"]
    is_shown = is_ours | (want["pending"] < 0)
    return {
        "hand": want["hands"][:, seat],
        "drawn": np.where(is_ours, want["drawn"], -1),
        **{
            name: melds[:, :, form]
            for form, name in enumerate(("chows", "pongs", "kongs", "concealed_kongs"))
        },
        "discards": want["rivers"][:, turned],
        "unseen": want["hands"][:, others].sum(axis=1) + want["left"],
        "num_concealed": want["hands"][:, turned].sum(axis=2),
        "history_kind": np.where(said, kinds, -1),
        "history_seat": np.where(said, (by - seat) % 4, -1),
        "history_drawn": said & drawn,
        "history_claimed": np.arange(num)[:, None] >= claimed,
        "pending": np.where(is_shown, want["pending"], -1),
        "pending_seat": np.where(is_shown & (asker >= 0), (asker - seat) % 4, -1),
        "robbing": want["robbing"] & is_shown,
        "current_player": np.where(is_shown, (want["current_player"] - seat) % 4, -1),
        "replacement": np.where(is_ours, want["replacement"], 0),
        "locked": want["locked"][:, seat],
        "drawable": want["drawable"],
        "seat_wind": np.full(num, (seat - hand.dealer) % 4),
        "round_wind": np.full(num, hand.round_wind),
        "dealer": np.full(num, (hand.dealer - seat) % 4),
        "streak": np.full(num, hand.streak),
        "legal_action_mask": want["mask"] & is_ours[:, None],
    }


def _same(
    hand: Recording, name: str, expected: np.ndarray | int, got: np.ndarray, first: int = 0
) -> None:
    """Fails with seed and decision if rows differ."""
    if (np.asarray(expected) == got).all():
        return
    differs = np.broadcast_to(expected == got, got.shape).reshape(len(got), -1).all(axis=1)
    row = int(np.flatnonzero(~differs)[0])
    wanted = np.broadcast_to(expected, got.shape)[row]
    raise AssertionError(
        f"seed {hand.seed}, decision {first + row} of {len(hand.actions)}: {name} is\n"
        f"{got[row]}\nbut the reference has\n{wanted}\nactions so far: "
        f"{[mjx.actions.to_text(a) for a in hand.actions[: first + row]]}\n"
        f"wall: {' '.join(tiles.NAMES[kind] for kind in hand.wall)}"
    )


def run_block(first: int, num: int) -> tuple[Counter, int]:
    """Plays the seeds from `first` on; returns the events, and how many decisions there were."""
    hands = [record(seed) for seed in range(first, first + num)]
    play(hands)
    return sum((hand.events for hand in hands), Counter()), sum(len(h.actions) for h in hands)


def run(num_hands: int, seed: int, processes: int) -> tuple[Counter, int]:
    """Plays all hands, a block after another in each process."""
    blocks = [(s, min(BLOCK, seed + num_hands - s)) for s in range(seed, seed + num_hands, BLOCK)]
    events, decisions = Counter(), 0
    with concurrent.futures.ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn")
    ) as pool:
        try:
            for more, count in pool.map(run_block, *zip(*blocks, strict=True)):
                events, decisions = events + more, decisions + count
        except AssertionError:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return events, decisions


def main() -> None:
    """Reads the command line, plays, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hands", type=int, default=1000, help="how many, 1 or more")
    parser.add_argument("--seed", type=int, default=0, help="of the first hand")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="one a core")
    options = parser.parse_args()
    if options.hands < 1 or options.processes < 1:
        parser.error("--hands and --processes are 1 or more")
    began = time.perf_counter()
    try:
        events, decisions = run(options.hands, options.seed, options.processes)
    except AssertionError as difference:
        raise SystemExit(f"DIFFERENT: {difference}") from None
    seconds = time.perf_counter() - began
    print(f"{options.hands} hands, {decisions} decisions, no difference, {seconds:.0f} s")
    for name, count in sorted(events.items(), key=lambda item: -item[1]):
        print(f"{count:8d}  {name}")


if __name__ == "__main__":
    main()
