# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads messages in the wire format of protocol buffers."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def varints(data):
    """A packed field's values."""
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def fields(data, known):
    """A message as {name: [values]}; known is {number: (name, wire type)}, and any other field an error."""
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        name, wire = known[key >> 3]
        assert key & 7 == wire, f"{name} has wire type {key & 7}"
        if wire == 1:
            value = data[at : at + 8]
            assert len(value) == 8
            at += 8
        else:
            value, at = varint(data, at)
        if wire == 2:
            at += value
            assert at <= len(data), "a field is longer than its message"
            value = data[at - value : at]
        found.setdefault(name, []).append(value)
    return found
