//! Edits of `.session` files, and of those they import, rebuild what is generated from them.

mod support;

use support::{Package, RUNTIME};

const MAIN: &str = "
mod talk {
    mcp_protocol_macro::protocol!(crate::runtime, \"protocols/talk.session\");
}

fn main() {
    let names: Vec<&str> = talk::PROTOCOL.messages.iter().map(|message| &*message.name).collect();
    println!(\"{}\", names.join(\" \"));
}
";

#[test]
fn an_edit_of_a_file_or_of_its_import_rebuilds() {
    let package = Package::new("rebuild");
    package.write("src/main.rs", &format!("{RUNTIME}{MAIN}"));
    package.write(
        "protocols/talk.session",
        "protocol Talk \"1\"\nimport \"base.session\"\nnotification Bye \"bye\"\n",
    );
    package.write("protocols/base.session", "notification Hello \"hello\"\n");
    assert_eq!(package.run(), "Hello Bye\n");

    package.write("protocols/base.session", "notification Hello \"hello\"\nnotification Hi \"hi\"\n");
    assert_eq!(package.run(), "Hello Hi Bye\n");

    package.write("protocols/talk.session", "protocol Talk \"1\"\nimport \"base.session\"\n");
    assert_eq!(package.run(), "Hello Hi\n");

    package.write("protocols/base.session", "notification Hello \"hello\"\nnotification Hello \"hi\"\n");
    let errors = package.errors();
    assert!(errors.contains("--> protocols/base.session:2:14"), "{errors}");
    assert!(errors.contains("protocol!(crate::runtime, \"protocols/talk.session\")"), "{errors}");

    package.write("protocols/base.session", "notification Hello \"hello\"\n");
    assert_eq!(package.run(), "Hello\n");
}

#[test]
fn debug_writes_the_expansion_and_includes_it() {
    let package = Package::new("debug-expansion");
    let main = MAIN.replace("talk.session\"", "talk.session\", debug");
    package.write("src/main.rs", &format!("{RUNTIME}{main}"));
    package.write("protocols/talk.session", "protocol Talk \"1\"\nnotification Hello \"hello\"\n");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("mcp-protocol");
    let ours = || {
        let written = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        written.filter(|path| path.to_string_lossy().contains("debug-expansion-talk-"))
    };
    // A target folder that was moved has the file of its old place, too.
    ours().for_each(|path| std::fs::remove_file(path).unwrap());
    assert_eq!(package.run(), "Hello\n");
    let code: Vec<String> = ours().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let [code] = code.as_slice() else { panic!("{} files", code.len()) };
    assert!(code.contains("HELLO = Message::notification(\"Hello\", \"hello\")"), "{code}");
}

#[test]
fn a_path_with_a_dot_is_relative_to_the_source_file() {
    let package = Package::new("sibling");
    let main = MAIN.replace("protocols/talk.session", "./talk.session");
    package.write("src/main.rs", &format!("{RUNTIME}{main}"));
    package.write("src/talk.session", "protocol Talk \"1\"\nnotification Here \"here\"\n");
    assert_eq!(package.run(), "Here\n");
}
