// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Tests what the wrapper guarantees, with threads.

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

use schedshard::{allowed, generation, how, refresh};
use schedshard::{Cpu, Items, Kept, Pool, Set, Slots, Statistic};

const THREADS: usize = 4;

/// Cpu::new() refuses a number that this machine cannot have.
#[test]
fn numbers_are_checked() {
    let all: Vec<Cpu> = Cpu::all().unwrap().collect();
    assert!(all.contains(&Cpu::current()));
    assert!(Cpu::new(u32::MAX).is_none());
    assert!(Cpu::new(all[all.len() - 1].number() + 1).is_none());
    assert!((1..=all.len()).contains(&(allowed().unwrap() as usize)));
    assert!(!how().is_empty());
}

/// A refresh changes neither objects nor numbers, even if CPUs come or go.
#[test]
fn the_plan_may_be_made_anew() {
    let set = Set::new().unwrap();
    let (before, here) = (generation(), Cpu::current());
    assert!(before >= 1);
    set.insert(here);
    let new = refresh().unwrap();
    assert_eq!(generation() > before, new);
    assert!(set.contains(here) && Cpu::new(here.number()) == Some(here));
}

#[test]
fn a_set_is_a_set() {
    let set = Set::new().unwrap();
    let all: Vec<Cpu> = Cpu::all().unwrap().collect();
    assert!(set.is_empty() && set.near(all[0]).is_none());
    for cpu in &all {
        assert!(set.insert(*cpu) && !set.insert(*cpu));
    }
    assert_eq!(
        set.iter().collect::<HashSet<_>>(),
        all.iter().copied().collect()
    );
    assert_eq!((set.len(), set.near(all[0])), (all.len(), Some(all[0])));
    set.clear(all[0]);
    assert!(!set.contains(all[0]) && !set.remove(all[0]));
    set.set(all[0]);
    assert!(set.remove(all[0]));
}

#[test]
fn slots_are_exclusive() {
    exclusive(&Slots::new(3).unwrap());
    exclusive(&Slots::following(3).unwrap());
    assert!(Slots::new(0).is_err() && Slots::following(0).is_err());
    assert!(Slots::following((1 << 20) + 1).is_err());
}

/// Callers with a limit hold no more than that, also in a set that has grown.
#[test]
fn limits_leave_slots() {
    for slots in [Slots::new(8).unwrap(), Slots::following(8).unwrap()] {
        slots.grow_from(8, 8).unwrap();
        let held: Vec<_> = std::iter::from_fn(|| slots.claim_limit(5)).collect();
        assert_eq!((held.len(), slots.free()), (5, 11));
        assert!(slots.claim().is_some());
    }
}

/// No two threads hold one slot, and none is lost.
fn exclusive(slots: &Slots) {
    let taken: Vec<AtomicBool> = (0..3).map(|_| AtomicBool::new(false)).collect();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let slot = slots.claim_wait(None).unwrap();
                    assert!(!taken[slot.index()].swap(true, Ordering::Relaxed));
                    taken[slot.index()].store(false, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!((slots.free(), slots.count()), (3, 3));
    let held: Vec<_> = (0..3).map(|_| slots.claim().unwrap()).collect();
    assert!(slots.claim().is_none());
    assert!(slots.claim_wait(Some(Duration::from_millis(1))).is_none());
    drop(held);
    assert_eq!(slots.free(), 3);
}

/// A waiter gets what another thread puts, and sees what that thread wrote before.
#[test]
fn a_put_wakes() {
    let slots = Slots::new(2).unwrap();
    let word = AtomicU32::new(0);
    let both = slots.claim_n(3);
    assert_eq!((both.len(), slots.free()), (2, 0));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let _got = slots.claim_wait(None).unwrap();
            assert_eq!(word.load(Ordering::Relaxed), 7);
        });
        word.store(7, Ordering::Relaxed);
        slots.put_n(both);
        waiter.join().unwrap();
    });
    assert_eq!(slots.free(), 2);
}

#[test]
fn nothing_is_lost() {
    let (statistic, items) = (Statistic::new().unwrap(), Items::new().unwrap());
    let here = Cpu::current();
    assert!(!items.any());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..1000 {
                    statistic.add(2);
                    items.add(here);
                }
            });
        }
    });
    assert_eq!((statistic.sum(), items.sum()), (8000, 4000));
    items.remove(here);
    assert!(items.any());
}

/// A set of slots grows during claims, and any thread may put a number that was kept.
#[test]
fn slots_grow_and_are_kept() {
    let slots = Slots::new(4).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..200 {
                    let known = slots.count();
                    match slots.claim() {
                        Some(slot) => {
                            let kept = slot.keep();
                            thread::yield_now();
                            slots.put(kept);
                        }
                        None => slots.grow_from(known, known).unwrap(),
                    }
                }
            });
        }
    });
    assert_eq!(slots.count(), slots.free());
    let before = slots.count();
    slots.grow_from(before, 3).unwrap();
    slots.grow_from(before, 3).unwrap(); // others were quicker
    let mut kept: Vec<Kept> = (0..before + 3)
        .map(|_| slots.claim().unwrap().keep())
        .collect();
    assert!(slots.claim().is_none() && slots.free() == 0);
    kept.sort_unstable_by_key(Kept::index);
    assert!(kept.iter().enumerate().all(|(i, slot)| i == slot.index()));
    kept.into_iter().for_each(|slot| slots.put(slot));
    assert_eq!(slots.free(), before + 3);
}

#[test]
#[should_panic(expected = "a slot of another set")]
fn a_slot_of_another_set_is_not_put() {
    let (one, other) = (Slots::new(4).unwrap(), Slots::new(4).unwrap());
    other.put(one.claim().unwrap().keep());
}

#[test]
fn certain_slots_and_several_are_claimed() {
    for slots in [Slots::new(5).unwrap(), Slots::following(5).unwrap()] {
        let two = slots.take(2).unwrap();
        assert!(slots.take(2).is_none() && slots.take(5).is_none());
        let rest = slots.claim_n(9);
        assert_eq!((two.index(), rest.len(), slots.free()), (2, 4, 0));
        assert!(rest.iter().all(|slot| slot.index() != 2));
        drop(two);
        assert_eq!(
            format!("{:?} {:?}", slots, slots.take(2)),
            "Slots(0 of 5 free) Some(Slot(2))"
        );
    }
}

/// The objects of a pool have one owner at a time, who sees what the last one wrote.
#[test]
fn objects_are_owned() {
    let pool = Pool::new([0u64; 3]).unwrap();
    assert!(Pool::<u8>::new([]).is_err());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..2000).for_each(|_| *pool.take_wait(None).unwrap() += 1));
        }
    });
    let all: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    assert_eq!(
        all.iter().map(|object| **object).sum::<u64>(),
        THREADS as u64 * 2000
    );
    assert!(pool.take().is_none());
}

#[test]
fn closing_ends_waits() {
    let slots = Slots::new(1).unwrap();
    let _held = slots.claim();
    thread::scope(|scope| {
        let waits = scope.spawn(|| slots.claim_wait(None).is_none());
        let task = scope.spawn(|| block_on(slots.claim_async()).is_none());
        slots.close();
        assert!(waits.join().unwrap() && task.join().unwrap());
    });
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (Box::pin(future), Arc::new(Unpark(thread::current())).into());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park();
    }
}

/// More tasks than slots, some of which give up: a lost wake-up hangs.
#[test]
fn tasks_wait() {
    let (slots, used) = (
        Slots::new(2).unwrap(),
        [AtomicU32::new(0), AtomicU32::new(0)],
    );
    thread::scope(|scope| {
        for t in 0..THREADS {
            let (slots, used) = (&slots, &used);
            scope.spawn(move || {
                for i in 0..2000 {
                    let slot = block_on(slots.claim_async()).unwrap();
                    assert_eq!(used[slot.index()].fetch_add(1, Ordering::Relaxed), 0);
                    if (i + t) % 4 == 0 {
                        thread::yield_now();
                    }
                    let waker = Arc::new(Unpark(thread::current())).into();
                    let mut other = Box::pin(slots.claim_async());
                    let second = other.as_mut().poll(&mut Context::from_waker(&waker));
                    drop((second, other)); // it gives up, with or without a second slot
                    used[slot.index()].store(0, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(slots.free(), 2);
}
