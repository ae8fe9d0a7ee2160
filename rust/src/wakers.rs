// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Tasks that wait for slots. A put wakes the task that has waited longest. The task then claims,
//! and keeps its place if it finds nothing.
//!
//! Why no wake-up is lost: a task registers, has a full barrier, and claims again. A put makes the
//! slot free, has a full barrier, and looks whether a task is registered. So the put sees the task,
//! or the task sees the slot. A task that leaves after it was woken wakes the next one.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{fence, AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use crate::{Slot, Slots};

#[derive(Default)]
pub(crate) struct Wakers {
    closed: AtomicBool,
    count: AtomicUsize,
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Waker>>, // by turn
}

impl Wakers {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, Waker>> {
        self.waiting.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Called after a slot has become free. A full barrier must come between that and this call.
    /// The library's waking puts and its growing end with one; another one here would double a
    /// put's time.
    pub(crate) fn wake_one(&self) {
        if self.count.load(Relaxed) == 0 {
            return;
        }
        if let Some(waker) = self.remove(None) {
            waker.wake();
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, SeqCst);
        while self.count.load(SeqCst) > 0 {
            self.wake_one();
        }
    }

    /// Removes the task with this turn, or the first task.
    fn remove(&self, turn: Option<u64>) -> Option<Waker> {
        let mut waiting = self.waiting();
        let turn = turn.or_else(|| waiting.keys().next().copied())?;
        let removed = waiting.remove(&turn);
        self.count.store(waiting.len(), Relaxed);
        removed
    }
}

/// A future that waits for a slot: see [`Slots::claim_async`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Claim<'a> {
    pub(crate) slots: &'a Slots,
    pub(crate) turn: Option<u64>,
}

impl<'a> Claim<'a> {
    fn leave(&mut self) {
        let wakers = &self.slots.wakers;
        let turn = self.turn.take();
        if turn.is_some() && wakers.remove(turn).is_none() {
            fence(SeqCst);
            wakers.wake_one(); // it was woken, maybe for another slot than it got
        }
    }

    fn look(&mut self) -> Option<Option<Slot<'a>>> {
        let closed = self.slots.wakers.closed.load(SeqCst);
        let got = if closed { None } else { self.slots.claim() };
        if closed || got.is_some() {
            self.leave();
            return Some(got);
        }
        None
    }
}

impl<'a> Future for Claim<'a> {
    type Output = Option<Slot<'a>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(done) = self.look() {
            return Poll::Ready(done);
        }
        let wakers = &self.slots.wakers;
        let turn = self
            .turn
            .unwrap_or_else(|| wakers.next.fetch_add(1, Relaxed));
        let mut waiting = wakers.waiting();
        waiting.insert(turn, context.waker().clone());
        wakers.count.store(waiting.len(), Relaxed);
        drop(waiting);
        self.turn = Some(turn);
        fence(SeqCst);
        self.look().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
