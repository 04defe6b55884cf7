//! Finds the `.session` file that the macro's path names.

use std::path::{Component, Path, PathBuf};

use mcp_protocol_compiler::suggest::nearest;

use crate::search::{self, Found};

/// Where paths are counted from.
#[derive(Debug)]
pub(crate) struct Places {
    /// `CARGO_MANIFEST_DIR`.
    pub(crate) package: PathBuf,
    /// The folder of the source file that names the path, if rustc says.
    pub(crate) source: Option<PathBuf>,
}

impl Places {
    /// The file that a path means: relative to the package, or, starting with `./`, to the source file.
    pub(crate) fn locate(&self, written: &str) -> Result<PathBuf, String> {
        let in_package = clean(&self.package.join(written));
        let in_source = self.source.as_ref().map(|source| clean(&source.join(written)));
        let to_source = written.starts_with("./") || written.starts_with(".\\");
        let (wanted, other) = match (to_source, in_source) {
            (false, in_source) => (in_package, in_source),
            (true, Some(in_source)) => (in_source, Some(in_package)),
            (true, None) => (self.searched(written)?, Some(in_package)),
        };
        if wanted.is_file() {
            return Ok(wanted);
        }
        let mut message = format!("no file `{}`", wanted.display());
        if wanted.is_dir() {
            message = format!("`{}` is a folder", wanted.display());
        }
        // The same file may be meant from the other place.
        let hint = other.filter(|other| *other != wanted && other.is_file()).map(|other| match to_source {
            false => format!(
                "\npaths are relative to the folder of `Cargo.toml`; there is a file `{}`, written `\"./{written}\"`",
                other.display()
            ),
            true => format!(
                "\npaths that start with `./` are relative to the source file; there is a file `{}`, written \
                 `\"{}\"`",
                other.display(),
                written.trim_start_matches("./").trim_start_matches(".\\")
            ),
        });
        message.push_str(&hint.or_else(|| misspelt(&wanted)).unwrap_or_default());
        Err(message)
    }

    /// The file next to the source file that names it, where the compiler does not say which source file that is.
    fn searched(&self, written: &str) -> Result<PathBuf, String> {
        match search::meant(&self.package, written) {
            Found::One(file) => Ok(clean(&file)),
            Found::Nothing => Err(format!(
                "`{written}` is relative to the source file that names it, and no source file of the package has it in \
                 quotes; write the path relative to `Cargo.toml`"
            )),
            Found::Several(files) => {
                let files = files.iter().map(|file| clean(file).display().to_string()).collect::<Vec<_>>();
                Err(format!(
                    "`{written}` is relative to the source file that names it, and several do: it may be `{}`; write \
                     the path relative to `Cargo.toml`",
                    files.join("` or `")
                ))
            }
        }
    }

    /// A file as seen from the package, with `/` between the parts: what `include_str!` gets behind the package's
    /// folder, so that nothing depends on where the checkout lies. `None` if there is no way from here to there.
    pub(crate) fn seen_from_package(&self, file: &Path) -> Option<String> {
        // `..` behind a symbolic link leads somewhere else than it looks, so links are followed first.
        let package = self.package.canonicalize().ok()?;
        let file = file.canonicalize().ok()?;
        between(&package, &file)
    }
}

/// A file of the same folder whose name is almost the one that was written.
fn misspelt(wanted: &Path) -> Option<String> {
    let stem = |name: &str| name.strip_suffix(".session").map(str::to_owned);
    let written = wanted.file_name()?.to_str()?;
    let written = stem(written).unwrap_or_else(|| written.to_owned());
    let entries = std::fs::read_dir(wanted.parent()?).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut stems: Vec<String> = names.filter_map(|name| stem(&name)).collect();
    stems.sort();
    // Without its ending a name may be the right one.
    let meant = match stems.contains(&written) {
        true => Some(written.as_str()),
        false => nearest(&written, stems.iter().map(String::as_str)),
    };
    Some(format!("\ndid you mean `{}.session`, in the same folder?", meant?))
}

/// The way from a folder to a file.
fn between(folder: &Path, file: &Path) -> Option<String> {
    let common = folder.components().zip(file.components()).take_while(|(one, other)| one == other).count();
    if common == 0 {
        return None;
    }
    let up = folder.components().skip(common).map(|_| Some(".."));
    let down = file.components().skip(common).map(|part| part.as_os_str().to_str());
    let parts: Option<Vec<&str>> = up.chain(down).collect();
    Some(parts?.join("/"))
}

/// The path without `.` and, where it does not matter, without `..`.
fn clean(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A package with a file at its top and one next to a source file. The folder goes when its owner does.
    fn package() -> (TempDir, Places) {
        let folder = TempDir::new().unwrap();
        let root = folder.path().to_path_buf();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::write(root.join("top.session"), "").unwrap();
        fs::write(root.join("src/deep/sibling.session"), "").unwrap();
        (folder, Places { source: Some(root.join("src/deep")), package: root })
    }

    #[test]
    fn a_plain_path_counts_from_the_package() {
        let (_folder, places) = package();
        assert_eq!(places.locate("top.session"), Ok(places.package.join("top.session")));
        assert_eq!(
            places.locate("src/deep/sibling.session"),
            Ok(places.package.join("src/deep/sibling.session"))
        );
    }

    #[test]
    fn a_path_with_a_dot_counts_from_the_source_file() {
        let (_folder, places) = package();
        assert_eq!(places.locate("./sibling.session"), Ok(places.package.join("src/deep/sibling.session")));
    }

    #[test]
    fn a_file_in_the_other_place_is_mentioned() {
        let (_folder, places) = package();
        let message = places.locate("sibling.session").unwrap_err();
        let tried = places.package.join("sibling.session");
        assert!(message.starts_with(&format!("no file `{}`", tried.display())), "{message}");
        assert!(message.contains("written `\"./sibling.session\"`"), "{message}");
        let message = places.locate("./top.session").unwrap_err();
        assert!(message.contains("written `\"top.session\"`"), "{message}");
        let message = places.locate("nowhere.session").unwrap_err();
        assert!(!message.contains("written"), "{message}");
        assert!(places.locate("src").unwrap_err().ends_with("is a folder"));
        let message = places.locate("tpo.session").unwrap_err();
        assert!(message.ends_with("did you mean `top.session`, in the same folder?"), "{message}");
        assert!(places.locate("top").unwrap_err().contains("did you mean `top.session`"));
        assert!(!places.locate("other.session").unwrap_err().contains("did you mean"));
    }

    #[test]
    fn without_a_source_file_the_one_that_names_the_path_is_searched() {
        let (_folder, places) = package();
        let places = Places { source: None, ..places };
        assert!(places.locate("./sibling.session").unwrap_err().contains("relative to `Cargo.toml`"));
        assert!(places.locate("top.session").is_ok());
        let call = "protocol!(\"./sibling.session\")";
        fs::write(places.package.join("src/deep/mod.rs"), call).unwrap();
        let sibling = places.package.join("src/deep/sibling.session");
        assert_eq!(places.locate("./sibling.session"), Ok(sibling.clone()));
        fs::write(places.package.join("src/main.rs"), call).unwrap();
        assert_eq!(places.locate("./sibling.session"), Ok(sibling));
        fs::write(places.package.join("src/sibling.session"), "").unwrap();
        let message = places.locate("./sibling.session").unwrap_err();
        assert!(message.contains("` or `") && message.ends_with("relative to `Cargo.toml`"), "{message}");
    }

    #[test]
    fn files_outside_the_package_are_reached_from_it() {
        let between = |folder: &str, file: &str| between(Path::new(folder), Path::new(file));
        assert_eq!(between("/a/b", "/a/b/c.session").as_deref(), Some("c.session"));
        assert_eq!(between("/a/b", "/a/x/c.session").as_deref(), Some("../x/c.session"));
        assert_eq!(between("/a/b/c", "/d.session").as_deref(), Some("../../../d.session"));
    }
}
