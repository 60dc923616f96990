"""Width and depth of the search against what they bring: a match for each, and what it costs.

After tables 5 to 7 of Lei et al., Computer Engineering 47(3), 2021. Matches are those of eval.py;
the time is the processor's, which other work does not stretch, and that of the batches in which a
match takes its decisions, own turns and questions.
"""

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from agents import arena, policy, results
from agents.policy import Policy
from agents.search import expectimax, handmade
from agents.search.tree import Settings, Solver, widths
from eval import commit
from mjx import record

Cell = dict[str, Any]  # a result of `results.figures`, and what it was played with


def play(
    alphas: list[float], depths: list[int], b: str, pairs: int, seed: int, kept: Path | None
) -> list[Cell]:
    """Plays a match for each width and depth, those already kept apart.

    Args:
      alphas: widths of the search.
      depths: its layers in the own turn.
      b: the agent that it plays against.
      pairs: of each match.
      seed: of each match, so that all are played on the same walls.
      kept: a JSON file of cells, read first and written after each match.

    Returns:
      The cells, depth by depth.
    """
    cells: list[Cell] = []
    if kept is not None and kept.exists():
        cells = json.loads(kept.read_text(encoding="utf-8"))["cells"]
    opponent, here, asked = policy.load(b), commit(), []
    for depth in depths:
        act = _act(depth)
        for alpha in alphas:
            key = dict(depth=depth, alpha=alpha, b=b, pairs=pairs, seed=seed, commit=here)
            found = next((cell for cell in cells if cell["of"] == key), None)
            if found is None:
                name = f"expectimax:depth={depth},alpha={alpha}"
                player = Policy(name, (handmade.params(), jnp.asarray(widths(alpha))), act)
                match = arena.match(player, opponent, pairs, seed, clock=time.process_time)
                found = {"of": key} | results.figures(match, (name, b))
                cells.append(found)
                if kept is not None:
                    lines = [json.dumps({"cells": cells}, indent=1, allow_nan=False)]
                    record.write_file(kept, lines)
                print(f"{name}\n{results.table(found)}\n", flush=True)
            asked.append(found)
    return asked


def _act(depth: int) -> Any:
    """Makes `expectimax` of a depth, its width beside its parameters: one program for all."""
    settings, value = Settings(depth=depth, claim_depth=expectimax.CLAIM_DEPTH), handmade.value()

    def act(params: Any, key: Any, observation: Any, legal_action_mask: Any) -> Any:
        del key
        solver = Solver(settings, value, None, params[0], widths=params[1])
        values = expectimax.action_values(solver, observation, legal_action_mask)
        return jnp.argmax(values, axis=-1).astype(jnp.int32)

    return act


def text(cells: list[Cell]) -> str:
    """Sets cells as three tables in Markdown, under the command that gives them."""
    of = cells[0]["of"]
    options = ["--pairs", of["pairs"], "--seed", of["seed"]]
    options += ["--alphas", *sorted({cell["of"]["alpha"] for cell in cells})]
    options += ["--depths", *sorted({cell["of"]["depth"] for cell in cells}), "--b", of["b"]]
    lines = [
        f"`python -m benchmarks tables {shlex.join(map(str, options))}`: "
        f"`expectimax:depth=D,alpha=A` against `{of['b']}`, "
        f"{of['pairs']} pairs of hands each, commit {short(of['commit'])}."
    ]
    for title, form in (
        ("Seconds of processor time a decision, in the batches of a match", _seconds),
        ("Win rate, points of a hundred more than the other side's; deal-in rates, %", _win_rate),
        ("Points a hand more than the other side's", _points),
    ):
        lines += ["", f"{title}:", "", *_table(cells, form)]
    return "\n".join(lines) + "\n"


def write(
    path: Path, tables: str, name: str = "tables", title: str = "Width and depth of the search"
) -> None:
    """Puts tables into a file, in place of those there of the same name or at its end."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    there = re.compile(re.escape(begin) + ".*?" + re.escape(end) + "\n", re.DOTALL)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    section = f"{begin}\n{tables}{end}\n"
    if there.search(before):
        after = there.sub(lambda _: section, before, count=1)
    else:
        after = f"{before.rstrip()}\n\n## {title}\n\n{section}".lstrip()
    record.write_file(path, after.splitlines())


def short(described: str | None) -> str:
    """Shortens the name of a commit, but not that files differ from it."""
    name, dash, dirty = (described or "unknown").partition("-")
    return name[:10] + dash + dirty


def _table(cells: list[Cell], form: Any) -> list[str]:
    """Sets one figure of all cells: a row for each alpha, a column for each depth."""
    depths = sorted({cell["of"]["depth"] for cell in cells})
    by_place = {(cell["of"]["alpha"], cell["of"]["depth"]): form(cell) for cell in cells}
    lines = ["| alpha |" + "".join(f" depth {depth} |" for depth in depths)]
    lines.append("|---" * (1 + len(depths)) + "|")
    for alpha in sorted({alpha for alpha, _ in by_place}):
        lines.append(f"| {alpha} |" + "".join(f" {by_place[alpha, d]} |" for d in depths))
    return lines


def _seconds(cell: Cell) -> str:
    """Writes the time of the side that varies."""
    return f"{cell['a']['seconds_per_decision']:.2e}"


def _win_rate(cell: Cell) -> str:
    """Writes the difference in win rate with its interval, and how often either side deals in."""
    lead = {name: 100 * value for name, value in cell["diff"]["win_rate"].items()}
    deal_in = (f"{100 * cell[side]['deal_in_rate']:.2f}" for side in "ab")
    return "{mean:+.2f} ({low:+.2f} to {high:+.2f}); {} and {}".format(*deal_in, **lead)


def _points(cell: Cell) -> str:
    """Writes the difference in points with its interval."""
    return "{mean:+.1f} ({low:+.1f} to {high:+.1f})".format(**cell["diff"]["points"])
