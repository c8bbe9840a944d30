"""Images as input, and relevance in their shape."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

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
