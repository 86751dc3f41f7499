# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints a profile of pprof (profile.proto) as JSON.

Strict: an unknown field, a reference to nothing, or bytes that are not UTF-8 end it.
Usage: profile_proto.py FILE
"""
import gzip
import json
import sys

from protobuf import fields, varints

PROFILE = {1: ("type", 2), 2: ("sample", 2), 3: ("mapping", 2), 4: ("location", 2), 5: ("function", 2), 6: ("string", 2),
           9: ("time", 0), 10: ("duration", 0), 11: ("period_type", 2), 12: ("period", 0), 13: ("comment", 0), 14: ("default_type", 0)}
TYPE = {1: ("type", 0), 2: ("unit", 0)}
SAMPLE = {1: ("locations", 2), 2: ("values", 2), 3: ("label", 2)}
LABEL = {1: ("key", 0), 2: ("text", 0), 3: ("number", 0), 4: ("unit", 0)}
MAPPING = {1: ("id", 0), 5: ("file", 0), 6: ("build_id", 0), 7: ("has_functions", 0), 8: ("has_files", 0),
           9: ("has_lines", 0)}
LOCATION = {1: ("id", 0), 2: ("mapping", 0), 3: ("address", 0), 4: ("line", 2)}
LINE = {1: ("function", 0), 2: ("line", 0)}
FUNCTION = {1: ("id", 0), 2: ("name", 0), 3: ("system_name", 0), 4: ("file", 0)}


def read(path):
    with gzip.open(path) as file:
        top = fields(file.read(), PROFILE)
    strings = [text.decode("utf-8") for text in top["string"]]
    assert strings[0] == ""

    def text(message, field):
        return strings[message.get(field, [0])[0]]

    mappings = {m["id"][0]: text(m, "file") for m in (fields(raw, MAPPING) for raw in top.get("mapping", []))}
    functions = {f["id"][0]: text(f, "name") for f in (fields(raw, FUNCTION) for raw in top["function"])}
    locations = {}
    for raw in top["location"]:
        location = fields(raw, LOCATION)
        assert location["id"][0] not in locations and location["id"][0] > 0
        line = fields(location["line"][0], LINE)
        mapping = mappings[location["mapping"][0]] if "mapping" in location else ""
        locations[location["id"][0]] = (functions[line["function"][0]], mapping)
    samples = []
    for raw in top["sample"]:
        sample = fields(raw, SAMPLE)
        labels = {}
        for label in (fields(raw, LABEL) for raw in sample.get("label", [])):
            labels[text(label, "key")] = label["number"][0] if "number" in label else text(label, "text")
        stack = [locations[i] for i in varints(sample["locations"][0])]
        samples.append({
            "stack": [name for name, _ in stack],
            "mapping": [mapping for _, mapping in stack],
            "values": varints(sample["values"][0]),
            "labels": labels,
        })
    types = [f"{text(t, 'type')} {text(t, 'unit')}" for t in (fields(raw, TYPE) for raw in top["type"])]
    assert all(len(sample["values"]) == len(types) for sample in samples)
    assert text(top, "default_type") in types[0]
    period = fields(top["period_type"][0], TYPE)
    assert f"{text(period, 'type')} {text(period, 'unit')}" in types and top["period"] == [1]
    return {"types": types, "comments": [strings[i] for i in top["comment"]], "samples": samples, "time": top["time"][0]}


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout)
