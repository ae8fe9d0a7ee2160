// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

use std::ffi::CStr;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sys;

static FIRST: AtomicPtr<sys::Plan> = AtomicPtr::new(ptr::null_mut());

/// The plan that new objects use. It is never freed.
pub(crate) fn newest() -> io::Result<*const sys::Plan> {
    let mut plan = ptr::null();
    // SAFETY: the library writes the pointer, and takes NULL for the description of an error.
    match unsafe { sys::schedshard_plan_here(&mut plan, ptr::null_mut()) } {
        0 => Ok(plan),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// The first plan that this crate saw: the crate checks numbers by this plan. Each constructor
/// calls this before it makes its object. So an object contains all CPUs of the plan, and may
/// contain more, even if code in C refreshes the plan between the two calls.
pub(crate) fn plan() -> io::Result<*const sys::Plan> {
    let known = FIRST.load(Ordering::Acquire);
    if !known.is_null() {
        return Ok(known);
    }
    let plan = newest()?;
    let (new, none) = (plan as *mut sys::Plan, ptr::null_mut());
    match FIRST.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(plan),
        Err(first) => Ok(first),
    }
}

/// A CPU of this machine, online or offline, as `sched_getcpu()` numbers it. A CPU that was plugged
/// in after the first object was created does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(u32);

impl Cpu {
    /// The CPU with that number, if the machine can have one.
    pub fn new(number: u32) -> Option<Cpu> {
        let plan = plan().ok()?;
        // SAFETY: the plan lives forever, and this function checks the number.
        unsafe { sys::schedshard_plan_has_cpu(plan, number) }.then_some(Cpu(number))
    }

    /// The CPU on which the thread runs. The thread may be on another CPU when this returns; an
    /// operation for the old CPU then costs a cache miss.
    ///
    /// # Panics
    ///
    /// If there is no plan of this machine: `/sys` contradicts itself, or there is no memory. No
    /// object of this crate exists then.
    pub fn current() -> Cpu {
        // Without a plan the library returns 0, which need not be a CPU. Once there is one it stays.
        plan().expect("schedshard: no plan of this machine");
        Cpu::here()
    }

    /// `current()` for a caller that has an object, so that there is a plan.
    pub(crate) fn here() -> Cpu {
        // SAFETY: takes and changes nothing.
        Cpu(unsafe { sys::schedshard_this_cpu() })
    }

    /// All CPUs that this machine can have, by number.
    pub fn all() -> io::Result<impl Iterator<Item = Cpu>> {
        let plan = plan()?;
        // SAFETY: the plan lives forever.
        let end = unsafe { sys::schedshard_plan_nr_cpus(plan) };
        Ok((0..end).filter_map(Cpu::new))
    }

    /// The CPU's number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Converts a number that the library returned; negative: none.
    pub(crate) fn returned(number: i64) -> Option<Cpu> {
        u32::try_from(number).ok().map(Cpu)
    }
}

/// How many workers are useful: the CPUs on which the thread may run now, or fewer if a control
/// group grants less time. Reads a few files.
pub fn allowed() -> io::Result<u32> {
    let plan = plan()?;
    // SAFETY: the plan lives forever.
    Ok(unsafe { sys::schedshard_nr_allowed(plan) })
}

/// Where the library found the caches of this machine, for a log. Empty before anything was created.
pub fn how() -> &'static str {
    // SAFETY: one of a few constant strings.
    unsafe { CStr::from_ptr(sys::schedshard_plan_how()) }
        .to_str()
        .unwrap_or("")
}

/// Checks whether CPUs were added since the machine was read, or are online for the first time.
/// True: there is a better plan. Objects that are created later use it; existing objects do not
/// change.
pub fn refresh() -> io::Result<bool> {
    plan()?;
    // SAFETY: takes NULL for the description of an error.
    match unsafe { sys::schedshard_plan_refresh(ptr::null_mut()) } {
        error @ i32::MIN..=-1 => Err(io::Error::from_raw_os_error(-error)),
        new => Ok(new > 0),
    }
}

/// The number of the plan that new objects use. Each [`refresh`] that makes another plan increments
/// it. 0: nothing has been created yet.
pub fn generation() -> u32 {
    // SAFETY: takes and changes nothing.
    unsafe { sys::schedshard_plan_generation() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Items, Set, Slots, Statistic};

    #[test]
    fn constructors_pin_the_plan() {
        let pinned = || !FIRST.swap(ptr::null_mut(), Ordering::AcqRel).is_null();
        assert!(Set::new().is_ok() && pinned() && Slots::new(1).is_ok() && pinned());
        assert!(Statistic::new().is_ok() && pinned() && Items::new().is_ok() && pinned());
    }
}
