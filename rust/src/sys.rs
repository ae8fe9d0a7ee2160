// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! The functions of libschedshard that this crate calls. Their contracts are in its headers, such as
//! `schedshard/create.h`. The structures are opaque here.

use std::os::raw::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($name:ident)*) => { $(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )* };
}

opaque!(Plan Sbm CpuCounter Counter SlotSet Wait);

#[repr(C)]
#[derive(Default)]
pub struct CreateOpts {
    pub size: u32, // 0: as declared here
    pub allowed: bool,
    pub follow: bool,
    pub empty: bool,
}

extern "C" {
    pub fn schedshard_plan_here(plan: *mut *const Plan, err: *mut c_void) -> c_int;
    pub fn schedshard_plan_refresh(err: *mut c_void) -> c_int;
    pub fn schedshard_plan_generation() -> u32;
    pub fn schedshard_plan_how() -> *const c_char;
    pub fn schedshard_plan_has_cpu(plan: *const Plan, cpu: u32) -> bool;
    pub fn schedshard_plan_nr_cpus(plan: *const Plan) -> u32;
    pub fn schedshard_nr_allowed(plan: *const Plan) -> u32;
    pub fn schedshard_this_cpu() -> u32;

    pub fn schedshard_sbm_create() -> *mut Sbm;
    pub fn schedshard_sbm_destroy(b: *mut Sbm);
    pub fn schedshard_sbm_set(b: *mut Sbm, cpu: u32);
    pub fn schedshard_sbm_clear(b: *mut Sbm, cpu: u32);
    pub fn schedshard_sbm_test(b: *const Sbm, cpu: u32) -> bool;
    pub fn schedshard_sbm_test_and_set(b: *mut Sbm, cpu: u32) -> bool;
    pub fn schedshard_sbm_test_and_clear(b: *mut Sbm, cpu: u32) -> bool;
    pub fn schedshard_sbm_weight(b: *const Sbm) -> u32;
    pub fn schedshard_sbm_empty(b: *const Sbm) -> bool;
    pub fn schedshard_sbm_first_cpu(b: *const Sbm) -> i64;
    pub fn schedshard_sbm_next_cpu(b: *const Sbm, cpu: u32) -> i64;
    pub fn schedshard_sbm_near_cpu(b: *const Sbm, allowed: *const c_void, cpu: u32) -> i64;

    pub fn schedshard_wait_alloc(plan: *const Plan) -> *mut Wait;
    pub fn schedshard_wait_free(w: *mut Wait);
    pub fn schedshard_wait_close(w: *mut Wait);
    pub fn schedshard_wait_wake_near(w: *mut Wait, cpu: u32);

    pub fn schedshard_slot_set_create_opts(nr: u32, opts: *const CreateOpts) -> *mut SlotSet;
    pub fn schedshard_slot_set_destroy(s: *mut SlotSet);
    pub fn schedshard_slot_set_grow(s: *mut SlotSet, nr: u32) -> bool;
    pub fn schedshard_slot_set_size(s: *const SlotSet) -> u32;
    pub fn schedshard_slot_set_nr_free(s: *const SlotSet) -> u32;
    pub fn schedshard_slot_claim_near(s: *mut SlotSet, cpu: u32) -> i64;
    pub fn schedshard_slot_claim_n(s: *mut SlotSet, cpu: u32, n: u32, slots: *mut u32) -> u32;
    pub fn schedshard_slot_take(s: *mut SlotSet, slot: u32) -> bool;
    pub fn schedshard_slot_claim_limit(s: *mut SlotSet, cpu: u32, limit: u32) -> i64;
    pub fn schedshard_slot_claim_wait(s: *mut SlotSet, w: *mut Wait, cpu: u32, timeout: i64)
        -> i64;
    pub fn schedshard_slot_put_wake(s: *mut SlotSet, w: *mut Wait, slot: u32, cpu: u32);
    pub fn schedshard_slot_put_n_wake(
        s: *mut SlotSet,
        w: *mut Wait,
        cpu: u32,
        n: u32,
        slots: *const u32,
    );

    pub fn schedshard_cpu_counter_create(batch: u32) -> *mut CpuCounter;
    pub fn schedshard_cpu_counter_destroy(c: *mut CpuCounter);
    pub fn schedshard_cpu_counter_add_any(c: *mut CpuCounter, cpu: u32, n: i64);
    pub fn schedshard_cpu_counter_sum(c: *const CpuCounter) -> i64;

    pub fn schedshard_counter_create() -> *mut Counter;
    pub fn schedshard_counter_destroy(c: *mut Counter);
    pub fn schedshard_counter_add(c: *mut Counter, cpu: u32, n: i64);
    pub fn schedshard_counter_sum(c: *const Counter) -> i64;
    pub fn schedshard_counter_more_than(c: *const Counter, cpu: u32, n: i64) -> bool;
}
