#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How near samples come to the exact source where a program has marked regions, frames and
types: runs noted (noted.c) live and exactly, and compares the two reports.

  against_exact.py [--frames N] [--rounds N] [--source NAME] [--overhead PCT] [--json]

Uses O (.output).  Prints one row for each grouping:

  region, frame, type   overlap of the shares of bytes: 1 is the same distribution, 0 none in common;
                        of frames, of those that are told
  framed                share of the sampled bytes whose frame is told
  types                 of the reads that have a type in both, the share of which both say the same at the
                        same source line: does not depend on which lines were met how often
  typed, typed_exact    the share of reads that have a type, in samples and exactly; samples have some once
                        the machine had time to read them

Exit 0 done, 1 some run failed, 77 skip.
"""
import argparse
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

import programs

RUN_S = 600
TYPED_LEAST = 0.3
UNKNOWN = 1  # of the store's types
ROUNDS_EACH = 50  # of the sampled run for one of the exact run


class Failed(Exception):
    pass


def run(*argv):
    got = subprocess.run(argv, capture_output=True, text=True, timeout=RUN_S, check=False)
    if got.returncode:
        raise Failed("%s: exit %d: %s" % (" ".join(argv[:4]), got.returncode, got.stderr.strip()))
    return got.stdout


def shares(bytes_of):
    total = sum(bytes_of.values())
    return {key: n / total for key, n in bytes_of.items()} if total > 0 else {}


def overlap(a, b):
    a, b = shares(a), shares(b)
    return sum(min(share, b.get(key, 0)) for key, share in a.items())


def edges(commctl, store, by, *flags):
    """Bytes by the names of both ends, as the report says."""
    said = json.loads(run(commctl, "report", "--json", "--by", by, "--min-share", "0", "--top", "0",
                          "--store", store, *flags))
    name = {node["id"]: node["name"] for node in said["nodes"]}
    ret = collections.Counter()
    for edge in said["edges"]:
        ret[name[edge["from"]], name[edge["to"]]] += edge["bytes"]
    return ret


def told(frames):
    """Bytes of edges whose frame is told: both runs leave out what they do not know."""
    return {key: n for key, n in frames.items() if not any("not known" in name for name in key)}


def read_at(store):
    """Bytes read by source line and type (of the program itself), as stored."""
    db = sqlite3.connect("file:%s?mode=ro" % store, uri=True)
    ret = collections.defaultdict(collections.Counter)
    for source, line, name, field, n in db.execute(
            "SELECT site.source, site.line, iif(type.id = %d, '', type.name), type.field,"
            " sum(edge.bytes) FROM edge"
            " JOIN slice ON slice.id = edge.slice AND slice.level = 0"
            " JOIN context ON context.id = edge.dst_context JOIN site ON site.id = context.site"
            " JOIN type ON type.id = context.type WHERE site.source LIKE '%%noted.c'"
            " GROUP BY 1, 2, 3, 4" % UNKNOWN):
        ret[os.path.basename(source), line][name, field] += n
    db.close()
    return ret


def typed(types):
    return collections.Counter({of: n for of, n in types.items() if of[0]})


def total(counts):
    return sum(counts.values())


def agreement(sampled, exact):
    """Of sampled reads at lines where both know types, the share whose type is the exact one."""
    both = {at: (typed(sampled[at]), typed(exact[at])) for at in sampled if at in exact}
    both = {at: pair for at, pair in both.items() if total(pair[0]) > 0 and total(pair[1]) > 0}
    weight = sum(total(s) for s, _ in both.values())
    return sum(total(s) * overlap(s, e) for s, e in both.values()) / weight if weight else 0


def typed_share(reads):
    everything = sum(total(types) for types in reads.values())
    return sum(total(typed(types)) for types in reads.values()) / everything if everything else 0


def compared(commctl, sampled, exact):
    reads = read_at(sampled), read_at(exact)
    return {
        "region": overlap(*(edges(commctl, s, "region", "--self") for s in (sampled, exact))),
        "frame": overlap(*(told(edges(commctl, s, "frame")) for s in (sampled, exact))),
        "framed": total(told(edges(commctl, sampled, "frame"))) /
                  max(total(edges(commctl, sampled, "frame")), 1),
        "type": overlap(*(sum((typed(types) for types in of.values()), collections.Counter())
                          for of in reads)),
        "types": agreement(*reads),
        "typed": typed_share(reads[0]),
        "typed_exact": typed_share(reads[1]),
    }


def sample(commd, store, noted, args):
    """Files are read when nothing else wants the CPU: a busy machine needs a longer run for types."""
    for longer in (1, 2, 4, 8):
        programs.remove(store)
        run(commd, "-q", "--source", args.source, "--overhead", str(args.overhead), "--store",
            store, "--", noted, str(longer * args.frames), str(args.rounds))
        if typed_share(read_at(store)) > TYPED_LEAST:
            return


def compare(where, args):
    commd, commctl = (os.path.join(where, tool) for tool in ("commd", "commctl"))
    noted = os.path.join(where, "tests/truth/noted")
    with tempfile.TemporaryDirectory() as directory:
        sampled, exact = (os.path.join(directory, name) for name in ("sampled.db", "exact.db"))
        sample(commd, sampled, noted, args)
        # Fewer rounds: each does the same.
        run(commd, "-q", "--source", "exact", "--store", exact, "--", noted + "-exact",
            str(args.frames), str(max(args.rounds // ROUNDS_EACH, 1)))
        return compared(commctl, sampled, exact)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=20000)
    parser.add_argument("--source", default="auto")
    parser.add_argument("--overhead", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if os.geteuid():
        print("1..0 # SKIP needs root to sample")
        return 77
    try:
        said = compare(os.environ.get("O", ".output"), args)
    except (Failed, subprocess.TimeoutExpired, sqlite3.Error) as error:
        print("against_exact: %s" % error, file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(said))
    else:
        print("noted, --overhead %g, against its exact run" % args.overhead)
        for name, share in said.items():
            print("%-12s %.3f" % (name, share))
    return 0


if __name__ == "__main__":
    sys.exit(main())
