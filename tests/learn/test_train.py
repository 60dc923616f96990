"""`train.py` on the smoke config: to the end, killed and gone on with, and refused."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from agents import policy
from agents.learn.checkpoints import CheckpointError

ROOT = pathlib.Path(__file__).parents[2]
SMOKE = ["--config_path", str(ROOT / "configs" / "smoke.yaml")]


def _start(folder, *arguments):
    """Starts train.py in a folder of its own."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(ROOT / "train.py"), *SMOKE, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process, status=0):
    out, err = process.communicate(timeout=900)
    assert process.returncode == status, out + err
    return out, err


def _metrics(folder):
    """Reads the metrics of a run without what depends on the clock."""
    lines = (folder / "runs" / "smoke" / "metrics.jsonl").read_text().splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if not key.startswith("time/")}
        for line in lines
    ]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """A run that was never stopped."""
    folder = tmp_path_factory.mktemp("unbroken")
    out, _ = _finish(_start(folder))
    return folder, out


@pytest.mark.slow
def test_a_run_ends_with_its_table(unbroken):
    folder, out = unbroken
    run = folder / "runs" / "smoke"
    assert "expectimax_ddqn v its untrained self" in out and "ddqn v random" in out
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list((run / "tensorboard").iterdir())
    results = json.loads((run / "results.json").read_text())
    assert [one["a"]["name"] for one in results] == ["expectimax_ddqn", "expectimax_ddqn", "ddqn"]
    assert {line["iteration"] for line in _metrics(folder)} == {2, 4, 6}
    versions = json.loads((run / "config.json").read_text())["versions"]
    assert versions["jax"] == jax.__version__


@pytest.mark.slow
def test_killed_and_started_again_it_is_the_same_run(unbroken, tmp_path):
    process = _start(tmp_path)
    first = tmp_path / "runs" / "smoke" / "checkpoints" / "2"
    patience = time.monotonic() + 600
    while not first.is_dir() and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    out, _ = _finish(_start(tmp_path))
    assert "Going on" in out
    assert _metrics(tmp_path) == _metrics(unbroken[0])
    # A third time there is nothing to do but to show the table again.
    out, _ = _finish(_start(tmp_path))
    assert "ddqn v random" in out and "compiling" not in out


@pytest.mark.slow
def test_the_trained_agents_can_be_loaded(unbroken):
    folder = unbroken[0] / "runs" / "smoke"
    a = policy.load(f"ddqn:path={folder}")
    b = policy.load(f"expectimax_ddqn:path={folder},depth=0")
    assert jax.tree.map(np.shape, a.params) == jax.tree.map(np.shape, b.params)
    assert a.name.startswith("ddqn:path=")
    with pytest.raises(ValueError, match=r"search\.alpha: from 0\.001 to 1, not 7\.0"):
        policy.load(f"expectimax_ddqn:path={folder},alpha=7")
    with pytest.raises(CheckpointError, match="Runs beside it: smoke"):
        policy.load(f"ddqn:path={folder.parent}/smoky")


@pytest.mark.slow
def test_other_settings_for_the_same_run_are_refused(unbroken):
    _, err = _finish(_start(unbroken[0], "--learning.batch", "24", "--seed", "5"), status=2)
    assert "seed: 0 and 5" in err and "learning.batch: 16 and 24" in err
    assert "Traceback" not in err


def test_a_mistake_is_named_before_any_work(tmp_path):
    _, err = _finish(_start(tmp_path, "--learning.bacth", "17"), status=2)
    assert "Did you mean --learning.batch?" in err and "Traceback" not in err
    assert not (tmp_path / "runs").exists()
