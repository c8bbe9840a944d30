"""Augmentation: what the two of the library do to rows, what functions may return, losses of two views."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from interruptions import KilledError, assert_same_fit, kill_after

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
from whyclust.deep import (  # noqa: E402
    DCN,
    DEC,
    DKM,
    IDEC,
    ACeDeC,
    AutoencoderKMeans,
    MaskAndJitter,
    TurnAndShift,
)
from whyclust.deep.training import augmenting  # noqa: E402
from whyclust.deep.training.augmenting import checked  # noqa: E402
from whyclust.deep.training.in_words import in_words  # noqa: E402
from whyclust.deep.training.phases import Batch  # noqa: E402

N, D, P, K = 6, 4, 3, 3

pytestmark = pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def random(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@pytest.fixture
def drawn(monkeypatch):
    """Draws that are told: the largest angle and shifts, times these."""

    def tell(*parts):
        left = list(parts)
        monkeypatch.setattr(
            augmenting,
            "_uniform",
            lambda n, most, generator, like: torch.full((n,), left.pop(0) * most).to(like),
        )

    return tell


# --- images ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 5, 5), (3, 4, 7), tuple(np.array([2, 1, 3]))])
def test_no_turn_and_no_shift_is_no_change(shape):
    x = torch.rand(4, math.prod(shape), generator=generator())
    found = TurnAndShift(shape, degrees=0, shift=0)(x, generator())
    np.testing.assert_allclose(found, x, atol=1e-5)


@pytest.mark.parametrize("size", [3, 4])
def test_a_quarter_turn_is_literal(drawn, size):
    images = torch.rand(2, 2, size, size, generator=generator()).double()
    drawn(1.0, 0.0, 0.0)
    found = TurnAndShift((2, size, size), degrees=90)(images.reshape(2, -1), generator())
    middle = (size - 1) / 2
    expected = torch.zeros_like(images)
    for down in range(size):
        for across in range(size):
            # What stands at (X, Y), from the middle, comes from (X cos − Y sin, X sin + Y cos) = (−Y, X).
            x, y = across - middle, down - middle
            expected[:, :, down, across] = images[:, :, round(x + middle), round(-y + middle)]
    np.testing.assert_allclose(found.reshape(images.shape), expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 9, 21), (1, 21, 9)])
def test_lengths_are_kept_in_images_that_are_no_squares(drawn, shape):
    _, height, width = shape
    middle = np.array([(height - 1) / 2, (width - 1) / 2])
    image = torch.zeros(1, height, width)
    spot = np.array([middle[0] + 3, middle[1] + 2]).astype(int)
    image[0, spot[0], spot[1]] = 1.0
    drawn(1.0, 0.0, 0.0)
    found = TurnAndShift(shape, degrees=90)(image.reshape(1, -1), generator()).reshape(height, width)
    place = np.array(np.unravel_index(int(found.argmax()), (height, width)))
    assert float(found.max()) > 0.99
    assert sorted(np.abs(place - middle)) == [2, 3]
    # A spot (2, 3) from the middle (across, down) came from (−Y, X): it is now at (3, −2).
    np.testing.assert_array_equal(place - middle, [-2, 3])


@pytest.mark.parametrize(("across", "down"), [(1, 0), (-1, 0), (0, 1), (0, -1), (2, 0), (0, -3), (-2, 2)])
def test_a_shift_by_pixels_is_literal(drawn, across, down):
    height, width = 4, 5
    image = torch.rand(1, height, width, generator=generator())
    # The largest shift is a part of the size: a fifth of the width, a quarter of the height.
    drawn(0.0, across * 0.8, down * 1.0)  # 0.8 · ¼ = ⅕
    found = TurnAndShift((1, height, width), shift=0.25)(image.reshape(1, -1), generator())
    expected = torch.zeros(height, width)
    for y in range(height):
        for x in range(width):  # the edge repeats
            expected[y, x] = image[0, min(max(y + down, 0), height - 1), min(max(x + across, 0), width - 1)]
    np.testing.assert_allclose(found.reshape(height, width), expected, atol=1e-5)


def test_angles_and_shifts_are_drawn_within_their_bounds(monkeypatch):
    asked = []
    plain = augmenting._uniform

    def uniform(n, most, source, like):
        asked.append((most, plain(n, most, source, like)))
        return asked[-1][1]

    monkeypatch.setattr(augmenting, "_uniform", uniform)
    TurnAndShift((1, 2, 2), degrees=20, shift=0.1)(torch.rand(500, 4), generator())
    assert [most for most, _ in asked] == [20, 0.2, 0.2]
    for most, values in asked:
        assert 0.9 * most < float(values.max()) <= most
        assert -most <= float(values.min()) < -0.9 * most
        assert len(values.unique()) > 400  # each image has its own


@pytest.mark.parametrize("augment", [TurnAndShift((1, 4, 4)), MaskAndJitter()])
def test_views_follow_from_the_generator(augment):
    x = torch.rand(8, 16, generator=generator(5))
    torch.manual_seed(0)
    one = augment(x, generator(1))
    torch.manual_seed(1)
    again, other = augment(x, generator(1)), augment(x, generator(2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert one.dtype == x.dtype
    assert augment(x.double(), generator(1)).dtype == torch.float64
    # Draws are made on the processor, wherever the rows are.
    meta = augment(x.to("meta"), generator(1))
    assert meta.shape == x.shape
    source, twin = generator(1), generator(1)
    augment(x, source)
    augment(x.to("meta"), twin)
    assert torch.equal(source.get_state(), twin.get_state())


def test_rows_and_images_are_the_same():
    images = torch.rand(3, 2, 4, 5, generator=generator())
    augment = TurnAndShift((2, 4, 5))
    flat = augment(images.reshape(3, -1), generator(1))
    assert flat.shape == (3, 40)
    shaped = augment(images, generator(1))
    assert shaped.shape == images.shape
    assert torch.equal(shaped.reshape(3, -1), flat)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: TurnAndShift((4, 4)), r"image_shape=\(4, 4\), expected three numbers"),
        (lambda: TurnAndShift((1, 0, 4)), "expected three numbers"),
        (lambda: TurnAndShift(16), "image_shape=16, expected three numbers"),
        (lambda: TurnAndShift((1, 4, 4), degrees=-1), "degrees=-1, expected a number of zero or more"),
        (lambda: TurnAndShift((1, 4, 4), shift=float("nan")), "shift=nan, expected"),
        (lambda: MaskAndJitter(share=1.0), "share=1.0, expected a part of the values, below 1"),
        (lambda: MaskAndJitter(share=-0.1), "share=-0.1, expected"),
        (lambda: MaskAndJitter(scale="much"), "scale='much', expected"),
        (
            lambda: TurnAndShift((1, 4, 4))(torch.rand(2, 15), generator()),
            r"image_shape=\(1, 4, 4\) of the augmentation does not make up the 15 columns",
        ),
    ],
)
def test_augmentations_that_make_no_sense(make, told):
    with pytest.raises(ValueError, match=told):
        make()


# --- tables ----------------------------------------------------------------------------------------


def test_replaced_values_come_from_the_same_column():
    x = torch.arange(400).double()[:, None] + 1000.0 * torch.arange(5).double()
    found = MaskAndJitter(share=0.3, scale=0.0)(x, generator())
    replaced = found != x
    # A row may draw itself, one time in 400.
    assert float(replaced.double().mean()) == pytest.approx(0.3, abs=0.03)
    np.testing.assert_array_equal(found // 1000, x // 1000)
    rows = (found % 1000)[replaced]
    assert len(rows.unique()) > 200
    assert len(set(map(tuple, replaced.tolist()))) > 10  # each row loses others


def test_replaced_values_are_those_that_the_column_takes():
    x = torch.arange(400).double()[:, None].expand(400, 5)
    found = MaskAndJitter(share=0.3, scale=0.5)(x, generator())
    whole = found == found.round()  # what is moved by noise is no whole number
    assert float(whole.double().mean()) == pytest.approx(0.3, abs=0.03)
    assert bool(((found >= 0) & (found < 400))[whole].all())


def test_replaced_values_come_from_any_row_each_from_its_own():
    """All rows of a batch are as probable, whatever other columns and rows were replaced by."""
    x = torch.arange(4).double()[:, None].expand(4, 5000)
    donors = MaskAndJitter(share=1 - 1e-9, scale=0.0)(x, generator()).numpy()
    for row in donors:  # five standard errors
        np.testing.assert_allclose(np.bincount(row.astype(int), minlength=4) / 5000, 0.25, atol=0.031)
    for row, other in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert np.mean(donors[row] == donors[other]) == pytest.approx(0.25, abs=0.031)
    assert np.mean(donors[:, 1:] == donors[:, :-1]) == pytest.approx(0.25, abs=0.016)


def test_noise_has_the_scale_of_the_columns():
    scales = torch.tensor([0.1, 1.0, 50.0, 0.0]).double()
    x = random(0, 4000, 4) * scales + 3.0
    found = MaskAndJitter(share=0.0, scale=0.2)(x, generator())
    spread = (found - x).std(dim=0)
    np.testing.assert_allclose(spread, 0.2 * scales, rtol=0.05)
    assert torch.equal(MaskAndJitter(share=0.0, scale=0.0)(x, generator()), x)
    one = MaskAndJitter()(x[:1], generator())  # a batch of one has no spread, and no other rows
    assert torch.equal(one, x[:1])


# --- functions of one's own ------------------------------------------------------------------------


def test_functions_with_and_without_a_generator():
    x = torch.rand(5, 3)
    assert torch.equal(checked(lambda x: x + 1)(x, generator()), x + 1)
    source = generator(4)
    found = checked(lambda x, g: x + torch.rand(x.shape, generator=g))(x, source)
    drawn = x + torch.rand(x.shape, generator=generator(4))
    assert torch.equal(found, drawn)

    def with_default(x, generator=None):
        return x + torch.rand(x.shape, generator=generator)

    assert torch.equal(checked(with_default)(x, generator(4)), drawn)
    assert torch.equal(checked(lambda x, factor=2.0: x * factor)(x, generator()), 2 * x)
    assert torch.equal(checked(torch.nn.Flatten())(x, generator()), x)
    assert torch.equal(checked(torch.neg)(x, generator()), -x)
    assert checked(lambda x: x.double())(x, generator()).dtype == x.dtype


def test_generators_that_are_passed_by_name():
    x = torch.rand(5, 3)

    def by_name(x, factor=1.0, *, generator):
        return factor * x + torch.rand(x.shape, generator=generator)

    drawn = x + torch.rand(x.shape, generator=generator(4))
    assert torch.equal(checked(by_name)(x, generator(4)), drawn)

    def with_default(x, *, generator=None, factor=1.0):
        return factor * x + torch.rand(x.shape, generator=generator)

    assert torch.equal(checked(with_default)(x, generator(4)), drawn)
    assert torch.equal(checked(lambda x, *, factor=2.0: x * factor)(x, generator()), 2 * x)


@pytest.mark.parametrize(
    ("augment", "told"),
    [
        (lambda x, *, strength: x, "augment wants strength besides the rows"),
        (lambda x, generator, strength: x, "augment wants strength besides the rows"),
        (lambda x, strength, *, generator: x, "augment wants strength besides the rows"),
        (lambda x, a, b, *, c: x, "augment wants c, b besides the rows"),
    ],
)
def test_functions_that_want_more(augment, told):
    X = np.random.default_rng(0).normal(size=(20, D)).astype(np.float32)
    with pytest.raises(TypeError, match=rf"{told}, expected f\(x\) or f\(x, generator\): functools.partial"):
        DCN(K, hidden=(5,), epochs=1, pretrain_epochs=1, augment=augment, random_state=0).fit(X)


@pytest.mark.parametrize("augment", [lambda: 0, lambda **named: named["x"]])
def test_functions_that_take_no_rows(augment):
    with pytest.raises(TypeError, match=r"augment takes no rows, expected f\(x\) or f\(x, generator\)"):
        checked(augment)
    assert torch.equal(checked(lambda *rows: rows[0])(torch.ones(2, 2), generator()), torch.ones(2, 2))


def test_functions_in_place_leave_the_data_alone():
    x = torch.rand(5, 3)
    before = x.clone()
    assert torch.equal(checked(lambda x: x.mul_(0.0))(x, generator()), torch.zeros(5, 3))
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    ("augment", "told"),
    [
        (
            lambda x: x[:, :2],
            r"augment returns shape \(\d+, 2\) for a batch of shape \(\d+, 4\), expected a tensor",
        ),
        (lambda x: x.numpy(), "augment returns a ndarray for a batch of shape"),
        (lambda x: None, "augment returns a NoneType for a batch"),
        (lambda x: x / 0.0, "augment returns numbers that are not finite"),
        (lambda x: x.to_sparse(), "augment returns a sparse tensor, expected a tensor of real numbers"),
        (lambda x: x.to("meta"), "augment returns a tensor of the device 'meta', which holds no numbers"),
        (lambda x: x + 1j, "augment returns complex numbers, expected a tensor of real numbers"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_functions_must_not_return(augment, told, wrapped):
    X = np.random.default_rng(0).normal(size=(20, D)).astype(np.float32)
    base = DCN(K, hidden=(5,), epochs=1, pretrain_epochs=1, augment=augment, random_state=0)
    with pytest.raises(ValueError, match=told):
        (ACeDeC(base, space_epochs=1) if wrapped else base).fit(X)


@pytest.mark.parametrize("augment", ["turn", 3, [MaskAndJitter()]])
def test_what_is_no_augmentation(augment):
    with pytest.raises(TypeError, match=f"augment is a {type(augment).__name__}, expected None, a function"):
        DCN(K, augment=augment).fit(np.zeros((10, D)))


# --- losses of two views ---------------------------------------------------------------------------


def built(kind, **more):
    model = kind(K, hidden=(5,), embedding_dim=P, **more)._model(D, generator(1)).double().eval()
    model.centers.data.copy_(random(2, K, P))
    return model


def batch(x, view=None):
    return Batch(x, torch.arange(len(x)), x, epoch=0, done=0.0, generator=generator(), view=view)


@pytest.mark.parametrize("kind", [DCN, DEC, IDEC, DKM])
def test_losses_of_two_views(kind):
    more = {DCN: {"lam": 0.7}, IDEC: {"gamma": 0.3}, DKM: {"lam": 0.7, "alpha": 2.0}}.get(kind, {})
    model = built(kind, **more)
    rows, view = random(0, N, D), random(0, N, D) + random(5, N, D)
    with torch.no_grad():
        if isinstance(model.settings, DEC):
            model.update_target(rows, 0)
    terms = model.loss(batch(rows, view))
    clustering, squares = [], []
    centers = model.centers.detach().numpy()
    with torch.no_grad():
        first = model.encoder(rows).numpy()
    changed = 0
    for given in (rows, view):
        with torch.no_grad():
            z, back = (tensor.numpy() for tensor in model.autoencoder(given))
        x = given.numpy()
        for i in range(N):
            squares.append(sum((x[i] - back[i]) ** 2))
            distances = np.array([sum((z[i] - center) ** 2) for center in centers])
            belongs = np.array([sum((first[i] - center) ** 2) for center in centers])
            changed += distances.argmin() != belongs.argmin()
            if kind is DCN:
                clustering.append(0.35 * distances[belongs.argmin()])
            elif kind is DKM:
                weights = np.exp(-2.0 * belongs)
                clustering.append(0.7 * sum(weights / weights.sum() * distances))
            else:
                q = 1 / (1 + distances) / sum(1 / (1 + distances))
                p = model.target[i].numpy()
                clustering.append(sum(p * np.log(p / q)) * (0.3 * D if kind is IDEC else 1))
    assert changed  # the view alone would belong to another
    assert terms["clustering"].item() == pytest.approx(np.mean(clustering), rel=1e-10)
    assert ("reconstruction" in terms) == (kind is not DEC)
    if kind is not DEC:
        assert terms["reconstruction"].item() == pytest.approx(np.mean(squares), rel=1e-10)


def test_a_view_does_not_move_where_the_original_belongs():
    """Of the second view only its own distance is followed back: the original's embedding is given."""
    model = built(DKM, alpha=2.0)
    rows, view = random(0, N, D).requires_grad_(), random(5, N, D).requires_grad_()
    loss = model.loss(batch(rows, view))["clustering"]
    alone = 0.5 * model.loss(batch(rows))["clustering"]
    (found,), (expected,) = (torch.autograd.grad(one, [rows]) for one in (loss, alone))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_autoencoder_and_clusters_see_views_but_not_the_spaces_alone():
    seen = []

    def augment(x):
        assert not torch.is_grad_enabled()
        seen.append(len(x))
        return x

    X = np.random.default_rng(0).normal(size=(24, D)).astype(np.float32)
    settings = {"hidden": (5,), "epochs": 2, "pretrain_epochs": 3, "batch_size": 8, "random_state": 0}
    DCN(K, augment=augment, **settings).fit(X)
    assert seen == [8] * (9 + 6)
    seen.clear()
    ACeDeC(DCN(K, augment=augment, **settings), space_epochs=3).fit(X)
    assert seen == [8] * (9 + 6)


def test_the_autoencoder_alone_reconstructs_both_views():
    rng = np.random.default_rng(0)
    x, view = (torch.from_numpy(rng.normal(size=(6, D))) for _ in range(2))
    model = (
        AutoencoderKMeans(K, hidden=(5,), embedding_dim=P)
        ._model(D, torch.Generator().manual_seed(0))
        .double()
    )
    both = Batch(x, torch.arange(6), x, 0, 0.0, torch.Generator(), view)
    with torch.no_grad():
        expected = [float(((one - model.autoencoder(one)[1]) ** 2).sum() / 6) for one in (x, view)]
        assert float(model.reconstruction(both)["reconstruction"]) == pytest.approx(
            np.mean(expected), rel=1e-12
        )
        assert float(model.reconstruction(replace(both, view=None))["reconstruction"]) == pytest.approx(
            expected[0]
        )


# --- files and checkpoints -------------------------------------------------------------------------

SMALL = {"hidden": (5,), "embedding_dim": P, "epochs": 3, "pretrain_epochs": 1, "batch_size": 8}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("augment", [TurnAndShift((1, 2, 2), degrees=30), MaskAndJitter(scale=0.3)])
def test_saved_with_its_augmentation(augment, wrapped, tmp_path):
    X = np.random.default_rng(0).normal(size=(24, D)).astype(np.float32)
    base = DCN(K, augment=augment, random_state=0, **SMALL)
    model = (ACeDeC(base, space_epochs=1) if wrapped else base).fit(X)
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    kept = (again.base if wrapped else again).augment
    assert kept == augment
    assert type(kept) is type(augment)
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    assert_same_fit(again.fit(X), model)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_function_is_left_out_of_a_file(wrapped, tmp_path):
    X = np.random.default_rng(0).normal(size=(24, D)).astype(np.float32)
    base = DCN(K, augment=lambda x: x + 0.1, random_state=0, **SMALL)
    model = (ACeDeC(base, space_epochs=1) if wrapped else base).fit(X)
    with pytest.warns(UserWarning, match="augment is a function, which a file without code cannot keep"):
        path = wc.save(model, tmp_path / "m.npz")
    again = wc.load(path)
    assert (again.base if wrapped else again).augment is None
    assert base.augment is not None
    np.testing.assert_array_equal(again.predict(X), model.labels_)


@pytest.mark.parametrize("kind", [MaskAndJitter, TurnAndShift])
def test_a_class_is_no_function_of_rows(kind):
    told = f"augment is the class {kind.__name__}, expected None, .* TurnAndShift\\(image_shape\\)"
    with pytest.raises(TypeError, match=told):
        DCN(2, augment=kind).fit(np.eye(4))


@pytest.mark.parametrize("wrapped", [False, True])
def test_views_are_resumed(wrapped, tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(24, D)).astype(np.float32)

    def build(**more):
        base = DCN(K, augment=MaskAndJitter(), random_state=0, **SMALL, **more)
        return ACeDeC(base, space_epochs=1) if wrapped else base

    whole = build().fit(X)
    path = tmp_path / "c.npz"
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_after(patch, 2 + wrapped)
        build(checkpoint=path, checkpoint_every=1).fit(X)
    assert_same_fit(build(checkpoint=path, checkpoint_every=1).fit(X), whole)
    name = "base__augment" if wrapped else "augment"
    assert whole.history_ != build().set_params(**{name: None}).fit(X).history_


def test_a_checkpoint_knows_a_function_by_what_it_does():
    """And not by its address, which is another one in the process that goes on."""

    def made(code="lambda x: x + 0.1"):
        return eval(code)

    def bound(number):
        return lambda x: x * number

    assert in_words(made()) == in_words(made())
    assert in_words(bound(2.0)) == in_words(bound(2.0))
    codes = ["lambda x: x + 0.1", "lambda x: x + 0.2", "lambda x: x - 0.1", "lambda x, by=3: x + 0.1"]
    different = [*map(made, codes), bound(2.0), bound(3.0)]
    assert len({in_words(one) for one in different}) == len(different)
    assert "0x" not in in_words(made())


def closing_over(value):
    return lambda x: x + value


def made_with(source, **around):
    """A function in a module of its own, in which these names are known."""
    return eval(source, {"torch": torch, "np": np, **around})


@dataclass
class Noise:
    scale: float

    def __call__(self, x):
        return self.moved(x)

    def moved(self, x):
        return x + self.scale


class Plain:
    """Without a repr of its own."""

    __slots__ = ("shift",)

    def __init__(self, shift):
        self.shift = shift

    def __call__(self, x):
        return x + self.shift


def redefined(kind, name, source):
    return type(kind.__name__, (), {**vars(kind), name: made_with(source)})


DIFFERENT = {
    "method": lambda: [made_with(f"lambda x: x.{name}()") for name in ("neg", "abs")],
    "attribute": lambda: [made_with(f"lambda x: torch.{name}(x)") for name in ("relu", "tanh")],
    "tensor": lambda: [closing_over(values) for values in (torch.zeros(4), torch.ones(4))],
    "precision": lambda: [closing_over(torch.zeros(4, dtype=kind)) for kind in (torch.int32, torch.int64)],
    "array": lambda: [closing_over(values) for values in (np.zeros(4), np.ones(4))],
    "long array": lambda: [closing_over(np.r_[np.zeros(5000), last, np.zeros(5000)]) for last in (1, 2)],
    "number": lambda: [closing_over(value) for value in (1, 1.0, True, None)],
    "set": lambda: [closing_over(value) for value in ({1, 2}, {1, 3})],
    "keyword": lambda: [made_with(f"lambda x, *, by={by}: x + by") for by in (1, 2)],
    "constant": lambda: [made_with("lambda x: x * FACTOR", FACTOR=factor) for factor in (2.0, 3.0)],
    "helper": lambda: [made_with("lambda x: help(x)", help=closing_over(by)) for by in (2.0, 3.0)],
    "within": lambda: [made_with(f"lambda x: [one.{name}() for one in x]") for name in ("neg", "abs")],
    "constant within": lambda: [made_with(f"lambda x: (lambda y: y + {by})(x)") for by in (1, 2)],
    "names within": lambda: [made_with("lambda x: (lambda y: y + BY)(x)", BY=by) for by in (1, 2)],
    "partial": lambda: [
        partial(torch.mul, other=2.0),
        partial(torch.mul, other=3.0),
        partial(torch.add, other=2.0),
        partial(torch.add, 2.0),
    ],
    "setting": lambda: [Noise(0.1), Noise(0.2), Plain(0.1), Plain(0.2)],
    "own method": lambda: [Noise(0.1), redefined(Noise, "moved", "lambda self, x: x - self.scale")(0.1)],
    "bound": lambda: [Noise(0.1).moved, Noise(0.2).moved, Noise(0.1).__call__],
    "of C": lambda: [torch.neg, torch.abs, torch.zeros(2).add, torch.ones(2).add, np.negative, np.positive],
    "class": lambda: [
        made_with("lambda x: Kind(1.0)(x)", Kind=kind)
        for kind in (Noise, redefined(Noise, "moved", "lambda self, x: x"))
    ],
}


@pytest.mark.parametrize("make", DIFFERENT.values(), ids=DIFFERENT)
def test_functions_that_do_not_do_the_same_are_told_apart(make):
    told = [in_words(one) for one in make()]
    assert len(set(told)) == len(told)
    assert [in_words(one) for one in make()] == told  # other objects, as in another process
    assert not any("0x" in one for one in told)


def test_functions_that_use_themselves_are_told():
    def often(x, n=3):
        return often(x, n - 1) if n else x

    held = [often]
    held.append(held)
    assert in_words(often) == in_words(often)
    assert in_words(closing_over(held)) == in_words(closing_over(held))
    assert "told before" in in_words(often)
    # What a library's function does is not looked into.
    assert len(in_words(torch.nn.functional.relu)) < 100
    # Equal values are told alike, be they one object or two.
    one, other = (1, [2]), (1, [2])
    assert in_words(closing_over([one, one])) == in_words(closing_over([one, other]))


def test_a_checkpoint_refuses_another_function(tmp_path):
    X = np.random.default_rng(0).normal(size=(24, D)).astype(np.float32)

    def build(augment):
        return DCN(K, augment=augment, random_state=0, checkpoint=tmp_path / "c.npz", **SMALL)

    first = build(partial(torch.mul, other=1.5)).fit(X)
    assert_same_fit(build(partial(torch.mul, other=1.5)).fit(X), first)
    with pytest.raises(ValueError, match="is of another model, other settings"):
        build(partial(torch.mul, other=2.5)).fit(X)


def test_known_settings_are_told_as_files_have_them():
    """Checkpoints that were written before are found again."""
    assert in_words((1, "a", None, 0.5)) == "(1, 'a', None, 0.5)"
    assert in_words({"scale": np.arange(2)}) == "(scale=[0, 1])"
    assert in_words(MaskAndJitter()) == "MaskAndJitter(share=0.1, scale=0.1)"
    assert in_words(np.float64(0.5)) == "0.5"
