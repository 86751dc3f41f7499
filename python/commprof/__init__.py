# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads stores of commprof: who wrote the data that threads, functions and lines read.

    with commprof.Store("comm.db") as store:
        report = store.report(by="thread", top=10)
    for edge in report.edges:
        print(report.nodes[edge.from_].name, "feeds", report.nodes[edge.to].name, edge.bytes)

Members have the names of comm/comm.h, which says what they mean; "from" is from_. Text comes from observed programs and may
hold any bytes but NUL: it is decoded as UTF-8 with surrogateescape, so escape it for where it goes. What a call gives is a
copy, which outlives the store. The library must not be older than this package.
"""
import collections
import dataclasses
import os
import threading
from ctypes import byref
from types import TracebackType
from typing import Any

from . import _abi, _data, _library
from ._data import (Cacheline, CachelineUse, Census, Count, Edge, Grouping, Loss, Node, Origin, Part, Place, Run, Slice, Total,
                   Volume)
from ._library import CommprofError

__version__ = _abi.VERSION
__all__ = ["Cacheline", "CachelineUse", "Census", "Change", "Changes", "CommprofError", "Count", "Edge", "Grouping", "Loss",
           "Node", "Origin", "Part", "Place", "Report", "Run", "Slice", "Store", "Total", "Volume", "diff", "groupings"]


def _pandas(what: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas, which cannot be imported ({error}): install python3-pandas, "
                          "or pandas by pip") from error
    return pandas


def _table(pandas: Any, kind: type[Any], rows: list[dict[str, Any]], columns: list[str]) -> Any:
    """A table without rows has columns, too."""
    names = [field.name for field in dataclasses.fields(kind) if field.name not in ("from_", "to")]
    return pandas.DataFrame(rows, columns=columns + [name for name in names if name not in columns])


class Report(_data.ReportData):
    """struct comm_report, with lists of all that its functions give; of edges, those that the query asks to be shown."""

    def __repr__(self) -> str:
        return f"<Report of run {self.run.id} by {self.by.name}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def to_pandas(self) -> Any:
        """The edges as a DataFrame: names and keys of writer and reader, and the members of an edge."""
        pandas = _pandas("to_pandas()")
        rows = []
        for edge in self.edges:
            writer, reader = self.nodes[edge.from_], self.nodes[edge.to]
            rows.append({"writer": writer.name, "reader": reader.name, "writer_key": writer.key, "reader_key": reader.key}
                        | dataclasses.asdict(edge))
        return _table(pandas, Edge, rows, ["writer", "reader", "writer_key", "reader_key"])

    def matrix(self) -> Any:
        """Bytes as a DataFrame: a row for what wrote, a column for what read. Of nodes of one name, the ids are added."""
        pandas = _pandas("matrix()")
        used = sorted({end for edge in self.edges for end in (edge.from_, edge.to)})
        names = [self.nodes[i].name for i in used]
        times = collections.Counter(names)
        labels = [f"{name} ({self.nodes[i].id})" if times[name] > 1 else name for i, name in zip(used, names)]
        place = {node: i for i, node in enumerate(used)}
        cells = [[0.0] * len(used) for _ in used]
        for edge in self.edges:
            cells[place[edge.from_]][place[edge.to]] += edge.bytes
        return pandas.DataFrame(cells, index=pandas.Index(labels, name="writer", dtype=object),
                                columns=pandas.Index(labels, name="reader", dtype=object), dtype=float)


class Store:
    """A store, as it is when each call begins; a commd may go on to write to it. CommprofError: it cannot be read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._reader: Any = None
        self._lock = threading.Lock() # one thread uses a reader
        reader = _library.new(_abi.comm_reader)
        raw = os.fsencode(path)
        if b"\0" in raw:
            raise ValueError("path has a NUL")
        _library.call("comm_reader_open", raw, byref(reader))
        self._reader = reader

    def close(self) -> None:
        """What was read stays."""
        with self._lock:
            reader, self._reader = self._reader, None
            if reader:
                _library.functions.comm_reader_close(reader)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_reader", None):
            self.close()

    def _open(self) -> Any:
        if not self._reader:
            raise ValueError("the store is closed")
        return self._reader

    def runs(self) -> list[Run]:
        """Oldest first."""
        runs = _library.new(_abi.comm_runs)
        with self._lock:
            _library.call("comm_reader_runs", self._open(), byref(runs))
        try:
            return list(_library.elements("comm_runs_at", runs))
        finally:
            _library.functions.comm_runs_free(runs)

    def report(self, /, by: str = "thread", **query: Any) -> Report:
        """Of the latest run, unless run says which. query: the members of struct comm_query by name, as top=10, thread="io_*",
        cachelines=True or self=True. The census is in it, unless census=False.
        """
        made = _library.make_query({"census": True, "by": by} | query)
        report = _library.new(_abi.comm_report)
        with self._lock:
            _library.call("comm_reader_report", self._open(), byref(made), byref(report))
        try:
            shown = {"edges": report.contents.n_shown}
            return Report(*_library.members(report.contents),
                          *(_library.elements(function, report, shown.get(name, _abi.SIZE_MAX))
                            for name, function in _data.LISTS.items()))
        finally:
            _library.functions.comm_report_free(report)


def groupings() -> list[Grouping]:
    """What by may be."""
    given = _library.functions.comm_groupings()
    found: list[Grouping] = []
    while given[len(found)]:
        found.append(_library.copy(given[len(found)].contents))
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """From one node to another: what report a has of it, and b; 0 where it has no such edge."""
    writer: str
    reader: str
    writer_key: str
    reader_key: str
    bytes_a: float
    bytes_b: float
    share_a: float
    share_b: float
    resolved_a: bool
    resolved_b: bool


class Changes(list[Change]):
    """The largest share in either report first."""

    def to_pandas(self) -> Any:
        """A DataFrame with the members of Change."""
        return _table(_pandas("to_pandas()"), Change, [dataclasses.asdict(one) for one in self], [])


def diff(a: Report | Store, b: Report | Store, by: str = "thread", **query: Any) -> Changes:
    """Flows of two reports, or of two stores by a query, side by side. Nodes are the same whose keys are, and edges between the
    same nodes are added up, as confirmed where one is; those from or to "(other)" are left out, which stands for other things in
    each run. It judges nothing: whether the difference is more than chance, commctl diff says.
    """
    sides = [one if isinstance(one, Report) else one.report(by, **query) for one in (a, b)]
    flows: dict[tuple[str, str], list[Any]] = {}
    for side, report in enumerate(sides):
        for edge in report.edges:
            writer, reader = report.nodes[edge.from_], report.nodes[edge.to]
            if writer.other or reader.other:
                continue
            row = flows.setdefault((writer.key, reader.key), [writer.name, reader.name, [0.0, 0.0], [0.0, 0.0], [False, False]])
            row[2][side] += edge.bytes
            row[3][side] += edge.share
            row[4][side] |= edge.resolved
    rows = [Change(row[0], row[1], *keys, *row[2], *row[3], *row[4]) for keys, row in flows.items()]
    return Changes(sorted(rows, key=lambda row: (-max(row.share_a, row.share_b), row.writer_key, row.reader_key)))
