//! What clients ask for, on its way to the drive, and the answers on their way back.

use eraseblock_nbd::{Command, Event, Request};

use super::client::Client;
use super::clock::Clock;
use super::work::{Answer, Said, Whose, errno};
use super::{OURS, Server};

/// Bytes of answers, of reads under way and of what comes, of all clients: beyond that, a client
/// that holds nothing gets one request at a time, and others none.
const MOST_HELD: usize = 256 << 20;
/// Requests that a client may put before it is the next one's turn: some are answered at once, and
/// would never fill the drive. Those that are much work count as several.
const AT_ONCE: u32 = 64;
/// So many answers are sent to a client before others are found: it asks for more while the server
/// goes on.
const AT_A_TIME: u32 = 8;

/// Bytes that the answer to a request brings.
#[inline]
fn read_bytes(request: &Request) -> usize {
    if request.command == Command::Read { request.length as usize } else { 0 }
}

impl Server {
    /// Whether all clients together hold so much that each has to be brief.
    pub(super) fn is_crowded(&mut self) -> bool {
        let held = |client: &mut Client| client.held() + client.connection.held();
        self.clients.iter_mut().flatten().map(held).sum::<usize>() >= MOST_HELD
    }

    /// Takes what clients ask for. Where the drive is full before all have been heard, those who
    /// have not come first the next time.
    pub(super) fn listen(&mut self) {
        let (first, places) = (self.turn, self.clients.len());
        for place in (first..first + places).map(|place| place % places) {
            if self.work.is_full() {
                return;
            }
            self.listen_to(place);
            self.turn = (place + 1) % places;
        }
    }

    /// Takes what a client asks for.
    fn listen_to(&mut self, place: usize) {
        let crowded = self.is_crowded();
        let Some(client) = &mut self.clients[place] else { return };
        if client.may_ask(crowded) && !self.work.is_full() {
            client.read();
        }
        let whose = Whose { place, birth: client.birth };
        let mut taken = 0;
        while taken < AT_ONCE {
            let Some(client) = &mut self.clients[place] else { break };
            if !client.has_input || !client.may_ask(crowded) || self.work.is_full() {
                break;
            }
            match client.connection.next() {
                Ok(Some(Event::Request(request, data))) => {
                    taken += self.work.effort(&request);
                    client.under_way += 1;
                    client.reading += read_bytes(&request);
                    self.work.ask(whose, &request, data, &mut self.answers);
                    self.tell();
                }
                Ok(Some(Event::Leaves)) => client.ended = true,
                Ok(None) => {
                    client.has_input = false;
                    client.ended |= client.connection.has_ended();
                }
                Err(_) => (client.ended, client.has_input) = (true, false),
            }
        }
    }

    /// Gives clients their answers.
    #[inline]
    pub(super) fn tell(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        if let Some(now) = self.work.clock.as_ref().and_then(Clock::now) {
            // The drive is ahead where it has had to make way for a request.
            self.answers.extend(answers.extract_if(.., |answer| answer.due > now));
            self.due.extend(answers.iter().map(|answer| answer.due));
        }
        for Answer { whose, request, said, .. } in answers.drain(..) {
            if whose.place == OURS {
                self.has_flushed(whose.birth, &said);
                continue;
            }
            let client = self.clients[whose.place].as_mut().filter(|c| c.birth == whose.birth);
            let Some(client) = client else { continue };
            client.under_way -= 1;
            client.unsent += 1;
            client.reading -= read_bytes(&request);
            let connection = &mut client.connection;
            match said {
                Said::Done => connection.done(&request),
                Said::Failed(why) => connection.failed(&request, why),
                Said::Extents(extents) => connection.extents(&request, &extents),
                Said::Data(Some(data)) => {
                    connection.found(&request, &data);
                    self.work.give_back(data);
                }
                Said::Data(None) => {
                    let drive = &self.work.drive;
                    if let Err(why) =
                        connection.data(&request, |bytes| drive.read(request.offset, bytes))
                    {
                        connection.failed(&request, errno(&why));
                    }
                }
            }
            if client.unsent >= AT_A_TIME {
                client.write();
            }
        }
        if self.answers.is_empty() {
            self.answers = answers;
        }
    }

    /// Sends what can be sent, and lets go of clients that have gone.
    pub(super) fn send(&mut self) {
        for place in &mut self.clients {
            let Some(client) = place else { continue };
            client.write();
            if client.is_done() {
                client.stream.close(self.poll.registry());
                *place = None;
                self.door.has_place();
            }
        }
        if let Some(clock) = &mut self.work.clock {
            self.due.drain(..).for_each(|due| clock.answered(due));
        }
    }
}
