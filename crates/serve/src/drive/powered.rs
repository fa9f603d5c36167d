//! A drive that can be without power: then there is none, and its memory is free for the one that
//! comes back.

use std::ops::{Deref, DerefMut};

use eraseblock_core::device::Device;

/// The simulated drive, while it has power.
#[derive(Debug)]
pub struct Powered(Option<Device>);

impl Powered {
    /// It has power.
    pub fn on(device: Device) -> Self {
        Self(Some(device))
    }

    /// It has none: nothing may be asked of it any more.
    pub fn switch_off(&mut self) {
        self.0 = None;
    }
}

impl Deref for Powered {
    type Target = Device;

    #[inline]
    fn deref(&self) -> &Device {
        self.0.as_ref().unwrap_or_else(|| unreachable!("a drive without power is not used"))
    }
}

impl DerefMut for Powered {
    #[inline]
    fn deref_mut(&mut self) -> &mut Device {
        self.0.as_mut().unwrap_or_else(|| unreachable!("a drive without power is not used"))
    }
}
