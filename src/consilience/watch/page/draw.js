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
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...inside);
}

export function words(x, y, text, more = {}) {
  return drawn("text", { x, y, ...more }, String(text));
}

export const color = (i) => getComputedStyle(document.documentElement).getPropertyValue(`--c${i % 8}`).trim();
const shade = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function number(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
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

export function legend(labels) {
  return make("ul", { class: "legend" }, labels.map((label, i) => make("li", {}, make("i", { class: `swatch${i % 8}` }), label)));
}

// One line picture of uPlot, made once and given new data afterwards.
export class Lines {
  constructor(label, height = 150, options = {}) {
    this.element = make("div", { role: "img", "aria-label": label });
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
      this.plot.setData(data);
      return;
    }
    this.plot?.destroy();
    const axis = { stroke: shade("dim"), grid: { stroke: shade("line"), width: 0.5 }, ticks: { show: false }, font: "11px system-ui" };
    this.plot = new uPlot({
      width: this.width,
      height: this.height,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, ...(this.options.scales ?? {}) },
      axes: [{ ...axis, size: 24 }, { ...axis, size: 54, values: (u, at) => at.map((v) => (v === null ? "" : number(v, 4))) }],
      series: [{}, ...lines.map((_, i) => ({
        label: labels[i], stroke: color(more.colors ? more.colors[i] : i), width: more.width ?? 1.3, alpha: more.alpha ?? 1,
        dash: more.dashes?.[i], points: { show: x.length < 2 || more.points === true, size: 5 },
      }))],
    }, data, this.element);
  }
}

export function ranks(rows, label) {
  const width = 300, height = 128, inner = 96;
  const most = Math.max(1, ...rows.flat());
  const expected = rows.length ? rows[0].reduce((a, b) => a + b, 0) / rows[0].length : 0;
  const top = Math.max(most, 2 * expected);
  const lines = rows.map((row, chain) => {
    const step = width / row.length;
    const y = (n) => 6 + inner * (1 - n / top);
    const points = row.flatMap((n, i) => [`${i * step},${y(n)}`, `${(i + 1) * step},${y(n)}`]).join(" ");
    return drawn("polyline", { points, fill: "none", stroke: color(chain), "stroke-width": 1.6, opacity: 0.85 });
  });
  const level = 6 + inner * (1 - expected / top);
  return picture(width, height, label,
    drawn("line", { x1: 0, x2: width, y1: level, y2: level, stroke: shade("dim"), "stroke-dasharray": "4 4" }),
    drawn("line", { x1: 0, x2: width, y1: 102, y2: 102, class: "axis" }), lines,
    words(0, 120, "lowest draws"), words(width, 120, "highest", { "text-anchor": "end" }));
}

export function bars(edges, rows, labels, label) {
  const width = 420, height = 170, inner = 130;
  const top = Math.max(1e-12, ...rows.flat());
  const span = edges[edges.length - 1] - edges[0];
  const x = (v) => ((v - edges[0]) / span) * width;
  const shapes = rows.map((row, k) => {
    const points = [`0,${inner + 6}`, ...row.flatMap((n, i) => [edges[i], edges[i + 1]].map((e) => `${x(e)},${6 + inner * (1 - n / top)}`)), `${width},${inner + 6}`];
    return drawn("polygon", { points: points.join(" "), fill: color(k), opacity: 0.45, stroke: color(k) });
  });
  return make("div", {}, picture(width, height, label, shapes, words(0, 156, number(edges[0])), words(width, 156, number(edges[edges.length - 1]), { "text-anchor": "end" })), legend(labels));
}

export function forest(rows) {
  const width = 560, high = 20, left = 190;
  const lows = rows.map((r) => r.lower).filter((v) => v !== null), highs = rows.map((r) => r.upper).filter((v) => v !== null);
  if (!lows.length) return make("p", { class: "dim" }, "Nothing to draw.");
  const low = Math.min(...lows), top = Math.max(...highs), span = top - low || 1;
  const x = (v) => left + ((v - low) / span) * (width - left - 12);
  const shown = rows.flatMap((r, i) => {
    if (r.lower === null) return [];
    const y = high * i + 14;
    const name = r.name.length > 28 ? `${r.name.slice(0, 27)}…` : r.name;
    return [words(left - 8, y + 4, name, { "text-anchor": "end" }),
      drawn("line", { x1: x(r.lower), x2: x(r.upper), y1: y, y2: y, stroke: color(0), "stroke-width": 2.5 }),
      drawn("circle", { cx: x(r.mean), cy: y, r: 4, fill: color(1) })];
  });
  const end = rows.length * high + 8;
  const zero = low < 0 && top > 0 ? [drawn("line", { x1: x(0), x2: x(0), y1: 0, y2: end, class: "axis", "stroke-dasharray": "3 3" })] : [];
  return picture(width, end + 20, "Intervals of 94 % and means", zero, shown,
    words(left, end + 14, number(low)), words(width - 8, end + 14, number(top), { "text-anchor": "end" }));
}

export function pairs(columns, diverged, names) {
  const n = columns.length, cell = 150, width = n * cell;
  const ends = columns.map((column, k) => {
    const all = [...column, ...diverged[k]].filter((v) => v !== null && v !== undefined);
    const low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    return [low, high - low || 1];
  });
  const at = (v, k) => 8 + ((v - ends[k][0]) / ends[k][1]) * (cell - 16);
  const parts = [];
  for (let row = 0; row < n; row++) for (let col = 0; col <= row; col++) {
    const x0 = col * cell, y0 = row * cell;
    parts.push(drawn("rect", { x: x0 + 2, y: y0 + 2, width: cell - 4, height: cell - 4, fill: "none", class: "axis" }));
    if (row === col) {
      const bins = new Array(24).fill(0);
      for (const v of columns[col]) if (v !== null) bins[Math.min(23, Math.floor(((v - ends[col][0]) / ends[col][1]) * 24))]++;
      const top = Math.max(1, ...bins);
      bins.forEach((b, i) => parts.push(drawn("rect", { x: x0 + 8 + (i * (cell - 16)) / 24, y: y0 + cell - 6 - (b / top) * (cell - 40), width: (cell - 16) / 24 - 0.6, height: (b / top) * (cell - 40), fill: color(0), opacity: 0.55 })));
      const name = names[col].length > 22 ? `${names[col].slice(0, 21)}…` : names[col];
      parts.push(words(x0 + cell / 2, y0 + 17, name, { "text-anchor": "middle" }));
      continue;
    }
    const path = (some, r) => some[col].map((v, i) => (v === null || some[row][i] === null ? "" :
      `M${(x0 + at(v, col)).toFixed(1)} ${(y0 + cell - at(some[row][i], row)).toFixed(1)}h${r}`)).join("");
    parts.push(drawn("path", { d: path(columns, 0.01), stroke: color(0), "stroke-width": 2.2, "stroke-linecap": "round", opacity: 0.35 }));
    parts.push(drawn("path", { d: path(diverged, 0.01), stroke: shade("bad"), "stroke-width": 4, "stroke-linecap": "round", opacity: 0.8 }));
  }
  return picture(width, width, `Pairs of ${names.join(", ")}`, parts);
}

export function parallel(rows) {
  const width = 560, height = 230, inner = 170;
  const x = (k) => 40 + (k * (width - 80)) / Math.max(1, rows.length - 1);
  const count = Math.min(120, rows[0].ranks.length);
  const lines = [];
  for (let i = 0; i < count; i++) {
    lines.push(drawn("polyline", { points: rows.map((r, k) => `${x(k)},${8 + inner * (1 - r.ranks[i])}`).join(" "), fill: "none", stroke: shade("bad"), opacity: 0.25 }));
  }
  const axes = rows.flatMap((r, k) => {
    const name = r.text.length > 13 ? `${r.text.slice(0, 12)}…` : r.text;
    return [drawn("line", { x1: x(k), x2: x(k), y1: 8, y2: 8 + inner, class: "axis" }),
      words(x(k), inner + 26 + 14 * (k % 2), name, { "text-anchor": "middle" })];
  });
  return picture(width, height, "Ranks of draws that diverged, parameter by parameter", axes, lines);
}

export function overlaid(grid, observed, predicted) {
  const width = 420, height = 170, inner = 140;
  const span = grid[grid.length - 1] - grid[0] || 1;
  const path = (row) => row.map((p, i) => `${((grid[i] - grid[0]) / span) * width},${6 + inner * (1 - p)}`).join(" ");
  return make("div", {}, picture(width, height, "Distribution functions of observed and predicted values",
    predicted.map((row) => drawn("polyline", { points: path(row), fill: "none", stroke: color(0), opacity: 0.25 })),
    drawn("polyline", { points: path(observed), fill: "none", stroke: color(1), "stroke-width": 2.4 }),
    words(0, 164, number(grid[0])), words(width, 164, number(grid[grid.length - 1]), { "text-anchor": "end" })), legend(["predicted data sets", "observed"]));
}

export function densities(found, label) {
  const width = 300, height = 150, inner = 112, e = found.edges;
  const top = Math.max(1e-300, ...found.prior, ...found.posterior);
  const x = (v) => ((v - e[0]) / (e[e.length - 1] - e[0])) * width, y = (v) => 6 + inner * (1 - v / top);
  const steps = (row) => row.flatMap((v, i) => [`${x(e[i])},${y(v)}`, `${x(e[i + 1])},${y(v)}`]).join(" ");
  const area = (row, k) => drawn("polygon", { points: `0,${inner + 6} ${steps(row)} ${width},${inner + 6}`, fill: color(k), opacity: k ? 0.5 : 0.4, stroke: color(k) });
  return picture(width, height, label, area(found.prior, 1), area(found.posterior, 0),
    drawn("line", { x1: 0, x2: width, y1: inner + 6, y2: inner + 6, class: "axis" }),
    words(0, 136, number(e[0])), words(width, 136, number(e[e.length - 1]), { "text-anchor": "end" }));
}

export function size(bytes) {
  return bytes === null || bytes === undefined ? "–" : bytes >= 1e9 ? `${number(bytes / 1e9)} GB` : `${number(bytes / 1e6)} MB`;
}
