"""Where the time went, and how seconds are written."""

from __future__ import annotations

import time

import pytest

from consilience.ui import Timing
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
    assert timing.line(total=3.0).endswith("of 3.0 s")
    assert str(timing) == timing.line()
    assert Timing().line() == "time: nothing measured of 0 ms"


def test_stage_that_fails_is_measured_too() -> None:
    """Its time was spent all the same."""
    timing = Timing()
    with pytest.raises(KeyError), timing.stage("compile"):
        raise KeyError
    assert timing.seconds["compile"] > 0


def test_attributes_of_a_result_hold_the_record() -> None:
    """Seconds under names of their own."""
    timing = Timing({"warmup": 1.0, "sampling": 2.0})
    attributes = timing.attributes()
    assert attributes == {"time_warmup": 1.0, "time_sampling": 2.0}


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
