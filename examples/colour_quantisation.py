"""
Colours of a photograph
=======================

The best palette of a few colours is a k-means problem over the pixels. A worse minimum is a palette that lacks a
colour. The photograph comes with scikit-learn; its pixels are clustered as bytes, without a copy to floats.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from eulermeans import EulerMeans

image = np.ascontiguousarray(load_sample_image("china.jpg")[::4, ::4])
pixels = image.reshape(-1, 3)
n_colours = 16
print(f"{len(pixels)} pixels, {len(np.unique(pixels, axis=0))} colours, reduced to {n_colours}")

# %%
# Palettes from four seeds each. The signal-to-noise ratio says how close the reduced image is to the original.


def decibels(model: KMeans) -> float:
    """The signal-to-noise ratio of the image in the colours of the model."""
    return 10 * np.log10(255**2 * pixels.size / model.inertia_)


palettes = {
    "EulerMeans": [EulerMeans(n_colours, random_state=seed).fit(pixels) for seed in range(4)],
    "KMeans": [KMeans(n_colours, random_state=seed).fit(pixels) for seed in range(4)],
}
for name, models in palettes.items():
    ratios = [decibels(model) for model in models]
    print(f"{name:10s}  PSNR {min(ratios):.2f} to {max(ratios):.2f} dB")

# %%
# The photograph before and after. The width of a colour in the bar is its share of the pixels.

best = min(palettes["EulerMeans"], key=lambda model: model.inertia_)
palette = np.rint(best.cluster_centers_).astype(np.uint8)
shares = np.bincount(best.labels_) / len(pixels)

figure = plt.figure(figsize=(10, 4.3), layout="constrained")
places = figure.subplot_mosaic([["before", "after"], ["palette", "palette"]], height_ratios=[10, 1])
places["before"].imshow(image)
places["before"].set_title("original")
places["after"].imshow(palette[best.labels_].reshape(image.shape))
places["after"].set_title(f"{n_colours} colours")
places["palette"].barh(0, shares, left=np.cumsum(shares) - shares, color=palette / 255, height=1)
places["palette"].set(xlim=(0, 1), ylim=(-0.5, 0.5))
for ax in places.values():
    ax.axis("off")
plt.show()
