"""What a comparison runs, and what it leaves out."""

from __future__ import annotations

from eraseblock.comparison import Comparison


def test_what_need_not_be_waited_for_is_left_out_unless_it_is_named() -> None:
    everything = Comparison(["trace.spc"], sizes=["1 MiB", "64 MiB"])
    taken, missing = everything.without_hopeless()
    assert len(taken) == len(everything.experiments()) - 2
    assert list(missing.values()) == [["bplru 1 MiB"], ["cave 1 MiB"]]
    assert all("12 MiB" in sentence for sentence in missing)
    alone = Comparison(["trace.spc"], buffers=["bplru"], sizes=["1 MiB"])
    assert alone.without_hopeless() == (alone.experiments(), {})
