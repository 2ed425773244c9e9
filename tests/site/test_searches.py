"""Words that users of PyMC, Stan and brms search for lead to the page that answers, by the site's own search.

`python -m tests.site.test_searches [docs/_build/check]` prints the table of a built site. Terms are those of titles of
threads in discourse.pymc.io, discourse.mc-stan.org and the brms section there.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BUILT = Path(os.environ.get("CONSILIENCE_SITE", ROOT / "docs" / "_build" / "check"))

SEARCHES = {
    "hierarchical model": "do/hierarchies learn/workflow learn/first-model",
    "multilevel": "do/hierarchies learn/workflow gallery/radon",
    "partial pooling": "do/hierarchies learn/first-model learn/workflow gallery/radon gallery/eight_schools",
    "random effects": "do/linear-models do/hierarchies do/inla",
    "mixed models": "do/linear-models do/hierarchies do/inla",
    "meta-analysis": "learn/first-model gallery/eight_schools",
    "divergences": "learn/not-converged do/hierarchies",
    "non-centered parameterization": "do/hierarchies learn/not-converged reference/api/consilience.noncenter",
    "r-hat": "learn/not-converged learn/glossary learn/trust",
    "effective sample size": "learn/not-converged learn/glossary learn/trust",
    "WAIC": "do/comparison learn/faq",
    "leave-one-out cross-validation": "do/comparison",
    "Bayes factor": "do/smc do/comparison",
    "posterior predictive check": "learn/trust learn/workflow reference/api/consilience.posterior_predictive_check",
    "prior predictive": "learn/first-model learn/workflow reference/api/consilience.sample_prior_predictive",
    "missing values": "do/missing-data",
    "out-of-sample prediction": "do/missing-data",
    "zero-inflated": "do/mixtures",
    "label switching": "do/mixtures learn/not-converged",
    "survival analysis": "do/censoring gallery/melanoma",
    "logistic regression": "do/linear-models gallery/wells learn/which-model",
    "ordinal regression": "do/ordinal gallery/ordinal",
    "INLA": "do/inla reference/api/consilience.fit_INLA",
    "optimization": "do/optimize",
    "custom likelihood": "do/custom-distributions do/black-box",
    "save results": "do/saving",
    "sampling is slow": "do/speed learn/faq",
    "max treedepth": "learn/not-converged learn/faq",
    "multimodal": "learn/not-converged understand/hard-posteriors",
    "bug fixes": "changes versions",
}
"""Each term with the pages that answer it."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder, as long as it is needed."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


FIRST = """query => {
    history.replaceState(null, "", "?q=" + encodeURIComponent(query));
    return Search._performSearch(...Search._parseQuery(query)).reverse().map(found => found[0]);
}"""


@contextmanager
def search(site: Path) -> Iterator[Any]:
    """A function from a query to the pages that the site's search finds, best first."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with served(site) as address, sync_api.sync_playwright() as played:
        browser = played.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}/search.html?q=model")
        page.wait_for_function("typeof Search !== 'undefined' && Search._index !== null")
        yield lambda query: list(dict.fromkeys(page.evaluate(FIRST, query)))
        browser.close()


def places(find: Any) -> dict[str, tuple[int | None, list[str]]]:
    """For each term the place of the first page that answers, and the first three pages."""
    told = {}
    for term, wanted in SEARCHES.items():
        found = find(term)
        place = next((k for k, page in enumerate(found, 1) if page in wanted.split()), None)
        told[term] = place, found[:3]
    return told


needs_a_site = pytest.mark.skipif(
    not (BUILT / "search.html").exists() or CHROMIUM is None,
    reason="needs a built site and Chromium",
)


@needs_a_site
def test_the_page_that_answers_is_among_the_first_three() -> None:
    with search(BUILT) as find:
        told = places(find)
    missed = {term: found for term, (place, found) in told.items() if place is None or place > 3}
    assert len(missed) <= len(SEARCHES) - 28, missed


@needs_a_site
@pytest.mark.parametrize(
    "query", ["", " ", "x" * 200, "<b>bold</b>", "<img src=x onerror=alert(1)>", "\"'&%", "constructor"]
)
def test_a_search_for_nothing_or_markup_finds_nothing_and_breaks_nothing(query: str) -> None:
    """The page shows the query as text, and reports no error."""
    sync_api = pytest.importorskip("playwright.sync_api")
    from urllib.parse import quote

    with served(BUILT) as address, sync_api.sync_playwright() as played:
        browser = played.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("dialog", lambda shown: (faults.append(shown.message), shown.dismiss()))
        page.goto(f"{address}/search.html?q={quote(query)}")
        page.wait_for_function("typeof Search !== 'undefined' && Search._index !== null")
        page.wait_for_timeout(300)
        assert page.locator("#search-results img, #search-results b").count() == 0
        browser.close()
    assert not faults


if __name__ == "__main__":
    with search(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILT) as asked:
        rows = places(asked)
    for term, (place, found) in rows.items():
        print(f"{term:32}{place if place is not None else '-':>5}   {', '.join(found)}")
    print(sum(p is not None and p <= 3 for p, _ in rows.values()), "of", len(rows), "among the first three")
