//! `sessionc man`: a page for sessionc and one for each command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::arguments::{self, Arguments};
use crate::end::End;
use crate::files::Failure;
use crate::print::print;
use crate::whole_file;

/// Prints one page, or writes all of them into a folder.
pub(crate) fn run(arguments: &arguments::Man) -> Result<End, Failure> {
    let mut command = Arguments::command();
    // Makes the commands know that they are called `sessionc check`, and which options all of them have.
    command.build();
    if let Some(folder) = &arguments.output {
        write_all(folder, &command)?;
        return Ok(End::Clean);
    }
    let described = match &arguments.command {
        None => &command,
        Some(name) => command.find_subcommand(name).ok_or_else(|| {
            let known = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            Failure::NoCommand(name.clone(), known)
        })?,
    };
    print(page(described).map_err(|error| Failure::Write(PathBuf::from("<stdout>"), error))?)?;
    Ok(End::Clean)
}

fn write_all(folder: &Path, command: &Command) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::Write(folder.to_owned(), error))?;
    for described in std::iter::once(command).chain(command.get_subcommands()) {
        if described.get_name() == "help" {
            continue;
        }
        let path = folder.join(format!("{}.1", title(described)));
        let page = page(described).map_err(|error| Failure::Write(path.clone(), error))?;
        whole_file::write(&path, page)?;
    }
    Ok(())
}

/// `sessionc`, or `sessionc-check`.
fn title(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).title(title(command)).render(&mut page)?;
    Ok(page)
}
