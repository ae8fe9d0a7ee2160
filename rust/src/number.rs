// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::io;
use std::ptr::NonNull;

use crate::cpu::plan;
use crate::{created, sys, Cpu};

/// A counter for statistics, which change often and are read seldom: it has a line per CPU.
///
/// ```
/// use schedshard::Statistic;
///
/// let sent = Statistic::new()?;
/// sent.add(1500);
/// assert_eq!(sent.sum(), 1500);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Statistic(NonNull<sys::CpuCounter>);

// SAFETY: adds of any threads and sums may overlap: `add_any` is for threads that may move.
unsafe impl Send for Statistic {}
// SAFETY: as above.
unsafe impl Sync for Statistic {}

impl Statistic {
    /// A statistic at 0.
    pub fn new() -> io::Result<Statistic> {
        plan()?;
        // SAFETY: takes a number.
        created(unsafe { sys::schedshard_cpu_counter_create(0) }).map(Statistic)
    }

    /// Adds `n` for the CPU on which the thread runs.
    pub fn add(&self, n: i64) {
        let here = Cpu::current().number();
        // SAFETY: the counter is alive, and the number is a CPU's.
        unsafe { sys::schedshard_cpu_counter_add_any(self.0.as_ptr(), here, n) }
    }

    /// The sum of all counts that are visible when this begins, and of some concurrent ones.
    pub fn sum(&self) -> i64 {
        // SAFETY: the counter is alive.
        unsafe { sys::schedshard_cpu_counter_sum(self.0.as_ptr()) }
    }
}

impl Drop for Statistic {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_cpu_counter_destroy(self.0.as_ptr()) }
    }
}

/// A count of items, to ask "is there any?". A few CPUs share each of its lines.
pub struct Items(NonNull<sys::Counter>);

// SAFETY: all operations of the C structure that this type has may overlap.
unsafe impl Send for Items {}
// SAFETY: as above.
unsafe impl Sync for Items {}

impl Items {
    /// No items.
    pub fn new() -> io::Result<Items> {
        plan()?;
        // SAFETY: takes nothing.
        created(unsafe { sys::schedshard_counter_create() }).map(Items)
    }

    // SAFETY of all calls below: the counter is alive, and each number is a CPU's.

    /// Counts one more item; the item belongs to `cpu`.
    pub fn add(&self, cpu: Cpu) {
        unsafe { sys::schedshard_counter_add(self.0.as_ptr(), cpu.number(), 1) }
    }

    /// Counts one item less; the item belonged to `cpu`.
    pub fn remove(&self, cpu: Cpu) {
        unsafe { sys::schedshard_counter_add(self.0.as_ptr(), cpu.number(), -1) }
    }

    /// Whether there is any item; never false while an item stays counted throughout the call. The
    /// search starts near the CPU on which the thread runs.
    pub fn any(&self) -> bool {
        let here = Cpu::current().number();
        unsafe { sys::schedshard_counter_more_than(self.0.as_ptr(), here, 0) }
    }

    /// The number of items.
    pub fn sum(&self) -> i64 {
        unsafe { sys::schedshard_counter_sum(self.0.as_ptr()) }
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_counter_destroy(self.0.as_ptr()) }
    }
}
