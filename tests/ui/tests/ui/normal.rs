//! The normal form of what rustc says: without what an unrelated edit changes.

/// Where the programs are, in what is recorded.
const PROGRAMS: &str = "fail";

/// The lines by which rustc sums up.
const SUMMARIES: [&str; 3] =
    ["error: aborting due to", "For more information about", "Some errors have detailed explanations"];

/// Forgets which lines of other files are shown, and how many implementations are not. rustc runs in the folder of the
/// workspace, where the programs are in `folder`.
pub(crate) fn form(said: &str, folder: &str) -> String {
    let said = said.replace(folder, PROGRAMS);
    let findings = said.trim_end().split("\n\n");
    let findings = findings.filter(|finding| !SUMMARIES.iter().any(|start| finding.starts_with(start)));
    findings.map(finding).collect::<Vec<String>>().join("\n\n")
}

fn finding(text: &str) -> String {
    let mut lines = Vec::new();
    let mut elsewhere = false;
    // How wide the margin is, and how wide it has to be.
    let (mut width, mut needed) = (usize::MAX, 1);
    for line in text.lines() {
        let mut line = line.to_owned();
        let indent = line.len() - line.trim_start().len();
        let arrow = ["--> ", "::: "].iter().find(|arrow| line[indent..].starts_with(*arrow));
        if let Some(arrow) = arrow {
            let path = &line[indent + arrow.len()..];
            elsewhere = !path.starts_with(PROGRAMS) && path.contains(".rs:");
            width = width.min(indent);
            if elsewhere {
                let path = path.split_inclusive(".rs").next().unwrap();
                line = format!("{}{arrow}$WORKSPACE/{path}", &line[..indent]);
            }
        } else if line.starts_with(|first: char| first.is_alphabetic()) {
            elsewhere = false;
        } else if let Some(end) = number(&line, indent) {
            match elsewhere {
                true => line.replace_range(indent..end, &" ".repeat(end - indent)),
                false => needed = needed.max(end - indent),
            }
        }
        if let Some((before, count)) = line.split_once("and ")
            && count.strip_suffix(" others").is_some_and(|count| count.parse::<u32>().is_ok())
        {
            line = format!("{before}and $N others");
        }
        lines.push(line);
    }
    let margin = " ".repeat(width.saturating_sub(needed).min(text.len()));
    let lines: Vec<&str> = lines.iter().map(|line| line.strip_prefix(&margin).unwrap_or(line)).collect();
    lines.join("\n")
}

/// Where the number of a line ends that starts here, if there is one.
fn number(line: &str, start: usize) -> Option<usize> {
    let digits = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && line[start + digits..].starts_with(' ')).then_some(start + digits)
}
