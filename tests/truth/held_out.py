# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on which no constant of an estimator was chosen, for programs.py, and what they work on.

Two that compress, four that decompress, four of bioinformatics, a chess engine and one that
chooses colours: POSIX threads, OpenMP and C++ threads.  All are packages of Debian; what is not
installed is left out.
"""
import os
import random
import shutil
import struct
import subprocess
import zlib

import programs

# What makes the input of each decompressor: (suffix, options).
PACKERS = {"xz": ("xz", ["-T2", "-0", "--block-size=4MiB"]), "pigz": ("gz", ["-p", "2", "-1"]),
           "lbzip2": ("bz2", ["-1"]), "plzip": ("lz", ["-0", "-n", "2"])}


def packed(packer, path):
    suffix, options = PACKERS[packer]
    out = "%s.%s" % (path, suffix)
    if not os.path.exists(out) and shutil.which(packer):
        with open(out + ".part", "wb") as f:
            subprocess.run([packer, *options, "-k", "-c", path], stdout=f, check=True)
        os.rename(out + ".part", out)
    return out


def sequences(path, letters, n, length, families, errors):
    """n sequences, each a copy of one of a few families' with so many letters replaced."""
    if os.path.exists(path):
        return path
    rng = random.Random(5)
    first = [rng.choices(letters, k=length) for _ in range(families)]
    with open(path, "w") as f:
        for i in range(n):
            copy = [c if rng.random() > errors else rng.choice(letters) for c in first[i % families]]
            f.write(">s%d\n%s\n" % (i, "".join(copy)))
    return path


def picture(path, width):
    """A PNG of stripes and noise in three colours."""
    if os.path.exists(path):
        return path
    rng = random.Random(3)
    noise = rng.randbytes(3 * width)
    rows = [bytes((x // 3 + y >> 3) + (noise[(x * 7 + y * 13) % len(noise)] >> 2) & 255
                  for x in range(3 * width)) for y in range(64)]
    # Each row begins with its filter, none; later ones are the first 64, shifted.
    data = b"".join(b"\0" + rows[y % 64][y // 64:] + rows[y % 64][:y // 64] for y in range(width))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(data, 1)) + chunk(b"IEND", b""))
    return path


def indexed(*command):
    """The path of a genome, the command's last argument, beside which it makes an index."""
    done = "%s.%s.done" % (command[-1], command[0])
    if shutil.which(command[0]) and not os.path.exists(done):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(done, "w"):
            pass
    return command[-1]


def commands(directory):
    """As commands() of programs.py."""
    def at(name):
        return os.path.join(directory, name)

    def text(n):
        return programs.text_file(at("text%d" % n), n)

    def each(command, *works):
        return tuple(command(work) for work in works)

    def unpack(packer, more, less, *argv):
        return each(lambda n: [packer, "-d", *argv, "-k", "-c", packed(packer, text(n))], more, less)

    programs.genome(at("ref.fa"), at("reads.fq"), 300000, 8)
    programs.genome(at("ref.fa"), at("few.fq"), 20000)
    proteins, genes = "ACDEFGHIKLMNPQRSTVWY", "ACGT"
    return {
        "pixz": each(lambda n: ["pixz", "-p", "4", "-1", "-k", "-o", "/dev/null", "-i", text(n)],
                     448, 16),
        "plzip": each(lambda n: ["plzip", "-n", "4", "-2", "-k", "-c", text(n)], 128, 16),
        "pigz-d": unpack("pigz", 1024, 16),
        "xz-d": unpack("xz", 448, 16, "-T4"),
        "lbzip2-d": unpack("lbzip2", 448, 16, "-n", "4"),
        "plzip-d": unpack("plzip", 448, 16, "-n", "4"),
        "bwa": each(lambda name: ["bwa", "mem", "-t", "4", indexed("bwa", "index", at("ref.fa")),
                                  at(name)], "reads.fq", "few.fq"),
        "bowtie2": each(lambda n: ["bowtie2-align-s", "-p", "4", "-u", str(n), "-x",
                                   indexed("bowtie2-build", "-q", at("ref.fa"), at("ref.fa")), "-U",
                                   at("few.fq" if n < 20000 else "reads.fq"), "-S", "/dev/null"],
                        250000, 500),
        "vsearch": each(lambda n: ["vsearch", "--cluster_fast",
                                   sequences(at("genes%d.fa" % n), genes, n, 400, 300, 0.06), "--id",
                                   "0.85", "--threads", "4", "--centroids", "/dev/null", "--quiet"],
                        30000, 600),
        "clustalo": each(lambda n: ["clustalo", "--threads=4", "-i",
                                    sequences(at("proteins%d.fa" % n), proteins, n, 350, 8, 0.3)],
                         420, 24),
        "pngquant": each(lambda n: ["pngquant", "--force", "--speed", "1", "-o", at("out.png"), "256",
                                    picture(at("p%d.png" % n), n)], 3000, 400),
        "stockfish": each(lambda depth: ["/usr/games/stockfish", "bench", "64" if depth > 9 else "16",
                                         "4", str(depth)], 13, 4),
    }
