"""Pictures of rows that deep models make up."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import whyclust as wc

pytest.importorskip("torch", reason="needs PyTorch")
pytest.importorskip("matplotlib", reason="needs matplotlib")

from whyclust.deep import AutoencoderKMeans, ClusteringModule

WINE = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def wine():
    settings = {"hidden": (8,), "epochs": 3, "batch_size": 64, "random_state": 0}
    return make_pipeline(StandardScaler(), AutoencoderKMeans(3, **settings)).fit(WINE)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def written(figure, shape):
    return np.array([float(text.replace(",", "")) for text in texts(figure)]).reshape(shape)


def test_rows_are_in_the_users_units(wine):
    figure = wc.plots.decoded_centers(wine)
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == list(WINE.columns)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["cluster 0", "cluster 1", "cluster 2"]
    rows = wine[0].inverse_transform(wine[-1].decoded_centers())
    np.testing.assert_allclose(written(figure, rows.shape), rows, rtol=0.01)


def test_ways_and_samples(wine, tmp_path):
    way = wc.plots.interpolation(wine, 2, 0, steps=4, path=tmp_path / "way.png")
    labels = [label.get_text() for label in way.axes[0].get_yticklabels()]
    assert labels == ["cluster 2", "33%", "67%", "cluster 0"]
    assert (tmp_path / "way.png").stat().st_size > 1000
    first = wc.plots.samples(wine, 1, n_samples=3, random_state=0)
    again = wc.plots.samples(wine, 1, n_samples=3, random_state=0)
    assert texts(first) == texts(again)
    assert len(texts(first)) == 4 * 13
    rows = wine[0].inverse_transform(wine[-1].interpolate(2, 0, steps=4))
    np.testing.assert_allclose(written(way, rows.shape), rows, rtol=0.01)
    drawn = wine[-1].sample(1, n_samples=3, random_state=0)
    rows = wine[0].inverse_transform(np.concatenate([wine[-1].decoded_centers()[[1]], drawn]))
    np.testing.assert_allclose(written(first, rows.shape), rows, rtol=0.01)
    none = wc.plots.samples(wine, 1, n_samples=2, scale=0.0)
    assert texts(none)[:13] == texts(none)[13:26]


def test_images_are_drawn_as_images():
    X = load_digits().data[:80] / 16.0
    model = AutoencoderKMeans(3, hidden=(4,), epochs=1, image_shape=(1, 8, 8), random_state=0).fit(X)
    figure = wc.plots.decoded_centers(model)
    assert [axis.get_title() for axis in figure.axes] == ["cluster 0", "cluster 1", "cluster 2"]
    np.testing.assert_allclose(
        figure.axes[1].images[0].get_array(), model.decoded_centers()[1].reshape(8, 8), rtol=1e-6
    )
    module = ClusteringModule(3, epochs=1, random_state=0).fit(X)
    assert len(wc.plots.decoded_centers(module, image_shape=(8, 8)).axes) == 3
    wide = wc.plots.decoded_centers(module)  # as a table: only the columns that differ most
    kept = {int(label.get_text()[1:]) for label in wide.axes[0].get_xticklabels()}
    assert kept == set(np.argsort(-module.cluster_centers_.std(axis=0), kind="stable")[:60].tolist())


def test_colours_are_drawn_as_colours():
    X = np.random.default_rng(0).random((30, 3 * 4 * 5)).astype(np.float32)
    module = ClusteringModule(2, epochs=1, random_state=0).fit(X)
    figure = wc.plots.decoded_centers(module, image_shape=(3, 4, 5))
    centers = module.decoded_centers()
    expected = (centers - centers.min()) / np.ptp(centers)
    for axis, image in zip(figure.axes, expected.reshape(2, 3, 4, 5), strict=True):
        np.testing.assert_allclose(axis.images[0].get_array(), np.moveaxis(image, 0, -1), atol=1e-6)
    with pytest.raises(ValueError, match="does not fit rows of 60 columns"):
        wc.plots.decoded_centers(module, image_shape=(2, 5, 6))


def test_steps_are_undone_from_the_last_to_the_first():
    settings = {"hidden": (8,), "epochs": 1, "random_state": 0}
    inner = make_pipeline(PCA(4), AutoencoderKMeans(2, **settings))
    model = make_pipeline("passthrough", StandardScaler(), inner).fit(WINE)
    figure = wc.plots.decoded_centers(model)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list(WINE.columns)
    rows = model[1].inverse_transform(inner[0].inverse_transform(inner[-1].decoded_centers()))
    np.testing.assert_allclose(written(figure, rows.shape), rows, rtol=0.01)
    for step in (FunctionTransformer(np.log1p), VarianceThreshold(0.5)):
        one_way = make_pipeline(step, AutoencoderKMeans(2, **settings)).fit(WINE)
        with pytest.raises(TypeError, match="cannot be undone"):
            wc.plots.decoded_centers(one_way)


def test_what_cannot_be_drawn(wine):
    with pytest.raises(TypeError, match="KMeans makes no rows"):
        wc.plots.decoded_centers(KMeans(2, n_init=1).fit(WINE))
    with pytest.raises(ValueError, match="does not fit rows of 13 columns"):
        wc.plots.decoded_centers(wine, image_shape=(2, 5))
    with pytest.raises(ValueError, match="image_shape=48 does not fit"):
        wc.plots.decoded_centers(wine, image_shape=48)
    with pytest.raises(ValueError, match="2 names, but rows have 13"):
        wc.plots.decoded_centers(wine, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="cluster 7 is unknown"):
        wc.plots.samples(wine, 7)
    settings = {"hidden": (4,), "epochs": 1, "random_state": 0}
    normal = make_pipeline(Normalizer(), AutoencoderKMeans(2, **settings)).fit(WINE)
    with pytest.raises(TypeError, match="Normalizer cannot be undone"):
        wc.plots.decoded_centers(normal)
    narrow = make_pipeline(PCA(3), AutoencoderKMeans(2, **settings)).fit(WINE)
    assert len(wc.plots.decoded_centers(narrow).axes[0].get_xticklabels()) == 13
