"""Targets: what is found out about this machine and what is known of others."""

from __future__ import annotations

import pytest

from consilience.errors import NativeError
from consilience.native import target as module
from consilience.native.target import CROSS, LANES, Target, host, llvm, new_machine, runs_here, versions
from consilience.record import replace


@pytest.fixture(autouse=True)
def no_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONSILIENCE_LANES", raising=False)
    monkeypatch.delenv("CONSILIENCE_TARGET", raising=False)


class TestHost:
    def test_is_found_once(self) -> None:
        assert host() is host()

    def test_agrees_with_llvm(self) -> None:
        found = host()
        assert found.cpu == llvm().get_host_cpu_name()
        assert found.triple == llvm().get_process_triple()

    def test_takes_the_width_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = host()
        for lanes in LANES:
            monkeypatch.setenv("CONSILIENCE_LANES", str(lanes))
            assert host() == replace(found, lanes=lanes)
        monkeypatch.delenv("CONSILIENCE_LANES")
        assert host() == found

    @pytest.mark.parametrize("text", ["3", "0", "-4", "eight", "16", "4.0"])
    def test_refuses_other_widths(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        monkeypatch.setenv("CONSILIENCE_LANES", text)
        with pytest.raises(NativeError, match=r"CONSILIENCE_LANES must be 1, 2, 4 or 8"):
            host()

    @pytest.mark.skipif(host().architecture != "x86_64", reason="levels are those of x86-64")
    def test_takes_a_level_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_TARGET", "x86-64-v2")
        assert (host().cpu, host().lanes, host().fma) == ("x86-64-v2", 2, False)
        assert runs_here(host())
        monkeypatch.setenv("CONSILIENCE_TARGET", "haswell")
        with pytest.raises(NativeError, match=r"CONSILIENCE_TARGET must be one of x86-64-v2, .*'haswell'"):
            host()

    def test_refuses_a_level_that_the_processor_does_not_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_detect", lambda: Target("x86_64-unknown-linux-gnu", "old", "+cx16", 2, False))
        monkeypatch.setenv("CONSILIENCE_TARGET", "x86-64-v3")
        with pytest.raises(NativeError, match=r"CONSILIENCE_TARGET=x86-64-v3 asks for instructions.*old"):
            host()

    @pytest.mark.parametrize(
        ("triple", "features", "lanes", "fma"),
        [
            ("x86_64-unknown-linux-gnu", "+avx2,+avx512f,+fma,+sse2", 8, True),
            ("x86_64-unknown-linux-gnu", "+avx2,-avx512f,+fma,+sse2", 4, True),
            ("x86_64-pc-windows-msvc", "-avx2,-avx512f,-fma,+sse2", 2, False),
            ("x86_64-unknown-linux-gnu", "-avx2,-avx512f,+fma,+sse2", 2, True),
            ("aarch64-unknown-linux-gnu", "+fp-armv8,+neon", 4, True),
            ("arm64-apple-darwin23.1.0", "", 4, True),
            ("riscv64-unknown-linux-gnu", "+d,+f", 2, False),
        ],
    )
    def test_width_follows_from_the_features(
        self, monkeypatch: pytest.MonkeyPatch, triple: str, features: str, lanes: int, fma: bool
    ) -> None:
        class Features:
            def flatten(self) -> str:
                return features

        class Binding:
            get_host_cpu_features = Features
            get_process_triple = staticmethod(lambda: triple)
            get_host_cpu_name = staticmethod(lambda: "some-cpu")

        monkeypatch.setattr(module, "llvm", Binding)
        assert module._detect.__wrapped__() == Target(triple, "some-cpu", features, lanes, fma)


class TestTarget:
    def test_is_a_value(self) -> None:
        again = {name: replace(target) for name, target in CROSS.items()}
        assert again == CROSS
        assert len(set(CROSS.values())) == len(CROSS)

    @pytest.mark.parametrize("lanes", [0, 3, 16])
    def test_refuses_widths_no_code_is_made_for(self, lanes: int) -> None:
        with pytest.raises(NativeError, match=f"not {lanes}"):
            replace(CROSS["apple-m1"], lanes=lanes)

    def test_names_the_architecture_in_one_way(self) -> None:
        assert {name: target.architecture for name, target in CROSS.items()} == {
            "x86-64-v2": "x86_64",
            "x86-64-v3": "x86_64",
            "x86-64-v4": "x86_64",
            "neoverse-v2": "aarch64",
            "apple-m1": "aarch64",
        }


class TestRunsHere:
    def test_the_host_runs_here_at_any_width(self) -> None:
        for lanes in LANES:
            assert runs_here(replace(host(), lanes=lanes))

    def test_another_architecture_does_not(self) -> None:
        foreign = [target for target in CROSS.values() if target.architecture != host().architecture]
        assert foreign
        assert not any(map(runs_here, foreign))

    def test_a_level_runs_where_all_its_instructions_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        second = "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"
        third = second + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
        fourth = third + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
        names = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
        for count, features in enumerate(["+sse2", second, third, fourth]):
            machine_here = Target("x86_64-unknown-linux-gnu", "some-cpu", features, 2, False)
            monkeypatch.setattr(module, "_detect", lambda found=machine_here: found)
            assert [runs_here(CROSS[name]) for name in names] == [n < count for n in range(3)]
        monkeypatch.setattr(module, "_detect", lambda: Target("x86_64-pc-windows-msvc", "some-cpu", fourth, 8, True))
        assert not any(runs_here(CROSS[name]) for name in names)

    def test_an_unknown_processor_does_not(self) -> None:
        assert not runs_here(replace(host(), cpu="some-cpu"))


class TestMachine:
    @pytest.mark.parametrize("name", CROSS)
    def test_llvm_knows_every_named_processor(self, name: str, capfd: pytest.CaptureFixture[str]) -> None:
        """LLVM answers an unknown processor with a complaint on stderr and a slower one in its place."""
        assert new_machine(CROSS[name], 2).triple.startswith(CROSS[name].triple)
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("level", [-1, 4, 2.5])
    def test_refuses_levels_that_do_not_exist(self, level: int) -> None:
        with pytest.raises(NativeError, match="level of the code generator"):
            new_machine(host(), level)

    def test_refuses_a_triple_that_does_not_exist(self) -> None:
        with pytest.raises(NativeError, match="LLVM knows no target 'abacus-unknown-none'"):
            new_machine(Target("abacus-unknown-none", "", "", 1, False), 2)


def test_versions_are_all_known() -> None:
    assert all(version[0].isdigit() for version in versions())
