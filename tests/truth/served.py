# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers with the load of services.py, started under commd: for programs.py, which has their exact runs, too.

They have the same load for a time, not the same work; under Valgrind they do a fiftieth of it, and more
of what is read was written as they started.  redis is no such server: what its threads mostly read are words that
they wait for, as often as there is time, which Valgrind's one thread at a time makes another number.  All are
packages of Debian; what is not installed is left out.

As a script: served.py NAME DIRECTORY SECONDS loads a server that is about to start, and ends it.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import services

START_S = 600  # under Valgrind
LIVE_S, EXACT_S = 30, 20


class Served(list):
    """A server's command, and what loads it for a time and then ends it."""

    def __init__(self, name, directory, seconds):
        super().__init__(SERVERS[name][0](directory))
        self.name, self.directory, self.seconds = name, directory, seconds

    def start(self, log):
        """Before the server starts; returns the process of the load."""
        os.makedirs(self.directory, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, "s"))
        if self.name == "mariadb" and not os.path.exists(os.path.join(self.directory, "data")):
            subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", "--skip-test-db",
                            "--datadir=" + os.path.join(self.directory, "data"),
                            "--auth-root-authentication-method=normal"], check=True, stdout=log,
                           stderr=log)
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), self.name, self.directory,
                                 str(self.seconds)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def memcached(directory):
    # -A: clients may end it.  Valgrind needs file descriptors beyond those of 1,988 clients.
    return ["memcached", "-A", "-u", "root", "-t", "4", "-c", "1988", "-m", "64", "-s",
            os.path.join(directory, "s"), "-a", "777"]


def mariadb(directory):
    return ["mariadbd", "--no-defaults", "--user=root", "--datadir=" + os.path.join(directory, "data"),
            "--socket=" + os.path.join(directory, "s"), "--skip-networking",
            "--innodb-flush-log-at-trx-commit=2", "--innodb-use-native-aio=0",
            # Valgrind has no 8 TiB of addresses to reserve.
            "--loose-innodb-buffer-pool-size-max=128M"]


SERVERS = {"memcached": (memcached, ["memcached"]),
           "mariadb": (mariadb, ["mariadbd", "mariadb-install-db", "mariadb-admin", "sysbench"])}


def commands(directory):
    """As commands() of programs.py."""
    ret = {}
    for name, (_, tools) in SERVERS.items():
        if not all(map(shutil.which, tools)):
            continue
        at = os.path.join(os.path.abspath(directory), "served-" + name)
        ret[name] = tuple(Served(name, at, seconds) for seconds in (LIVE_S, EXACT_S))
    return ret


def accepts(path):
    with socket.socket(socket.AF_UNIX) as s:
        return not s.connect_ex(path)


def load(name, directory, seconds):
    path = os.path.join(directory, "s")
    sysbench = ["sysbench", "oltp_read_write", "--mysql-socket=" + path, "--mysql-user=root",
                "--mysql-db=mysql", "--tables=2", "--table-size=2000", "--threads=8"]
    clients = {
        "memcached": [[sys.executable, "-S", "-c", services.MEMCACHED % path]] * 4,
        "mariadb": [[*sysbench, "--time=0", "run"]],
    }[name]
    ends = time.monotonic() + START_S
    while not accepts(path):
        if time.monotonic() > ends:
            raise SystemExit("%s is not up after %d s" % (name, START_S))
        time.sleep(0.2)
    if name == "mariadb":
        for step in "cleanup", "prepare":
            subprocess.run([*sysbench, step], check=step == "prepare", stdout=subprocess.DEVNULL)
    started = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for argv in clients]
    time.sleep(seconds)
    for process in started:
        process.send_signal(signal.SIGKILL)
        process.wait()
    if name == "mariadb":
        subprocess.run(["mariadb-admin", "--no-defaults", "-u", "root", "-S", path, "shutdown"], check=True)
        return
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"shutdown\r\n")
        s.recv(1)


if __name__ == "__main__":
    load(sys.argv[1], sys.argv[2], float(sys.argv[3]))
