"""Pages for a browser: Plotly drawings with words on hover, everything in one file."""

from __future__ import annotations

import html
from importlib import import_module
from typing import IO, Any

import numpy as np

from .layout import VALUE_COLOURS, fit, line_colours, line_width
from .scene import Array, Key, Lines, Marks, Notes, Panel, Scene, Shapes, points_of

_WIDTH, _HEIGHT = 1020.0, 700.0  # pixels that sizes of marks are chosen for
_WORDS = {
    "lines": 2500,
    "marks": 5000,
}  # what more lines and marks say on hover is left out, for the size of the page
_SYMBOLS = {"circle": "circle", "square": "square", "diamond": "diamond", "triangle": "triangle-up"}

_STYLE = """
html,body{margin:0;height:100%;font:14px/1.4 system-ui,"Segoe UI","DejaVu Sans",sans-serif;color:#26323D}
body{display:grid;grid-template:auto minmax(0,1fr) auto/minmax(0,1fr) 310px;min-height:640px;min-width:900px;
height:100vh;box-sizing:border-box;padding:18px 24px 12px;gap:8px 16px}
header,footer{grid-column:1/3}h1{font-size:24px;margin:0}p{margin:2px 0;color:#5F6B76}p.sub{color:#26323D}
aside{overflow:auto}
h2{font-size:14px;margin:14px 0 4px}aside div{display:flex;gap:8px;margin:3px 0;font-size:13px}
aside svg{flex:none;margin-top:1px}
.bar{height:14px;width:230px}.ends{width:230px;justify-content:space-between}
main{min-height:0}main>div,#drawing{height:100%;width:100%}footer{font-size:13px;color:#5F6B76}
"""


def separated(paths: list[Array]) -> Array:
    """Join paths with gaps between them."""
    gap = np.full((1, paths[0].shape[1]), np.nan)
    return np.concatenate([np.concatenate([p, gap]) for p in paths]).astype(np.float32)


class Page:
    """The drawing of a scene as a Plotly figure."""

    def __init__(self, scene: Scene) -> None:
        self.go = import_module("plotly.graph_objects")
        self.scene = scene
        self.fig = self.go.Figure()
        self.place: dict[str, Any] = {}
        self.three = False
        self.words = dict(_WORDS)
        for i, panel in enumerate(scene.panels):
            self.panel(panel, "" if i == 0 else str(i + 1))
        self.fig.update_layout(
            template="none",
            showlegend=False,
            margin={"l": 0, "r": 0, "t": 4, "b": 0},
            hovermode="closest",
            paper_bgcolor="white",
            plot_bgcolor="white",
            font={"color": "#26323D", "family": "system-ui, DejaVu Sans, sans-serif"},
            hoverlabel={"align": "left", "bgcolor": "white", "font": {"size": 13}},
            dragmode="pan",
        )

    def panel(self, panel: Panel, suffix: str) -> None:
        """Add a panel."""
        left, bottom, wide, high = panel.box
        title = 0.04 if panel.title else 0.0
        domain_x, domain_y = [left, left + wide], [bottom, bottom + high - title]
        low, upper, scale = fit(panel, _WIDTH * wide * 0.75, _HEIGHT * (high - title) * 0.75)
        self.scale = scale / 0.75
        self.three = panel.spatial
        if panel.title:
            self.fig.add_annotation(
                text=f"<b>{html.escape(panel.title)}</b>",
                x=left,
                y=bottom + high,
                xref="paper",
                yref="paper",
                xanchor="left",
                yanchor="top",
                showarrow=False,
                font={"size": 14},
            )
        if self.three:
            hidden = {"visible": False}
            eye = {"x": 0.85, "y": -1.55, "z": 0.85}
            points = np.concatenate([p for item in panel.items for p in points_of(item)])
            extent = np.maximum(np.ptp(points, axis=0), 1e-6)
            ratio = dict(zip("xyz", (2.2 * extent / np.linalg.norm(extent)).tolist(), strict=True))
            self.fig.update_layout(
                {
                    f"scene{suffix}": {
                        "domain": {"x": domain_x, "y": domain_y},
                        "xaxis": hidden,
                        "yaxis": hidden,
                        "zaxis": hidden,
                        "aspectmode": "manual",
                        "aspectratio": ratio,
                        "dragmode": "orbit",
                        "camera": {"eye": eye, "projection": {"type": "orthographic"}},
                    }
                }
            )
            self.place = {"scene": f"scene{suffix}"}
        else:
            axis: dict[str, Any] = {"visible": False, "zeroline": False}
            across = {**axis, "domain": domain_x, "anchor": f"y{suffix}", "range": [low[0], upper[0]]}
            up = {**axis, "domain": domain_y, "anchor": f"x{suffix}", "range": [low[1], upper[1]]}
            if panel.axes is None:
                up |= {"scaleanchor": f"x{suffix}", "scaleratio": 1}
            else:
                low, upper = panel.bounds()
                shown = {"visible": True, "showgrid": False, "ticks": "outside", "automargin": True}
                across |= {**shown, "title": {"text": panel.axes[0]}, "range": [low[0], upper[0]]}
                up |= {**shown, "title": {"text": panel.axes[1]}, "range": [low[1], 1.05 * upper[1]]}
            self.fig.update_layout({f"xaxis{suffix}": across, f"yaxis{suffix}": up})
            self.place = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        for item in sorted(panel.items, key=lambda item: item.order):
            self.item(item)

    def trace(self, points: Array, **style: Any) -> None:
        """Add one trace in the current panel."""
        style = {"hoverinfo": "skip", **style, **self.place}
        if self.three:
            x, y, z = points.T
            style.pop("fill", None)
            self.fig.add_trace(self.go.Scatter3d(x=x, y=y, z=z, **style))
        else:
            x, y = points.T
            self.fig.add_trace(self.go.Scatter(x=x, y=y, **style))

    def item(self, item: Any) -> None:
        """Add lines, marks, shapes or words."""
        if isinstance(item, Lines):
            self.lines(item)
        elif isinstance(item, Shapes):
            self.shapes(item)
        elif isinstance(item, Marks):
            if self.three and item.name == "route-badges":
                return  # in space they would hide their numbers
            size = float(np.clip(item.size * self.scale, 1.33 * item.limits[0], 1.33 * item.limits[1]))
            marker = {"size": size * (0.55 if self.three else 1), "color": item.color, "opacity": 1}
            marker["symbol"] = "circle" if self.three and item.shape == "triangle" else _SYMBOLS[item.shape]
            marker["line"] = {"color": item.edge, "width": 1.6 if item.edge != "white" else 0.5}
            self.trace(
                item.points.astype(np.float32),
                mode="markers",
                marker=marker,
                name=item.name,
                **self.hover(item, len(item.points), "marks"),
            )
        else:
            assert isinstance(item, Notes)
            texts = [html.escape(t).replace("\n", "<br>") for t in item.texts]
            if item.bold:
                texts = [f"<b>{t}</b>" for t in texts]
            # Plotly names the side the words are on, not the point of the words at the place.
            down = {"top": "bottom", "middle": "middle", "bottom": "top"}[item.anchor[1]]
            across = {"left": "right", "center": "center", "right": "left"}[item.anchor[0]]
            self.trace(
                item.points.astype(np.float32),
                mode="text",
                text=texts,
                textposition=f"{down} {across}",
                textfont={"size": item.size * 1.3, "color": item.color},
            )

    def hover(self, item: Lines | Marks | Shapes, n: int, kind: str) -> dict[str, Any]:
        """Words on hover for the first `n` parts of an item, as long as there is room on the page."""
        if item.hover is None or n > self.words[kind]:
            return {}
        self.words[kind] -= n
        return {"hoverinfo": "text", "hovertext": [item.hover(i) for i in range(n)]}

    def lines(self, item: Lines) -> None:
        """Add lines, one trace a colour, and invisible marks half way that carry the words."""
        groups: dict[str, list[Array]] = {}
        for path, colour in zip(item.paths, line_colours(self.scene, item), strict=True):
            groups.setdefault(colour, []).append(path)
        for colour, paths in groups.items():
            line = {"color": colour, "width": line_width(item) * 1.33 * (1.4 if self.three else 1)}
            line["dash"] = "dash" if item.dashed else "solid"
            self.trace(separated(paths), mode="lines", line=line, opacity=item.alpha, name=item.name)
        words = self.hover(item, len(item.paths), "lines")
        if words:
            middle = np.array([(p[(len(p) - 1) // 2] + p[len(p) // 2]) / 2 for p in item.paths])
            self.trace(
                middle.astype(np.float32),
                mode="markers",
                marker={"size": 9, "opacity": 0, "color": "#000"},
                **words,
            )

    def shapes(self, item: Shapes) -> None:
        """Add polygons, one trace a colour."""
        n = len(item.polygons)
        faces, edges = ([c] * n if isinstance(c, str) else list(c) for c in (item.face, item.edge))
        groups: dict[tuple[str, str], list[Array]] = {}
        for polygon, face, edge in zip(item.polygons, faces, edges, strict=True):
            groups.setdefault((face, edge), []).append(np.concatenate([polygon, polygon[:1]]))
        for (face, edge), polygons in groups.items():
            line = {"color": edge if edge != "none" else "rgba(0,0,0,0)", "width": item.width * 1.33}
            fill = {} if face == "none" else {"fill": "toself", "fillcolor": face}
            if self.three and edge == "none":
                continue
            if self.three:
                fill = {}
            self.trace(separated(polygons), mode="lines", line=line, opacity=item.alpha, name=item.name, **fill)
        if item.hover is not None:
            middle = np.array([p.mean(axis=0) for p in item.polygons]).astype(np.float32)
            self.trace(
                middle,
                mode="markers",
                marker={"size": 12, "opacity": 0, "color": "#000"},
                **self.hover(item, n, "lines"),
            )


def swatch(key: Key) -> str:
    """Draw the sample of a legend entry as SVG."""
    shapes = {
        "line": f'<path d="M1 9h20" stroke="{key.color}" stroke-width="3"/>',
        "dash": f'<path d="M1 9h20" stroke="{key.color}" stroke-width="3" stroke-dasharray="5 3"/>',
        "square": f'<rect x="6" y="4" width="10" height="10" fill="{key.color}"/>',
        "diamond": f'<path d="M11 3l6 6-6 6-6-6z" fill="{key.color}"/>',
        "triangle": f'<path d="M11 3l6 11H5z" fill="{key.color}"/>',
    }
    dot = f'<circle cx="11" cy="9" r="5" fill="{key.color}"/>'
    return f'<svg width="22" height="18">{shapes.get(key.swatch, dot)}</svg>'


def legend(scene: Scene) -> str:
    """Write the legend as HTML."""
    rows = []
    if scene.values is not None:
        low, high = scene.values
        stops = ",".join(VALUE_COLOURS)
        rows.append(f"<h2>{html.escape(scene.values_label)}</h2>")
        rows.append(f'<div class="bar" style="background:linear-gradient(90deg,{stops})"></div>')
        rows.append(f'<div class="ends"><span>{low:.4g}</span><span>{high:.4g}</span></div>')
    for key in scene.keys:
        text = html.escape(key.text)
        if key.swatch == "heading":
            rows.append(f"<h2>{text}</h2>")
        else:
            rows.append(f"<div>{'' if key.swatch == 'text' else swatch(key)}<span>{text}</span></div>")
    return "\n".join(rows)


def write(page: Page, file: IO[bytes]) -> None:
    """Write a scene as a page that needs no network."""
    scene = page.scene
    drawing = page.fig.to_html(
        full_html=False,
        include_plotlyjs=True,
        default_height="100%",
        div_id="drawing",
        config={"responsive": True, "displaylogo": False, "scrollZoom": True},
    )
    subtitle = f'<p class="sub">{html.escape(scene.subtitle)}</p>' if scene.subtitle else ""
    turn = (
        " Drag to turn, scroll to zoom."
        if any(len(points_of(i)) and p.spatial for p in scene.panels for i in p.items)
        else " Drag to move, scroll to zoom."
    )
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(scene.title)}</title>"
        f"<style>{_STYLE}</style></head><body><header><h1>{html.escape(scene.title)}</h1>{subtitle}"
        f"<p>{html.escape(scene.facts)}</p></header><main>{drawing}</main>"
        f"<aside>{legend(scene)}</aside>"
        f"<footer>{html.escape(scene.caption.strip() + turn)}</footer></body></html>"
    )
    file.write(text.encode())
