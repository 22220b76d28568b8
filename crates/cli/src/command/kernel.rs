//! `patchmark kernel`: fetch kernels ahead of time and show what they are.

use std::io::Write;

use clap::Subcommand;

use crate::args::Global;
use crate::exit::{Exit, Trouble};
use crate::place;
use crate::progress::Display;

/// What to do with kernels.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Fetch kernels, or find them, and say what they are
    #[command(after_help = "\
Examples:
  patchmark kernel fetch deb:6.1-cloud deb:6.12-cloud
  patchmark kernel fetch deb:linux-image-6.1.0-57-cloud-amd64 image:arch/x86/boot/bzImage")]
    Fetch {
        /// deb:SERIES, deb:PACKAGE[=VERSION], image:PATH, or running
        #[arg(required = true, value_name = "KERNEL")]
        kernels: Vec<String>,
    },
    /// List the kernels that results in the store were made with
    List,
}

/// Runs the command.
pub fn run(command: &KernelCommand, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let kernels = match command {
        KernelCommand::Fetch { kernels } => {
            let display = Display::new(global.quiet);
            place::kernels(kernels, global, &display)?
        }
        KernelCommand::List => {
            place::open_store_read_only(global)?.kernels().map_err(place::store_trouble)?
        }
    };
    let text = if global.json {
        serde_json::to_string_pretty(&kernels).map_err(Trouble::infrastructure)? + "\n"
    } else {
        kernels
            .iter()
            .map(|kernel| {
                let image =
                    kernel.image.as_ref().map_or("-".into(), |path| path.display().to_string());
                format!("{}\t{}\t{}\t{image}\n", kernel.id.label, kernel.kconfig, kernel.compiler)
            })
            .collect()
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    Ok(Exit::Fine)
}
