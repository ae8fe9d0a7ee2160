// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads claim and free slots of wasmtime's pooling allocator, as requests do.
//!
//! usage: pooled THREADS ROUNDS: prints nanoseconds per round of a thread. A round allocates one of
//! 1,024 memories, writes the state of its image as the pool of memories does, and frees it. This
//! file stands for the rest of the crate: `pooling.rs` and `index_allocator.rs` are the crate's.

extern crate self as wasmtime_environ;

use std::env;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use hashbrown::hash_map;

#[allow(dead_code)]
mod pooling;
mod prelude {
    pub use wasmtime_internal_core::{alloc::TryCollect, error::OutOfMemory};
}
mod runtime {
    pub mod vm {
        pub type CompiledModuleId = u64;
    }
}
pub type DefinedMemoryIndex = u32;

use pooling::index_allocator::{MemoryInModule, ModuleAffinityIndexAllocator};

const SLOTS: u32 = 1024;

type Images = Vec<Mutex<[u64; 11]>>; // of the size of the crate's

fn rounds(pool: &ModuleAffinityIndexAllocator, images: &Images, module: MemoryInModule, n: usize) {
    for _ in 0..n {
        let slot = pool.alloc(Some(module)).expect("a free slot");
        for _take_and_return in 0..2 {
            let mut image = images[slot.index()].try_lock().expect("one owner");
            image.iter_mut().for_each(|word| *word += 1);
        }
        pool.free_many([(slot, 0)]);
    }
}

fn main() {
    let number = |at| env::args().nth(at).and_then(|text| text.parse().ok());
    let (Some(threads), Some(each)) = (number(1), number(2)) else {
        eprintln!("usage: pooled THREADS ROUNDS");
        std::process::exit(2);
    };
    let pool = ModuleAffinityIndexAllocator::new(SLOTS, 100).expect("memory");
    let images: Images = (0..SLOTS).map(|_| Mutex::default()).collect();
    let module = MemoryInModule(1, 0);
    let start = Barrier::new(threads);
    let work = || {
        rounds(&pool, &images, module, 20);
        start.wait();
        let from = Instant::now();
        rounds(&pool, &images, module, each);
        from.elapsed().as_nanos() as f64 / each as f64
    };
    let sum: f64 = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let count: u64 = images.iter().map(|image| image.lock().unwrap()[0]).sum();
    assert_eq!(count, (threads * (each + 20) * 2) as u64);
    assert!(pool.is_empty());
    println!("{:.1}", sum / threads as f64);
}
