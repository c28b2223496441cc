"""Pictures of recorded programs: what is drawn, at few and at many ranks."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import isthmus
from isthmus.cli import main
from isthmus.errors import InvalidInput
from isthmus.plot.matrix import plot_pattern
from isthmus.plot.profile import DRAWINGS, plot_calls, plot_communication, plot_ranks, plot_sizes
from recordings import Call, recorded
from test_plot_timeline import overlaps, words
from test_profile_show import ring


def stencil(ranks: int) -> isthmus.Pattern:
    rank = np.arange(ranks)
    source = np.repeat(rank, 2)
    target = np.stack([(rank + 1) % ranks, (rank + 17) % ranks], 1).ravel()
    return isthmus.Pattern.of(ranks, source=source, target=target, bytes=1000 + source)


@pytest.mark.parametrize("name", DRAWINGS)
def test_files_and_streams(tmp_path: Path, name: str) -> None:
    program = ring()
    for suffix, head in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        path = tmp_path / f"a.{suffix}"
        DRAWINGS[name](program, path)
        assert path.read_bytes().startswith(head)
        stream = io.BytesIO()
        DRAWINGS[name](program, stream, format=suffix)
        assert stream.getvalue() == path.read_bytes()
    with pytest.raises(InvalidInput, match="format"):
        DRAWINGS[name](program, io.BytesIO())
    with pytest.raises(InvalidInput, match=r"\.png, \.svg, \.pdf"):
        DRAWINGS[name](program, tmp_path / "a.html")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("ranks", [4, 64])
@pytest.mark.parametrize("size", [None, (9.0, 7.0)])
def test_words_do_not_overlap(
    tmp_path: Path, figures: list[Any], name: str, ranks: int, size: tuple[float, float] | None
) -> None:
    for more in ({}, {"cpus_online": np.ones(ranks, np.uint32)}):
        DRAWINGS[name](ring(ranks, 3, **more), tmp_path / "a.png", size=size)
        assert overlaps(figures[-1]) == []
        if size:
            assert tuple(figures[-1].get_size_inches()) == size


@pytest.mark.parametrize("ranks", [1, 3, 12, 13, 24, 25, 100, 4096])
def test_words_of_matrices_do_not_overlap(tmp_path: Path, figures: list[Any], ranks: int) -> None:
    plot_pattern(stencil(ranks), tmp_path / "a.png")
    assert overlaps(figures[-1]) == []


def test_matrix_of_few_ranks_has_numbers(tmp_path: Path, figures: list[Any]) -> None:
    p = isthmus.Pattern.of(3, source=[0, 1, 1], target=[1, 2, 2], bytes=[2_000_000, 700, 800], messages=[1, 2, 5])
    plot_pattern(p, tmp_path / "a.png")
    plot_pattern(p, tmp_path / "b.png", what="messages")
    assert {"2 MB", "1.5 kB", "white: none"} <= set(words(figures[0]))
    assert {"1", "7"} <= {t.get_text() for t in figures[1].axes[0].texts}
    assert len(figures[0].axes[0].texts) == 2
    with pytest.raises(InvalidInput, match="'bytes' or 'messages'"):
        plot_pattern(p, tmp_path / "c.png", what="volume")


def test_matrix_of_many_ranks_adds_up(tmp_path: Path, figures: list[Any]) -> None:
    p = stencil(4096)
    plot_pattern(p, tmp_path / "a.png")
    image = np.ma.filled(figures[0].axes[0].images[0].get_array(), np.nan)
    assert image.shape == (512, 512)
    assert np.nansum(image) == p.total_bytes
    expected = p.matrix().reshape(512, 8, 512, 8).sum((1, 3))
    assert np.array_equal(np.nan_to_num(image), expected)
    assert "sender (rank; a cell adds up 8 × 8 ranks)" in words(figures[0])
    assert "bytes of 8 × 8 ranks" in words(figures[0])
    # A power of two from tick to tick, as there are such a number of ranks.
    assert np.diff(figures[0].axes[0].get_xticks()).tolist() == [512] * 7


def test_matrix_says_what_it_shows(tmp_path: Path, figures: list[Any]) -> None:
    b = isthmus.ProgramBuilder(8)
    b.alltoall(None, 100)
    program = b.build()
    plot_communication(program, tmp_path / "a.png")
    plot_communication(program, tmp_path / "b.png", collectives=True)
    assert any("messages of collectives are not counted" in text for text in words(figures[0]))
    assert "none" in words(figures[0])
    assert "100 B" in words(figures[1])
    assert any("all 8 ranks with each other" in text for text in words(figures[1]))


def heights(fig: Any, axis: int) -> dict[float, float]:
    return {round(p.get_x() + p.get_width() / 2): p.get_height() for p in fig.axes[axis].patches}


def test_sizes(tmp_path: Path, figures: list[Any]) -> None:
    b = isthmus.ProgramBuilder(2)
    for size in (0, 1, 5, 7, 4096, 5000):
        b.send(0, 1, size)
        b.recv(1, 0, size)
    plot_sizes(recorded(b.build()), tmp_path / "a.png")
    assert heights(figures[0], 0) == {0: 1, 1: 1, 3: 2, 13: 2}
    assert heights(figures[0], 1) == {1: 1, 3: 12, 13: 9096}
    labels = [t.get_text() for t in figures[0].axes[1].get_xticklabels()]
    assert labels[:4] == ["0 B", "1 B", "2 B", "4 B"]
    plot_sizes(recorded(isthmus.ProgramBuilder(2).build()), tmp_path / "b.png")
    assert "Nothing moves" in words(figures[1])


def test_ranks_add_up_to_their_time(tmp_path: Path, figures: list[Any]) -> None:
    plot_ranks(ring(), tmp_path / "a.png")
    tops = np.zeros(8)
    for patch in figures[0].axes[0].patches:
        tops[round(patch.get_x() + patch.get_width() / 2)] += patch.get_height()
    assert tops == pytest.approx(np.full(8, 2.0))
    assert "time (ms)" in words(figures[0])
    shares = [float(t.split()[-2]) for t in (w.replace("\n", " ") for w in words(figures[0])) if t.endswith(" %")]
    assert sum(shares) == pytest.approx(100, abs=0.2)


def test_oversubscribed_pictures_have_no_times(tmp_path: Path, figures: list[Any]) -> None:
    program = ring(cpus_online=np.full(8, 2, np.uint32))
    plot_ranks(program, tmp_path / "a.png")
    plot_calls(program, tmp_path / "b.png")
    for fig in figures:
        assert any("times in MPI are meaningless here" in text.replace("\n", " ") for text in words(fig))
        assert not any("time (" in text or "share of" in text for text in words(fig))
    sent = [p.get_height() for p in figures[0].axes[0].patches][:8]
    assert sent == [20 * 1008] * 8
    assert [p.get_width() for p in figures[1].axes[0].patches] == [160, 160]


def test_calls_are_shares(tmp_path: Path, figures: list[Any]) -> None:
    made = [Call(0, "MPI_Send", 0, 250), Call(0, "MPI_Barrier", 500, 1000, wait=400)]
    plot_calls(recorded(isthmus.ProgramBuilder(1).build(), made), tmp_path / "a.png")
    ax = figures[0].axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["MPI_Barrier", "MPI_Send"]
    assert [p.get_width() for p in ax.patches] == pytest.approx([10, 25, 40, 0])
    assert {"50 %, 1 call", "25 %, 1 call"} <= set(words(figures[0]))


def test_what_was_not_recorded_has_a_matrix_only(tmp_path: Path) -> None:
    program = dataclasses.replace(ring(), recording=None)
    plot_communication(program, tmp_path / "a.png")
    for draw in (plot_sizes, plot_ranks, plot_calls):
        with pytest.raises(InvalidInput, match="was not recorded"):
            draw(program, tmp_path / "b.png")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring().save(tmp_path / "app.h5")
    for name in DRAWINGS:
        out = tmp_path / f"{name}.svg"
        main(["show", str(tmp_path / "app.h5"), "--plot", name, "-o", str(out)])
        assert capsys.readouterr().out == f"wrote {out}\n"
        assert out.read_bytes().startswith(b"<?xml")
    main(["show", str(tmp_path / "app.h5"), "-o", str(tmp_path / "m.png"), "--messages"])
    assert (tmp_path / "m.png").exists()
