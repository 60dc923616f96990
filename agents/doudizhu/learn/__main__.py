"""Makes the weights of playouts of a run's self-play.

python -m agents.doudizhu.learn runs/doudizhu_strong agents/doudizhu/playouts.npy
"""

import argparse
import json
import pathlib

import numpy as np

from agents.doudizhu.learn import loop, playouts
from agents.doudizhu.learn.config import Config
from agents.learn.checkpoints import CONFIG, Run
from agents.learn.config import from_dict


def main() -> None:
    """Reads the samples, fits and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=pathlib.Path, help="the run's folder")
    parser.add_argument("file", type=pathlib.Path, help="where to write the weights")
    options = parser.parse_args()
    settings = json.loads((options.run / CONFIG).read_text(encoding="utf-8"))["config"]
    config = from_dict(settings, Config)
    run = Run(options.run, config)
    state = run.restore(loop.make(config).init)
    run.close()
    if state is None:
        parser.error(f"{options.run} holds no samples yet.")
    known = playouts.choices(state.samples)
    weights = playouts.fit(known)
    for name, one in (("uniform", np.ones(weights.shape)), ("learned", weights)):
        value = playouts.loss(np.log(one), known)[0]
        print(f"{name}: {value:.4f} nats a choice of {len(known.start)}")
    np.save(options.file, weights.astype(np.int16), allow_pickle=False)


if __name__ == "__main__":
    main()
