"""Pretraining layer by layer, against the recipe written out."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.datasets import load_digits  # noqa: E402

import whyclust as wc  # noqa: E402
from whyclust.deep import DCN, AutoencoderKMeans  # noqa: E402
from whyclust.deep.models.layers_alone import DROPOUT, layer_phases, left_out, stages  # noqa: E402
from whyclust.deep.networks.autoencoders import dense_autoencoder  # noqa: E402
from whyclust.deep.training.phases import Adam, Batch, Linear  # noqa: E402

SMALL = {"hidden": (12, 9), "embedding_dim": 3, "batch_size": 32, "random_state": 0, "verbose": None}


def rows(n: int = 40) -> torch.Tensor:
    return torch.randn(n, 7, generator=torch.Generator().manual_seed(1))


def batch_of(x: torch.Tensor, seed: int) -> Batch:
    return Batch(x, torch.arange(len(x)), x, 0, 0.0, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_loss_is_that_of_the_paper(place: int) -> None:
    """x̃ = Dropout(x), h = g₁(W₁x̃ + b₁), h̃ = Dropout(h), y = g₂(W₂h̃ + b₂); g₂ of the data and g₁ of the
    embedding are linear."""
    network = dense_autoencoder(7, 3, [12, 9], "relu").double()
    x = rows().double()
    phase = layer_phases(network, 1, AutoencoderKMeans(3), Adam(), None)[place]
    found = float(phase.updates[0].loss(batch_of(x, 5))["reconstruction"].detach())
    down = [layer for layer in network.encoder if isinstance(layer, torch.nn.Linear)]
    up = [layer for layer in network.decoder if isinstance(layer, torch.nn.Linear)]
    given = x
    for layer in down[:place]:
        given = torch.relu(given @ layer.weight.T + layer.bias)
    draws = torch.Generator().manual_seed(5)
    first = (torch.rand(given.shape, generator=draws) >= 0.2).double() / 0.8
    h = (given * first) @ down[place].weight.T + down[place].bias
    h = h if place == 2 else torch.relu(h)
    second = (torch.rand(h.shape, generator=draws) >= 0.2).double() / 0.8
    mirror = up[2 - place]
    y = (h * second) @ mirror.weight.T + mirror.bias
    y = y if place == 0 else torch.relu(y)
    expected = float(((given - y) ** 2).sum(1).mean().detach())
    assert abs(found - expected) < 1e-12 * expected


def test_a_phase_moves_its_layer_and_its_mirror_image_only() -> None:
    network = dense_autoencoder(7, 3, [12, 9], "relu")
    phases = layer_phases(network, 1, AutoencoderKMeans(3), Adam(), None)
    assert [phase.name for phase in phases] == ["layer 1 of 3", "layer 2 of 3", "layer 3 of 3"]
    moved = [{id(tensor) for tensor in phase.updates[0].parameters} for phase in phases]
    everything = {id(tensor) for tensor in network.parameters()}
    assert set.union(*moved) == everything
    assert sum(map(len, moved)) == len(everything)
    linear = [stage[0] for stage in stages(network.encoder)]
    assert all(id(layer.weight) in own for layer, own in zip(linear, moved, strict=True))


def test_as_much_is_left_out_as_said_and_nothing_on_the_mean() -> None:
    x = torch.ones(400, 500)
    dropped = left_out(x, torch.Generator().manual_seed(0))
    assert abs(float((dropped == 0).float().mean()) - DROPOUT) < 0.005
    assert abs(float(dropped.mean()) - 1.0) < 0.005


def test_layers_learn_and_history_tells_of_each() -> None:
    X = load_digits().data[:300] / 16.0
    model = AutoencoderKMeans(10, epochs=2, layer_epochs=15, **SMALL).fit(X)
    phases = [name for name, terms in model.history_.items() if terms]
    assert phases == ["layer 1 of 3", "layer 2 of 3", "layer 3 of 3", "autoencoder"]
    for name in phases[:3]:
        told = model.history_[name]["reconstruction"]
        assert len(told) == 15
        assert told[-1] < 0.9 * told[0]
    # Layers that have learned alone restore rows at once better than new ones.
    new = AutoencoderKMeans(10, epochs=2, **SMALL).fit(X)
    first = model.history_["autoencoder"]["reconstruction"][0]
    assert first < 0.8 * new.history_["autoencoder"]["reconstruction"][0]


def test_the_same_seed_gives_the_same_weights_also_after_a_kill(tmp_path, monkeypatch) -> None:
    X = rows(60).numpy()
    settings = {**SMALL, "epochs": 3, "layer_epochs": 4, "checkpoint_every": 1}
    whole = AutoencoderKMeans(3, **settings).fit(X)
    from whyclust.deep.training import keeping

    written = keeping.Keeper.end_epoch

    def killed(self, progress, optimizers):
        written(self, progress, optimizers)
        if progress.phase == 1 and progress.epoch == 2:
            raise RuntimeError("killed")

    path = tmp_path / "fit.npz"
    with monkeypatch.context() as patch:
        patch.setattr(keeping.Keeper, "end_epoch", killed)
        with pytest.raises(RuntimeError, match="killed"):
            AutoencoderKMeans(3, checkpoint=path, **settings).fit(X)
    resumed = AutoencoderKMeans(3, checkpoint=path, **settings).fit(X)
    for ours, other in zip(whole.model_.parameters(), resumed.model_.parameters(), strict=True):
        assert torch.equal(ours, other)


def test_others_begin_with_it_and_files_keep_it(tmp_path) -> None:
    X = rows(60).numpy()
    first = AutoencoderKMeans(3, epochs=2, layer_epochs=2, **SMALL).fit(X)
    again = wc.load(wc.save(first, tmp_path / "first.npz"))
    assert np.array_equal(again.predict(X), first.labels_)
    assert again.layer_epochs == 2
    model = DCN(3, autoencoder=first, epochs=1, random_state=0, verbose=None).fit(X)
    assert not model.history_["autoencoder"]


def test_what_has_no_such_layers_is_refused() -> None:
    X = load_digits().data[:50] / 16.0
    with pytest.raises(ValueError, match="layer_epochs trains linear layers"):
        AutoencoderKMeans(3, image_shape=(1, 8, 8), layer_epochs=1, epochs=1).fit(X)
    pair = (
        torch.nn.Sequential(torch.nn.Linear(64, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3)),
        torch.nn.Linear(3, 64),
    )
    with pytest.raises(ValueError, match="layer_epochs trains linear layers"):
        AutoencoderKMeans(3, autoencoder=pair, layer_epochs=1, epochs=1).fit(X)
    with pytest.raises(ValueError, match="layer_epochs"):
        AutoencoderKMeans(3, layer_epochs=-1).fit(X)


def test_the_rate_falls_in_every_part() -> None:
    settings = {**SMALL, "layer_epochs": 1, "epochs": 2, "learning_rate": 2e-3, "final_learning_rate": 1e-5}
    model = AutoencoderKMeans(3, **settings)
    *trained, placed = model._model(7, torch.Generator().manual_seed(0)).phases()
    assert [phase.name for phase in trained] == [f"layer {place} of 3" for place in (1, 2, 3)] + [
        "autoencoder"
    ]
    assert {update.schedule for phase in trained for update in phase.updates} == {Linear(1e-5 / 2e-3)}
    assert not placed.updates
    usual = AutoencoderKMeans(3, **SMALL)._model(7, torch.Generator().manual_seed(0)).phases()[0]
    assert usual.updates[0].schedule is None


def test_a_rate_that_falls_to_nothing_moves_less() -> None:
    """After the first of many epochs at a rate that falls by a million, weights hardly move any more."""
    x = rows().numpy()
    few, many = (
        AutoencoderKMeans(3, **SMALL, epochs=4, final_learning_rate=last).fit(x) for last in (1e-9, None)
    )
    start = AutoencoderKMeans(3, **SMALL, epochs=0).fit(x)

    def moved(model: AutoencoderKMeans) -> float:
        ends, starts = (one.model_.autoencoder.parameters() for one in (model, start))
        return sum(float((end - old).detach().abs().sum()) for end, old in zip(ends, starts, strict=True))

    assert 0.3 < moved(few) / moved(many) < 0.8
