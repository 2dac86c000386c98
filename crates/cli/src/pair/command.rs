//! Formats the command line of `antsreg-gpu register` that repeats a planned registration.

use std::path::Path;

use antsreg_register::Model;
use antsreg_register::option::{self, Shown, name};
use antsreg_study::bias::Corrected;
use antsreg_study::pair::Plan;
use antsreg_study::words::quoted;

/// The command line of `register` that repeats a planned registration. Every option is written out, also those that
/// have their default values.
pub(super) fn command(plan: &Plan, threads: usize) -> String {
    let Plan { request: job, inputs, options, fitted, .. } = plan;
    let files = &job.files;
    let shown = |path: &Path| path.display().to_string();
    let mut words: Vec<Shown> = vec![
        ("--fixed", shown(&files.fixed)),
        ("--moving", shown(&files.moving)),
        ("--output", files.prefix.clone()),
    ];
    for (files, channel) in files.channels.iter().zip(job.recipe.syn.channels.iter().skip(1)) {
        let pair = [shown(&files.fixed), shown(&files.moving), name(&channel.metric), channel.weight.to_string()];
        words.push(("--channel", pair.join(",")));
    }
    let optional = [
        ("--fixed-mask", &files.fixed_mask),
        ("--white-matter", &files.white_matter),
        ("--moving-mask", &files.moving_mask),
        ("--fixed-labels", &files.labels.fixed),
        ("--moving-labels", &files.labels.moving),
    ];
    words.extend(optional.into_iter().filter_map(|(option, path)| Some((option, shown(path.as_deref()?)))));
    for (option, lesions) in [("--fixed-lesion", &files.fixed_lesions), ("--moving-lesion", &files.moving_lesions)] {
        words.extend(lesions.iter().map(|path| (option, shown(path))));
    }
    if files.bias != Corrected::None {
        words.push(("--bias=", name(&files.bias)));
    }
    words.extend(files.labels.list.clone().map(|list| ("--label-list", list)));
    words.push(("--brain", name(&files.brain)));
    words.push(("--transform", name(&job.recipe.model)));
    words.push(("--initial-transform", inputs.fixed.start_file.to_string()));
    words.push(("--device", fitted.device.description().choice().to_string()));
    let slices = inputs.fixed.side.grid().is_slice();
    for stage in &options.stages {
        let mut parameters = option::shown(stage, slices);
        // Models other than SyN fix the degrees of freedom, so `--dof` is left out.
        parameters.retain(|(option, _)| *option != "--dof" || job.recipe.model == Model::Syn);
        words.extend(parameters);
    }
    // The subcommand `register` refuses options without effect, so such options are left out of this command line.
    if let Some(images) = options.images.filter(|images| images.warped) {
        words.push(("--interpolation", name(&images.interpolation)));
    }
    if files.labels.moving.is_some() {
        words.push(("--label-interpolation", name(&files.labels.interpolation)));
    }
    words.push(("--format", name(&files.writing.format)));
    let flags = [
        ("--no-warped", !files.writing.warped),
        ("--no-inverse", !files.writing.inverse),
        ("--composite", files.writing.composite),
        ("--profile", job.profile),
    ];
    words.extend(flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| (flag, String::new())));
    if let Some(report) = &files.report {
        words.push(("--report=", shown(report)));
    }
    words.push(("--threads", threads.to_string()));
    let words = words.iter().map(|(option, value)| match value.as_str() {
        "" => (*option).to_owned(),
        // An option whose value may be omitted needs the form `--option=value`; a value in the next word would not be
        // recognised.
        value if option.ends_with('=') => format!("{option}{}", quoted(value)),
        value => format!("{option} {}", quoted(value)),
    });
    format!("antsreg-gpu register {}", words.collect::<Vec<_>>().join(" "))
}
