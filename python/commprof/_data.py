# SPDX-License-Identifier: GPL-2.0-or-later
"""A class for each struct that the library gives. Made by generate.py (make python).

comm.h says what each member means. Text that the library does not have is ""; a number that stands for "none" is None.
"""
from ctypes import Structure
from dataclasses import dataclass
from typing import Any

from . import _abi


@dataclass(frozen=True, slots=True)
class Run:
    """struct comm_run"""
    id: int
    source: str
    event: str
    estimator: str
    command: str
    host: str
    notes: str
    how: str
    state: int
    start_ns: int
    end_ns: int
    start_unix_ns: int
    overhead_limit: float
    overhead: float
    granularity_bytes: int
    slices: int
    edges: int
    samples: int
    bursts: int
    accesses: int
    handler_ns: int
    daemon_ns: int
    target_ns: int
    setup_ns: int
    deleted_ns: int
    uuid: str
    label: str
    floor: float
    stall_ns: int
    store_ns: int
    daemon_idle_ns: int
    overhead_least: float
    stall_own_ns: int


@dataclass(frozen=True, slots=True)
class Grouping:
    """struct comm_grouping"""
    name: str
    help: str
    title: str
    noun: str
    within: bool
    between: bool
    matrix: bool
    across: bool


@dataclass(frozen=True, slots=True)
class Node:
    """struct comm_node"""
    id: str
    kind: int
    kind_name: str
    key: str
    other: bool
    name: str
    module: str
    build_id: str
    source: str
    inlined: str
    object_kind: str
    tgid: int
    tid: int
    line: int
    start: int
    size_bytes: int
    written_bytes: float
    read_bytes: float
    main_writer: int
    main_reader: int
    main_bytes: float
    parts: "tuple[Node, ...]"
    n_parts: int
    start_ns: int
    from_ns: int
    to_ns: int
    call_source: str
    call_line: int
    unwritten_bytes: float


@dataclass(frozen=True, slots=True)
class Edge:
    """struct comm_report_edge"""
    from_: int
    to: int
    bytes: float
    low: float
    high: float
    share: float
    samples: int
    level: int
    resolved: bool
    share_low: float
    share_high: float
    slices: int
    noise: float
    first_origin: int
    n_origins: int
    origin_loads: float
    latency_cycles: float


@dataclass(frozen=True, slots=True)
class Origin:
    """struct comm_report_origin"""
    name: str
    share: float
    share_low: float
    share_high: float


@dataclass(frozen=True, slots=True)
class Loss:
    """struct comm_report_loss"""
    cause: str
    help: str
    n: int
    spared: bool


@dataclass(frozen=True, slots=True)
class Place:
    """struct comm_report_place"""
    node: str
    tgid: int
    tid: int
    name: str
    from_ns: int
    cpu: int
    samples: int


@dataclass(frozen=True, slots=True)
class Cacheline:
    """struct comm_report_cacheline"""
    verdict: str
    stated: bool
    bursts: int
    turns: int
    accesses: float
    contended: float
    contended_low: float
    contended_high: float
    true_share: float
    true_low: float
    true_high: float
    object: Node | None
    offset: int | None
    first_use: int
    n_uses: int


@dataclass(frozen=True, slots=True)
class CachelineUse:
    """struct comm_report_cacheline_use"""
    thread: Node | None
    object: Node | None
    place: Node | None
    offset: int
    byte: int
    size_bytes: int
    writes: bool
    accesses: float
    bursts: int
    role: Node | None
    type: Node | None


@dataclass(frozen=True, slots=True)
class Slice:
    """struct comm_report_slice"""
    start_ns: int
    end_ns: int
    bytes: float
    samples: int
    frames: int


@dataclass(frozen=True, slots=True)
class Part:
    """struct comm_report_part"""
    name: str
    bytes: float
    share: float
    share_low: float
    share_high: float
    resolved: bool
    object: str


@dataclass(frozen=True, slots=True)
class Count:
    """struct comm_report_count"""
    node: Node
    counter: str
    total: float
    slices: int
    mean: float
    deviation: float
    counted: float
    cpu_ns: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Volume:
    """struct comm_report_volume"""
    bytes: float
    low: float
    high: float
    share: float
    share_low: float
    share_high: float
    samples: int
    slices: int
    resolved: bool


@dataclass(frozen=True, slots=True)
class Total:
    """struct comm_report_total"""
    node: Node
    written: Volume
    read: Volume
    all_written: Volume
    all_read: Volume
    own_bytes: float
    around: int | None
    depth: int
    reader: Node | None
    writer: Node | None
    reader_bytes: float
    writer_bytes: float
    intensive: bool
    all_unwritten_bytes: float
    wrote_bytes: float
    all_wrote_bytes: float
    reads_bytes: float
    length: float
    all_length: float


@dataclass(frozen=True, slots=True)
class Census:
    """struct comm_report_census"""
    node: int | None
    reads: int
    bytes: float
    share: float
    share_low: float
    share_high: float
    waiting_reads: int
    waiting: float
    waiting_low: float
    waiting_high: float
    fresh: tuple[float, ...]
    fresh_low: tuple[float, ...]
    fresh_high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ReportData:
    """struct comm_report, and what its functions give; edges are those that are shown."""
    run: Run
    by: Grouping
    from_ns: int
    to_ns: int
    n_nodes: int
    n_edges: int
    n_shown: int
    n_losses: int
    n_slices: int
    total_bytes: float
    self_bytes: float
    within_bytes: float
    folded_bytes: float
    unwritten_bytes: float
    read_bytes: float
    samples: int
    bursts: int
    accesses: int
    handler_ns: int
    daemon_ns: int
    target_ns: int
    overhead: float
    confidence: float
    exact: bool
    factor: float
    seen_bytes: float
    unresolved_bytes: float
    n_unresolved: int
    n_blocks: int
    n_origins: int
    n_places: int
    overhead_allowed: float
    enabled_ns: int
    n_cachelines: int
    n_cacheline_uses: int
    n_counts: int
    n_totals: int
    polled_bytes: float
    windows: int
    fresh: bool
    overhead_settled: float
    n_census: int
    daemon_idle_ns: int
    length_unit: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    losses: tuple[Loss, ...]
    slices: tuple[Slice, ...]
    parts: tuple[Part, ...]
    origins: tuple[Origin, ...]
    places: tuple[Place, ...]
    cachelines: tuple[Cacheline, ...]
    cacheline_uses: tuple[CachelineUse, ...]
    census: tuple[Census, ...]
    counts: tuple[Count, ...]
    totals: tuple[Total, ...]


CLASSES: dict[type[Structure], type[Any]] = {
    _abi.comm_run: Run,
    _abi.comm_grouping: Grouping,
    _abi.comm_node: Node,
    _abi.comm_report_edge: Edge,
    _abi.comm_report_origin: Origin,
    _abi.comm_report_loss: Loss,
    _abi.comm_report_place: Place,
    _abi.comm_report_cacheline: Cacheline,
    _abi.comm_report_cacheline_use: CachelineUse,
    _abi.comm_report_slice: Slice,
    _abi.comm_report_part: Part,
    _abi.comm_report_count: Count,
    _abi.comm_report_volume: Volume,
    _abi.comm_report_total: Total,
    _abi.comm_report_census: Census,
    _abi.comm_report: ReportData,
}
# The number that stands for none.
NONE: dict[tuple[type[Structure], str], int] = {
    (_abi.comm_report_census, "node"): _abi.SIZE_MAX,
    (_abi.comm_report_total, "around"): _abi.SIZE_MAX,
    (_abi.comm_report_cacheline, "offset"): _abi.INT64_MIN,
}
# The lists of a report, and the functions that give their elements.
LISTS = {
    "nodes": "comm_report_node_at",
    "edges": "comm_report_edge_at",
    "losses": "comm_report_loss_at",
    "slices": "comm_report_slice_at",
    "parts": "comm_report_part_at",
    "origins": "comm_report_origin_at",
    "places": "comm_report_place_at",
    "cachelines": "comm_report_cacheline_at",
    "cacheline_uses": "comm_report_cacheline_use_at",
    "census": "comm_report_census_at",
    "counts": "comm_report_count_at",
    "totals": "comm_report_total_at",
}


def query(
    *,
    run: int = 0,
    by: str | None = None,
    from_ns: int = 0,
    to_ns: int = 0,
    thread: str | None = None,
    first_read: bool = False,
    self: bool = False,
    across: bool = False,
    min_share: float = 0.0,
    top: int = 0,
    confidence: float = 0.0,
    resolved: int = 0,
    min_bytes: float = 0.0,
    writer: str | None = None,
    objects: int = 0,
    label: str | None = None,
    places: int = 0,
    function: str | None = None,
    object: str | None = None,
    cachelines: int = 0,
    counts: int = 0,
    totals: int = 0,
    unwritten: int = 0,
    fresh: int = 0,
    census: int = 0,
    piece_ns: int = 0,
) -> dict[str, Any]:
    """The members of struct comm_query, which it names and types."""
    return locals()
