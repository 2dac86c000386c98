//! The workers of all devices. Those of a device come when it is ready, so that none waits for the slowest.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, select, unbounded};

use super::Engine;
use super::pipeline::{self, Crew, Staff};
use crate::device::{Description, Opened};
use crate::devices::{self, Opening, Ready};
use crate::error::CliError;

/// Workers who are there, and those who will come.
pub struct Engines {
    there: Mutex<Vec<Engine>>,
    coming: Opening,
    /// In all.
    workers: usize,
    are_gpus: bool,
    /// The device of each who has come so far.
    devices: Mutex<Vec<Description>>,
    say: Sender<String>,
    said: Receiver<String>,
    /// Whether what is under way is the last that they do.
    last: bool,
    leaving: Mutex<Vec<JoinHandle<()>>>,
}

impl Engines {
    /// Of devices that are getting ready: as soon as one is.
    pub fn of(coming: Opening) -> Result<Engines, CliError> {
        let first = coming.first()?;
        let ((there, devices, leaving), (say, said)) = (Default::default(), unbounded());
        let mut engines =
            Engines { workers: first.of, there, coming, are_gpus: false, devices, say, said, last: false, leaving };
        let there = engines.admit(first)?;
        engines.are_gpus = there.iter().any(Engine::is_gpu);
        engines.there = Mutex::new(there);
        Ok(engines)
    }

    /// Waits for all the others as well.
    pub fn all(self) -> Result<Engines, CliError> {
        for ready in self.coming.ready() {
            let more = self.admit(ready?)?;
            lock(&self.there).extend(more);
        }
        Ok(self)
    }

    /// Workers in all, also those still to come.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Whether they work on GPUs.
    pub fn are_gpus(&self) -> bool {
        self.are_gpus
    }

    /// The device of each worker who has come so far.
    pub fn devices(&self) -> Vec<Description> {
        lock(&self.devices).clone()
    }

    /// What the user should know of devices, as they come.
    pub fn notes(&self) -> Receiver<String> {
        self.said.clone()
    }

    /// One of them, for what cannot be shared out; before the last run.
    pub fn one(&mut self) -> &mut Engine {
        &mut self.there.get_mut().unwrap_or_else(PoisonError::into_inner)[0]
    }

    /// Takes every job through the stages, as [`pipeline::run`] does.
    pub fn run<Job: Send, Loaded: Send, Computed: Send, Written: Send>(
        &mut self,
        jobs: Vec<Job>,
        crew: Crew,
        read: impl Fn(Job) -> Loaded + Sync,
        compute: impl Fn(&mut Engine, Loaded) -> Computed + Sync,
        write: impl Fn(Computed) -> Written + Sync,
        done: impl FnMut(Written),
    ) -> Result<(), CliError> {
        pipeline::run(self, jobs, crew, read, compute, write, done)
    }

    /// For a last run. A device is let go of when it has nothing more to do, which takes a driver a while: in the background,
    /// until this is dropped.
    pub fn last(&mut self) -> &mut Engines {
        self.last = true;
        self
    }

    /// The workers of a device that is ready.
    fn admit(&self, Ready { workers, .. }: Ready) -> Result<Vec<Engine>, CliError> {
        for note in workers.iter().filter_map(Opened::note) {
            // The other end is this struct's own.
            let _ = self.say.send(note);
        }
        lock(&self.devices).extend(workers.iter().map(|worker| worker.description.clone()));
        Engine::on(workers)
    }
}

impl Staff for Engines {
    type Worker = Engine;

    fn place(&self, engine: &Engine) -> usize {
        engine.place()
    }

    fn come(&self) -> Vec<Engine> {
        std::mem::take(&mut lock(&self.there))
    }

    fn welcome(&self, over: &Receiver<Infallible>, begin: &dyn Fn(Engine)) -> Result<(), CliError> {
        loop {
            select! {
                recv(self.coming.ready()) -> ready => match ready {
                    Ok(ready) => self.admit(ready?)?.into_iter().for_each(begin),
                    Err(_) => return Ok(()),
                },
                recv(over) -> _ => return Ok(()),
            }
        }
    }

    fn leave(&self, engine: Engine) {
        match self.last {
            true => lock(&self.leaving).push(std::thread::spawn(move || drop(engine))),
            false => lock(&self.there).push(engine),
        }
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        lock(&self.leaving).drain(..).for_each(devices::wait_for);
    }
}

/// The lock, also after a panic in another thread: nothing is left half done under it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
