// The list of runs, and two of them side by side.

import { ask } from "./data.js";
import { clock, make, number, plural, scrolled, short } from "./draw.js";
import { modelPicture } from "./model.js";
import { badge, LIVE } from "./run.js";

const begun = (r) => r.began?.time ?? (r.created ? Date.parse(r.created) / 1000 : null);
const dated = (seconds) => {
  if (!seconds) return "–";
  const then = new Date(1000 * seconds), year = then.getFullYear() === new Date().getFullYear() ? undefined : "2-digit";
  return then.toLocaleString([], { year, month: "numeric", day: "numeric", hour: "numeric", minute: "2-digit" });
};
// Headings, with what a column is sorted by; no function: it is not sorted.
const HEADINGS = [["run", (r) => r.name], ["status", (r) => r.status], ["compare", null], ["began", begun], ["draws", (r) => (r.draws ?? 0) * (r.chains ?? 1)], ["time", (r) => r.seconds], ["ESS", (r) => r.check?.ess], ["ESS/s", (r) => r.ess_per_second],
  ["R-hat", (r) => r.check?.rhat], ["diverged", (r) => r.divergences], ["log evidence", (r) => r.evidence?.[0]], ["elpd (LOO)", (r, page) => page.elpd.get(r.name)?.elpd], ["data", null], ["model", (r) => r.began?.digest], ["seed", (r) => r.seed && (/^\d+$/.test(r.seed) ? Number(r.seed) : r.seed)]];
const TROUBLE = ["failed", "unreadable", "stale", "not_converged", "chains_disagree"];
const plus = (value, error, digits) => (value === null || value === undefined ? "–" : `${number(value, digits)}${error === null ? "" : ` ± ${number(error, 2)}`}`);
const MOST_SHOWN = 300, PAUSE = 3000; // rows of the table, unless all are asked for; milliseconds between two looks
const drawsOf = (r) => (r.draws && r.chains ? `${r.chains} × ${number(r.draws)}` : r.draws ? number(r.draws) : "–");

export class RunsPage {
  constructor(place, open) {
    this.place = place;
    this.open = open;
    this.two = new Set();
    this.elpd = new Map();
    this.pictured = null;
    this.sort = { by: "run", down: false };
    this.most = MOST_SHOWN;
    this.runs = null;
    this.visible = [];
  }

  async start() {
    this.filter = make("input", { type: "search", placeholder: "Filter runs …", "aria-label": "Filter runs", oninput: () => this.show() });
    this.body = make("div", {});
    this.beside = make("div", { "aria-live": "polite" });
    this.model = make("div", {});
    this.place.replaceChildren(make("div", { class: "head list" }, make("h1", {}, "Runs"), this.filter), this.body, this.model, this.beside);
    document.title = "Runs";
    await this.look();
  }

  stop() {
    clearTimeout(this.timer);
    this.ended = true;
  }

  // One look after the other: a list that takes long to make is asked for more seldom.
  async look() {
    const began = performance.now();
    this.again = document.hidden && this.runs !== null; // seen when the tab is shown
    if (!this.again) await this.refresh();
    if (!this.ended) this.timer = setTimeout(() => this.look(), Math.max(PAUSE, 10 * (performance.now() - began)));
  }

  async refresh() {
    this.again = false;
    try {
      const { runs } = await ask("runs"), told = JSON.stringify(runs);
      if (told === this.told) return;
      this.told = told;
      this.runs = runs;
    } catch (error) {
      this.told = null;
      this.body.replaceChildren(make("p", { role: "status" }, error.message));
      return;
    }
    this.show();
    if (!this.asking) this.askForLeaveOneOut();
  }

  // One run after the other, so that nobody waits for them.
  async askForLeaveOneOut() {
    this.asking = true;
    for (const r of [...this.visible]) {
      if (this.ended) return;
      if (!r.pointwise || LIVE.includes(r.status) || this.elpd.has(r.name)) continue;
      try { this.elpd.set(r.name, await ask("loo", { run: r.name })); } catch { this.elpd.set(r.name, null); }
      this.show();
    }
    this.asking = false;
  }

  show() {
    if (this.runs === null) return;
    const wanted = this.filter.value.toLowerCase();
    const found = this.sorted(this.runs.filter((r) => `${r.name} ${r.status}`.toLowerCase().includes(wanted)));
    const runs = this.visible = found.slice(0, this.most);
    if (!this.runs.length) { this.body.replaceChildren(make("p", {}, "There are no runs yet. A run appears here once it writes to this folder: pm.sample(save=pm.Save(store=\"run.zarr\")).")); return; }
    const focused = document.activeElement?.dataset?.focus, old = this.body.querySelector(".scroll");
    const scrolled = old ? [old.scrollLeft, old.scrollTop] : [0, 0];
    const table = make("div", { class: "scroll list", tabindex: 0, role: "region", "aria-label": "Table of runs" }, make("table", {},
      make("thead", {}, make("tr", {}, HEADINGS.filter(([t]) => this.has(t)).map((heading) => this.heading(heading)))), make("tbody", {}, runs.map((r) => this.row(r)))));
    this.body.replaceChildren(...this.studies(), make("p", { class: "dim" }, `${plural(found.length, "run")}${found.length < this.runs.length ? ` of ${number(this.runs.length)}` : ""}`,
      runs.length < found.length ? [`, the first ${runs.length} of them below `, make("button", { "data-focus": "all", onclick: () => { this.most = Infinity; this.show(); } }, "Show all")] : null), table);
    [table.scrollLeft, table.scrollTop] = scrolled;
    if (focused) [...this.body.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === focused)?.focus();
  }

  // How far each study is, by the statuses of its fits.
  studies() {
    const of = new Map();
    for (const r of this.runs) if (r.study !== null && r.study !== undefined) of.set(r.study, [...(of.get(r.study) ?? []), r.status]);
    return [...of].map(([study, all]) => {
      const counts = [...new Set(all)].sort().map((status) => `${number(all.filter((s) => s === status).length)} ${status.replaceAll("_", " ")}`);
      const text = `${study || "Study"}: ${plural(all.length, "fit")}, ${counts.join(", ")}`;
      return make("p", { class: "dim study" }, study ? make("button", { class: "plain", "data-focus": `study ${study}`, onclick: () => { this.filter.value = `${study}/`; this.show(); } }, text) : text);
    });
  }

  heading([title, of]) {
    const here = this.sort.by === title, down = this.sort.down;
    const side = title === "status" ? "left" : null;
    if (!of) return make("th", { scope: "col" }, title);
    return make("th", { scope: "col", class: side, "aria-sort": here ? (down ? "descending" : "ascending") : "none" }, make("button", { "data-focus": `sort ${title}`,
      onclick: () => { this.sort = { by: title, down: here ? !down : title !== "run" && title !== "status" }; this.show(); } }, `${title}${here ? (down ? " ↓" : " ↑") : ""}`));
  }

  // What has nothing in a column stands last, whichever way it is sorted.
  sorted(runs) {
    const of = HEADINGS.find(([title]) => title === this.sort.by)[1];
    const known = (r) => { const v = of(r, this); return v === null || v === undefined || v === "" ? null : v; };
    const order = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b), "en", { numeric: true }) : a - b);
    return [...runs].sort((a, b) => {
      const [x, y] = [known(a), known(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a.name.localeCompare(b.name);
      return (this.sort.down ? -1 : 1) * order(x, y) || a.name.localeCompare(b.name);
    });
  }

  // Whether there is anything to say in a column.
  has(heading) {
    if (heading === "log evidence") return this.runs.some((r) => (r.evidence?.[0] ?? null) !== null);
    return heading !== "elpd (LOO)" || this.runs.some((r) => r.pointwise);
  }

  row(r) {
    const loo = this.elpd.get(r.name), name = r.name.slice(0, 300);
    const data = Object.values(r.observed ?? {}).map((s) => s.join("×") || "1");
    const figures = [dated(begun(r)), drawsOf(r), clock(r.seconds), number(r.check?.ess), number(r.ess_per_second), r.check?.rhat?.toFixed(3) ?? "–",
      number(r.divergences), ...(this.has("log evidence") ? [plus(r.evidence?.[0], r.evidence?.[1] ?? null, 5)] : []), ...(this.has("elpd (LOO)") ? [loo ? plus(loo.elpd, loo.error, 5) : "–"] : []), `${data.slice(0, 3).join(", ")}${data.length > 3 ? ", …" : ""}` || "–"];
    const digest = r.began?.digest?.slice(0, 7);
    const link = make("a", { href: `#run=${encodeURIComponent(r.name)}`, "data-run": r.name, "data-focus": `run ${r.name}`, title: (r.reason ?? "").slice(0, 500), onclick: (event) => { event.preventDefault(); this.open(r.name); } }, name);
    const both = make("input", { type: "checkbox", "data-focus": `both ${r.name}`, "aria-label": `Compare ${name} with another run`, ...(this.two.has(r.name) ? { checked: "" } : {}), onchange: (e) => { e.target.checked ? this.two.add(r.name) : this.two.delete(r.name); this.compare(); } });
    const picture = digest ? make("button", { class: "plain", "data-focus": `model ${r.name}`, "aria-expanded": String(this.pictured === r.name), "aria-label": `Model ${digest} of ${name}`, onclick: () => this.picture(r) }, digest) : "–";
    return make("tr", {}, make("td", {}, link), make("td", { class: "words" }, badge(r.status), TROUBLE.includes(r.status) && r.reason ? make("small", { class: "why", title: r.reason.slice(0, 500) }, short(r.reason.replaceAll("`", ""), 110)) : null), make("td", {}, both), figures.map((v) => make("td", {}, String(v))), make("td", {}, picture), make("td", { class: "seed" }, String(r.seed ?? "–")));
  }

  picture(r) {
    this.pictured = this.pictured === r.name ? null : r.name;
    const drawing = this.pictured && modelPicture(r.began.graph);
    this.model.replaceChildren(this.pictured ? make("section", { "aria-label": "Model" }, make("h2", {}, `Model of ${r.name.slice(0, 300)}`), drawing ?? "", make("pre", { tabindex: 0, "aria-label": "Model text" }, r.began.model ?? "")) : "");
    this.show();
  }

  async compare() {
    const names = [...this.two].slice(-2);
    if (names.length < 2) { this.beside.replaceChildren(names.length ? make("p", { class: "dim" }, "Choose a second run to compare with.") : ""); return; }
    let both;
    try { both = await Promise.all(names.map((run) => ask("summary", { run }))); } catch (error) { this.beside.replaceChildren(make("p", { role: "alert" }, error.message)); return; }
    const [a, b] = both, runs = names.map((n) => this.runs.find((r) => r.name === n));
    const other = new Map(b.names.map((n, i) => [n, i]));
    const rows = a.names.flatMap((n, i) => (other.has(n) ? [[n, i, other.get(n)]] : [])).slice(0, 300);
    const apart = (i, j) => (a.columns.mean[i] - b.columns.mean[j]) / Math.hypot(a.columns.mcse_mean[i], b.columns.mcse_mean[j]);
    const facts = [["status", (r) => r.status.replaceAll("_", " ")], ["draws", drawsOf], ["time", (r) => clock(r.seconds)], ["smallest ESS per second", (r) => number(r.ess_per_second)], ["R-hat", (r) => r.check?.rhat?.toFixed(3) ?? "–"],
      ["log evidence", (r) => plus(r.evidence?.[0], r.evidence?.[1] ?? null, 5)], ["elpd (LOO)", (r) => { const l = this.elpd.get(r.name); return l ? plus(l.elpd, l.error, 5) : "–"; }], ["model", (r) => r.began?.digest?.slice(0, 7) ?? "–"]];
    const head = (labels) => make("thead", {}, make("tr", {}, labels.map((t) => (t ? make("th", { scope: "col" }, t) : make("td", {})))));
    this.beside.replaceChildren(make("section", { "aria-label": "Comparison" }, make("h2", {}, "Comparison"),
      scrolled("The two runs", make("table", { class: "facts" }, head(["", ...names.map((n) => n.slice(0, 60))]), make("tbody", {}, facts.map(([label, of]) => make("tr", {}, make("th", { scope: "row" }, label), runs.map((r) => make("td", {}, r ? of(r) : "–"))))))),
      scrolled("Parameters of both runs", make("table", {},
        head(["parameter", "mean 1", "mean 2", "sd 1", "sd 2", "R-hat 1", "R-hat 2", "difference of means in standard errors"]),
        make("tbody", {}, rows.map(([n, i, j]) => make("tr", {}, make("td", {}, n.slice(0, 200)), [number(a.columns.mean[i]), number(b.columns.mean[j]), number(a.columns.sd[i]), number(b.columns.sd[j]), number(a.columns.r_hat[i], 4), number(b.columns.r_hat[j], 4)].map((v) => make("td", {}, v)),
          make("td", { class: Math.abs(apart(i, j)) > 4 ? "bad" : "" }, number(apart(i, j), 2)))))))));
  }
}
