"""Plots of a fitted model: how the fit went, and what the clusters look like.

Every function takes the model, the data if rows are shown, and `ax=` to draw into existing axes; it returns the
Axes. A model is a fitted estimator with centers, or a pipeline of scalers that ends with one. Pass a pipeline the
data that it was fitted to; centers are then shown in the units of that data. Matplotlib is imported only when
something is drawn; the extra `plot` installs it.
"""

from .center_plots import centers
from .cluster_plots import silhouette, sizes
from .fit_plots import objective, restarts
from .plane_plot import plane

__all__ = ["centers", "objective", "plane", "restarts", "silhouette", "sizes"]
