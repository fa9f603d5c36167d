//! Requests that a Python program holds, from columns of numbers.

use eraseblock_experiment::{Experiment, Given, Op, Request};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{InputError, guard};
use crate::runner::RUNNER;

/// Requests in order of time, known by the hash of their content.
#[pyclass(frozen, module = "eraseblock._core")]
pub(crate) struct Requests {
    given: Given,
    count: usize,
}

/// Bytes of a request as [`Requests::pack`] writes it.
const PACKED: usize = 30;

impl Requests {
    fn of(py: Python<'_>, requests: Vec<Request>) -> PyResult<Self> {
        let count = requests.len();
        let given = py.detach(|| guard(|| Given::new(requests)))?;
        let given = given.map_err(|error| InputError::new_err(error.to_string()))?;
        Ok(Self { given, count })
    }

    /// Brings the requests to an experiment that has their hash.
    pub(crate) fn give(&self, experiment: &mut Experiment) {
        experiment.workload.give(&self.given);
    }
}

fn op_of(code: u8) -> PyResult<Op> {
    match code {
        0 => Ok(Op::Read),
        1 => Ok(Op::Write),
        2 => Ok(Op::Trim),
        3 => Ok(Op::Flush),
        _ => Err(InputError::new_err(format!(
            "op: found {code}, expected 0 (read), 1 (write), 2 (trim) or 3 (flush)"
        ))),
    }
}

#[pymethods]
impl Requests {
    /// Columns of the same length: times in ns, codes of operations, addresses and sizes in bytes,
    /// whether each is forced, numbers of volumes.
    #[new]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are extracted from Python objects"
    )]
    fn new(
        py: Python<'_>,
        at: PyBuffer<u64>,
        op: PyBuffer<u8>,
        address: PyBuffer<u64>,
        size: PyBuffer<u64>,
        fua: PyBuffer<u8>,
        volume: PyBuffer<u32>,
    ) -> PyResult<Self> {
        let (at, op, fua) = (at.to_vec(py)?, op.to_vec(py)?, fua.to_vec(py)?);
        let (address, size, volume) = (address.to_vec(py)?, size.to_vec(py)?, volume.to_vec(py)?);
        let lengths = [at.len(), op.len(), address.len(), size.len(), fua.len(), volume.len()];
        if lengths.iter().any(|&length| length != lengths[0]) {
            return Err(InputError::new_err(format!("columns differ in length: {lengths:?}")));
        }
        let row = |index: usize| {
            Ok(Request {
                arrival_ns: at[index],
                offset: address[index],
                len: size[index],
                volume: volume[index],
                op: op_of(op[index])?,
                fua: fua[index] != 0,
            })
        };
        let requests: PyResult<Vec<_>> = (0..at.len()).map(row).collect();
        Self::of(py, requests?)
    }

    /// Of all that is in them.
    #[getter]
    fn sha256(&self) -> &str {
        self.given.sha256()
    }

    fn __len__(&self) -> usize {
        self.count
    }

    /// All of them as bytes, to go to another process.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let requests = self.given.requests();
        let requests = requests.map_err(|error| InputError::new_err(error.to_string()))?;
        let mut bytes = Vec::with_capacity(requests.len() * PACKED);
        for request in requests.iter() {
            for number in [request.arrival_ns, request.offset, request.len] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(&[request.op as u8, u8::from(request.fua)]);
            bytes.extend_from_slice(&request.volume.to_le_bytes());
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// What [`Self::pack`] has written.
    #[staticmethod]
    fn unpack(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let number = |row: &[u8], at: usize| {
            row[at..].iter().take(8).rev().fold(0_u64, |all, &byte| (all << 8) | u64::from(byte))
        };
        let request = |row: &[u8]| {
            Ok(Request {
                arrival_ns: number(row, 0),
                offset: number(row, 8),
                len: number(row, 16),
                volume: number(row, 26) as u32,
                op: op_of(row[24])?,
                fua: row[25] != 0,
            })
        };
        let (rows, rest) = bytes.as_chunks::<PACKED>();
        if !rest.is_empty() {
            return Err(InputError::new_err(format!(
                "requests: found {} packed bytes, expected a multiple of {PACKED}: some were lost \
                 on the way",
                bytes.len()
            )));
        }
        let requests: PyResult<Vec<_>> = rows.iter().map(|row| request(row)).collect();
        Self::of(py, requests?)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let packed = slf.get().pack(slf.py())?;
        Ok((slf.py().get_type::<Self>().getattr("unpack")?, (packed,)))
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        RUNNER.forget_given(&self.given);
    }
}
