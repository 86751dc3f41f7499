# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics as the parsers of prometheus_client read them, both of OpenMetrics and of Prometheus' own text: a JSON object for each."""
import json
import sys

from prometheus_client import parser as prometheus
from prometheus_client.openmetrics import parser as openmetrics


def samples(families):
    return [{"name": s.name, "value": s.value, **s.labels} for family in families for s in family.samples]


text = sys.stdin.read()
strict = samples(openmetrics.text_string_to_metric_families(text))
if strict != samples(prometheus.text_string_to_metric_families(text)):
    sys.exit("the two formats say different things")
series = [json.dumps({k: v for k, v in s.items() if k != "value"}, sort_keys=True) for s in strict]
if len(set(series)) != len(series):
    sys.exit("a series is there twice")
print(json.dumps(strict))
