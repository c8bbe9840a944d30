"""Networks of registered layers come back from files, weights and all; others are refused in a sentence."""

import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import whyclust as wc  # noqa: E402
from whyclust.deep import stored_layer  # noqa: E402
from whyclust.network import torch_stored_layers  # noqa: E402
from whyclust.propagate import Concatenate, Gated, Residual, Sum  # noqa: E402
from whyclust.saving.packing import pack, unpack  # noqa: E402

X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
CENTERS = np.random.default_rng(1).normal(size=(3, 2))


@pytest.fixture(autouse=True)
def _as_before():
    """Weights from a fixed seed; classes of these tests are forgotten afterwards."""
    known = dict(torch_stored_layers._BY_NAME)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield
    torch_stored_layers._BY_NAME.clear()
    torch_stored_layers._BY_NAME.update(known)


def encoder(first, width):
    return nn.Sequential(first, nn.Linear(width, 6), nn.ReLU(), nn.Linear(6, 2))


def gate(width, end):
    return nn.Sequential(nn.LayerNorm(4, bias=False), nn.Linear(4, width), end)


FIRST = {
    "gates of columns": lambda: (Gated(gate(4, nn.Sigmoid())), 4),
    "gates of a signal": lambda: (Gated(gate(5, nn.Softmax(dim=1)), signal=nn.Linear(4, 5, bias=False)), 5),
    "hard gates": lambda: (Gated(gate(4, nn.Hardtanh(0.0, 1.0)), signal=nn.Sequential(nn.Tanh())), 4),
    "gates of gated columns": lambda: (Gated(nn.Hardsigmoid(), signal=Gated(gate(4, nn.Sigmoid()))), 4),
    "sum": lambda: (Sum(nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))), 3),
    "residual": lambda: (Residual(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4)), 4),
    "side by side": lambda: (Concatenate(nn.Identity(), nn.Linear(4, 3), dim=1), 7),
}


@pytest.mark.parametrize("name", FIRST)
def test_relevance_of_a_loaded_network_is_the_same(name, tmp_path):
    module = encoder(*FIRST[name]())
    net = wc.neuralize((module, CENTERS), X)
    with torch.no_grad():
        embedded = module(torch.from_numpy(X)).numpy()
    nearest = ((embedded[:, None] - CENTERS) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(net.predict(X), nearest)
    path = wc.save(net, tmp_path / "net.npz")
    before = torch.random.get_rng_state()
    again = wc.load(path)
    assert torch.equal(torch.random.get_rng_state(), before)
    ex, found = wc.explain(net, X), wc.explain(again, X)
    np.testing.assert_array_equal(found.values, ex.values)
    np.testing.assert_array_equal(found.base_values, ex.base_values)
    assert np.abs(ex.values).max() > 0
    size = np.abs(ex.explained).max()
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9 * max(1.0, size)
    # The file has weights and words only.
    with np.load(path, allow_pickle=False) as archive:
        assert all(archive[key].dtype != object for key in archive.files)


class Weighed(nn.Module):
    """A weight that the file must bring back, and a setting that says how it is used."""

    def __init__(self, width, power=1):
        super().__init__()
        self.width, self.power = width, power
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return x * self.scale.sigmoid() * self.power


def test_a_class_of_others_is_kept_once_it_is_registered(tmp_path):
    net = wc.neuralize((encoder(Weighed(4, power=2.5), 4), CENTERS), X)
    with pytest.raises(TypeError, match=r"a layer Weighed, .* register its class with whyclust\.deep\."):
        wc.save(net, tmp_path / "net.npz")
    assert stored_layer("width", "power")(Weighed) is Weighed
    stored_layer("width", "power")(Weighed)  # a cell that is run again
    path = wc.save(net, tmp_path / "net.npz")
    np.testing.assert_array_equal(wc.load(path).relevance(X).values, net.relevance(X).values)
    with pytest.raises(ValueError, match=r"'Linear' is already what files call torch\..*with another name="):
        stored_layer()(type("Linear", (nn.Module,), {}))
    # Elsewhere the file is refused until the class is there, with what to do.
    code = f"import whyclust as wc\ntry: wc.load({str(path)!r})\nexcept ValueError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == (
        "net.npz holds a 'Weighed', which nothing has registered, or is damaged: "
        f"import '{__name__}', which may, and load it again."
    ), done.stderr


def test_a_subclass_is_not_its_parent(tmp_path):
    class Own(Gated):
        pass

    net = wc.neuralize((encoder(Own(gate(4, nn.Sigmoid())), 4), CENTERS), X)
    with pytest.raises(TypeError, match="a layer Own"):
        wc.save(net, tmp_path / "net.npz")
    inside = wc.neuralize((encoder(Gated(nn.Sequential(Weighed(4), nn.Sigmoid())), 4), CENTERS), X)
    with pytest.raises(TypeError, match="a layer Weighed"):
        wc.save(inside, tmp_path / "net.npz")


def test_settings_are_words_and_numbers(tmp_path):
    stored_layer("width", "power")(Weighed)
    layer = Weighed(4)
    assert torch_stored_layers.described(Weighed(np.int64(4)))["settings"] == {"width": 4, "power": 1}
    layer.width = print
    with pytest.raises(TypeError, match="The setting 'width' of a layer Weighed is a builtin_function"):
        torch_stored_layers.described(layer)


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer["settings"].update(device="meta"),
        lambda layer: layer["settings"].pop("gate"),
        lambda layer: layer["settings"].update(gate={"inside": [], "kind": "Module"}),
        lambda layer: layer["settings"].update(gate={"inside": {"layer": ["Linear"], "settings": {}}}),
        lambda layer: layer["settings"]["gate"]["inside"].pop(1),
        lambda layer: layer.update(layer="Bilinear"),
        lambda layer: layer.pop("settings"),
    ],
)
def test_descriptions_that_make_no_layer(change, tmp_path):
    net = wc.neuralize((encoder(Gated(gate(4, nn.Sigmoid())), 4), CENTERS), X)
    path = wc.save(net, tmp_path / "net.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["whyclust"]))
    trunk = header["content"]["parts"]["features"]["parts"]["trunk"]["parts"]
    layers = unpack(trunk["description"]["dict"]["layers"], {})
    change(layers[0])
    trunk["description"]["dict"]["layers"] = pack(layers)[0]
    np.savez(path, **{**arrays, "whyclust": np.array(json.dumps(header))})
    with pytest.raises(ValueError, match=r"net\.npz .*damaged"):
        wc.load(path)
