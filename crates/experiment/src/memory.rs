//! Memory in large pages, where the system has them.
//!
//! Runs that share a filled drive start from copies of it: hundreds of MB, written at once. In pages
//! of 4 KiB the system takes longer to hand them out one by one than the copy itself takes. What
//! has to be zero at first mostly keeps small pages: much of it is never touched.

#![expect(unsafe_code, reason = "an allocator cannot be written, nor the system be asked, without")]

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which asks for large pages behind much memory that need not be zero: its
/// owner mostly fills it. For `#[global_allocator]`.
#[derive(Debug)]
pub struct LargePages;

impl LargePages {
    /// Bytes of an allocation that is worth asking for; a large page is 2 MiB on most systems.
    const WORTH: usize = 8 << 20;
    /// Where advice may begin. A system whose pages are larger refuses it.
    #[cfg(target_os = "linux")]
    const PAGE: usize = 4096;
}

// SAFETY: each call is the system allocator's own, with the same arguments and the same result; the
// advice changes nothing that a program can see of its memory.
unsafe impl GlobalAlloc for LargePages {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what the system's allocator asks for.
        let memory = unsafe { System.alloc(layout) };
        if layout.size() >= Self::WORTH && !memory.is_null() {
            advise(memory, layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Asks for large pages behind an allocation of so many bytes, from the beginning of its first page:
/// with all of its mapping it can still be moved when it grows. A system that has no large pages
/// says so, and nothing is lost.
#[cfg(target_os = "linux")]
#[cold]
fn advise(memory: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};

    let before = memory.addr() % LargePages::PAGE;
    let first = memory.wrapping_sub(before).cast();
    // SAFETY: advice on how large pages should be changes nothing that they hold, whosever they are.
    let _ = unsafe { madvise(first, bytes + before, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: Layout = match Layout::from_size_align(LargePages::WORTH * 8 + 12, 4) {
        Ok(layout) => layout,
        Err(_) => panic!(),
    };
    const SMALL: Layout = Layout::new::<[u64; 3]>();

    /// What the system says of the memory in whose middle an address lies: whether large pages have
    /// been asked for. `None` where it says nothing.
    fn is_advised(memory: *const u8) -> Option<bool> {
        let at = memory as usize + LARGE.size() / 2;
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        for line in smaps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((Some(from), Some(to))) = range.map(|(a, b)| (number(a), number(b))) {
                inside = (from..to).contains(&at);
            } else if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return Some(flags.split_whitespace().any(|flag| flag == "hg"));
            }
        }
        None
    }

    #[test]
    fn what_is_filled_has_large_pages_and_what_is_zero_has_not() {
        // SAFETY: what is read has been written, or is zero by contract; each is given back once.
        unsafe {
            let filled = LargePages.alloc(LARGE);
            let zero = LargePages.alloc_zeroed(LARGE);
            assert!(!filled.is_null() && !zero.is_null());
            filled.write_bytes(7, LARGE.size());
            assert_eq!(filled.add(LARGE.size() - 1).read(), 7);
            assert_eq!(zero.add(LARGE.size() - 1).read(), 0);
            // Where the system has no large pages at all, nothing can be asked for; where its
            // allocator has been told how to use them, it decides.
            let told = std::env::var_os("GLIBC_TUNABLES").is_some();
            if !told && std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
                assert_ne!(is_advised(filled), Some(false));
                assert_ne!(is_advised(zero), Some(true));
            }
            LargePages.dealloc(filled, LARGE);
            LargePages.dealloc(zero, LARGE);
        }
    }

    #[test]
    fn small_and_growing_memory_is_the_systems() {
        // SAFETY: as above; what grows keeps what it held.
        unsafe {
            let memory = LargePages.alloc(SMALL);
            memory.write_bytes(5, SMALL.size());
            let grown = LargePages.realloc(memory, SMALL, LARGE.size());
            assert_eq!(grown.add(SMALL.size() - 1).read(), 5);
            LargePages
                .dealloc(grown, Layout::from_size_align(LARGE.size(), SMALL.align()).unwrap());
        }
    }
}
