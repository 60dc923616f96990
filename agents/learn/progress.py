"""A match at the end of a run under a progress bar: the terminal's side of `evaluation`."""

from typing import Any

from agents.learn import evaluation


def match(pairing: evaluation.Pairing) -> dict[str, Any]:
    """Plays a match and returns its figures (`results.figures`)."""
    from tqdm import tqdm

    names = f"{pairing.a.name} v {pairing.b.name}"
    with tqdm(total=2 * pairing.pairs, desc=names, unit=" hands", disable=None) as bar:

        def report(done: int, _: int) -> None:
            bar.update(done - bar.n)

        return evaluation.play(pairing, report)
