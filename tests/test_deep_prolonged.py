"""A fit that is over goes on with more epochs, and ends as if they had been asked for from the start."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")
from sklearn.datasets import make_blobs

from interruptions import KilledError, assert_same_fit, kill_after, n_epochs
from whyclust.deep import (
    DCN,
    DEC,
    DKM,
    IDC,
    IDEC,
    TELL,
    ACeDeC,
    AutoencoderKMeans,
    ClusteringModule,
    CNet,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:The (clusters|spaces|gates) have collapsed", "ignore:The gates of clusters have hardly moved"
)
X = make_blobs(90, centers=3, n_features=4, random_state=1)[0].astype(np.float32) / 10
SMALL = {"hidden": (6,), "batch_size": 32, "random_state": 0}


def around(**options):
    return ACeDeC(DCN(3, **SMALL, pretrain_epochs=2, **options), space_epochs=1)


def module(**options):
    return ClusteringModule(3, batch_size=32, random_state=0, learning_rate=1e-2, **options)


MODELS = {
    "AE+KM": lambda **more: AutoencoderKMeans(3, **SMALL, **more),
    "DEC": lambda **more: DEC(3, **SMALL, pretrain_epochs=2, tol=0.0, **more),
    "IDEC": lambda **more: IDEC(3, **SMALL, pretrain_epochs=2, tol=0.0, **more),
    "DCN": lambda **more: DCN(3, **SMALL, pretrain_epochs=2, **more),
    "DKM": lambda **more: DKM(3, **SMALL, pretrain_epochs=2, **more),
    "DKM, rising": lambda **more: DKM(3, **SMALL, pretrain_epochs=0, alpha_epochs=2, **more),
    "TELL": lambda **more: TELL(3, **SMALL, **more),
    "CM": module,
    "CM, any epoch may be the last": lambda **more: module(patience=50, **more),
    "C-Net": lambda **more: CNet(3, **SMALL, pretrain_epochs=2, **more),
    "ACe/DeC": around,
    "resets": lambda **more: DCN(3, **SMALL, pretrain_epochs=2, reset_every=2, **more),
}
every_model = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())


@every_model
@pytest.mark.parametrize("every", [2, 100])
def test_more_epochs_are_as_if_from_the_start(build, every, tmp_path, monkeypatch):
    """Also where the file was written at the end only, and where the longer fit is killed in between."""
    path = tmp_path / "fit.npz"
    kept = {"checkpoint": path, "checkpoint_every": every}
    whole = build(epochs=5).fit(X)
    first = build(epochs=3, **kept).fit(X)
    assert_same_fit(first, build(epochs=3).fit(X))
    assert_same_fit(build(epochs=3, **kept).fit(X), first)  # nothing is left to do
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_after(patch, 2)  # three epochs are not made again, so the second is the fifth
        build(epochs=5, **kept).fit(X)
    assert_same_fit(build(epochs=5, **kept).fit(X), whole)
    assert_same_fit(build(epochs=6, **kept).fit(X), build(epochs=6).fit(X))


def test_it_goes_on_and_does_not_begin_again(tmp_path, monkeypatch):
    path = tmp_path / "fit.npz"
    MODELS["DCN"](epochs=4, checkpoint=path).fit(X)
    with monkeypatch.context() as patch:
        kill_after(patch, 3)  # of 2 + 6 epochs from the start, and of 2 from here
        found = MODELS["DCN"](epochs=6, checkpoint=path).fit(X)
    assert n_epochs(found) == 2 + 6


def test_a_fit_that_had_settled_has_settled(tmp_path):
    options = {"patience": 2, "learning_rate": 0.05, "checkpoint": tmp_path / "fit.npz"}
    first = MODELS["AE+KM"](epochs=60, **options).fit(X)
    assert n_epochs(first) < 60
    assert_same_fit(MODELS["AE+KM"](epochs=90, **options).fit(X), first)


def test_from_none_to_some(tmp_path):
    path = tmp_path / "fit.npz"
    MODELS["DEC"](epochs=0, checkpoint=path).fit(X)
    assert_same_fit(MODELS["DEC"](epochs=3, checkpoint=path).fit(X), MODELS["DEC"](epochs=3).fit(X))


# --- where it would be another fit -----------------------------------------------------------------


def refused(path, told, build):
    whole = path.read_bytes()
    with pytest.raises(ValueError, match=told) as error:
        build().fit(X)
    assert str(error.value).count(". ") == 0  # one sentence
    assert str(error.value).startswith(f"checkpoint {str(path)!r} is of ")
    assert path.read_bytes() == whole


def test_schedules_over_all_epochs_are_refused(tmp_path):
    path = tmp_path / "fit.npz"
    told = (
        r"is of 2 epochs of 'clusters', and 4 are asked for, but its course follows from their number.*anew"
    )

    def idc(epochs):
        return IDC(3, pretrain_epochs=10, epochs=epochs, batch_size=32, random_state=0, checkpoint=path)

    idc(2).fit(X)
    refused(path, told, lambda: idc(4))
    path.unlink()
    falling = {"final_learning_rate": 1e-5, "checkpoint": path}
    for name in ("C-Net", "AE+KM"):
        MODELS[name](epochs=2, **falling).fit(X)
        refused(
            path, "its course follows from their number", lambda name=name: MODELS[name](epochs=3, **falling)
        )
        path.unlink()


def test_a_schedule_that_has_not_begun_can_be_longer(tmp_path, monkeypatch):
    def idc(**options):
        return IDC(3, pretrain_epochs=10, batch_size=32, random_state=0, **options)

    path = tmp_path / "fit.npz"
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_after(patch, 5)
        idc(epochs=2, checkpoint=path, checkpoint_every=1).fit(X)
    assert_same_fit(idc(epochs=3, checkpoint=path).fit(X), idc(epochs=3).fit(X))


def test_a_rate_that_follows_from_the_epochs_is_refused(tmp_path):
    path = tmp_path / "fit.npz"

    def usual(epochs):
        return ClusteringModule(3, epochs=epochs, random_state=0, checkpoint=path)

    usual(3).fit(X)
    refused(path, "their number sets the learning rate: give learning_rate=", lambda: usual(400))


def test_fewer_epochs_and_several_starts_are_refused(tmp_path):
    path = tmp_path / "fit.npz"
    MODELS["DCN"](epochs=3, checkpoint=path).fit(X)
    refused(path, "2 are asked for, which are fewer", lambda: MODELS["DCN"](epochs=2, checkpoint=path))
    path.unlink()
    MODELS["DCN"](epochs=2, n_init=2, checkpoint=path).fit(X)
    told = r"of several starts \(n_init\) only the best is kept"
    refused(path, told, lambda: MODELS["DCN"](epochs=3, n_init=2, checkpoint=path))


def test_a_phase_that_is_over_is_not_prolonged(tmp_path):
    """Clusters were found in the embedding of its end."""

    def build(epochs):
        base = AutoencoderKMeans(3, **SMALL, epochs=epochs, checkpoint=tmp_path / "fit.npz")
        return ACeDeC(base, space_epochs=1)

    first = build(2).fit(X)
    with pytest.raises(
        ValueError, match=r"is of 2 epochs of 'autoencoder', and 5 .* later phases have begun"
    ):
        build(5).fit(X)
    assert_same_fit(build(2).fit(X), first)
