//! Shows the events of a run on the console.

use antsreg_console::{Console, Watcher, advice, command_line::command_line, device_notes, ending};
use antsreg_register::{Device, Progress};
use antsreg_study::{Event, Invocation, Observer};

use crate::pair;

/// Runs work whose events are shown on the console. The work gets their observer, and how the program was started.
pub fn shown<T>(console: &mut Console, work: impl FnOnce(&Invocation, &mut Shown<'_, '_>) -> T) -> T {
    let (command_line, threads, began) = (command_line(), console.threads, console.began());
    let invocation = Invocation { threads, command_line: &command_line, began };
    console.watch(|watcher| work(&invocation, &mut Shown(watcher)))
}

/// Shows the events of a run on the console, and the iterations of registrations as bars or lines.
pub struct Shown<'a, 'b>(&'a mut Watcher<'b>);

impl Observer for Shown<'_, '_> {
    fn progress(&mut self) -> &mut dyn Progress {
        self.0.end_stage();
        self.0
    }

    fn device(&mut self, device: &Device) {
        ending::keep_open(device);
    }

    fn tell(&mut self, event: &Event) {
        let console = self.0.end_stage();
        match event {
            Event::Device(note) => device_notes::show(note, console),
            Event::Warning(warning) => console.warn(format_args!("{warning}{}", advice::of_run(warning))),
            Event::Brain { side, brain, automatic } => console.note(pair::brain(side, brain, *automatic)),
            Event::WhiteMatter(found) => console.note(pair::white_matter(found)),
            Event::Kernels(times) => console.note(pair::kernels(times)),
            Event::BiasLevel { level, of, outcome } => console.note(format_args!(
                "bias {level}/{of}: {} iterations, last change {:.1e}",
                outcome.iterations, outcome.change
            )),
            Event::Step(text) => console.note(text),
            Event::Wrote(path) => console.note(format_args!("wrote {}", path.display())),
        }
    }
}
