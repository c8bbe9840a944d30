"""Ctrl-C where no epoch is running: while phases begin and end, and while starts are compared."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from interruptions import assert_same_fit

torch = pytest.importorskip("torch")

from whyclust.deep import DCN, ACeDeC, AutoencoderKMeans  # noqa: E402
from whyclust.deep.models import two_spaces  # noqa: E402
from whyclust.deep.models.centroids import CentroidModel  # noqa: E402
from whyclust.deep.models.two_spaces import TwoSpaces  # noqa: E402
from whyclust.deep.training.keeping import Keeper  # noqa: E402
from whyclust.deep.training.loop import train  # noqa: E402
from whyclust.deep.training.phases import snapshot  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed")

X = make_blobs(48, 4, centers=3, random_state=0)[0].astype(np.float32)


def model(n_init=1, **more):
    base = DCN(
        3, hidden=(5,), epochs=2, pretrain_epochs=1, batch_size=16, random_state=0, n_init=n_init, **more
    )
    return ACeDeC(base, space_epochs=1)


def press(monkeypatch, owner, name, call, *, late=False):
    """Press Ctrl-C in a call of a method: before it has done anything, or when it has done all."""
    plain, count = getattr(owner, name), [0]

    def pressed(*arguments, **more):
        count[0] += 1
        found = plain(*arguments, **more) if late or count[0] != call else None
        if count[0] == call:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(owner, name, pressed)


HOOKS = [(TwoSpaces, "release"), (TwoSpaces, "end"), (CentroidModel, "settle"), (DCN, "_score")]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("owner", "name"), HOOKS)
def test_what_was_trained_is_kept(monkeypatch, owner, name, late):
    whole = model().fit(X)
    press(monkeypatch, owner, name, 1, late=late)
    with pytest.warns(UserWarning, match=r"Interrupted .*: what was trained so far is kept; the fit ends"):
        found = model().fit(X)
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert len(found.scores_) == 1
    assert found.history_["spaces"] == whole.history_["spaces"]
    if name == "release":  # clusters were placed, but not trained
        assert found.history_["clustering"] == {}
        assert found.model_.space.fixed.shape == (0, 4)
    else:
        assert_same_fit(found, whole)


@pytest.mark.parametrize(("owner", "name"), HOOKS)
def test_a_start_that_was_over_is_kept(monkeypatch, owner, name):
    first, both = model().fit(X), model(n_init=2).fit(X)
    press(monkeypatch, owner, name, 2)
    kept = "of 2 starts is taken" if name == "_score" else "of 1 earlier starts is taken instead"
    with pytest.warns(UserWarning, match=f"Interrupted .*; the best {kept}"):
        found = model(n_init=2).fit(X)
    assert_same_fit(found, both if name == "_score" else first)


@pytest.mark.parametrize(("owner", "name"), [(ACeDeC, "_model"), (Keeper, "end_run")])
def test_between_starts(monkeypatch, tmp_path, owner, name):
    first = model().fit(X)
    more = {"checkpoint": tmp_path / "fit.npz"} if owner is Keeper else {}
    press(monkeypatch, owner, name, 1 if owner is Keeper else 2)
    with pytest.warns(UserWarning, match="Interrupted; the "):
        assert_same_fit(model(n_init=2, **more).fit(X), first)


def test_a_fit_in_which_nothing_was_trained_ends(monkeypatch):
    press(monkeypatch, ACeDeC, "_model", 1)
    with pytest.raises(KeyboardInterrupt):
        model(n_init=2).fit(X)


def test_after_training(monkeypatch):
    whole = model(n_init=2).fit(X)
    press(monkeypatch, ACeDeC, "_take", 1, late=True)
    with pytest.warns(UserWarning, match=r"^Interrupted after training: what was trained so far is kept\.$"):
        assert_same_fit(model(n_init=2).fit(X), whole)


def test_a_killed_fit_goes_on_after_ctrl_c_at_its_end(monkeypatch, tmp_path):
    whole = model(n_init=2).fit(X)
    settings = {"n_init": 2, "checkpoint": tmp_path / "fit.npz", "checkpoint_every": 1}
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="Interrupted at the end of"):
        press(patch, TwoSpaces, "end", 2)
        model(**settings).fit(X)
    assert_same_fit(model(**settings).fit(X), whole)


def test_weights_that_were_half_moved_are_as_before(monkeypatch):
    """Whitening moves the encoder's end and the decoder's beginning: one without the other is nonsense."""
    rows = torch.from_numpy(X)
    module = ACeDeC(AutoencoderKMeans(3, hidden=(), epochs=0), space_epochs=0)._model(
        4, torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        expected = module.autoencoder(rows)[1]
    first, plain = snapshot(module.autoencoder), two_spaces.whiten

    def half(moved, data):
        monkeypatch.setattr(two_spaces, "whiten", plain)
        plain(moved, data)
        moved.autoencoder.encoder.load_state_dict(
            {name[8:]: tensor for name, tensor in first.items() if name.startswith("encoder.")}
        )
        raise KeyboardInterrupt

    monkeypatch.setattr(two_spaces, "whiten", half)
    assert train(module, rows, torch.Generator().manual_seed(0)).interrupted
    with torch.no_grad():
        np.testing.assert_allclose(module.autoencoder(rows)[1], expected, rtol=0, atol=1e-4)
    assert not torch.equal(snapshot(module.autoencoder)["decoder.0.weight"], first["decoder.0.weight"])
