# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs for programs.py that ran after those of held_out.py, and what they work on.

Of samtools, lrzip, phmmer, diamond and blastp each piece of work has threads of its own, as seats
(libcomm/estimate/hazard/seat.h) were made for; the others' threads live as long as they do.  The number of bursts in
seats was chosen with the first eight in view.  All are packages of Debian; what is not installed
is left out.
"""
import os
import shutil
import subprocess

import held_out
import programs

AMINO_ACIDS, BASES = "ACDEFGHIKLMNPQRSTVWY", "ACGT"
NUMPY = """import numpy
a = numpy.random.rand(%d, %d)
b = a.copy()
for i in range(%d):
    b = a @ b
    b /= b.max()
"""
WORDS = "[aeo]t[a-z]*s[a-z]*r "


def tree(path, n, files=256):
    """A folder of n MiB of text in so many files."""
    if not os.path.isdir(path):
        os.makedirs(path + ".part")
        with open(programs.text_file(path + ".text", min(n, programs.TEXT_MOST)), encoding="ascii") as f:
            text = f.read()
        step = len(text) // files
        for i in range(files):
            with open(os.path.join(path + ".part", str(i)), "w", encoding="ascii") as f:
                for _ in range(max(1, n // programs.TEXT_MOST)):
                    f.write(text[i * step:(i + 1) * step])
        os.unlink(path + ".text")
        os.rename(path + ".part", path)
    return path


def aligned(path, genome, reads):
    """What bwa finds for reads in a genome, as SAM."""
    if not os.path.exists(path) and shutil.which("bwa"):
        with open(path + ".part", "wb") as f:
            subprocess.run(["bwa", "mem", "-t", "2", held_out.indexed("bwa", "index", genome), reads],
                           stdout=f, stderr=subprocess.DEVNULL, check=True)
        os.rename(path + ".part", path)
    return path


def database(path, of, *command):
    """path.* that a command makes of some sequences."""
    if shutil.which(command[0]) and not os.path.exists(path + ".done"):
        subprocess.run([*command, of], check=True, stdout=subprocess.DEVNULL)
        with open(path + ".done", "wb"):
            pass
    return path


def commands(directory):
    """As commands() of programs.py."""
    def at(name):
        return os.path.join(directory, name)

    def proteins(n):
        return held_out.sequences(at("p%d.fa" % n), AMINO_ACIDS, n, 300, 20, 0.4)

    def genes(n, length, families):
        return held_out.sequences(at("g%d.fa" % n), BASES, n, length, families, 0.2)

    def for_diamond(n):
        return database(at("diamond%d" % n), proteins(n), "diamond", "makedb", "--quiet", "-d",
                        at("diamond%d" % n), "--in")

    def for_blast(n):
        return database(at("blast%d" % n), proteins(n), "makeblastdb", "-dbtype", "prot", "-out",
                        at("blast%d" % n), "-in")

    def frames(n):
        return programs.video(at("v%d.y4m" % n), n)

    def sam(name):
        return aligned(at(name + ".sam"), at("ref.fa"), at(name + ".fq"))

    def image(n):
        return held_out.picture(at("p%d.png" % n), n)

    def each(command, more, less):
        return command(*more), command(*less)

    programs.genome(at("ref.fa"), at("reads.fq"), 300000, 8)
    programs.genome(at("ref.fa"), at("few.fq"), 20000)
    return {
        "ffmpeg": each(lambda again, n: ["ffmpeg", "-v", "quiet", "-y", "-stream_loop", str(again), "-i",
                                         frames(n), "-c:v", "mpeg4", "-threads", "4", "-f", "null", "-"],
                       (60, 500), (0, 24)),
        "x265": each(lambda n: ["x265", "--log-level", "none", "--pools", "4", "--preset", "slow",
                                frames(n), "-o", "/dev/null"], (500,), (24,)),
        "samtools": each(lambda name, memory: ["samtools", "sort", "-@", "4", "-m", memory, "-l", "5", "-O",
                                               "bam", "-o", at("o.bam"), sam(name)],
                         ("reads", "64M"), ("few", "4M")),
        "phmmer": each(lambda of, n: ["phmmer", "--cpu", "4", "-o", "/dev/null", proteins(of), proteins(n)],
                       (100, 8000), (2, 2000)),
        "iqtree": each(lambda n, length: ["iqtree2", "-T", "2", "-s", genes(n, length, 1), "-m", "GTR+G",
                                          "-redo", "-quiet", "-pre", at("iq")], (24, 1200), (8, 300)),
        "rg": each(lambda n: ["rg", "-j4", "-c", WORDS, tree(at("tree%d" % n), n)], (4096,), (64,)),
        "lrzip": each(lambda n: ["lrzip", "-q", "-f", "-p", "4", "-o", at("o.lrz"),
                                 programs.text_file(at("text%d" % n), n)], (64,), (4,)),
        # Debian's, of which python3-numpy is.
        "numpy": each(lambda n, times: ["/usr/bin/python3", "-c", NUMPY % (n, n, times)],
                      (2000, 25), (400, 6)),
        "diamond": each(lambda n, *more: ["diamond", "blastp", "--quiet", "-p", "4", "-q", proteins(n), "-d",
                                          for_diamond(n), "-o", "/dev/null", *more],
                        (8000, "--sensitive"), (2000,)),
        "blastp": each(lambda of, n: ["blastp", "-num_threads", "4", "-query", proteins(of), "-db",
                                      for_blast(n), "-out", "/dev/null"], (100, 8000), (2, 2000)),
        "ag": each(lambda n: ["ag", "--workers", "4", "-c", WORDS, tree(at("tree%d" % n), n)], (4096,), (64,)),
        "convert": each(lambda n: ["/usr/bin/convert-im6.q16", "-limit", "thread", "4", image(n), "-resize",
                                   "150%", "-blur", "0x4", "-sharpen", "0x2", at("o.png")], (3000,), (400,)),
        "avifenc": each(lambda speed, n: ["avifenc", "-j", "4", "-s", str(speed), image(n), at("o.avif")],
                        (5, 3000), (8, 400)),
        "fasttree": each(lambda n, length: ["fasttreeMP", "-nt", "-quiet", genes(n, length, 6)],
                         (600, 900), (40, 400)),
        "mksquashfs": each(lambda n: ["mksquashfs", tree(at("tree%d" % n), n), at("o.sq"), "-noappend",
                                      "-quiet", "-no-progress", "-processors", "4", "-mem", "256M", "-comp",
                                      "gzip", "-Xcompression-level", "1"], (4096,), (64,)),
    }
