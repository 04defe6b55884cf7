//! Planted violations are found, each in a crate of its own.

use std::fs;
use std::path::PathBuf;

use super::Layers;

/// A crate in a folder that is removed again.
struct Planted(PathBuf);

impl Planted {
    fn new(name: &str, files: &[(&str, &str)]) -> Planted {
        let folder = std::env::temp_dir().join(format!("layers-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = folder.join("src").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Planted(folder)
    }

    fn violations(&self, order: &'static [&'static str]) -> Vec<String> {
        let folder: &'static str = Box::leak(self.0.to_str().unwrap().to_owned().into_boxed_str());
        Layers { folder, order, ..Layers::default() }.violations()
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn an_import_upwards_is_found_by_every_kind_of_path() {
    let ways = [
        "use crate::high::Item;",
        "use super::high::Item;",
        "use crate::{high::{Item}};",
        "fn f(item: crate::high::Item) {}",
        "mod inner { use super::super::high::Item; }",
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let files = [("lib.rs", "mod low;\nmod high;"), ("low.rs", way), ("high.rs", "pub struct Item;")];
        let planted = Planted::new(&format!("up-{number}"), &files);
        assert_eq!(
            planted.violations(&["low", "high"]),
            ["low.rs imports from high.rs, which stands above it"],
            "{way}"
        );
        assert_eq!(planted.violations(&["high", "low"]), [""; 0]);
    }
}

#[test]
fn a_re_export_hides_no_import() {
    let files = [
        ("lib.rs", "mod low;\nmod high;\npub use high::Item;"),
        ("low.rs", "use crate::Item;"),
        ("high/mod.rs", "mod item;\npub use item::Item;"),
        ("high/item.rs", "pub struct Item;"),
    ];
    let found = Planted::new("re-export", &files).violations(&["low", "high"]);
    assert!(
        found.contains(&"low.rs imports from high/item.rs, which stands above it".to_owned()),
        "{found:?}"
    );
    assert!(found.iter().any(|found| found.starts_with("low.rs imports through lib.rs")), "{found:?}");
}

#[test]
fn an_import_through_the_own_folder_is_found() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b;\nmod c;\npub use b::Item;"),
        ("a/b.rs", "pub struct Item;"),
        ("a/c.rs", "use super::Item;"),
    ];
    let planted = Planted::new("through", &files);
    let found = planted.violations(&["a"]);
    assert!(found[0].starts_with("a/c.rs imports through a/mod.rs"), "{found:?}");
}

#[test]
fn parts_of_a_file_may_import_from_it() {
    let files = [("lib.rs", "mod a;"), ("a.rs", "mod b;\npub struct Item;"), ("a/b.rs", "use super::Item;")];
    assert_eq!(Planted::new("parts", &files).violations(&["a"]), [""; 0]);
}

#[test]
fn a_circle_within_a_folder_is_found() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b;\nmod c;\nmod d;"),
        ("a/b.rs", "use super::c::C;\npub struct B;"),
        ("a/c.rs", "use super::d::D;\npub struct C;"),
        ("a/d.rs", "use crate::a::b::B;\npub struct D;"),
    ];
    let planted = Planted::new("circle", &files);
    let files: &[&str] = &["a/b.rs", "a/c.rs", "a/d.rs"];
    assert_eq!(
        planted.violations(&["a"]),
        [format!("import from each other in a circle: {}", files.join(", "))]
    );
}

#[test]
fn a_module_without_a_place_is_found() {
    let files = [("lib.rs", "mod a;"), ("a/mod.rs", "mod b;"), ("a/b.rs", "")];
    let planted = Planted::new("placeless", &files);
    assert_eq!(planted.violations(&[]), ["`a` has no place in the order"]);
}

#[test]
fn an_import_out_of_an_inner_folder_is_found() {
    let planted = Planted::new(
        "inner",
        &[
            ("lib.rs", "mod low;\nmod room;"),
            ("low.rs", "pub struct Low;"),
            ("room/mod.rs", "mod inner;\nmod outer;"),
            ("room/outer.rs", "pub struct Outer;"),
            ("room/inner/mod.rs", "mod first;\nmod second;"),
            ("room/inner/first.rs", "use crate::low::Low;\nuse super::second::Second;"),
            ("room/inner/second.rs", "pub struct Second;\nuse crate::room::outer::Outer;"),
        ],
    );
    let folder: &'static str = Box::leak(planted.0.to_str().unwrap().to_owned().into_boxed_str());
    let layers = |inner| Layers { folder, order: &["low", "room"], inner };
    assert_eq!(layers(&[]).violations(), [""; 0]);
    assert_eq!(
        layers(&["room/inner"]).violations(),
        ["room/inner/second.rs imports from room/outer.rs, which is outside of room/inner"]
    );
    assert_eq!(layers(&["room/gone"]).violations(), ["room/gone has no files"]);
}
