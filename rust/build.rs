// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! Links libschedshard from the folder `SCHEDSHARD_LIB_DIR`, or as pkg-config reports it. If
//! `SCHEDSHARD_STATIC` is set, it links the static library.

use std::env;
use std::process::{self, Command};

fn pkg_config(arguments: &[&str]) -> Option<String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let done = Command::new(program).args(arguments).output().ok()?;
    if !done.status.success() {
        return None;
    }
    Some(String::from_utf8_lossy(&done.stdout).trim().to_string())
}

fn main() {
    if env::var_os("DOCS_RS").is_some() {
        return; // the documentation needs no library
    }
    for name in [
        "SCHEDSHARD_LIB_DIR",
        "SCHEDSHARD_STATIC",
        "PKG_CONFIG",
        "PKG_CONFIG_PATH",
    ] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    let version = env!("CARGO_PKG_VERSION");
    let dir = env::var("SCHEDSHARD_LIB_DIR").ok().or_else(|| {
        // before 1.0 a minor version may change the interface
        let mut parts = version.split('.');
        let (major, minor) = (parts.next()?, parts.next()?.parse::<u32>().ok()?);
        let least = format!("schedshard >= {}.{}", major, minor);
        let less = format!("schedshard < {}.{}", major, minor + 1);
        pkg_config(&["--exists", &least, &less])?;
        pkg_config(&["--variable=libdir", "schedshard"])
    });
    match dir {
        Some(dir) => println!("cargo:rustc-link-search=native={}", dir),
        None => {
            eprintln!(
                "schedshard: pkg-config finds no libschedshard {}: install it, or give its folder \
                 in SCHEDSHARD_LIB_DIR",
                version
            );
            process::exit(1);
        }
    }
    let kind = if env::var_os("SCHEDSHARD_STATIC").is_some() {
        "static"
    } else {
        "dylib"
    };
    println!("cargo:rustc-link-lib={}=schedshard", kind);
}
