// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::io;
use std::ptr::NonNull;
use std::time::Duration;

use crate::pool::Waiters;
use crate::{created, nanoseconds, sys, Cpu};

/// Any number of slots, each free or taken: tags, connections, buffers. A claim prefers a slot whose
/// last users were near.
pub struct Slots {
    set: NonNull<sys::SlotSet>,
    waiters: Waiters,
}

// SAFETY: all operations of the C structure that this type has may overlap.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    /// `count` free slots, 1 to 2^30.
    pub fn new(count: u32) -> io::Result<Slots> {
        let waiters = Waiters::new(0)?;
        // SAFETY: takes a number, which it checks.
        let set = created(unsafe { sys::schedshard_slot_set_create(count) })?;
        Ok(Slots { set, waiters })
    }

    // SAFETY of all calls below: the set lives, the numbers are of CPUs, and of slots that a claim
    // returned.

    /// Claim a free slot near the CPU on which the thread runs.
    pub fn claim(&self) -> Option<Slot<'_>> {
        self.claim_near(Cpu::current())
    }

    /// Claim a free slot near a CPU.
    pub fn claim_near(&self, cpu: Cpu) -> Option<Slot<'_>> {
        self.slot(unsafe { sys::schedshard_slot_claim_near(self.set.as_ptr(), cpu.number()) })
    }

    /// `claim()` that sleeps until there is one; `None`: the time is over.
    pub fn claim_wait(&self, timeout: Option<Duration>) -> Option<Slot<'_>> {
        let (here, limit) = (Cpu::current().number(), nanoseconds(timeout));
        self.slot(unsafe {
            sys::schedshard_slot_claim_wait(self.set.as_ptr(), self.waiters.raw(), here, limit)
        })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        unsafe { sys::schedshard_slot_set_size(self.set.as_ptr()) }
    }

    /// How many are free; exact if none changes meanwhile.
    pub fn free(&self) -> u32 {
        unsafe { sys::schedshard_slot_set_nr_free(self.set.as_ptr()) }
    }

    fn slot(&self, got: i64) -> Option<Slot<'_>> {
        u32::try_from(got)
            .ok()
            .map(|index| Slot { slots: self, index })
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_slot_set_destroy(self.set.as_ptr()) }
    }
}

/// A slot that its holder has claimed; dropped, it is free again.
#[must_use]
pub struct Slot<'a> {
    slots: &'a Slots,
    index: u32,
}

impl Slot<'_> {
    /// Its number, from 0.
    pub fn index(&self) -> usize {
        self.index as usize
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let here = Cpu::current().number();
        // SAFETY: this holder claimed the slot, and puts it once.
        unsafe {
            sys::schedshard_slot_put_wake(
                self.slots.set.as_ptr(),
                self.slots.waiters.raw(),
                self.index,
                here,
            )
        }
    }
}
