"""Adds a summary of the fit to what notebooks show of an estimator."""

from __future__ import annotations


class SummaryMixin:
    """scikit-learn's HTML diagram followed by our summary, which is imported only when it is shown."""

    def _repr_html_inner(self) -> str:
        from ..plot.notebook_summary import summary

        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return diagram + summary(self)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        from ..plot.notebook_summary import summary

        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += summary(self)
        return bundle
