//! What is asked and ordered at the desk, and its replies.

use eraseblock_nbd::{Command, Errno, Request};
use serde_json::{Value, json};

use super::client::Client;
use super::clock::Clock;
use super::desk::{Order, Question, Reply, Standing};
use super::terms::told;
use super::work::{Said, Whose};
use super::{OURS, Server};
use crate::drive::Times;
use crate::priority::Priority;
use crate::record::Recorder;

impl Server {
    /// Does what has been ordered.
    pub(super) fn obey(&mut self) {
        while self.broken.is_none()
            && let Ok(question) = self.questions.try_recv()
        {
            let slip = match question {
                Question::Order(slip) => slip,
                Question::Standing(reply) => {
                    // Whoever asked may have gone.
                    _ = reply.send(Box::new(self.standing()));
                    continue;
                }
            };
            let reply = match &slip.order {
                Order::Stats => Ok(self.stats().to_string()),
                Order::PowerCut => {
                    self.step_back();
                    self.cut_power()
                }
                Order::Flush | Order::Snapshot(_) => {
                    self.flushes += 1;
                    let whose = Whose { place: OURS, birth: self.flushes };
                    self.flushing.push((whose.birth, slip));
                    let command = Command::Flush;
                    let flush = Request { cookie: 0, command, offset: 0, length: 0, fua: false };
                    self.work.ask(whose, &flush, &[], &mut self.answers);
                    self.tell();
                    continue;
                }
            };
            // Whoever asked may have gone.
            _ = slip.reply.send(reply);
        }
    }

    /// What comes takes long: nobody else on the machine is to wait for it.
    fn step_back(&mut self) {
        self.priority.iter_mut().for_each(Priority::lower);
    }

    /// What the drive has done, and what the server does.
    fn stats(&self) -> Value {
        let drive = &self.work.drive;
        let recorded = drive.recorder();
        json!({
            "drive": drive.device().report_so_far(),
            "lateness_ns": self.work.clock.as_ref().and_then(Clock::lateness),
            "real_time": self.real_time().as_ref().map(told),
            "recorded": recorded.map(Recorder::requests),
            "recording_failed": recorded.and_then(Recorder::failure),
            "clients": self.clients.iter().flatten().count(),
            "under_way": drive.under_way(),
            "time_ns": drive.now(),
            "buffered_pages": drive.device().buffer().len(),
            "failed": drive.failure().map(ToString::to_string),
            "checkpoint_failed": drive.checkpoint_failure(),
        })
    }

    /// How the drive and the server stand now.
    fn standing(&mut self) -> Standing {
        let held = |client: &mut Client| client.held() + client.connection.held();
        Standing {
            drive: self.work.drive.glance(),
            clients: self.clients.iter().flatten().count(),
            under_way: self.work.drive.under_way(),
            held_bytes: self.clients.iter_mut().flatten().map(held).sum(),
            lateness: self.work.clock.as_ref().and_then(|clock| Times::of(clock.late())),
        }
    }

    fn cut_power(&mut self) -> Reply {
        let records = self.work.drive.recorder().is_some_and(|trace| trace.failure().is_none());
        if records {
            return Err("a trace cannot hold a power cut: this server records".to_owned());
        }
        if let Some(why) = self.work.drive.refuses_power_cut() {
            return Err(why);
        }
        // What the drive would have answered later, it will not answer.
        self.tell();
        self.answers.iter_mut().for_each(|answer| answer.said = Said::Failed(Errno::Io));
        let drive = &self.work.drive;
        let (in_ram, saved) = (drive.glance().buffer.unstored, drive.saves_ram());
        let cut = self.work.cut_power(&self.path, &mut self.answers);
        let of_clients = self.answers.iter().filter(|answer| answer.whose.place != OURS);
        let unanswered = of_clients.count();
        self.tell();
        match cut {
            Ok(found) => Ok(json!({
                "pages": found.readable,
                "torn": found.torn,
                "unanswered": unanswered,
                "in_ram": in_ram,
                "saved": saved,
            })
            .to_string()),
            Err(why) => {
                let said = why.to_string();
                self.broken = Some(why);
                Err(said)
            }
        }
    }

    /// A flush of the server's own has been answered.
    pub(super) fn has_flushed(&mut self, number: u64, said: &Said) {
        let Some(at) = self.flushing.iter().position(|(of, _)| *of == number) else { return };
        let (_, slip) = self.flushing.swap_remove(at);
        let reply = match (said, &slip.order) {
            (Said::Done, Order::Snapshot(to)) => {
                self.step_back();
                let copied = self.work.drive.snapshot(to).map_err(|why| why.to_string());
                copied.map(|shared| json!({"file": to, "shared": shared}).to_string())
            }
            (Said::Done, _) => Ok("{}".to_owned()),
            _ => Err(self.work.drive.failure().map_or_else(
                || "the drive does not take it".to_owned(),
                |why| format!("the drive does not take it: {why}"),
            )),
        };
        _ = slip.reply.send(reply);
    }
}
