"""Made-up data have the structure that the papers describe, and no other."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import generators
from whyclust.datasets import make_five_gaussians, make_idc_synthetic, make_objects, make_synth
from whyclust.datasets.objects import SHAPES, _meet, render

GENERATORS = {
    "synth": lambda seed: make_synth(n_samples=200, random_state=seed),
    "idc": lambda seed: make_idc_synthetic(n_samples=200, random_state=seed),
    "five": lambda seed: make_five_gaussians(n_samples=200, random_state=seed),
    "objects": lambda seed: make_objects(n_samples=9, size=16, random_state=seed),
}


def found(X, y, k):
    labels = KMeans(k, n_init=5, random_state=0).fit_predict(X)
    return adjusted_rand_score(y, labels)


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_gives_the_same_data(name):
    with generators.untouched():
        one, two, other = (GENERATORS[name](seed) for seed in (0, 0, 1))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], other[0])


def test_synth_25():
    X, y = make_synth(random_state=0)
    assert X.shape == (12_000, 27)
    assert np.bincount(y).tolist() == [3000] * 4
    assert found(X[:, :2], y, 4) > 0.999
    assert abs(found(X[:2000, 2:], y[:2000], 4)) < 0.02
    # The other dimensions are independent of the cluster and of each other.
    means = np.array([X[y == k, 2:].mean(axis=0) for k in range(4)])
    assert np.abs(means).max() < 5 * 3.5 / np.sqrt(3000)
    off_diagonal = np.corrcoef(X[:, 2:].T) - np.eye(25)
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(12_000)
    np.testing.assert_allclose(X[:, 2:].std(axis=0), 3.5, rtol=0.04)


def test_synth_d():
    X, y = make_synth(n_noise_dimensions=0, n_samples=10, separation=100, random_state=0)
    assert X.shape == (10, 2)
    np.testing.assert_allclose(np.abs(X), 50, atol=5)
    assert sorted(np.bincount(y)) == [2, 2, 3, 3]
    wide, _ = make_synth(noise_scale=7, random_state=0)
    np.testing.assert_allclose(wide[:, 2:].std(axis=0), 7, rtol=0.04)
    with pytest.raises(ValueError, match="n_samples=3 was given, expected at least one for each of 4"):
        make_synth(n_samples=3)


def test_idc_synthetic():
    X, y, informative = make_idc_synthetic(random_state=0)
    assert X.shape == (3200, 13)
    assert np.bincount(y).tolist() == [800] * 4
    assert np.abs(X[:, :3]).max() == 1
    np.testing.assert_allclose(X[:, 3:].std(axis=0), 0.1, rtol=0.06)
    assert informative.sum(axis=1).tolist() == [2, 2, 2, 2]
    assert not informative[:, 3:].any()
    assert informative[y].shape == X.shape
    # All four in {x1, x2, x3}; in {x1, x2} clusters 2 and 3 are one, in {x1, x3} clusters 0 and 1.
    assert found(X[:, :3], y, 4) > 0.99
    assert found(X[:, [0, 1]], np.minimum(y, 2), 3) > 0.99
    assert found(X[:, [0, 2]], np.maximum(y, 1), 3) > 0.99
    assert abs(found(X[y >= 2][:, [0, 1]], y[y >= 2], 2)) < 0.02
    assert abs(found(X[y < 2][:, [0, 2]], y[y < 2], 2)) < 0.02
    assert abs(found(X[:, 3:], y, 4)) < 0.02


def test_five_gaussians():
    X, y, centers = make_five_gaussians(random_state=0)
    assert X.shape == (2000, 2)
    assert np.bincount(y).tolist() == [400] * 5
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    means = np.array([X[y == k].mean(axis=0) for k in range(5)])
    assert np.abs(means - centers).max() < 5 * X[y == 0].std() / np.sqrt(400)
    assert found(X, y, 5) > 0.95


# --- objects -------------------------------------------------------------------------------------


def rays(*numbers):
    return tuple(np.array([[number]], dtype=np.float32) for number in numbers)


@pytest.mark.parametrize(
    ("shape", "origin", "ray", "distance", "normal"),
    [
        ("sphere", (0, 0, 5), (0, 0, -1), 4, (0, 0, 1)),
        ("sphere", (5, 0, 0), (-2, 0, 0), 2, (1, 0, 0)),
        ("cube", (0, 0, 5), (0, 0, -1), 4.2, (0, 0, 1)),
        ("cube", (0.5, 5, 0.5), (0, -1, 0), 4.2, (0, 1, 0)),
        ("cylinder", (0, 5, 0), (0, -1, 0), 4, (0, 1, 0)),
        ("cylinder", (5, 0.5, 0), (-1, 0, 0), 4.28, (1, 0, 0)),
    ],
)
def test_rays_meet_the_shapes_where_they_must(shape, origin, ray, distance, normal):
    met, direction = _meet(shape, rays(*origin), rays(*ray))
    assert met.item() == pytest.approx(distance, abs=1e-5)
    np.testing.assert_allclose(np.ravel(np.broadcast_arrays(*direction)), normal, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_meeting_is_on_the_surface_and_no_ray_is_missed(shape):
    generator = np.random.default_rng(0)
    start = generator.normal(size=(3, 1, 2000))
    start *= 4 / np.linalg.norm(start, axis=0)
    aim = generator.uniform(-1.2, 1.2, size=(3, 1, 2000))
    origin, ray = tuple(start.astype(np.float32)), tuple((aim - start).astype(np.float32))
    met, normal = _meet(shape, origin, ray)
    hit = met < 1e5
    x, y, z = (a + met * b for a, b in zip(origin, ray, strict=True))
    depth = {
        "sphere": lambda x, y, z: np.sqrt(x**2 + y**2 + z**2) - 1,
        "cube": lambda x, y, z: np.maximum(np.maximum(abs(x), abs(y)), abs(z)) - 0.8,
        "cylinder": lambda x, y, z: np.maximum(np.sqrt(x**2 + z**2) - 0.72, abs(y) - 1),
    }[shape]
    assert np.abs(depth(x[hit], y[hit], z[hit])).max() < 1e-4
    lengths = np.sqrt(sum(np.broadcast_to(part, met.shape)[hit] ** 2 for part in normal))
    np.testing.assert_allclose(lengths, 1, atol=1e-3)
    assert (sum(n * r for n, r in zip(normal, ray, strict=True))[hit] < 1e-3).all()  # towards the viewer
    # The literal search: steps along the ray.
    steps = np.linspace(0, 2, 400)[:, None, None]
    inside = depth(*(a + steps * b for a, b in zip(origin, ray, strict=True))) < -1e-3
    assert not (inside.any(axis=0) & ~hit).any()
    assert 0.2 < hit.mean() < 1


@pytest.fixture
def pose():
    _, _, parameters = make_objects(n_samples=1, size=4, light_variation=0, pose_variation=0, random_state=0)
    return parameters


@pytest.mark.parametrize("shape", SHAPES)
def test_the_picture_mirrors_the_lamp(shape, pose):
    right = pose.assign(lamp_azimuth=0.4, turn=0.0)
    left = pose.assign(lamp_azimuth=np.pi - 0.4, turn=0.0)
    one, two = render(shape, right)[0], render(shape, left)[0]
    assert np.abs(one - two).max() > 0.1
    np.testing.assert_allclose(one, two[:, ::-1], atol=1e-4)


def test_the_lamp_lights_its_side_and_casts_a_shadow(pose):
    picture = render("sphere", pose.assign(lamp_azimuth=0.0))[0]
    row = picture[32]
    middle = 32
    assert row[middle + 8] > row[middle - 8] + 0.1  # the lamp is to the right
    dark = render("sphere", pose.assign(lamp_azimuth=0.0, lamp_power=0.0, ambient=0.2))[0]
    np.testing.assert_allclose(np.unique(dark), [0.08, 0.12], rtol=1e-6)  # floor and object, in ambient light
    # The sphere's outline is a disc of its radius: the camera is parallel.
    area = (np.isclose(dark, 0.12)).mean() * (2 * 2.3) ** 2
    assert area == pytest.approx(np.pi * 0.93**2, rel=0.02)
    floor = ~np.isclose(dark, 0.12)
    ambient_only = np.isclose(picture, 0.4 * pose["ambient"][0], atol=1e-4)
    assert (floor & ambient_only)[:, :32].sum() > 50  # the shadow falls to the left
    assert not (floor & ambient_only)[:, 56:].any()


def test_objects():
    images, y, parameters = make_objects(n_samples=100, size=24, random_state=0)
    assert images.shape == (100, 24, 24)
    assert images.dtype == np.uint8
    assert sorted(np.bincount(y)) == [33, 33, 34]
    assert parameters.shape == (100, 8)
    assert images.reshape(100, -1).std(axis=1).min() > 5  # no empty picture
    quiet, _, same = make_objects(n_samples=100, size=24, noise=0, random_state=0)
    np.testing.assert_array_equal(same, parameters)
    difference = images.astype(float) - quiet
    assert 3 < difference[(quiet > 30) & (quiet < 220)].std() < 7  # 0.02 of 255
    with pytest.raises(ValueError, match="pose_variation=2 was given"):
        make_objects(pose_variation=2)


def test_light_decides_what_k_means_finds():
    scores = {}
    for light, pose in ((0.1, 0.3), (1.0, 0.0)):
        images, y, _ = make_objects(
            n_samples=300, size=32, light_variation=light, pose_variation=pose, random_state=0
        )
        labels = KMeans(3, n_init=5, random_state=0).fit_predict(images.reshape(300, -1) / 255)
        scores[light] = normalized_mutual_info_score(y, labels)
    assert scores[0.1] > 0.95
    assert scores[1.0] < 0.1
