// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads that each look up and change their own keys in one map of crate dashmap.
//!
//!     shards THREADS OPERATIONS
//!
//! Version 6.1.0 of the crate gave each shard a line. It is compared with 5.5.3, which differs in
//! other ways as well.

use std::arch::asm;
use std::sync::Barrier;
use std::thread;

use dashmap::DashMap;

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|w| w.parse().unwrap()).collect();
    let [threads, operations] = words[..] else {
        eprintln!("usage: shards THREADS OPERATIONS");
        std::process::exit(2)
    };
    let map: DashMap<u64, u64> = DashMap::with_shard_amount(64);
    for key in 0..threads * 64 {
        map.insert(key, 0);
    }
    let ready = Barrier::new(threads as usize + 1);
    thread::scope(|scope| {
        for me in 0..threads {
            let (map, ready) = (&map, &ready);
            scope.spawn(move || {
                ready.wait();
                for i in 0..operations {
                    let key = me * 64 + i % 64;
                    *map.get_mut(&key).unwrap() += 1;
                    assert!(*map.get(&key).unwrap() > 0);
                }
            });
        }
        unsafe { asm!("nop dword ptr [rax + 0x53c2c001]") };
        ready.wait();
    });
    unsafe { asm!("nop dword ptr [rax + 0x53c2c002]") };
    println!("{}", map.iter().map(|each| *each).sum::<u64>());
}
