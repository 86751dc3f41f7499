# SPDX-License-Identifier: GPL-2.0-or-later
"""What comm.h declares, for ctypes. Made by generate.py (make python)."""
from ctypes import (POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64,
                    c_void_p)
from typing import Any

VERSION = "0.1.0"
SIZE_MAX = c_size_t(-1).value
INT64_MIN = -(1 << 63)
COMM_RUN_RUNNING = 0
COMM_RUN_FINISHED = 1
COMM_RUN_UNFINISHED = 2
COMM_NODE_THREAD = 0
COMM_NODE_FUNCTION = 1
COMM_NODE_OBJECT = 2
COMM_NODE_LINE = 3
COMM_NODE_NAMED = 4
COMM_CENSUS_FRESH = 3
COMM_RESOLVED_SAMPLES = 5
COMM_RESOLVED_SLICES = 4
COMM_RESOLVED_RATIO = 3
COMM_RESOLVED_WINDOWS = 10


class comm_reader(Structure):
    """Opaque."""


class comm_salvaged(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("runs", c_uint64),
        ("slices", c_uint64),
        ("edges", c_uint64),
        ("partial", c_uint64),
        ("gaps", c_uint64),
    ]


class comm_run(Structure):
    _fields_ = [
        ("id", c_int64),
        ("source", c_char_p),
        ("event", c_char_p),
        ("estimator", c_char_p),
        ("command", c_char_p),
        ("host", c_char_p),
        ("notes", c_char_p),
        ("how", c_char_p),
        ("state", c_uint),
        ("start_ns", c_uint64),
        ("end_ns", c_uint64),
        ("start_unix_ns", c_uint64),
        ("overhead_limit", c_double),
        ("overhead", c_double),
        ("granularity_bytes", c_uint64),
        ("slices", c_uint64),
        ("edges", c_uint64),
        ("samples", c_uint64),
        ("bursts", c_uint64),
        ("accesses", c_uint64),
        ("handler_ns", c_uint64),
        ("daemon_ns", c_uint64),
        ("target_ns", c_uint64),
        ("setup_ns", c_uint64),
        ("deleted_ns", c_uint64),
        ("uuid", c_char_p),
        ("label", c_char_p),
        ("floor", c_double),
        ("stall_ns", c_uint64),
        ("store_ns", c_uint64),
        ("daemon_idle_ns", c_uint64),
        ("overhead_least", c_double),
        ("stall_own_ns", c_uint64),
    ]


class comm_runs(Structure):
    """Opaque."""


class comm_grouping(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
        ("title", c_char_p),
        ("noun", c_char_p),
        ("within", c_bool),
        ("between", c_bool),
        ("matrix", c_bool),
        ("across", c_bool),
    ]


class comm_query(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("run", c_int64),
        ("by", c_char_p),
        ("from_ns", c_int64),
        ("to_ns", c_int64),
        ("thread", c_char_p),
        ("first_read", c_bool),
        ("self", c_bool),
        ("across", c_bool),
        ("min_share", c_double),
        ("top", c_size_t),
        ("confidence", c_double),
        ("resolved", c_uint64),
        ("min_bytes", c_double),
        ("writer", c_char_p),
        ("objects", c_uint64),
        ("label", c_char_p),
        ("places", c_uint64),
        ("function", c_char_p),
        ("object", c_char_p),
        ("cachelines", c_uint64),
        ("counts", c_uint64),
        ("totals", c_uint64),
        ("unwritten", c_uint64),
        ("fresh", c_uint64),
        ("census", c_uint64),
        ("piece_ns", c_uint64),
    ]


class comm_node(Structure):
    pass


comm_node._fields_ = [
    ("id", c_char * 16),
    ("kind", c_uint),
    ("kind_name", c_char_p),
    ("key", c_char_p),
    ("other", c_bool),
    ("name", c_char_p),
    ("module", c_char_p),
    ("build_id", c_char_p),
    ("source", c_char_p),
    ("inlined", c_char_p),
    ("object_kind", c_char_p),
    ("tgid", c_uint32),
    ("tid", c_uint32),
    ("line", c_uint32),
    ("start", c_uint64),
    ("size_bytes", c_uint64),
    ("written_bytes", c_double),
    ("read_bytes", c_double),
    ("main_writer", c_size_t),
    ("main_reader", c_size_t),
    ("main_bytes", c_double),
    ("parts", POINTER(POINTER(comm_node))),
    ("n_parts", c_size_t),
    ("start_ns", c_uint64),
    ("from_ns", c_uint64),
    ("to_ns", c_uint64),
    ("call_source", c_char_p),
    ("call_line", c_uint32),
    ("unwritten_bytes", c_double),
]


class comm_report_edge(Structure):
    _fields_ = [
        ("from", c_size_t),
        ("to", c_size_t),
        ("bytes", c_double),
        ("low", c_double),
        ("high", c_double),
        ("share", c_double),
        ("samples", c_uint64),
        ("level", c_uint32),
        ("resolved", c_bool),
        ("share_low", c_double),
        ("share_high", c_double),
        ("slices", c_uint64),
        ("noise", c_double),
        ("first_origin", c_size_t),
        ("n_origins", c_size_t),
        ("origin_loads", c_double),
        ("latency_cycles", c_double),
    ]


class comm_report_origin(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("share", c_double),
        ("share_low", c_double),
        ("share_high", c_double),
    ]


class comm_report_loss(Structure):
    _fields_ = [
        ("cause", c_char_p),
        ("help", c_char_p),
        ("n", c_uint64),
        ("spared", c_bool),
    ]


class comm_report_place(Structure):
    _fields_ = [
        ("node", c_char * 16),
        ("tgid", c_uint32),
        ("tid", c_uint32),
        ("name", c_char_p),
        ("from_ns", c_uint64),
        ("cpu", c_int64),
        ("samples", c_uint64),
    ]


class comm_report_cacheline(Structure):
    _fields_ = [
        ("verdict", c_char_p),
        ("stated", c_bool),
        ("bursts", c_uint64),
        ("turns", c_uint64),
        ("accesses", c_double),
        ("contended", c_double),
        ("contended_low", c_double),
        ("contended_high", c_double),
        ("true_share", c_double),
        ("true_low", c_double),
        ("true_high", c_double),
        ("object", POINTER(comm_node)),
        ("offset", c_int64),
        ("first_use", c_size_t),
        ("n_uses", c_size_t),
    ]


class comm_report_cacheline_use(Structure):
    _fields_ = [
        ("thread", POINTER(comm_node)),
        ("object", POINTER(comm_node)),
        ("place", POINTER(comm_node)),
        ("offset", c_int64),
        ("byte", c_uint32),
        ("size_bytes", c_uint32),
        ("writes", c_bool),
        ("accesses", c_double),
        ("bursts", c_uint64),
        ("role", POINTER(comm_node)),
        ("type", POINTER(comm_node)),
    ]


class comm_report_slice(Structure):
    _fields_ = [
        ("start_ns", c_uint64),
        ("end_ns", c_uint64),
        ("bytes", c_double),
        ("samples", c_uint64),
        ("frames", c_uint64),
    ]


class comm_report_part(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("bytes", c_double),
        ("share", c_double),
        ("share_low", c_double),
        ("share_high", c_double),
        ("resolved", c_bool),
        ("object", c_char_p),
    ]


class comm_report_count(Structure):
    _fields_ = [
        ("node", comm_node),
        ("counter", c_char_p),
        ("total", c_double),
        ("slices", c_uint64),
        ("mean", c_double),
        ("deviation", c_double),
        ("counted", c_double),
        ("cpu_ns", c_double),
        ("bytes", c_double),
    ]


class comm_report_volume(Structure):
    _fields_ = [
        ("bytes", c_double),
        ("low", c_double),
        ("high", c_double),
        ("share", c_double),
        ("share_low", c_double),
        ("share_high", c_double),
        ("samples", c_uint64),
        ("slices", c_uint64),
        ("resolved", c_bool),
    ]


class comm_report_total(Structure):
    _fields_ = [
        ("node", comm_node),
        ("written", comm_report_volume),
        ("read", comm_report_volume),
        ("all_written", comm_report_volume),
        ("all_read", comm_report_volume),
        ("own_bytes", c_double),
        ("around", c_size_t),
        ("depth", c_size_t),
        ("reader", POINTER(comm_node)),
        ("writer", POINTER(comm_node)),
        ("reader_bytes", c_double),
        ("writer_bytes", c_double),
        ("intensive", c_bool),
        ("all_unwritten_bytes", c_double),
        ("wrote_bytes", c_double),
        ("all_wrote_bytes", c_double),
        ("reads_bytes", c_double),
        ("length", c_double),
        ("all_length", c_double),
    ]


class comm_report_census(Structure):
    _fields_ = [
        ("node", c_size_t),
        ("reads", c_uint64),
        ("bytes", c_double),
        ("share", c_double),
        ("share_low", c_double),
        ("share_high", c_double),
        ("waiting_reads", c_uint64),
        ("waiting", c_double),
        ("waiting_low", c_double),
        ("waiting_high", c_double),
        ("fresh", c_double * 3),
        ("fresh_low", c_double * 3),
        ("fresh_high", c_double * 3),
    ]


class comm_report(Structure):
    _fields_ = [
        ("run", POINTER(comm_run)),
        ("by", POINTER(comm_grouping)),
        ("from_ns", c_uint64),
        ("to_ns", c_uint64),
        ("n_nodes", c_size_t),
        ("n_edges", c_size_t),
        ("n_shown", c_size_t),
        ("n_losses", c_size_t),
        ("n_slices", c_size_t),
        ("total_bytes", c_double),
        ("self_bytes", c_double),
        ("within_bytes", c_double),
        ("folded_bytes", c_double),
        ("unwritten_bytes", c_double),
        ("read_bytes", c_double),
        ("samples", c_uint64),
        ("bursts", c_uint64),
        ("accesses", c_uint64),
        ("handler_ns", c_uint64),
        ("daemon_ns", c_uint64),
        ("target_ns", c_uint64),
        ("overhead", c_double),
        ("confidence", c_double),
        ("exact", c_bool),
        ("factor", c_double),
        ("seen_bytes", c_double),
        ("unresolved_bytes", c_double),
        ("n_unresolved", c_size_t),
        ("n_blocks", c_size_t),
        ("n_origins", c_size_t),
        ("n_places", c_size_t),
        ("overhead_allowed", c_double),
        ("enabled_ns", c_uint64),
        ("n_cachelines", c_size_t),
        ("n_cacheline_uses", c_size_t),
        ("n_counts", c_size_t),
        ("n_totals", c_size_t),
        ("polled_bytes", c_double),
        ("windows", c_uint64),
        ("fresh", c_bool),
        ("overhead_settled", c_double),
        ("n_census", c_size_t),
        ("daemon_idle_ns", c_uint64),
        ("length_unit", c_char_p),
    ]


class comm_interval(Structure):
    _fields_ = [
        ("low", c_double),
        ("high", c_double),
        ("share_low", c_double),
        ("share_high", c_double),
        ("noise", c_double),
    ]


# Results and parameters.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "comm_reader_open": (c_int, [c_char_p, POINTER(POINTER(comm_reader)), POINTER(c_void_p)]),
    "comm_reader_close": (None, [POINTER(comm_reader)]),
    "comm_reader_bytes": (c_uint64, [POINTER(comm_reader)]),
    "comm_salvage": (c_int, [c_char_p, c_char_p, POINTER(comm_salvaged), POINTER(c_void_p)]),
    "comm_run_label": (c_int, [c_char_p, c_int64, c_char_p, POINTER(c_void_p)]),
    "comm_run_delete": (c_int, [c_char_p, c_int64, POINTER(c_void_p)]),
    "comm_reader_runs": (c_int, [POINTER(comm_reader), POINTER(POINTER(comm_runs)), POINTER(c_void_p)]),
    "comm_runs_free": (None, [POINTER(comm_runs)]),
    "comm_runs_count": (c_size_t, [POINTER(comm_runs)]),
    "comm_runs_at": (POINTER(comm_run), [POINTER(comm_runs), c_size_t]),
    "comm_reader_newest": (c_int, [POINTER(comm_reader), POINTER(c_int64), POINTER(c_uint64), POINTER(c_uint64), POINTER(c_void_p)]),
    "comm_groupings": (POINTER(POINTER(comm_grouping)), []),
    "comm_reader_report": (c_int, [POINTER(comm_reader), POINTER(comm_query), POINTER(POINTER(comm_report)), POINTER(c_void_p)]),
    "comm_report_free": (None, [POINTER(comm_report)]),
    "comm_report_node_at": (POINTER(comm_node), [POINTER(comm_report), c_size_t]),
    "comm_report_edge_at": (POINTER(comm_report_edge), [POINTER(comm_report), c_size_t]),
    "comm_report_intervals": (None, [POINTER(comm_report), c_double, POINTER(comm_interval)]),
    "comm_report_loss_at": (POINTER(comm_report_loss), [POINTER(comm_report), c_size_t]),
    "comm_report_slice_at": (POINTER(comm_report_slice), [POINTER(comm_report), c_size_t]),
    "comm_report_part_at": (POINTER(comm_report_part), [POINTER(comm_report), c_size_t]),
    "comm_report_origin_at": (POINTER(comm_report_origin), [POINTER(comm_report), c_size_t]),
    "comm_report_place_at": (POINTER(comm_report_place), [POINTER(comm_report), c_size_t]),
    "comm_report_cacheline_at": (POINTER(comm_report_cacheline), [POINTER(comm_report), c_size_t]),
    "comm_report_cacheline_use_at": (POINTER(comm_report_cacheline_use), [POINTER(comm_report), c_size_t]),
    "comm_report_census_at": (POINTER(comm_report_census), [POINTER(comm_report), c_size_t]),
    "comm_report_count_at": (POINTER(comm_report_count), [POINTER(comm_report), c_size_t]),
    "comm_report_total_at": (POINTER(comm_report_total), [POINTER(comm_report), c_size_t]),
    "comm_parse_duration": (c_int, [c_char_p, POINTER(c_int64)]),
}
