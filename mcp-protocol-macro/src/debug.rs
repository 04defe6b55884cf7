//! `debug`: writes the expansion to a file, to which rustc can point.
//!
//! The target folder is, in this order: the one that holds `OUT_DIR` (packages with a build script),
//! `CARGO_TARGET_DIR`, and the `target` folder next to the nearest `Cargo.lock` at or above the package. A target
//! folder that only `.cargo/config.toml` names is not found; the file then lies in `target` all the same.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Writes the code and says where.
pub(crate) fn write(package: &Path, session_file: &Path, code: &str) -> Result<PathBuf, String> {
    let folder = target(package).join("mcp-protocol");
    let path = folder.join(name(package, session_file));
    let written = fs::create_dir_all(&folder).and_then(|()| write_if_changed(&path, code));
    written.map_err(|error| format!("cannot write the expansion to `{}`: {error}", path.display()))?;
    Ok(path)
}

fn target(package: &Path) -> PathBuf {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(out) = variable("OUT_DIR")
        && let Some(target) = out.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file())
    {
        return target.to_path_buf();
    }
    if let Some(target) = variable("CARGO_TARGET_DIR") {
        return env::current_dir().unwrap_or_default().join(target);
    }
    let workspace = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    workspace.unwrap_or(package).join("target")
}

/// `package-session.rs`, with a number that tells apart files of one name.
fn name(package: &Path, session_file: &Path) -> String {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut hasher = DefaultHasher::new();
    (package, session_file).hash(&mut hasher);
    format!("{}-{}-{:08x}.rs", stem(package), stem(session_file), hasher.finish() as u32)
}

fn write_if_changed(path: &Path, code: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == code.as_bytes()) {
        return Ok(());
    }
    // Two rustc may expand at once; each puts a whole file in place.
    let aside = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&aside, code)?;
    fs::rename(&aside, path)
}
