// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::fmt;
use std::io;
use std::ptr::{self, NonNull};
use std::time::Duration;

use crate::{nanoseconds, sys, Cpu, Set};

/// Waiters for a set or for slots.
pub(crate) struct Waiters(NonNull<sys::Wait>);

// SAFETY: all operations of the C structure may overlap, except its destruction.
unsafe impl Send for Waiters {}
// SAFETY: as above.
unsafe impl Sync for Waiters {}

impl Waiters {
    /// With a line per core, as pools and slots have.
    pub(crate) fn new() -> io::Result<Waiters> {
        const EACH_CORE: u32 = u32::MAX; // SCHEDSHARD_CAP_CORE
        let mut plan = ptr::null();
        // SAFETY: the library writes the pointer, and takes NULL for the description of an error.
        let status =
            unsafe { sys::schedshard_plan_here_cap(EACH_CORE, &mut plan, ptr::null_mut()) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(-status));
        }
        // SAFETY: the plan lives forever.
        let made = unsafe { sys::schedshard_wait_alloc(plan) };
        NonNull::new(made)
            .map(Waiters)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(crate) fn raw(&self) -> *mut sys::Wait {
        self.0.as_ptr()
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_wait_free(self.raw()) }
    }
}

/// A pool with one object per CPU, such as idle workers: claim a free one that is near.
///
/// ```
/// use schedshard::{Cpu, CpuPool};
///
/// let idle = CpuPool::new()?;
/// assert!(idle.claim().is_none());
/// let worker = Cpu::current();
/// idle.put(worker); // it has nothing to do
/// assert_eq!(idle.claim().unwrap().keep(), worker);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// A claim is an acquire, which pairs with the release of the object's last put.
pub struct CpuPool {
    set: Set,
    waiters: Waiters,
}

impl CpuPool {
    /// A pool in which nothing is free, with a line per core.
    pub fn new() -> io::Result<CpuPool> {
        Ok(CpuPool {
            set: Set::made(true)?,
            waiters: Waiters::new()?,
        })
    }

    /// Claim a free object near the CPU on which the thread runs.
    pub fn claim(&self) -> Option<Claimed<'_>> {
        self.claim_near(Cpu::current())
    }

    /// Claim a free object near a CPU.
    pub fn claim_near(&self, cpu: Cpu) -> Option<Claimed<'_>> {
        // SAFETY: the set is alive, and the number is a CPU's.
        let got = unsafe { sys::schedshard_sbm_claim_near(self.set.raw(), cpu.number()) };
        Cpu::returned(got).map(|cpu| Claimed { pool: self, cpu })
    }

    /// `claim()` that sleeps until there is a free object; `None`: the timeout has passed.
    pub fn claim_wait(&self, timeout: Option<Duration>) -> Option<Claimed<'_>> {
        let (here, limit) = (Cpu::current().number(), nanoseconds(timeout));
        // SAFETY: set and waiters are alive and of one plan, and the number is a CPU's.
        let got = unsafe {
            sys::schedshard_sbm_claim_wait(self.set.raw(), self.waiters.raw(), here, limit)
        };
        Cpu::returned(got).map(|cpu| Claimed { pool: self, cpu })
    }

    /// Make an object free, and wake a waiter near it. The caller is its holder, or has just made it:
    /// an object that is put while another thread holds it has two holders.
    pub fn put(&self, cpu: Cpu) {
        // SAFETY: as above.
        unsafe { sys::schedshard_sbm_put_wake(self.set.raw(), self.waiters.raw(), cpu.number()) }
    }

    /// How many objects are free.
    pub fn free(&self) -> usize {
        self.set.len()
    }
}

/// An object of a [`CpuPool`] that its holder has claimed; it becomes free when this is dropped.
#[must_use]
pub struct Claimed<'a> {
    pool: &'a CpuPool,
    cpu: Cpu,
}

impl Claimed<'_> {
    /// Which object this is.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// Keeps the object claimed: the holder, or another thread that gets the number, calls
    /// [`CpuPool::put`].
    pub fn keep(self) -> Cpu {
        let cpu = self.cpu;
        std::mem::forget(self);
        cpu
    }
}

impl fmt::Debug for CpuPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuPool({} free)", self.free())
    }
}

impl fmt::Debug for Claimed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claimed({})", self.cpu.number())
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.pool.put(self.cpu);
    }
}
