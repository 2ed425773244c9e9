// The picture of a model: its variables and what they depend on enter, a drawing in layers leaves.

import { drawn, make, picture, short, words } from "./draw.js";

const GAP = { x: 22, y: 46 }, HIGH = 62, SWEEPS = 12;

// Layers from parents down to children; an edge over several layers has a bend in each.
function layered({ vertices, edges }) {
  const nodes = new Map(vertices.map(([name, kind, text, plate]) => {
    const what = kind === "data" ? text : kind === "deterministic" || kind === "potential" ? "" : `~ ${text}`;
    const said = [short(name, 26), ...[short(what, 30), short(plate && `× ${plate}`, 30)].filter(Boolean)];
    return [name, { name, kind, said, width: Math.max(84, 7.4 * Math.max(...said.map((t) => t.length)) + 26), level: 0, up: [], down: [] }];
  }));
  const known = edges.filter(([a, b]) => nodes.has(a) && nodes.has(b) && a !== b);
  for (let i = 0; i < nodes.size; i++) {
    let moved = false;
    for (const [a, b] of known) if (nodes.get(b).level <= nodes.get(a).level && nodes.get(a).level < nodes.size) { nodes.get(b).level = nodes.get(a).level + 1; moved = true; }
    if (!moved) break;
  }
  // What nothing stands above goes next to what it enters.
  for (const node of nodes.values()) {
    const below = known.filter(([a]) => a === node.name).map(([, b]) => nodes.get(b).level);
    if (below.length && !known.some(([, b]) => b === node.name)) node.level = Math.min(...below) - 1;
  }
  const all = [...nodes.values()], lines = [];
  for (const [a, b] of known) {
    const line = [nodes.get(a)];
    for (let level = nodes.get(a).level + 1; level < nodes.get(b).level; level++) {
      const bend = { level, width: 6, up: [], down: [] };
      all.push(bend);
      line.push(bend);
    }
    line.push(nodes.get(b));
    for (let i = 1; i < line.length; i++) { line[i - 1].down.push(line[i]); line[i].up.push(line[i - 1]); }
    lines.push(line);
  }
  const layers = [];
  for (const node of all) (layers[node.level] ??= []).push(node);
  return { layers: layers.filter(Boolean), lines };
}

// Nodes of a layer side by side, each as near to where it wants to be as its neighbours let it.
function settle(layer) {
  let right = -Infinity;
  for (const node of layer) { node.x = Math.max(node.wish, right + node.width / 2); right = node.x + node.width / 2 + GAP.x; }
  const off = layer.reduce((sum, node) => sum + node.wish - node.x, 0) / layer.length;
  for (const node of layer) node.x += off;
}

function placed(layers) {
  for (const layer of layers) { let x = 0; for (const node of layer) { node.x = x + node.width / 2; x += node.width + GAP.x; } }
  const middle = (some, node) => (some.length ? some.reduce((sum, n) => sum + n.x, 0) / some.length : node.x);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const node of layer) node.wish = sweep < SWEEPS - 2 ? middle(down ? node.up : node.down, node) : middle([...node.up, ...node.down], node);
      layer.sort((a, b) => a.wish - b.wish);
      settle(layer);
    }
  }
}

function shape(node) {
  const box = { x: node.x - node.width / 2, y: node.y - HIGH / 2, width: node.width, height: HIGH, class: `vertex ${node.kind}` };
  if (node.kind === "free" || node.kind === "observed") return drawn("ellipse", { cx: node.x, cy: node.y, rx: node.width / 2, ry: HIGH / 2, class: box.class });
  return drawn("rect", { ...box, rx: node.kind === "data" ? 14 : 3 });
}

export function modelPicture(graph) {
  if (!graph?.vertices?.length) return null;
  const { layers, lines } = layered(graph);
  placed(layers);
  const all = layers.flat();
  const left = Math.min(...all.map((n) => n.x - n.width / 2)), right = Math.max(...all.map((n) => n.x + n.width / 2));
  for (const node of all) { node.x += 8 - left; node.y = 8 + HIGH / 2 + layers.findIndex((layer) => layer.includes(node)) * (HIGH + GAP.y); }
  const width = right - left + 16, height = layers.length * (HIGH + GAP.y) - GAP.y + 16;
  const edge = (line) => {
    const ends = line.map((node, i) => [node.x, node.y + (i === 0 ? HIGH / 2 : i === line.length - 1 ? -HIGH / 2 - 7 : 0)]);
    const d = ends.map(([x, y], i) => {
      if (!i) return `M${x} ${y}`;
      const [x0, y0] = ends[i - 1], half = (y - y0) / 2;
      return `C${x0} ${y0 + half} ${x} ${y - half} ${x} ${y}`;
    }).join("");
    const [x, y] = ends[ends.length - 1];
    return [drawn("path", { d, class: "edge" }), drawn("path", { d: `M${x - 4} ${y}h8l-4 7z`, class: "tip" })];
  };
  const vertex = (node) => [shape(node), ...node.said.map((text, i) => words(node.x, node.y + 4 + 14 * (i - (node.said.length - 1) / 2), text, { "text-anchor": "middle", class: i ? "" : "name" }))];
  const said = `Model: ${graph.edges.map(([a, b]) => `${b} depends on ${a}`).slice(0, 100).join("; ")}`;
  const made = picture(width, height, said, lines.map(edge).flat(), all.filter((n) => n.said).map(vertex).flat());
  made.setAttribute("class", "model");
  return make("div", { class: "scroll wide", tabindex: 0, role: "region", "aria-label": "Picture of the model" }, made);
}
