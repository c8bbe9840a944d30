"""Networks of registered layers come back from files, weights and all; others are refused in a sentence."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import whyclust as wc  # noqa: E402
from whyclust.deep import DCN, stored_layer, with_rules  # noqa: E402
from whyclust.network import torch_stored_layers, torch_stored_trunk  # noqa: E402
from whyclust.propagate import (  # noqa: E402
    Centered,
    Concatenate,
    Epsilon,
    Gamma,
    Gated,
    Residual,
    Rule,
    Sum,
    WSquare,
    ZBox,
    ZPlus,
)
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


@wc.saved(alone=False)
@dataclass(frozen=True)
class Halved(Rule):
    """Half of what another rule hands down."""

    rule: Rule = Gamma(0.1)  # noqa: RUF009

    def hand_down(self, layer, inputs, relevance):
        handed, absorbed = self.rule.hand_down(layer, inputs, relevance)
        return handed / 2, absorbed + (relevance.sum() - handed.sum()) * 0


RULES = {
    "by name": "epsilon",
    "of one's own": Halved(Epsilon(0.1)),
    "a box": {"0": ZBox(low=torch.full((4,), -9.0), high=9.0)},
    "from a reference": {"0": Centered(torch.arange(4.0), ZPlus())},
    "by types": {nn.Linear: Halved(), nn.Module: Gamma(1.0)},
    "by names": {"0": ZBox(-9.0, 9.0), "1": Epsilon(0.3)},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_rules_come_back(name, suffix, tmp_path):
    net = wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X)
    net = with_rules(net, RULES[name])
    again = wc.load(wc.save(net, tmp_path / f"net.{suffix}"))
    ex, found = wc.explain(net, X), wc.explain(again, X)
    np.testing.assert_array_equal(found.values, ex.values)
    usual = wc.explain(with_rules(net, Gamma(0.01)), X)
    assert np.abs(ex.values - usual.values).max() > 1e-3
    assert type(again.features.trunk.rules) is type(net.features.trunk.rules)


def test_rules_that_do_not_come_back_are_refused(tmp_path):
    net = wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X)

    class Own(Rule):
        def hand_down(self, layer, inputs, relevance):
            return torch.zeros_like(inputs), relevance

    trunk = net.features.trunk
    nested = replace(net.features, trunk=replace(trunk, module=nn.Sequential(trunk.module)))
    nested = with_rules(replace(net, features=nested), {"0.1": Gamma()})
    for chosen, told in (
        (
            with_rules(net, Own()),
            "Own cannot be saved without pickle.*register its class with whyclust.saved",
        ),
        (with_rules(net, {nn.Bilinear: Gamma()}), "the layers Bilinear, .*register the class"),
        (nested, "are a dict, which a file without code"),
        (with_rules(net, lambda name, layer: Gamma()), "are a function, .*rules given by name"),
    ):
        with pytest.raises(TypeError, match=told):
            wc.save(chosen, tmp_path / "net.npz")


def changed(path, change):
    """The same file with another description of its trunk."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["whyclust"]))
    change(header["content"]["parts"]["features"]["parts"]["trunk"]["parts"])
    np.savez(path, **{**arrays, "whyclust": np.array(json.dumps(header))})
    return path


@pytest.mark.parametrize("rules", [None, "unknown", 3, {"list": []}, {"list": [{"tuple": ["0", None]}]}])
def test_rules_that_are_none(rules, tmp_path):
    net = wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X)
    path = changed(wc.save(net, tmp_path / "net.npz"), lambda trunk: trunk.update(rules=rules))
    if rules == {"list": []}:  # a mapping of nothing
        assert wc.load(path).features.trunk.rules == {}
        return
    with pytest.raises(ValueError, match=r"net\.npz .*damaged"):
        wc.load(path)


@pytest.fixture
def taken(monkeypatch):
    """How many numbers tensors were made for; none that would fill the memory."""
    found = [0]
    with torch.device("meta"):
        torch.empty(0)  # now PyTorch knows which functions obey

    def noting(make):
        def made(*sizes, **options):
            count = make(*sizes, **{**options, "device": "meta"}).numel()
            device = options.get("device") or torch.get_default_device()
            if torch.device(device).type != "meta":
                found.append(count)
                if count > 10**7:
                    raise MemoryError(count)
            return make(*sizes, **options)

        return made

    for name in ("empty", "zeros", "ones", "rand", "randn"):
        monkeypatch.setattr(torch, name, noting(getattr(torch, name)))
    return found


def test_no_memory_is_taken_for_layers_that_the_file_does_not_hold(taken, tmp_path):
    """A few bytes of text could ask for gigabytes."""
    net = wc.neuralize((encoder(Gated(gate(4, nn.Sigmoid())), 4), CENTERS), X)

    def enlarge(trunk):
        layers = unpack(trunk["description"]["dict"]["layers"], {})
        layers[0]["settings"]["gate"]["inside"][1]["inside"]["settings"].update(
            in_features=200_000, out_features=10_000
        )
        trunk["description"]["dict"]["layers"] = pack(layers)[0]

    path = changed(wc.save(net, tmp_path / "net.npz"), enlarge)
    with pytest.raises(ValueError, match=r"net\.npz .*damaged"):
        wc.load(path)
    assert max(taken) < 10_000


def test_layers_that_look_at_their_numbers_are_made(tmp_path):
    """They cannot be made without memory, but are registered by the user."""

    @stored_layer()
    class Looking(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.positive = self.scale.item() > 0

        def forward(self, x):
            return x * self.scale

    net = wc.neuralize((encoder(Looking(), 4), CENTERS), X)
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    np.testing.assert_array_equal(again.predict(X), net.predict(X))


@pytest.mark.parametrize("place", [0, 1])
def test_settings_that_a_layer_does_not_have(place, tmp_path):
    """PyTorch's own constructors would take more, such as a device."""
    net = wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X)

    def add(trunk):
        layers = unpack(trunk["description"]["dict"]["layers"], {})
        assert layers[place]["layer"] == "Linear"
        layers[place]["settings"].update(device="cpu")
        trunk["description"]["dict"]["layers"] = pack(layers)[0]

    path = changed(wc.save(net, tmp_path / "net.npz"), add)
    with pytest.raises(ValueError, match=r"net\.npz .*damaged"):
        wc.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer["settings"]["gate"]["inside"][1]["inside"]["settings"].update(device="cpu"),
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


@pytest.mark.parametrize("setting", ["layers", "n_clusters"])
def test_no_memory_is_taken_for_deep_models_that_the_file_does_not_hold(setting, taken, tmp_path):
    model = DCN(2, embedding_dim=2, hidden=(3,), epochs=1, pretrain_epochs=1, random_state=0).fit(X)
    path = wc.save(model, tmp_path / "deep.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["whyclust"]))
    description = header["content"]["parts"]["description"]["dict"]
    if setting == "layers":
        description["layers"] = pack([50_000, 50_000])[0]
    else:
        description["settings"]["dict"]["n_clusters"] = 10**9
    np.savez(path, **{**arrays, "whyclust": np.array(json.dumps(header))})
    with pytest.raises(ValueError, match=r"deep\.npz .*damaged"):
        wc.load(path)
    assert max(taken) < 10_000


def test_layers_that_are_registered_wrongly_are_told_so(tmp_path):
    with pytest.raises(TypeError, match=r"write @stored_layer\('width'\) above the class"):
        stored_layer(Weighed)
    with pytest.raises(TypeError, match=r"'print' is no class of torch\.nn\.Module's"):
        stored_layer()(print)
    with pytest.raises(TypeError, match=r"'dict' is no class of torch\.nn\.Module's"):
        stored_layer()(dict)
    net = wc.neuralize((encoder(Weighed(4), 4), CENTERS), X)
    for settings, told in (
        (("width", "height"), "A layer Weighed has no attribute 'height', which stored_layer was given"),
        (
            ("width", "scale"),
            r"A layer Weighed is not made by its settings \(.*'scale'\): name in stored_layer",
        ),
    ):
        stored_layer(*settings)(Weighed)
        with pytest.raises(TypeError, match=told):
            wc.save(net, tmp_path / "net.npz")


def test_layers_of_pytorch_are_known_to_whyclust():
    """Where one is not, whyclust is older than the file: PyTorch need not be imported."""
    described = torch_stored_layers.described
    assert described(nn.ReLU())["room"] == "whyclust"
    assert described(Gated(nn.Sigmoid()))["room"] == "whyclust"
    with pytest.raises(ValueError, match=r"'Future', which nothing has registered.*update whyclust"):
        torch_stored_layers.made({**described(nn.ReLU()), "layer": "Future"})


def test_the_reference_has_the_columns_of_the_trunk():
    trunk = wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X).features.trunk
    description, arrays = torch_stored_trunk.to_arrays(trunk)
    with pytest.raises(ValueError, match=r"reference has shape \(4,\), expected \(5,\)"):
        torch_stored_trunk.from_arrays({**description, "n_inputs": 5}, arrays, trunk.rules)


def test_networks_of_encoders_are_loaded_without_deep_clusterings(tmp_path):
    path = wc.save(wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X), tmp_path / "net.npz")
    code = f"import sys, whyclust as wc\nwc.load({str(path)!r})\nprint('whyclust.deep' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr


def test_the_first_layer_is_seen_from_the_mean_where_zero_matters():
    trunk = wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X).features.trunk
    first, later = trunk.module[0], trunk.module[1]
    for rule in (ZBox(-9.0, 9.0), WSquare(), Gamma(0.2), Epsilon()):
        rules = replace(trunk, rules=rule)._rules
        assert rules.rule("1", later) is rule
        if not rule.sees_zero:
            assert rules.rule("0", first) is rule
        else:
            assert isinstance(rules.rule("0", first), Centered)


def test_rows_that_are_no_numbers_have_no_way_down():
    """The network tells where they stand; a rule would only tell that they are outside its box."""
    net = with_rules(wc.neuralize((encoder(nn.Linear(4, 5), 5), CENTERS), X), {"0": ZBox(-9.0, 9.0)})
    rows = X.copy()
    rows[3, 2] = np.inf
    assert net.features.trunk.passage(rows).ascents == []
    assert len(net.features.trunk.passage(X).ascents) == 1
    with pytest.raises(ValueError, match="X holds infinity in row 3, column 'x2'"):
        net.relevance(rows)
