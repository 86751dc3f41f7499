// SPDX-License-Identifier: GPL-2.0-or-later
//! What is written in "write" is read in "read".  marked CPU_MS
#[path = "../../bindings/comm_mark.rs"]
mod comm_mark;

use std::fs::read_to_string;
use std::ptr::{addr_of, addr_of_mut, read_volatile, write_volatile};

const WORDS: usize = 4096;

static mut A: [u64; WORDS] = [0; WORDS];

/// Of CPU, not of time: a busy machine gives as many samples.
fn used_ms() -> u64 {
    let schedstat = read_to_string("/proc/self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse::<u64>().unwrap() / 1_000_000
}

fn put() {
    let _region = comm_region!("write");
    for i in 0..WORDS {
        unsafe { write_volatile(addr_of_mut!(A[i]), i as u64) }
    }
}

fn get() -> u64 {
    let _region = comm_region!("read");
    let mut total = 0;
    for i in 0..WORDS {
        total += unsafe { read_volatile(addr_of!(A[i])) };
    }
    total
}

fn main() {
    let cpu_ms: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    comm_mark::stop();
    comm_mark::start();
    while used_ms() < cpu_ms {
        for _ in 0..1000 {
            put();
            assert_ne!(get(), 0);
        }
    }
}
