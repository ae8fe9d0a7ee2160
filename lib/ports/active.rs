// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! The executor's active tasks in slots of schedshard. It replaces `Mutex<Slab<Waker>>`, with the
//! few operations that the executor uses, including a `lock()` that locks nothing.
//!
//! A task's number is that of its slot, claimed near the CPU that spawns the task. The thread that
//! claimed the slot writes its waker. Only the drop of the executor, which wakes all tasks, can
//! race with a task that ends. So each waker has a lock, which is uncontended and in a near cache.

use std::sync::{LockResult, Mutex, OnceLock, TryLockResult};
use std::task::Waker;

use schedshard::Slots;

const FIRST: usize = 4096; // slots of the first part; each later part doubles them
const PARTS: usize = 16; // as many as a set has

type Part = OnceLock<Box<[Mutex<Option<Waker>>]>>;

pub(crate) struct Active {
    slots: OnceLock<Slots>,
    parts: [Part; PARTS],
}

impl Active {
    pub(crate) const fn new() -> Active {
        Active {
            slots: OnceLock::new(),
            parts: [const { Part::new() }; PARTS],
        }
    }

    pub(crate) fn lock(&self) -> LockResult<Near<'_>> {
        Ok(Near(self))
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<Near<'_>> {
        Ok(Near(self))
    }

    fn slots(&self) -> &Slots {
        self.slots
            .get_or_init(|| Slots::new(FIRST as u32).expect("slots"))
    }

    fn claim(&self) -> usize {
        let slots = self.slots();
        loop {
            let size = slots.count();
            match slots.claim() {
                Some(slot) => return slot.keep().index(),
                None => {
                    slots.grow_from(size, size).expect("too many tasks");
                }
            }
        }
    }

    /// Part k has the numbers from FIRST * 2^(k-1) on, part 0 those below FIRST.
    fn waker(&self, number: usize) -> &Mutex<Option<Waker>> {
        let part = match number / FIRST {
            0 => 0,
            n => n.ilog2() as usize + 1,
        };
        let (begin, size) = match part {
            0 => (0, FIRST),
            n => (FIRST << (n - 1), FIRST << (n - 1)),
        };
        let made = || (0..size).map(|_| Mutex::new(None)).collect();
        &self.parts[part].get_or_init(made)[number - begin]
    }

    fn take(&self, number: usize) -> Option<Waker> {
        self.waker(number).lock().unwrap().take()
    }
}

/// Replaces the guard of the lock.
pub(crate) struct Near<'a>(&'a Active);

impl<'a> Near<'a> {
    pub(crate) fn vacant_entry(&self) -> Vacant<'a> {
        Vacant(self.0, self.0.claim())
    }

    pub(crate) fn try_remove(&self, number: usize) -> Option<Waker> {
        let waker = self.0.take(number);
        if waker.is_some() {
            // SAFETY: the task's waker was there, and is taken once.
            unsafe { self.0.slots().put_index(number) };
        }
        waker
    }

    pub(crate) fn len(&self) -> usize {
        self.0
            .slots
            .get()
            .map_or(0, |slots| (slots.count() - slots.free()) as usize)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waker> + '_ {
        let parts = self.0.parts.iter().filter_map(|part| part.get());
        parts
            .flat_map(|part| part.iter())
            .filter_map(|waker| waker.lock().unwrap().take())
    }
}

/// A number that has no waker yet; if it is dropped in this state, it is free again.
pub(crate) struct Vacant<'a>(&'a Active, usize);

impl Vacant<'_> {
    pub(crate) fn key(&self) -> usize {
        self.1
    }

    pub(crate) fn insert(self, waker: Waker) {
        *self.0.waker(self.1).lock().unwrap() = Some(waker);
        std::mem::forget(self);
    }
}

impl Drop for Vacant<'_> {
    fn drop(&mut self) {
        // SAFETY: the number has no waker, so nobody else puts it.
        unsafe { self.0.slots().put_index(self.1) }
    }
}
