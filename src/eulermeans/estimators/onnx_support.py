"""Conversion to ONNX: skl2onnx asks an estimator that it does not know for its converter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer
    from skl2onnx.common._topology import Operator, Scope
    from sklearn.cluster import KMeans

    from .data_entrance import Metric

KMEANS = "SklearnKMeans"  # skl2onnx's name for what it knows of KMeans: labels and distances from the centers


class OnnxSupportMixin(ABC):
    """What skl2onnx calls. It is imported by then, and never before."""

    metric: Metric

    @abstractmethod
    def to_sklearn(self) -> KMeans:
        """A fitted KMeans with the same centers."""

    def onnx_shape_calculator(self) -> Callable[[Operator], None]:
        """The function that sets the shapes of the outputs: a label, and the distance to each center."""
        from skl2onnx.common._registration import get_shape_calculator

        calculator: Callable[[Operator], None] = get_shape_calculator(KMEANS)
        return calculator

    def onnx_converter(self) -> Callable[[Scope, Operator, ModelComponentContainer], None]:
        """The function that writes the graph, which is that of KMeans with the same centers."""
        if self.metric == "cosine":
            raise NotImplementedError(
                "distances with metric='cosine' can't be converted to ONNX; convert model.to_sklearn(), which has "
                "the same labels and Euclidean distances."
            )
        from skl2onnx.common._registration import get_converter

        def convert(scope: Scope, operator: Operator, container: ModelComponentContainer) -> None:
            operator.raw_operator = self.to_sklearn()
            get_converter(KMEANS)(scope, operator, container)

        return convert
