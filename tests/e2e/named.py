# SPDX-License-Identifier: GPL-2.0-or-later
"""A parser fills what two renderers, a thread without a name and the main thread read, for ever."""
import threading

data = [0.0] * 20000


def parse():
    while True:
        for i in range(len(data)):
            data[i] = float(i)


def render():
    while True:
        sum(data)


threading.Thread(target=parse, name="parser").start()
for number in range(2):
    threading.Thread(target=render, name=f"renderer-{number}").start()
threading.Thread(target=render).start()
render()
