//! URIs of the editor and paths of the file system.

use std::path::{Path, PathBuf};

use lsp_protocols::types::Uri;
use mcp_protocol_compiler::resolve::load::normal;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const FILE: &str = "file://";

/// What may stand in a path as it is.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// The path of a document. One that is not a file, such as `untitled:1`, has its URI as its path: nothing else has it.
pub(super) fn path_of(uri: &Uri) -> PathBuf {
    let Some(rest) = uri.as_str().strip_prefix(FILE) else { return PathBuf::from(uri.as_str()) };
    let decoded = percent_decode_str(rest).decode_utf8_lossy();
    // `file:///C:/folder` is `C:/folder`, `file://server/share` is `//server/share`.
    let drive = decoded.strip_prefix('/').filter(|path| path.as_bytes().get(1) == Some(&b':'));
    match (decoded.starts_with('/'), drive) {
        (true, Some(path)) if cfg!(windows) => normal(Path::new(path)),
        (true, _) => normal(Path::new(&*decoded)),
        (false, _) => normal(Path::new(&format!("//{decoded}"))),
    }
}

/// The URI of a file; nothing if the path is not one that a URI can have.
pub(super) fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_str()?;
    if !path.is_absolute() {
        return text.parse().ok();
    }
    let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.to_owned() };
    format!("{FILE}{}", utf8_percent_encode(&text, ESCAPED)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(uri: &str) -> PathBuf {
        path_of(&uri.parse().unwrap())
    }

    #[test]
    #[cfg(unix)]
    fn a_file_has_one_path_however_its_uri_is_written() {
        assert_eq!(path("file:///a/%CE%B1%20b.session"), Path::new("/a/α b.session"));
        assert_eq!(path("file:///a/x/../b.session"), Path::new("/a/b.session"));
        assert_eq!(uri_of(Path::new("/a/α b.session")).unwrap().as_str(), "file:///a/%CE%B1%20b.session");
        assert_eq!(path_of(&uri_of(Path::new("/a/100%.session")).unwrap()), Path::new("/a/100%.session"));
    }

    #[test]
    fn a_document_that_is_not_a_file_keeps_its_uri() {
        assert_eq!(path("untitled:Untitled-1"), Path::new("untitled:Untitled-1"));
        assert_eq!(uri_of(&path("untitled:Untitled-1")).unwrap().as_str(), "untitled:Untitled-1");
    }
}
