"""The page of a result as one file, which needs no server and no network: a result enters, HTML leaves.

It is the page of the server, with the answers to all that it asks by itself inside.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, Final

from consilience.errors import StorageError
from consilience.output.storage import files
from consilience.sample.storing import about
from consilience.watch import criticism, views
from consilience.watch.live import prior_of
from consilience.watch.server import PAGE, as_json, with_arrays
from consilience.watch.source import TreeSource

MODULES: Final = ("data.js", "draw.js", "model.js", "run.js", "runs.js", "main.js")
"""In the order in which they stand on one another."""
MOST_TRACES, MOST_PRIORS = 24, 6


def write(result: Any, path: str | os.PathLike[str]) -> Path:
    """Write the page of a result of `pm.sample`; the file that was written. StorageError where that can't be."""
    target = Path(path)
    run = getattr(result, "_run", None)  # of results that were not read from disk
    began = [] if run is None else [{"kind": "began", "time": None, **about(run)}]
    source = TreeSource(result, target.stem, began)
    source.draw_prior = None if run is None else prior_of(run)
    text = page(source)
    try:
        with files.replacing(target.absolute()) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise files.failure(target, error, "nothing was written") from error
    return target


def page(source: TreeSource) -> str:
    """The file's text."""
    script = "\n".join(_alone((PAGE / name).read_text(encoding="utf-8")) for name in MODULES)
    library = (PAGE / "vendor/uPlot.iife.min.js").read_text(encoding="utf-8")
    style = "\n".join((PAGE / name).read_text(encoding="utf-8") for name in ("vendor/uPlot.min.css", "style.css"))
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (library, script))
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'sha256-{_digest(style)}'; img-src data:; base-uri 'none'"
    )
    data = json.dumps(as_json(embedded(source)), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")  # no end of the element inside
    title = source.name.replace("&", "&amp;").replace("<", "&lt;")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style}</style></head><body>"
        '<main id="main" tabindex="-1"></main>'
        f'<script type="application/json" id="embedded">{data}</script>'
        f'<script>{library}</script><script type="module">{script}</script></body></html>\n'
    )


def embedded(source: TreeSource) -> dict[str, Any]:
    """Answers by question, and the names that can be searched: those of which there are lines."""
    run = views.run(source, views.Clock())
    name = source.name
    answers: dict[str, Any] = {}

    def put(what: str, answer: Any, **query: str) -> None:
        answers[f"{what} {_json({'run': name, **query})}"] = answer

    put("run", run)
    put("summary", summary := views.summary(source))
    put("divergences", views.divergences(source))
    worst = [{**e, "place": list(e["place"])} for e in run["worst"]]
    chosen = {_json([e["variable"], e["place"]]): e for e in worst}
    for text, (variable, place) in zip(summary["names"], summary["keys"], strict=True):
        if len(chosen) < MOST_TRACES:
            chosen.setdefault(
                _json([variable, list(place)]), {"text": text, "variable": variable, "place": list(place)}
            )
    for of, element in chosen.items():
        lines, figures = views.trace(source, "posterior", element["variable"], tuple(element["place"]), 200)
        data = with_arrays({**figures, "shape": lines.shape}, lines.tobytes())
        put("trace", base64.b64encode(data).decode(), group="posterior", of=of)
    keys = [(e["variable"], tuple(e["place"])) for e in worst[:4]]
    if len(keys) > 1:
        put("pairs", views.pairs(source, keys), of=_json([[v, list(p)] for v, p in keys]))
    for variable in run["predictive"]:
        put("predictive", criticism.predictive(source, variable), variable=variable)
    if run["prior"]:
        for element in worst[:MOST_PRIORS]:
            of = _json([element["variable"], element["place"]])
            with contextlib.suppress(KeyError):  # the prior has it under no such name
                put("prior", criticism.prior(source, element["variable"], tuple(element["place"])), of=of)
    if run["pointwise"]:
        with contextlib.suppress(StorageError):
            put("loo", criticism.leave_one_out(source))
    return {"run": name, "names": list(chosen.values()), "answers": answers}


def _json(value: Any) -> str:
    """JSON as a browser writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _alone(module: str) -> str:
    """A module's text among others in one: without what it takes from them and gives to them."""
    return re.sub(r"^export ", "", re.sub(r"^import .*\n", "", module, flags=re.MULTILINE), flags=re.MULTILINE)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
