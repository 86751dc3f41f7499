// SPDX-License-Identifier: MIT
//! Marks of a Rust program, for commprof (docs/guide/marks.md); link comm_mark.c with it.
//!
//! ```
//! let _region = comm_region!("parse"); // to the end of the block, however it is left
//! ```

use std::marker::PhantomData;
use std::os::raw::c_char;

extern "C" {
    fn comm_mark_c_begin(name: *const c_char) -> u64;
    fn comm_mark_c_end(depth: u64);
    fn comm_mark_c_stop(stopped: u32);
}

/// A region that has begun and ends when this is dropped, on the thread that began it.
#[must_use = "a region ends when its guard is dropped"]
pub struct Region {
    depth: u64,
    not_send: PhantomData<*const ()>,
}

impl Region {
    /// A name is read by others, some time later, hence the NUL and the lifetime: `comm_region!`
    /// takes care of both.
    pub fn begin(name: &'static str) -> Region {
        assert!(name.ends_with('\0'), "a region's name ends with NUL");
        let depth = unsafe { comm_mark_c_begin(name.as_ptr().cast()) };
        Region { depth, not_send: PhantomData }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        unsafe { comm_mark_c_end(self.depth) }
    }
}

/// Of the whole process: nothing is sampled until `start()`.
pub fn stop() {
    unsafe { comm_mark_c_stop(1) }
}

pub fn start() {
    unsafe { comm_mark_c_stop(0) }
}

#[macro_export]
macro_rules! comm_region {
    ($name:literal) => {
        $crate::comm_mark::Region::begin(concat!($name, "\0"))
    };
}
