"""A graph as one web page: a drawing that is moved with the mouse and enlarged with its wheel. It loads nothing.

A `Picture` in, HTML out.
"""

from __future__ import annotations

import html

from consilience.backends.printing.layout import LINE, MARGIN, Drawing, Placed, arrange
from consilience.backends.printing.picture import KINDS, Picture

_STYLE = """
html,body{margin:0;height:100%;overflow:hidden;background:#fff;font:12px monospace}
svg{width:100%;height:100%;cursor:grab}
text{font:11.5px monospace;white-space:pre}
.box rect{stroke:#555}.box.constant>rect,.box.input>rect,.box.parameter>rect{rx:12}
.graph>rect{fill:#fafafa;stroke:#999;stroke-dasharray:4 3}
.graph>text,.arrow text{fill:#777;font-size:10px}
path{fill:none;stroke:#888}
.lit>rect{stroke:#c33;stroke-width:2}.arrow.lit path{stroke:#c33;stroke-width:2}
#hint{position:fixed;left:8px;bottom:8px;background:#fffc;padding:2px 6px}
"""
_SCRIPT = """
const svg=document.querySelector('svg'),hint=document.getElementById('hint');
let [x,y,w,h]=svg.getAttribute('viewBox').split(' ').map(Number);
const show=()=>svg.setAttribute('viewBox',[x,y,w,h].join(' '));
svg.addEventListener('wheel',e=>{e.preventDefault();
  const p=new DOMPoint(e.clientX,e.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const k=Math.exp(e.deltaY*0.0015);x=p.x-(p.x-x)*k;y=p.y-(p.y-y)*k;w*=k;h*=k;show();},{passive:false});
let held=null;
svg.addEventListener('pointerdown',e=>{held=[e.clientX,e.clientY];svg.setPointerCapture(e.pointerId);});
svg.addEventListener('pointermove',e=>{if(!held)return;const m=svg.getScreenCTM();
  x-=(e.clientX-held[0])/m.a;y-=(e.clientY-held[1])/m.d;held=[e.clientX,e.clientY];show();});
svg.addEventListener('pointerup',()=>{held=null;});
const light=(key,on)=>document.querySelectorAll('.arrow').forEach(a=>{
  if(a.dataset.from===key||a.dataset.to===key)a.classList.toggle('lit',on);});
document.querySelectorAll('.box').forEach(b=>{
  b.addEventListener('pointerenter',()=>{b.classList.add('lit');light(b.id,true);hint.textContent=b.dataset.source||'';});
  b.addEventListener('pointerleave',()=>{b.classList.remove('lit');light(b.id,false);hint.textContent='';});});
"""


def page(drawn: Picture, title: str = "graph") -> str:
    """The whole page; the user's line of a value is shown while the mouse is over it."""
    drawing = arrange(drawn)
    width, height = max(drawing.width, 1.0), max(drawing.height, 1.0)
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
            svg(drawing, f'viewBox="0 0 {width:.0f} {height:.0f}"'),
            f'<div id="hint"></div><script>{_SCRIPT}</script></body></html>',
        ]
    )


def svg(drawing: Drawing, attributes: str = "") -> str:
    """The drawing as SVG."""
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#888;stroke:none"/></marker></defs>'
    )
    body = "\n".join(_drawn(drawing))
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{marker}\n{body}\n</svg>'


def _drawn(drawing: Drawing) -> list[str]:
    written = []
    for start, end, text, points in drawing.arrows:
        label = ""
        if text:
            x, y = points[-1]
            label = f'<text x="{x + 3:.1f}" y="{y - 8:.1f}">{html.escape(text)}</text>'
        curve = f'<path d="{_curve(points)}" marker-end="url(#head)"/>'
        written.append(f'<g class="arrow" data-from="{start}" data-to="{end}">{curve}{label}</g>')
    for placed in drawing.boxes:
        written += _box(placed)
    return written


def _curve(points: tuple[tuple[float, float], ...]) -> str:
    """A line through the points that leaves and enters boxes upright."""
    x, y = points[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in points[1:]:
        middle = (y + to_y) / 2
        parts.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(parts)


def _box(placed: Placed) -> list[str]:
    box = placed.box
    colour = KINDS[box.kind][2]
    source = html.escape(box.source, quote=True)
    place = f"translate({placed.x:.1f} {placed.y:.1f})"
    written = [
        f'<g class="box {box.kind}" id="{box.key}" data-source="{source}" transform="{place}">',
        f'<rect width="{placed.width:.1f}" height="{placed.height:.1f}" fill="{colour}"/>',
    ]
    for number, line in enumerate(box.lines):
        y = MARGIN + LINE * (number + 0.75)
        written.append(f'<text x="{MARGIN}" y="{y:.1f}">{html.escape(line)}</text>')
    for name, x, y, inside in placed.inner:
        written.append(f'<g class="graph" transform="translate({x:.1f} {y:.1f})">')
        written.append(f'<rect width="{inside.width:.1f}" height="{inside.height:.1f}"/>')
        written.append(f'<text x="2" y="-3">{html.escape(name)}</text>')
        written += [*_drawn(inside), "</g>"]
    return [*written, "</g>"]
