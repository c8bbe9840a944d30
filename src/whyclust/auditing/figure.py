"""The audit as a drawing: methods with error bars, clusters with their stability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyclust._extras import missing
from whyclust.auditing.refits import PATTERN, STABLE

if TYPE_CHECKING:
    from whyclust.auditing.result import Audit

OWN, OTHER, FLOOR = "#1f6fb4", "#5a6675", "#b4531f"
# Below this many inches a line of text would touch the next.
LINE_HEIGHT = 0.32


def draw(audit: Audit) -> Any:
    """Return a matplotlib Figure; no global state is touched and nothing is shown."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("Audit.plot()", "plots") from None
    stability = audit.stability
    n_lines = max(len(audit.methods), 0 if stability is None else len(stability))
    n_panels = 1 if stability is None else 2
    figure = Figure(figsize=(5.5 * n_panels, 1.9 + LINE_HEIGHT * n_lines), layout="constrained")
    panels = figure.subplots(1, n_panels, squeeze=False)[0]
    _draw_methods(panels[0], audit)
    if stability is not None:
        _draw_clusters(panels[1], stability)
        # Inside it would cover the bars.
        figure.legend(loc="outside lower right", ncols=2, fontsize="small", frameon=False)
    figure.suptitle(f"Can I trust this? {audit.trusted.capitalize()}.")
    return figure


def _draw_methods(axes: Any, audit: Audit) -> None:
    methods = audit.methods.iloc[::-1]
    for place, (name, area, error) in enumerate(
        zip(methods["method"], methods["auc"], methods["se"], strict=True)
    ):
        colour = OWN if name == "neon" else FLOOR if name == "random" else OTHER
        axes.errorbar(area, place, xerr=1.96 * error, fmt="o", color=colour, capsize=3)
    axes.set_yticks(range(len(methods)), methods["method"])
    axes.set_xlabel("area under the curve of Algorithm 1, 95% interval")
    axes.set_title("Faithful?")
    axes.grid(axis="x", alpha=0.3)


def _draw_clusters(axes: Any, stability: Any) -> None:
    lines = stability.iloc[::-1]
    sources = [source for source in ("bootstrap", "reseed") if source in lines]
    height = 0.8 / len(sources)
    for number, source in enumerate(sources):
        places = [place + (0.5 * (len(sources) - 1) - number) * height for place in range(len(lines))]
        axes.barh(
            places,
            lines[source].astype(float),
            height=0.9 * height,
            xerr=1.96 * lines[f"{source}_se"].astype(float),
            color=OWN if source == "bootstrap" else OTHER,
            ecolor="black",
            capsize=2,
            label="other rows" if source == "bootstrap" else "other seeds",
        )
    axes.set_yticks(range(len(lines)), [str(cluster) for cluster in lines["cluster"]])
    for threshold in (PATTERN, STABLE):
        axes.axvline(threshold, color=FLOOR, linestyle=":", linewidth=1)
    axes.set_xlim(0, 1.05)
    axes.set_ylabel("cluster")
    axes.set_xlabel(f"Jaccard similarity in refits; {STABLE:g} is stable, below {PATTERN:g} not")
    axes.set_title("Stable?")
