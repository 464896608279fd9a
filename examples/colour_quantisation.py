"""Reduce a photograph to a few colors: the best palette is a k-means problem over its pixels.

    python examples/colour_quantisation.py [--colors 16] [--output palette.png] [--small]

Needs the extra `plot`. The photograph comes with scikit-learn. The pixels are clustered as bytes, without a copy
to floats. The output compares the palettes of EulerMeans and of scikit-learn's KMeans for several seeds: a worse
k-means minimum is a palette that lacks a color.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from eulermeans import EulerMeans

SEEDS = range(5)


def main() -> None:
    """Fit, compare and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--colors", type=int, default=16)
    parser.add_argument("--output", default="palette.png")
    parser.add_argument("--small", action="store_true", help="use every sixth pixel, for a quick look")
    options = parser.parse_args()

    image = load_sample_image("china.jpg")  # (427, 640, 3), bytes
    if options.small:
        image = np.ascontiguousarray(image[::6, ::6])
    pixels = image.reshape(-1, 3)
    print(f"{len(pixels)} pixels with {len(np.unique(pixels, axis=0))} colors, reduced to {options.colors}")

    best = None
    for name, estimator in (("EulerMeans", EulerMeans), ("KMeans", KMeans)):
        start = time.perf_counter()
        models = [estimator(options.colors, random_state=seed).fit(pixels) for seed in SEEDS]
        seconds = (time.perf_counter() - start) / len(SEEDS)
        errors = np.array([model.inertia_ / pixels.size for model in models])  # per pixel and channel
        decibels = 10 * np.log10(255**2 / errors)
        print(f"{name:10s}  PSNR {decibels.min():.2f} to {decibels.max():.2f} dB, {seconds:.2f} s per palette")
        best = best or models[int(errors.argmin())]

    draw(image, best, options.output)
    print(f"wrote {options.output}")


def draw(image: np.ndarray, model: EulerMeans, path: str) -> None:
    """The photograph before and after, and the palette: the width of a color is its share of the pixels."""
    palette = np.rint(model.cluster_centers_).astype(np.uint8)
    shares = np.bincount(model.labels_, minlength=len(palette)) / len(model.labels_)
    order = np.argsort(-shares)
    figure = Figure(figsize=(10, 4.3), layout="constrained")
    places = figure.subplot_mosaic([["before", "after"], ["palette", "palette"]], height_ratios=[10, 1])
    places["before"].imshow(image)
    places["before"].set_title("original")
    places["after"].imshow(palette[model.labels_].reshape(image.shape))
    places["after"].set_title(f"{len(palette)} colors")
    left = np.cumsum(shares[order]) - shares[order]
    places["palette"].barh(0, shares[order], left=left, color=palette[order] / 255, height=1)
    places["palette"].set(xlim=(0, 1), ylim=(-0.5, 0.5))
    for axes in places.values():
        axes.axis("off")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
