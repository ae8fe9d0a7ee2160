// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Measures nanoseconds per operation of this crate and of others, on this host: `cargo run
//! --release -- 1 2` with the numbers of threads. Each figure is the median of several turns, which
//! alternate.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Barrier, RwLock};
use std::time::{Duration, Instant};
use std::{env, thread};

use crossbeam_utils::sync::ShardedLock;
use crossbeam_utils::CachePadded;
use sbitmap::Sbitmap;
use schedshard::{Cpu, Pool, Slots, Statistic};

const TURN: Duration = Duration::from_millis(40);
const TURNS: usize = 15;
const BATCH: usize = 64;
const OBJECTS: usize = 64;

/// Runs operations on each thread for a turn; returns the nanoseconds per operation of a thread.
fn turn(threads: usize, operation: &(dyn Fn(usize, &mut usize) + Sync)) -> f64 {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(threads + 1));
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|number| {
                let (stop, start) = (&stop, &start);
                scope.spawn(move || {
                    let (mut hint, mut done) = (number, 0u64);
                    start.wait();
                    let begun = Instant::now();
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..BATCH {
                            operation(number, &mut hint);
                        }
                        done += BATCH as u64;
                    }
                    done as f64 / begun.elapsed().as_nanos() as f64
                })
            })
            .collect();
        start.wait();
        thread::sleep(TURN);
        stop.store(true, Ordering::Relaxed);
        let rate: f64 = running.into_iter().map(|one| one.join().unwrap()).sum();
        threads as f64 / rate
    })
}

fn main() -> std::io::Result<()> {
    let mut counts: Vec<usize> = env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    if counts.is_empty() {
        counts = vec![1, schedshard::allowed()? as usize];
    }
    let (pool, slots) = (Pool::new()?, Slots::new(OBJECTS as u32)?);
    Cpu::all()?.for_each(|cpu| pool.put(cpu));
    let map = Sbitmap::new(OBJECTS, None, false);
    let (lock, sharded) = (RwLock::new(0u64), ShardedLock::new(0u64));
    let (statistic, word) = (Statistic::new()?, CachePadded::new(AtomicI64::new(0)));

    type Row<'a> = (&'a str, Box<dyn Fn(usize, &mut usize) + Sync + 'a>);
    let rows: Vec<Row> = vec![
        ("Pool::claim and drop", Box::new(|_, _| drop(pool.claim()))),
        (
            "Slots::claim and drop",
            Box::new(|_, _| drop(slots.claim())),
        ),
        (
            "sbitmap 0.1, get and put",
            Box::new(|_, hint| {
                if let Some(bit) = map.get(hint) {
                    map.put(bit, hint);
                }
            }),
        ),
        ("Statistic::add", Box::new(|_, _| statistic.add(1))),
        (
            "AtomicI64 alone on its line",
            Box::new(|_, _| {
                word.fetch_add(1, Ordering::Relaxed);
            }),
        ),
        (
            "std::sync::RwLock, read",
            Box::new(|_, _| {
                black_box(*lock.read().unwrap());
            }),
        ),
        (
            "crossbeam ShardedLock, read",
            Box::new(|_, _| {
                black_box(*sharded.read().unwrap());
            }),
        ),
    ];
    for threads in counts {
        println!("{threads} threads, ns per operation: median, lowest, highest of {TURNS} turns");
        let mut took = vec![Vec::new(); rows.len()];
        for _ in 0..TURNS {
            for (row, found) in rows.iter().zip(&mut took) {
                found.push(turn(threads, &*row.1));
            }
        }
        for (row, found) in rows.iter().zip(&mut took) {
            found.sort_by(f64::total_cmp);
            let (low, high) = (found[0], found[TURNS - 1]);
            println!(
                "  {:28} {:8.1} {:8.1} {:8.1}",
                row.0,
                found[TURNS / 2],
                low,
                high
            );
        }
    }
    Ok(())
}
