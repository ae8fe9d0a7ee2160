// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads run one executor, spawn short tasks on it, and wait for them.
//!
//! usage: spawn THREADS TASKS [BATCH]: each thread spawns TASKS tasks, BATCH at a time. Prints
//! nanoseconds per task of a thread.

use std::env;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use async_executor::Executor;
use futures_lite::future::block_on;

fn number(at: usize, otherwise: usize) -> usize {
    env::args()
        .nth(at)
        .map_or(otherwise, |text| text.parse().expect("a number"))
}

fn work(executor: &Executor<'_>, tasks: usize, batch: usize, start: &Barrier) -> f64 {
    start.wait();
    let from = Instant::now();
    block_on(executor.run(async {
        for first in (0..tasks).step_by(batch) {
            let spawned: Vec<_> = (first..first + batch)
                .map(|i| executor.spawn(async move { i }))
                .collect();
            for (i, task) in spawned.into_iter().enumerate() {
                assert_eq!(task.await, first + i);
            }
        }
    }));
    from.elapsed().as_nanos() as f64 / tasks as f64
}

fn main() {
    let (threads, tasks, batch) = (number(1, 2), number(2, 10000), number(3, 10));
    let executor = Executor::new();
    let start = Barrier::new(threads);
    let sum: f64 = thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(&executor, tasks, batch, &start)))
            .collect();
        all.into_iter().map(|t| t.join().unwrap()).sum()
    });
    println!("{:.0}", sum / threads as f64);
}
