//! A command line that has the command of a server without `--` in front of it: how it is meant.

use std::env;

use clap::{Arg, Command, CommandFactory};

use crate::arguments::Arguments;

/// The option that names a shipped protocol.
pub(crate) const NAMES_A_PROTOCOL: &str = "--protocol";

/// The arguments of this program as they would start the server, as a line of a shell. Nothing if its command does
/// not start servers, or has no word that can be the command of one.
pub(crate) fn line_that_starts() -> Option<String> {
    let mut words: Vec<String> =
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = Arguments::command();
    command.build();
    // Options of all commands may stand in front of the name, too.
    let place = words.iter().position(|word| command.find_subcommand(word).is_some())?;
    let command = command.find_subcommand(words.remove(place))?;
    let takes_a_server = command.get_arguments().any(Arg::is_last_set);
    line(command, &words).filter(|_| takes_a_server)
}

/// The same for the words around the name of a command. What is an option of the command is taken for one of its own,
/// wherever it stands, and what the command does not know for a part of the command of the server.
fn line(command: &Command, words: &[String]) -> Option<String> {
    let mut own = words.iter().take_while(|word| *word != "--");
    let is_named = own.any(|word| word.starts_with(NAMES_A_PROTOCOL));
    let (mut options, mut file, mut server) = (Vec::new(), None, Vec::new());
    let mut left = words.iter();
    while let Some(word) = left.next() {
        if word == "--" {
            server.extend(left.by_ref());
        } else if let Some(option) = option(command, word) {
            options.push(word);
            if takes_next(option, word, left.as_slice().first()) {
                options.extend(left.next());
            }
        } else if file.is_none()
            && (word.ends_with(".session") || word == "-")
            && (server.is_empty() || !is_named)
        {
            file = Some(word);
        } else {
            server.push(word);
        }
    }
    server.first().filter(|first| !first.starts_with('-'))?;
    let protocol = file.map(String::as_str).or((!is_named).then_some("FILE"));
    let own = ["sessionc", command.get_name()].into_iter().chain(protocol);
    let own = own.chain(options.into_iter().map(String::as_str)).chain(["--"]);
    let all = own.chain(server.into_iter().map(String::as_str));
    Some(all.map(quoted).collect::<Vec<_>>().join(" "))
}

/// The option of a command that a word names.
fn option<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let is_it = |arg: &&Arg| match (name.strip_prefix("--"), name.strip_prefix('-')) {
        (Some(long), _) => arg.get_long() == Some(long),
        (None, Some(short)) => arg.get_short().is_some_and(|letter| short == letter.to_string()),
        (None, None) => false,
    };
    command.get_arguments().find(is_it)
}

/// Whether the word behind an option is its value.
fn takes_next(option: &Arg, word: &str, next: Option<&String>) -> bool {
    let Some(values) = option.get_num_args().filter(|_| !word.contains('=')) else { return false };
    let is_one = |next: &String| option.get_possible_values().iter().any(|value| value.matches(next, false));
    values.max_values() > 0 && (values.min_values() > 0 || next.is_some_and(is_one))
}

/// A word as a shell takes it whole.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:@,%\\".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(words: &str) -> Option<String> {
        let words: Vec<String> = words.split(' ').map(|word| word.replace('_', " ")).collect();
        let mut command = Arguments::command();
        command.build();
        line(command.find_subcommand("guard").unwrap(), &words)
    }

    #[test]
    fn options_stand_in_front_and_the_command_of_the_server_behind() {
        let cases = [
            ("npx server --protocol mcp", "--protocol mcp -- npx server"),
            ("--protocol=mcp npx -y server", "--protocol=mcp -- npx -y server"),
            ("a.session node server.js", "a.session -- node server.js"),
            ("a.session --enforce node b.session", "a.session --enforce -- node b.session"),
            ("node s.js --enforce should a.session", "a.session --enforce should -- node s.js"),
            ("node a.session --protocol mcp", "--protocol mcp -- node a.session"),
            ("--color never - node s.js", "- --color never -- node s.js"),
            ("npx server", "FILE -- npx server"),
            ("npx -- server --protocol mcp", "FILE -- npx server --protocol mcp"),
            ("npx --protocol mcp -- server --record x", "--protocol mcp -- npx server --record x"),
            ("a.session my_server it's", r"a.session -- 'my server' 'it'\''s'"),
        ];
        for (words, expected) in cases {
            assert_eq!(line_of(words), Some(format!("sessionc guard {expected}")), "{words}");
        }
        assert_eq!(line_of("a.session --nonsense"), None);
        assert_eq!(line_of("a.session"), None);
    }
}
