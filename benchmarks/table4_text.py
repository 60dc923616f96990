"""Table 4 as Markdown, out of the rows that `table4.play` keeps; its calibration as a picture."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.learn import calibration
from benchmarks.table4_rows import ROWS
from benchmarks.tables import short


def draw(folder: Path, kept: list[dict[str, Any]]) -> Path | None:
    """Draws the calibration of the rows that have one; returns where, or None without any."""
    found = {ROWS[row["row"]].title: row["calibration"] for row in kept if row["calibration"]}
    if not found:
        return None
    path = folder / "calibration.png"
    calibration.draw(found).savefig(path, dpi=110)
    return path


def text(kept: list[dict[str, Any]], arguments: Sequence[str]) -> str:
    """Sets the rows as Markdown.

    Args:
      kept: rows of `play`.
      arguments: the command line that made them, after `table4`.
    """
    of = kept[0]["of"]
    lines = [
        f"`python -m benchmarks table4 {shlex.join(arguments)}`: each row against "
        f"`{of['opponent']}`, {2 * of['pairs']:,} hands in mirrored pairs, seed {of['seed']}, "
        f"commit {_commits(kept)}.{_about_records(kept)}{_about_learning(kept)} The network "
        "chooses the discards; calls, kongs and wins go by `greedy`'s rule in all rows. "
        "Differences are row less opponent for a seat, with 95 % intervals over the pairs; "
        "rates are the row's and the opponent's. Learning times are wall-clock seconds, "
        "compiling included.",
        "",
        "| row | network | parameters | learning, s | held-out accuracy, % | win rates, % "
        "| deal-in rates, % | win rate, points of a hundred | points a hand |",
        "|---" * 9 + "|",
        *(_line(row) for row in kept),
    ]
    calibrated = [row for row in kept if row["calibration"]]
    if calibrated:
        lines += [
            "",
            "Predicted less realised return of the discards of its own play, in points, two "
            "standard errors over games:",
            "",
            "| row | reward | bias | root mean square | correlation | discards |",
            "|---" * 6 + "|",
            *(_calibration_line(row) for row in calibrated),
        ]
    return "\n".join(lines) + "\n"


def _about_records(kept: list[dict[str, Any]]) -> str:
    """Says what supervised rows learned from."""
    row = next((row for row in kept if "test" in row["trained"]), None)
    if row is None:
        return ""
    discards, config = row["trained"]["discards"], row["config"]
    parts = " : ".join(f"{discards[part]:,}" for part in ("train", "validation", "test"))
    return (
        f" Supervised rows learned from {config['hands']:,} hands of `{config['agent']}`'s own "
        "play, since the paper's 3.6 million records of people are not public; split 3 : 1 : 1 by "
        f"hands ({parts} discards). Held-out accuracy is the share of the test's discards that the "
        "network tells."
    )


def _about_learning(kept: list[dict[str, Any]]) -> str:
    """Says how reinforcement rows learned."""
    row = next((row for row in kept if "decisions" in row["trained"]), None)
    if row is None:
        return ""
    return (
        f" Reinforcement rows share network and hyper-parameters and learned from "
        f"{row['trained']['decisions']:,} decisions of self-play each: DQN and Double DQN without "
        "search, for the final points; the others by the search, with reward (8)."
    )


def _commits(kept: list[dict[str, Any]]) -> str:
    """Names the commits of learning and matches."""
    named = [each for row in kept for each in (row["trained"]["commit"], row["commit"])]
    return ", ".join(dict.fromkeys(map(short, named)))


def _line(row: dict[str, Any]) -> str:
    """Sets one row."""
    trained, win, points = row["trained"], row["diff"]["win_rate"], row["diff"]["points"]
    told = f"{100 * trained['test']['accuracy']:.1f}" if "test" in trained else ""
    win_text = "{:+.2f} ({:+.2f} to {:+.2f})".format(
        *(100 * win[part] for part in ("mean", "low", "high"))
    )
    points_text = "{mean:+.1f} ({low:+.1f} to {high:+.1f})".format(**points)
    wins, deal_ins = (
        " and ".join(f"{100 * row[side][what]:.2f}" for side in "ab")
        for what in ("win_rate", "deal_in_rate")
    )
    return (
        f"| {ROWS[row['row']].title} | {_network(row['config'])} | {trained['parameters']:,} "
        f"| {trained['seconds']:.0f} | {told} | {wins} | {deal_ins} | {win_text} | {points_text} |"
    )


def _network(config: dict[str, Any]) -> str:
    """Says how large a row's network is."""
    network = config["network"]
    layers, width, channels = network["layers"], network["width"], network["channels"]
    sizes = {
        "linear": "361 numbers",
        "fc": f"{layers} hidden layers of {width}",
        "cnn": f"{layers} convolutions from {channels} channels, a layer of {width}",
        "densenet": f"DenseNet-BC-{layers}-{channels}",
        "resnet": f"ResNet-{layers} from {channels} channels",
        "preresnet": f"ResNet-{layers} (pre-activation) from {channels} channels",
    }
    kind = network["kind"]
    about = sizes.get(kind, f"`{kind}`, width {width}")
    search = config.get("search", {"depth": 0})
    return about + (
        f"; depth {search['depth']}, alpha {search['alpha']}" if search["depth"] else ""
    )


def _calibration_line(row: dict[str, Any]) -> str:
    """Sets one row's calibration."""
    found = row["calibration"]
    reward = "(8)" if row["config"]["selfplay"]["reward"] == "expectimax" else "final points"
    correlation = "-" if found["correlation"] is None else f"{found['correlation']:.2f}"
    return (
        f"| {ROWS[row['row']].title} | {reward} | {found['bias']:+.0f} ± "
        f"{2 * found['bias_error']:.0f} | {found['rmse']:.0f} | {correlation} "
        f"| {found['discards']:,} |"
    )
