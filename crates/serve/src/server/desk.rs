//! Questions and orders to the drive's thread that come beside its clients, and their answers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use mio::{Registry, Token, Waker};

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

/// Where orders are given.
#[derive(Debug, Clone)]
pub struct Desk {
    slips: Sender<Slip>,
    waker: Arc<Waker>,
}

impl Desk {
    /// A desk, and what the drive's thread reads when `token` wakes it.
    pub fn new(registry: &Registry, token: Token) -> io::Result<(Self, Receiver<Slip>)> {
        let (slips, orders) = channel();
        Ok((Self { slips, waker: Arc::new(Waker::new(registry, token)?) }, orders))
    }

    /// Gives an order and waits for its reply.
    pub fn ask(&self, order: Order, patience: Duration) -> Reply {
        let ended = || "the server is ending".to_owned();
        // The drive's thread never waits for whoever asked.
        let (reply, answer) = sync_channel(1);
        self.slips.send(Slip { order, reply }).map_err(|_| ended())?;
        self.waker.wake().map_err(|why| why.to_string())?;
        answer.recv_timeout(patience).map_err(|_| ended())?
    }
}
