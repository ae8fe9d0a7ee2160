// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Measures the nanoseconds per claim and put of pools of 1,024 numbers, with 1 and with 2 threads,
//! as the median of many turns. The pools take turns, so that a disturbance hits all of them.

use std::sync::{Barrier, Mutex};
use std::time::Instant;

use crossbeam_queue::ArrayQueue;
use schedshard::Slots;
use sharded_slab::Slab;

const NUMBERS: usize = 1024;
const TURNS: usize = 31;
const OPS: u32 = 20_000;

/// Times a turn of `threads` threads that do `op`.
fn turn(threads: usize, op: &(dyn Fn() + Sync)) -> f64 {
    let begin = Barrier::new(threads);
    let work = || {
        op();
        begin.wait();
        let start = Instant::now();
        (0..OPS).for_each(|_| op());
        start.elapsed().as_nanos() as f64 / f64::from(OPS)
    };
    let sum: f64 = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    sum / threads as f64
}

fn main() {
    let slots = Slots::new(NUMBERS as u32).expect("slots");
    let locked = Mutex::new((0..NUMBERS).collect::<Vec<usize>>());
    let queue = ArrayQueue::new(NUMBERS);
    (0..NUMBERS).for_each(|number| queue.push(number).unwrap());
    let slab = Slab::new();
    let claim_slot = || drop(slots.claim().unwrap());
    let claim_locked = || {
        let number = locked.lock().unwrap().pop().unwrap();
        locked.lock().unwrap().push(number);
    };
    let claim_queue = || queue.push(queue.pop().unwrap()).unwrap();
    let claim_slab = || assert!(slab.remove(slab.insert(0usize).unwrap()));
    let pools: [(&str, &(dyn Fn() + Sync)); 4] = [
        ("schedshard::Slots", &claim_slot),
        ("Mutex<Vec>", &claim_locked),
        ("crossbeam ArrayQueue", &claim_queue),
        ("sharded-slab", &claim_slab),
    ];
    for threads in 1..3 {
        let mut spent = vec![Vec::new(); pools.len()];
        for _ in 0..TURNS {
            for (all, (_, op)) in spent.iter_mut().zip(&pools) {
                all.push(turn(threads, *op));
            }
        }
        for (all, (name, _)) in spent.iter_mut().zip(&pools) {
            all.sort_by(f64::total_cmp);
            println!("{threads} {name} {:.1}", all[TURNS / 2]);
        }
    }
}
