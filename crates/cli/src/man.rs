//! `kelda man` and `kelda completions`: owns nothing but the calls, guarantees that what they print comes from the
//! declarations that also parse the command line.

use clap::{Command, CommandFactory as _};

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Failure;
use crate::ui::Ui;
use crate::{output, reference};

/// Prints one page, or writes all.
pub fn man(ui: Ui, args: &ManArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    if let Some(dir) = &args.dir {
        // A page of `help` would say no more than the page of the verb it stands for.
        let pages = without_help(command);
        clap_mangen::generate_to(pages, dir)
            .map_err(|error| Failure::local(format!("{}: {error}", dir.display())))?;
        ui.done(format_args!("man pages are in {}", dir.display()));
        return Ok(());
    }
    command.build();
    if args.markdown {
        return output::whole(&reference::markdown(&command));
    }
    let page = match &args.verb {
        None => command,
        Some(verb) => subcommand(&command, verb)?,
    };
    let mut out = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut out);
    rendered.map_err(|error| Failure::local(error.to_string()))?;
    output::bytes(&out)
}

/// The command without the subcommands that are called `help`, on every level.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

fn subcommand(command: &Command, verb: &str) -> Result<Command, Failure> {
    command.find_subcommand(verb).cloned().ok_or_else(|| {
        let verbs: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        Failure::usage(format!("no verb {verb:?}: there are {}", verbs.join(", ")))
    })
}

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kelda", &mut out);
    output::bytes(&out)
}
