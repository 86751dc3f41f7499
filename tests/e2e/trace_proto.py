# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints a trace of Perfetto (perfetto_trace.proto) as JSON.

Strict: an unknown field, an event of a track that nobody described, a phase that does not end,
an arrow without both ends, or bytes that are not UTF-8 end it.
Usage: trace_proto.py FILE
"""
import json
import struct
import sys

from protobuf import fields

PACKET = {8: ("timestamp", 0), 10: ("sequence", 0), 11: ("event", 2), 60: ("descriptor", 2)}
DESCRIPTOR = {1: ("uuid", 0), 2: ("name", 2), 3: ("process", 2), 4: ("thread", 2), 5: ("parent", 0), 8: ("counter", 2)}
PROCESS = {1: ("pid", 0), 6: ("name", 2)}
THREAD = {1: ("pid", 0), 2: ("tid", 0), 5: ("name", 2)}
COUNTER = {3: ("unit", 0)}
EVENT = {4: ("annotation", 2), 9: ("type", 0), 11: ("track", 0), 23: ("name", 2), 44: ("value", 1), 47: ("flow", 1),
         48: ("flow_end", 1)}
ANNOTATION = {2: ("bool", 0), 5: ("double", 1), 6: ("string", 2), 10: ("name", 2)}
BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4


def text(values):
    return values[0].decode("utf-8")


def annotations(event):
    found = {}
    for raw in event.get("annotation", []):
        it = fields(raw, ANNOTATION)
        if "double" in it:
            value = struct.unpack("<d", it["double"][0])[0]
        else:
            value = bool(it["bool"][0]) if "bool" in it else text(it["string"])
        found[text(it["name"])] = value
    return found


def main():
    with open(sys.argv[1], "rb") as file:
        packets = [fields(raw, PACKET) for raw in fields(file.read(), {1: ("packet", 2)})["packet"]]
    tracks, phases, counts, flows, about, open_phases = {}, [], [], {}, [], {}
    for packet in packets:
        assert packet["sequence"] == [1]
        if "descriptor" in packet:
            it = fields(packet["descriptor"][0], DESCRIPTOR)
            track = {"kind": "counter" if "counter" in it else "thread" if "thread" in it else "process" if "process" in it
                     else "named"}
            if track["kind"] in ("thread", "process"):
                inner = fields(it[track["kind"]][0], THREAD if track["kind"] == "thread" else PROCESS)
                track.update(name=text(inner["name"]), pid=inner["pid"][0], tid=inner.get("tid", [0])[0])
            else:
                track["name"] = text(it["name"])
            if track["kind"] == "counter":
                assert fields(it["counter"][0], COUNTER)["unit"] == [3]
            assert it["uuid"][0] not in tracks and it["uuid"][0] > 0
            assert all(parent in tracks for parent in it.get("parent", []))
            tracks[it["uuid"][0]] = track
            continue
        event, at = fields(packet["event"][0], EVENT), packet["timestamp"][0]
        kind, track = event["type"][0], tracks[event["track"][0]]
        assert (kind == COUNT) == (track["kind"] == "counter") == ("value" in event)
        if kind == BEGIN:
            assert event["track"][0] not in open_phases, "a phase within a phase"
            open_phases[event["track"][0]] = at
        elif kind == END:
            phases.append([track["name"], open_phases.pop(event["track"][0]), at])
            assert phases[-1][1] < at
        elif kind == COUNT:
            counts.append([track["name"], at, struct.unpack("<d", event["value"][0])[0]])
        elif "flow" in event or "flow_end" in event:
            begun = open_phases[event["track"][0]]
            assert begun < at
            number = struct.unpack("<Q", (event.get("flow") or event["flow_end"])[0])[0]
            end = {"thread": track["name"], "at": at, "phase": begun, "name": text(event["name"]), **annotations(event)}
            flows.setdefault(number, {})["from" if "flow" in event else "to"] = end
        else:
            about.append(annotations(event))
        if kind in (BEGIN, INSTANT):
            assert text(event["name"])
    assert not open_phases, "a phase does not end"
    for flow in flows.values():
        assert flow["from"]["at"] < flow["to"]["at"] and flow["from"]["phase"] == flow["to"]["phase"]
        assert flow["from"]["bytes"] == flow["to"]["bytes"]
    json.dump({"tracks": list(tracks.values()), "phases": phases, "counts": counts, "flows": list(flows.values()),
               "about": about}, sys.stdout)


main()
