"""Images as input, and relevance in their shape."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import whyclust as wc

DIGITS = load_digits().images[:200] / 16.0


def test_images_are_explained_pixel_by_pixel():
    rows = DIGITS.reshape(200, -1)
    model = KMeans(4, n_init=1, random_state=0).fit(rows)
    ex = wc.explain(model, DIGITS)
    assert ex.images.shape == DIGITS.shape
    plain = wc.explain(model, rows)
    np.testing.assert_array_equal(ex.images.reshape(200, -1), plain.values)
    with pytest.raises(ValueError, match="are not images"):
        _ = plain.images
    assert ex[3:5].images.shape == (2, 8, 8)
    some = wc.explain(model, DIGITS[:20], background=DIGITS, method="ig", steps=5)
    assert some.images.shape == (20, 8, 8)
    grouped = wc.explain(model, DIGITS, groups={"top": list(range(32))})
    with pytest.raises(ValueError, match="are not images"):
        _ = grouped.images


def test_an_image_explanation_keeps_its_shape_in_a_file(tmp_path):
    model = KMeans(4, n_init=1, random_state=0).fit(DIGITS.reshape(200, -1))
    ex = wc.explain(model, DIGITS[:, None])
    wc.save(ex, tmp_path / "images.npz")
    np.testing.assert_array_equal(wc.load(tmp_path / "images.npz").images, ex.images)
    assert ex.images.shape == (200, 1, 8, 8)


def test_a_deep_model_of_images_takes_images():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    images = DIGITS[:60, None].astype(np.float32)
    settings = {"hidden": (4,), "epochs": 1, "image_shape": (1, 8, 8), "random_state": 0}
    model = deep.AutoencoderKMeans(3, **settings).fit(images)
    assert (model.predict(images) == model.labels_).all()
    assert (model.labels_ == deep.AutoencoderKMeans(3, **settings).fit(images.reshape(60, -1)).labels_).all()
    assert wc.explain(model, images.reshape(60, -1)).images.shape == (60, 1, 8, 8)
    assert wc.explain(model, images).images.shape == (60, 1, 8, 8)
    assert (model.predict(images[:, 0]) == model.labels_).all()  # one channel may go unsaid
    net = wc.neuralize(model, images)
    assert wc.explain(net, images.reshape(60, -1)).images.shape == (60, 1, 8, 8)


def test_images_of_another_shape_are_refused():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    colours = np.random.default_rng(0).random((30, 3, 4, 4)).astype(np.float32)
    settings = {"hidden": (4,), "epochs": 1, "image_shape": (3, 4, 4), "random_state": 0}
    model = deep.AutoencoderKMeans(2, **settings).fit(colours)
    last = np.moveaxis(colours, 1, -1)
    for asked in (
        model.predict,
        lambda images: wc.explain(model, images),
        deep.AutoencoderKMeans(2, **settings).fit,
    ):
        with pytest.raises(
            ValueError, match=r"images of shape \(4, 4, 3\), but the model was made for \(3, 4, 4\)"
        ):
            asked(last)
    dense = deep.AutoencoderKMeans(2, hidden=(4,), epochs=1, random_state=0)
    with pytest.raises(ValueError, match="dim 4"):
        dense.fit(colours)  # without an image_shape rows are expected
    with pytest.raises(ValueError, match="5 dimension"):
        wc.explain(model, colours[None])


def test_steps_between_pixels_and_model_leave_no_images():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    rows = DIGITS[:60].reshape(60, -1)
    settings = {"hidden": (4,), "epochs": 1, "image_shape": (1, 4, 4), "random_state": 0}
    model = make_pipeline(PCA(16), deep.AutoencoderKMeans(2, **settings)).fit(rows)
    with pytest.raises(ValueError, match="are not images"):
        _ = wc.explain(model, rows).images


def test_images_are_measured_and_audited():
    model = KMeans(4, n_init=1, random_state=0).fit(DIGITS.reshape(200, -1))
    ex = wc.explain(model, DIGITS)
    flat = wc.metrics.flipping_auc(model, DIGITS.reshape(200, -1), ex, n_repeats=1)
    assert wc.metrics.flipping_auc(model, DIGITS, ex, n_repeats=1).auc == flat.auc
    assert wc.audit(model, DIGITS, methods=["squared"], n_repeats=1, n_refits=0).settings["n_columns"] == 64


def test_colours_may_be_the_first_or_the_last_axis(tmp_path):
    first = np.stack([DIGITS, 0.5 * DIGITS, DIGITS**2], axis=1)[:, :, :, :6]
    last = np.moveaxis(first, 1, -1)
    drawn = {}
    for name, images in (("first", first), ("last", last)):
        model = KMeans(4, n_init=1, random_state=0).fit(images.reshape(200, -1))
        ex = wc.explain(model, images)
        assert ex.images.shape == images.shape
        figure = wc.plots.relevance(ex, rows=[3])
        drawn[name] = [axis.images[0].get_array() for axis in figure.axes[:2]]
        drawn[name].append(ex.kind.show(ex.data, ex.values, np.array([3]), "row 3"))
    picture, heat, shown = drawn["last"]
    assert (picture.shape, heat.shape) == ((8, 6, 3), (8, 6))
    np.testing.assert_allclose(picture, drawn["first"][0], atol=1e-12)
    np.testing.assert_allclose(heat, drawn["first"][1], atol=1e-10)
    assert shown == drawn["first"][2]
