"""Pictures of spheres, cubes and cylinders under a lamp: the OBJECTS set of the ACe/DeC paper.

A parallel camera looks down on one object that stands on a floor. Every pixel is a ray; where it first
meets the object or the floor, the lamp's light is diffuse (Lambert), with a highlight on the object and
the object's shadow on the floor. All images of a block are computed at once: arrays have one row per
image and one column per pixel. Vectors are tuples of three such arrays: x to the right, y up, z to the
viewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ("sphere", "cube", "cylinder")
Vector = tuple[NDArray, NDArray, NDArray]

_RADIUS = {"sphere": 1.0, "cube": 0.8, "cylinder": 0.72}  # half the edge, for the cube
_HALF_HEIGHT = {"sphere": 1.0, "cube": 0.8, "cylinder": 1.0}
_CAMERA_ELEVATION = np.deg2rad(32)
_HALF_WIDTH = 2.3  # of the picture, where an object has a radius of about 1
_LAMP_DISTANCE = 8.0
_BLOCK = 64  # images at once: small enough for the processor's cache
_FAR = np.float32(1e6)


def make_objects(
    n_samples: int = 10_000,
    *,
    size: int = 64,
    light_variation: float = 1.0,
    pose_variation: float = 1.0,
    noise: float = 0.02,
    random_state: Any = None,
) -> tuple[NDArray, NDArray, pd.DataFrame]:
    """Grey images of spheres, cubes and cylinders, each under a lamp of its own.

    The ACe/DeC paper has "10,000 synthetically generated gray scale images of spheres, cubes and cylinders
    with 4,096 dimensions" and random lighting, without telling how they were made. k-means on the pixels
    finds the shapes there (NMI 1.00), so light and place cannot differ much: with
    ``light_variation=0.1, pose_variation=0.3`` that is so here. With both at 1 the light decides what k-means
    finds (NMI below 0.01), though a person names every shape.

    Parameters
    ----------
    n_samples : int
        Images, as many of each shape.
    size : int
        Pixels along each side.
    light_variation : float from 0 to 1
        How much the lamp's place and power differ between images; at 1 it may stand on any side, at 0 it
        stays to the front and left.
    pose_variation : float from 0 to 1
        How much place, size and turn of the object differ between images.
    noise : float
        Standard deviation of the noise on each pixel, whose brightness runs from 0 to 1.
    random_state : int, RandomState or None
        Which images.

    Returns
    -------
    images : ndarray of uint8 of shape (n_samples, size, size)
    y : ndarray of shape (n_samples,)
        0 for spheres, 1 for cubes, 2 for cylinders.
    parameters : DataFrame
        What else differs between the images: `lamp_azimuth` and `lamp_elevation` (radians; azimuth 0
        is the right, π/2 the viewer's side), `lamp_power`, `ambient` light, `x` and `z` of the object on
        the floor, `scale`, and `turn` about its axis (radians).

    Examples
    --------
    >>> from whyclust.datasets import make_objects
    >>> images, y, parameters = make_objects(n_samples=6, random_state=0)
    >>> images.shape, images.dtype
    ((6, 64, 64), dtype('uint8'))
    """
    import pandas as pd

    for name, value in {"light_variation": light_variation, "pose_variation": pose_variation}.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value} was given, expected a number from 0 to 1.")
    generator = check_random_state(random_state)
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} was given, expected at least one image.")
    y = generator.permutation(np.arange(n_samples) % len(SHAPES))
    parameters = pd.DataFrame(_draw(n_samples, light_variation, pose_variation, generator))
    images = np.empty((n_samples, size, size), dtype=np.uint8)
    for kind, shape in enumerate(SHAPES):
        places = np.flatnonzero(y == kind)
        for start in range(0, len(places), _BLOCK):
            rows = places[start : start + _BLOCK]
            brightness = render(shape, parameters.iloc[rows], size=size)
            brightness += noise * generator.standard_normal(brightness.shape).astype(np.float32)
            images[rows] = np.rint(255 * brightness.clip(0, 1)).astype(np.uint8)
    return images, y, parameters


def _draw(n: int, light: float, pose: float, generator: np.random.RandomState) -> dict[str, NDArray]:
    """Random light and random pose, each around one that shows the shapes well."""

    def around(middle: float, reach: float, variation: float) -> NDArray:
        return middle + variation * generator.uniform(-reach, reach, n)

    return {
        "lamp_azimuth": around(2 * np.pi / 3, np.pi, light),
        "lamp_elevation": around(np.deg2rad(55), np.deg2rad(20), light),
        "lamp_power": around(0.85, 0.15, light),
        "ambient": around(0.25, 0.1, light),
        "x": around(0, 0.6, pose),
        "z": around(0, 0.6, pose),
        "scale": around(0.93, 0.22, pose),
        # A cube seen straight from the front looks flat: it is turned to show an edge.
        "turn": around(np.pi / 6, np.pi / 4, pose),
    }


def render(shape: str, parameters: pd.DataFrame, *, size: int = 64) -> NDArray:
    """Brightness from 0 to about 1, of shape (rows of `parameters`, size, size).

    Parameters
    ----------
    shape : {"sphere", "cube", "cylinder"}
        The object.
    parameters : DataFrame
        One row per image, with the columns that :func:`make_objects` returns.
    size : int
        Pixels along each side.
    """
    one = {str(name): parameters[name].to_numpy(np.float32)[:, None] for name in parameters}
    origin, ray = _camera(size)
    height = _HALF_HEIGHT[shape]
    lamp_flat = _LAMP_DISTANCE * np.cos(one["lamp_elevation"])
    lamp = (
        lamp_flat * np.cos(one["lamp_azimuth"]),
        _LAMP_DISTANCE * np.sin(one["lamp_elevation"]),
        lamp_flat * np.sin(one["lamp_azimuth"]),
    )
    # All is told in the object's own frame: moved, turned and scaled so that it is the plain shape at 0.
    origin = _into_frame(origin, one, height)
    ray = _turned(ray, one["turn"])
    lamp = _into_frame(lamp, one, height)

    met, normal = _meet(shape, origin, ray)
    on_object = met < _FAR
    to_floor = (-height - origin[1]) / ray[1]  # the floor is at y = −height
    distance = np.where(on_object, met, to_floor)
    point = _along(origin, ray, distance)
    to_lamp = tuple(a - b for a, b in zip(lamp, point, strict=True))
    length = np.sqrt(_dot(to_lamp, to_lamp))
    shadow, _ = _meet(shape, point, to_lamp)
    lit = on_object | ~((shadow > 0) & (shadow < 1))
    facing = np.where(on_object, _dot(normal, to_lamp), to_lamp[1]) / length
    # The lamp gives a pool of light: it falls off with the square of the distance.
    falls_off = (_LAMP_DISTANCE / (one["scale"] * length)) ** 2
    light = one["lamp_power"] * falls_off * facing.clip(0) * lit
    colour = np.where(on_object, np.float32(0.6), np.float32(0.4))
    shine = _highlight(normal, to_lamp, length, ray) * (on_object & (facing > 0))
    brightness = colour * (one["ambient"] + light) + np.float32(0.15) * one["lamp_power"] * shine
    return brightness.reshape(-1, size, size).astype(np.float32)


def _camera(size: int) -> tuple[Vector, Vector]:
    """Starting points of the rays, one per pixel, and their common direction."""
    sine, cosine = np.float32(np.sin(_CAMERA_ELEVATION)), np.float32(np.cos(_CAMERA_ELEVATION))
    steps = ((np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1) * np.float32(_HALF_WIDTH)
    right, down = (grid.reshape(1, -1) for grid in np.meshgrid(steps, steps))
    ahead = (np.zeros((1, 1), np.float32), np.full((1, 1), -sine), np.full((1, 1), -cosine))
    # The middle of the picture looks at a point a little above the floor.
    origin = (right, 0.8 - down * cosine + 10 * sine, down * sine + 10 * cosine)
    return origin, ahead


def _turned(vector: Vector, angle: NDArray) -> Vector:
    """The vector seen from a frame that is turned about the vertical axis."""
    sine, cosine = np.sin(angle), np.cos(angle)
    x, up, z = vector
    return (
        cosine * x - sine * z,
        np.broadcast_to(up, np.broadcast_shapes(up.shape, x.shape)),
        sine * x + cosine * z,
    )


def _into_frame(point: Vector, one: dict[str, NDArray], height: float) -> Vector:
    """A point in the frame of the object."""
    scale = one["scale"]
    moved = (
        (point[0] - one["x"]) / scale,
        point[1] / scale - np.float32(height),
        (point[2] - one["z"]) / scale,
    )
    return _turned(moved, one["turn"])


def _dot(a: Any, b: Any) -> NDArray:
    """Scalar products."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _along(origin: Vector, ray: Vector, distance: NDArray) -> Vector:
    """Points on rays."""
    x, y, z = (a + distance * b for a, b in zip(origin, ray, strict=True))
    return x, y, z


def _highlight(normal: Vector, to_lamp: Any, length: NDArray, ray: Vector) -> NDArray:
    """Blinn's highlight: how nearly the surface mirrors the lamp to the viewer."""
    half = [lamp / length - along for lamp, along in zip(to_lamp, ray, strict=True)]
    cosine = _dot(normal, half).clip(0) / np.sqrt(_dot(half, half))
    fourth = cosine**2 * cosine**2
    return fourth**2 * fourth**2 * fourth**2 * fourth**2  # the 32nd power, without pow


def _meet(shape: str, origin: Vector, ray: Vector) -> tuple[NDArray, Vector]:
    """Where rays enter the plain shape, in lengths of the ray (far if never), and the normals there."""
    if shape == "sphere":
        return _meet_sphere(origin, ray)
    return _meet_cube(origin, ray) if shape == "cube" else _meet_cylinder(origin, ray)


def _meet_sphere(origin: Vector, ray: Vector) -> tuple[NDArray, Vector]:
    """|o + t r| = 1."""
    enters, _ = _roots(_dot(ray, ray), _dot(origin, ray), _dot(origin, origin) - np.float32(1))
    return enters, _along(origin, ray, np.where(enters < _FAR, enters, np.float32(0)))


def _roots(a: NDArray, half_b: NDArray, c: NDArray) -> tuple[NDArray, NDArray]:
    """Both solutions of a t² + 2 half_b t + c = 0; (far, −far) where there are none."""
    discriminant = half_b**2 - a * c
    some = discriminant > 0
    root = np.sqrt(discriminant.clip(0))
    return np.where(some, (-half_b - root) / a, _FAR), np.where(some, (-half_b + root) / a, -_FAR)


def _slab(origin: NDArray, ray: NDArray, half: np.float32) -> tuple[NDArray, NDArray]:
    """Where rays enter and leave the space between two parallel planes."""
    # A ray along the planes is given a tiny slope: it then enters and leaves far away, or never.
    slope = np.where(np.abs(ray) < np.float32(1e-6), np.float32(1e-6), ray)
    first, second = (-half - origin) / slope, (half - origin) / slope
    return np.minimum(first, second), np.maximum(first, second)


def _meet_cube(origin: Vector, ray: Vector) -> tuple[NDArray, Vector]:
    """Three slabs: inside all from the last entrance to the first exit."""
    half = np.float32(_RADIUS["cube"])
    slabs = [_slab(o, r, half) for o, r in zip(origin, ray, strict=True)]
    enters = np.maximum(np.maximum(slabs[0][0], slabs[1][0]), slabs[2][0])
    leaves = np.minimum(np.minimum(slabs[0][1], slabs[1][1]), slabs[2][1])
    x, y, z = (
        np.where(slab[0] == enters, -np.sign(r), np.float32(0)) for slab, r in zip(slabs, ray, strict=True)
    )
    return np.where(enters < leaves, enters, _FAR), (x, y, z)


def _meet_cylinder(origin: Vector, ray: Vector) -> tuple[NDArray, Vector]:
    """A tube and a slab."""
    radius = np.float32(_RADIUS["cylinder"])
    a = (ray[0] ** 2 + ray[2] ** 2).clip(np.float32(1e-12))
    half_b = origin[0] * ray[0] + origin[2] * ray[2]
    tube_in, tube_out = _roots(a, half_b, origin[0] ** 2 + origin[2] ** 2 - radius**2)
    slab_in, slab_out = _slab(origin[1], ray[1], np.float32(_HALF_HEIGHT["cylinder"]))
    enters, leaves = np.maximum(tube_in, slab_in), np.minimum(tube_out, slab_out)
    hits = enters < leaves
    by_lid = slab_in > tube_in
    met = np.where(hits, enters, np.float32(0))
    x, _, z = _along(origin, ray, met)
    side = np.where(by_lid, np.float32(0), np.float32(1) / radius)
    lid = np.where(by_lid, -np.sign(ray[1]), np.float32(0))
    return np.where(hits, enters, _FAR), (x * side, lid, z * side)
