//! One request of the host, as a trace reader, a generator or a client delivers it.

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Bytes from the drive.
    Read,
    /// Bytes to the drive.
    Write,
    /// The host no longer needs these bytes.
    Trim,
    /// Everything acknowledged so far must survive a power cut.
    Flush,
}

/// One block-level request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Arrival, in ns since the start of the workload.
    pub arrival_ns: u64,
    /// First byte, within `volume`.
    pub offset: u64,
    /// Length in bytes; 0 for a flush of the whole drive.
    pub len: u64,
    /// Disk, LUN or application storage unit of the trace; 0 where there is one only.
    pub volume: u32,
    /// What is asked.
    pub op: Op,
    /// Force unit access: a write that is durable when it completes.
    pub fua: bool,
}
