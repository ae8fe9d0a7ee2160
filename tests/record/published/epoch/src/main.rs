// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads that enter and leave critical sections of crossbeam-epoch, and check in each whether the
//! epoch can advance, as a growing deque does.
//!
//!     pins THREADS OPERATIONS
//!
//! Version 0.9.16 of the crate gave each thread's epoch its own line; 0.9.15 is the version before.

use std::arch::asm;
use std::sync::Barrier;
use std::thread;

use crossbeam_epoch as epoch;

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|w| w.parse().unwrap()).collect();
    let [threads, operations] = words[..] else {
        eprintln!("usage: pins THREADS OPERATIONS");
        std::process::exit(2)
    };
    let ready = Barrier::new(threads as usize + 1);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                drop(epoch::pin());
                ready.wait();
                for i in 0..operations {
                    let guard = epoch::pin();
                    for _ in 0..4 {
                        drop(epoch::pin());
                    }
                    if i % 8 == 0 {
                        guard.flush();
                    }
                }
            });
        }
        unsafe { asm!("nop dword ptr [rax + 0x53c2c001]") };
        ready.wait();
    });
    unsafe { asm!("nop dword ptr [rax + 0x53c2c002]") };
    println!("{}", threads * operations);
}
