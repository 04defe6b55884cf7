//! `sessionc new`: a crate to start from.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use crate::arguments::New;
use crate::crate_name;
use crate::end::End;
use crate::files::Failure;
use crate::print::print;

/// The files of the crate with their paths. `{name}` is the name of the crate, `{crate}` that name in code, `{Name}` the
/// name of the protocol, and `{runtime}` the dependency.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../../templates/Cargo.toml.template")),
    (".gitignore", include_str!("../../templates/gitignore.template")),
    ("{name}.session", include_str!("../../templates/protocol.session.template")),
    ("src/lib.rs", include_str!("../../templates/src/lib.rs.template")),
    ("tests/session.rs", include_str!("../../templates/tests/session.rs.template")),
];

/// What stands above the dependency until there is a release.
const UNRELEASED: &str = "\
# Before its first release, `mcp-runtime` is not on crates.io. Until then, name the folder of its source:
# mcp-runtime = { path = \"path/to/mcp-runtime\" }";

/// Writes the crate, and says what to do with it.
pub(crate) fn run(arguments: &New) -> Result<End, Failure> {
    let path = &arguments.path;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    crate_name::check(&name).map_err(|(why, similar)| Failure::BadName(name.clone(), why, similar))?;
    if path.symlink_metadata().is_ok() {
        return Err(Failure::Exists(path.clone(), "choose another name"));
    }
    let runtime = match &arguments.runtime_path {
        Some(folder) => format!("mcp-runtime = {{ path = {} }}", toml(&dependency_path(path, folder)?)),
        None => format!("{UNRELEASED}\nmcp-runtime = \"{}\"", env!("CARGO_PKG_VERSION")),
    };
    let (module, type_name) = (crate_name::module(&name), crate_name::type_name(&name));
    let fill = |text: &str| {
        let text = text.replace("{name}", &name).replace("{crate}", &module);
        text.replace("{Name}", &type_name).replace("{runtime}", &runtime)
    };
    let written = FILES.iter().try_for_each(|(file, text)| write(&path.join(fill(file)), &fill(text)));
    if written.is_err() {
        // Nothing was there before, and half a crate would be in the way of the next attempt.
        let _ = fs::remove_dir_all(path);
    }
    written?;
    print(format!("created the crate `{name}`: `cd {}` and `cargo test`\n", path.display()))?;
    if arguments.runtime_path.is_none() {
        print(
            "before the first release of `mcp-runtime`, name the folder of its source in `Cargo.toml`, as the comment there \
             says, or with `--runtime-path PATH`\n",
        )?;
    }
    if let Some(workspace) = workspace_around(path) {
        print(format!("`{}` has a workspace: add the crate to its `members`\n", workspace.display()))?;
    }
    Ok(End::Clean)
}

/// Writes a new file.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let written = fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::Write(path.to_owned(), error))
}

/// The folder of a crate as the new crate names it: relative where both are named by how they lie to the current folder.
fn dependency_path(new: &Path, runtime: &Path) -> Result<PathBuf, Failure> {
    let manifest = fs::read_to_string(runtime.join("Cargo.toml")).unwrap_or_default();
    if !manifest.lines().any(|line| line.trim() == "name = \"mcp-runtime\"") {
        return Err(Failure::NoRuntime(runtime.to_owned()));
    }
    let below = new.components().filter(|part| *part != Component::CurDir);
    if runtime.is_relative() && below.clone().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(below.map(|_| Component::ParentDir).collect::<PathBuf>().join(runtime));
    }
    fs::canonicalize(runtime).map_err(|error| Failure::ReadOther(runtime.to_owned(), error))
}

/// A path as a string of TOML, with `/` on every system.
fn toml(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let escaped: String = text
        .chars()
        .map(|letter| match letter {
            '"' => "\\\"".to_owned(),
            letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
            letter => letter.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// The manifest of the workspace that a folder lies in, if there is one.
fn workspace_around(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    path.ancestors().skip(1).map(|folder| folder.join("Cargo.toml")).find(|manifest| {
        let text = fs::read_to_string(manifest).unwrap_or_default();
        text.lines().any(|line| line.trim_start().starts_with("[workspace"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_runtime_is_relative_to_the_new_crate() {
        let runtime = Path::new("../mcp-runtime");
        let from = |new: &str| dependency_path(Path::new(new), runtime).unwrap();
        assert_eq!(from("calc"), Path::new("../../mcp-runtime"));
        assert_eq!(from("./crates/calc"), Path::new("../../../mcp-runtime"));
        assert!(from("/tmp/calc").is_absolute() && from("../calc").is_absolute());
        assert!(dependency_path(Path::new("calc"), Path::new("src")).is_err());
    }

    #[test]
    fn a_path_is_a_string_of_toml() {
        assert_eq!(toml(Path::new("a \"b\"/ü")), "\"a \\\"b\\\"/ü\"");
    }
}
