"""Pictures of the site and of the watch page, as browsers show them, and what axe-core says of each.

    python tools/screens.py site  docs/_build/html /tmp/pictures [--axe axe.min.js] [learn/faq do/watching …]
    python tools/screens.py watch /tmp/runs /tmp/pictures [--axe axe.min.js] [good list …]
    python tools/screens.py checks docs/_build/html /tmp/pictures --axe axe.min.js [learn do reference/api …]

Each page is drawn at 1280 and 400 pixels, light and dark. In: a built site, or a folder in which runs of all kinds are
made where it is empty. Out: PNG files, and a line for each overflow, each error of the browser, and each violation.
`checks` draws nothing, and looks at all pages whose address begins with one of the words, all without words.
Needs Playwright and Chromium, and for `watch` this library's extras `watch`, `zarr` and `netcdf`; axe-core is a file
of npm's package of that name.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import sync_playwright

PAGES = (
    "index", "learn/install", "learn/first-model", "learn/not-converged", "do/hierarchies", "do/comparison",
    "do/watching", "gallery/index", "gallery/radon", "reference/index", "reference/api/consilience.sample",
    "understand/compare",
)  # fmt: skip
WIDTHS = (1280, 400)
HEIGHTS = {1280: 1600, 400: 1800}

RUNS = """
import sys, warnings
import numpy as np
import consilience as pm
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
s = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
schools = ["Choate", "Deerfield", "Phillips Andover", "Phillips Exeter", "Hotchkiss", "Lawrenceville", "St. Paul's",
           "Mt. Hermon"]

def eight():
    with pm.Model(coords={"school": schools}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Normal("y", theta, s, observed=y, dims="school")
    return model

def waves():
    x = np.linspace(0, 3, 40)
    with pm.Model() as model:
        f = pm.Uniform("frequency", 0, 12)
        a = pm.Normal("amplitude", 0, 1)
        pm.Normal("y", a * pm.math.sin(f * x), 0.2, observed=np.sin(5 * x) + rng.normal(0, 0.2, 40))
    return model

def wide(n=5000):
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1)
        a = pm.Normal("a", 0, scale, shape=n - 1)
        pm.Normal("y", a, 1, observed=rng.normal(size=n - 1))
    return model

def of_row(row):
    with pm.Model() as model:
        x = pm.Normal("x", 0, 2)
        pm.Normal("y", x, 1, observed=np.asarray(row) if len(row) else 1 / 0)
    return model

quiet = dict(random_seed=1, progressbar=False)
place, what = sys.argv[1:]
match what:
    case "good":
        with eight():
            found = pm.sample(save=pm.Save(store=f"{place}/good.zarr"), idata_kwargs={"log_likelihood": True}, **quiet)
            found.extend  # the result stays as it is
            prior = pm.sample_prior_predictive(500, random_seed=1)
            pm.sample_posterior_predictive(found, random_seed=1, progressbar=False, extend_inferencedata=True)
            found.to_netcdf(f"{place}/complete.nc")
            pm.report(found, f"{place}/report.html")
    case "divergent":
        with eight():
            pm.sample(draws=500, tune=500, remedies=(), save=pm.Save(store=f"{place}/divergent.zarr"), **quiet)
    case "apart":
        with waves():
            pm.sample(draws=500, tune=500, remedies=(), save=pm.Save(store=f"{place}/apart.zarr"), **quiet)
    case "study":
        rows = {f"shop {k}": list(rng.normal(k / 3, 1, 12)) for k in range(6)} | {"shop without sales": []}
        pm.sample_many(of_row, rows, store=f"{place}/shops", cores=1, draws=300, tune=200, **quiet)
    case "killed":
        with wide(300):
            pm.sample(stop=pm.Stop(ess=1e9, max_time=60), cores=2, save=pm.Save(store=f"{place}/killed.zarr",
                      checkpoint=f"{place}/killed.run"), **quiet)
"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder of files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


class Photographer:
    """Draws pages in all widths and colours, and tells what is wrong with them."""

    def __init__(self, browser: Any, place: Path, axe: Path | None) -> None:
        self.browser, self.place, self.axe, self.findings = browser, place, axe, 0
        place.mkdir(parents=True, exist_ok=True)

    def say(self, words: str) -> None:
        """Print a finding."""
        self.findings += 1
        print(words, flush=True)

    def take(self, name: str, address: str, ready: Callable[[Any], None], whole: bool) -> None:
        """All pictures of one address."""
        for colours in ("light", "dark"):
            for width in WIDTHS:
                size = {"width": width, "height": HEIGHTS[width]}
                page = self.browser.new_page(viewport=size, color_scheme=colours, bypass_csp=True)
                label = f"{name}-{width}-{colours}"
                page.on("pageerror", lambda error, label=label: self.say(f"{label}: {error}"))
                page.on("console", lambda said, label=label: said.type == "error" and self.say(f"{label}: {said.text}"))
                page.goto(address)
                ready(page)
                page.wait_for_timeout(700)
                page.screenshot(path=self.place / f"{label.replace('/', '.')}.png", full_page=whole)
                over = page.evaluate("document.documentElement.scrollWidth") - width
                if over > 0:
                    self.say(f"{label}: {over} pixels wider than the window")
                if self.axe is not None and width == WIDTHS[0]:
                    self.check(page, label)
                page.close()

    def check(self, page: Any, label: str) -> None:
        """What axe-core finds."""
        page.evaluate(self.axe.read_text(encoding="utf-8") if self.axe else "")
        for wrong in page.evaluate("axe.run().then(r => r.violations)"):
            for node in wrong["nodes"][:3]:
                self.say(f"{label}: {wrong['id']} ({wrong['impact']}): {node['html'][:150]}")


def site(photographer: Photographer, built: Path, names: list[str]) -> None:
    """Pages of the built site."""
    with served(built) as root:
        for name in names or PAGES:
            photographer.take(name, f"{root}{name}.html", lambda page: page.wait_for_load_state("load"), False)


def checks(photographer: Photographer, built: Path, words: list[str]) -> None:
    """All pages of the built site, without pictures, one window for each of the colours."""
    names = sorted(str(page.relative_to(built).with_suffix("")) for page in built.rglob("*.html"))
    chosen = [n for n in names if not n.startswith("_") and (not words or n.startswith(tuple(words)))]
    with served(built) as root:
        for colours in ("light", "dark"):
            page = photographer.browser.new_page(viewport={"width": 1280, "height": 1600}, color_scheme=colours)
            said: list[str] = []
            page.on("pageerror", lambda error, said=said: said.append(str(error)))
            page.on("console", lambda told, said=said: told.type == "error" and said.append(told.text))
            for name in chosen:
                page.goto(f"{root}{name}.html")
                page.wait_for_load_state("load")
                for width in WIDTHS[::-1]:
                    page.set_viewport_size({"width": width, "height": 1600})
                    if (over := page.evaluate("document.documentElement.scrollWidth") - width) > 0:
                        said.append(f"{over} pixels wider than {width}")
                if photographer.axe is not None:
                    photographer.check(page, f"{name}-{colours}")
                for words_of_it in said:
                    photographer.say(f"{name}-{colours}: {words_of_it}")
                said.clear()
            page.close()
    print(f"{len(chosen)} pages")


def made(place: Path) -> None:
    """Runs of all kinds, where there are none yet."""
    place.mkdir(parents=True, exist_ok=True)
    script = place / "runs.txt"
    script.write_text(RUNS, encoding="utf-8")
    for what in ("good", "divergent", "apart", "study"):
        if not any((place / n).exists() for n in (f"{what}.zarr", "shops" if what == "study" else f"{what}.zarr")):
            subprocess.run([sys.executable, script, place, what], check=True)
    if not (place / "killed.zarr").exists():
        run = subprocess.Popen([sys.executable, script, place, "killed"])
        while run.poll() is None and not (place / "killed.run").exists():  # it checkpoints after the first draws
            time.sleep(1)
        time.sleep(5)
        run.kill()
        run.wait()
    broken = place / "broken.zarr"
    broken.mkdir(exist_ok=True)
    (broken / "zarr.json").write_text('{"zarr_format": 2}', encoding="utf-8")


def live(what: str) -> Any:
    """A run of this process with its page: in tuning, or drawing."""
    import numpy as np

    import consilience as pm

    names: dict[str, Any] = {}
    exec(RUNS.partition("quiet =")[0], names)
    if what == "tuning":
        with pm.Model():
            scale = pm.HalfNormal("scale", 1, shape=40)
            a = pm.Normal("a", 0, scale, shape=(200, 40))
            x = np.random.default_rng(1).normal(size=(20_000, 200))
            pm.Normal("y", (x @ a).sum(axis=1), 1, observed=np.random.default_rng(2).normal(size=20_000))
            run = pm.sample(random_seed=1, cores=1, progressbar=False, blocking=False, remedies=())
    else:
        with names["eight"]():
            run = pm.sample(stop=pm.Stop(ess=1e7, max_time=600), random_seed=1, cores=1, progressbar=False,
                            blocking=False)  # fmt: skip
    return run, run.watch(port=0)


def watch(photographer: Photographer, place: Path, names: list[str]) -> None:
    """States of the watch page."""
    from consilience.watch import server
    from consilience.watch.folder import Folder

    made(place)
    shown = server.Server(Folder(place), "127.0.0.1", 0).start()

    def traces(page: Any) -> None:
        page.wait_for_selector("article.trace canvas", timeout=60_000)
        page.wait_for_timeout(1500)

    def of(selector: str) -> Callable[[Any], None]:
        return lambda page: page.wait_for_selector(selector, timeout=60_000) and None

    def compared(page: Any) -> None:
        page.wait_for_selector("td .badge")
        for name in ("divergent.zarr", "good.zarr"):
            page.check(f"input[aria-label='Compare {name} with another run']")
        page.wait_for_selector("h2:has-text('Comparison')")

    states: dict[str, tuple[str, Callable[[Any], None]]] = {
        "list": ("", of("td .badge")), "compare": ("", compared), "good": ("good.zarr", traces),
        "complete": ("complete.nc", traces), "divergent": ("divergent.zarr", traces), "apart": ("apart.zarr", traces),
        "killed": ("killed.zarr", traces), "checkpoint": ("killed.run", of(".badge")),
        "fit": ("shops/shop 1", traces), "failed": ("shops/shop without sales", of(".badge")),
        "broken": ("broken.zarr", of("#main p")),
    }  # fmt: skip
    for name, (run, ready) in states.items():
        if not names or name in names:
            photographer.take(name, f"{shown.address}{f'#run={run}' if run else ''}", ready, True)
    shown.close()
    if not names or "report" in names:
        photographer.take("report", (place / "report.html").as_uri(), traces, True)
    for what in ("tuning", "sampling"):
        if not names or what in names:
            run, page = live(what)
            photographer.take(what, page.address, of(".advances li") if what == "tuning" else traces, True)
            run.stop()
            page.close()


def main() -> None:
    """As the first lines say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("site", "watch", "checks"))
    parser.add_argument("source", type=Path)
    parser.add_argument("place", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--axe", type=Path)
    given = parser.parse_intermixed_args()
    with sync_playwright() as played:
        browser = played.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        photographer = Photographer(browser, given.place, given.axe)
        {"site": site, "watch": watch, "checks": checks}[given.what](photographer, given.source, given.names)
        browser.close()
    print(f"{photographer.findings} findings; pictures in {given.place}")


if __name__ == "__main__":
    main()
