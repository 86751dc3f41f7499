#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes perf.data files of known communication, as perf record would, and wrong ones.

    tests/perfdata.py KIND FILE [PROGRAM]

PROGRAM: an ELF file with a function "fill" and a function "drain", for kind "here".
"""
import struct
import subprocess
import sys

IP, TID, TIME, ADDR, READ, ID, CPU, PERIOD = 1, 2, 4, 8, 16, 1 << 6, 1 << 7, 1 << 8
WEIGHT, DATA_SRC, IDENTIFIER, REGS_INTR = 1 << 14, 1 << 15, 1 << 16, 1 << 18
PHYS, WEIGHT_STRUCT = 1 << 19, 1 << 24
USER, KERNEL, EXACT, MMAP_BUILD_ID = 2, 1, 1 << 14, 1 << 14
RECORD = dict(MMAP=1, LOST=2, COMM=3, EXIT=4, THROTTLE=5, FORK=7, SAMPLE=9, MMAP2=10, LOST_SAMPLES=13,
              ATTR=64, BUILD_ID=67, ROUND=68, AUXTRACE_INFO=70, UPDATE=78, FEATURE=80, COMPRESSED=81, COMPRESSED2=83)
PERF_TYPE_RAW = 4
LOAD, STORE = 2, 4
HITM = 1 << 23  # snoop
L3 = 1 << 8 | 1 << 12  # level: hit, L3
SAMPLES = IP | TID | TIME | ADDR | ID | CPU | PERIOD | DATA_SRC | WEIGHT_STRUCT | IDENTIFIER


def padded(text):
    raw = text.encode() + b"\0"
    return raw + bytes(-len(raw) % 8)


def string(text):
    raw = text.encode() + b"\0"
    raw += bytes(-len(raw) % 64)
    return struct.pack("<I", len(raw)) + raw


class Event:
    def __init__(self, name, type_, config, config1, ids, sample_type=SAMPLES, period=1000, freq=False, regs=0,
                 precise=2, attr_bytes=128):
        self.attr_bytes = attr_bytes
        self.name, self.ids, self.sample_type = name, ids, sample_type
        flags = 1 << 8 | 1 << 9 | 1 << 13 | (1 << 10 if freq else 0)  # mmap, comm, task, freq
        flags |= precise << 15 | 1 << 17 | 1 << 18 | 1 << 23  # precise_ip 2, mmap_data, sample_id_all, mmap2
        self.flags = flags
        self.attr = lambda: struct.pack("<IIQQQQQIIQQQQIiQIIQ", type_, attr_bytes, config, period, self.sample_type, 4,
                                        self.flags, 0, 0, config1, 0, 0, 0, 0, 0, regs, 0, 0, 0).ljust(128, b"\0")[:attr_bytes]


class File:
    """Records in the order of their calls; write() puts the header around them."""

    def __init__(self, events, host="otherhost", arch="x86_64", cpuid="GenuineIntel,6,85,7"):
        self.events, self.data, self.build_ids, self.bits = events, bytearray(), [], {}
        self.texts = {3: host, 6: arch, 8: "a processor", 9: cpuid}
        self.data_bytes = None

    def record(self, kind, body, misc=0):
        self.data += struct.pack("<IHH", RECORD.get(kind, kind), misc, 8 + len(body)) + body

    def told(self, kind, body, misc=0, pid=0, tid=0, time=0, cpu=0, event=None):
        """A record of the kernel's with what sample_id_all puts behind it."""
        event = event or self.events[0]
        type_, id_ = event.sample_type, event.ids[0] if time and event.ids else 0
        if event.flags & 1 << 18:
            for bit, raw in ((TID, struct.pack("<II", pid, tid)), (TIME, struct.pack("<Q", time)),
                             (ID, struct.pack("<Q", id_)), (CPU, struct.pack("<II", cpu, 0)),
                             (IDENTIFIER, struct.pack("<Q", id_))):
                body += raw if type_ & bit else b""
        self.record(kind, body, misc)

    def name(self, pid, tid, name, time=0, misc=0):
        self.told("COMM", struct.pack("<II16s", pid, tid, name.encode()), misc, pid, tid, time)

    def map(self, pid, start, size, offset, path, prot="rw", shared=False, time=0, build_id=None, ino=0):
        if build_id:
            file = struct.pack("<B3x20s", len(build_id), build_id)
        else:
            file = struct.pack("<IIQQ", 8 if ino else 0, 1 if ino else 0, ino, 0)
        prot = sum(bit for letter, bit in (("r", 1), ("w", 2), ("x", 4)) if letter in prot)
        body = struct.pack("<IIQQQ", pid, pid, start, size, offset) + file
        body += struct.pack("<II", prot, 1 if shared else 2) + padded(path)
        self.told("MMAP2", body, USER | (MMAP_BUILD_ID if build_id else 0), pid, pid, time)

    def task(self, kind, pid, ppid, tid, ptid, time):
        self.told(kind, struct.pack("<IIIIQ", pid, ppid, tid, ptid, time), 0, pid, tid, time)

    def sample(self, event, pid, tid, time, ip, addr, src=0, cpu=0, period=1000, weight=0, misc=USER | EXACT,
               regs=b"", id_=None):
        type_, id_ = event.sample_type, event.ids[0] if id_ is None and event.ids else id_ or 0
        fields = ((IDENTIFIER, struct.pack("<Q", id_)), (IP, struct.pack("<Q", ip)), (TID, struct.pack("<II", pid, tid)),
                  (TIME, struct.pack("<Q", time)), (ADDR, struct.pack("<Q", addr)), (ID, struct.pack("<Q", id_)),
                  (CPU, struct.pack("<II", cpu, 0)), (PERIOD, struct.pack("<Q", period)),
                  (READ, struct.pack("<QQ", 0, id_)), (WEIGHT | WEIGHT_STRUCT, struct.pack("<Q", weight)),
                  (DATA_SRC, struct.pack("<Q", src)), (REGS_INTR, regs), (PHYS, struct.pack("<Q", addr)))
        self.record("SAMPLE", b"".join(raw for bit, raw in fields if type_ & bit), misc)

    def round(self):
        self.record("ROUND", b"")

    def features(self):
        ret = {bit: string(text) for bit, text in self.texts.items()}
        words = ["/usr/bin/perf", "mem", "record", "./prog"]
        ret[11] = struct.pack("<I", len(words)) + b"".join(string(w) for w in words)
        ret[12] = struct.pack("<II", len(self.events), self.events[0].attr_bytes)
        for e in self.events:
            ret[12] += e.attr() + struct.pack("<I", len(e.ids)) + string(e.name)
            ret[12] += b"".join(struct.pack("<Q", i) for i in e.ids)
        ret[21] = struct.pack("<QQ", 1000000000, 3000000000)
        if self.build_ids:
            ret[2] = b""
            for path, id_ in self.build_ids:
                body = struct.pack("<i20sB3x", -1, id_, len(id_)) + padded(path)
                ret[2] += struct.pack("<IHH", 67, 1 << 15 | USER, 8 + len(body)) + body
        ret.update(self.bits)
        return ret

    def write(self, path):
        features = self.features() if self.data_bytes is None else {}
        at, ids = 104, b""
        for e in self.events:
            ids += b"".join(struct.pack("<Q", i) for i in e.ids)
        attrs_at, attrs = at + len(ids), b""
        for e in self.events:
            attrs += e.attr() + struct.pack("<QQ", at, 8 * len(e.ids))
            at += 8 * len(e.ids)
        data_at = attrs_at + len(attrs)
        end = data_at + len(self.data)
        sections, contents, bits = b"", b"", [0, 0, 0, 0]
        at = end + 16 * len(features)
        for bit in sorted(features):
            bits[bit // 64] |= 1 << bit % 64
            sections += struct.pack("<QQ", at, len(features[bit]))
            contents += features[bit]
            at += len(features[bit])
        size = len(self.data) if self.data_bytes is None else self.data_bytes
        attr_bytes = self.events[0].attr_bytes + 16
        head = struct.pack("<8sQQQQQQQQ4Q", b"PERFILE2", 104, attr_bytes, attrs_at, len(attrs), data_at, size, 0, 0, *bits)
        with open(path, "wb") as out:
            out.write(head + ids + attrs + bytes(self.data) + sections + contents)

    def write_pipe(self, path):
        out = File(self.events)
        for e in self.events:
            out.record("ATTR", e.attr() + b"".join(struct.pack("<Q", i) for i in e.ids))
            out.record("UPDATE", struct.pack("<QQ", 2, e.ids[0]) + padded(e.name))
        for bit, raw in self.features().items():
            if bit not in (2, 12, 21):
                out.record("FEATURE", struct.pack("<Q", bit) + raw)
        with open(path, "wb") as file:
            file.write(struct.pack("<8sQ", b"PERFILE2", 16) + bytes(out.data + self.data))


def pack(file, piece_bytes):
    """As perf record -z: what is the kernel's goes into one stream of zstd, which is cut anywhere."""
    # One that perf does not write: there is no stream within the stream.
    kernel, own, at = struct.pack("<IHH8x", RECORD["COMPRESSED"], 0, 16), b"", 0
    while at < len(file.data):
        kind, _, size = struct.unpack_from("<IHH", file.data, at)
        raw = bytes(file.data[at:at + size])
        kernel, own = (kernel + raw, own) if kind < 64 else (kernel, own + raw)
        at += size
    stream = subprocess.run(["zstd", "-c"], input=kernel, capture_output=True, check=True).stdout
    file.data = bytearray()
    for i, at in enumerate(range(0, len(stream), piece_bytes)):
        piece = stream[at:at + piece_bytes]
        if i % 2:  # of perf since 6.16
            file.record("COMPRESSED2", struct.pack("<Q", len(piece)) + piece + bytes(-len(piece) % 8))
        else:
            file.record("COMPRESSED", piece)
    file.data += own
    file.bits[27] = struct.pack("<5I", 1, 1, 1, 8, 1 << 16)


PID, WRITER, READER, LONER = 1000, 1001, 1002, 1003
TEXT, DATA, HEAP = 0x400000, 0x600000, 0x7F0000000000
BUILD_ID = bytes(range(20))


def loads_and_stores(**more):
    return [Event("cpu/mem-loads,ldlat=30/P", PERF_TYPE_RAW, 0x1CD, 30, [11, 12], **more),
            Event("cpu/mem-stores/P", PERF_TYPE_RAW, 0x82D0, 0, [21, 22], **more)]


def begin(file, program="/opt/other/prog", build_id=BUILD_ID):
    file.name(PID, PID, "prog")
    file.map(PID, TEXT, 0x10000, 0, program, "rx", build_id=build_id)
    file.map(PID, DATA, 0x10000, 0x10000, program, "rw", build_id=build_id)
    file.map(PID, HEAP, 0x400000, 0, "//anon")
    for tid, name in (WRITER, "writer"), (READER, "reader"), (LONER, "loner"):
        file.task("FORK", PID, PID, tid, PID, 1000000000)
        file.name(PID, tid, name, 1000000001)


def handover(file, fill=TEXT + 0x1100, drain=TEXT + 0x2200, rounds=20, per_round=100):
    """WRITER fills 64 words again and again, READER reads them; LONER has its own."""
    misc = USER | (EXACT if file.events[0].flags >> 15 & 3 else 0)
    loads, stores = file.events if len(file.events) > 1 else file.events * 2
    rng = 1
    for r in range(rounds):
        cpus = [], []
        for i in range(per_round):
            rng = rng * 1103515245 + 12345 & 0x7FFFFFFF
            time = 1000100000 + (r * per_round + i) * 1000000
            word = HEAP + 0x1000 + rng % 64 * 8
            own = HEAP + 0x200000 + rng % 64 * 8
            cpus[0].append((stores, PID, WRITER, time, fill, word, STORE))
            cpus[1].append((loads, PID, READER, time + 3000, drain, word, LOAD | L3 | HITM))
            cpus[i % 2].append((stores, PID, LONER, time + 5000, fill, own, STORE))
            cpus[i % 2].append((loads, PID, LONER, time + 7000, fill, own, LOAD | L3))
        # perf reads the CPUs' rings one after the other.
        for cpu, samples in enumerate(cpus):
            for s in samples:
                file.sample(*s, cpu=cpu, weight=200 if s[6] & LOAD else 0, misc=misc)
        file.round()


def symbols(program):
    """Addresses of fill and drain in the file, its build-id, and its executable segment."""
    lines = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.split("\n")
    at = {line.split()[2]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}
    notes = subprocess.run(["readelf", "-nW", program], capture_output=True, text=True, check=True).stdout
    build_id = bytes.fromhex(notes.split("Build ID: ")[1].split()[0])
    heads = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    text = next(line.split() for line in heads.split("\n") if "LOAD" in line and "R E" in line)
    return at, build_id, [int(word, 16) for word in text[1:6]]


def make(kind, path, program=None):
    events = loads_and_stores()
    file = File(events)
    if kind == "here":
        at, build_id, (offset, address, _, _, size) = symbols(program)
        file.build_ids.append((program, build_id))
        base = 0x555555554000
        file.name(PID, PID, "prog")
        file.map(PID, base + address, -(-size // 4096) * 4096, offset, program, "rx", ino=12345)
        file.map(PID, HEAP, 0x400000, 0, "//anon")
        for tid, name in (WRITER, "writer"), (READER, "reader"), (LONER, "loner"):
            file.task("FORK", PID, PID, tid, PID, 1000000000)
            file.name(PID, tid, name, 1000000001)
        handover(file, base + at["fill"], base + at["drain"])
        return file.write(path)
    if kind == "one-event":  # IBS: no ids, one event of both
        file = File([Event("ibs_op//", 10, 0, 0, [], SAMPLES & ~(ID | IDENTIFIER))], cpuid="AuthenticAMD,25,1,1")
    if kind == "spe":  # as perf inject makes it of raw traces: nothing says that instructions are exact
        file = File([Event("memory", 0, 0, 0, [11], precise=0)], arch="aarch64", cpuid="0x00000000410fd490")
    if kind == "weights":  # as perf --pfm-events of 2021: attributes of 96 bytes, one period, a dummy for the mappings
        fields = IP | TID | TIME | ADDR | ID | CPU | DATA_SRC | WEIGHT_STRUCT
        more = dict(sample_type=fields, period=10009, attr_bytes=96)
        file = File([Event("dummy:HG", 1, 9, 0, [31, 32], **more, precise=0),
                     Event("MEM_TRANS_RETIRED.LOAD_LATENCY:ldlat=64:precise=2", PERF_TYPE_RAW, 0x1CD, 64, [11, 12], **more),
                     Event("MEM_INST_RETIRED.ALL_STORES:precise=2", PERF_TYPE_RAW, 0x82D0, 0, [21, 22], **more)])
        begin(file)
        for i in range(20):  # the latency is the first of the weight's three parts
            now = 1000100000 + i * 1000000
            word = HEAP + 0x1000 + i % 4 * 8
            file.sample(file.events[2], PID, WRITER, now, TEXT + 0x1100, word, STORE, weight=7 << 48 | 3 << 32 | 1)
            file.sample(file.events[1], PID, READER, now + 3000, TEXT + 0x2200, word, LOAD | L3 | HITM, cpu=1,
                        weight=5 << 48 | 9 << 32 | 200 + i)
            file.sample(file.events[1], PID, READER, now + 5000, 0xFFFFFFFF81000000, 0xFFFF8B6D0D9CB308, LOAD, cpu=1,
                        weight=70, misc=KERNEL | EXACT)
        return file.write(path)
    if kind == "regs":  # what commd itself would sample, and the registers behind each access
        mask = 0xFF01FF | 1 << 9
        file = File([Event("mem_inst_retired.all_loads:pp", PERF_TYPE_RAW, 0x81D0, 0, [11], SAMPLES | REGS_INTR, regs=mask),
                     Event("mem_inst_retired.all_stores:pp", PERF_TYPE_RAW, 0x82D0, 0, [21], SAMPLES | REGS_INTR,
                           regs=mask)])
        begin(file)
        regs = struct.pack("<19Q", 2, *range(100, 118))
        for i in range(4):
            file.sample(file.events[i % 2], PID, WRITER, 1000100000 + i, TEXT + 0x1100, HEAP + 8 * i, regs=regs)
        return file.write(path)
    if kind == "many-kinds":
        for e in events:
            e.sample_type |= READ | PHYS
    if kind == "no-source":
        for e in events:
            e.sample_type &= ~DATA_SRC
    if kind == "ambiguous":
        events[1].sample_type &= ~IDENTIFIER
    if kind == "no-address":
        for e in events:
            e.sample_type &= ~ADDR
    if kind == "no-time":
        for e in events:
            e.sample_type &= ~TIME
    if kind == "aux":
        file.bits[18] = b""
    if kind == "aux-pipe":
        file.record("AUXTRACE_INFO", struct.pack("<II", 4, 0))
    if kind == "other-compression":
        file.bits[27] = struct.pack("<5I", 1, 2, 1, 1, 4096)
    begin(file)
    if kind == "tiny":
        file.build_ids.append(("/opt/other/prog", BUILD_ID))
    if kind == "exec":
        # Another program in the place of the first: the code is that of the second.
        file.name(PID, PID, "second", 1000000002, 1 << 13)
        file.map(PID, TEXT, 0x10000, 0, "/opt/other/second", "rx", time=1000000003)
        file.map(PID, HEAP, 0x400000, 0, "//anon", time=1000000004)
    tiny = kind.startswith("tiny")
    handover(file, rounds=2 if tiny else 20, per_round=10 if tiny else 100)
    if kind == "many-kinds" or tiny:
        now = 3100000000
        loads = file.events[0]
        file.told("LOST", struct.pack("<QQ", 11, 7), time=now)
        file.told("LOST_SAMPLES", struct.pack("<Q", 5), time=now)
        file.told("THROTTLE", struct.pack("<QQQ", now, 11, 11), time=now)
        file.told("MMAP", struct.pack("<IIQQQ", PID, PID, HEAP + 0x900000, 4096, 0) + padded("//anon"), 1 << 13, time=now)
        file.sample(loads, PID, READER, now, 0xFFFFFFFF81000000, HEAP, LOAD, misc=KERNEL | EXACT)
        file.sample(loads, PID, READER, now, TEXT, 0, LOAD)
        file.sample(loads, PID, READER, now, TEXT, HEAP, LOAD, misc=USER)
        file.sample(loads, PID, READER, now, TEXT, HEAP, LOAD, id_=99)
        file.record("SAMPLE", bytes(8))
        file.record("SAMPLE", struct.pack("<QQ", 11, 0), USER)
        file.record(99, b"")
        file.task("EXIT", PID, PID, LONER, PID, now + 1)
    if kind == "far":  # 146 years after the others, and never
        file.sample(events[0], PID, READER, 1 << 62, TEXT, HEAP, LOAD)
        file.sample(events[0], PID, READER, (1 << 64) - 1, TEXT, HEAP, LOAD)
    if kind == "killed":
        file.data_bytes = 0
    if kind == "damaged":
        file.record(0, b"")
    if kind == "zero-size":
        file.data += struct.pack("<IHH", 9, 0, 0)
    if kind.endswith("packed"):
        pack(file, 97 if tiny else 60000)
    if kind.endswith("pipe"):
        file.write_pipe(path)
    else:
        file.write(path)
    if kind in ("swapped", "old"):
        raw = bytearray(open(path, "rb").read())
        raw[:8] = b"2ELIFREP" if kind == "swapped" else b"PERFFILE"
        open(path, "wb").write(raw)


if __name__ == "__main__":
    make(*sys.argv[1:])
