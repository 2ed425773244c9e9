"""Where the time went, and how seconds are written."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import consilience as pm
from consilience.output.display import time_line
from consilience.output.display.timing import STAGES
from consilience.output.display.words import clock, counted, duration, short


def test_stages_are_shown_in_order_and_other_attributes_are_passed_over() -> None:
    """In the order in which they follow each other, whatever that of the attributes; what is left has a name."""
    attributes = {"time_sampling": 2.0, "time_zone": "UTC", "time_checks": 0.1, "time_build": 0.0123}
    assert time_line(attributes) == "time: build 12 ms, sampling 2.0 s of 2.0 s"
    assert time_line(attributes, total=3.0).endswith("sampling 2.0 s, other 0.99 s of 3.0 s")
    assert time_line(attributes, total=3.0, rest="loading").endswith("loading 0.99 s of 3.0 s")
    assert time_line(attributes, total=1.0) == time_line(attributes)
    assert time_line({}) == "time: nothing measured of 0 ms"


def test_what_a_result_records_adds_up_to_the_time_it_took() -> None:
    """Stages follow one another: checks, which are part of them, are not counted again."""
    with pm.Model():
        pm.Normal("x", 0, 1, shape=3)
        began = time.perf_counter()
        attributes = pm.sample(random_seed=1, progressbar=False).posterior.attrs
        took = time.perf_counter() - began
    seconds = {stage: attributes[f"time_{stage}"] for stage in STAGES}
    assert attributes["time_checks"] > 0
    assert seconds["warmup"] + seconds["sampling"] == pytest.approx(attributes["sampling_time"])
    assert sum(seconds.values()) <= took


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(STAGES), st.floats(0, 50), max_size=6),
    st.none() | st.floats(0, 300),
)
def test_the_parts_of_a_line_sum_to_its_total(seconds: dict[str, float], total: float | None) -> None:
    """As far as two digits of each tell, and whatever the whole is said to be."""
    line = time_line({f"time_{stage}": value for stage, value in seconds.items()}, total)
    parts, _, whole = line.removeprefix("time: ").rpartition(" of ")
    shown = [] if parts == "nothing measured" else [part.split(" ", 1)[1] for part in parts.split(", ")]
    slack = 0.051 * (sum(map(read, shown)) + read(whole)) + 1e-3
    assert sum(map(read, shown)) == pytest.approx(read(whole), abs=slack)


def read(text: str) -> float:
    """Seconds that a duration on the screen stands for."""
    if ":" in text:
        return sum(float(part) * 60**place for place, part in enumerate(reversed(text.split(":"))))
    number, unit = text.split()
    return float(number) * {"ms": 1e-3, "s": 1.0}[unit]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0 ms"),
        (0.00123, "1.2 ms"),
        (0.0994, "99 ms"),
        (0.0995, "0.10 s"),
        (0.994, "0.99 s"),
        (0.995, "1.0 s"),
        (9.94, "9.9 s"),
        (9.95, "10 s"),
        (59.4, "59 s"),
        (59.6, "1:00"),
        (125.0, "2:05"),
        (3723.0, "1:02:03"),
    ],
)
def test_duration_has_two_digits_or_a_clock(seconds: float, expected: str) -> None:
    """No more digits than a person wants."""
    assert duration(seconds) == expected


def test_other_numbers_are_short_too() -> None:
    """Clocks, thousands and nouns."""
    assert [clock(seconds) for seconds in (0.2, 7.0, 125.4, 3723.0, -1.0)] == [
        "0:00",
        "0:07",
        "2:05",
        "1:02:03",
        "0:00",
    ]
    assert [short(number) for number in (0, 950, 999.6, 1234, 35_200_000, 2.5e9, 12_345)] == [
        "0",
        "950",
        "1.0k",
        "1.2k",
        "35M",
        "2.5G",
        "12k",
    ]
    assert (counted(1, "chain"), counted(0, "chain")) == ("1 chain", "0 chains")
