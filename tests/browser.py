# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium, driven by its DevTools protocol over a pipe: no other library is needed.

What the page does wrong is collected: requests, exceptions and messages on the console.
"""
import base64
import json
import os
import select
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, width=1280, height=900):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.out = os.pipe()
        self.inp, to_write = os.pipe()
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking",
                   f"--user-data-dir={self.home.name}", f"--window-size={width},{height}",
                   "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "sh"] + command,
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.home.name})
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.n = 0
        self.events = []
        self.session = None
        page = None
        while not page:
            targets = self.call("Target.getTargets")["targetInfos"]
            page = next((t for t in targets if t["type"] == "page"), None)
            time.sleep(0 if page else 0.1)
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setScrollbarsHidden", hidden=True)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.inp)
        os.close(self.out)
        self.home.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _message(self, timeout):
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.inp], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.inp, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout=300, **params):
        self.n += 1
        request = {"id": self.n, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message(timeout)
            if message.get("id") == self.n:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def open(self, url):
        """Opens a page and waits until it is loaded and has come to rest."""
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 300
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._message(end - time.monotonic()))
        # The event may be that of about:blank, where the machine is busy.
        while self.run("location.href === 'about:blank' || document.readyState !== 'complete'") and time.monotonic() < end:
            time.sleep(0.05)
        self.rest()

    def rest(self):
        """Waits until the page has drawn what it was going to, and no part of it says that it is busy."""
        end = time.monotonic() + 300
        while self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout("
                       "() => done(document.querySelector('[aria-busy=true]') !== null), 50))))"):
            if time.monotonic() > end:
                raise TimeoutError("the page stays busy")

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
                           userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name):
        code = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                "Escape": 27, "/": 191}[name]
        text = {"text": "\r" if name == "Enter" else name} if name in ("Enter", "/") else {}
        for kind in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **(text if kind == "keyDown" else {}))
        self.rest()

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.rest()

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self, url):
        """What went wrong since open(): a list, empty when all is well."""
        self.rest()
        out = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent" and params["request"]["url"].split("#")[0] != url.split("#")[0]:
                out.append("request: " + params["request"]["url"])
            elif method == "Runtime.exceptionThrown":
                out.append("exception: " + str(params["exceptionDetails"])[:600])
            elif method == "Runtime.consoleAPICalled":
                out.append("console: " + str(params["args"])[:300])
            elif method == "Log.entryAdded":
                out.append("log: " + params["entry"]["text"][:300])
        return out
