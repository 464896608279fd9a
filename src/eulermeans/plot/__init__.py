"""Pictures of a fitted model: how the fit went, and what the clusters are like.

Every function needs the model alone, and the data where a picture is of rows; takes `ax=` to draw into axes at
hand; and returns the Axes. A model is a fitted estimator with centers, or a pipeline of scalers that ends with
one: then data are given as the pipeline takes them, and centers are shown in those units. Matplotlib is imported
when something is drawn, not before: `pip install "eulermeans[plot]"`.
"""

from .centers import centers
from .clusters import silhouette, sizes
from .fitting import objective, restarts
from .plane import plane

__all__ = ["centers", "objective", "plane", "restarts", "silhouette", "sizes"]
