"""Which devices share a run out, and a run of several processes; eight devices: `test_loop`."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest

from agents.learn import config as settings
from agents.learn import devices, loop, player
from agents.learn.config import ConfigError

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("groups, there, used", [(8, 8, 8), (8, 6, 4), (6, 8, 6), (64, 24, 16)])
def test_groups_are_shared_out_evenly(groups, there, used):
    names = np.arange(there)  # take the place of devices
    np.testing.assert_array_equal(devices.mesh(groups, names).devices, names[:used])


def test_several_processes_leave_no_device_out(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert devices.mesh(8, np.arange(4)).size == 4
    with pytest.raises(ConfigError, match=r"groups: a multiple of the 6 devices of all .*, not 8"):
        devices.mesh(8, np.arange(6))


@pytest.mark.slow
def test_the_accelerator_config_has_fitting_shapes():
    """It is traced, not run: a chunk of iterations gives the state it was given."""
    config = settings.parse([], ROOT / "configs" / "accelerator.yaml")
    trainer = loop.make(config, lambda network: player.decide_with(network, config.search))
    state = jax.eval_shape(trainer.init)
    after, _ = jax.eval_shape(trainer.run, state)
    shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), one) for one in (state, after)]
    assert shapes[0] == shapes[1]
    assert config.network.dtype == "bfloat16" and state.games.state.wall.shape[0] == 8192


def _processes(folder, number):
    """Starts the processes of a run."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    flags = {"XLA_FLAGS": "--xla_backend_optimization_level=0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.learn.processes", str(folder), str(port), str(number)]
    return [
        subprocess.Popen(
            [*command, str(rank)],
            cwd=ROOT,
            env=os.environ | flags,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(number)
    ]


def _lines(folder):
    """Reads the metrics of a run but for what the clock says: names, and values."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    names = [name for name in lines[0] if not name.startswith("time/")]
    return names, np.array([[line[name] for name in names] for line in lines], float)


def _newest(folder):
    """Reads all that the newest checkpoint holds, as host arrays."""
    (newest,) = (folder / "checkpoints").glob("8")
    found = {}
    for part in ("params", "rest"):
        path = newest / part
        with ocp.PyTreeCheckpointer() as reader:
            shapes = reader.metadata(path).item_metadata.tree
            arguments = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), shapes)
            found[part] = reader.restore(path, restore_args=arguments)
    return found


@pytest.mark.slow
def test_two_processes_do_what_one_does(tmp_path):
    """Stopped on the way and gone on with; the first alone writes; a refusal is everybody's."""
    started = [*_processes(tmp_path / "two", 2), *_processes(tmp_path / "one", 1)]
    told = [process.communicate(timeout=900) for process in started]
    for process, (out, err) in zip(started, told, strict=True):
        assert process.returncode == 0, out + err
    assert re.search(r"refused: .*seed: 0 and 1", told[0][0])
    assert "refused: The first process cannot run" in told[1][0]
    (names, two), (names_of_one, one) = _lines(tmp_path / "two"), _lines(tmp_path / "one")
    assert names == names_of_one and two[:, names.index("iteration")].tolist() == [2, 4, 6, 8]
    np.testing.assert_allclose(two, one, rtol=1e-5)
    states = _newest(tmp_path / "two"), _newest(tmp_path / "one")
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), *states)
