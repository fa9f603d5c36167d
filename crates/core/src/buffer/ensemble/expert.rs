//! A scheme that is tried: its own tables, and the drive in miniature under it.

use super::model::Model;
use super::sample::{Sample, Seen};
use crate::buffer::{
    Action, Answer, Buffer, BufferConfig, Evicted, Eviction, Note, Outcome, Part, Shape, Span, View,
};
use crate::support::ids::Lpn;

/// An expert.
#[derive(Debug)]
pub struct Expert {
    scheme: BufferConfig,
    sample: Sample,
    capacity: u32,
    /// The scheme over the sample.
    buffer: Box<dyn Buffer>,
    /// Once the FTL is known, if there are others to compare with.
    model: Option<Model>,
    out: Outcome,
}

impl Expert {
    /// Of a scheme, over a sample.
    ///
    /// # Errors
    /// As the scheme's.
    pub fn new(scheme: BufferConfig, sample: Sample) -> Result<Self, String> {
        let shape = sample.shape();
        let buffer = scheme.build(shape)?;
        let out = Outcome::default();
        Ok(Self { scheme, sample, capacity: shape.capacity, buffer, model: None, out })
    }

    /// The FTL is known: it gets a model of it.
    pub fn put_on(&mut self, view: &dyn View) {
        let Shape { logical_pages, pages_per_block, .. } = self.sample.shape();
        let view = Seen { view, sample: self.sample };
        self.model = Some(Model::new(&view, logical_pages, pages_per_block));
    }

    /// The scheme over the whole drive, with nothing in it.
    ///
    /// # Errors
    /// As the scheme's.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        self.scheme.build(shape)
    }

    /// The same expert, with nothing in it, of which the whole drive is the sample.
    ///
    /// # Errors
    /// As the scheme's.
    pub fn unsampled(&self, shape: Shape) -> Result<Self, String> {
        Self::new(self.scheme.clone(), Sample::new(1, shape))
    }

    /// The scheme over the sample.
    pub fn buffer(&self) -> &dyn Buffer {
        &*self.buffer
    }

    /// What it decided last.
    pub fn out(&self) -> &Outcome {
        &self.out
    }

    /// Both of these; what was decided may be taken.
    pub fn buffer_and_out(&mut self) -> (&dyn Buffer, &mut Outcome) {
        (&*self.buffer, &mut self.out)
    }

    /// A request begins; what those before it have cost.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        let Some(model) = &mut self.model else { return 0 };
        if model.is_touched() {
            model.next(self.buffer.len(), self.capacity);
        }
        model.cost()
    }

    /// Serves a span, as the sample has it, above the drive as it looks from there.
    #[inline]
    pub fn access(&mut self, span: &Span, view: &dyn View) {
        self.out.clear();
        self.buffer.access(span, view, &mut self.out);
        let mut answers = self.out.answers.iter();
        if !self.out.evictions.is_empty()
            || !answers.all(|answer| matches!(answer, Answer::Hit | Answer::Insert))
        {
            self.reckon_span(span, view);
        }
    }

    /// The drive has something to do for what was decided on a span.
    fn reckon_span(&mut self, span: &Span, view: &dyn View) {
        let Some(model) = &mut self.model else { return };
        for eviction in &self.out.evictions {
            if eviction.action != Action::Drop {
                model.write(view, self.out.pages_of(eviction), eviction.action.pads());
            }
        }
        for (at, answer) in self.out.answers.iter().enumerate() {
            let lpn = span.first + at as u32;
            match answer {
                Answer::Bypass if span.write => {
                    model.write(view, &[Evicted { lpn, dirty: true }], false);
                }
                Answer::Fill | Answer::Bypass if !span.write => model.read(view, lpn),
                _ => {}
            }
        }
    }

    /// The next spans are those of a request that writes so many pages.
    pub fn writes(&mut self, request: u64, pages: u32) {
        self.buffer.writes(request, pages);
    }

    /// The next call serves a write of a part of a page.
    pub fn writes_part(&mut self, lpn: Lpn, part: Part) {
        if let Some(lpn) = self.sample.page(lpn) {
            self.buffer.writes_part(lpn, part);
        }
    }

    /// A trim.
    pub fn trim(&mut self, first: Lpn, count: u32) {
        let Shape { pages_per_block, .. } = self.sample.shape();
        let (mut first, end) = (first, first + count);
        while first < end {
            let next = (first.block(pages_per_block) + 1).first(pages_per_block).min(end);
            if let Some(mapped) = self.sample.page(first) {
                self.buffer.trim(mapped, next - first);
            }
            first = next;
        }
    }

    /// A flush command.
    pub fn flush(&mut self) {
        self.out.clear();
        self.buffer.flush(&mut self.out);
        self.reckon();
    }

    /// Forced unit access.
    pub fn force(&mut self, first: Lpn, count: u32) {
        let Some(first) = self.sample.page(first) else { return };
        self.out.clear();
        self.buffer.flush_pages(first, count, &mut self.out);
        self.reckon();
    }

    /// Nothing is shown of the drive while pages are forced out.
    fn reckon(&mut self) {
        let Some(model) = &mut self.model else { return };
        for eviction in &self.out.evictions {
            if eviction.action != Action::Drop {
                model.write_blind(self.out.pages_of(eviction), eviction.action.pads());
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buffer)
            + self.buffer.metadata_bytes()
            + self.model.as_ref().map_or(0, Model::bytes)
            + bytes_of(&self.out)
    }
}

/// Bytes of an outcome that is kept. Where decisions are taken over, its lists are those of whoever
/// had them last.
pub fn bytes_of(out: &Outcome) -> usize {
    let Outcome { answers, evictions, pages, notes, note_pages, .. } = out;
    answers.capacity()
        + evictions.capacity() * size_of::<Eviction>()
        + pages.capacity() * size_of::<Evicted>()
        + notes.capacity() * size_of::<Note>()
        + note_pages.capacity() * size_of::<Lpn>()
}
