// The list of runs, and two of them side by side.

import { ask } from "./data.js";
import { clock, make, number } from "./draw.js";
import { badge } from "./run.js";

export class RunsPage {
  constructor(place, open) {
    this.place = place;
    this.open = open;
    this.two = new Set();
  }

  async start() {
    this.filter = make("input", { type: "search", placeholder: "Filter runs …", "aria-label": "Filter runs", oninput: () => this.show() });
    this.body = make("div", {});
    this.beside = make("div", {});
    this.place.replaceChildren(make("div", { class: "head" }, make("h1", {}, "Runs"), this.filter), this.body, this.beside);
    document.title = "Runs";
    await this.refresh();
    this.timer = setInterval(() => { if (!document.hidden) this.refresh(); }, 3000);
  }

  stop() {
    clearInterval(this.timer);
  }

  async refresh() {
    try { this.runs = (await ask("runs")).runs; } catch (error) { this.body.replaceChildren(make("p", { role: "status" }, error.message)); return; }
    this.show();
  }

  show() {
    const wanted = this.filter.value.toLowerCase();
    const runs = this.runs.filter((r) => `${r.name} ${r.status}`.toLowerCase().includes(wanted));
    if (!this.runs.length) { this.body.replaceChildren(make("p", {}, "There is no run here yet. One appears as soon as it writes: pm.sample(save=pm.Save(store=\"run.zarr\")).")); return; }
    const focused = document.activeElement?.dataset?.run;
    this.body.replaceChildren(make("p", { class: "dim" }, `${runs.length} runs`), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of runs" }, make("table", {},
      make("thead", {}, make("tr", {}, ["run", "status", "draws", "time", "ESS", "ESS/s", "R-hat", "diverged", "seed", "observed", "graph", "beside"].map((t) => make("th", { scope: "col" }, t)))),
      make("tbody", {}, runs.map((r) => make("tr", {},
        make("td", {}, make("a", { href: `#run=${encodeURIComponent(r.name)}`, "data-run": r.name, title: r.reason ?? "", onclick: (event) => { event.preventDefault(); this.open(r.name); } }, r.name)),
        make("td", {}, badge(r.status)), ...[r.draws ? `${r.chains} × ${number(r.draws)}` : "–", clock(r.seconds), number(r.check?.ess), number(r.ess_per_second), r.check?.rhat?.toFixed(3) ?? "–", number(r.divergences), r.began?.seed ?? "–",
          Object.values(r.began?.observed ?? {}).map((s) => s.join("×") || "1").join(", ") || "–", r.began?.digest?.slice(0, 7) ?? "–"].map((v) => make("td", {}, String(v))),
        make("td", {}, make("input", { type: "checkbox", "aria-label": `Set ${r.name} beside another`, ...(this.two.has(r.name) ? { checked: "" } : {}), onchange: (e) => { e.target.checked ? this.two.add(r.name) : this.two.delete(r.name); this.compare(); } }))))))));
    if (focused) [...this.body.querySelectorAll("a")].find((a) => a.dataset.run === focused)?.focus();
  }

  async compare() {
    const names = [...this.two].slice(-2);
    if (names.length < 2) { this.beside.replaceChildren(); return; }
    const [a, b] = await Promise.all(names.map((run) => ask("summary", { run })));
    const other = new Map(b.names.map((n, i) => [n, i]));
    const rows = a.names.flatMap((n, i) => (other.has(n) ? [[n, i, other.get(n)]] : [])).slice(0, 300);
    const apart = (i, j) => (a.columns.mean[i] - b.columns.mean[j]) / Math.hypot(a.columns.mcse_mean[i], b.columns.mcse_mean[j]);
    this.beside.replaceChildren(make("section", {}, make("h2", {}, "Side by side"), make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ["parameter", `mean: ${names[0]}`, `mean: ${names[1]}`, "sd", "sd", "R-hat", "R-hat", "means apart, standard errors"].map((t) => make("th", {}, t)))),
      make("tbody", {}, rows.map(([n, i, j]) => make("tr", {}, make("td", {}, n), ...[number(a.columns.mean[i]), number(b.columns.mean[j]), number(a.columns.sd[i]), number(b.columns.sd[j]), number(a.columns.r_hat[i], 4), number(b.columns.r_hat[j], 4)].map((v) => make("td", {}, v)),
        make("td", { class: Math.abs(apart(i, j)) > 4 ? "bad" : "" }, number(apart(i, j), 2)))))))));
  }
}
