// Pictures: numbers enter, elements of the page leave. Names are put in as text.

export function make(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...inside.flat().filter((part) => part !== null && part !== undefined));
  return element;
}

export function drawn(tag, attributes = {}, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside.flat());
  return element;
}

export function picture(width, height, label, ...inside) {
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label.slice(0, 2000) }, ...inside);
}

// A picture as wide as its place, of unchanged height; so there are no words in it.
function stretched(width, height, label, ...inside) {
  const made = picture(width, height, label, ...inside);
  for (const [name, value] of [["width", "100%"], ["preserveAspectRatio", "none"], ["class", "stretched"]]) made.setAttribute(name, value);
  return made;
}

const ends = (from, to, middle = "") => make("div", { class: "ends" }, make("span", {}, from), make("span", {}, middle), make("span", {}, to));
export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
export const short = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);

export function words(x, y, text, more = {}) {
  return drawn("text", { x, y, ...more }, String(text));
}

export const color = (i) => getComputedStyle(document.documentElement).getPropertyValue(`--c${i % 8}`).trim();
const shade = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

export function number(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (Math.abs(x) >= 1e6 && Math.abs(x) < 1e15) return compact.format(x);
  if (x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-4)) return x.toExponential(digits - 1);
  return Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(digits)));
}

export function clock(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${number(seconds, 2)} s`;
  const s = Math.round(seconds);
  const two = (x) => String(x).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

// Puts new elements in a place; whoever stands in its table with the keyboard stays there.
export function renew(place, ...inside) {
  const old = place.querySelector(".scroll"), here = old !== null && old === document.activeElement;
  const moved = old ? [old.scrollLeft, old.scrollTop] : null;
  place.replaceChildren(...inside);
  const table = place.querySelector(".scroll");
  if (here) table?.focus({ preventScroll: true });
  if (moved && table) [table.scrollLeft, table.scrollTop] = moved;
}

export const scrolled = (label, ...inside) => make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, inside);

export function legend(labels) {
  return make("ul", { class: "legend" }, labels.map((label, i) => make("li", {}, make("i", { class: `swatch${i % 8}` }), label)));
}

const MOST_IN_LEGEND = 8;

// One line picture of uPlot, made once and given new data afterwards. A drag zooms in, two clicks zoom out; the legend
// has the values under the pointer. `options`: scales, and the `unit` of the horizontal axis.
export class Lines {
  constructor(label, height = 150, options = {}) {
    // A picture has no buttons in it, as the legend has.
    this.element = make("div", { role: options.plain ? "img" : "group", "aria-label": label });
    this.height = height;
    this.options = options;
    this.plot = null;
    new ResizeObserver(() => this.plot?.setSize({ width: this.width, height: this.height })).observe(this.element);
  }

  get width() {
    return Math.max(160, this.element.clientWidth || 500);
  }

  show(x, lines, labels, more = {}) {
    const data = [x, ...lines];
    if (this.plot && this.plot.series.length === data.length) {
      this.plot.setData(data, !this.zoomed); // who looks closely goes on to look there
      if (this.zoomed) this.plot.redraw();
      return;
    }
    this.plot?.destroy();
    this.zoomed = false;
    const unit = this.options.unit ?? "";
    const value = (u, v) => (v === null || v === undefined ? "–" : number(v, 4));
    const axis = { stroke: shade("dim"), grid: { stroke: shade("line"), width: 0.5 }, ticks: { show: false }, font: "11px system-ui" };
    this.plot = new uPlot({
      width: this.width,
      height: this.height,
      legend: { show: lines.length <= MOST_IN_LEGEND && !this.options.plain, live: true, isolate: true },
      cursor: { drag: { x: true, y: false }, points: { size: 6 } },
      hooks: { setSelect: [(u) => { this.zoomed = u.select.width > 0; }] },
      scales: { x: { time: false }, ...(this.options.scales ?? {}) },
      padding: [8, 20, 0, 0],
      axes: [{ ...axis, size: 24, label: unit, labelSize: unit ? 16 : 0, labelFont: "11px system-ui" }, { ...axis, size: 54, space: 22, values: (u, at) => at.map((v) => (v === null ? "" : number(v, 4))) }],
      series: [{ label: unit || "x", value }, ...lines.map((_, i) => ({
        label: (labels[i] ?? "asked for").slice(0, 40), value, stroke: color(more.colors ? more.colors[i] : i), width: more.width ?? 1.3, alpha: more.alpha ?? 1,
        dash: more.dashes?.[i], points: { show: x.length < 2 || more.points === true, size: 5 },
      }))],
    }, data, this.element);
    this.plot.over.addEventListener("dblclick", () => { this.zoomed = false; });
    this.only(this.alone ?? null);
    // Rows of the legend are reached by Tab, and pressed by Enter or the space bar.
    for (const [i, row] of [...this.element.querySelectorAll(".u-legend .u-series th")].entries()) {
      if (!i) continue;
      row.setAttribute("tabindex", "0");
      row.setAttribute("role", "button");
      row.setAttribute("aria-label", `${labels[i - 1].slice(0, 40)} alone, or all`);
      row.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); row.click(); } });
    }
  }

  // One line alone, by its number; all for null.
  only(number) {
    this.alone = number;
    if (!this.plot) return;
    this.plot.batch(() => { for (let i = 1; i < this.plot.series.length; i++) this.plot.setSeries(i, { show: number === null || i === number + 1 }); });
  }
}

// How far each chain is, with its divergences: rows of [name, done, of, words, tone].
export function advances(rows) {
  return make("ul", { class: "advances", "aria-label": "Progress of the chains" }, rows.map(([name, done, of, words, tone]) => make("li", {},
    make("span", {}, name), make("progress", { max: of || 1, value: Math.min(done, of || 1), class: tone, "aria-label": `${name}: ${words}` }), make("span", { class: "dim" }, words))));
}

export function ranks(rows, label) {
  const width = 300, height = 104;
  const expected = rows.length ? rows[0].reduce((a, b) => a + b, 0) / rows[0].length : 0;
  const top = Math.max(1, 1.7 * expected, ...rows.flat());
  const y = (n) => 3 + (height - 6) * (1 - n / top);
  const lines = rows.map((row, chain) => {
    const step = width / row.length;
    const points = row.flatMap((n, i) => [`${i * step},${y(n)}`, `${(i + 1) * step},${y(n)}`]).join(" ");
    return drawn("polyline", { points, fill: "none", stroke: color(chain), "stroke-width": 1.6, opacity: 0.85 });
  });
  return make("div", {}, stretched(width, height, label,
    drawn("line", { x1: 0, x2: width, y1: y(expected), y2: y(expected), stroke: shade("dim"), "stroke-dasharray": "4 4" }),
    drawn("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "axis" }), lines), ends("lowest draws", "highest", "ranks"));
}

const area = (edges, row, x, y, base, k) => drawn("polygon", {
  points: `${x(edges[0])},${base} ${row.flatMap((v, i) => [`${x(edges[i])},${y(v)}`, `${x(edges[i + 1])},${y(v)}`]).join(" ")} ${x(edges[row.length])},${base}`,
  fill: color(k), "fill-opacity": 0.35, stroke: color(k), "stroke-width": 1.4,
});

// Histograms on common edges, the first one in front.
export function bars(edges, rows, label, height = 150, unit = "value") {
  const width = 400, base = height - 2, top = Math.max(1e-300, ...rows.flat()), span = edges[edges.length - 1] - edges[0];
  const x = (v) => ((v - edges[0]) / span) * width, y = (v) => 4 + (base - 4) * (1 - v / top);
  return make("div", {}, stretched(width, height, label, rows.map((row, k) => area(edges, row, x, y, base, k)).reverse(),
    drawn("line", { x1: 0, x2: width, y1: base, y2: base, class: "axis" })), ends(number(edges[0]), number(edges[edges.length - 1]), unit));
}

export function forest(rows, width, low, top) {
  const high = 20, left = Math.min(190, Math.round(width / 3)), span = top - low || 1;
  const x = (v) => left + 6 + ((v - low) / span) * (width - left - 18);
  const shown = rows.flatMap((r, i) => {
    if (r.lower === null || r.upper === null || r.mean === null) return [];
    const y = high * i + 12;
    return [words(left - 8, y + 4, short(r.name, Math.floor(left / 6.6)), { "text-anchor": "end" }),
      (r.intervals ?? [[r.lower, r.upper]]).map(([low, top]) => drawn("line", { x1: x(low), x2: x(top), y1: y, y2: y, stroke: color(0), "stroke-width": 2.5 })),
      drawn("circle", { cx: x(r.mean), cy: y, r: 4, fill: color(1) })].flat();
  });
  const end = rows.length * high + 4;
  const zero = low < 0 && top > 0 ? [drawn("line", { x1: x(0), x2: x(0), y1: 0, y2: end, class: "axis", "stroke-dasharray": "3 3" })] : [];
  return picture(width, end + 20, "94 % intervals and means", zero, shown, drawn("line", { x1: left, x2: width, y1: end, y2: end, class: "axis" }),
    words(left, end + 15, number(low)), words((left + width) / 2, end + 15, "value", { "text-anchor": "middle" }), words(width - 6, end + 15, number(top), { "text-anchor": "end" }));
}

export function pairs(columns, diverged, names, width) {
  const n = columns.length, cell = width / n, inner = cell - 16;
  const limits = columns.map((column, k) => {
    const all = [...column, ...diverged[k]].filter((v) => v !== null && v !== undefined);
    const low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    return [low, high - low || 1];
  });
  const at = (v, k) => 8 + ((v - limits[k][0]) / limits[k][1]) * inner;
  const parts = [];
  for (let row = 0; row < n; row++) for (let col = 0; col <= row; col++) {
    const x0 = col * cell, y0 = row * cell;
    parts.push(drawn("rect", { x: x0 + 2, y: y0 + 2, width: cell - 4, height: cell - 4, fill: "none", class: "axis" }));
    if (row === col) {
      const bins = new Array(24).fill(0), room = cell - 32;
      for (const v of columns[col]) if (v !== null) bins[Math.min(23, Math.floor(((v - limits[col][0]) / limits[col][1]) * 24))]++;
      const top = Math.max(1, ...bins);
      bins.forEach((b, i) => parts.push(drawn("rect", { x: x0 + 8 + (i * inner) / 24, y: y0 + cell - 6 - (b / top) * room, width: inner / 24 - 0.5, height: (b / top) * room, fill: color(0), opacity: 0.6 })));
      parts.push(words(x0 + cell / 2, y0 + 17, short(names[col], Math.floor(cell / 6.8)), { "text-anchor": "middle" }));
      continue;
    }
    const path = (some) => some[col].map((v, i) => (v === null || some[row][i] === null ? "" :
      `M${(x0 + at(v, col)).toFixed(1)} ${(y0 + cell - at(some[row][i], row)).toFixed(1)}h0.01`)).join("");
    parts.push(drawn("path", { d: path(columns), stroke: color(0), "stroke-width": 2, "stroke-linecap": "round", opacity: 0.4 }));
    parts.push(drawn("path", { d: path(diverged), stroke: shade("bad"), "stroke-width": 4, "stroke-linecap": "round", opacity: 0.8 }));
  }
  return picture(width, width, `Pairs of ${names.join(", ")}`, parts);
}

export function parallel(rows, width) {
  const height = 230, inner = 180, step = (width - 80) / Math.max(1, rows.length - 1);
  const x = (k) => 40 + k * step;
  // Under its axis, as far as the picture has room for it.
  const name = (k, text) => {
    const half = 3.3 * text.length;
    return words(Math.min(width - half, Math.max(half, x(k))), inner + 24 + 15 * (k % 2), text, { "text-anchor": "middle" });
  };
  const lines = rows[0].ranks.slice(0, 120).map((_, i) => drawn("polyline", {
    points: rows.map((r, k) => `${x(k)},${8 + inner * (1 - r.ranks[i])}`).join(" "), fill: "none", stroke: shade("bad"), opacity: Math.max(0.25, Math.min(0.9, 5 / rows[0].ranks.length)),
  }));
  const axes = rows.flatMap((r, k) => [drawn("line", { x1: x(k), x2: x(k), y1: 8, y2: 8 + inner, class: "axis" }),
    name(k, short(r.text, Math.max(6, Math.floor((2 * step) / 6.8))))]);
  return picture(width, height, "Ranks of divergent draws, parameter by parameter", axes, lines);
}

export function overlaid(grid, observed, predicted) {
  if (!grid.length) return make("p", { class: "dim" }, "There is nothing to show.");
  const width = 400, height = 170, span = grid[grid.length - 1] - grid[0] || 1;
  const path = (row) => row.map((p, i) => `${((grid[i] - grid[0]) / span) * width},${3 + (height - 6) * (1 - p)}`).join(" ");
  return make("div", {}, stretched(width, height, "Cumulative distribution of observed and predicted values",
    predicted.map((row) => drawn("polyline", { points: path(row), fill: "none", stroke: color(0), opacity: 0.3 })),
    drawn("line", { x1: 0, x2: width, y1: height - 3, y2: height - 3, class: "axis" }),
    drawn("polyline", { points: path(observed), fill: "none", stroke: color(1), "stroke-width": 2.2 })),
  ends(number(grid[0]), number(grid[grid.length - 1]), "value"), legend(["predicted datasets", "observed"]));
}

export function size(bytes) {
  return bytes === null || bytes === undefined ? "–" : bytes >= 1e9 ? `${number(bytes / 1e9)} GB` : `${number(bytes / 1e6)} MB`;
}
