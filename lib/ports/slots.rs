// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
//! The numbers of wasmtime's pooling allocator, as slots of schedshard: in place of the crate's
//! `index_allocator.rs`, with the operations that the pools of memories, tables and stacks use.
//!
//! A slot remembers its last module, so that the next user need not map that module's memory again.
//! Only a slot's holder, and the readers of statistics, take the lock of its state. There is no
//! limit for warm slots that are unused: a claim takes the nearest slot, thus often a warm one.

use std::ops::Deref;
use std::sync::Mutex;

use schedshard::{Kept, Slot, Slots};
use wasmtime_environ::DefinedMemoryIndex;

use crate::prelude::*;
use crate::runtime::vm::CompiledModuleId;

const LOOK_AT: usize = 4; // free slots, for one whose last module is the asked one

#[derive(Hash, Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId(pub u32);

impl SlotId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct MemoryInModule(pub CompiledModuleId, pub DefinedMemoryIndex);

#[derive(Debug, Default)]
struct State {
    held: Option<Kept>,
    last: Option<MemoryInModule>,
    resident: Option<usize>, // bytes, of a free slot that was in use before
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Apart(Mutex<State>);

#[derive(Debug)]
pub struct ModuleAffinityIndexAllocator {
    slots: Option<Slots>, // None: there are no slots
    states: Box<[Apart]>,
}

impl ModuleAffinityIndexAllocator {
    pub fn new(capacity: u32, _max_unused_warm_slots: u32) -> Result<Self, OutOfMemory> {
        let made = (capacity > 0).then(|| Slots::new(capacity)).transpose();
        let slots = made.map_err(|_| OutOfMemory::new(capacity as usize))?;
        let states = (0..capacity).map(|_| Apart::default()).try_collect()?;
        Ok(Self { slots, states })
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }

    pub fn is_empty(&self) -> bool {
        let slots = self.slots.iter();
        slots.map(|s| s.count() - s.free()).all(|used| used == 0)
    }

    pub fn alloc(&self, wanted: Option<MemoryInModule>) -> Option<SlotId> {
        let slots = self.slots.as_ref()?;
        let fits = |slot: &Slot| {
            let last = self.states[slot.index()].0.lock().unwrap().last;
            last.is_none() || last == wanted
        };
        let mut best = slots.claim()?;
        if wanted.is_some() && !fits(&best) {
            // Those that do not fit become free again at the end.
            let others: Vec<_> = (1..LOOK_AT).map_while(|_| slots.claim()).collect();
            best = others.into_iter().find(fits).unwrap_or(best);
        }
        Some(self.keep(best, wanted))
    }

    /// Looks at all slots; only the end of a module calls this.
    pub fn alloc_affine_and_clear_affinity(
        &self,
        module_id: CompiledModuleId,
        memory_index: DefinedMemoryIndex,
    ) -> Option<SlotId> {
        let wanted = Some(MemoryInModule(module_id, memory_index));
        let is = |state: &Apart| state.0.lock().unwrap().last == wanted;
        let found = self.states.iter().enumerate().find_map(|(index, state)| {
            let slot = is(state).then(|| self.slots.as_ref()?.take(index));
            slot.flatten().filter(|_| is(state))
        })?;
        Some(self.keep(found, None))
    }

    fn keep(&self, slot: Slot<'_>, last: Option<MemoryInModule>) -> SlotId {
        let index = slot.index();
        let held = Some(slot.keep());
        let mut state = self.states[index].0.lock().unwrap();
        (state.held, state.last, state.resident) = (held, last, None);
        SlotId(index as u32)
    }

    pub(crate) fn free(&self, index: SlotId, bytes_resident: usize) {
        let mut state = self.states[index.index()].0.lock().unwrap();
        state.resident = Some(bytes_resident);
        let held = state.held.take().expect("a slot in use");
        drop(state);
        self.slots.as_ref().expect("slots").put(held);
    }

    pub(crate) fn free_many(&self, items: impl IntoIterator<Item = (SlotId, usize)>) {
        for (index, bytes) in items {
            self.free(index, bytes);
        }
    }

    fn warm(&self) -> impl Iterator<Item = usize> + '_ {
        let states = self.states.iter();
        states.filter_map(|state| state.0.lock().unwrap().resident)
    }

    pub fn unused_warm_slots(&self) -> u32 {
        self.warm().count() as u32
    }

    pub fn unused_bytes_resident(&self) -> usize {
        self.warm().sum()
    }
}

#[derive(Debug)]
pub struct SimpleIndexAllocator(ModuleAffinityIndexAllocator);

impl SimpleIndexAllocator {
    pub fn new(capacity: u32) -> Result<Self, OutOfMemory> {
        ModuleAffinityIndexAllocator::new(capacity, 0).map(Self)
    }

    pub fn alloc(&self) -> Option<SlotId> {
        self.0.alloc(None)
    }
}

impl Deref for SimpleIndexAllocator {
    type Target = ModuleAffinityIndexAllocator;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
