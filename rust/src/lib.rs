// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Sets of CPUs, pools, slots and counters for large machines. A few CPUs that share a cache share
//! one cache line of each of these. A write stays in a near cache, and a search starts near.
//!
//! A pool of connections: each caller takes one that a thread near the caller used last.
//!
//! ```
//! use schedshard::Slots;
//!
//! let connections = Slots::new(64)?;
//! if let Some(slot) = connections.claim() {
//!     // connection number slot.index() is ours until the guard is dropped
//!     assert!(slot.index() < 64);
//! }
//! assert_eq!(connections.free(), 64);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! This crate is a safe wrapper of the C library `libschedshard`, which must be installed. It has
//! no other dependency. A CPU number is a [`Cpu`], which is checked once, when it is made: the
//! library itself does not check numbers. Every operation is a call of a few nanoseconds. Threads
//! may share all objects, and all operations may overlap.

mod cpu;
mod number;
mod owned;
mod set;
mod slots;
mod sys;
mod wakers;

pub use cpu::{allowed, generation, how, refresh, Cpu};
pub use number::{Items, Statistic};
pub use owned::{Pool, Taken};
pub use set::Set;
pub use slots::{Kept, Slot, Slots};
pub use wakers::Claim;

use std::io;
use std::ptr::NonNull;
use std::time::Duration;

/// Converts the result of a create function: an object, or the error in errno.
fn created<T>(pointer: *mut T) -> io::Result<NonNull<T>> {
    NonNull::new(pointer).ok_or_else(io::Error::last_os_error)
}

/// Converts to nanoseconds for the library; negative: no limit.
fn nanoseconds(timeout: Option<Duration>) -> i64 {
    match timeout {
        None => -1,
        Some(time) => i64::try_from(time.as_nanos()).unwrap_or(i64::MAX),
    }
}
