// A plugin in Rust, without crates: pods go only to nodes whose name has the suffix that their label "suffix" asks for, and
// rather to nodes with long names.
//
//     rustc -O --edition 2021 --crate-type cdylib -o rust.so plugin.rs
//
// What berth/plugin.h says in C is said here again, as far as this plugin needs it: tables only grow at their end, and a
// plugin may know a beginning of them. The sizes in berth_module tell berth how much that is.
use std::ffi::{c_char, c_void};
use std::mem::size_of;
use std::ptr::{addr_of_mut, null, null_mut};
use std::slice;

const ABI: u32 = 1;
const SUCCESS: u32 = 0;
const UNRESOLVABLE: u32 = 3;

#[repr(C)]
#[derive(Clone, Copy)]
struct Str {
    ptr: *const u8,
    len: u32,
}

impl Str {
    fn of(text: &str) -> Str {
        Str { ptr: text.as_ptr(), len: text.len() as u32 }
    }
    /// None where there is nothing. Names and labels are ASCII.
    fn text(&self) -> Option<&str> {
        if self.ptr.is_null() {
            return None;
        }
        std::str::from_utf8(unsafe { slice::from_raw_parts(self.ptr, self.len as usize) }).ok()
    }
}

#[repr(C)]
struct Status {
    code: u32,
    len: u32,
    reasons: *const Str,
    plugin: *const c_void,
}

const OK: Status = Status { code: SUCCESS, len: 0, reasons: null(), plugin: null() };

#[repr(C)]
#[derive(Clone, Copy)]
struct NodeView {
    cluster: *const c_void,
    row: u32,
    overlay: *const c_void,
}

type Cycle = *mut c_void;
type Slot = Option<extern "C" fn()>; // one that is not used here

/// struct berth_host, up to the last function that is called.
#[repr(C)]
struct Host {
    abi: u32,
    size: u32,
    cycle_pod: extern "C" fn(Cycle) -> *const c_void,
    cycle_info_to_state: [Slot; 4],
    cycle_arena: extern "C" fn(Cycle) -> *mut c_void,
    cycle_cancelled_alloc: [Slot; 2],
    reason: extern "C" fn(*mut c_void, u32, Str) -> Status,
    narrow_to_node_row: [Slot; 7],
    node_name: extern "C" fn(NodeView) -> Str,
    node_label_to_object_uid: [Slot; 14],
    object_label: extern "C" fn(*const c_void, *const c_char) -> Str,
}

/// struct berth_plugin, up to the last slot that is filled.
#[repr(C)]
struct Plugin {
    name: *const c_char,
    doc: *const c_char,
    args: *const c_void,
    args_size: usize,
    args_defaults: *const c_void,
    init_to_remove_pod: [Slot; 8],
    filter: Option<extern "C" fn(Cycle, NodeView) -> Status>,
    post_filter_pre_score: [Slot; 2],
    score: Option<extern "C" fn(Cycle, NodeView, *mut i64) -> Status>,
}

#[repr(C)]
pub struct Module {
    abi: u32,
    size: u32,
    plugin_size: u32,
    host_size: u32,
    host: *mut *const Host,
    plugins: *const &'static Plugin,
    plugins_len: u32,
}

unsafe impl Sync for Plugin {}
unsafe impl Sync for Module {}

static mut HOST: *const Host = null_mut();

fn host() -> &'static Host {
    unsafe { &*HOST }
}

extern "C" fn filter(cycle: Cycle, node: NodeView) -> Status {
    let wanted = (host().object_label)((host().cycle_pod)(cycle), c"suffix".as_ptr());
    let name = (host().node_name)(node);
    match (wanted.text(), name.text()) {
        (Some(suffix), Some(name)) if !name.ends_with(suffix) => {
            let reason = format!("node(s) did not end in {suffix}");
            (host().reason)((host().cycle_arena)(cycle), UNRESOLVABLE, Str::of(&reason)) // which copies it
        }
        _ => OK,
    }
}

extern "C" fn score(_cycle: Cycle, node: NodeView, ret: *mut i64) -> Status {
    let len = (host().node_name)(node).len as i64;
    unsafe { *ret = (10 * len).min(100) };
    OK
}

static PLUGIN: Plugin = Plugin {
    name: c"Rust".as_ptr(),
    doc: c"Nodes by the end of their name.".as_ptr(),
    args: null(),
    args_size: 0,
    args_defaults: null(),
    init_to_remove_pod: [None; 8],
    filter: Some(filter),
    post_filter_pre_score: [None; 2],
    score: Some(score),
};
static PLUGINS: [&Plugin; 1] = [&PLUGIN];

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static berth_module: Module = Module {
    abi: ABI,
    size: size_of::<Module>() as u32,
    plugin_size: size_of::<Plugin>() as u32,
    host_size: size_of::<Host>() as u32,
    host: addr_of_mut!(HOST),
    plugins: PLUGINS.as_ptr(),
    plugins_len: 1,
};
