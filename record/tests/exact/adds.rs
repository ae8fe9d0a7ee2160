// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Eight threads add to an atomic number and, under a lock, to another; a channel counts threads.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

static SUM: AtomicU64 = AtomicU64::new(0);

fn main() {
    let total = Arc::new(Mutex::new(0u64));
    let (send, receive) = mpsc::channel();
    let all: Vec<_> = (0..8)
        .map(|_| {
            let (total, send) = (total.clone(), send.clone());
            thread::spawn(move || {
                for _ in 0..500 {
                    SUM.fetch_add(1, Ordering::Relaxed);
                    *total.lock().unwrap() += 1;
                }
                send.send(1u64).unwrap();
            })
        })
        .collect();
    drop(send);
    let ended: u64 = receive.iter().sum();
    for thread in all {
        thread.join().unwrap();
    }
    println!("{} {} {}", SUM.load(Ordering::Relaxed), total.lock().unwrap(), ended);
}
