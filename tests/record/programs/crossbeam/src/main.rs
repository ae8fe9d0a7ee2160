// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads that each push and pop items on a deque of crossbeam-deque, and steal from the others'.
//!
//!     steal THREADS ITEMS
//!
//! The marks of kernel/guest/c2c-mark.h open and close the window.
//!
//!     cargo build --release
//!     ./schedshard c2c record --machine epyc-9654-2s --placement scatter --marks -- steal 8 500

use std::arch::asm;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Barrier;
use std::thread;

use crossbeam_deque::{Steal, Stealer, Worker};

fn open_window() {
    unsafe { asm!("nop dword ptr [rax + 0x53c2c001]") }
}

fn close_window() {
    unsafe { asm!("nop dword ptr [rax + 0x53c2c002]") }
}

/// One item of another thread.
fn steal(stealers: &[Stealer<usize>], me: usize) -> Option<usize> {
    for i in 1..stealers.len() {
        if let Steal::Success(item) = stealers[(me + i) % stealers.len()].steal() {
            return Some(item);
        }
    }
    None
}

fn main() {
    let words: Vec<usize> = std::env::args().skip(1).map(|w| w.parse().unwrap()).collect();
    let [threads, items] = words[..] else {
        eprintln!("usage: steal THREADS ITEMS");
        std::process::exit(2)
    };
    let workers: Vec<Worker<usize>> = (0..threads).map(|_| Worker::new_fifo()).collect();
    let stealers: Vec<Stealer<usize>> = workers.iter().map(Worker::stealer).collect();
    let (sum, ready) = (AtomicUsize::new(0), Barrier::new(threads + 1));
    thread::scope(|scope| {
        for (me, worker) in workers.into_iter().enumerate() {
            let (stealers, sum, ready) = (&stealers, &sum, &ready);
            scope.spawn(move || {
                let mut mine = 0;
                for item in 1..=items {
                    worker.push(item);
                }
                ready.wait();
                // One of the others', then one of its own.
                loop {
                    let stolen = steal(stealers, me);
                    let own = worker.pop();
                    if stolen.is_none() && own.is_none() {
                        break;
                    }
                    mine += stolen.unwrap_or(0) + own.unwrap_or(0);
                }
                sum.fetch_add(mine, Ordering::Relaxed);
            });
        }
        open_window();
        ready.wait();
    });
    close_window();
    println!("{}", sum.load(Ordering::Relaxed));
}
