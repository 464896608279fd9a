"""Rows that are images, as small PNG images for the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray
from ..optional import optional
from ..plot.center_plots import MOST_IMAGES
from .report_records import Description

LONGEST_SIDE, SHORTEST_SIDE = 64, 16  # pixels; larger images are made smaller
MOST_PIXELS = 80_000  # of all means in one figure
MOST_BYTES = 400_000  # of all images together


def to_gray_levels(
    images: Array,  # (n, n_features), IN
    low: float,
    high: float,
) -> NDArray[np.uint8]:
    """Values from low to high as 0 to 255, (n, n_features)."""
    scaled = (np.asarray(images, dtype=np.float64) - low) / max(high - low, 1e-300)
    return np.round(255 * np.clip(scaled, 0, 1)).astype(np.uint8)


def shrink(levels: NDArray[np.uint8], shape: Sequence[int], longest: int) -> NDArray[np.uint8]:
    """One image, (height, width) or (height, width, 3), with sides of at most this many pixels."""
    image = optional("PIL.Image", "plot").fromarray(levels.reshape(shape))
    image.thumbnail((longest, longest))
    return np.asarray(image, dtype=np.uint8)


def png_address(levels: NDArray[np.uint8], shape: Sequence[int], longest: int = LONGEST_SIDE) -> str:
    """A data: address of one image."""
    buffer = io.BytesIO()
    small = shrink(levels, shape, longest)
    optional("PIL.Image", "plot").fromarray(small).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def value_range(means: FloatArray, rows: Array) -> tuple[float, float]:
    """The values that are drawn black and white."""
    return float(min(means.min(), rows.min())), float(max(means.max(), rows.max()))


def cluster_images(description: Description) -> dict[int, list[str]]:
    """For each cluster that is described, its mean and its nearest rows, until they are too many bytes."""
    shape = description.image_shape
    if shape is None:
        return {}
    low, high = value_range(description.means, description.shown.rows)
    # Half of the bytes for the means, if nothing can be compressed.
    room = MOST_BYTES / 3 / len(description.clusters) / (3 if len(shape) == 3 else 1)
    longest = int(np.clip(np.sqrt(room), SHORTEST_SIDE, LONGEST_SIDE))
    found: dict[int, list[str]] = {}
    for cluster in description.clusters:
        levels = to_gray_levels(description.means[cluster.number], low, high)
        found[cluster.number] = [png_address(levels, shape, longest)]
    n_bytes = sum(len(address) for addresses in found.values() for address in addresses)
    for cluster in description.clusters:
        for near in cluster.nearest:
            address = png_address(to_gray_levels(near.row, low, high), shape, longest)
            n_bytes += len(address)
            if n_bytes > MOST_BYTES:
                return found
            found[cluster.number].append(address)
    return found


def small_means(
    means: FloatArray,  # (n_clusters, n_features), IN
    shape: tuple[int, ...],
) -> tuple[FloatArray, tuple[int, ...]]:
    """Means as images with fewer pixels, if they are very many, and the shape of these images."""
    longest = int(np.sqrt(MOST_PIXELS / min(len(means), MOST_IMAGES)))
    if max(shape[:2]) <= longest:
        return means, shape
    levels = to_gray_levels(means, float(means.min()), float(means.max()))
    small = np.stack([shrink(image, shape, longest) for image in levels])
    return small.reshape(len(means), -1).astype(np.float64), small.shape[1:]


def separation_image(description: Description) -> str:
    """How much each pixel separates the clusters, as an image; an empty string if rows are not images."""
    if description.image_shape is None:
        return ""
    separation = np.array([feature.separation for feature in description.features])
    return png_address(to_gray_levels(separation, 0.0, float(separation.max())), description.image_shape)
