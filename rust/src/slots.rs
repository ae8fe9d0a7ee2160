// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use crate::cpu::{newest, plan};
use crate::wakers::{Claim, Wakers};
use crate::{created, nanoseconds, sys, Cpu};

/// Waiters for slots.
struct Waiters(NonNull<sys::Wait>);

// SAFETY: all operations of the C structure may overlap, except its destruction.
unsafe impl Send for Waiters {}
// SAFETY: as above.
unsafe impl Sync for Waiters {}

impl Waiters {
    fn new() -> io::Result<Waiters> {
        // SAFETY: the plan lives forever.
        let made = unsafe { sys::schedshard_wait_alloc(newest()?) };
        NonNull::new(made)
            .map(Waiters)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn raw(&self) -> *mut sys::Wait {
        self.0.as_ptr()
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_wait_free(self.raw()) }
    }
}

/// Any number of slots, each free or taken: tags, connections, buffers. A claim prefers a slot whose
/// last users were near.
pub struct Slots {
    set: NonNull<sys::SlotSet>,
    waiters: Waiters,
    pub(crate) wakers: Wakers,
    growing: Mutex<()>,
    follow: bool,
    id: u64, // of no other set of this process
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

// SAFETY: all operations of the C structure that this type has may overlap, except growing.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    /// `count` free slots, 1 to 2^30. Each slot keeps its home: for slots that the same core claims
    /// and puts.
    pub fn new(count: u32) -> io::Result<Slots> {
        Slots::made(count, false)
    }

    /// `count` free slots, 1 to 2^20, whose homes follow: a put makes the caller's core the home.
    /// For slots that one core claims and another core puts. It takes two bits per slot and core.
    ///
    /// ```
    /// use schedshard::Slots;
    ///
    /// let tags = Slots::following(64)?;
    /// let tag = tags.claim().unwrap().keep(); // a request begins here
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| tags.put(tag)); // and ends elsewhere, where the next one finds the tag
    /// });
    /// assert_eq!(tags.free(), 64);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn following(count: u32) -> io::Result<Slots> {
        Slots::made(count, true)
    }

    fn made(count: u32, follow: bool) -> io::Result<Slots> {
        plan()?;
        let waiters = Waiters::new()?;
        let opts = sys::CreateOpts {
            follow,
            ..Default::default()
        };
        // SAFETY: takes a number, which it checks, and reads the options.
        let set = created(unsafe { sys::schedshard_slot_set_create_opts(count, &opts) })?;
        Ok(Slots {
            set,
            waiters,
            wakers: Wakers::default(),
            growing: Mutex::new(()),
            follow,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        })
    }

    // SAFETY of all calls below: the set is alive, and each number is a CPU's, or that of a slot
    // which a claim returned.

    /// Claims a free slot near the CPU on which the thread runs.
    pub fn claim(&self) -> Option<Slot<'_>> {
        self.claim_near(Cpu::here())
    }

    /// Claims a free slot near `cpu`.
    pub fn claim_near(&self, cpu: Cpu) -> Option<Slot<'_>> {
        let got = unsafe { sys::schedshard_slot_claim_near(self.set.as_ptr(), cpu.number()) };
        self.slot(got, cpu)
    }

    /// Claims up to `n` slots, nearest first; fewer when no more are free.
    pub fn claim_n(&self, n: u32) -> Vec<Slot<'_>> {
        let (mut found, cpu) = (vec![0; n.min(self.count()) as usize], Cpu::here());
        let (n, to, from) = (found.len() as u32, found.as_mut_ptr(), cpu.number());
        let got = unsafe { sys::schedshard_slot_claim_n(self.set.as_ptr(), from, n, to) };
        let mine = found[..got as usize].iter();
        mine.map(|&index| self.guard(index, cpu)).collect()
    }

    /// Frees several slots at once, and wakes up to as many waiters. Slots of [`Slots::claim_n`]
    /// that are neighbours take one atomic operation.
    ///
    /// # Panics
    ///
    /// If one of them is a slot of another set.
    pub fn put_n(&self, slots: Vec<Slot<'_>>) {
        let here = Cpu::here().number();
        let found: Vec<u32> = slots
            .into_iter()
            .map(|slot| self.own(slot.keep()))
            .collect();
        let (n, from) = (found.len() as u32, found.as_ptr());
        unsafe {
            sys::schedshard_slot_put_n_wake(self.set.as_ptr(), self.waiters.raw(), here, n, from)
        }
        found.iter().for_each(|_| self.wakers.wake_one());
    }

    fn own(&self, kept: Kept) -> u32 {
        assert_eq!(kept.id, self.id, "schedshard: a slot of another set");
        kept.index
    }

    /// Claims the slot of a number, if it is free.
    pub fn take(&self, index: usize) -> Option<Slot<'_>> {
        let index = u32::try_from(index).ok().filter(|&i| i < self.count())?;
        unsafe { sys::schedshard_slot_take(self.set.as_ptr(), index) }
            .then(|| self.guard(index, Cpu::here()))
    }

    /// Ends all waits, which return `None`, and makes later ones fail at once.
    pub fn close(&self) {
        unsafe { sys::schedshard_wait_close(self.waiters.raw()) }
        self.wakers.close();
    }

    /// `claim()` for tasks: waits until a slot is free. Tasks get slots in the order of their first
    /// polls, but after threads that wait. `None`: somebody called [`Slots::close`].
    pub fn claim_async(&self) -> Claim<'_> {
        let turn = None;
        Claim { slots: self, turn }
    }

    /// Claims one of `limit` slots, which are spread over all cores. Callers with the same limit
    /// never hold more than `limit` slots together, so the rest stays free for others.
    pub fn claim_limit(&self, limit: u32) -> Option<Slot<'_>> {
        let (set, cpu) = (self.set.as_ptr(), Cpu::here());
        let got = unsafe { sys::schedshard_slot_claim_limit(set, cpu.number(), limit) };
        self.slot(got, cpu)
    }

    /// `claim()` that sleeps until there is a free slot; `None`: the timeout has passed, or
    /// somebody called [`Slots::close`].
    pub fn claim_wait(&self, timeout: Option<Duration>) -> Option<Slot<'_>> {
        let (set, w, cpu) = (self.set.as_ptr(), self.waiters.raw(), Cpu::here());
        let limit = nanoseconds(timeout);
        let got = unsafe { sys::schedshard_slot_claim_wait(set, w, cpu.number(), limit) };
        self.slot(got, cpu)
    }

    /// How many slots there are.
    pub fn count(&self) -> u32 {
        unsafe { sys::schedshard_slot_set_size(self.set.as_ptr()) }
    }

    /// How many slots are free; exact if none changes meanwhile.
    pub fn free(&self) -> u32 {
        unsafe { sys::schedshard_slot_set_nr_free(self.set.as_ptr()) }
    }

    /// Adds `more` free slots if there are `known` slots now; if not, others have added some
    /// already. A set can grow at most 15 times. Claims and puts may overlap with this.
    pub fn grow_from(&self, known: u32, more: u32) -> io::Result<()> {
        let _one_at_a_time = self.growing.lock().unwrap_or_else(|e| e.into_inner());
        if self.count() != known {
            return Ok(());
        }
        if !unsafe { sys::schedshard_slot_set_grow(self.set.as_ptr(), more) } {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        for _ in 0..more {
            // A waiter for each new slot. SAFETY: as above.
            unsafe { sys::schedshard_wait_wake_near(self.waiters.raw(), Cpu::here().number()) }
            self.wakers.wake_one();
        }
        Ok(())
    }

    /// Frees a slot that [`Slot::keep`] kept claimed, and wakes a waiter near the caller.
    ///
    /// # Panics
    ///
    /// If the slot is one of another set.
    pub fn put(&self, kept: Kept) {
        // SAFETY: there is one `Kept` for a claim, and it is gone now.
        unsafe { self.put_index(self.own(kept) as usize) }
    }

    /// [`Slots::put`] for a program that stores the number and not the [`Kept`].
    ///
    /// # Safety
    ///
    /// The number is that of a `Kept` of this set, and nobody uses that `Kept` any more. A second
    /// put would give the slot two owners.
    pub unsafe fn put_index(&self, index: usize) {
        self.put_near(index as u32, Cpu::here());
    }

    // SAFETY for callers: as for put_index().
    unsafe fn put_near(&self, index: u32, cpu: Cpu) {
        let (set, w) = (self.set.as_ptr(), self.waiters.raw());
        sys::schedshard_slot_put_wake(set, w, index, cpu.number());
        self.wakers.wake_one();
    }

    fn slot(&self, got: i64, cpu: Cpu) -> Option<Slot<'_>> {
        u32::try_from(got).ok().map(|index| self.guard(index, cpu))
    }

    fn guard(&self, index: u32, cpu: Cpu) -> Slot<'_> {
        let slots = self;
        Slot { slots, index, cpu }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { sys::schedshard_slot_set_destroy(self.set.as_ptr()) }
    }
}

/// A slot that its holder has claimed; it becomes free when this is dropped.
#[must_use]
pub struct Slot<'a> {
    slots: &'a Slots,
    index: u32,
    cpu: Cpu, // near which it was claimed; looking up the number again would take long
}

impl Slot<'_> {
    /// The slot's number, from 0.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Keeps the slot claimed: the holder, or another thread that gets the result, calls
    /// [`Slots::put`]. If nobody does, the slot stays claimed.
    pub fn keep(self) -> Kept {
        let (id, index) = (self.slots.id, self.index);
        std::mem::forget(self);
        Kept { id, index }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let follow = self.slots.follow;
        let cpu = if follow { Cpu::here() } else { self.cpu };
        // SAFETY: this is the only owner of the slot.
        unsafe { self.slots.put_near(self.index, cpu) }
    }
}

/// A slot that stays claimed until [`Slots::put`] gets this. It cannot be copied, so that nobody can
/// put a slot twice.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Kept {
    id: u64,
    index: u32,
}

impl Kept {
    /// The slot's number, from 0.
    pub fn index(&self) -> usize {
        self.index as usize
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slots({} of {} free)", self.free(), self.count())
    }
}

impl fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", self.index)
    }
}
