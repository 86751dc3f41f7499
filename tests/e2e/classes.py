# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that one thread makes anew and another reads: dictionaries, lists, and objects of two classes of this
script, one of them in a class that has slots and hence no dictionary of its own.  Goes on for as many seconds as the
argument says."""
import sys
import threading
import time


class Order:
    def __init__(self, amount):
        self.amount = amount
        self.price = amount * 2


class Parcel:
    __slots__ = ("weight", "to", "back")

    def __init__(self, weight):
        self.weight = weight
        self.to = self.back = None


EACH = 2000
end = time.monotonic() + float(sys.argv[1])
orders = [Order(i) for i in range(EACH)]
parcels = [Parcel(i) for i in range(EACH)]
dicts = [{"amount": i, "price": 2 * i} for i in range(EACH)]
lists = [[i, i, i] for i in range(EACH)]
total = 0


def write():
    turn = 0
    while time.monotonic() < end:
        turn += 1
        for order in orders:
            order.amount = turn
        for parcel in parcels:
            parcel.weight = turn
        for one in dicts:
            one["amount"] = turn
        for one in lists:
            one[0] = turn


def read():
    global total
    while time.monotonic() < end:
        for order in orders:
            total += order.amount
        for parcel in parcels:
            total += parcel.weight
        for one in dicts:
            total += one["amount"]
        for one in lists:
            total += one[0]


threads = [threading.Thread(target=write), threading.Thread(target=read)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
