# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints a profile of pprof (profile.proto) as JSON.

Strict: an unknown field, a reference to nothing, or bytes that are not UTF-8 end it.
Usage: profile_proto.py FILE
"""
import gzip
import json
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def fields(data):
    """A message as {field: [values]}."""
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            at += value
            assert at <= len(data), "a field is longer than its message"
            value = data[at - value : at]
        else:
            assert key & 7 == 0, f"wire type {key & 7}"
        found.setdefault(key >> 3, []).append(value)
    return found


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def only(message, allowed):
    assert set(message) <= allowed, f"fields {set(message) - allowed}"
    return message


def main():
    with gzip.open(sys.argv[1]) as file:
        top = only(fields(file.read()), {1, 2, 3, 4, 5, 6, 9, 10, 13, 14})
    strings = [text.decode("utf-8") for text in top[6]]
    assert strings[0] == ""

    def text(message, field):
        return strings[message.get(field, [0])[0]]

    mappings = {m[1][0]: text(m, 5) for m in (fields(raw) for raw in top.get(3, []))}
    functions = {f[1][0]: text(f, 2) for f in (fields(raw) for raw in top[5])}
    locations = {}
    for raw in top[4]:
        location = only(fields(raw), {1, 2, 3, 4})
        assert location[1][0] not in locations and location[1][0] > 0
        line = fields(location[4][0])
        mapping = mappings[location[2][0]] if 2 in location else ""
        locations[location[1][0]] = (functions[line[1][0]], mapping)
    samples = []
    for raw in top[2]:
        sample = only(fields(raw), {1, 2, 3})
        labels = {}
        for label in map(fields, sample.get(3, [])):
            labels[text(label, 1)] = label[3][0] if 3 in label else text(label, 2)
        stack = [locations[i] for i in packed(sample[1][0])]
        samples.append({
            "stack": [name for name, _ in stack],
            "mapping": [mapping for _, mapping in stack],
            "values": packed(sample[2][0]),
            "labels": labels,
        })
    types = [f"{text(t, 1)} {text(t, 2)}" for t in map(fields, top[1])]
    assert all(len(sample["values"]) == len(types) for sample in samples)
    assert text(top, 14) in types[0]
    json.dump({"types": types, "comments": [strings[i] for i in top[13]], "samples": samples}, sys.stdout)


main()
