// SPDX-License-Identifier: GPL-2.0-or-later
//! What is written in the span "write" is read in the span "read".  Another thread made both than enters
//! them, inside a span that is left first.  traced CPU_MS
#[path = "../../bindings/comm_mark_tracing.rs"]
mod comm_mark_tracing;

use std::fs::read_to_string;
use std::ptr::{addr_of, addr_of_mut, read_volatile, write_volatile};

use tracing::{info_span, Span};
use tracing_subscriber::prelude::*;

const WORDS: usize = 4096;

static mut A: [u64; WORDS] = [0; WORDS];

/// Of CPU, not of time: a busy machine gives as many samples.
fn used_ms() -> u64 {
    let schedstat = read_to_string("/proc/thread-self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse::<u64>().unwrap() / 1_000_000
}

fn put(write: &Span) {
    let around = info_span!("write").entered();
    let _write = write.enter();
    drop(around);
    for i in 0..WORDS {
        unsafe { write_volatile(addr_of_mut!(A[i]), i as u64) }
    }
}

fn get(read: &Span) -> u64 {
    let around = info_span!("read").entered();
    let _read = read.enter();
    drop(around);
    let mut total = 0;
    for i in 0..WORDS {
        total += unsafe { read_volatile(addr_of!(A[i])) };
    }
    total
}

fn main() {
    let cpu_ms: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    tracing_subscriber::registry()
        .with(comm_mark_tracing::Regions)
        .init();
    let (write, read) = (info_span!("write"), info_span!("read"));
    let worker = std::thread::spawn(move || {
        while used_ms() < cpu_ms {
            for _ in 0..1000 {
                put(&write);
                assert_ne!(get(&read), 0);
            }
        }
    });
    worker.join().unwrap();
}
