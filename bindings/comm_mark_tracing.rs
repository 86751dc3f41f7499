// SPDX-License-Identifier: MIT
//! A layer for tracing-subscriber: spans of `tracing` are regions of their names, for commprof
//! (docs/guide/marks.md).  Beside comm_mark.rs; link comm_mark.c with it.
//!
//! ```
//! tracing_subscriber::registry().with(comm_mark_tracing::Regions).init();
//! ```
//!
//! A span is a region of the thread that has entered it, for as long: a future's goes with it from
//! thread to thread.  Spans that are left in another order than they were entered in are left all
//! the same, and those around them go on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::raw::c_char;

use tracing::{span::Id, Subscriber};
use tracing_subscriber::{layer::Context, registry::LookupSpan, Layer};

extern "C" {
    fn comm_mark_c_begin(name: *const c_char) -> u64;
    fn comm_mark_c_end(depth: u64);
    fn comm_mark_c_name(text: *const c_char, n: u64) -> *const c_char;
}

struct Entered {
    span: u64,
    name: *const c_char,
    depth: u64,
}

#[derive(Default)]
struct Thread {
    /// By address and length: a name of a span is a literal, one for each place in the program.
    names: HashMap<(usize, usize), *const c_char>,
    entered: Vec<Entered>,
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

impl Thread {
    /// Names of regions end with NUL and stay for ever; those of spans only stay.
    fn name(&mut self, text: &'static str) -> *const c_char {
        *self
            .names
            .entry((text.as_ptr() as usize, text.len()))
            .or_insert_with(|| unsafe { comm_mark_c_name(text.as_ptr().cast(), text.len() as u64) })
    }

    fn enter(&mut self, span: u64, text: &'static str) {
        let name = self.name(text);
        let depth = unsafe { comm_mark_c_begin(name) };
        self.entered.push(Entered { span, name, depth });
    }

    /// Regions end from the innermost on: those inside this one begin again.
    fn exit(&mut self, span: u64) {
        let at = match self.entered.iter().rposition(|e| e.span == span) {
            Some(at) => at,
            None => return, // entered before this layer was there
        };
        let left = self.entered.remove(at);
        unsafe { comm_mark_c_end(left.depth) }
        for inside in &mut self.entered[at..] {
            inside.depth = unsafe { comm_mark_c_begin(inside.name) };
        }
    }
}

/// The layer.
pub struct Regions;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Regions {
    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        if let Some(metadata) = ctx.metadata(id) {
            // A thread that ends may enter spans when its variables are gone already.
            let _ = THREAD.try_with(|t| t.borrow_mut().enter(id.into_u64(), metadata.name()));
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let _ = THREAD.try_with(|t| t.borrow_mut().exit(id.into_u64()));
    }
}
