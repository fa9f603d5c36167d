//! SCSI commands as traces of virtual machines name them.

use eraseblock_core::host::Op;

/// What a command with this operation code asks; `None` where it moves no data of an extent.
pub(super) fn operation(code: u8) -> Option<Op> {
    match code {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // WRITE (6), (10), (12), (16), and WRITE AND VERIFY.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_codes() {
        assert_eq!([0x28, 0x88].map(operation), [Some(Op::Read); 2]);
        assert_eq!([0x2a, 0x8a].map(operation), [Some(Op::Write); 2]);
        assert_eq!([0x35, 0x91].map(operation), [Some(Op::Flush); 2]);
        assert_eq!([0x00, 0x12, 0x42].map(operation), [None; 3]);
    }
}
