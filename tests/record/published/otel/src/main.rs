// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads that add to a counter of OpenTelemetry, all with the same attribute.
//!
//!     adds THREADS OPERATIONS [apart]
//!
//! One provider of metrics for all threads, or, as opentelemetry-rust's pull request 2659 does in
//! its stress test, one for each thread.

use std::arch::asm;
use std::sync::Barrier;
use std::thread;

use opentelemetry::{metrics::MeterProvider, KeyValue};
use opentelemetry_sdk::metrics::{ManualReader, SdkMeterProvider};

fn provider() -> SdkMeterProvider {
    SdkMeterProvider::builder().with_reader(ManualReader::builder().build()).build()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (Some(threads), Some(operations)) = (
        words.first().and_then(|w| w.parse::<u64>().ok()),
        words.get(1).and_then(|w| w.parse::<u64>().ok()),
    ) else {
        eprintln!("usage: adds THREADS OPERATIONS [apart]");
        std::process::exit(2)
    };
    let apart = words.get(2).is_some_and(|w| w == "apart");
    let shared = provider();
    let ready = Barrier::new(threads as usize + 1);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let provider = if apart { provider() } else { shared.clone() };
                let counter = provider.meter("adds").u64_counter("adds").build();
                let attributes = [KeyValue::new("route", "/")];

                counter.add(1, &attributes);
                ready.wait();
                for _ in 0..operations {
                    counter.add(1, &attributes);
                }
            });
        }
        unsafe { asm!("nop dword ptr [rax + 0x53c2c001]") };
        ready.wait();
    });
    unsafe { asm!("nop dword ptr [rax + 0x53c2c002]") };
    println!("{}", threads * operations);
}
