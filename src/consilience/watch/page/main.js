// Which page is shown: the list of runs, or one of them.

import { ask, embedded } from "./data.js";
import { make } from "./draw.js";
import { RunPage } from "./run.js";
import { RunsPage } from "./runs.js";

const place = document.getElementById("main");
let shown = null;

async function show(page) {
  shown?.stop?.();
  shown = page;
  try { await page.start(); } catch (error) { place.replaceChildren(make("p", { role: "alert" }, error.message)); }
}

async function begin() {
  if (embedded) { await show(new RunPage(place, embedded.run, null)); return; }
  let all;
  try { all = await ask("runs"); } catch (error) { place.replaceChildren(make("p", { role: "alert" }, error.message)); return; }
  if (all.single) { await show(new RunPage(place, all.runs[0].name, null)); return; }
  const list = () => show(new RunsPage(place, open));
  const back = (event) => { event.preventDefault(); history.pushState({}, "", "#"); list(); };
  const open = (name, push = true) => {
    if (push) history.pushState({}, "", `#run=${encodeURIComponent(name)}`);
    show(new RunPage(place, name, back));
    place.focus();
  };
  const route = () => {
    const name = new URLSearchParams(location.hash.slice(1)).get("run");
    if (name) open(name, false); else list();
  };
  addEventListener("popstate", route);
  route();
}

document.addEventListener("visibilitychange", () => { if (!document.hidden && shown?.again) shown.refresh(); });
begin();
