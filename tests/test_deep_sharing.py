"""Several processes train one model: they end where one process ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import together  # noqa: E402
import whyclust as wc  # noqa: E402
from whyclust.deep.training.phases import Batch  # noqa: E402
from whyclust.deep.training.sharing import Team  # noqa: E402

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes of torchrun wrote, and what one process alone writes."""
    result = tmp_path_factory.mktemp("together")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # By address: a machine need not be able to look up its own name.
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2"]
    command += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    ran = subprocess.run(
        [*command, str(Path(together.__file__)), str(result)],
        capture_output=True,
        text=True,
        timeout=200,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    (result / "dcn.npz").rename(result / "dcn-of-two.npz")
    together.fitted(result, "alone")
    return result


def weights(path: Path) -> dict[str, np.ndarray]:
    model = wc.load(path).model_
    return {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize("name", [name.replace("/", "") for name in together.MODELS])
def test_two_processes_end_where_one_does(folder: Path, name: str) -> None:
    first, second, alone = (weights(folder / f"{name}-{which}.npz") for which in ("0", "1", "alone"))
    for part, value in alone.items():
        if not value.size:  # what single rows had is of no use after the fit
            continue
        assert np.array_equal(first[part], second[part]), part
        # Sums in another order, in single precision, over some thirty steps of Adam.
        assert np.abs(first[part] - value).max() < 2e-4 * max(1.0, np.abs(value).max()), part
    models = [wc.load(folder / f"{name}-{which}.npz") for which in ("0", "alone")]
    assert np.array_equal(models[0].labels_, models[1].labels_)
    for phase, terms in models[1].history_.items():
        for term, values in terms.items():
            np.testing.assert_allclose(models[0].history_[phase][term], values, rtol=1e-4, atol=1e-6)


def test_a_checkpoint_of_two_goes_on_alone(folder: Path) -> None:
    """The file that the first process wrote is that of the same fit."""
    model = together.MODELS["DCN"]()
    found = model.set_params(checkpoint=folder / "dcn-of-two.npz", checkpoint_every=2).fit(together.rows())
    assert np.array_equal(found.labels_, wc.load(folder / "DCN-0.npz").labels_)


def test_what_cannot_be_shared_is_refused_in_every_process(folder: Path) -> None:
    told = [(folder / f"told-{rank}.txt").read_text(encoding="utf-8").splitlines() for rank in range(2)]
    assert told[0] == told[1]
    joined, normalised, dropping, layers, settings, data, _ = told[0]
    assert joined.startswith("ClusteringModule cannot be trained by several processes")
    assert "a layer BatchNorm1d" in normalised
    assert "a layer Dropout" in dropping
    assert layers.startswith("AutoencoderKMeans cannot be trained by several processes: layer_epochs=")
    assert "fit different models, settings or rows" in data
    assert "fit different models, settings or rows" in settings


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("n_rows", [7, 8, 50])
def test_shares_cover_a_batch_once(size: int, n_rows: int) -> None:
    rows = torch.arange(n_rows)
    batch = Batch(rows[:, None].float(), rows, rows, 0, 0.0, torch.Generator(), rows[:, None] + 0.5)
    shares = [Team(rank, size).share(batch) for rank in range(size)]
    assert torch.equal(torch.cat([own.rows for own, _ in shares]), rows)
    assert torch.equal(torch.cat([own.view for own, _ in shares]), batch.view)
    assert sum(weight for _, weight in shares) == pytest.approx(1.0, abs=1e-12)
    for own, weight in shares:
        assert weight == pytest.approx(len(own.rows) / n_rows, abs=1e-12)


def test_fewer_rows_than_processes_are_not_shared() -> None:
    rows = torch.arange(2)
    batch = Batch(rows[:, None].float(), rows, rows, 0, 0.0, torch.Generator())
    own, weight = Team(2, 3).share(batch)
    assert torch.equal(own.rows, rows)
    assert weight == pytest.approx(1 / 3)


def test_one_process_alone_is_left_alone() -> None:
    rows = torch.arange(5)
    batch = Batch(rows[:, None].float(), rows, rows, 0, 0.0, torch.Generator())
    own, weight = Team().share(batch)
    assert own is batch
    assert weight == 1.0
    assert Team().agreed(None) == 0
    assert torch.equal(batch.gather(rows), rows)
