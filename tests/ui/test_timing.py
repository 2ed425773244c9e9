"""Where the time went, and how seconds are written."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import consilience as pm
from consilience.ui import Timing
from consilience.ui.timing import STAGES
from consilience.ui.words import clock, counted, duration, short


def test_stages_are_measured_added_and_shown_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages have their usual order whatever the order of measuring; others follow."""
    timing = Timing()
    timing.add("sampling", 1.25)
    monkeypatch.setattr(time, "perf_counter", iter((5.0, 5.0123)).__next__)
    with timing.stage("build"):
        pass
    timing.add("sampling", 0.75)
    timing.add("own", 0.5)
    timing.add("import", 0.2)
    assert timing.seconds["build"] == pytest.approx(0.0123)
    assert timing.line() == "time: import 0.20 s, build 12 ms, sampling 2.0 s, own 0.50 s of 2.7 s"
    assert timing.line(total=3.0).endswith("own 0.50 s, other 0.29 s of 3.0 s")
    assert timing.line(total=3.0, rest="loading").endswith("loading 0.29 s of 3.0 s")
    assert timing.line(total=1.0) == timing.line()
    assert str(timing) == timing.line()
    assert Timing().line() == "time: nothing measured of 0 ms"


def test_stage_that_fails_is_measured_too() -> None:
    """Its time was spent all the same."""
    timing = Timing()
    with pytest.raises(KeyError), timing.stage("compile"):
        raise KeyError
    assert timing.seconds["compile"] > 0


def test_attributes_of_a_result_hold_the_record() -> None:
    """What is written to a result is read from it; other attributes are passed over."""
    timing = Timing({"warmup": 1.0, "sampling": 2.0})
    attributes = timing.attributes()
    assert attributes == {"time_warmup": 1.0, "time_sampling": 2.0}
    assert Timing.from_attributes(attributes | {"created_at": "today", "time_zone": "UTC"}) == timing


def test_what_a_result_records_adds_up_to_the_time_it_took() -> None:
    """Stages follow one another: checks, which are part of them, are not counted again."""
    with pm.Model():
        pm.Normal("x", 0, 1, shape=3)
        began = time.perf_counter()
        attributes = pm.sample(random_seed=1, progressbar=False).posterior.attrs
        took = time.perf_counter() - began
    timing = Timing.from_attributes(attributes)
    assert attributes["time_checks"] > 0
    assert timing.seconds["warmup"] + timing.seconds["sampling"] == pytest.approx(attributes["sampling_time"])
    assert sum(timing.seconds.values()) <= took


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from([*STAGES, "own"]), st.floats(0, 50), max_size=6),
    st.none() | st.floats(0, 300),
)
def test_the_parts_of_a_line_sum_to_its_total(seconds: dict[str, float], total: float | None) -> None:
    """As far as two digits of each tell, and whatever the whole is said to be."""
    line = Timing(dict(seconds)).line(total)
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
