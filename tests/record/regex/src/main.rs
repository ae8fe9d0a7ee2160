// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Threads that search short texts with one regular expression, or each with a clone of its own.
//!
//!     regex-pool shared|cloned THREADS SEARCHES
//!
//! The marks of kernel/guest/c2c-mark.h open the window after all threads have searched once, and
//! close it after all have ended.

use std::arch::asm;
use std::sync::{Arc, Barrier};
use std::thread;

use regex::Regex;

const TEXT: &str = "ZQZQZQZQ";

fn open_window() {
    unsafe { asm!("nop dword ptr [rax + 0x53c2c001]") }
}

fn close_window() {
    unsafe { asm!("nop dword ptr [rax + 0x53c2c002]") }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (which, threads, searches): (&str, usize, usize) = match words.as_slice() {
        [_, which, threads, searches] if which == "shared" || which == "cloned" => {
            (which, threads.parse().unwrap(), searches.parse().unwrap())
        }
        _ => panic!("regex-pool shared|cloned THREADS SEARCHES"),
    };
    let one = Arc::new(Regex::new("").unwrap());
    let start = Arc::new(Barrier::new(threads + 1));
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let start = start.clone();
            let mine = if which == "cloned" { Arc::new((*one).clone()) } else { one.clone() };
            thread::spawn(move || {
                assert!(mine.is_match(TEXT));
                start.wait();
                start.wait();
                (0..searches).filter(|_| mine.is_match(TEXT)).count()
            })
        })
        .collect();
    start.wait();
    open_window();
    start.wait();
    let found: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    close_window();
    println!("{found}");
}
