"""Pictures of the gallery in two versions, one for a light and one for a dark page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

INK = {"light": "#1b1f24", "dark": "#e7eaee"}


class TwoThemes:
    """Saves every figure twice, transparent, with the ink of the theme; the style sheet shows the one that fits."""

    def __repr__(self) -> str:
        return "TwoThemes"

    def __call__(self, block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
        from matplotlib import pyplot

        lines = []
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            path = Path(next(block_vars["image_path_iterator"]))
            dark = path.with_name(f"{path.stem}_dark.png")
            for theme, target in (("dark", dark), ("light", path)):
                _ink(figure, INK[theme])
                figure.savefig(target, dpi=110, transparent=True, bbox_inches="tight")
            folder = Path(gallery_conf["src_dir"])
            for theme, target in (("light", path), ("dark", dark)):
                name = target.relative_to(folder).as_posix()
                lines += [f".. image:: /{name}", "   :alt: see the text", f"   :class: only-{theme}", ""]
        pyplot.close("all")
        return "\n".join(lines)


def _ink(figure: Any, color: str) -> None:
    """Draw text, axes and ticks in one color."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if not getattr(text, "keep_color", False):
            text.set_color(color)
    for axes in figure.axes:
        axes.tick_params(colors=color, which="both")
        for spine in axes.spines.values():
            spine.set_edgecolor(color)
        if (legend := axes.get_legend()) is not None:
            legend.get_frame().set_alpha(0.0)
