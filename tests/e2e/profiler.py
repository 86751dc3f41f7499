# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that takes profiles as Pyroscope and Parca do, for tests.

Usage: profiler.py FOLDER [--tls CERTIFICATE]
Writes its port to FOLDER/port, or takes the one that stands there.  Each profile that it takes is a file of FOLDER/got, named by its
number, before the answer is sent: JSON, with the path, the headers and the body.  FOLDER/tries has a line for each request.
FOLDER/do says what becomes of requests:
  nothing          they succeed
  delay            after 20 ms
  cut              the profile is taken, and the connection closed without an answer
  until N          N succeed; of another the profile is taken, and there is no answer
  hang, endless    no answer, or one without an end
  STATUS           this answer; the next lines are a header and the body
"""
import http.server
import json
import os
import ssl
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()
number = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def keep(self, body):
        global number
        with lock:
            number += 1
            name = f"{folder}/got/{number:06}"
        with open(name + ".part", "w") as file:
            json.dump({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)}, file)
        os.rename(name + ".part", name)

    def answer(self, status, body, *headers):
        self.send_response(status)
        for header in headers:
            self.send_header(*header.split(": ", 1))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            with open(f"{folder}/tries", "a") as file:
                file.write(".\n")
        with open(f"{folder}/do") as file:
            do = file.read().strip().split("\n")
        if do[0] == "hang":
            time.sleep(1000)
        elif do[0] == "endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x" * 65536)
        elif do[0] == "cut":
            self.keep(body)
            self.close_connection = True
        elif do[0].startswith("until") and number >= int(do[0].split()[1]):
            self.keep(body)
            time.sleep(1000)
        elif do[0] and do[0] != "delay" and not do[0].startswith("until"):
            self.answer(int(do[0]), do[2].encode() if len(do) > 2 else b"", *filter(None, do[1:2]))
        else:
            if do[0] == "delay":
                time.sleep(0.02)
            self.keep(body)
            self.answer(200, b"{}")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


port = 0
if os.path.exists(f"{folder}/port"):
    with open(f"{folder}/port") as file:
        port = int(file.read())
    number = len(os.listdir(f"{folder}/got"))
server = Server(("127.0.0.1", port), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(f"{folder}/port.part", "w") as file:
    file.write(str(server.server_port))
os.rename(f"{folder}/port.part", f"{folder}/port")
server.serve_forever()
