//! A buffer scheme that is written in Python.
//!
//! What is held and what of it is dirty stands here, in a table like that of the schemes in Rust;
//! the Python object only says which pages leave. It is asked once or twice a page, and whatever
//! it says is checked against the table before it counts.

use std::sync::{Arc, Mutex, PoisonError};

use eraseblock_experiment::buffer::brought::lasting;
use eraseblock_experiment::buffer::kit::pages::PageTable;
use eraseblock_experiment::buffer::{
    Action, Answer, Buffer, BufferConfig, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View,
};
use eraseblock_experiment::{Experiment, Lpn, RunError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use crate::errors::SimulationError;
use crate::interrupt::{Watch, watched, watched_inside};

/// What was raised inside a scheme, by whichever call of it.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    raised: Arc<Mutex<Option<(String, PyErr)>>>,
    /// There is such a scheme.
    brought: bool,
}

impl Faults {
    fn set(&self, said: String, error: PyErr) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some((said, error));
    }

    /// Does long work, told by `callback` and ended by what that raises; a scheme in Python may be
    /// asked in it.
    pub(crate) fn watched<T: Send>(
        &self,
        py: Python<'_>,
        callback: Option<Py<PyAny>>,
        work: impl FnOnce(Watch<'_>) -> Result<T, RunError> + Send,
    ) -> PyResult<T> {
        self.or(if self.brought {
            watched_inside(py, callback, work)
        } else {
            watched(py, callback, work)
        })
    }

    /// What came of work that the scheme had a part in: where that raised, it is the cause.
    pub(crate) fn or<T>(&self, done: PyResult<T>) -> PyResult<T> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((said, error)) = raised else { return done };
        Err(Python::attach(|py| {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return error;
            }
            let told = SimulationError::new_err(said);
            told.set_cause(py, Some(error));
            told
        }))
    }
}

/// Brings a scheme to an experiment that names it: `make()` gives what [`Scheme`] is made of.
pub(crate) fn bring(experiment: &mut Experiment, make: Option<Py<PyAny>>) -> Faults {
    let mut faults = Faults::default();
    if let (Some(make), BufferConfig::Brought(brought)) = (make, &mut experiment.buffer.scheme) {
        faults.brought = true;
        let slot = faults.clone();
        let name = brought.name();
        brought.bring(Arc::new(move |shape| {
            let begun = Python::attach(|py| Scheme::begin(py, &make, shape, name, slot.clone()));
            begun.map(|scheme| Box::new(scheme) as Box<dyn Buffer>).map_err(|error| {
                let said = format!("buffer `{name}`: start raised {error}");
                slot.set(said.clone(), error);
                said
            })
        }));
    }
    faults
}

/// Pages that leave together, as a scheme says it.
#[pyclass(frozen, module = "eraseblock._core")]
pub(crate) struct Leave {
    pages: Vec<u32>,
    reason: Reason,
    action: Action,
}

#[pymethods]
impl Leave {
    #[new]
    #[pyo3(signature = (pages, reason, how="write"))]
    fn new(pages: &Bound<'_, PyAny>, reason: &str, how: &str) -> PyResult<Self> {
        let pages = pages.try_iter()?.map(|page| page?.extract()).collect::<PyResult<_>>()?;
        let action = match how {
            "write" => Action::Evict,
            "pad" => Action::EvictPadded,
            "complete" => Action::EvictCompleted,
            "keep" => Action::WriteBack,
            other => {
                return Err(PyValueError::new_err(format!(
                    "how: found {other:?}, expected \"write\", \"pad\", \"complete\" or \"keep\""
                )));
            }
        };
        Ok(Self { pages, reason: lasting(reason), action })
    }
}

/// The methods of a scheme; those that it leaves out are not called.
#[derive(FromPyObject)]
struct Methods {
    #[pyo3(item)]
    hit: Option<Py<PyAny>>,
    #[pyo3(item)]
    insert: Py<PyAny>,
    #[pyo3(item)]
    evict: Py<PyAny>,
    #[pyo3(item)]
    remove: Py<PyAny>,
    #[pyo3(item)]
    admit: Option<Py<PyAny>>,
    #[pyo3(item)]
    order: Option<Py<PyAny>>,
    #[pyo3(item)]
    flush: Option<Py<PyAny>>,
    #[pyo3(item)]
    force: Option<Py<PyAny>>,
    #[pyo3(item)]
    cleaned: Option<Py<PyAny>>,
    #[pyo3(item)]
    len: Option<Py<PyAny>>,
    /// Reads neither allocate nor move anything.
    #[pyo3(item)]
    bypass: bool,
    #[pyo3(item)]
    pads: bool,
    #[pyo3(item)]
    reason: String,
}

/// A scheme and what it holds.
struct Scheme {
    name: &'static str,
    methods: Methods,
    reason: Reason,
    shape: Shape,
    pages: PageTable,
    /// What went wrong: nothing is asked any more.
    fault: Option<String>,
    faults: Faults,
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheme").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a call of a scheme came to: it raised, or said what cannot be.
type Said<T> = Result<T, PyErr>;

fn wrong(what: String) -> PyErr {
    PyValueError::new_err(what)
}

impl Scheme {
    fn begin(
        py: Python<'_>,
        make: &Py<PyAny>,
        shape: Shape,
        name: &'static str,
        faults: Faults,
    ) -> PyResult<Self> {
        if shape.capacity == 0 {
            return Err(wrong("buffer.size: holds no page".to_owned()));
        }
        let made = make.call1(py, (shape.capacity, shape.pages_per_block, shape.logical_pages))?;
        let methods: Methods = made.extract(py)?;
        let reason = lasting(&methods.reason);
        let pages = PageTable::new(shape);
        Ok(Self { name, methods, reason, shape, pages, fault: None, faults })
    }

    /// Something went wrong in a method.
    #[cold]
    fn failed(&mut self, method: &str, error: PyErr) {
        let said = format!("buffer `{}`: {method} raised {error}", self.name);
        self.fault = Some(said.clone());
        self.faults.set(said, error);
    }

    /// Takes out what a method said.
    fn leave(&mut self, said: &Bound<'_, PyAny>, out: &mut Outcome) -> Said<()> {
        if said.is_none() {
            return Ok(());
        }
        if said.is_instance_of::<PyInt>() {
            let page = said.extract()?;
            return self.take_out(&[page], Action::Evict, self.reason, out);
        }
        if let Ok(leave) = said.cast::<Leave>() {
            let Leave { pages, reason, action } = leave.get();
            return self.take_out(pages, *action, reason, out);
        }
        // Numbers of other libraries, such as numpy's.
        if said.hasattr("__index__")? && !said.hasattr("__len__")? {
            let page = said.extract()?;
            return self.take_out(&[page], Action::Evict, self.reason, out);
        }
        let (list, tuple) = (said.cast::<PyList>().ok(), said.cast::<PyTuple>().ok());
        if list.is_none() && tuple.is_none() {
            return Err(PyTypeError::new_err(format!(
                "returned {}, expected pages, Leave, or a list of either",
                said.get_type().name()?
            )));
        }
        let first = said.try_iter()?.next().transpose()?;
        if first.is_some_and(|first| first.is_instance_of::<Leave>()) {
            for one in said.try_iter()? {
                let one = one?;
                let leave = one.cast::<Leave>()?;
                let Leave { pages, reason, action } = leave.get();
                self.take_out(pages, *action, reason, out)?;
            }
            return Ok(());
        }
        let pages: Vec<u32> = said.extract()?;
        self.take_out(&pages, Action::Evict, self.reason, out)
    }

    /// Pages leave together: dirty ones as said, clean ones are forgotten.
    fn take_out(
        &mut self,
        pages: &[u32],
        action: Action,
        reason: Reason,
        out: &mut Outcome,
    ) -> Said<()> {
        if action.pads() && pages.iter().any(|&page| self.block(page) != self.block(pages[0])) {
            return Err(wrong(format!(
                "pages {pages:?} are of several blocks, and cannot be padded"
            )));
        }
        let start = out.pages.len();
        let mut clean = Vec::new();
        for &page in pages {
            let lpn = Lpn(page);
            let held = page < self.shape.logical_pages;
            let Some(slot) = held.then(|| self.pages.find(lpn)).flatten() else {
                return Err(wrong(format!("page {page} should leave, and is not held")));
            };
            let one = self.pages.get(slot);
            if action == Action::WriteBack {
                self.pages.set_dirty(slot, false);
                out.pages.extend(one.dirty.then_some(one));
            } else {
                self.pages.remove(slot);
                if one.dirty { out.pages.push(one) } else { clean.push(one) }
            }
        }
        out.evict(start, action, reason);
        if !clean.is_empty() {
            let start = out.pages.len();
            out.pages.append(&mut clean);
            out.evict(start, Action::Drop, reason);
        }
        Ok(())
    }

    fn block(&self, page: u32) -> u32 {
        page / self.shape.pages_per_block
    }

    /// What becomes of one page; the method that went wrong, if one did.
    #[inline]
    fn serve(
        &mut self,
        py: Python<'_>,
        lpn: Lpn,
        write: bool,
        out: &mut Outcome,
    ) -> Result<Answer, (&'static str, PyErr)> {
        let bypass = !write && self.methods.bypass;
        if let Some(slot) = self.pages.find(lpn) {
            if write {
                self.pages.set_dirty(slot, true);
            }
            if let (Some(hit), false) = (&self.methods.hit, bypass) {
                let said = hit.bind(py).call1((lpn.0, write));
                said.and_then(|said| self.leave(&said, out)).map_err(|error| ("hit", error))?;
                // What leaves is the version before: the one that the host writes would be lost.
                let kept = self.pages.find(lpn).is_some_and(|slot| self.pages.get(slot).dirty);
                if write && !kept {
                    let why = format!("page {} is just being written, and cannot leave", lpn.0);
                    return Err(("hit", wrong(why)));
                }
            }
            return Ok(Answer::Hit);
        }
        if bypass {
            return Ok(Answer::Bypass);
        }
        if let Some(admit) = &self.methods.admit {
            let said = admit.bind(py).call1((lpn.0, write)).and_then(|said| said.is_truthy());
            if !said.map_err(|error| ("admit", error))? {
                return Ok(Answer::Bypass);
            }
        }
        if self.pages.is_full() {
            let said = self.methods.evict.bind(py).call1((lpn.0, write));
            said.and_then(|said| {
                self.leave(&said, out)?;
                if self.pages.is_full() {
                    return Err(wrong("the buffer is full, and nothing left".to_owned()));
                }
                Ok(())
            })
            .map_err(|error| ("evict", error))?;
        }
        self.pages.insert(lpn, write);
        let said = self.methods.insert.bind(py).call1((lpn.0, write));
        said.map_err(|error| ("insert", error))?;
        Ok(if write { Answer::Insert } else { Answer::Fill })
    }

    /// A page is gone, or will be, without the scheme having chosen it.
    fn remove(&mut self, py: Python<'_>, lpn: Lpn) -> Said<()> {
        self.methods.remove.bind(py).call1((lpn.0,)).map(drop)
    }

    /// Stores a page if it is dirty. A buffer that serves reads keeps it.
    fn store(
        &mut self,
        py: Python<'_>,
        lpn: Lpn,
        reason: Reason,
        out: &mut Outcome,
    ) -> Result<(), (&'static str, PyErr)> {
        let Some(slot) = self.pages.find(lpn) else {
            let why = wrong(format!("page {lpn} is in its order, and is not held"));
            return Err(("order", why));
        };
        if self.methods.bypass {
            self.remove(py, lpn).map_err(|error| ("remove", error))?;
            out.evict_page(self.pages.remove(slot), reason);
        } else if self.pages.get(slot).dirty {
            self.pages.write_back(slot, reason, out);
            if let Some(cleaned) = &self.methods.cleaned {
                let said = cleaned.bind(py).call1((lpn.0,));
                said.map_err(|error| ("cleaned", error))?;
            }
        }
        Ok(())
    }

    /// All pages held, upwards.
    fn all(&self) -> Vec<Lpn> {
        let slots = 0..self.pages.slots() as u32;
        let page = |slot| self.pages.get(slot).lpn;
        let used = slots.filter(|&slot| self.pages.find(page(slot)) == Some(slot));
        let mut pages: Vec<Lpn> = used.map(page).collect();
        pages.sort_unstable();
        pages
    }

    /// Pages held that lie in `first..end`, upwards.
    fn held(&self, first: u32, end: u32) -> Vec<Lpn> {
        (first..end).map(Lpn).filter(|&lpn| self.pages.find(lpn).is_some()).collect()
    }

    fn flush_all(
        &mut self,
        py: Python<'_>,
        out: &mut Outcome,
    ) -> Result<(), (&'static str, PyErr)> {
        if self.pages.dirty() == 0 {
            return Ok(());
        }
        if let Some(flush) = &self.methods.flush {
            let said = flush.bind(py).call0();
            said.and_then(|said| self.leave(&said, out)).map_err(|error| ("flush", error))?;
        } else {
            let pages = match &self.methods.order {
                Some(order) => {
                    let listed = order.bind(py).call0().and_then(|order| {
                        order.try_iter()?.map(|page| page?.extract().map(Lpn)).collect()
                    });
                    listed.map_err(|error| ("order", error))?
                }
                None => self.all(),
            };
            for lpn in pages {
                if lpn.0 >= self.shape.logical_pages {
                    return Err(("order", wrong(format!("there is no page {lpn}"))));
                }
                self.store(py, lpn, FLUSH_COMMAND, out)?;
            }
        }
        match self.pages.dirty() {
            0 => Ok(()),
            left => Err(("flush", wrong(format!("{left} dirty pages were not stored")))),
        }
    }

    fn force(
        &mut self,
        py: Python<'_>,
        first: Lpn,
        count: u32,
        out: &mut Outcome,
    ) -> Result<(), (&'static str, PyErr)> {
        let held = self.held(first.0, first.0 + count);
        if held.is_empty() {
            return Ok(());
        }
        if let Some(force) = &self.methods.force {
            let said = force.bind(py).call1((first.0, count));
            said.and_then(|said| self.leave(&said, out)).map_err(|error| ("force", error))?;
            let dirty =
                |lpn: &&Lpn| self.pages.find(**lpn).is_some_and(|slot| self.pages.get(slot).dirty);
            return match held.iter().find(dirty) {
                Some(lpn) => Err(("force", wrong(format!("page {lpn} was not stored")))),
                None => Ok(()),
            };
        }
        held.into_iter().try_for_each(|lpn| self.store(py, lpn, FORCED, out))
    }

    /// Lets the scheme decide, unless it has failed before.
    fn ask(
        &mut self,
        decide: impl FnOnce(&mut Self, Python<'_>) -> Result<(), (&'static str, PyErr)>,
    ) {
        if self.fault.is_none()
            && let Err((method, error)) = Python::attach(|py| decide(self, py))
        {
            self.failed(method, error);
        }
    }
}

impl Buffer for Scheme {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        self.ask(|scheme, py| {
            for lpn in span.pages() {
                let answer = scheme.serve(py, lpn, span.write, out)?;
                out.answers.push(answer);
            }
            Ok(())
        });
        // The run ends; until then there has to be an answer.
        out.answers.resize(span.count as usize, Answer::Bypass);
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        self.ask(|scheme, py| {
            for lpn in scheme.held(first.0, first.0 + count) {
                scheme.remove(py, lpn).map_err(|error| ("remove", error))?;
                if let Some(slot) = scheme.pages.find(lpn) {
                    scheme.pages.remove(slot);
                }
            }
            Ok(())
        });
    }

    fn flush(&mut self, out: &mut Outcome) {
        self.ask(|scheme, py| scheme.flush_all(py, out));
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        self.ask(|scheme, py| scheme.force(py, first, count, out));
    }

    fn len(&self) -> u32 {
        self.pages.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let Some(len) = &self.methods.len else { return Ok(()) };
        Python::attach(|py| match len.call0(py).and_then(|len| len.extract::<usize>(py)) {
            Ok(len) if len == self.pages.len() as usize => Ok(()),
            Ok(len) => Err(format!(
                "buffer `{}`: len() is {len}, and it was given {} pages to hold",
                self.name,
                self.pages.len()
            )),
            Err(error) => Err(format!("buffer `{}`: __len__ raised {error}", self.name)),
        })
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes()
    }

    fn pads_blocks(&self) -> bool {
        self.methods.pads
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        self.all().into_iter().map(|lpn| vec![lpn]).collect()
    }
}

/// Adds the class of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Leave>()
}
