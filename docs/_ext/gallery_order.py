"""The order of the examples in the gallery: first what most readers look for."""

from __future__ import annotations

ORDER = (
    "escape_from_a_minimum",
    "choosing_k",
    "customer_segments",
    "colour_quantisation",
    "topics_of_texts",
    "cosine_tfidf",
    "bounded_teams",
    "vector_search",
    "balanced_lists",
    "certificates",
    "streaming_drift",
    "out_of_core",
    "dask_collection",
)


class GalleryOrder:
    """Sphinx-Gallery's key to sort the examples of a folder; one that is not listed is an error."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        """The place of the file."""
        return ORDER.index(filename.removesuffix(".py"))

    def __repr__(self) -> str:
        return type(self).__name__
