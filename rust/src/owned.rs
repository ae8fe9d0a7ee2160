// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::time::Duration;

use crate::{Slot, Slots};

/// An object on cache lines of its own.
#[repr(align(64))]
struct Apart<T>(UnsafeCell<T>);

/// A pool that owns its objects. Each caller takes one that a thread near the caller used last.
///
/// ```
/// use schedshard::Pool;
///
/// let buffers = Pool::new((0..8).map(|_| Vec::<u8>::new()))?;
/// let mut buffer = buffers.take().unwrap();
/// buffer.push(1);
/// drop(buffer); // it is free again
/// assert_eq!(buffers.free(), 8);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Pool<T> {
    objects: Box<[Apart<T>]>,
    slots: Slots,
}

// SAFETY: a claim gives an object to one thread at a time, and acquires what its last owner released.
unsafe impl<T: Send> Sync for Pool<T> {}

impl<T> Pool<T> {
    /// A pool of these objects, all free; at least one.
    pub fn new(objects: impl IntoIterator<Item = T>) -> io::Result<Pool<T>> {
        let objects: Box<[_]> = objects
            .into_iter()
            .map(|o| Apart(UnsafeCell::new(o)))
            .collect();
        let count = u32::try_from(objects.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let slots = Slots::new(count)?;
        Ok(Pool { objects, slots })
    }

    /// Takes a free object near the CPU on which the thread runs.
    pub fn take(&self) -> Option<Taken<'_, T>> {
        self.slots.claim().map(|slot| self.taken(slot))
    }

    /// `take()` that sleeps until an object is free; `None`: the timeout has passed.
    pub fn take_wait(&self, timeout: Option<Duration>) -> Option<Taken<'_, T>> {
        self.slots.claim_wait(timeout).map(|slot| self.taken(slot))
    }

    /// How many objects are free; exact if none changes meanwhile.
    pub fn free(&self) -> u32 {
        self.slots.free()
    }

    fn taken<'a>(&'a self, slot: Slot<'a>) -> Taken<'a, T> {
        let object = NonNull::new(self.objects[slot.index()].0.get()).expect("a reference");
        Taken {
            object,
            _slot: slot,
            _borrowed: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({:?})", self.slots)
    }
}

/// An object of a [`Pool`]; it becomes free when this is dropped.
#[must_use]
pub struct Taken<'a, T> {
    object: NonNull<T>,
    _slot: Slot<'a>,
    _borrowed: PhantomData<&'a mut T>,
}

// SAFETY: as `&mut T`; a slot may be put by any thread.
unsafe impl<T: Send> Send for Taken<'_, T> {}
// SAFETY: as `&mut T`.
unsafe impl<T: Sync> Sync for Taken<'_, T> {}

impl<T> Deref for Taken<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the slot's owner is the only owner of the object.
        unsafe { self.object.as_ref() }
    }
}

impl<T> DerefMut for Taken<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.object.as_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Taken<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
