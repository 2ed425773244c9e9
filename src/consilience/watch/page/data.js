// What the page knows: answers of the server by address, or those that stand in the file itself.

export const embedded = (() => {
  const found = document.getElementById("embedded");
  return found ? JSON.parse(found.textContent) : null;
})();

const control = new URLSearchParams(location.hash.slice(1)).get("control");

function address(what, query) {
  return `api/${what}?${new URLSearchParams(query)}`;
}

async function answer(what, query) {
  if (embedded) {
    const found = embedded.answers[`${what} ${JSON.stringify(query)}`];
    if (found === undefined) throw new Error("This is not in the file; the store has it.");
    return found;
  }
  const got = await fetch(address(what, query));
  if (!got.ok) {
    const words = await got.text();
    let said = words;
    try { said = JSON.parse(words).error ?? words; } catch { /* plain words */ }
    throw new Error(said);
  }
  return got;
}

export async function ask(what, query = {}) {
  const got = await answer(what, query);
  return embedded ? got : got.json();
}

export async function trace(run, element, group = "posterior") {
  const got = await answer("trace", { run, group, of: JSON.stringify([element.variable, element.place]) });
  let bytes;
  if (embedded) bytes = Uint8Array.from(atob(got), (c) => c.charCodeAt(0)).buffer;
  else bytes = await got.arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  about.lines = new Float32Array(bytes, 4 + length);
  return about;
}

export function follow(run, changed, lost, quiet, alive) {
  if (embedded) return () => {};
  const events = new EventSource(address("events", { run }));
  events.addEventListener("change", changed);
  events.addEventListener("quiet", quiet);
  events.addEventListener("alive", alive);
  events.addEventListener("open", () => lost(false));
  events.addEventListener("error", () => lost(true));
  return () => events.close();
}

export const mayControl = control !== null && !embedded;

export async function act(action, number = null) {
  const got = await fetch("api/control", {
    method: "POST",
    headers: { "x-control": control ?? "", "content-type": "application/json" },
    body: JSON.stringify({ action, number }),
  });
  if (!got.ok) throw new Error((await got.json()).error);
}
