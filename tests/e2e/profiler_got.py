# SPDX-License-Identifier: GPL-2.0-or-later
"""What a server of profiler.py got: profiles, ids, bytes of those with different ids, bursts of them.

Usage: profiler_got.py pyroscope|parca FOLDER TO
Strict about the requests.  Writes each profile to TO/N.pb.gz, once; what comes again must be the same.  Parca has no ids: times stand in.
"""
import base64
import json
import os
import re
import sys

from profile_proto import read

kind, folder, to = sys.argv[1:]
profiles = {}
times = {}
n = 0
os.makedirs(to, exist_ok=True)
for name in sorted(os.listdir(f"{folder}/got")):
    if name.endswith(".part"):
        continue
    n += 1
    with open(f"{folder}/got/{name}") as file:
        request = json.load(file)
    assert request["headers"]["Content-Type"] == "application/json", request["headers"]
    (series,) = request["body"]["series"]
    (sample,) = series["samples"]
    if kind == "pyroscope":
        assert request["path"].endswith("/push.v1.PusherService/Push"), request["path"]
        assert set(request["body"]) == {"series"} and set(sample) == {"ID", "rawProfile"}
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", sample["ID"]), sample["ID"]
        labels = series["labels"]
    else:
        assert request["path"].endswith("/profiles/writeraw"), request["path"]
        assert set(request["body"]) == {"series", "normalized"} and set(sample) == {"rawProfile"}
        labels = series["labels"]["labels"]
    values = {label["name"]: label["value"] for label in labels}
    assert list(values) == sorted(values) and len(values) == len(labels) == 3, labels
    assert values["__name__"] == "commprof" and all(0 < len(value.encode()) <= 400 for value in values.values()), values
    assert not any(re.search(r"[\x00-\x1f\x7f-\x9f]", value) for value in values.values()), values
    raw = base64.b64decode(sample["rawProfile"], validate=True)
    path = f"{to}/{n}.pb.gz"
    with open(path, "wb") as file:
        file.write(raw)
    profile = read(path)
    identity = sample.get("ID", profile["time"])
    assert times.setdefault(profile["time"], identity) == identity
    if identity in profiles:
        os.unlink(path)
        assert profiles[identity][0] == raw, identity
        continue
    profiles[identity] = raw, profile
    for one in profile["samples"]:
        assert set(one["labels"]) == {"writer", "reader"}, one["labels"]
bytes_, bursts = (sum(one["values"][i] for _, profile in profiles.values() for one in profile["samples"]) for i in (0, 1))
print(n, len(profiles), bytes_, bursts)
print(json.dumps(values) if n else "{}", file=sys.stderr)
