//! The door: who is let in, who waits, and who has to make way.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eraseblock_nbd::{Connection, Export};
use mio::{Registry, Token};
use rustls::ServerConfig;

use super::client::Client;
use super::listen::Listener;
use super::stream::Stream;

/// Clients at a time.
const MOST_CLIENTS: usize = 64;
/// To choose the export is a matter of moments: a client that has not done it for so long makes way
/// where others wait. Before that nobody takes its place, however many come.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// Where the system has no room for one more, it is asked again after so long.
const AGAIN: Duration = Duration::from_millis(100);

/// Where clients come in. Those who find no place wait in the system's queue, in the order in
/// which they have come.
pub struct Door {
    listener: Listener,
    tls: Option<Arc<ServerConfig>>,
    export: Arc<Export>,
    births: u64,
    /// Somebody may wait outside; when it is looked again at the latest.
    again: Option<Instant>,
}

/// What there is for a client that comes.
enum Place {
    /// This one.
    Free(usize),
    /// That of a client which has had its time for a handshake.
    Of(usize),
    /// One from then on.
    Later(Instant),
    /// None: all clients use the drive.
    None,
}

impl Door {
    pub fn new(
        mut listener: Listener,
        tls: Option<Arc<ServerConfig>>,
        export: Arc<Export>,
        (registry, token): (&Registry, Token),
    ) -> io::Result<Self> {
        listener.register(registry, token)?;
        Ok(Self { listener, tls, export, births: 0, again: None })
    }

    /// As clients name it.
    pub fn uri(&self) -> String {
        self.listener.uri(self.tls.is_some())
    }

    /// How long until somebody who waits outside can be let in; `None` where nobody waits.
    pub fn patience(&self) -> Option<Duration> {
        self.again.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// A place has become free.
    pub fn has_place(&mut self) {
        self.again = self.again.and(Some(Instant::now()));
    }

    /// Whether it is time to look who waits outside.
    pub fn is_due(&self) -> bool {
        self.patience() == Some(Duration::ZERO)
    }

    /// Lets in who waits, as far as there is a place for them. The system tells once that somebody
    /// has come: who is left outside is remembered. However many come, those who are inside have
    /// their turn in between.
    pub fn admit(&mut self, clients: &mut Vec<Option<Client>>, registry: &Registry) {
        for _ in 0..MOST_CLIENTS {
            let place = find(clients, Instant::now());
            if let Place::Later(at) = place {
                self.again = Some(at);
                return;
            }
            let Some(stream) = self.accept() else { return };
            let place = match place {
                Place::Free(place) => place,
                Place::Of(place) => {
                    if let Some(mut client) = clients[place].take() {
                        client.stream.close(registry);
                    }
                    place
                }
                // It hears so at once, and need not wait for others to go.
                Place::Later(_) | Place::None => continue,
            };
            if place == clients.len() {
                clients.push(None);
            }
            clients[place] = self.client(stream, (registry, Token(place)));
        }
        self.again = Some(Instant::now());
    }

    /// Lets nobody in any more: those who come hear so.
    pub fn refuse(&mut self) {
        for _ in 0..MOST_CLIENTS {
            if self.accept().is_none() {
                return;
            }
        }
        self.again = Some(Instant::now());
    }

    fn accept(&mut self) -> Option<Stream> {
        for _ in 0..MOST_CLIENTS {
            let why = match self.listener.accept() {
                Ok(socket) => return Some(Stream::new(socket)),
                Err(why) => why.kind(),
            };
            match why {
                // It has gone before it was let in. Others may be behind it.
                io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    self.again = None;
                    return None;
                }
                // No descriptor is left, say. They stay in the queue.
                _ => {
                    self.again = Some(Instant::now() + AGAIN);
                    return None;
                }
            }
        }
        self.again = Some(Instant::now());
        None
    }

    fn client(&mut self, mut stream: Stream, at: (&Registry, Token)) -> Option<Client> {
        stream.register(at.0, at.1).ok()?;
        self.births += 1;
        let (export, tls) = (Arc::clone(&self.export), self.tls.clone());
        let connection =
            if tls.is_some() { Connection::with_tls(export) } else { Connection::new(export) };
        Some(Client::new(stream, connection, tls, self.births))
    }
}

/// Where a client that comes would go. Only where no place is free does anybody make way: the one
/// that has been negotiating for longest, once it has had its time.
fn find(clients: &[Option<Client>], now: Instant) -> Place {
    if let Some(free) = clients.iter().position(Option::is_none) {
        return Place::Free(free);
    }
    if clients.len() < MOST_CLIENTS {
        return Place::Free(clients.len());
    }
    let negotiates = |client: &&Client| !client.connection.has_chosen();
    let negotiating = clients.iter().enumerate().filter_map(|(place, client)| {
        client.as_ref().filter(negotiates).map(|client| (client.came, client.birth, place))
    });
    match negotiating.min() {
        None => Place::None,
        Some((came, _, place)) if now >= came + HANDSHAKE => Place::Of(place),
        Some((came, ..)) => Place::Later(came + HANDSHAKE),
    }
}
