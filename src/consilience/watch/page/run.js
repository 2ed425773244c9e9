// The page of one run. It is made once; what is new is put in its places.

import { act, ask, embedded, follow, mayControl, trace } from "./data.js";
import { advances, bars, clock, forest, legend, Lines, make, number, overlaid, pairs, parallel, plural, ranks, renew, scrolled, size } from "./draw.js";
import { modelPicture } from "./model.js";

export const TONES = {
  converged: "good", completed: "good", converged_with_divergences: "warn", interrupted: "warn", paused: "warn", stale: "bad",
  not_converged: "bad", failed: "bad", chains_disagree: "bad", unreadable: "bad", tuning: "busy", sampling: "busy", starting: "busy", running: "busy",
};
export const LIVE = ["tuning", "sampling", "starting", "paused", "running", "stale"];
const COLUMNS = [["mean", "mean"], ["sd", "sd"], ["lower", "hdi 3%"], ["upper", "hdi 97%"], ["mcse_mean", "mcse"], ["ess_bulk", "ess bulk"], ["ess_tail", "ess tail"], ["r_hat", "R-hat"]];
const key = (element) => JSON.stringify([element.variable, element.place]);

export const badge = (status) => make("span", { class: `badge ${TONES[status] ?? "dim"}` }, status.replaceAll("_", " "));
const when = (seconds) => (seconds ? new Date(1000 * seconds).toLocaleString() : "–");
const day = (time) => time.toLocaleDateString();
const shortly = (seconds) => { const time = new Date(1000 * seconds); return day(time) === day(new Date()) ? time.toLocaleTimeString() : day(time); };

// With a capital, one full stop, and no marks of code.
const sentence = (text) => { const plain = (text ?? "").replaceAll("`", "").trim().replace(/\.+$/, ""); return plain ? `${plain[0].toUpperCase()}${plain.slice(1)}. ` : ""; };

const isLarge = (r) => r.parameters * (r.chains ?? 1) > 10000;

export class RunPage {
  constructor(place, name, back) {
    this.place = place;
    this.name = name;
    this.back = back;
    this.chosen = [];
    this.byHand = false;
    this.busy = false;
    this.again = false;
    this.traces = new Map();
    this.part = {};
    this.sort = { column: null, down: true };
    this.alone = null;
    this.notified = false;
  }

  async start() {
    const part = (name, title, ...inside) => {
      const body = make("div", {});
      this.part[name] = body;
      return make("section", { "aria-label": title, "data-part": name }, make("h2", {}, title), ...inside, body);
    };
    this.part.head = make("div", {});
    this.part.news = make("p", { role: "status", class: "dim", "aria-live": "polite" });
    this.search = make("input", { type: "search", placeholder: "Search parameters …", "aria-label": "Search parameters", oninput: () => this.find() });
    this.part.found = make("ul", { class: "found" });
    this.part.legend = make("div", {});
    this.filter = make("input", { type: "search", placeholder: "Filter rows …", "aria-label": "Filter rows of the summary", oninput: () => this.table() });
    this.growth = [new Lines("R-hat of the chosen parameters over draws", 150, { unit: "draws of each chain", plain: true }), new Lines("Effective sample size of the chosen parameters over draws", 150, { unit: "draws of each chain", plain: true })];
    this.tuning = ["step_size", "tree_depth", "gradients"].map((what) => [what, new Lines(`${what} of each chain over time`, 140, { unit: "seconds", plain: true })]);
    this.place.replaceChildren(
      this.part.head, this.part.news,
      part("parameters", "Parameters", this.search, this.part.found, this.part.legend),
      make("div", { class: "two" },
        part("rhat", "R-hat over draws", this.growth[0].element), part("ess", "Effective sample size over draws", this.growth[1].element)),
      part("summary", "Summary", this.filter), part("forest", "Forest"),
      make("div", { class: "two" }, part("pairs", "Pairs"), part("divergences", "Divergences"), part("prior", "Prior and posterior"), part("predictive", "Posterior predictive"),
        part("loo", "Leave-one-out cross-validation"), part("energy", "Energy"), part("tuning", "Chains over time"), part("regions", "Separate regions")),
      part("model", "Model"), make("div", { class: "two" }, part("events", "Events"), part("about", "About the run")),
    );
    await this.refresh();
    await this.find();
    const said = (gone) => { this.part.news.textContent = gone ? "The server does not answer. The page shows what it sent last." : ""; };
    // A run from which nothing comes may be stale by now.
    const quiet = () => { said(false); if (LIVE.includes(this.run?.status)) this.refresh(); };
    // The run has computed too little since to afford more than its state.
    const alive = async () => {
      if (this.busy || document.hidden) return;
      try { this.run = await ask("run", { run: this.name }); this.show(); } catch (error) { this.part.news.textContent = error.message; }
    };
    this.stop = follow(this.name, () => this.refresh(), said, quiet, alive);
  }

  async refresh(atOnce = false) {
    if (atOnce && this.resting) { clearTimeout(this.resting); this.busy = false; }
    if (this.busy || document.hidden) { this.again = true; return; }
    this.busy = true;
    this.resting = 0;
    this.again = false;
    const began = performance.now();
    try {
      this.run = await ask("run", { run: this.name });
      this.show();
      await this.details();
    } catch (error) {
      this.part.news.textContent = error.message;
      if (!this.run) this.cannotBeRead();
    }
    // The server says how often it can afford to be asked; a slow way to it asks for patience, too.
    const rest = LIVE.includes(this.run?.status) ? Math.max(2500, 5 * (performance.now() - began)) : 300;
    this.resting = setTimeout(() => { this.resting = 0; this.busy = false; if (this.again) this.refresh(); }, Math.min(rest, 8000));
  }

  // A run of which nothing can be shown: its name and the reason.
  cannotBeRead() {
    this.part.head.replaceChildren(make("div", { class: "head" }, this.back ? make("a", { href: "#", onclick: this.back }, "← all runs") : null, make("h1", {}, this.name), badge("unreadable")));
    for (const section of this.place.querySelectorAll("section[data-part]")) section.hidden = true;
  }

  async details() {
    const run = this.run;
    const drawn = run.draws > 0 && run.groups.posterior > 0;
    const live = LIVE.includes(run.status);
    if (!this.byHand) this.chosen = drawn ? run.worst.slice(0, 4) : [];
    const now = Date.now();
    if (drawn && !this.part.found.childElementCount) this.find();
    if (drawn && (run.draws !== this.drawn || run.status !== this.shownStatus)) {
      await this.showTraces();
      // What takes longer comes more seldom while the run goes on.
      // At the beginning of a run it would take a large share of the little that was computed.
      this.slowAt ??= live && run.seconds < 10 && isLarge(run) ? now : 0;
      if (!live || !this.slowAt || now - this.slowAt > Math.max(15000, 100 * run.seconds)) {
        this.slowAt = now;
        await Promise.all([this.showSummary(), this.showPairs(), this.showDivergences(), this.showPrior(), this.showLeaveOneOut()]);
        if (run.status !== "stale") this.drawn = run.draws;
        this.shownStatus = run.status;
      }
      for (const name of run.predictive) {
        if (live) break;
        const found = await ask("predictive", { run: this.name, variable: name });
        this.part.predictive.replaceChildren(make("h3", {}, name), overlaid(found.grid, found.observed, found.predicted));
      }
    }
    for (const name of ["parameters", "rhat", "ess", "summary", "forest", "pairs"]) this.hide(name, !drawn);
    if (!drawn) for (const name of ["divergences", "prior", "loo"]) this.hide(name, true);
  }

  widthOf(name) {
    return Math.min(640, this.part[name].clientWidth || 480);
  }

  hide(name, hidden) {
    this.part[name].closest("section").hidden = hidden;
  }

  show() {
    const r = this.run, c = r.check, p = r.progress;
    const live = LIVE.includes(r.status);
    const way = this.way();
    document.title = `${way.share !== null ? `${Math.floor(100 * way.share)} % · ` : ""}${way.left !== null ? `${clock(way.left)} left · ` : ""}${r.status.replaceAll("_", " ")} · ${r.name}`;
    this.notify(r);
    const rate = p.at.length > 1 && live ? (() => {
      const n = p.at.length, k = Math.max(0, n - 5), total = (i) => p.gradients.reduce((sum, row) => sum + (row[i] ?? 0), 0);
      return Math.max(0, total(n - 1) - total(k)) / Math.max(1e-9, p.at[n - 1] - p.at[k]); // counts begin again where the run does
    })() : r.gradients / r.seconds;
    const noise = c && c.ess ? Math.sqrt(1 + (2 * (r.chains ?? 1)) / c.ess) : null;
    const draws = c && c.needed && live && c.needed > r.draws ? `of about ${number(c.needed)} per chain` : r.chains ? `per chain, ${plural(r.chains, "chain")}` : "";
    const left = way.left;
    const figure = (label, value, small, tone) => make("div", {}, make("dt", {}, label), make("dd", { class: tone ?? "" }, value, small ? make("small", {}, small) : null));
    const diverged = r.divergences;
    const figures = [
      r.draws || live ? figure("Draws", number(r.draws), draws) : null,
      r.seconds === null ? null : figure("Time", clock(r.seconds), left !== null ? `about ${clock(left)} left${way.of}` : r.last ? `last update ${shortly(r.last)}` : ""),
      c ? figure("Smallest ESS", `${number(c.ess)}${c.target_ess ? ` / ${number(c.target_ess)}` : ""}`, c.ess_name, c.target_ess && c.ess >= c.target_ess ? "good" : "") : null,
      c ? figure("R-hat", c.rhat === null ? "–" : c.rhat.toFixed(3), `${c.rhat_name}${noise ? `; ${noise.toFixed(3)} by noise alone` : ""}${c.passed && c.rhat > c.target_rhat ? `; above ${c.target_rhat} by chance` : ""}`, c.rhat !== null && (c.passed || c.rhat <= c.target_rhat) ? "good" : "bad") : null,
      diverged === null ? null : figure("Divergences", number(diverged), diverged && r.draws ? `${number((100 * diverged) / (r.draws * r.chains))} % of draws` : "", diverged ? "warn" : ""),
      r.gradients === null ? null : figure("Gradients", number(r.gradients), Number.isFinite(rate) ? `${number(rate)} per second` : ""),
      r.parameters || r.began.dimension ? figure("Parameters", number(r.parameters || r.began.dimension), r.began.dimension ? plural(r.began.dimension, "coordinate") : "") : null,
      r.evidence[0] !== null ? figure("Log evidence", number(r.evidence[0], 5), r.evidence[1] !== null ? `± ${number(r.evidence[1], 2)}` : "") : null,
      r.memory ? figure("Memory", size(r.memory), [r.began.threads && `${plural(r.began.threads, "thread")} for chains`, r.threads && `${r.threads} in total`].filter(Boolean).join(", ")) : null,
    ];
    const head = [
      make("div", { class: "head" }, this.back ? make("a", { href: "#", onclick: this.back }, "← all runs") : null, make("h1", {}, r.name), badge(r.status)),
      make("p", { class: "reason" }, sentence(r.reason), r.promise ? sentence(`this status means ${r.promise}`) : "", r.help ? sentence(`what may help: ${r.help}`) : "",
        r.status === "stale" && r.last ? `Last record: ${when(r.last)}.` : "", r.skewed ? " Its machine's clock differs from this one's." : ""),
      this.whatIsSeen(r.seen), r.resume ? this.line(r.resume) : null,
    ].filter(Boolean);
    if (live && r.control && mayControl) head.push(this.buttons(r));
    if (live && !embedded && "Notification" in window && Notification.permission === "default") {
      head.push(make("p", {}, make("button", { "data-action": "notify", onclick: () => Notification.requestPermission().then(() => this.show()) }, "Notify me when the run ends or needs attention")));
    }
    if (live && way.rows.length) head.push(advances(way.rows));
    if (figures.some(Boolean)) head.push(make("dl", { class: "figures" }, figures));
    const focused = document.activeElement?.dataset?.action;
    const typed = this.more?.value;
    this.part.head.replaceChildren(...head);
    if (this.more && typed) this.more.value = typed;
    if (focused) this.part.head.querySelector(`[data-action=${focused}]`)?.focus();
    this.over(p);
    this.energy(r.energy);
    this.events(r.events);
    const chains = r.chains ?? 0;
    this.part.legend.replaceChildren(make("ul", { class: "legend", "aria-label": "Show one chain alone" }, Array.from({ length: Math.min(64, chains) }, (_, i) => make("li", {}, make("button", {
      class: "plain", "aria-pressed": String(this.alone === i), "data-action": `chain${i}`, title: "Show this chain alone, or all again", onclick: () => this.onlyChain(i),
    }, make("i", { class: `swatch${i % 8}` }), `chain ${i}`)))));
    this.about(r);
    if (r.began.model !== this.pictured) {
      this.pictured = r.began.model;
      this.part.model.replaceChildren(modelPicture(r.began.graph) ?? "", make("pre", { tabindex: 0, "aria-label": "Model text" }, r.began.model ?? ""));
    }
    this.hide("model", !r.began.model);
    this.hide("predictive", !r.predictive.length || live);
    const regions = r.regions.regions ?? [];
    this.part.regions.replaceChildren(make("p", {}, r.regions.statement ?? ""), regions.length < 2 || regions.every((g) => g.mass === null && !Object.keys(g.place).length) ? "" : make("table", {}, make("tbody", {}, regions.map((g, i) =>
      make("tr", {}, make("td", {}, `region ${i + 1}`), make("td", {}, g.mass === null ? "unknown share" : `${number(100 * g.mass)} % of the probability`), make("td", { class: "words" }, Object.entries(g.place).map(([n, v]) => `${n} = ${number(v)}`).join(", ")))))));
    this.hide("regions", !r.regions.statement);
  }

  // How far the run is: its share and the seconds left, where they can be told, and rows for each chain.
  way() {
    const r = this.run, p = r.progress, c = r.check, n = p.at.length - 1;
    const none = { share: null, left: null, of: "", rows: [] };
    if (!LIVE.includes(r.status) || n < 0) return none;
    const last = (row) => row[n] ?? 0;
    const tuning = r.status === "tuning" || (r.status === "paused" && !r.draws), tune = r.began.tune ?? r.began.max_tune ?? 0;
    const goal = tuning ? tune : r.began.draws || c?.needed || 0, what = tuning ? p.done : p.draws;
    const first = tuning || goal ? 0 : r.began.min_draws ?? 0; // draws of each chain at the first check
    const rows = p.chains.slice(0, 64).map((chain, i) => {
      const failed = p.phase[i] === "failed", bad = last(p.divergences[i]), now = last(what[i]);
      return [`chain ${chain}`, now, goal || first || Math.max(1, ...what.map(last)), `${number(now)}${goal ? ` of ${tuning && r.began.tune === null ? "at most" : tuning ? "" : "about"} ${number(goal)}`.replace("  ", " ") : ""} ${tuning ? "tuning steps" : first ? (now < first ? `of ${number(first)} draws to the first check` : "draws, checking") : "draws"}${bad ? `, ${plural(bad, "divergence")}` : ""}${failed ? ", left out" : ""}`, failed ? "bad" : bad ? "warn" : ""];
    });
    if (!goal || r.status === "stale") return { ...none, rows };
    const of = (i) => Math.min(...what.filter((_, k) => p.phase[k] !== "failed").map((row) => row[i] ?? 0));
    let from = Math.max(0, n - 30);
    while (from < n && (of(from) <= 0 || of(from) > of(n))) from++;
    const rate = from < n ? (of(n) - of(from)) / Math.max(1e-9, p.at[n] - p.at[from]) : of(n) / Math.max(1e-9, p.at[n]);
    return { share: Math.min(1, of(n) / goal), left: rate > 0 ? Math.max(0, goal - of(n)) / rate : null, of: tuning ? (r.began.tune === null ? " of tuning at most" : " of tuning") : "", rows };
  }

  // Said once for each end, and for trouble, where the browser was asked for it.
  notify(r) {
    const trouble = r.status === "stale" || Boolean(r.seen), over = !LIVE.includes(r.status);
    const now = over ? `ended: ${r.status.replaceAll("_", " ")}` : trouble ? (r.seen ? `R-hat of ${r.seen.name} is ${r.seen.rhat.toFixed(2)}` : "no update from the run") : "";
    if (this.notified === false) { this.notified = over ? now : ""; return; } // what was over when the page came is no news
    if (!now || now === this.notified || (trouble && !over && this.notified)) return;
    this.notified = now;
    if (!embedded && "Notification" in window && Notification.permission === "granted") new Notification(r.name, { body: now, tag: r.name });
  }

  whatIsSeen(s) {
    if (!s) return null;
    const where = s.places.map((place) => `chain${place.chains.length === 1 ? "" : "s"} ${place.chains.join(", ")} near ${number(place.mean)}`);
    return make("p", { class: "seen", role: "note" }, make("strong", {}, `R-hat of ${s.name.slice(0, 200)} is ${s.rhat.toFixed(2)}. `), where.length ? `${where.join("; ").replace(/^c/, "C")}. ` : "", s.advice);
  }

  line(text) {
    const code = make("code", { tabindex: 0 }, text);
    const copy = async (event) => {
      const button = event.currentTarget;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
    };
    return make("p", { class: "line" }, code, " ", embedded ? null : make("button", { "data-action": "copy", onclick: copy }, "Copy"));
  }

  onlyChain(i) {
    this.alone = this.alone === i ? null : i;
    for (const card of this.traces.values()) card.lines.only(this.alone);
    for (const button of this.part.legend.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.action === `chain${this.alone}`));
  }

  about(r) {
    const spoken = (name, value) => {
      if (name.includes("time")) return clock(value);
      if (name === "created_at") return when(Date.parse(value) / 1000);
      return typeof value === "number" && name !== "seed" ? number(value, 4) : Array.isArray(value) ? [...new Set(value.map((v) => number(v)))].join(", ") : String(value);
    };
    const shape = ([name, lengths]) => `${name.slice(0, 100)}: ${lengths.join(" × ") || "a number"}`;
    const known = { ...r.about, seed: r.seed, host: r.began.host, process: r.began.process && String(r.began.process), processor_time: r.processor, data: Object.entries(r.observed ?? {}).map(shape).join("; ") || null, digest_of_the_model: r.began.digest };
    this.hide("about", Object.values(known).every((v) => v === undefined || v === null));
    this.part.about.replaceChildren(make("table", {}, make("tbody", {}, Object.entries(known).filter(([, v]) => v !== undefined && v !== null).map(([name, value]) =>
      make("tr", {}, make("th", { scope: "row" }, name.replaceAll("_", " ")), make("td", { class: "words" }, spoken(name, value)))))));
  }

  buttons(r) {
    const said = async (action, amount = null) => {
      try { await act(action, amount); this.part.news.textContent = `Asked for: ${action}.`; } catch (error) { this.part.news.textContent = error.message; }
      this.refresh(true);
    };
    this.more = make("input", { type: "number", min: 1, value: 2000, "aria-label": "Additional ESS" });
    const paused = r.status === "paused";
    return make("div", { class: "controls", role: "group", "aria-label": "Control of the run" },
      make("button", { "data-action": "pause", onclick: () => said(paused ? "resume" : "pause") }, paused ? "Resume" : "Pause"),
      make("button", { "data-action": "stop", onclick: () => { if (confirm("Stop the run? It ends with the draws it has.")) said("stop"); } }, "Stop"),
      this.more, make("button", { "data-action": "more", onclick: () => said("more", Number(this.more.value)) }, "Add to target ESS"));
  }

  over(p) {
    const enough = p.at.length > 0;
    this.hide("tuning", !enough);
    if (!enough) return;
    if (!this.part.tuning.childElementCount) {
      this.part.tuning.append(...this.tuning.flatMap(([what, lines]) => [make("h3", {}, what.replace("_", " ")), lines.element]), make("div", {}));
    }
    for (const [what, lines] of this.tuning) {
      const rows = p[what];
      const told = p.at.length > 2 && rows.some((row) => row.some((v) => v !== null));
      lines.element.hidden = lines.element.previousSibling.hidden = !told;
      if (told) lines.show(p.at, rows, p.chains.map((c) => `chain ${c}`));
    }
    const last = (row) => row[row.length - 1];
    renew(this.part.tuning.lastChild, this.metric(this.run.metric) ?? "", scrolled("State of the chains", make("table", {}, make("thead", {}, make("tr", {}, ["chain", "phase", "steps", "draws", "diverged", "step size", "depth"].map((t) => make("th", {}, t)))),
      make("tbody", {}, p.chains.slice(0, 64).map((c, i) => make("tr", {}, [c, p.phase[i], number(last(p.done[i])), number(last(p.draws[i])), number(last(p.divergences[i])), number(last(p.step_size[i])), number(last(p.tree_depth[i]))].map((v) => make("td", {}, String(v)))))))));
  }

  metric(m) {
    if (!m) return null;
    const ends = (some) => some.map(([name, scale]) => `${name.slice(0, 60)} ${number(scale)}`).join(", ");
    const form = m.directions ? `one scale per coordinate and ${plural(m.directions, "further direction")}` : "one scale per coordinate";
    return make("p", { class: "dim metric" }, `Mass matrix: ${form}${m.whitened ? ", in coordinates whitened by the curvature" : ""}. Smallest scales: ${ends(m.smallest)}. Largest: ${ends(m.largest)}.`);
  }

  energy(e) {
    this.hide("energy", !e);
    if (!e) return;
    const low = e.bfmi.filter((b) => b < 0.3).length;
    this.part.energy.replaceChildren(bars(e.edges, [e.energy, e.changes], "Histograms of energy and of its changes", 150, "energy"), legend(["energy minus its mean", "change between draws"]),
      make("p", { class: low ? "bad" : "dim" }, `BFMI by chain: ${e.bfmi.map((b) => number(b, 2)).join(", ")}.${low ? " Below 0.3, chains move too slowly between energy levels." : ""}`));
  }

  events(events) {
    const say = { began: (e) => (e.resumed ? "resumed from its checkpoint" : "started"), restarted: () => "restarted", moved: (e) => `chain ${e.chain} moved to another worker`, lost: (e) => `chain ${e.chain} left out`, ended: (e) => `ended: ${e.status.replaceAll("_", " ")}` };
    const rows = [...events.filter((e) => e.time).map((e) => [when(e.time), say[e.kind](e), e.reason ?? ""]), ...this.run.notes.map((n) => ["", "note", n])];
    const restarts = events.some((e) => e.kind === "restarted") ? [] : this.run.restarts.map((n) => ["", "restarted", n]);
    rows.push(...restarts);
    this.hide("events", !rows.length);
    const told = (what, why) => `${what}${why ? `: ${why.replaceAll("`", "")}` : ""}`;
    renew(this.part.events, scrolled("Table of events", make("table", { class: "events" }, make("tbody", {}, rows.map(([t, what, why]) => make("tr", {}, make("td", {}, t), make("td", { class: "words" }, told(what, why))))))));
  }

  async find() {
    if (!this.run?.groups.posterior) return;
    clearTimeout(this.finding);
    const query = this.search.value;
    if (embedded) this.offer(embedded.names.filter((n) => n.text.toLowerCase().includes(query.toLowerCase())).slice(0, 60), false);
    else this.finding = setTimeout(async () => {
      try {
        const { found, more } = await ask("search", { run: this.name, q: query });
        const some = query ? found : found.slice(0, 24); // each is a stop of the Tab key
        this.offer(some, more || some.length < found.length);
      } catch (error) { this.part.news.textContent = error.message; }
    }, query ? 150 : 0);
  }

  offer(found, more) {
    this.part.found.replaceChildren(...found.map((element) => make("li", {}, make("button", {
      "aria-pressed": String(this.chosen.some((c) => key(c) === key(element))), title: element.text.slice(0, 300), onclick: (event) => this.choose(element, event.currentTarget),
    }, element.text.slice(0, 120)))), more ? make("li", { class: "dim" }, "… and more: type to search") : "", found.length ? "" : make("li", {}, "No parameter matches."));
  }

  async choose(element, button) {
    this.byHand = true;
    const there = this.chosen.some((c) => key(c) === key(element));
    this.chosen = there ? this.chosen.filter((c) => key(c) !== key(element)) : [element, ...this.chosen].slice(0, 6);
    button.setAttribute("aria-pressed", String(!there));
    await this.showTraces();
    await Promise.all([this.showPairs(), this.showPrior()]);
  }

  async showTraces() {
    const told = async (element) => {
      try { return [element, await trace(this.name, element)]; } catch (error) { this.part.news.textContent = `${element.text.slice(0, 100)}: ${error.message}`; return null; }
    };
    const found = (await Promise.all(this.chosen.map(told))).filter(Boolean);
    const cards = found.map(([element, t]) => {
      const [chains, points] = t.shape;
      let card = this.traces.get(key(element));
      if (!card) {
        const lines = new Lines(`Trace of ${element.text.slice(0, 300)}. Drag to zoom in, double-click to zoom out.`, 150, { unit: "draw" });
        lines.alone = this.alone;
        card = { lines, said: make("span", {}), side: make("div", {}) };
        card.element = make("article", { class: "trace", "aria-label": element.text }, make("header", {}, make("h3", { title: element.text.slice(0, 300) }, element.text), card.said), lines.element, card.side);
        this.traces.set(key(element), card);
      }
      card.data = [t, chains, points];
      const last = (row) => row[row.length - 1];
      const odd = t.finite < t.size ? ` · ${plural(t.size - t.finite, "draw")} not finite` : "";
      card.said.textContent = `R-hat ${last(t.r_hat)?.toFixed(3) ?? "–"} · ESS ${number(last(t.ess_bulk))} bulk, ${number(last(t.ess_tail))} tail · mean ${number(t.mean)} · sd ${number(t.sd)}${odd}${t.step > 1 ? ` · one draw in ${t.step}` : ""}`;
      card.side.replaceChildren(ranks(t.ranks, `Ranks of ${element.text} by chain: flat if the chains agree`));
      return card;
    });
    this.part.parameters.replaceChildren(...cards.map((card) => card.element));
    for (const card of cards) {
      const [t, chains, points] = card.data;
      // The smallest and the largest of neighbouring draws, one after the other.
      const x = [], lines = Array.from({ length: chains }, () => []);
      const both = t.width > t.step;
      for (let i = 0; i < points; i++) {
        for (const end of both ? [0, 1] : [0]) {
          x.push((i + 0.5 * end) * t.width);
          for (let c = 0; c < chains; c++) {
            const v = t.lines[2 * (c * points + i) + end];
            lines[c].push(Number.isFinite(v) ? v : null);
          }
        }
      }
      card.lines.show(x, lines, lines.map((_, i) => `chain ${i}`), { width: 0.8, alpha: 0.85 });
    }
    this.showGrowth(found);
  }

  showGrowth(found) {
    const some = found.filter(([, t]) => t.lengths.length);
    const checks = this.run.checks;
    for (const [place, what] of [[0, "r_hat"], [1, "ess_bulk"]]) {
      const lines = this.growth[place];
      if (!some.length) continue;
      const name = place ? "ess" : "rhat";
      const x = some[0][1].lengths.map((n) => n * some[0][1].step);
      const asked = this.run.check ? (place ? this.run.check.target_ess : this.run.check.target_rhat) : null;
      const most = Math.max(...some.flatMap(([, t]) => t[what]));
      const target = asked && asked < 3 * most ? asked : null; // else what is there would be one flat line
      lines.show(x, [...some.map(([, t]) => t[what]), ...(target ? [x.map(() => target)] : [])], some.map(([e]) => e.text),
        { points: true, colors: [...some.map((_, i) => i), 6], dashes: [...some.map(() => undefined), [5, 5]] });
      this.part[name].replaceChildren(legend([...some.map(([e]) => e.text.slice(0, 60)), ]), make("p", { class: "dim" }, checks.length ? `${plural(checks.length, "convergence check")} so far.${target ? " The dashed line is the target." : asked ? ` The target is ${number(asked)}.` : ""}` : ""));
    }
  }

  async showSummary() {
    const found = await ask("summary", { run: this.name });
    this.rows = found.names.map((name, i) => ({ name, element: { text: name, variable: found.keys[i][0], place: found.keys[i][1] }, intervals: found.intervals?.[name], ...Object.fromEntries(COLUMNS.map(([c]) => [c, found.columns[c][i]])) }));
    this.total = found.total;
    this.step = found.step;
    this.table();
    this.hide("forest", !this.rows.length);
    const worst = new Set(this.run.worst.map((w) => w.text));
    const some = this.rows.length <= 40 ? this.rows : [...this.rows.filter((r) => worst.has(r.name)), ...this.rows.filter((r) => !worst.has(r.name))].slice(0, 40);
    const numbers = some.filter((r) => r.lower !== null && r.upper !== null), width = this.part.forest.clientWidth || 560;
    const low = Math.min(...numbers.map((r) => r.lower)), top = Math.max(...numbers.map((r) => r.upper));
    const two = width > 860 && some.length > 10, half = two ? Math.ceil(some.length / 2) : some.length;
    const drawings = numbers.length ? [some.slice(0, half), some.slice(half)].filter((part) => part.length).map((part) => forest(part, two ? Math.min(640, width / 2 - 12) : Math.min(960, width), low, top)) : [];
    this.part.forest.replaceChildren(make("div", { class: "beside" }, drawings), numbers.length ? "" : make("p", { class: "dim" }, "Nothing to draw."), this.rows.length > 40 ? make("p", { class: "dim" }, `40 of ${this.total.toLocaleString("en")} parameters, the worst first.`) : "");
  }

  table() {
    if (!this.rows) return;
    const wanted = this.filter.value.toLowerCase();
    let rows = this.rows.filter((r) => r.name.toLowerCase().includes(wanted));
    const { column, down } = this.sort;
    if (column) rows.sort((a, b) => (column === "name" ? a.name.localeCompare(b.name) : (a[column] ?? -Infinity) - (b[column] ?? -Infinity)) * (down ? -1 : 1));
    // Printed, a head is repeated on each page only if there are no buttons in it.
    const heading = ([c, label]) => make("th", { "data-printed": label, "aria-sort": column === c ? (down ? "descending" : "ascending") : "none" },
      make("button", { onclick: () => { this.sort = { column: c, down: this.sort.column === c ? !down : c !== "name" }; this.table(); this.part.summary.querySelector(`[data-column=${c}]`)?.focus(); }, "data-column": c }, `${label}${column === c ? (down ? " ↓" : " ↑") : ""}`));
    const shown = rows.slice(0, 400);
    const tone = (c, v) => (c === "r_hat" && v > 1.01 ? "bad" : "");
    const cell = (c, v) => (c === "r_hat" && v !== null ? v.toFixed(3) : number(v));
    this.part.summary.replaceChildren(scrolled("Table of the summary", make("table", {},
      make("thead", {}, make("tr", {}, [["name", "parameter"], ...COLUMNS].map(heading))),
      make("tbody", {}, shown.map((r) => make("tr", {}, make("td", { title: r.name.slice(0, 300) }, r.name.slice(0, 200)), COLUMNS.map(([c]) => make("td", { class: tone(c, r[c]) }, cell(c, r[c])))))))),
    make("p", { class: "dim" }, `${shown.length.toLocaleString("en")} of ${plural(this.total ?? 0, "row")}${this.total > this.rows.length ? `. Sorting and filtering cover the first ${this.rows.length.toLocaleString("en")}; the search above finds all` : ""}${this.step > 1 ? `. Computed from one draw in ${this.step}, so the ESS values are lower bounds` : ""}`));
  }

  async showPairs() {
    const chosen = this.chosen.slice(0, 4);
    if (chosen.length < 2) { this.part.pairs.replaceChildren(make("p", { class: "dim" }, "Choose two or more parameters.")); return; }
    try {
      const found = await ask("pairs", { run: this.name, of: JSON.stringify(chosen.map((c) => [c.variable, c.place])) });
      this.part.pairs.replaceChildren(pairs(found.columns, found.diverged, chosen.map((c) => c.text), this.widthOf("pairs")));
    } catch (error) { this.part.pairs.replaceChildren(make("p", { class: "dim" }, error.message)); }
  }

  async showPrior() {
    this.hide("prior", !this.run.prior || !this.chosen.length);
    if (!this.run.prior) return;
    const cards = [];
    for (const element of this.chosen) {
      const told = make("figure", { class: "density" }, make("figcaption", { title: element.text.slice(0, 300) }, element.text.slice(0, 80)));
      try {
        const found = await ask("prior", { run: this.name, of: JSON.stringify([element.variable, element.place]) });
        if (!found.edges.length) continue;
        told.append(bars(found.edges, [found.posterior, found.prior], `Prior and posterior density of ${element.text}`, 100));
        if (found.inside < 0.99) told.append(make("p", { class: "dim" }, `The plot shows ${number(100 * found.inside, 2)} % of the prior.`));
        cards.push(told);
      } catch { /* the prior has it under no such name, or the file not at all */ }
    }
    this.hide("prior", !cards.length);
    this.part.prior.replaceChildren(make("div", { class: "densities" }, cards), legend(["posterior", "prior"]));
  }

  async showLeaveOneOut() {
    if (!this.run.pointwise || LIVE.includes(this.run.status)) { this.hide("loo", true); return; }
    this.hide("loo", false);
    try {
      const l = await ask("loo", { run: this.name });
      this.part.loo.replaceChildren(make("p", {}, `Expected log predictive density (elpd) ${number(l.elpd, 5)} ± ${number(l.error, 3)} for ${plural(l.observations, "observation")}, with ${number(l.parameters)} effective parameters${l.step > 1 ? `, from one draw in ${l.step}` : ""}.`),
        make("p", { class: l.bad ? "bad" : "dim" }, l.bad ? `The estimate is unreliable for ${plural(l.bad, "observation")} (Pareto k above 0.7): ${l.worst.filter(([, k]) => k > 0.7).map(([n, k]) => `${n.slice(0, 60)} ${number(k, 2)}`).join(", ")}. Refit without them, or use a model with heavier tails.` : `No Pareto k is above 0.7 (the largest is ${number(l.worst[0][1], 2)}), so the estimate is reliable.`));
    } catch (error) { this.part.loo.replaceChildren(make("p", { class: "dim" }, error.message)); }
  }

  async showDivergences() {
    const found = await ask("divergences", { run: this.name });
    const some = found.rows.filter((r) => r.ranks.length);
    this.hide("divergences", !found.count || !some.length);
    if (!found.count || !some.length) return;
    const strong = some.filter((r) => Math.abs(r.shift) > 3).map((r) => `${r.text} is ${r.shift < 0 ? "small" : "large"}`);
    this.part.divergences.replaceChildren(parallel(some, this.widthOf("divergences")), make("p", {}, `${plural(found.count, "divergent draw")}. Each line shows the ranks of one draw, the lowest at the bottom. `, strong.length ? `Divergent draws lie where ${strong.slice(0, 3).join(", ")}.` : found.count < 5 ? "They are too few to show where steps diverge." : "Divergent draws lie where the other draws do."));
  }
}
