//! `patchmark docs`: completions, man pages and the command reference, from one definition.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Exit, Trouble};

/// What to print.
#[derive(Debug, Subcommand)]
pub enum DocsCommand {
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  patchmark docs completions bash > /etc/bash_completion.d/patchmark"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write a man page for each command into a folder
    Man {
        /// The folder; it is made when it is missing
        folder: PathBuf,
    },
    /// Print the reference of all commands as Markdown
    Reference,
}

/// Runs the command.
pub fn run(command: &DocsCommand, out: &mut dyn Write) -> Result<Exit, Trouble> {
    match command {
        DocsCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "patchmark", &mut script);
            out.write_all(&script).map_err(Trouble::infrastructure)?;
        }
        DocsCommand::Man { folder } => write_man_pages(folder).map_err(Trouble::infrastructure)?,
        DocsCommand::Reference => {
            out.write_all(reference().as_bytes()).map_err(Trouble::infrastructure)?;
        }
    }
    Ok(Exit::Fine)
}

fn write_man_pages(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut root = Cli::command();
    root.build();
    write_page(folder, &root)
}

fn write_page(folder: &Path, command: &clap::Command) -> anyhow::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().name(name.clone())).render(&mut page)?;
    let file = folder.join(format!("{name}.1"));
    std::fs::write(&file, page).with_context(|| format!("{} cannot be written", file.display()))?;
    for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
        write_page(folder, child)?;
    }
    Ok(())
}

/// `docs/cli.md`: the long help of every command.
pub fn reference() -> String {
    let mut root = Cli::command().term_width(90);
    root.build();
    let mut text = String::from(
        "# Command reference\n\nMade by `patchmark docs reference`; a test compares.\n",
    );
    add_reference(&mut text, &root);
    text
}

fn add_reference(text: &mut String, command: &clap::Command) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).replace('-', " ");
    let help = command.clone().term_width(90).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
        add_reference(text, child);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_reference_in_docs_is_the_one_the_program_prints() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let kept = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            kept == super::reference(),
            "docs/cli.md is stale: run `patchmark docs reference > docs/cli.md`"
        );
    }
}
