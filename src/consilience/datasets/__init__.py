"""The data of the examples, which come with the library: `load_data`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from consilience.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations

__all__ = ["load_data"]

FOLDER: Final = Path(__file__).parent
DATES: Final = {"births": "date", "co2": "month", "oil": "date"}
CONTENTS: Final = {
    "air_passengers": "passengers of airlines by month, 1949 to 1960",
    "anes96": "party, ideology, income and age of American voters, 1996",
    "births": "births in the United States by day, 1969 to 1978",
    "butterflies": "on how many visits each species of butterfly was seen at each site",
    "co2": "carbon dioxide at Mauna Loa by month, ppm",
    "coal": "dates of explosions in British coal mines, 1851 to 1962",
    "diabetes": "progression of diabetes and ten measurements of patients",
    "earnings": "yearly earnings, height and sex of adults",
    "euro2024": "results of national football teams before and in the tournament of 2024",
    "gdp": "real gross domestic product of the United States by quarter",
    "golf": "putts tried and holed, by distance",
    "gravity": "measurements of the constant of gravitation in eight series",
    "hd164922": "radial velocities of the star HD 164922",
    "insulation": "time to breakdown of insulation under high voltage",
    "kidiq": "test scores of children, and education, IQ and work of their mothers",
    "kilpisjarvi": "mean summer temperatures at Kilpisjärvi, Finland",
    "lip_cancer": "lip cancer in 56 districts of Scotland, with neighbours",
    "losses": "insurance losses paid by cohort and year",
    "lsat": "patterns of answers to five questions of the Law School Admission Test",
    "lynx_hare": "furs of lynx and hares by year, 1900 to 1920",
    "mammals": "sleep, brain weight and body weight of mammals, with missing values",
    "melanoma": "survival of patients after an operation for melanoma, censored",
    "motorcycle": "acceleration of the head in a simulated motorcycle accident",
    "nile": "flow of the Nile at Aswan by year, 1871 to 1970",
    "oil": "price of crude oil by day",
    "penguins": "species and flipper length of penguins",
    "radon": "radon in 919 houses of 85 counties of Minnesota",
    "rats": "weights of 30 young rats at five ages",
    "sesame": "letter test of children, encouraged to watch Sesame Street or not",
    "wells": "households in Bangladesh that changed to a safe well or did not",
}


def load_data(name: str | None = None) -> pd.DataFrame:
    """Load a dataset of the examples as a data frame.

    The data come with the library: 30 small files, 280 kB in all. Nothing is downloaded. Sources and licences are in
    the file `NOTICE` beside them.

    name: The name of a dataset, such as "radon", "wells" or "nile". Without a name, the result is a table of all
        datasets with their number of rows, columns, bytes, and a description.
    Returns (pandas.DataFrame): The data, one row per observation. Columns of dates have the dtype datetime64.
    Raises ArgumentError: If there is no dataset of that name. The message has the nearest name.
    See Data: Data of a model that can be replaced.
    >>> radon = pm.load_data("radon")
    >>> radon.shape
    (919, 4)
    >>> list(radon.columns)
    ['county', 'floor', 'log_radon', 'log_uranium']
    """
    if name is None:
        return _listed()
    if not isinstance(name, str) or name not in CONTENTS:
        near = difflib.get_close_matches(str(name), CONTENTS, 1)
        told = f"Did you mean {near[0]!r}? `pm.load_data()` lists all." if near else "`pm.load_data()` lists all."
        raise ArgumentError(f"pm.load_data: there is no dataset {name!r}. {told}")
    return _read(name)


def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(FOLDER / f"{name}.csv", parse_dates=[DATES[name]] if name in DATES else None)


def _listed() -> pd.DataFrame:
    import pandas as pd

    frames = {name: _read(name) for name in CONTENTS}
    return pd.DataFrame(
        {
            "rows": [len(frame) for frame in frames.values()],
            "columns": [
                ", ".join(frame.columns[:4]) + (", …" if len(frame.columns) > 4 else "") for frame in frames.values()
            ],
            "bytes": [(FOLDER / f"{name}.csv").stat().st_size for name in CONTENTS],
            "description": list(CONTENTS.values()),
        },
        index=pd.Index(list(CONTENTS), name="name"),
    )
