//! Every scheme against a second one, written from its paper alone (`references/README.md`). A
//! program of its own, so that whoever writes a reference compiles little. What a buffer says of its
//! memory is held to what it takes here, too: here allocations are counted.

#[path = "references/blas_idle.rs"]
mod blas_idle;
#[path = "references/buffers_agree.rs"]
mod buffers_agree;
#[path = "references/chips/mod.rs"]
mod chips;
#[path = "references/drives_agree.rs"]
mod drives_agree;
#[path = "references/hints_agree.rs"]
mod hints_agree;
mod memory;
#[path = "references/one_die.rs"]
mod one_die;
#[path = "references/mod.rs"]
mod references;
mod support;
