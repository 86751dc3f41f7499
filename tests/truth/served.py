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
        """Before the server starts; returns the process of the load, whose session is its own."""
        os.makedirs(self.directory, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, "s"))
        data = os.path.join(self.directory, "data")
        if self.name == "mariadb" and not os.path.exists(data):
            services.install_mariadb(data, log, "--user=root")
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), self.name, self.directory,
                                 str(self.seconds)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                start_new_session=True)


def memcached(directory):
    # -A: clients may end it.  Valgrind needs file descriptors beyond those of 1,988 clients.
    return [*services.memcached_at(os.path.join(directory, "s")), "-A", "-c", "1988"]


def mariadb(directory):
    return [*services.mariadb_at(os.path.join(directory, "data"), os.path.join(directory, "s")),
            "--user=root", "--innodb-use-native-aio=0",
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
    sysbench = services.sysbench(path, 2000)
    clients = {
        "memcached": [[sys.executable, "-S", "-c", services.MEMCACHED % path]] * 4,
        "mariadb": [[*sysbench, "--time=0", "run"]],
    }[name]
    services.until(lambda: accepts(path), name, START_S)
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
