//! Questions and orders to the drive's thread that come beside its clients, and their answers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use mio::{Registry, Token, Waker};
use serde::Serialize;

use crate::drive::{Glance, Times};

const ENDED: &str = "the server is ending";

/// What may be asked.
#[derive(Debug)]
pub enum Order {
    /// What the drive has done, as JSON.
    Stats,
    /// Everything that has been answered is stored.
    Flush,
    /// Power fails, and comes back.
    PowerCut,
    /// A copy of the image, with everything that has been answered.
    Snapshot(PathBuf),
}

/// JSON, or why not.
pub type Reply = Result<String, String>;

/// An order, and where its reply goes.
#[derive(Debug)]
pub struct Slip {
    pub order: Order,
    pub reply: SyncSender<Reply>,
}

/// How the drive and its server stand at a moment.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    #[serde(flatten)]
    pub drive: Glance,
    /// Connections that are open.
    pub clients: usize,
    /// Requests that the drive has taken and not answered.
    pub under_way: u32,
    /// Bytes of answers, of reads under way and of what has come, of all clients.
    pub held_bytes: usize,
    /// By how much answers came after their time, where they are to come in time.
    pub lateness: Option<Times>,
}

/// What is put to the drive's thread.
#[derive(Debug)]
pub enum Question {
    Order(Slip),
    Standing(SyncSender<Box<Standing>>),
}

/// Where orders are given.
#[derive(Debug, Clone)]
pub struct Desk {
    questions: Sender<Question>,
    waker: Arc<Waker>,
}

impl Desk {
    /// A desk, and what the drive's thread reads when `token` wakes it.
    pub fn new(registry: &Registry, token: Token) -> io::Result<(Self, Receiver<Question>)> {
        let (questions, asked) = channel();
        Ok((Self { questions, waker: Arc::new(Waker::new(registry, token)?) }, asked))
    }

    /// Gives an order and waits for its reply.
    pub fn ask(&self, order: Order, patience: Duration) -> Reply {
        // The drive's thread never waits for whoever asked.
        let (reply, answer) = sync_channel(1);
        self.put(Question::Order(Slip { order, reply }))?;
        answer.recv_timeout(patience).map_err(|_| ENDED.to_owned())?
    }

    /// How the drive stands.
    pub fn standing(&self, patience: Duration) -> Result<Box<Standing>, String> {
        let (reply, answer) = sync_channel(1);
        self.put(Question::Standing(reply))?;
        answer.recv_timeout(patience).map_err(|why| match why {
            RecvTimeoutError::Timeout => "the drive is busy with something that takes long".into(),
            RecvTimeoutError::Disconnected => ENDED.to_owned(),
        })
    }

    fn put(&self, question: Question) -> Result<(), String> {
        self.questions.send(question).map_err(|_| ENDED.to_owned())?;
        self.waker.wake().map_err(|why| why.to_string())
    }
}
