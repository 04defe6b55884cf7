//! `sessionc init`: a workflow that checks the protocols of a repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{Settings, format as format_file};

use crate::arguments::Init;
use crate::end::End;
use crate::files::{Failure, compile_file_with, read, spare_protocols};
use crate::print::print;
use crate::repository::{self, Protocol, Repository};
use crate::whole_file;

/// The workflow. `{protocols}` are the files with a protocol, `{files}` these and what they import.
const WORKFLOW: &str = include_str!("../../templates/workflow.yml.template");

/// How the workflow installs sessionc where nothing else is said.
const CRATES_IO: &str = "cargo install --locked sessionc";

/// Writes the workflow, or prints it.
pub(crate) fn run(arguments: &Init) -> Result<End, Failure> {
    if let Some(root) = root_above() {
        return Err(Failure::NotTheRoot(root));
    }
    if !is_plain(&arguments.branch) {
        return Err(Failure::Unusual(arguments.branch.clone(), "choose another branch"));
    }
    let repository = repository::find(&arguments.files)?;
    if repository.protocols.is_empty() {
        return Err(Failure::NoProtocols(PathBuf::from(".")));
    }
    let workflow = workflow(&repository, &arguments.branch, &arguments.install)?;
    if arguments.dry_run {
        print(workflow)?;
        return Ok(End::Clean);
    }
    let output = &arguments.output;
    if output.exists() && !arguments.force {
        let what = "replace it with `--force`, or print the workflow with `--dry-run`";
        return Err(Failure::Exists(output.clone(), what));
    }
    spare_protocols(output, None)?;
    let folder = output.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| Failure::Write(output.clone(), error))?;
    whole_file::write(output, workflow)?;
    print(format!("wrote `{}`: commit it\n", output.display()))?;
    print(failing(&repository)?)?;
    if arguments.install.starts_with(CRATES_IO) {
        print(
            "before the first release of sessionc, say how to install it: `sessionc init --force --install 'cargo install \
             --locked --git ADDRESS sessionc'`\n",
        )?;
    }
    Ok(End::Clean)
}

/// What the workflow finds as the files are now: one line for each of them, with the command that shows or mends it.
fn failing(repository: &Repository) -> Result<String, Failure> {
    let mut said = String::new();
    for Protocol { file, .. } in &repository.protocols {
        let settings = Settings::default().for_code(true).sketches(true);
        let compilation = compile_file_with(file, settings)?;
        if compilation.diagnostics.iter().any(|found| found.severity == Severity::Error) {
            said += &format!(
                "`{0}` has errors, so the workflow fails: see `sessionc check {0}`\n",
                file.display()
            );
        }
    }
    for file in &repository.files {
        let bytes = read(file).map_err(|error| Failure::Read(file.clone(), error))?;
        let formatted = format_file(file, bytes.clone());
        if formatted.text.is_some_and(|text| text.as_bytes() != bytes) {
            said += &format!(
                "`{0}` is not formatted, so the workflow fails: run `sessionc fmt {0}`\n",
                file.display()
            );
        }
    }
    Ok(said)
}

/// The folder of the repository, if the current folder lies deeper. Workflows name files as seen from there.
fn root_above() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    let root = here.ancestors().find(|folder| folder.join(".git").exists())?;
    (root != here).then(|| root.to_owned())
}

/// The text of the workflow.
fn workflow(repository: &Repository, branch: &str, install: &str) -> Result<String, Failure> {
    let protocols = words(repository.protocols.iter().map(|protocol| protocol.file.as_path()))?;
    let files = words(repository.files.iter().map(PathBuf::as_path))?;
    let install = install.lines().collect::<Vec<_>>().join("\n          ");
    let workflow = WORKFLOW.replace("{branch}", branch).replace("{protocols}", &protocols);
    let workflow = workflow.replace("{files}", &files).replace("{expand}", &expand(repository)?);
    Ok(workflow.replace("{install}", &install))
}

/// The step that compares generated code; nothing where none is checked in.
fn expand(repository: &Repository) -> Result<String, Failure> {
    let mut step = String::new();
    for protocol in &repository.protocols {
        for expansion in &protocol.expansions {
            let (file, code) = (word(&protocol.file)?, word(&expansion.file)?);
            let note = if expansion.is_plain {
                ""
            } else {
                "# Add the options that it was written with.\n          "
            };
            step += &format!("          {note}sessionc expand {file} -o {code} --check\n");
        }
    }
    match step.as_str() {
        "" => Ok(step),
        step => Ok(format!("      - name: Compare the generated code\n        run: |\n{step}")),
    }
}

/// Paths as words of a command.
fn words<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<String, Failure> {
    Ok(paths.map(word).collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// A path as a word that needs no quotes.
fn word(path: &Path) -> Result<String, Failure> {
    let text = path.to_string_lossy().replace('\\', "/");
    if is_plain(&text) { Ok(text) } else { Err(Failure::Unusual(text, "rename it")) }
}

/// Whether no shell and no YAML takes the text for more than a word.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+".contains(letter))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use saphyr::{LoadableYamlNode, Yaml};

    use super::*;
    use crate::arguments::Arguments;
    use crate::repository::Expansion;

    fn repository() -> Repository {
        let expansion = |file: &str, is_plain| Expansion { file: PathBuf::from(file), is_plain };
        let protocol = |file: &str, expansions| Protocol { file: PathBuf::from(file), expansions };
        Repository {
            protocols: vec![
                protocol("talk.session", vec![expansion("src/talk.rs", true)]),
                protocol("deep/calc.session", vec![expansion("src/calc.rs", false)]),
            ],
            files: ["deep/calc.session", "deep/part.session", "talk.session"].map(PathBuf::from).to_vec(),
        }
    }

    /// The commands of a workflow that are ours, each as its words.
    fn commands(workflow: &str) -> Vec<Vec<String>> {
        let documents = Yaml::load_from_str(workflow).unwrap();
        let steps = documents[0]["jobs"]["protocols"]["steps"].as_vec().unwrap();
        let scripts = steps.iter().filter_map(|step| step.as_mapping_get("run").and_then(Yaml::as_str));
        let lines = scripts.flat_map(str::lines).map(str::trim).filter(|line| line.starts_with("sessionc "));
        lines.map(|line| line.split(' ').map(|word| word.trim_matches('"').to_owned()).collect()).collect()
    }

    #[test]
    fn the_workflow_is_yaml_and_its_commands_are_ours() {
        let workflow = workflow(&repository(), "trunk", "cargo install one\ncargo install two").unwrap();
        let documents = Yaml::load_from_str(&workflow).unwrap();
        assert_eq!(documents[0]["on"]["push"]["branches"][0].as_str(), Some("trunk"));
        let commands = commands(&workflow);
        let names: Vec<&str> = commands.iter().map(|command| command[1].as_str()).collect();
        assert_eq!(names, ["check", "fmt", "expand", "expand", "compat"]);
        for command in commands {
            let accepted = Arguments::command().try_get_matches_from(&command);
            assert!(accepted.is_ok(), "{command:?}: {}", accepted.unwrap_err());
        }
        assert!(workflow.contains("          cargo install one\n          cargo install two\n"));
        assert!(!workflow.contains('{'), "{workflow}");
    }

    #[test]
    fn a_workflow_without_generated_code_compares_none() {
        let mut repository = repository();
        repository.protocols.iter_mut().for_each(|protocol| protocol.expansions.clear());
        let workflow = workflow(&repository, "main", "cargo install one").unwrap();
        assert!(!workflow.contains("expand"), "{workflow}");
        assert_eq!(commands(&workflow).len(), 3);
    }

    #[test]
    fn what_a_shell_would_take_apart_is_refused() {
        for path in ["a b.session", "$(x).session", "-x.session", "a;b.session", "ü.session", ""] {
            assert!(matches!(word(Path::new(path)), Err(Failure::Unusual(..))), "{path}");
        }
        assert_eq!(word(Path::new("a/b-1.2_x.session")).unwrap(), "a/b-1.2_x.session");
    }
}
