// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::fmt;
use std::io;
use std::ptr::{self, NonNull};

use crate::cpu::plan;
use crate::{created, sys, Cpu};

/// A set of CPUs with one bit per CPU. Updates are atomic, by any thread.
///
/// ```
/// use schedshard::{Cpu, Set};
///
/// let idle = Set::new()?;
/// let here = Cpu::current();
/// idle.insert(here);
/// assert_eq!(idle.iter().collect::<Vec<_>>(), [here]);
/// assert!(idle.remove(here));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A search finds a CPU that is in the set throughout the call, and none that is not in the set
/// throughout the call. `insert` and `remove` are full barriers; `contains` and searches order
/// nothing.
pub struct Set(NonNull<sys::Sbm>);

// SAFETY: all operations of the C structure may overlap, except its destruction.
unsafe impl Send for Set {}
// SAFETY: as above.
unsafe impl Sync for Set {}

impl Set {
    /// An empty set.
    pub fn new() -> io::Result<Set> {
        plan()?;
        // SAFETY: takes nothing.
        created(unsafe { sys::schedshard_sbm_create() }).map(Set)
    }

    fn raw(&self) -> *mut sys::Sbm {
        self.0.as_ptr()
    }

    // SAFETY of all calls below: the set is alive, and each number is a CPU's.

    /// Adds a CPU. Returns whether it was not in the set.
    pub fn insert(&self, cpu: Cpu) -> bool {
        !unsafe { sys::schedshard_sbm_test_and_set(self.raw(), cpu.number()) }
    }

    /// Removes a CPU. Returns whether it was in the set.
    pub fn remove(&self, cpu: Cpu) -> bool {
        unsafe { sys::schedshard_sbm_test_and_clear(self.raw(), cpu.number()) }
    }

    /// `insert()` without a result and without a barrier: the fastest way.
    pub fn set(&self, cpu: Cpu) {
        unsafe { sys::schedshard_sbm_set(self.raw(), cpu.number()) }
    }

    /// `remove()` without a result and without a barrier.
    pub fn clear(&self, cpu: Cpu) {
        unsafe { sys::schedshard_sbm_clear(self.raw(), cpu.number()) }
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: Cpu) -> bool {
        unsafe { sys::schedshard_sbm_test(self.raw(), cpu.number()) }
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        unsafe { sys::schedshard_sbm_weight(self.raw()) as usize }
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        unsafe { sys::schedshard_sbm_empty(self.raw()) }
    }

    /// The CPU in the set that is nearest to `cpu`.
    pub fn near(&self, cpu: Cpu) -> Option<Cpu> {
        Cpu::returned(unsafe {
            sys::schedshard_sbm_near_cpu(self.raw(), ptr::null(), cpu.number())
        })
    }

    /// The CPUs in the set; those that share a cache are consecutive.
    pub fn iter(&self) -> impl Iterator<Item = Cpu> + '_ {
        let mut last: Option<Cpu> = None;
        std::iter::from_fn(move || {
            last = Cpu::returned(unsafe {
                match last {
                    None => sys::schedshard_sbm_first_cpu(self.raw()),
                    Some(cpu) => sys::schedshard_sbm_next_cpu(self.raw(), cpu.number()),
                }
            });
            last
        })
        .fuse()
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_sbm_destroy(self.raw()) }
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Cpu::number)).finish()
    }
}
